/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* sandbox.c - capabilities and system calls given up after set-up; see sandbox.h.
 *
 * A list of what is allowed, not of what is not: a call that a later kernel brings is refused. The
 * refusal is an error, not a signal, because libraries try things and go on without them (a newer
 * clone3, the journal's socket). */

#include "config.h"

#include "sandbox.h"

#include "base/error.h"
#include "process/proc-maps.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/capability.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

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
#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41 /* Linux 5.17; the C library names its memory */
#endif

/* PERF_EVENT_IOC_*: _IO ('$', …) */
#define IOCTL_TYPE_MASK 0xff00u
#define IOCTL_TYPE_PERF ((guint64) '$' << 8)

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

/* Harmless with whatever arguments, on what is open or our own. */
static const char *const allowed[] = {
  /* reading and writing what is open */
  "read",
  "pread64",
  "readv",
  "preadv",
  "write",
  "pwrite64",
  "writev",
  "lseek",
  "_llseek",
  "close",
  "fstat",
  "fstat64",
  "fstatfs",
  "ftruncate",
  "fsync",
  "fdatasync",
  "fadvise64",
  "fcntl",
  "fcntl64",
  /* looking at files */
  "stat",
  "lstat",
  "statx",
  "newfstatat",
  "fstatat64",
  "statfs",
  "access",
  "faccessat",
  "faccessat2",
  "readlink",
  "readlinkat",
  "getdents64",
  "getcwd",
  /* waiting */
  "poll",
  "ppoll",
  "ppoll_time64",
  "select",
  "pselect6",
  "epoll_create1",
  "epoll_ctl",
  "epoll_wait",
  "epoll_pwait",
  "eventfd2",
  "nanosleep",
  "clock_nanosleep",
  "restart_syscall",
  "futex",
  "futex_time64",
  "sched_yield",
  /* memory, without what makes it executable */
  "brk",
  "munmap",
  "mremap",
  "madvise",
  "membarrier",
  /* threads and signals of our own */
  "set_robust_list",
  "rseq",
  "set_tid_address",
  "gettid",
  "sigaltstack",
  "rt_sigaction",
  "rt_sigprocmask",
  "rt_sigreturn",
  "rt_sigtimedwait",
  "sched_getaffinity",
  "sched_getscheduler",
  "sched_setscheduler",
  "sched_getparam",
  "setitimer",
  "setitimer",
  "setpriority",
  "getpriority",
  "exit",
  "exit_group",
  /* time, identity, numbers */
  "clock_gettime",
  "clock_getres",
  "gettimeofday",
  "time",
  "times",
  "getpid",
  "getppid",
  "getuid",
  "geteuid",
  "getgid",
  "getegid",
  "getrusage",
  "getrlimit",
  "ugetrlimit",
  "getcpu",
  "getrandom",
  "sysinfo",
  "uname",
  /* Reads what /proc/PID/mem would, too; it makes a sampled thread's stack present. */
  "process_vm_readv",
};

static int
allow_plain (scmp_filter_ctx filter)
{
  int code = 0;

  for (guint i = 0; i < G_N_ELEMENTS (allowed) && code == 0; i++)
    {
      int call = seccomp_syscall_resolve_name (allowed[i]);

      /* Not every architecture has every call. */
      if (call != __NR_SCMP_ERROR)
        code = seccomp_rule_add (filter, SCMP_ACT_ALLOW, call, 0);
    }
  return code;
}

/* A call if the bits `mask` of argument `n` are `value`. */
static int
allow_if (scmp_filter_ctx filter, const char *name, guint n, guint64 mask, guint64 value)
{
  int call = seccomp_syscall_resolve_name (name);

  if (call == __NR_SCMP_ERROR)
    return 0;
  return seccomp_rule_add (filter, SCMP_ACT_ALLOW, call, 1,
                           SCMP_CMP (n, SCMP_CMP_MASKED_EQ, mask, value));
}

static int
allow_with_conditions (scmp_filter_ctx filter)
{
  const guint64 all = G_MAXUINT64, word = G_MAXUINT32;
  const struct
  {
    const char *name;
    guint argument;
    guint64 mask, value;
  } rules[] = {
    { "open", 1, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY },
    { "openat", 2, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY },
    { "mmap", 2, PROT_EXEC, 0 },
    { "mmap2", 2, PROT_EXEC, 0 },
    { "mprotect", 2, PROT_EXEC, 0 },
    { "clone", 0, CLONE_THREAD | CLONE_VM, CLONE_THREAD | CLONE_VM },
    { "ioctl", 1, word & IOCTL_TYPE_MASK, IOCTL_TYPE_PERF },
    { "ioctl", 1, word, TCGETS },
    { "ioctl", 1, word, FIONREAD },
    { "ioctl", 1, word, LU_PROC_MAPS_QUERY },
    { "prlimit64", 2, all, 0 },                 /* asking only */
    { "sendto", 4, all, 0 },                    /* on a socket that is connected */
    { "tgkill", 0, word, (guint64) getpid () }, /* abort() */
    { "prctl", 0, word, PR_SET_NAME },
    { "prctl", 0, word, PR_SET_VMA },
  };
  int code = 0;

  for (guint i = 0; i < G_N_ELEMENTS (rules) && code == 0; i++)
    code = allow_if (filter, rules[i].name, rules[i].argument, rules[i].mask, rules[i].value);
  return code;
}

/* Their arguments lie in memory, where a filter cannot look; callers that are told the call does
 * not exist use its elder. */
static int
deny_as_missing (scmp_filter_ctx filter)
{
  static const char *const names[] = { "clone3", "openat2" };
  int code = 0;

  for (guint i = 0; i < G_N_ELEMENTS (names) && code == 0; i++)
    {
      int call = seccomp_syscall_resolve_name (names[i]);

      if (call != __NR_SCMP_ERROR)
        code = seccomp_rule_add (filter, SCMP_ACT_ERRNO (ENOSYS), call, 0);
    }
  return code;
}

/* Of bpf(): no program is loaded or attached, nothing that others have made is opened. */
static int
allow_maps (scmp_filter_ctx filter)
{
  static const enum bpf_cmd commands[] = {
    BPF_MAP_CREATE,      BPF_MAP_LOOKUP_ELEM,    BPF_MAP_UPDATE_ELEM,
    BPF_MAP_DELETE_ELEM, BPF_OBJ_GET_INFO_BY_FD,
  };
  int code = 0;

  for (guint i = 0; i < G_N_ELEMENTS (commands) && code == 0; i++)
    code = allow_if (filter, "bpf", 0, G_MAXUINT32, commands[i]);
  return code;
}

static int
fill_filter (scmp_filter_ctx filter, LuNeeds needs)
{
  int code;

  seccomp_attr_set (filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO (EPERM));
  /* A tree instead of a list; older libraries do without. */
  seccomp_attr_set (filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
  /* No foreign code runs here, so there is nothing to slow down for. */
  seccomp_attr_set (filter, SCMP_FLTATR_CTL_SSB, 1);
  code = seccomp_attr_set (filter, SCMP_FLTATR_CTL_TSYNC, 1);
  if (code == 0)
    code = allow_plain (filter);
  if (code == 0)
    code = allow_with_conditions (filter);
  if (code == 0)
    code = deny_as_missing (filter);
  if (code == 0 && (needs & LU_NEEDS_MAPS) != 0)
    code = allow_maps (filter);
  return code;
}

gboolean
lu_sandbox_restrict_calls (LuNeeds needs, GError **error)
{
  scmp_filter_ctx filter = seccomp_init (SCMP_ACT_ERRNO (EPERM));
  int code = filter != NULL ? fill_filter (filter, needs) : -ENOMEM;

  if (code == 0)
    code = seccomp_load (filter);
  if (filter != NULL)
    seccomp_release (filter);
  return code == 0 || set_errno_error (error, "seccomp", -code);
}
