/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* store-pending.c - takes over pending writes: the file by which a process that may not create
 * files adds to a store; see store.h.
 *
 * The file is a sequence of records: a header, then the bytes of the table of that name. The next
 * process that opens it moves them to files, before it gives up the right to create any. The writer
 * had read hostile files by then, so names and sizes are checked here; the bytes are checked by
 * whoever reads the table, like those of every file in the store. */

#include "store-private.h"

#include "base/fd.h"

#include <sys/file.h>

#define PENDING_NAME "pending"

/* Writes the next record to its own file. Returns FALSE at the end and at the first bad record. */
static gboolean
move_record (LuStore *self, LuCursor *cursor)
{
  const guint8 *header = lu_cursor_take (cursor, sizeof (LuStoreRecord));
  const guint8 *bytes;
  LuStoreRecord record;

  if (header == NULL)
    return FALSE;
  memcpy (&record, header, sizeof record);
  bytes = lu_cursor_take (cursor, record.size);
  return bytes != NULL && memcmp (record.magic, LU_STORE_RECORD_MAGIC, sizeof record.magic) == 0
         && memchr (record.name, 0, sizeof record.name) != NULL
         && lu_store_is_our_name (record.name)
         && lu_store_write_file (self, record.name, bytes, record.size);
}

/* FALSE: the file cannot be emptied. */
static gboolean
move_records (LuStore *self, int fd, gsize size)
{
  g_autofree guint8 *bytes =
      size <= LU_STORE_PENDING_BYTES + sizeof (LuStoreRecord) ? g_try_malloc (size) : NULL;
  LuStorePruned pruned;
  LuCursor cursor;

  if (bytes != NULL && lu_fd_pread_all (fd, bytes, size, 0) == (gssize) size)
    {
      lu_cursor_init (&cursor, bytes, size);
      while (move_record (self, &cursor))
        ;
      lu_store_prune (self, LU_STORE_MAX_BYTES, &pruned);
    }
  return ftruncate (fd, 0) == 0;
}

gboolean
lu_store_open_pending (LuStore *self)
{
  lu_autofd fd =
      openat (self->directory, PENDING_NAME,
              O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
  struct stat info;

  if (fd < 0 || !lu_store_is_ours_alone (fd, &info) || flock (fd, LOCK_EX | LOCK_NB) != 0
      || (info.st_size > 0 && !move_records (self, fd, (gsize) info.st_size)))
    return FALSE;
  self->pending = lu_fd_steal (&fd);
  return TRUE;
}
