/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* copy-file.h - copies files of file systems that may never answer.
 *
 * Whoever asks a FUSE file system for anything may sleep until its server answers, and then not
 * even SIGKILL ends him. So a process of its own asks, which can be left behind: it keeps open
 * nothing but the file, a pipe and the copy, and ends with its parent if it can. Where new
 * processes are forbidden, as in a helper, there is no copy. */

#pragma once

#include <glib.h>
#include <sys/stat.h>

typedef struct
{
  /* Opens the file for reading in the new process, and fills in its fstat(); -1: it cannot. Must
   * not allocate: other threads may have held locks. */
  int (*open) (int fd, gconstpointer data, struct stat *info);
  int fd; /* borrowed; open() gets it, maybe under another number */
  gconstpointer data;
  dev_t device; /* of the file system */
  guint64 key;  /* the file, among those of the device: the same when it is asked for again */
} LuCopying;

/* Returns a descriptor of a copy in memory, which the caller owns, or -1. Files of more than 256
 * MiB are not copied. A file system that says nothing for half a second is not asked again, nor is
 * one that takes more than five for a file for which a thread waits. Any thread. */
int lu_copy_file (const LuCopying *copying, struct stat *info);

/* From now on, the calling thread waits for half a second, and then not at all for ten times as
 * long as it waited. A copy that takes longer goes on beside it, and lu_copy_file() fails for this
 * file and all others, until lu_copy_left_unfinished() has told the thread. The next call for the
 * same file takes the copy. */
void lu_copy_hurry (void);
/* Ends the calling thread's copies for which nobody has asked for ten seconds, or all. */
void lu_copy_expire (gboolean all);
/* Returns whether a copy is not finished since the last call: the file is to be asked for again. */
gboolean lu_copy_left_unfinished (void);

/* Returns how many file systems are not asked any more. */
guint lu_copy_n_silent (void);
