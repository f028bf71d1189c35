/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* make-call-filter.c - the system calls that a helper keeps, as programs for the kernel; runs while
 * building, and writes the header that sandbox.c includes.
 *
 *   make-call-filter ARCHITECTURE >call-filter.h
 *
 * A list of what is allowed, not of what is not: a call that a later kernel brings is refused. The
 * refusal is an error, not a signal, because libraries try things and go on without them (a newer
 * clone3, the journal's socket).
 *
 * Nothing of it depends on the recording but the number of our own process. Made by each helper at
 * its start it took libseccomp four times as long as the kernel takes to load it. */

#define _GNU_SOURCE

#include "process/proc-maps-request.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Newer than the oldest headers we build with. */
#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41 /* Linux 5.17; the C library names its memory */
#endif

/* PERF_EVENT_IOC_*: _IO ('$', …) */
#define IOCTL_TYPE_MASK 0xff00u
#define IOCTL_TYPE_PERF ((uint64_t) '$' << 8)

/* Stands for the number of our own process, which is known when a filter is loaded. No process has
 * it: the kernel's limit is 4 million. */
#define OWN_PID 0x7fff7fffu

#define N_ELEMENTS(array) (sizeof (array) / sizeof *(array))

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

  for (unsigned i = 0; i < N_ELEMENTS (allowed) && code == 0; i++)
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
allow_if (scmp_filter_ctx filter, const char *name, unsigned n, uint64_t mask, uint64_t value)
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
  const uint64_t all = UINT64_MAX, word = UINT32_MAX;
  const struct
  {
    const char *name;
    unsigned argument;
    uint64_t mask, value;
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
    { "prlimit64", 2, all, 0 },     /* asking only */
    { "sendto", 4, all, 0 },        /* on a socket that is connected */
    { "tgkill", 0, word, OWN_PID }, /* abort() */
    { "prctl", 0, word, PR_SET_NAME },
    { "prctl", 0, word, PR_SET_VMA },
  };
  int code = 0;

  for (unsigned i = 0; i < N_ELEMENTS (rules) && code == 0; i++)
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

  for (unsigned i = 0; i < N_ELEMENTS (names) && code == 0; i++)
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
    BPF_MAP_CREATE,      BPF_MAP_LOOKUP_ELEM,  BPF_MAP_UPDATE_ELEM,
    BPF_MAP_DELETE_ELEM, BPF_MAP_UPDATE_BATCH, BPF_OBJ_GET_INFO_BY_FD,
  };
  int code = 0;

  for (unsigned i = 0; i < N_ELEMENTS (commands) && code == 0; i++)
    code = allow_if (filter, "bpf", 0, UINT32_MAX, commands[i]);
  return code;
}

static int
fill_filter (scmp_filter_ctx filter, bool has_maps)
{
  int code;

  seccomp_attr_set (filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO (EPERM));
  /* A tree instead of a list; older libraries do without. */
  seccomp_attr_set (filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
  code = allow_plain (filter);
  if (code == 0)
    code = allow_with_conditions (filter);
  if (code == 0)
    code = deny_as_missing (filter);
  if (code == 0 && has_maps)
    code = allow_maps (filter);
  return code;
}

static int
use_architecture (scmp_filter_ctx filter, uint32_t architecture)
{
  int code;

  if (architecture == seccomp_arch_native ())
    return 0;
  code = seccomp_arch_add (filter, architecture);
  return code == 0 ? seccomp_arch_remove (filter, seccomp_arch_native ()) : code;
}

/* Returns the number of instructions, 0 if there is no such filter. */
static unsigned
make_filter (uint32_t architecture, bool has_maps, struct sock_filter program[BPF_MAXINSNS])
{
  scmp_filter_ctx filter = seccomp_init (SCMP_ACT_ERRNO (EPERM));
  FILE *file = tmpfile ();
  ssize_t size = 0;

  if (filter != NULL && file != NULL && use_architecture (filter, architecture) == 0
      && fill_filter (filter, has_maps) == 0 && seccomp_export_bpf (filter, fileno (file)) == 0)
    size = pread (fileno (file), program, BPF_MAXINSNS * sizeof *program, 0);
  if (file != NULL)
    fclose (file);
  seccomp_release (filter);
  return size > 0 ? (unsigned) ((size_t) size / sizeof *program) : 0;
}

static bool
names_own_pid_once (const struct sock_filter *program, unsigned n)
{
  unsigned n_places = 0;

  for (unsigned i = 0; i < n; i++)
    n_places += program[i].k == OWN_PID && program[i].code == (BPF_JMP | BPF_JEQ | BPF_K);
  return n_places == 1;
}

static bool
write_filter (const char *name, uint32_t architecture, bool has_maps)
{
  static struct sock_filter program[BPF_MAXINSNS];
  unsigned n = make_filter (architecture, has_maps, program);

  if (!names_own_pid_once (program, n))
    return false;
  printf ("static const struct sock_filter %s[] = {\n", name);
  for (unsigned i = 0; i < n; i++)
    printf ("  { 0x%02x, %u, %u, 0x%08x },\n", program[i].code, program[i].jt, program[i].jf,
            program[i].k);
  printf ("};\n");
  return true;
}

int
main (int argc, char **argv)
{
  uint32_t architecture = argc == 2 ? seccomp_arch_resolve_name (argv[1]) : 0;

  if (architecture == 0)
    {
      fprintf (stderr, "usage: make-call-filter ARCHITECTURE\n");
      return 1;
    }
  printf ("/* Made by make-call-filter.c. */\n\n");
  printf ("#define OWN_PID_PLACE 0x%08xu\n", OWN_PID);
  if (write_filter ("calls_kept", architecture, false)
      && write_filter ("calls_kept_with_maps", architecture, true) && fflush (stdout) == 0)
    return 0;
  fprintf (stderr, "make-call-filter: libseccomp makes no such filter\n");
  return 1;
}
