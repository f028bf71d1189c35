/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-sandbox.c - src/sandbox/sandbox.c: each call that a recording does not need is tried in a
 * sandboxed process and refused with the promised error, and so is what root can do without
 * capabilities. Needed calls still work, in threads as well. */

#include "sandbox/sandbox.h"

#include "base/error.h"
#include "input/perf-event.h"

#include "../../cases.h"
#include "../../sanitized.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/landlock.h>
#include <linux/openat2.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define NO_SANDBOX 255

/* 0, or the errno of the call that was tried. */
typedef int (*TryFunc) (void);

static int
result (long value)
{
  return value < 0 ? errno : 0;
}

static int
raw_fork (void)
{
  long pid = syscall (SYS_clone, SIGCHLD, 0, 0, 0, 0);

  if (pid == 0)
    _exit (0);
  return result (pid);
}

static int
try_execve (void)
{
  char *const none[] = { NULL };

  return result (execve ("/bin/true", none, none));
}

static int
try_execveat (void)
{
  char *const none[] = { NULL };

  return result (syscall (SYS_execveat, AT_FDCWD, "/bin/true", none, none, 0));
}

#ifdef SYS_fork
static int
try_fork (void)
{
  long pid = syscall (SYS_fork);

  if (pid == 0)
    _exit (0);
  return result (pid);
}
#endif

static int
try_clone3 (void)
{
  guint64 args[8] = { 0 };

  return result (syscall (SYS_clone3, args, sizeof args));
}

static int
try_socket_unix (void)
{
  return result (socket (AF_UNIX, SOCK_STREAM, 0));
}

static int
try_socket_inet (void)
{
  return result (socket (AF_INET, SOCK_STREAM, 0));
}

static int
try_socketpair (void)
{
  int fds[2];

  return result (socketpair (AF_UNIX, SOCK_STREAM, 0, fds));
}

static int
try_ptrace (void)
{
  return result (ptrace (PTRACE_TRACEME, 0, NULL, NULL));
}

static int
try_write_memory (void)
{
  char byte = 0;
  struct iovec io = { .iov_base = &byte, .iov_len = 1 };

  return result (process_vm_writev (getpid (), &io, 1, &io, 1, 0));
}

static int
try_open_for_writing (void)
{
  return result (open ("/dev/null", O_WRONLY));
}

static int
try_open_read_write (void)
{
  return result (open ("/dev/null", O_RDWR));
}

static int
try_create (void)
{
  return result (open ("/tmp", O_RDONLY | O_CREAT | O_EXCL, 0600));
}

static int
try_truncate (void)
{
  return result (open ("/dev/null", O_RDONLY | O_TRUNC));
}

static int
try_openat2 (void)
{
  struct open_how how = { .flags = O_WRONLY };

  return result (syscall (SYS_openat2, AT_FDCWD, "/dev/null", &how, sizeof how));
}

static int
try_unlink (void)
{
  return result (unlink ("/nowhere/nothing"));
}

static int
try_rename (void)
{
  return result (rename ("/nowhere/nothing", "/nowhere/else"));
}

static int
try_mkdir (void)
{
  return result (mkdir ("/nowhere/nothing", 0700));
}

static int
try_chmod (void)
{
  return result (chmod ("/nowhere/nothing", 0700));
}

static int
try_mount (void)
{
  return result (mount ("none", "/nowhere", "tmpfs", 0, NULL));
}

static int
try_unshare (void)
{
  return result (unshare (CLONE_FS));
}

static int
try_setuid (void)
{
  /* The library's function asks all threads and aborts if they differ. */
  return result (syscall (SYS_setuid, getuid ()));
}

static int
try_kill (void)
{
  return result (kill (getpid (), 0));
}

static int
try_memfd (void)
{
  return result (memfd_create ("x", 0));
}

static int
try_executable_memory (void)
{
  gpointer memory = mmap (NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  return memory == MAP_FAILED ? errno : 0;
}

static int
try_make_executable (void)
{
  gpointer memory = mmap (NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  return result (mprotect (memory, 4096, PROT_READ | PROT_EXEC));
}

static int
try_perf_event (void)
{
  struct perf_event_attr attr = { .size = sizeof attr,
                                  .type = PERF_TYPE_SOFTWARE,
                                  .config = PERF_COUNT_SW_DUMMY,
                                  .exclude_kernel = 1 };

  return result (lu_perf_open (&attr, 0, -1));
}

static int
try_bpf (void)
{
  return result (syscall (SYS_bpf, BPF_MAP_CREATE, NULL, 0));
}

/* Signal 0 sends nothing, but the filter treats it like any signal. */
static int
try_signal_other (void)
{
  return result (syscall (SYS_tgkill, getppid (), getppid (), 0));
}

static int
try_io_uring (void)
{
  return result (syscall (SYS_io_uring_setup, 1, NULL));
}

static int
try_dumpable (void)
{
  return result (prctl (PR_SET_DUMPABLE, 1));
}

/* FS_IOC_SETFLAGS. (linux/fs.h conflicts with sys/mount.h on some systems.) */
static int
try_file_flags (void)
{
  int flags = 0;

  return result (ioctl (STDIN_FILENO, _IOW ('f', 2, long), &flags));
}

static const struct
{
  const char *name;
  TryFunc try;
  int refusal;
  gboolean for_readers, for_recorders; /* they may not call it either */
} forbidden[] = {
  { "execve", try_execve, EPERM, TRUE, TRUE },
  { "execveat", try_execveat, EPERM, TRUE, TRUE },
  { "clone of a process", raw_fork, EPERM },
#ifdef SYS_fork
  { "fork", try_fork, EPERM },
#endif
  { "clone3", try_clone3, ENOSYS, TRUE, TRUE },
  { "socket AF_UNIX", try_socket_unix, EPERM, TRUE, TRUE },
  { "socket AF_INET", try_socket_inet, EPERM, TRUE, TRUE },
  { "socketpair", try_socketpair, EPERM, TRUE, TRUE },
  { "ptrace", try_ptrace, EPERM, TRUE, TRUE },
  { "process_vm_writev", try_write_memory, EPERM, TRUE, TRUE },
  { "open for writing", try_open_for_writing, EPERM, FALSE, TRUE },
  { "open for reading and writing", try_open_read_write, EPERM, FALSE, TRUE },
  { "open that creates", try_create, EPERM, FALSE, TRUE },
  { "open that truncates", try_truncate, EPERM, FALSE, TRUE },
  { "openat2", try_openat2, ENOSYS, TRUE, TRUE },
  { "unlink", try_unlink, EPERM, FALSE, TRUE },
  { "rename", try_rename, EPERM, FALSE, TRUE },
  { "mkdir", try_mkdir, EPERM, TRUE, TRUE },
  { "chmod", try_chmod, EPERM, TRUE, TRUE },
  { "mount", try_mount, EPERM, TRUE, TRUE },
  { "unshare", try_unshare, EPERM, TRUE, TRUE },
  { "setuid", try_setuid, EPERM, TRUE, TRUE },
  { "kill", try_kill, EPERM },
  { "memfd_create", try_memfd, EPERM },
  { "mmap of executable memory", try_executable_memory, EPERM, TRUE, TRUE },
  { "mprotect to executable", try_make_executable, EPERM, TRUE, TRUE },
  { "perf_event_open", try_perf_event, EPERM, TRUE },
  { "bpf", try_bpf, EPERM, TRUE },
  { "tgkill of another", try_signal_other, EPERM },
  { "io_uring_setup", try_io_uring, EPERM, TRUE, TRUE },
  { "ioctl that sets a file's flags", try_file_flags, EPERM, TRUE, TRUE },
  { "prctl of anything but names", try_dumpable, EPERM, TRUE, TRUE },
};

static gboolean
be_free (void)
{
  return TRUE;
}

static gboolean
be_helper (void)
{
  return lu_sandbox_restrict_calls (0, NULL);
}

static gboolean
be_reader (void)
{
  const char *const outputs[] = { g_get_tmp_dir (), NULL };

  return lu_sandbox_restrict_reader (outputs, NULL);
}

static gboolean
be_recorder (void)
{
  return lu_sandbox_restrict_recorder (NULL);
}

/* The sandbox cannot be left, so every case runs in a child. */
static int
run_in_child (gboolean (*enter) (void), TryFunc func)
{
  pid_t pid = fork ();
  int status;

  if (pid == 0)
    _exit (enter () ? func () : NO_SANDBOX);
  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);
  g_assert_true (WIFEXITED (status));
  return WEXITSTATUS (status);
}

static void
test_forbidden (gconstpointer data)
{
  guint i = GPOINTER_TO_UINT (data);
  int code = run_in_child (be_helper, forbidden[i].try);

  if (code == NO_SANDBOX)
    g_test_skip ("no seccomp here");
  else
    g_assert_cmpint (code, ==, forbidden[i].refusal);
  if (code != NO_SANDBOX && forbidden[i].for_readers)
    g_assert_cmpint (run_in_child (be_reader, forbidden[i].try), ==, forbidden[i].refusal);
  if (code != NO_SANDBOX && forbidden[i].for_recorders)
    g_assert_cmpint (run_in_child (be_recorder, forbidden[i].try), ==, forbidden[i].refusal);
}

static gboolean
has_landlock (void)
{
  return syscall (SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) > 0;
}

/* Readers write, create and remove files where their output is. */
static int
write_output (void)
{
  g_autofree char *path = g_build_filename (g_get_tmp_dir (), "test-sandbox-XXXXXX", NULL);
  int fd = g_mkstemp (path);

  return fd < 0 || write (fd, "x", 1) != 1 || unlink (path) != 0 ? errno : 0;
}

static int
create_elsewhere (void)
{
  return result (open ("/test-sandbox", O_WRONLY | O_CREAT | O_EXCL, 0600));
}

static int
truncate_elsewhere (void)
{
  return result (open ("/proc/self/comm", O_WRONLY | O_TRUNC));
}

static int
remove_elsewhere (void)
{
  return result (unlink ("/etc/hostname"));
}

static void
test_reader (void)
{
  int code = run_in_child (be_reader, write_output);

  if (code == NO_SANDBOX)
    {
      g_test_skip ("no seccomp here");
      return;
    }
  g_assert_cmpint (code, ==, 0);
  g_assert_cmpint (run_in_child (be_reader, raw_fork), ==, 0);
  if (!has_landlock ())
    {
      g_test_skip ("no Landlock here");
      return;
    }
  g_assert_cmpint (run_in_child (be_reader, create_elsewhere), ==, EACCES);
  g_assert_cmpint (run_in_child (be_reader, truncate_elsewhere), ==, EACCES);
  g_assert_cmpint (run_in_child (be_reader, remove_elsewhere), ==, EACCES);
}

static int
try_open_for_reading (void)
{
  return result (open ("/dev/null", O_RDONLY));
}

static int
read_what_is_open (void)
{
  g_autofree char *memory = NULL;
  int fd = open ("/proc/self/stat", O_RDONLY);

  if (!lu_sandbox_restrict_parser ())
    return NO_SANDBOX;
  memory = g_malloc0 (64 << 20);
  return read (fd, memory, 1) == 1 && try_open_for_reading () == EPERM && raw_fork () == EPERM
                 && try_socket_unix () == EPERM && try_kill () == EPERM && try_unlink () == EPERM
             ? 0
             : 1;
}

static int
read_memory (void)
{
  static const TryFunc refused[] = { try_open_for_reading, raw_fork,
                                     try_socket_unix,      try_kill,
                                     try_unlink,           try_write_memory };
  char bytes[] = "ab";
  struct iovec to = { .iov_base = &bytes[0], .iov_len = 1 };
  struct iovec from = { .iov_base = &bytes[1], .iov_len = 1 };
  pid_t own = getpid ();

  if (!lu_sandbox_restrict_memory_reader ())
    return NO_SANDBOX;
  if (process_vm_readv (own, &to, 1, &from, 1, 0) != 1 || bytes[0] != 'b')
    return 1;
  for (guint i = 0; i < G_N_ELEMENTS (refused); i++)
    if (refused[i]() != EPERM)
      return 2;
  return 0;
}

/* A sanitizer's run-time library maps memory, which this process may not. */
#if TEST_IS_SANITIZED
#define MAY_HAVE_FILTER FALSE
#else
#define MAY_HAVE_FILTER TRUE
#endif

static void
test_memory_reader (void)
{
  int code = MAY_HAVE_FILTER ? run_in_child (be_free, read_memory) : NO_SANDBOX;

  if (code == NO_SANDBOX)
    g_test_skip ("no seccomp here, or a sanitizer");
  else
    g_assert_cmpint (code, ==, 0);
}

static void
test_parser (void)
{
  int code = run_in_child (be_free, read_what_is_open);

  if (code == NO_SANDBOX)
    g_test_skip ("no seccomp here");
  else
    g_assert_cmpint (code, ==, 0);
}

static gpointer
wait_and_try (gpointer data)
{
  int *pipe_fds = data;
  char byte;

  if (read (pipe_fds[0], &byte, 1) != 1)
    return GINT_TO_POINTER (NO_SANDBOX);
  return GINT_TO_POINTER (try_socket_unix ());
}

/* Returns how many of `n` commands the filter lets through. The kernel answers EINVAL or EFAULT to
 * a call without arguments. */
static guint
n_not_refused (const enum bpf_cmd *commands, guint n)
{
  guint n_through = 0;

  for (guint i = 0; i < n; i++)
    n_through += result (syscall (SYS_bpf, commands[i], (void *) 1, 8)) != EPERM;
  return n_through;
}

/* Maps of a program that was loaded before can be created and filled, and nothing else is allowed.
 */
static int
try_maps (void)
{
  static const enum bpf_cmd refused[] = { BPF_PROG_LOAD,         BPF_OBJ_PIN,
                                          BPF_OBJ_GET,           BPF_PROG_ATTACH,
                                          BPF_LINK_CREATE,       BPF_BTF_LOAD,
                                          BPF_PROG_GET_FD_BY_ID, BPF_RAW_TRACEPOINT_OPEN };
  static const enum bpf_cmd allowed[] = { BPF_MAP_CREATE, BPF_MAP_UPDATE_ELEM, BPF_MAP_DELETE_ELEM,
                                          BPF_MAP_UPDATE_BATCH };

  if (!lu_sandbox_restrict_calls (LU_NEEDS_MAPS, NULL))
    return NO_SANDBOX;
  if (n_not_refused (refused, G_N_ELEMENTS (refused)) > 0)
    return 1;
  if (n_not_refused (allowed, G_N_ELEMENTS (allowed)) < G_N_ELEMENTS (allowed))
    return 2;
  return try_socket_unix () == EPERM ? 0 : 3;
}

static void
test_maps (void)
{
  int code = geteuid () == 0 ? run_in_child (be_free, try_maps) : NO_SANDBOX;

  if (code == NO_SANDBOX)
    g_test_skip ("no seccomp, or not root");
  else
    g_assert_cmpint (code, ==, 0);
}

/* Programs can be loaded, but not attached, and nothing is done with other processes. */
static int
try_loading (void)
{
  static const enum bpf_cmd refused[] = { BPF_OBJ_PIN, BPF_OBJ_GET, BPF_PROG_ATTACH,
                                          BPF_LINK_CREATE, BPF_PROG_GET_FD_BY_ID };
  static const enum bpf_cmd allowed[] = { BPF_MAP_CREATE, BPF_MAP_UPDATE_ELEM, BPF_PROG_LOAD,
                                          BPF_BTF_LOAD };
  static const TryFunc others[] = { raw_fork, try_socket_unix, try_kill, try_unlink,
                                    try_write_memory };

  if (!lu_sandbox_restrict_loader ())
    return NO_SANDBOX;
  if (n_not_refused (refused, G_N_ELEMENTS (refused)) > 0)
    return 1;
  if (n_not_refused (allowed, G_N_ELEMENTS (allowed)) < G_N_ELEMENTS (allowed))
    return 2;
  for (guint i = 0; i < G_N_ELEMENTS (others); i++)
    if (others[i]() != EPERM)
      return 3;
  if (try_memfd () != 0)
    return 5;
  return try_open_for_reading () == 0 ? 0 : 4;
}

static void
test_loader (void)
{
  int code = geteuid () == 0 ? run_in_child (be_free, try_loading) : NO_SANDBOX;

  if (code == NO_SANDBOX)
    g_test_skip ("no seccomp, or not root");
  else
    g_assert_cmpint (code, ==, 0);
}

/* The filter also applies to threads that exist already. */
static int
try_in_old_thread (void)
{
  int pipe_fds[2];
  GThread *thread;

  if (pipe (pipe_fds) != 0)
    return NO_SANDBOX;
  thread = g_thread_new ("old", wait_and_try, pipe_fds);
  if (!lu_sandbox_restrict_calls (0, NULL) || write (pipe_fds[1], "", 1) != 1)
    return NO_SANDBOX;
  return GPOINTER_TO_INT (g_thread_join (thread));
}

static void
test_old_threads (void)
{
  int code = run_in_child (be_free, try_in_old_thread);

  if (code == NO_SANDBOX)
    g_test_skip ("no seccomp here");
  else
    g_assert_cmpint (code, ==, EPERM);
}

static gpointer
read_in_thread (gpointer data)
{
  g_autofree char *text = NULL;

  if (!g_file_get_contents ("/proc/self/status", &text, NULL, NULL))
    return GINT_TO_POINTER (1);
  return GINT_TO_POINTER (strstr (text, "NoNewPrivs:\t1") == NULL ? 2 : 0);
}

/* The calls that draining, unwinding and writing make. */
static int
do_what_is_needed (void)
{
  g_autofree gpointer memory = g_malloc (64 << 20);
  struct rlimit limit;
  char byte = 7, copy = 0;
  struct iovec from = { .iov_base = &byte, .iov_len = 1 };
  struct iovec to = { .iov_base = &copy, .iov_len = 1 };
  GDir *dir = g_dir_open ("/proc/self/fd", 0, NULL);
  GThread *thread;

  memset (memory, 1, 64 << 20);
  if (dir == NULL || g_dir_read_name (dir) == NULL)
    return 10;
  g_dir_close (dir);
  if (getrlimit (RLIMIT_NOFILE, &limit) != 0 || isatty (STDERR_FILENO) < 0)
    return 11;
  if (process_vm_readv (getpid (), &to, 1, &from, 1, 0) != 1 || copy != 7)
    return 12;
  /* as abort() does */
  if (syscall (SYS_tgkill, getpid (), syscall (SYS_gettid), 0) != 0)
    return 15;
  g_usleep (10);
  thread = g_thread_try_new ("new", read_in_thread, NULL, NULL);
  return thread != NULL ? GPOINTER_TO_INT (g_thread_join (thread)) : 13;
}

static void
test_needed (void)
{
  int code = run_in_child (be_helper, do_what_is_needed);

  if (code == NO_SANDBOX)
    g_test_skip ("no seccomp here");
  else
    g_assert_cmpint (code, ==, 0);
}

/* 0 if every right that is not needed is gone. */
static int
count_capabilities (LuNeeds needs, guint64 *effective, guint64 *bounding)
{
  g_autofree char *text = NULL;
  const char *line;

  if (!lu_sandbox_drop_capabilities (needs, NULL)
      || !g_file_get_contents ("/proc/thread-self/status", &text, NULL, NULL))
    return NO_SANDBOX;
  line = strstr (text, "CapEff:\t");
  *effective = g_ascii_strtoull (line + strlen ("CapEff:\t"), NULL, 16);
  line = strstr (text, "CapPrm:\t");
  *effective |= g_ascii_strtoull (line + strlen ("CapPrm:\t"), NULL, 16);
  line = strstr (text, "CapBnd:\t");
  *bounding = g_ascii_strtoull (line + strlen ("CapBnd:\t"), NULL, 16);
  return 0;
}

static int
drop_for_helper (void)
{
  guint64 effective, bounding;
  int code = count_capabilities (LU_NEEDS_FILES | LU_NEEDS_PROCESSES, &effective, &bounding);
  const guint64 wanted = 1ull << 2 | 1ull << 19 | 1ull << 40; /* linux/capability.h */

  if (code != 0)
    return code;
  if (geteuid () == 0 && bounding != 0)
    return 1;
  return (effective & ~wanted) == 0 ? 0 : 2;
}

static int
drop_everything (void)
{
  guint64 effective, bounding;
  int code = count_capabilities (0, &effective, &bounding);

  return code != 0 ? code : effective != 0;
}

/* Without capabilities, root is treated like another user by files that it does not own. */
static int
read_anothers_file (void)
{
  char path[] = "/tmp/test-sandbox-XXXXXX";
  int fd = g_mkstemp (path), code;

  if (fchown (fd, 1, 1) != 0 || !lu_sandbox_drop_capabilities (0, NULL))
    return NO_SANDBOX;
  code = result (open (path, O_RDONLY));
  unlink (path);
  return code;
}

static void
test_capabilities (void)
{
  int code = run_in_child (be_free, drop_for_helper);

  if (code == NO_SANDBOX)
    {
      g_test_skip ("built without libcap");
      return;
    }
  g_assert_cmpint (code, ==, 0);
  g_assert_cmpint (run_in_child (be_free, drop_everything), ==, 0);
}

static void
test_files_of_others (void)
{
  int code;

  if (geteuid () != 0)
    {
      g_test_skip ("needs root");
      return;
    }
  code = run_in_child (be_free, read_anothers_file);
  if (code == NO_SANDBOX)
    g_test_skip ("built without libcap");
  else
    g_assert_cmpint (code, ==, EACCES);
}

/* Root's files are those of another user then, and the needed capabilities are still there. */
static int
leave_root (void)
{
  char path[] = "/tmp/test-sandbox-XXXXXX";
  guint64 effective, bounding;
  int fd = g_mkstemp (path), death_signal = 0;

  lu_sandbox_choose_user ();
  prctl (PR_SET_PDEATHSIG, SIGUSR1);
  lu_sandbox_leave_root ();
  if (fd < 0 || geteuid () == 0 || count_capabilities (LU_NEEDS_FILES, &effective, &bounding) != 0)
    return NO_SANDBOX;
  if (getuid () < 0xc0000000u || getgid () < 0xc0000000u || getgroups (0, NULL) != 0)
    return 1;
  if (effective != 1u << 2) /* CAP_DAC_READ_SEARCH */
    return 2;
  if (open (path, O_RDONLY) < 0 || result (open (path, O_WRONLY)) != EACCES)
    return 3;
  prctl (PR_GET_PDEATHSIG, &death_signal);
  return death_signal == SIGUSR1 ? 0 : 4;
}

static void
test_leave_root (void)
{
  int code = geteuid () == 0 ? run_in_child (be_free, leave_root) : NO_SANDBOX;

  if (code == NO_SANDBOX)
    g_test_skip ("not root, or without other users, or built without libcap");
  else
    g_assert_cmpint (code, ==, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  TEST_ADD_INDEXED_CASES ("/sandbox/refused", forbidden, test_forbidden);
  g_test_add_func ("/sandbox/maps", test_maps);
  g_test_add_func ("/sandbox/loader", test_loader);
  g_test_add_func ("/sandbox/leave-root", test_leave_root);
  g_test_add_func ("/sandbox/reader", test_reader);
  g_test_add_func ("/sandbox/parser", test_parser);
  g_test_add_func ("/sandbox/memory-reader", test_memory_reader);
  g_test_add_func ("/sandbox/old threads are in it, too", test_old_threads);
  g_test_add_func ("/sandbox/what is needed works", test_needed);
  g_test_add_func ("/sandbox/capabilities that are not needed go", test_capabilities);
  g_test_add_func ("/sandbox/files of others", test_files_of_others);
  return g_test_run ();
}
