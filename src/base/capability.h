/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* capability.h - what the kernel allows this process, by capabilities. Any thread. */

#pragma once

#include <glib.h>

/* Numbers of linux/capability.h, which older distributions lack in part. */
#define LU_CAP_SYS_PTRACE 19
#define LU_CAP_SYS_ADMIN  21
#define LU_CAP_PERFMON    38
#define LU_CAP_BPF        39

/* Reads a field of /proc/self/status that has hexadecimal digits, such as "CapEff" (what is
 * allowed) or "CapBnd" (what programs can be given). 0: there is none. */
guint64 lu_status_mask (const char *field);

static inline gboolean
lu_mask_has (guint64 mask, guint capability)
{
  return (mask >> capability & 1) != 0;
}
