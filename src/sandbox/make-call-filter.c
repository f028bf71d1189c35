/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* make-call-filter.c - writes the filters of system calls, as programs for the kernel. It runs
 * during the build and writes the header that sandbox.c includes:
 *
 *   make-call-filter ARCHITECTURE >call-filter.h
 *
 * There are eight: of the process that reads memory; of parsers, which only read what is open; of
 * helpers, with and without maps of BPF; of readers of recordings; of the process that makes files
 * for a recorder; of the process that loads a BPF program later on; and of recorders. Each but the
 * first begins with the calls of parsers.
 *
 * A filter lists allowed calls, so calls of later kernels are refused. A refused call returns an
 * error instead of causing a signal, because libraries try calls and go on without them (a newer
 * clone3, the journal's socket).
 *
 * O_NOFOLLOW is the only value in the filters that depends on the architecture; the build finds the
 * target's as FILTERED_O_NOFOLLOW.
 *
 * Only the number of our own process depends on the recording. The recorder does not need
 * libseccomp this way; generating the filter at each start took four times as long as loading it.
 */

#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
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

/* A placeholder for the number of our own process, which is known when a filter is loaded. No
 * process has it: the kernel's limit is 4 million. */
#define OWN_PID 0x7fff7fffu

#define NEW_NAMESPACES                                                                             \
  (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID      \
   | CLONE_NEWNET)

#define N_ELEMENTS(array) (sizeof (array) / sizeof *(array))

#define WORD UINT32_MAX
#define ALL  UINT64_MAX

/* A call is allowed if this argument, masked by `mask`, is `value`. */
typedef struct
{
  const char *name; /* NULL: the end of the list */
  unsigned argument;
  uint64_t mask, value;
} Condition;

typedef struct
{
  const char *calls; /* allowed with any arguments; separated by spaces */
  Condition conditions[16];
} Group;

/* Calls of the process that reads the memory of other processes on request. */
static const Group memory_reader = {
  "read write process_vm_readv clock_gettime restart_syscall rt_sigreturn exit exit_group",
  { { NULL, 0, 0, 0 } },
};

/* Calls that use open descriptors or the process's own memory, or end it. */
static const Group parser = {
  "read pread64 readv write writev lseek _llseek close fstat fstat64 newfstatat fstatat64 statx "
  "fcntl fcntl64 brk munmap mremap madvise futex futex_time64 rt_sigprocmask rt_sigreturn "
  "gettid getpid getrandom sysinfo sigaltstack clock_gettime exit exit_group",
  {
      { "mmap", 2, PROT_EXEC, 0 },
      { "mmap2", 2, PROT_EXEC, 0 },
      { "mprotect", 2, PROT_EXEC, 0 },
      { "tgkill", 0, WORD, OWN_PID }, /* abort() */
  },
};

static const Group helper = {
  /* writing to what is open */
  "preadv pwrite64 ftruncate fsync fdatasync fadvise64 "
  /* looking at files */
  "fstatfs stat lstat statfs access faccessat faccessat2 readlink readlinkat getdents64 getcwd "
  /* waiting */
  "poll ppoll ppoll_time64 select pselect6 epoll_create1 epoll_ctl epoll_wait epoll_pwait "
  "eventfd2 nanosleep clock_nanosleep restart_syscall sched_yield membarrier "
  /* threads and signals of our own */
  "set_robust_list rseq set_tid_address rt_sigaction rt_sigtimedwait "
  "sched_getaffinity sched_getscheduler sched_setscheduler sched_getparam setitimer "
  "setpriority getpriority "
  /* time, identity, numbers */
  "clock_getres gettimeofday time times getppid getuid geteuid getgid getegid getrusage "
  "getrlimit ugetrlimit getcpu uname "
  /* It reads the same memory as /proc/PID/mem; discovering processes uses it. */
  "process_vm_readv",
  {
      { "open", 1, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY },
      { "openat", 2, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY },
      { "clone", 0, CLONE_THREAD | CLONE_VM, CLONE_THREAD | CLONE_VM },
      { "ioctl", 1, WORD &IOCTL_TYPE_MASK, IOCTL_TYPE_PERF },
      { "ioctl", 1, WORD, TCGETS },
      { "ioctl", 1, WORD, FIONREAD },
      { "prlimit64", 2, ALL, 0 }, /* asking only */
      { "sendto", 4, ALL, 0 },    /* on a socket that is connected */
      { "prctl", 0, WORD, PR_SET_NAME },
      { "prctl", 0, WORD, PR_SET_VMA },
  },
};

/* The commands of bpf() for maps, but not for loading or attaching programs, or for opening the
 * objects of other programs. */
static const Group maps = {
  "",
  {
      { "bpf", 0, WORD, BPF_MAP_CREATE },
      { "bpf", 0, WORD, BPF_MAP_LOOKUP_ELEM },
      { "bpf", 0, WORD, BPF_MAP_UPDATE_ELEM },
      { "bpf", 0, WORD, BPF_MAP_DELETE_ELEM },
      { "bpf", 0, WORD, BPF_MAP_UPDATE_BATCH },
      { "bpf", 0, WORD, BPF_OBJ_GET_INFO_BY_FD },
  },
};

/* Readers and recorders make processes that parse DWARF and limit themselves further, or copy
 * files. They end them, and talk to the processes that fetch debug files and that make files. */
static const Group parent = {
  "fork vfork wait4 waitid kill pipe pipe2 dup dup2 dup3 signalfd4 setrlimit prlimit64 seccomp "
  "sendmsg recvmsg recvfrom memfd_create close_range",
  {
      { "clone", 0, NEW_NAMESPACES, 0 },
      { "ioctl", 1, WORD, TIOCGWINSZ },
      /* a terminal is set up, and restored (src/top/screen.c) */
      { "ioctl", 1, WORD, TCSETS },
      { "ioctl", 1, WORD, TCSETSW },
      { "ioctl", 1, WORD, TCSETSF },
      { "ioctl", 1, WORD, TIOCGPGRP },
      { "prctl", 0, WORD, PR_SET_PDEATHSIG },
      { "prctl", 0, WORD, PR_SET_NO_NEW_PRIVS },
  },
};

/* Readers write files where Landlock lets them. */
static const Group reader = {
  "open openat link linkat unlink unlinkat rename renameat renameat2 utimensat flock fchown fchmod",
  { { NULL, 0, 0, 0 } },
};

/* Recorders open events when the copy grows or a CPU comes online, and discover processes. */
static const Group recorder = {
  "perf_event_open getsid",
  { { "prctl", 0, WORD, PR_SET_TIMERSLACK } },
};

/* The process that makes files for a recorder (keeper.c). */
static const Group keeper = {
  "sendmsg renameat renameat2 unlinkat fchown utimensat restart_syscall",
  { { "openat", 2, O_ACCMODE | O_CREAT | O_EXCL | FILTERED_O_NOFOLLOW | O_TRUNC,
      O_WRONLY | O_CREAT | O_EXCL | FILTERED_O_NOFOLLOW } },
};

/* The process that loads a BPF program later on (src/bpf/reader-process.c). Since 1.4, libbpf takes
 * descriptors of memory files for maps that it has yet to make. */
static const Group loader = {
  "dup2 dup3 memfd_create",
  {
      { "bpf", 0, WORD, BPF_PROG_LOAD },
      { "bpf", 0, WORD, BPF_BTF_LOAD },
      { "bpf", 0, WORD, BPF_MAP_FREEZE },
  },
};

/* A filter cannot read the arguments of missing calls, which lie in memory. They fail with ENOSYS,
 * so that their callers fall back to the older call. */
typedef struct
{
  const char *name, *missing;
  const Group *groups[6];
} Filter;

static const Filter filters[] = {
  { "calls_of_memory_readers", "", { &memory_reader } },
  { "calls_of_parsers", "clone3 openat2", { &parser } },
  { "calls_of_helpers", "clone3 openat2", { &parser, &helper } },
  { "calls_with_maps", "clone3 openat2", { &parser, &helper, &maps } },
  { "calls_of_readers", "clone3 openat2", { &parser, &helper, &parent, &reader } },
  { "calls_of_keepers", "clone3 openat2", { &parser, &keeper } },
  { "calls_of_loaders", "clone3 openat2", { &parser, &helper, &maps, &loader } },
  { "calls_of_recorders", "clone3 openat2", { &parser, &helper, &maps, &parent, &recorder } },
};

/* Returns 0 or a negative errno, like all functions here. */
static int
add_calls (scmp_filter_ctx filter, uint32_t action, const char *names)
{
  char *text = strdup (names);
  int code = 0;

  for (char *name = strtok (text, " "); name != NULL && code == 0; name = strtok (NULL, " "))
    {
      int call = seccomp_syscall_resolve_name (name);

      /* Not every architecture has every call. */
      if (call != __NR_SCMP_ERROR)
        code = seccomp_rule_add (filter, action, call, 0);
    }
  free (text);
  return code;
}

static int
add_condition (scmp_filter_ctx filter, const Condition *condition)
{
  int call = seccomp_syscall_resolve_name (condition->name);

  if (call == __NR_SCMP_ERROR)
    return 0;
  return seccomp_rule_add (
      filter, SCMP_ACT_ALLOW, call, 1,
      SCMP_CMP (condition->argument, SCMP_CMP_MASKED_EQ, condition->mask, condition->value));
}

static int
add_all (scmp_filter_ctx filter, const Filter *description)
{
  int code = add_calls (filter, SCMP_ACT_ERRNO (ENOSYS), description->missing);

  for (const Group *const *group = description->groups; *group != NULL && code == 0; group++)
    {
      code = add_calls (filter, SCMP_ACT_ALLOW, (*group)->calls);
      for (const Condition *c = (*group)->conditions; c->name != NULL && code == 0; c++)
        code = add_condition (filter, c);
    }
  return code;
}

static int
use_architecture (scmp_filter_ctx filter, uint32_t architecture)
{
  int code;

  seccomp_attr_set (filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO (EPERM));
  /* Generate a binary tree instead of a list; older libraries ignore this. */
  seccomp_attr_set (filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
  if (architecture == seccomp_arch_native ())
    return 0;
  code = seccomp_arch_add (filter, architecture);
  return code == 0 ? seccomp_arch_remove (filter, seccomp_arch_native ()) : code;
}

/* Returns the number of instructions, or 0 on failure. */
static unsigned
make_filter (uint32_t architecture, const Filter *description,
             struct sock_filter program[BPF_MAXINSNS])
{
  scmp_filter_ctx filter = seccomp_init (SCMP_ACT_ERRNO (EPERM));
  FILE *file = tmpfile ();
  ssize_t size = 0;

  if (filter != NULL && file != NULL && use_architecture (filter, architecture) == 0
      && add_all (filter, description) == 0 && seccomp_export_bpf (filter, fileno (file)) == 0)
    size = pread (fileno (file), program, BPF_MAXINSNS * sizeof *program, 0);
  if (file != NULL)
    fclose (file);
  seccomp_release (filter);
  return size > 0 ? (unsigned) ((size_t) size / sizeof *program) : 0;
}

/* Only what may abort() knows its own process. */
static bool
knows_own_pid (const Filter *description, const struct sock_filter *program, unsigned n)
{
  bool has_place = description->groups[0] == &parser;
  unsigned n_places = 0;

  for (unsigned i = 0; i < n; i++)
    n_places += program[i].k == OWN_PID && program[i].code == (BPF_JMP | BPF_JEQ | BPF_K);
  return n > 0 && n_places == has_place;
}

static bool
write_filter (uint32_t architecture, const Filter *description)
{
  static struct sock_filter program[BPF_MAXINSNS];
  unsigned n = make_filter (architecture, description, program);

  if (!knows_own_pid (description, program, n))
    return false;
  printf ("static const struct sock_filter %s[] = {\n", description->name);
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
  for (unsigned i = 0; i < N_ELEMENTS (filters); i++)
    if (!write_filter (architecture, &filters[i]))
      {
        fprintf (stderr, "make-call-filter: libseccomp makes no such filter\n");
        return 1;
      }
  return fflush (stdout) == 0 ? 0 : 1;
}
