/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* sandbox.c - gives up capabilities and system calls after set-up; see sandbox.h. The list of calls
 * is in make-call-filter.c. */

#include "config.h"

#include "sandbox.h"

#include "base/error.h"
#include "base/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/stat.h>
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

/* Each was found to be necessary, as root on Linux 6.18. Another process' /proc/PID/{maps,root,ns}
 * need SYS_PTRACE; /proc/PID/map_files needs CHECKPOINT_RESTORE too, and DAC_READ_SEARCH because
 * its directories belong to the process' user, like the files behind it. */
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

/* Landlock (Linux 5.13): LANDLOCK_ACCESS_FS_*, with the ABI that brought each. The numbers are
 * those of the kernel's Documentation/userspace-api/landlock.rst; older headers lack the later
 * ones. */
#define ACCESS_ABI_1      (((1u << 13) - 1) & ~(READ_FILE | READ_DIR))
#define EXECUTE           (1u << 0)
#define WRITE_FILE        (1u << 1)
#define READ_FILE         (1u << 2)
#define READ_DIR          (1u << 3)
#define REMOVE_FILE       (1u << 5)
#define MAKE_REGULAR      (1u << 8)
#define REFER_ABI_2       (1u << 13)
#define TRUNCATE_ABI_3    (1u << 14)
#define IOCTL_DEV_ABI_5   (1u << 15)
#define BIND_TCP_ABI_4    (1u << 0)
#define CONNECT_TCP_ABI_4 (1u << 1)
#define UNIX_SOCKET_ABI_6 (1u << 0)

/* struct landlock_ruleset_attr as of ABI 6 */
typedef struct
{
  guint64 files, network, scoped;
} Ruleset;

static Ruleset
everything (long abi)
{
  Ruleset set = { .files = ACCESS_ABI_1 };

  if (abi >= 2)
    set.files |= REFER_ABI_2;
  if (abi >= 3)
    set.files |= TRUNCATE_ABI_3;
  if (abi >= 4)
    set.network = BIND_TCP_ABI_4 | CONNECT_TCP_ABI_4;
  if (abi >= 5)
    set.files |= IOCTL_DEV_ABI_5;
  if (abi >= 6)
    set.scoped = UNIX_SOCKET_ABI_6;
  return set;
}

static gsize
size_of (long abi)
{
  return abi >= 6   ? sizeof (Ruleset)
         : abi >= 4 ? G_STRUCT_OFFSET (Ruleset, scoped)
                    : G_STRUCT_OFFSET (Ruleset, network);
}

/* A path that is not there gets no rule, so nothing can be created there. */
static gboolean
allow_writing (int ruleset, const char *path, guint64 possible)
{
  struct landlock_path_beneath_attr rule = { 0 };
  struct stat st;
  gboolean ok = TRUE;

  rule.parent_fd = open (path, O_PATH | O_CLOEXEC);
  if (rule.parent_fd < 0)
    return errno == ENOENT;
  if (fstat (rule.parent_fd, &st) == 0)
    {
      rule.allowed_access = WRITE_FILE | TRUNCATE_ABI_3 | IOCTL_DEV_ABI_5;
      if (S_ISDIR (st.st_mode))
        rule.allowed_access |= REMOVE_FILE | MAKE_REGULAR;
      rule.allowed_access &= possible;
      ok = syscall (SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
    }
  close (rule.parent_fd);
  return ok;
}

/* From now on this thread and those that it starts create, change and remove files only in the
 * directories among `paths` (NULL-terminated) and below them, write to the other files among them,
 * and execute nothing; from Linux 6.7 they use no TCP. Reading is not limited. A kernel without
 * Landlock limits nothing, which is no failure. Requires no_new_privs. */
static gboolean
restrict_writing (const char *const *paths)
{
  long abi = syscall (SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
  Ruleset set = everything (abi);
  gboolean ok = TRUE;
  int fd;

  if (abi <= 0)
    return TRUE;
  fd = (int) syscall (SYS_landlock_create_ruleset, &set, size_of (abi), 0);
  for (guint i = 0; fd >= 0 && ok && paths[i] != NULL; i++)
    ok = allow_writing (fd, paths[i], set.files);
  ok = ok && fd >= 0 && syscall (SYS_landlock_restrict_self, fd, 0) == 0;
  if (fd >= 0)
    close (fd);
  return ok;
}

static gboolean
set_errno_error (GError **error, const char *what, int code)
{
  g_set_error (error, LU_ERROR, LU_ERROR_FAILED, "sandbox: %s: %s", what, g_strerror (code));
  return FALSE;
}

/* Adds the capability to `set` if we have it. */
static void
keep (cap_t set, cap_t have, cap_value_t capability)
{
  cap_flag_value_t value = CAP_CLEAR;

  if (cap_get_flag (have, capability, CAP_PERMITTED, &value) != 0 || value != CAP_SET)
    return;
  cap_set_flag (set, CAP_PERMITTED, 1, &capability, CAP_SET);
  cap_set_flag (set, CAP_EFFECTIVE, 1, &capability, CAP_SET);
}

/* Users from here on are given to nobody: login.defs, systemd and containers use lower ones. With
 * the number of the process, a recorder can signal its own processes and no other recorder. */
#define FIRST_USER 0xc0000000u

/* The calls of the C library would change all threads, but the capabilities of this thread only. */
#ifdef SYS_setresuid32
#define SETRESUID SYS_setresuid32
#define SETRESGID SYS_setresgid32
#define SETGROUPS SYS_setgroups32
#else
#define SETRESUID SYS_setresuid
#define SETRESGID SYS_setresgid
#define SETGROUPS SYS_setgroups
#endif

static guint chosen_user; /* 0: none */

/* Makes all capabilities that we have effective again, with system calls, because libcap allocates.
 */
static void
raise_capabilities (void)
{
  struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
  struct __user_cap_data_struct set[_LINUX_CAPABILITY_U32S_3];

  if (syscall (SYS_capget, &header, set) != 0)
    return;
  for (guint i = 0; i < G_N_ELEMENTS (set); i++)
    set[i].effective = set[i].permitted;
  syscall (SYS_capset, &header, set);
}

void
lu_sandbox_choose_user (void)
{
  chosen_user =
      geteuid () == 0 && !lu_mount_admits_root_alone () ? FIRST_USER + (guint) getpid () : 0;
}

void
lu_sandbox_leave_root (void)
{
  guint id = chosen_user;
  int death_signal = 0;

  prctl (PR_GET_PDEATHSIG, &death_signal, 0, 0, 0);
  if (id == 0 || syscall (SETRESGID, id, id, id) != 0)
    return;
  prctl (PR_SET_KEEPCAPS, 1, 0, 0, 0);
  if (syscall (SETGROUPS, 0, NULL) == 0)
    syscall (SETRESUID, id, id, id);
  raise_capabilities ();
  prctl (PR_SET_PDEATHSIG, death_signal, 0, 0, 0); /* a new user or group clears it */
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
  /* Kernels without CAP_PERFMON ask for this one. */
  if ((needs & LU_NEEDS_EVENTS) != 0 && cap_max_bits () <= CAP_PERFMON)
    keep (set, have, CAP_SYS_ADMIN);
  /* The bounding set stays without CAP_SETPCAP; no_new_privs then has to suffice. */
  for (cap_value_t i = 0; i < cap_max_bits (); i++)
    if (cap_drop_bound (i) != 0)
      break;
  cap_reset_ambient ();
  code = cap_set_proc (set) == 0 ? 0 : errno;
  cap_free (have);
  cap_free (set);
  return code == 0 || set_errno_error (error, "capabilities", code);
}

/* `flags` is SECCOMP_FILTER_FLAG_TSYNC for all threads, 0 for this one. Returns FALSE with errno
 * set on failure. */
static gboolean
load_filter (guint flags, const struct sock_fprog *program)
{
  /* No foreign code runs here, so mitigations of speculation would only cost time. */
  long code = syscall (SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags | SECCOMP_FILTER_FLAG_SPEC_ALLOW,
                       program);

  if (code < 0 && errno == EINVAL) /* before Linux 4.17 */
    code = syscall (SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, program);
  if (code > 0) /* a thread that has a filter of its own */
    errno = ECANCELED;
  return code == 0;
}

/* Returns FALSE with errno set on failure. */
static gboolean
restrict_calls (guint flags, const struct sock_filter *filter, gsize size)
{
  g_autofree struct sock_filter *own = g_memdup2 (filter, size);
  struct sock_fprog program = { .len = (gushort) (size / sizeof *own), .filter = own };

  for (guint i = 0; i < program.len; i++)
    if (own[i].code == (BPF_JMP | BPF_JEQ | BPF_K) && own[i].k == OWN_PID_PLACE)
      own[i].k = (guint32) getpid ();
  return prctl (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && load_filter (flags, &program);
}

gboolean
lu_sandbox_restrict_calls (LuNeeds needs, GError **error)
{
  const guint flags = SECCOMP_FILTER_FLAG_TSYNC;

  return ((needs & LU_NEEDS_MAPS) != 0
              ? restrict_calls (flags, calls_with_maps, sizeof calls_with_maps)
              : restrict_calls (flags, calls_of_helpers, sizeof calls_of_helpers))
         || set_errno_error (error, "seccomp", errno);
}

gboolean
lu_sandbox_restrict_recorder (GError **error)
{
  return restrict_calls (0, calls_of_recorders, sizeof calls_of_recorders)
         || set_errno_error (error, "seccomp", errno);
}

gboolean
lu_sandbox_restrict_reader (const char *const *outputs, GError **error)
{
  LuNeeds needs = LU_NEEDS_FILES | (outputs[0] != NULL ? LU_NEEDS_OUTPUTS : 0);

  if (!lu_sandbox_drop_capabilities (needs, error))
    return FALSE;
  if (!restrict_writing (outputs))
    return set_errno_error (error, "Landlock", errno);
  return restrict_calls (0, calls_of_readers, sizeof calls_of_readers)
         || set_errno_error (error, "seccomp", errno);
}

gboolean
lu_sandbox_restrict_viewer (GError **error)
{
  if (!lu_sandbox_drop_capabilities (
          LU_NEEDS_FILES | LU_NEEDS_PROCESSES | LU_NEEDS_OUTPUTS | LU_NEEDS_COMMAND, error))
    return FALSE;
  return restrict_calls (0, calls_of_readers, sizeof calls_of_readers)
         || set_errno_error (error, "seccomp", errno);
}

/* With system calls instead of libcap, which allocates. */
static gboolean
keep_only (cap_value_t capability)
{
  struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
  struct __user_cap_data_struct set[_LINUX_CAPABILITY_U32S_3] = { 0 };
  guint32 kept_bit = 0;

  if (syscall (SYS_capget, &header, set) == 0)
    kept_bit = set[0].permitted & (1u << capability);
  for (int i = 0; prctl (PR_CAPBSET_DROP, i, 0, 0, 0) == 0; i++)
    ;
  prctl (PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  memset (set, 0, sizeof set);
  set[0].permitted = set[0].effective = kept_bit;
  return syscall (SYS_capset, &header, set) == 0;
}

gboolean
lu_sandbox_restrict_memory_reader (void)
{
  const struct sock_fprog program = { .len = G_N_ELEMENTS (calls_of_memory_readers),
                                      .filter = (struct sock_filter *) calls_of_memory_readers };

  lu_sandbox_leave_root ();
  return keep_only (CAP_SYS_PTRACE) && prctl (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
         && load_filter (0, &program);
}

gboolean
lu_sandbox_restrict_keeper (gboolean for_others)
{
  return lu_sandbox_drop_capabilities (for_others ? LU_NEEDS_OUTPUTS : 0, NULL)
         && restrict_calls (0, calls_of_keepers, sizeof calls_of_keepers);
}

gboolean
lu_sandbox_restrict_loader (void)
{
  lu_sandbox_leave_root ();
  return lu_sandbox_drop_capabilities (LU_NEEDS_MAPS | LU_NEEDS_EVENTS, NULL)
         && restrict_calls (0, calls_of_loaders, sizeof calls_of_loaders);
}

gboolean
lu_sandbox_restrict_parser (void)
{
  return restrict_calls (0, calls_of_parsers, sizeof calls_of_parsers);
}
