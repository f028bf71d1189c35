/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* own-vdso.h - the vDSO mapped into this process.
 *
 * The kernel has one vDSO for each ABI, so ours also serves other processes of our ABI. It has no
 * file. */

#pragma once

#include <glib.h>

/* Larger ones are cut to this many bytes. */
#define LU_VDSO_MAX_SIZE 65536

/* Returns the ELF image in memory, which stays mapped while the program runs, or NULL if there is
 * none. Reads /proc/self/maps for the size. */
gconstpointer lu_own_vdso (gsize *size);

/* Returns the bytes of the kernel's vDSO for 32-bit processes, which stay until the program ends,
 * or NULL if it has none or does not show it (Linux without CONFIG_CHECKPOINT_RESTORE). No sampled
 * process is involved: reading a process's own copy could hang in a page of a file system that
 * never answers. The first call starts a process for a moment, so a sandbox must not be in force
 * yet. Any thread. */
gconstpointer lu_kernel_vdso_32 (gsize *size);
