/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* fd.c - whole reads and writes; see fd.h. */

#include "base/fd.h"

#include <errno.h>

/* Before Linux 5.9, which has close_range(2). */
#define LAST_OLD_FD 65535

void
lu_fd_close_from (int first)
{
  if (close_range ((guint) first, G_MAXUINT, 0) == 0)
    return;
  for (int fd = first; fd <= LAST_OLD_FD; fd++)
    close (fd);
}

int
lu_fd_open_input (const char *path)
{
  return g_str_equal (path, "-") ? lu_fd_duplicate (STDIN_FILENO)
                                 : open (path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
}

gboolean
lu_fd_write_all (int fd, gconstpointer bytes, gsize size)
{
  const guint8 *at = bytes;

  while (size > 0)
    {
      gssize n = write (fd, at, size);

      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0)
        return FALSE;
      at += n;
      size -= (gsize) n;
    }
  return TRUE;
}

gssize
lu_fd_pread_all (int fd, gpointer bytes, gsize size, gint64 offset)
{
  guint8 *at = bytes;
  gsize done = 0;

  while (done < size)
    {
      gssize n = pread (fd, at + done, size - done, offset + (gint64) done);

      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0)
        return -1;
      if (n == 0)
        break;
      done += (gsize) n;
    }
  return (gssize) done;
}

char *
lu_fd_read_all (int fd, gsize limit, gsize *length)
{
  gsize capacity = MIN (limit, 4096);
  gsize size = 0;
  g_autofree char *text = NULL;

  text = g_malloc (capacity + 1);
  for (;;)
    {
      gssize n;

      if (size == capacity)
        {
          if (capacity == limit)
            break;
          capacity = MIN (limit, capacity * 2);
          text = g_realloc (text, capacity + 1);
        }
      n = read (fd, text + size, capacity - size);
      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0)
        return NULL;
      if (n == 0)
        break;
      size += (gsize) n;
    }
  text[size] = 0;
  if (length != NULL)
    *length = size;
  return g_steal_pointer (&text);
}

char *
lu_fd_read_file (const char *path, gsize limit, gsize *length)
{
  lu_autofd fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

  return fd >= 0 ? lu_fd_read_all (fd, limit, length) : NULL;
}
