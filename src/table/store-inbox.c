/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* store-inbox.c - the file by which a process that may not make files adds to a store; see store.h.
 *
 * The inbox is a sequence of records: what is below, then the bytes of the file of that name. The
 * next process with an inbox moves them to files, before it gives up the right to. Whoever wrote
 * them had read hostile files by then, so nothing is believed that a name or a size says. What the
 * files hold is looked at by those who read them later, as with all files of the store. */

#include "table/store-private.h"

#include "base/fd.h"

#include <errno.h>
#include <string.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#define INBOX_NAME "inbox"
#define MAGIC      "LU-INBOX"

typedef struct
{
  char magic[8];
  guint64 size; /* of what follows */
  char name[LU_STORE_MAX_NAME];
} Record;

_Static_assert(sizeof (Record) == 96, "without holes");

gboolean
lu_store_open_inbox (LuStore *self)
{
  lu_autofd fd =
      openat (self->folder, INBOX_NAME,
              O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
  struct stat info;

  if (fd < 0 || !lu_store_is_ours_alone (fd, &info) || flock (fd, LOCK_EX | LOCK_NB) != 0)
    return FALSE;
  self->inbox_bytes = (guint64) info.st_size;
  self->inbox = lu_fd_steal (&fd);
  return TRUE;
}

gboolean
lu_store_is_inbox_empty (const LuStore *self)
{
  return self->inbox_bytes == 0;
}

static gboolean
copy (int to, int from, guint64 at, guint64 size)
{
  off_t offset = (off_t) at;

  while (size > 0)
    {
      gssize n = sendfile (to, from, &offset, size);

      if (n == 0 || (n < 0 && errno != EINTR))
        return FALSE;
      size -= n > 0 ? (guint64) n : 0;
    }
  return TRUE;
}

/* The record at `at`, and behind it. FALSE: there is no good one. */
static gboolean
move_record (const LuStore *self, guint64 *at)
{
  char new_name[LU_STORE_MAX_NAME];
  guint64 left = self->inbox_bytes - *at;
  gboolean ok;
  Record record;
  int fd;

  if (left < sizeof record
      || lu_fd_pread_all (self->inbox, &record, sizeof record, (gint64) *at) != sizeof record
      || memcmp (record.magic, MAGIC, sizeof record.magic) != 0
      || record.size > left - sizeof record || memchr (record.name, 0, sizeof record.name) == NULL
      || !lu_store_is_our_name (record.name))
    return FALSE;
  fd = lu_store_open_new (self, new_name);
  if (fd < 0)
    return FALSE;
  ok = copy (fd, self->inbox, *at + sizeof record, record.size);
  *at += sizeof record + record.size;
  return lu_store_close_new (self, fd, new_name, ok ? record.name : NULL);
}

void
lu_store_empty_inbox (LuStore *self)
{
  LuStorePruned pruned;
  guint64 at = 0;

  while (move_record (self, &at))
    ;
  if (ftruncate (self->inbox, 0) != 0)
    lu_store_set_read_only (self);
  self->inbox_bytes = 0;
  if (at > 0)
    lu_store_remove_oldest (self, LU_STORE_MAX_BYTES, &pruned);
}

static gboolean
append (LuStore *self, const Record *record, const guint8 *bytes)
{
  if (record->size > LU_STORE_INBOX_BYTES
      || self->inbox_bytes > LU_STORE_INBOX_BYTES - record->size)
    {
      errno = EFBIG;
      return FALSE;
    }
  if (!lu_fd_write_all (self->inbox, record, sizeof *record)
      || !lu_fd_write_all (self->inbox, bytes, record->size))
    {
      self->inbox_bytes = G_MAXUINT64; /* what follows a part of a record is never found */
      return FALSE;
    }
  self->inbox_bytes += sizeof *record + record->size;
  return TRUE;
}

gboolean
lu_store_write_inbox (LuStore *self, const char *name, const guint8 *bytes, gsize size)
{
  Record record = { .size = size };
  gboolean ok;

  memcpy (record.magic, MAGIC, sizeof record.magic);
  g_strlcpy (record.name, name, sizeof record.name);
  pthread_mutex_lock (&self->inbox_mutex);
  ok = append (self, &record, bytes);
  pthread_mutex_unlock (&self->inbox_mutex);
  return ok;
}
