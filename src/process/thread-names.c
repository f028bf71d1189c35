/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* thread-names.c - see thread-names.h. */

#include "thread-names.h"

#include "base/fd.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

struct _LuThreadNames
{
  GHashTable *names; /* tid -> char[LU_COMM_SIZE], owned */
  GQueue tids;       /* in the order in which they were first set */
};

LuThreadNames *
lu_thread_names_new (void)
{
  LuThreadNames *self = g_new0 (LuThreadNames, 1);

  self->names = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  return self;
}

void
lu_thread_names_free (LuThreadNames *self)
{
  if (self == NULL)
    return;
  g_hash_table_unref (self->names);
  g_queue_clear (&self->tids);
  g_free (self);
}

void
lu_thread_names_set (LuThreadNames *self, gint32 tid, const char *name)
{
  char *kept = g_hash_table_lookup (self->names, GINT_TO_POINTER (tid));

  if (kept == NULL)
    {
      if (g_queue_get_length (&self->tids) >= LU_THREAD_NAMES_MAX)
        g_hash_table_remove (self->names, g_queue_pop_head (&self->tids));
      kept = g_malloc (LU_COMM_SIZE);
      g_hash_table_insert (self->names, GINT_TO_POINTER (tid), kept);
      g_queue_push_tail (&self->tids, GINT_TO_POINTER (tid));
    }
  g_strlcpy (kept, name, LU_COMM_SIZE);
}

const char *
lu_thread_names_find (const LuThreadNames *self, gint32 tid)
{
  return self != NULL ? g_hash_table_lookup (self->names, GINT_TO_POINTER (tid)) : NULL;
}

/* A thread may have ended since its directory was listed. */
static void
read_name (LuThreadNames *self, int tasks, const char *tid)
{
  g_autofree char *path = g_strconcat (tid, "/comm", NULL);
  lu_autofd fd = openat (tasks, path, O_RDONLY | O_CLOEXEC);
  char name[LU_COMM_SIZE + 1];
  gssize n = fd >= 0 ? read (fd, name, sizeof name - 1) : 0;

  if (n <= 1)
    return;
  name[n - 1] = 0; /* a newline */
  lu_thread_names_set (self, atoi (tid), name);
}

LuThreadNames *
lu_thread_names_read (gint32 pid)
{
  LuThreadNames *self = lu_thread_names_new ();
  g_autofree char *path = g_strdup_printf ("/proc/%d/task", pid);
  DIR *dir = opendir (path);

  if (dir == NULL)
    return self;
  for (struct dirent *entry = readdir (dir); entry != NULL; entry = readdir (dir))
    if (g_ascii_isdigit (entry->d_name[0])
        && g_queue_get_length (&self->tids) < LU_THREAD_NAMES_MAX)
      read_name (self, dirfd (dir), entry->d_name);
  closedir (dir);
  return self;
}
