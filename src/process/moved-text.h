/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* moved-text.h - recognizes code of a file that a program has moved to memory without a file, at
 * the same addresses: to huge pages (node --use-largepages, Chromium).
 *
 * In the kernel's own list of mappings, the code of one file is directly before and behind it, as
 * far apart in the file as in memory. Events alone do not show that: a file whose mapping has ended
 * is not reported. So an event only leads to reading the list. The bytes are not compared: a
 * program can write over its own code without leaving the file as well.
 *
 * A program that moves its code may also copy some of it elsewhere: V8 copies its builtins to near
 * the code that it generates. That code is not generated, so less of what a stack says about it can
 * be believed without having read it; the mapping cannot be written to, unlike generated code's. As
 * far as its bytes are those of the moved code, it is the file's as well. */

#pragma once

#include "process/address-space.h"
#include "process/copied-text.h"

/* Changes `self`, which /proc has just shown, to a version with such code in its file, and copied
 * code in the module `copied`. Returns whether there is such code. */
gboolean lu_moved_text_adopt (LuAddressSpace **self, LuModule *copied);
/* Returns whether a mapping holds copied code, if the process has moved code. */
gboolean lu_moved_text_is_copied (const LuMapping *mapping);
/* Finds what the copied code at an address has to be compared with: all but the pid of the
 * question. FALSE: there is no such code. */
gboolean lu_moved_text_ask (const LuAddressSpace *self, guint64 address, LuCopiedText *question);
/* Describes, once it was compared, the copied code as a part of the file. FALSE: it is no copy, or
 * something else is mapped by now. The module is borrowed. */
gboolean lu_moved_text_settle (const LuAddressSpace *self, const LuCopiedText *answer,
                               LuMapping *mapping);
/* Returns whether a new mapping may be such code. */
gboolean lu_moved_text_is_possible (const LuAddressSpace *self, const LuMapping *mapping);
