/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* fd.h - small helpers around file descriptors: whole reads and writes, owned descriptors. */

#pragma once

#include <fcntl.h>
#include <glib.h>
#include <unistd.h>

/* Closes a descriptor and sets it to -1, which means none. */
static inline void
lu_fd_clear (int *fd)
{
  if (*fd >= 0)
    close (*fd);
  *fd = -1;
}
/* A descriptor that is closed on leaving the scope. */
#define lu_autofd __attribute__ ((cleanup (lu_fd_clear))) int

static inline int
lu_fd_steal (int *fd)
{
  int value = *fd;

  *fd = -1;
  return value;
}

/* Returns another descriptor of the same open file, not a standard one. Returns -1 for -1, and with
 * errno set on failure. */
static inline int
lu_fd_duplicate (int fd)
{
  return fd >= 0 ? fcntl (fd, F_DUPFD_CLOEXEC, 3) : -1;
}

/* Closes all descriptors from `first` on: for a process that was forked and needs few of them.
 * Allocates nothing. */
void lu_fd_close_from (int first);

/* Returns an array of int that owns its descriptors. */
static inline GArray *
lu_fd_array_new (void)
{
  GArray *fds = g_array_new (FALSE, FALSE, sizeof (int));

  g_array_set_clear_func (fds, (GDestroyNotify) lu_fd_clear);
  return fds;
}

/* Opens a file for reading; "-" is standard input. Returns -1 with errno set on failure. */
int lu_fd_open_input (const char *path);

/* Writes all bytes, across EINTR and short writes. Returns FALSE with errno set on failure. */
gboolean lu_fd_write_all (int fd, gconstpointer bytes, gsize size);

/* Reads up to `size` bytes at `offset` (pread), across EINTR and short reads. Returns the
 * number of bytes (fewer only at the end of the file), or -1 with errno set. */
gssize lu_fd_pread_all (int fd, gpointer bytes, gsize size, gint64 offset);

/* Reads a small file of unknown size, like those of /proc, into a NUL-terminated buffer (owned).
 * Reads at most `limit` bytes; a longer file is cut off there. Returns NULL with errno set on
 * failure. */
char *lu_fd_read_file (const char *path, gsize limit, gsize *length);
/* Reads the same from a descriptor (borrowed), from its current offset. */
char *lu_fd_read_all (int fd, gsize limit, gsize *length);
