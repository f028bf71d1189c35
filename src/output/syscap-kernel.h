/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* syscap-kernel.h - the part of /proc/kallsyms that a capture needs, written as it is needed.
 *
 * The whole file is 5 to 20 MB; a recording hits a few hundred functions. So each function goes
 * into the capture when it was first hit, in chunks of the file that readers join: a recorder that
 * is killed leaves the kernel names of all its samples. Readers take the next line for a function's
 * end, so where no function was hit behind one, the last chunk has a line "_end". */

#pragma once

#include "lu/stack.h"
#include "output/syscap-writer.h"
#include "symbolize/kallsyms-file.h"

/* Where hidden functions are: a page for each, so that even all of them fit. */
#define LU_SYSCAP_HIDDEN_BASE    G_GUINT64_CONSTANT (0xffffffff81000000)
#define LU_SYSCAP_HIDDEN_SIZE    4096u
#define LU_SYSCAP_HIDDEN_UNKNOWN (LU_SYSCAP_HIDDEN_BASE - LU_SYSCAP_HIDDEN_SIZE)

static inline guint64
lu_syscap_hidden_place (guint32 number)
{
  return LU_SYSCAP_HIDDEN_BASE + (guint64) number * LU_SYSCAP_HIDDEN_SIZE;
}

typedef struct _LuSyscapKernel LuSyscapKernel;

/* Takes a reference to the file, which is asked or read when the first frame of the kernel comes;
 * NULL: nothing is written. */
LuSyscapKernel *lu_syscap_kernel_new (LuKallsymsFile *file);
void lu_syscap_kernel_free (LuSyscapKernel *self);

/* Notes the functions of these frames; only those with LU_FRAME_KERNEL are looked at. */
void lu_syscap_kernel_hit (LuSyscapKernel *self, const LuFrame *frames, guint n_frames);
/* Instead of the above, where addresses must not tell where the kernel is: the address to write for
 * one of a kernel frame. Functions get places of their own, in the order in which they come; what
 * has no name is all at one place. */
guint64 lu_syscap_kernel_hide (LuSyscapKernel *self, guint64 pc);
/* Writes what was noted and not written yet; the file ends with `is_last`. */
gboolean lu_syscap_kernel_write (LuSyscapKernel *self, LuSyscapWriter *writer, gboolean is_last,
                                 GError **error);

/* The functions noted or hidden so far, where the capture has them; NULL: none. Owned by the
 * caller. */
LuKallsyms *lu_syscap_kernel_symbols (const LuSyscapKernel *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuSyscapKernel, lu_syscap_kernel_free)
