/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* kallsyms-copy.h - a copy of the kernel's own functions on disk, from which single ones are read.
 *
 * The kernel formats all of /proc/kallsyms for whoever wants one name, which takes longer than all
 * else that a short recording does. Its own functions stay where they are until the next boot, so
 * a copy serves every recording until then. Functions of modules and BPF programs come and go, and
 * are not in it.
 *
 * A copy begins with an identity, the boot's and the kernel's. The lines of functions follow as in
 * /proc/kallsyms, sorted by address, no two equal. Any bytes are fine: a copy that is damaged or
 * gets shorter knows nothing. */

#pragma once

#include "symbolize/kallsyms.h"

/* A UUID, a blank, a digest in hexadecimal, a newline, a NUL. */
#define LU_KALLSYMS_IDENTITY_SIZE (36 + 1 + 64 + 1 + 1)

/* Writes the identity of the running kernel, of which `fd` is /proc/kallsyms. FALSE: it has none.
 */
gboolean lu_kallsyms_identity (int fd, char identity[LU_KALLSYMS_IDENTITY_SIZE]);

typedef struct _LuKallsymsCopy LuKallsymsCopy;

/* Takes the descriptor. NULL if the copy begins with another identity. */
LuKallsymsCopy *lu_kallsyms_copy_new (int fd, const char *identity);
/* NULL is allowed. */
void lu_kallsyms_copy_free (LuKallsymsCopy *self);

/* Like lu_kallsyms_find(), in some µs. FALSE also if the copy cannot tell. The name is valid until
 * the next call. self: NULL has none. */
gboolean lu_kallsyms_copy_find (LuKallsymsCopy *self, guint64 address, LuKernelSymbol *symbol);

/* Returns the bytes of a copy; owned. */
GString *lu_kallsyms_copy_text (const LuKallsyms *symbols, const char *identity);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuKallsymsCopy, lu_kallsyms_copy_free)
