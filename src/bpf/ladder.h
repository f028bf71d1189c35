/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* ladder.h - whether stacks can and may be walked in this kernel: what its version offers, what we
 * are allowed, and which kernels a walk could lock up.
 *
 * Used before anything is loaded, and by doctor. The facts are gathered first and judged by a
 * function of them alone, so that every rung can be tested anywhere. */

#pragma once

#include <glib.h>

typedef enum
{
  LU_RUNG_NONE,      /* stacks are copied, and walked in user space only */
  LU_RUNG_USER_MODE, /* Linux 5.8: samples of user mode; those of kernel mode are copied */
  LU_RUNG_FULL,      /* Linux 5.15: those of kernel mode as well */
} LuRung;

/* What is known of whether the kernel checks copies from user memory
 * (CONFIG_HARDENED_USERCOPY). */
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
  gboolean has_pid_namespace; /* it is known which one we are in */
  guint32 pid_namespace;      /* as in LuLadder */
  gboolean has_btf;           /* the kernel describes its types */
  gboolean may_load;          /* CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN */
  gboolean has_library;       /* this program was built with libbpf */
  gboolean is_supported;      /* there is a walker for this architecture */
} LuLadderFacts;

typedef struct
{
  LuRung rung;
  gboolean is_unsafe;    /* the rung could be had, but a walk could lock up this kernel */
  guint32 pid_namespace; /* inode of the one that we are in; 0: the machine's own */
  char *reason;          /* why this rung and not a higher one, or none; one line, owned */
  char *remedy;          /* what to do about it; owned; NULL: nothing, or nothing is needed */
} LuLadder;

void lu_ladder_facts_read (LuLadderFacts *facts);
void lu_ladder_facts_clear (LuLadderFacts *facts);

void lu_ladder_judge (LuLadder *self, const LuLadderFacts *facts);
void lu_ladder_clear (LuLadder *self);

/* Reads the facts and judges them. */
void lu_ladder_look (LuLadder *self);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (LuLadderFacts, lu_ladder_facts_clear)
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (LuLadder, lu_ladder_clear)
