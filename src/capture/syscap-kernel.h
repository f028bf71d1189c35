/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* syscap-kernel.h - the part of /proc/kallsyms that a capture needs, written when it is needed.
 *
 * The whole file is 5 to 20 MB, but a recording hits a few hundred functions. Each function goes
 * into the capture after its first hit, in chunks of the file that readers join, so a killed
 * recorder leaves the kernel names of all but its last samples. Readers take the next line as a
 * function's end; where no hit function follows, the last chunk has a line "_end". */

#pragma once

#include "lu/stack.h"
#include "syscap-writer.h"
#include "symbolize/kallsyms.h"

/* Invented addresses of hidden functions: one page each, so that there is room for all of them. */
#define LU_SYSCAP_HIDDEN_BASE    G_GUINT64_CONSTANT (0xffffffff81000000)
#define LU_SYSCAP_HIDDEN_SIZE    4096u
#define LU_SYSCAP_HIDDEN_UNKNOWN (LU_SYSCAP_HIDDEN_BASE - LU_SYSCAP_HIDDEN_SIZE)

static inline guint64
lu_syscap_hidden_place (guint32 number)
{
  return LU_SYSCAP_HIDDEN_BASE + (guint64) number * LU_SYSCAP_HIDDEN_SIZE;
}

typedef struct _LuSyscapKernel LuSyscapKernel;

/* Takes a reference to the file, which is first used when a kernel frame comes. NULL: nothing is
 * written. */
LuSyscapKernel *lu_syscap_kernel_new (LuKallsymsFile *file);
void lu_syscap_kernel_free (LuSyscapKernel *self);

/* Notes the functions of all frames with LU_FRAME_KERNEL. */
void lu_syscap_kernel_hit (LuSyscapKernel *self, const LuFrame *frames, guint n_frames);
/* Replaces lu_syscap_kernel_hit() in captures that must not reveal where the kernel is: returns the
 * address to write for an address of a kernel frame. Functions get invented addresses in the order
 * of their first hits; all code without a name shares one. */
guint64 lu_syscap_kernel_hide (LuSyscapKernel *self, guint64 pc);
/* Writes the functions noted since the last call. `is_last` ends the file. */
gboolean lu_syscap_kernel_write (LuSyscapKernel *self, LuSyscapWriter *writer, gboolean is_last,
                                 GError **error);

/* Returns the functions noted so far at their addresses in the capture, or NULL if there are none.
 * Owned by the caller. */
LuKallsyms *lu_syscap_kernel_symbols (const LuSyscapKernel *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuSyscapKernel, lu_syscap_kernel_free)
