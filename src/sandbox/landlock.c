/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* landlock.c - limits where files are written, with Landlock; see landlock.h.
 *
 * The numbers are those of the kernel's Documentation/userspace-api/landlock.rst; headers that are
 * older than the running kernel lack the later ones. */

#include "landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* LANDLOCK_ACCESS_FS_*, with the ABI that brought each */
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

gboolean
lu_landlock_restrict_writing (const char *const *paths)
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
