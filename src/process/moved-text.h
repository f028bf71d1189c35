/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* moved-text.h - recognizes code of a file that a program has moved to memory without a file, at
 * the same addresses: to huge pages (node --use-largepages, Chromium).
 *
 * In the kernel's own list of mappings, the code of one file is directly before and behind it, as
 * far apart in the file as in memory. Events alone do not show that: a file whose mapping has ended
 * is not reported. So an event only leads to reading the list. The bytes are not compared: a
 * program can write over its own code without leaving the file as well. */

#pragma once

#include "process/address-space.h"

/* Takes `self`, which /proc has just shown, and returns a version with such code in its file. */
LuAddressSpace *lu_moved_text_adopt (LuAddressSpace *self);
/* Returns whether a new mapping may be such code. */
gboolean lu_moved_text_is_possible (const LuAddressSpace *self, const LuMapping *mapping);
