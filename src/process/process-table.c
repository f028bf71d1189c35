/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* process-table.c - keeps the processes and looks them up by pid and time; see process-table.h.
 *
 * A pid has one current incarnation. An exec or a reuse of the pid makes it a past one, which is
 * kept as long as a ring may hold samples of it. That is counted in rounds: what ended in round n
 * is needed in n and n + 1 only, because a round handles every sample that was committed before the
 * side-band it read. */

#include "process/moved-text.h"
#include "process/process-table-private.h"

/* Modules kept for processes that map them later. */
#define MAX_MODULES    4096
#define ROUNDS_TO_KEEP 2
/* How often copied code of a process is compared: a thread of node may have a copy of its own. */
#define MAX_COPIES 64
/* Copied code of all processes that waits to be compared. */
#define MAX_COPIES_WAITING 1024

/* Frees this one and all older ones. */
static void
free_past (LuPast **from)
{
  LuPast *next, *at = g_steal_pointer (from);

  for (; at != NULL; at = next)
    {
      next = at->older;
      lu_process_unref (at->process);
      g_free (at);
    }
}

static void
pid_free (gpointer pointer)
{
  LuPid *self = pointer;

  lu_process_unref (self->current);
  free_past (&self->past);
  g_free (self);
}

LuProcessTable *
lu_process_table_new (gboolean follow_all, const LuProcessTableFuncs *funcs, gpointer user_data)
{
  LuProcessTable *self = g_new0 (LuProcessTable, 1);

  self->pids = g_hash_table_new_full (NULL, NULL, NULL, pid_free);
  self->unsettled = g_ptr_array_new ();
  self->undiscovered = g_hash_table_new (NULL, NULL);
  self->moved = g_hash_table_new (NULL, NULL);
  self->copies = g_array_new (FALSE, FALSE, sizeof (LuCopiedText));
  self->modules = lu_module_cache_new (MAX_MODULES);
  self->follow_all = follow_all;
  self->funcs = funcs;
  self->user_data = user_data;
  return self;
}

void
lu_process_table_free (LuProcessTable *self)
{
  if (self == NULL)
    return;
  g_ptr_array_unref (self->unsettled);
  g_hash_table_unref (self->pids);
  g_hash_table_unref (self->undiscovered);
  g_hash_table_unref (self->moved);
  g_array_unref (self->copies);
  lu_module_cache_free (self->modules);
  g_free (self);
}

void
lu_process_table_tell_added (LuProcessTable *self, LuProcess *process, gboolean is_exec)
{
  if (self->funcs->process_added != NULL)
    self->funcs->process_added (process, is_exec, self->user_data);
}

void
lu_process_table_tell_address_space (LuProcessTable *self, LuProcess *process,
                                     LuAddressSpaceChange change, gint32 parent_pid)
{
  if (self->funcs->address_space_changed != NULL)
    self->funcs->address_space_changed (
        process, change != LU_ADDRESS_SPACE_ENDED ? lu_process_address_space (process) : NULL,
        change, parent_pid, self->user_data);
}

LuPid *
lu_process_table_find (LuProcessTable *self, gint32 pid)
{
  /* A program that starts causes a dozen events in a row. */
  if (self->last == NULL || self->last->number != pid)
    self->last = g_hash_table_lookup (self->pids, GINT_TO_POINTER (pid));
  return self->last;
}

LuModule *
lu_process_table_module (LuProcessTable *self, const LuMmapEvent *mmap)
{
  char buffer[4096];
  LuModuleKey key;
  gboolean is_new;

  lu_module_key_init (&key, mmap->path, buffer, sizeof buffer);
  key.is_32bit = key.kind == LU_MODULE_VDSO && lu_mmap_is_below_4g (mmap);
  if (lu_module_key_is_file (&key))
    {
      key.has_inode = mmap->has_inode != 0;
      key.major = mmap->major;
      key.minor = mmap->minor;
      key.inode = mmap->inode;
      key.inode_generation = mmap->inode_generation;
    }
  if (lu_module_key_is_file (&key) || key.kind == LU_MODULE_VDSO)
    {
      key.build_id_size = mmap->build_id_size;
      memcpy (key.build_id, mmap->build_id, sizeof key.build_id);
    }
  return lu_module_cache_find (self->modules, &key, &is_new);
}

void
lu_process_table_mark_unsettled (LuProcessTable *self, LuPid *pid)
{
  if (!pid->is_unsettled)
    g_ptr_array_add (self->unsettled, pid);
  pid->is_unsettled = TRUE;
}

LuPid *
lu_process_table_put (LuProcessTable *self, LuProcess *process)
{
  gint32 number = lu_process_pid (process);
  LuPid *pid = lu_process_table_find (self, number);

  if (pid == NULL)
    {
      pid = g_new0 (LuPid, 1);
      pid->number = number;
      g_hash_table_insert (self->pids, GINT_TO_POINTER (number), pid);
      self->n_live++;
    }
  else
    {
      LuPast *past = g_new (LuPast, 1);

      *past = (LuPast){ .process = pid->current, .round = self->round, .older = pid->past };
      pid->past = past;
      lu_process_table_mark_unsettled (self, pid);
      if (pid->dead)
        self->n_live++;
    }
  pid->current = process;
  pid->dead = FALSE;
  pid->leader_exited = FALSE;
  return pid;
}

void
lu_process_table_mark_dead (LuProcessTable *self, LuPid *pid, guint64 time)
{
  if (pid->dead)
    return;
  pid->dead = TRUE;
  pid->dead_round = self->round;
  self->n_live--;
  lu_process_table_mark_unsettled (self, pid);
  lu_process_table_tell_address_space (self, pid->current, LU_ADDRESS_SPACE_ENDED, 0);
  if (self->funcs->exited != NULL)
    self->funcs->exited (time, pid->number, self->user_data);
}

void
lu_process_table_follow (LuProcessTable *self, gint32 pid)
{
  g_autoptr (LuAddressSpace) space = NULL;

  if (lu_process_table_find (self, pid) != NULL)
    return;
  space = lu_address_space_new ();
  lu_process_table_put (self, lu_process_new (pid, 0, "", space))->n_threads = 1;
  lu_process_table_tell_address_space (self, lu_process_table_find (self, pid)->current,
                                       LU_ADDRESS_SPACE_DISCOVERED, 0);
}

gboolean
lu_process_table_follows (LuProcessTable *self, gint32 pid)
{
  return self->follow_all || lu_process_table_find (self, pid) != NULL;
}

static LuProcess *
process_at (LuPid *pid, guint64 time)
{
  LuProcess *process = pid->current;

  for (const LuPast *past = pid->past; past != NULL && lu_process_start_time (process) > time;
       past = past->older)
    process = past->process;
  return process;
}

gboolean
lu_process_table_lookup (LuProcessTable *self, gint32 number, guint64 time, LuProcess **process,
                         LuAddressSpace **space)
{
  LuPid *pid = number >= 0 ? lu_process_table_find (self, number) : NULL;

  if (pid == NULL && self->follow_all && number > 0)
    {
      lu_process_table_follow (self, number);
      g_hash_table_add (self->undiscovered, GINT_TO_POINTER (number));
      pid = lu_process_table_find (self, number);
    }
  if (pid == NULL)
    return FALSE;
  *process = process_at (pid, time);
  *space = lu_process_address_space_at (*process, time);
  return TRUE;
}

gboolean
lu_process_table_is_current (LuProcessTable *self, const LuProcess *process)
{
  const LuPid *pid = lu_process_table_find (self, lu_process_pid (process));

  return pid != NULL && !pid->dead && pid->current == process;
}

/* Drops what no ring can hold samples of any more. Returns TRUE if nothing is left to clean up for
 * the pid. */
static gboolean
settle (LuProcessTable *self, LuPid *pid)
{
  LuPast **past = &pid->past;

  if (pid->dead)
    return pid->dead_round + ROUNDS_TO_KEEP <= self->round;
  while (*past != NULL && (*past)->round + ROUNDS_TO_KEEP > self->round)
    past = &(*past)->older;
  free_past (past);
  lu_process_trim (pid->current, self->cut_times[1]);
  return pid->past == NULL && !lu_process_has_history (pid->current);
}

void
lu_process_table_end_round (LuProcessTable *self)
{
  guint n_left = 0;

  self->last = NULL; /* the entry may be freed below */
  self->round++;
  for (guint i = 0; i < self->unsettled->len; i++)
    {
      LuPid *pid = g_ptr_array_index (self->unsettled, i);

      pid->is_unsettled = !settle (self, pid);
      if (pid->is_unsettled)
        self->unsettled->pdata[n_left++] = pid;
      else if (pid->dead)
        g_hash_table_remove (self->pids, GINT_TO_POINTER (pid->number));
    }
  g_ptr_array_set_size (self->unsettled, (gint) n_left);
  self->cut_times[1] = self->cut_times[0];
  self->cut_times[0] = self->newest_time;
}

gboolean
lu_process_table_has_live (LuProcessTable *self)
{
  return self->n_live > 0;
}

guint
lu_process_table_size (LuProcessTable *self)
{
  return g_hash_table_size (self->pids);
}

void
lu_process_table_note_copy (LuProcessTable *self, LuPid *pid, guint64 address)
{
  const LuCopiedText copy = { .pid = pid->number, .start = address };

  if (pid->n_copies >= MAX_COPIES || self->copies->len >= MAX_COPIES_WAITING)
    return;
  pid->n_copies++;
  g_array_append_val (self->copies, copy);
}

gboolean
lu_process_table_next_copy (LuProcessTable *self, LuCopiedText *question)
{
  while (self->copies->len > 0)
    {
      const LuCopiedText copy = g_array_index (self->copies, LuCopiedText, 0);
      LuPid *pid = lu_process_table_find (self, copy.pid);

      g_array_remove_index (self->copies, 0);
      if (pid == NULL || pid->dead
          || !lu_moved_text_ask (lu_process_address_space (pid->current), copy.start, question))
        continue;
      question->pid = copy.pid;
      return TRUE;
    }
  return FALSE;
}

void
lu_process_table_settle_copy (LuProcessTable *self, const LuCopiedText *answer, guint64 time)
{
  LuPid *pid = lu_process_table_find (self, answer->pid);
  LuMapping mapping;

  if (pid == NULL || pid->dead
      || !lu_moved_text_settle (lu_process_address_space (pid->current), answer, &mapping))
    return;
  mapping.time = time;
  lu_process_add_mapping (pid->current, time, &mapping);
  lu_process_table_mark_unsettled (self, pid);
  lu_process_table_tell_address_space (self, pid->current, LU_ADDRESS_SPACE_MAPPED, 0);
}

void
lu_process_table_announce_module (LuProcessTable *self, const LuMapping *mapping,
                                  LuProcess *process)
{
  if (lu_module_announce_once (mapping->module))
    self->funcs->module_added (mapping->module, process, mapping->start, mapping->end,
                               self->user_data);
}

typedef struct
{
  LuProcessTable *table;
  LuProcess *process;
} Announced;

static void
announce_mappings (LuAddressSpace *space, gpointer user_data)
{
  Announced *announced = user_data;
  guint n_mappings;
  const LuMapping *mappings = lu_address_space_mappings (space, &n_mappings);

  for (guint i = 0; i < n_mappings; i++)
    lu_process_table_announce_module (announced->table, &mappings[i], announced->process);
}

void
lu_process_table_announce (LuProcessTable *self, LuProcess *process)
{
  Announced announced = { .table = self, .process = process };

  lu_process_foreach_address_space (process, announce_mappings, &announced);
}
