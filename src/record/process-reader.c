/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* process-reader.c - see process-reader.h. */

#include "process-reader.h"

#include "base/fd.h"

#include <errno.h>
#include <sys/stat.h>

#define COMMAND_LINE_MAX   4096
#define ARGUMENTS_TRIES    5
#define ARGUMENTS_RETRY_US 100
#define MOUNTINFO_MAX      (256u << 10)
/* Mount tables of our own namespace are alike; at most this many bytes of them are kept. */
#define OWN_MOUNTINFO_BUDGET (512u << 10)

/* A directory that is the root of a process. */
typedef struct
{
  guint64 mount_id, inode; /* both 0: unknown */
} Root;

struct _LuProcessReader
{
  char own_mount_namespace[64]; /* empty: unknown */
  Root own_root;
  gboolean own_mounts_are_known;
  gsize own_mountinfo_bytes; /* kept so far */
};

/* Kernel threads have no program, nor have processes that have ended. */
static gboolean
has_program (gint32 pid)
{
  char path[32], target[1];

  g_snprintf (path, sizeof path, "/proc/%d/exe", pid);
  return readlink (path, target, sizeof target) > 0;
}

/* Reads with one system call: each one makes the kernel format the contents again. It does not wait
 * for a file system whose page lies among the arguments (Linux 4.17, 7f7ccc2ccc2e). */
static gssize
read_once (const char *path, char *text, gsize size)
{
  lu_autofd fd = open (path, O_RDONLY | O_CLOEXEC);
  gssize n = -1;

  while (fd >= 0 && (n = read (fd, text, size)) < 0 && errno == EINTR)
    ;
  return n;
}

/* Retries for a moment: the kernel announces an exec before the new program has its arguments. */
static gssize
read_arguments (LuProcess *process, char *text, gsize size)
{
  gint32 pid = lu_process_pid (process);
  guint n_tries = lu_process_start_time (process) != 0 ? ARGUMENTS_TRIES : 1;
  char path[32];
  gssize length;

  g_snprintf (path, sizeof path, "/proc/%d/cmdline", pid);
  while ((length = read_once (path, text, size)) == 0 && --n_tries > 0 && has_program (pid))
    g_usleep (ARGUMENTS_RETRY_US);
  return length;
}

/* Reads the name of the program, without the newline that ends it. */
static gssize
read_comm (LuProcess *process, char *text, gsize size)
{
  char path[32];

  g_snprintf (path, sizeof path, "/proc/%d/comm", lu_process_pid (process));
  return read_once (path, text, size) - 1;
}

/* Kernel threads have a name but no arguments. */
void
lu_process_reader_read_name (LuProcessReader *self, LuProcess *process)
{
  char text[COMMAND_LINE_MAX];
  gssize length;

  if (lu_process_has_command_line (process))
    return;
  length = read_arguments (process, text, sizeof text);
  if (length <= 0 && lu_process_comm (process)[0] == 0)
    length = read_comm (process, text, sizeof text);
  if (length > 0)
    lu_process_set_arguments (process, text, (gsize) length);
}

/* Reads where a link in /proc/PID leads. */
static gboolean
read_link (gint32 pid, const char *link, char *target, gsize size)
{
  char path[48];
  gssize n;

  g_snprintf (path, sizeof path, "/proc/%d/%s", pid, link);
  n = readlink (path, target, size - 1);
  if (n < 0)
    return FALSE;
  target[n] = 0;
  return TRUE;
}

/* Each mount belongs to one namespace, so processes whose roots are the same directory of the same
 * mount see the same paths. Linux before 5.8 does not tell the mount. */
static Root
find_root (const char *path)
{
  struct statx info;

  if (statx (AT_FDCWD, path, AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, STATX_INO | STATX_MNT_ID, &info)
          != 0
      || (info.stx_mask & STATX_MNT_ID) == 0)
    return (Root){ 0 };
  return (Root){ .mount_id = info.stx_mnt_id, .inode = info.stx_ino };
}

static gboolean
has_own_root (LuProcessReader *self, gint32 pid)
{
  char path[32];
  Root root;

  g_snprintf (path, sizeof path, "/proc/%d/root", pid);
  root = find_root (path);
  return root.mount_id != 0 && root.mount_id == self->own_root.mount_id
         && root.inode == self->own_root.inode;
}

/* Returns whether the kept tables of our own namespace suffice for this process. With another root
 * it has other paths. */
static gboolean
is_own_table_enough (LuProcessReader *self, gint32 pid)
{
  char root[3]; /* enough to see that it is longer than "/" */

  if (self->own_mounts_are_known)
    return read_link (pid, "root", root, sizeof root) && strcmp (root, "/") == 0;
  return self->own_mountinfo_bytes >= OWN_MOUNTINFO_BUDGET;
}

/* A process with our root sees these files at the same paths as we do. */
static void
note_own_files (LuAddressSpace *space)
{
  guint n;
  const LuMapping *mappings = lu_address_space_mappings (space, &n);

  for (guint i = 0; i < n; i++)
    lu_module_set_ours (mappings[i].module);
}

/* The table of our own namespace says nothing new, so it is kept for the first processes only. */
void
lu_process_reader_read_mounts (LuProcessReader *self, LuProcess *process, LuAddressSpace *space)
{
  gint32 pid = lu_process_pid (process);
  char path[32], name[64];
  gboolean own;
  gsize length = 0;
  char *text;

  if (self->own_mounts_are_known && has_own_root (self, pid))
    {
      note_own_files (space);
      return;
    }
  if (!read_link (pid, "ns/mnt", name, sizeof name))
    return;
  own = strcmp (name, self->own_mount_namespace) == 0;
  if (own && is_own_table_enough (self, pid))
    return;
  g_snprintf (path, sizeof path, "/proc/%d/mountinfo", pid);
  text = lu_fd_read_file (path, MOUNTINFO_MAX, &length);
  if (text == NULL)
    return;
  if (own)
    self->own_mountinfo_bytes += length;
  lu_process_take_mountinfo (process, text);
}

LuProcessReader *
lu_process_reader_new (gboolean own_mounts_are_known)
{
  LuProcessReader *self = g_new0 (LuProcessReader, 1);

  self->own_mounts_are_known = own_mounts_are_known;
  self->own_root = find_root ("/");
  if (!read_link (getpid (), "ns/mnt", self->own_mount_namespace, sizeof self->own_mount_namespace))
    self->own_mount_namespace[0] = 0;
  return self;
}

void
lu_process_reader_free (LuProcessReader *self)
{
  g_free (self);
}
