/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* sandbox.c - capabilities and system calls given up after set-up; see sandbox.h.
 * Which calls, and why: make-call-filter.c. */

#include "config.h"

#include "sandbox.h"

#include "base/error.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "call-filter.h"

/* Newer than the oldest headers we build with. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38 /* Linux 5.8 */
#endif
#ifndef CAP_BPF
#define CAP_BPF 39 /* Linux 5.8 */
#endif
#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40 /* Linux 5.9 */
#endif

typedef struct
{
  LuNeeds needs;
  cap_value_t capability;
} Kept;

/* Measured one by one, as root on Linux 6.18: /proc/PID/{maps,root,ns} of others take SYS_PTRACE;
 * /proc/PID/map_files takes CHECKPOINT_RESTORE too, and DAC_READ_SEARCH because its directories are
 * their owners'; so do the files behind it. */
static const Kept kept[] = {
  { LU_NEEDS_FILES, CAP_DAC_READ_SEARCH },
  { LU_NEEDS_PROCESSES, CAP_SYS_PTRACE },
  { LU_NEEDS_PROCESSES, CAP_CHECKPOINT_RESTORE },
  { LU_NEEDS_EVENTS, CAP_PERFMON },
  { LU_NEEDS_EVENTS, CAP_IPC_LOCK }, /* rings beyond perf_event_mlock_kb */
  { LU_NEEDS_COMMAND, CAP_KILL },    /* COMMAND may have become another user */
  { LU_NEEDS_MAPS, CAP_BPF },
  { LU_NEEDS_OUTPUTS, CAP_DAC_OVERRIDE },
  { LU_NEEDS_OUTPUTS, CAP_CHOWN },
};

static gboolean
set_errno_error (GError **error, const char *what, int code)
{
  g_set_error (error, LU_ERROR, LU_ERROR_FAILED, "sandbox: %s: %s", what, g_strerror (code));
  return FALSE;
}

/* Adds to `set` what is needed of what we have. */
static void
keep (cap_t set, cap_t have, cap_value_t capability)
{
  cap_flag_value_t value = CAP_CLEAR;

  if (cap_get_flag (have, capability, CAP_PERMITTED, &value) != 0 || value != CAP_SET)
    return;
  cap_set_flag (set, CAP_PERMITTED, 1, &capability, CAP_SET);
  cap_set_flag (set, CAP_EFFECTIVE, 1, &capability, CAP_SET);
}

gboolean
lu_sandbox_drop_capabilities (LuNeeds needs, GError **error)
{
  cap_t have = cap_get_proc (), set = cap_init ();
  int code;

  if (prctl (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return set_errno_error (error, "no_new_privs", errno);
  for (guint i = 0; i < G_N_ELEMENTS (kept); i++)
    if ((kept[i].needs & needs) != 0)
      keep (set, have, kept[i].capability);
  /* Before it had a capability of its own, perf asked for this one. */
  if ((needs & LU_NEEDS_EVENTS) != 0 && cap_max_bits () <= CAP_PERFMON)
    keep (set, have, CAP_SYS_ADMIN);
  /* Without CAP_SETPCAP it stays, and no_new_privs has to do. */
  for (cap_value_t i = 0; i < cap_max_bits (); i++)
    if (cap_drop_bound (i) != 0)
      break;
  cap_reset_ambient ();
  code = cap_set_proc (set) == 0 ? 0 : errno;
  cap_free (have);
  cap_free (set);
  return code == 0 || set_errno_error (error, "capabilities", code);
}

/* FALSE: errno says why. */
static gboolean
load_filter (struct sock_fprog *program)
{
  /* No foreign code runs here, so there is nothing to slow down for. */
  long code = syscall (SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                       SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_SPEC_ALLOW, program);

  if (code < 0 && errno == EINVAL) /* before Linux 4.17 */
    code = syscall (SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, program);
  if (code > 0) /* a thread that has a filter of its own */
    errno = ECANCELED;
  return code == 0;
}

gboolean
lu_sandbox_restrict_calls (LuNeeds needs, GError **error)
{
  gboolean has_maps = (needs & LU_NEEDS_MAPS) != 0;
  gsize size = has_maps ? sizeof calls_kept_with_maps : sizeof calls_kept;
  g_autofree struct sock_filter *own =
      g_memdup2 (has_maps ? calls_kept_with_maps : calls_kept, size);
  struct sock_fprog program = { .len = (gushort) (size / sizeof *own), .filter = own };

  for (guint i = 0; i < program.len; i++)
    if (own[i].code == (BPF_JMP | BPF_JEQ | BPF_K) && own[i].k == OWN_PID_PLACE)
      own[i].k = (guint32) getpid ();
  if (prctl (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return set_errno_error (error, "no_new_privs", errno);
  return load_filter (&program) || set_errno_error (error, "seccomp", errno);
}
