/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* syscap-pids.c - what the capture already has of each pid; see syscap-pids.h. */

#include "syscap-pids.h"

struct _LuSyscapPids
{
  GHashTable *pids;  /* pid -> LuSyscapPid, owned */
  LuSyscapPid *last; /* the last one returned, in `pids`; NULL: none */
  GQueue exited;     /* of LuSyscapPid, oldest first, through exited_link */
};

static void
pid_free (gpointer pointer)
{
  LuSyscapPid *self = pointer;

  lu_syscap_maps_free (self->maps);
  g_clear_pointer (&self->thread_names, g_hash_table_unref);
  g_free (self);
}

LuSyscapPids *
lu_syscap_pids_new (void)
{
  LuSyscapPids *self = g_new0 (LuSyscapPids, 1);

  self->pids = g_hash_table_new_full (NULL, NULL, NULL, pid_free);
  g_queue_init (&self->exited);
  return self;
}

void
lu_syscap_pids_free (LuSyscapPids *self)
{
  if (self == NULL)
    return;
  g_hash_table_unref (self->pids);
  g_free (self);
}

LuSyscapPid *
lu_syscap_pids_find (LuSyscapPids *self, gint32 pid)
{
  return g_hash_table_lookup (self->pids, GINT_TO_POINTER (pid));
}

LuSyscapPid *
lu_syscap_pids_get (LuSyscapPids *self, gint32 pid)
{
  LuSyscapPid *found = self->last;

  if (found != NULL && found->pid == pid)
    return found;
  found = lu_syscap_pids_find (self, pid);
  if (found == NULL)
    {
      found = g_new0 (LuSyscapPid, 1);
      found->pid = pid;
      g_hash_table_insert (self->pids, GINT_TO_POINTER (pid), found);
    }
  self->last = found;
  return found;
}

static void
remove_from_exited (LuSyscapPids *self, LuSyscapPid *pid)
{
  if (pid->exited_link.data == NULL)
    return;
  g_queue_unlink (&self->exited, &pid->exited_link);
  pid->exited_link.data = NULL;
}

LuSyscapPid *
lu_syscap_pids_begin (LuSyscapPids *self, gint32 pid)
{
  LuSyscapPid *found = lu_syscap_pids_get (self, pid);

  remove_from_exited (self, found);
  return found;
}

void
lu_syscap_pids_exit (LuSyscapPids *self, LuSyscapPid *pid)
{
  pid->is_known = FALSE;
  if (pid->exited_link.data == NULL)
    {
      pid->exited_link.data = pid;
      g_queue_push_tail_link (&self->exited, &pid->exited_link);
    }
  if (self->exited.length > LU_SYSCAP_MAX_EXITED)
    {
      LuSyscapPid *oldest = g_queue_peek_head (&self->exited);

      remove_from_exited (self, oldest);
      self->last = NULL;
      g_hash_table_remove (self->pids, GINT_TO_POINTER (oldest->pid));
    }
}

guint
lu_syscap_pids_size (const LuSyscapPids *self)
{
  return g_hash_table_size (self->pids);
}
