/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* fd.h - small helpers around file descriptors: whole reads and writes, owned descriptors. */

#pragma once

#include <fcntl.h>
#include <glib.h>
#include <unistd.h>

/* Closes a descriptor on leaving the scope; -1 means none. */
static inline void
lu_fd_clear (int *fd)
{
  if (*fd >= 0)
    close (*fd);
  *fd = -1;
}
#define lu_autofd __attribute__ ((cleanup (lu_fd_clear))) int

static inline int
lu_fd_steal (int *fd)
{
  int value = *fd;

  *fd = -1;
  return value;
}

/* Another descriptor of the same open file, not a standard one; -1 of -1, or with errno set. */
static inline int
lu_fd_duplicate (int fd)
{
  return fd >= 0 ? fcntl (fd, F_DUPFD_CLOEXEC, 3) : -1;
}

/* A file for reading, "-" is standard input; -1 with errno set. */
int lu_fd_open_input (const char *path);

/* Writes all bytes, across EINTR and short writes. FALSE with errno set when that fails. */
gboolean lu_fd_write_all (int fd, gconstpointer bytes, gsize size);

/* Reads up to `size` bytes at `offset` (pread), across EINTR and short reads. Returns what could be
 * read (less only at the end of the file), or -1 with errno set. */
gssize lu_fd_pread_all (int fd, gpointer bytes, gsize size, gint64 offset);

/* Reads a small file of unknown size (as /proc has them) into a NUL-terminated buffer. At most
 * `limit` bytes are read; a longer file is cut there. NULL with errno set on failure. */
char *lu_fd_read_file (const char *path, gsize limit, gsize *length);
/* The same from a descriptor (borrowed), from where it stands. */
char *lu_fd_read_all (int fd, gsize limit, gsize *length);
