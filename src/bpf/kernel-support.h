/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* kernel-support.h - whether this kernel can unwind stacks: what its version offers, what we are
 * allowed, and whether unwinding could lock it up.
 *
 * Used before anything is loaded, and by doctor. The facts are gathered first, and the judgement
 * depends on them alone, so that every level can be tested on any kernel. */

#pragma once

#include <glib.h>

typedef enum
{
  LU_KERNEL_SUPPORT_NONE,      /* stacks are copied and unwound in user space only */
  LU_KERNEL_SUPPORT_USER_MODE, /* Linux 5.8: samples of user mode only */
  LU_KERNEL_SUPPORT_FULL,      /* Linux 5.15: samples of kernel mode as well */
} LuKernelSupportLevel;

/* Says whether the kernel checks copies from user memory (CONFIG_HARDENED_USERCOPY). */
typedef enum
{
  LU_USERCOPY_UNKNOWN,
  LU_USERCOPY_PLAIN,
  LU_USERCOPY_HARDENED,
} LuUsercopy;

typedef struct
{
  char *release;   /* uname -r; owned, as all strings here */
  char *version;   /* uname -v: Debian's has the version the kernel was built from */
  char *signature; /* /proc/version_signature: Ubuntu's has it; NULL: no such file */
  char *lockdown;  /* /sys/kernel/security/lockdown; NULL: no such file */
  LuUsercopy usercopy;
  gboolean has_pid_namespace; /* pid_namespace is known */
  guint32 pid_namespace;      /* as in LuKernelSupport */
  gboolean has_btf;           /* the kernel describes its types */
  gboolean may_load;          /* CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN */
  gboolean has_library;       /* this program was built with libbpf */
  gboolean is_supported;      /* there is a walker for this architecture */
} LuKernelFacts;

typedef struct
{
  LuKernelSupportLevel level;
  gboolean is_unsafe;    /* the level would work, but unwinding could lock up this kernel */
  guint32 pid_namespace; /* inode of ours; 0: the machine's initial one */
  char *reason;          /* why this level and not a higher one; one line, owned */
  char *remedy;          /* what the user can do about it; owned; NULL: nothing */
} LuKernelSupport;

void lu_kernel_facts_read (LuKernelFacts *facts);
void lu_kernel_facts_clear (LuKernelFacts *facts);

void lu_kernel_support_judge (LuKernelSupport *self, const LuKernelFacts *facts);
void lu_kernel_support_clear (LuKernelSupport *self);

/* Reads the facts and judges them. */
void lu_kernel_support_probe (LuKernelSupport *self);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (LuKernelFacts, lu_kernel_facts_clear)
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (LuKernelSupport, lu_kernel_support_clear)
