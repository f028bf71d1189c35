/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* process-table.c - applies side-band to processes and answers (pid, time); see process-table.h.
 *
 * A pid has one current incarnation and, for as long as a ring may hold samples of them, past ones:
 * an exec or a reuse of the pid moves the current one there. "As long as" is counted in closed
 * rounds: what ended in round n is needed in n and n + 1 only, because a round handles every sample
 * committed before the side-band it read. */

#include "process/process-private.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

/* Modules kept for the next process that maps them. */
#define MAX_MODULES 4096
/* A process with more executable mappings than this is generating code; the rest is "no mapping".
 */
#define MAX_MAPPINGS   8192
#define ROUNDS_TO_KEEP 2

typedef struct _Past Past;

struct _Past
{
  LuProcess *process; /* owned */
  guint64 round;      /* in which it ended */
  Past *older;
};

typedef struct
{
  gint32 number;
  LuProcess *current; /* owned */
  Past *past;         /* owned, newest first */
  gint n_threads;     /* alive; a lower bound if some were never announced */
  guint32 n_execs;
  gboolean leader_exited;
  gboolean dead;
  guint64 dead_round;
  gboolean is_unsettled; /* it is in the list of these */
} Pid;

struct _LuProcessTable
{
  GHashTable *pids; /* pid -> Pid */
  LuModuleCache *modules;
  gboolean follow_all;
  const LuProcessTableFuncs *funcs;
  gpointer user_data;
  guint64 round;
  guint64 newest_time;      /* of any side-band event */
  guint64 cut_times[2];     /* newest_time at the end of the last two rounds */
  GPtrArray *unsettled;     /* of Pid: with history, past incarnations or death to clean up */
  GHashTable *undiscovered; /* set of pids that need lu_process_table_repair() */
  guint n_live;
};

/* From there on, all that are older. */
static void
free_past (Past **from)
{
  Past *next, *at = g_steal_pointer (from);

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
  Pid *self = pointer;

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
  lu_module_cache_free (self->modules);
  g_free (self);
}

static void
tell_added (LuProcessTable *self, LuProcess *process, gboolean is_exec)
{
  if (self->funcs->process_added != NULL)
    self->funcs->process_added (process, is_exec, self->user_data);
}

static void
tell_forked (LuProcessTable *self, guint64 time, gint32 pid, gint32 child_pid)
{
  if (self->funcs->forked != NULL)
    self->funcs->forked (time, pid, child_pid, self->user_data);
}

static void
tell_space (LuProcessTable *self, LuProcess *process, LuSpaceChange change, gint32 parent_pid)
{
  if (self->funcs->space_changed != NULL)
    self->funcs->space_changed (process,
                                change != LU_SPACE_ENDED ? lu_process_space (process) : NULL,
                                change, parent_pid, self->user_data);
}

static Pid *
find_pid (LuProcessTable *self, gint32 pid)
{
  return g_hash_table_lookup (self->pids, GINT_TO_POINTER (pid));
}

static void
mark_unsettled (LuProcessTable *self, Pid *pid)
{
  if (!pid->is_unsettled)
    g_ptr_array_add (self->unsettled, pid);
  pid->is_unsettled = TRUE;
}

/* Puts a new incarnation in place; takes it. */
static Pid *
put_current (LuProcessTable *self, LuProcess *process)
{
  gint32 number = lu_process_pid (process);
  Pid *pid = find_pid (self, number);

  if (pid == NULL)
    {
      pid = g_new0 (Pid, 1);
      pid->number = number;
      g_hash_table_insert (self->pids, GINT_TO_POINTER (number), pid);
      self->n_live++;
    }
  else
    {
      Past *past = g_new (Past, 1);

      *past = (Past){ .process = pid->current, .round = self->round, .older = pid->past };
      pid->past = past;
      mark_unsettled (self, pid);
      if (pid->dead)
        self->n_live++;
    }
  pid->current = process;
  pid->dead = FALSE;
  pid->leader_exited = FALSE;
  return pid;
}

void
lu_process_table_follow (LuProcessTable *self, gint32 pid)
{
  g_autoptr (LuSpace) space = NULL;

  if (find_pid (self, pid) != NULL)
    return;
  space = lu_space_new ();
  put_current (self, lu_process_new (pid, 0, 0, "", space))->n_threads = 1;
  tell_space (self, find_pid (self, pid)->current, LU_SPACE_DISCOVERED, 0);
}

gboolean
lu_process_table_follows (LuProcessTable *self, gint32 pid)
{
  return self->follow_all || find_pid (self, pid) != NULL;
}

LuModule *
lu_process_table_module (LuProcessTable *self, const LuMmapEvent *mmap)
{
  char buffer[4096];
  LuModuleKey key;
  gboolean is_new;

  lu_module_key_init (&key, mmap->path, buffer, sizeof buffer);
  key.is_32bit = key.kind == LU_MODULE_VDSO && mmap->start < G_GUINT64_CONSTANT (1) << 32;
  if (key.kind == LU_MODULE_FILE)
    {
      key.has_inode = mmap->has_inode != 0;
      key.major = mmap->major;
      key.minor = mmap->minor;
      key.inode = mmap->inode;
      key.inode_generation = mmap->inode_generation;
    }
  if (key.kind == LU_MODULE_FILE || key.kind == LU_MODULE_VDSO)
    {
      key.build_id_size = mmap->build_id_size;
      memcpy (key.build_id, mmap->build_id, sizeof key.build_id);
    }
  return lu_module_cache_find (self->modules, &key, &is_new);
}

static void
announce (LuProcessTable *self, const LuMapping *mapping, LuProcess *process)
{
  if (lu_module_announce_once (mapping->module))
    self->funcs->module_added (mapping->module, process, mapping->start, mapping->end,
                               self->user_data);
}

static void
apply_mmap (LuProcessTable *self, const LuEvent *event)
{
  const LuMmapEvent *mmap = &event->mmap;
  Pid *pid = find_pid (self, event->pid);
  LuMapping mapping = { .start = mmap->start,
                        .end = mmap->start + mmap->length,
                        .file_offset = mmap->file_offset,
                        .time = event->time };
  guint n_mappings;

  if (pid == NULL && self->follow_all)
    {
      lu_process_table_follow (self, event->pid);
      pid = find_pid (self, event->pid);
    }
  if (pid == NULL || mmap->is_kernel || !(mmap->prot & PROT_EXEC) || mmap->length == 0)
    return;
  lu_space_mappings (lu_process_space (pid->current), &n_mappings);
  if (n_mappings >= MAX_MAPPINGS)
    return;
  mapping.module = lu_process_table_module (self, mmap);
  if (lu_process_add_mapping (pid->current, event->time, &mapping))
    {
      if (lu_process_has_history (pid->current))
        mark_unsettled (self, pid);
      tell_space (self, pid->current, LU_SPACE_MAPPED, 0);
    }
  announce (self, &mapping, pid->current);
}

static void
apply_exec (LuProcessTable *self, const LuEvent *event)
{
  Pid *pid = find_pid (self, event->pid);
  g_autoptr (LuSpace) space = NULL;
  LuProcess *process;

  if (pid == NULL)
    return;
  space = lu_space_new ();
  process = lu_process_new (event->pid, ++pid->n_execs, event->time, event->comm.name, space);
  put_current (self, process);
  pid->n_threads = 1; /* exec ends all other threads */
  tell_space (self, process, LU_SPACE_EXECED, 0);
  tell_added (self, process, TRUE);
}

static void
apply_comm (LuProcessTable *self, const LuEvent *event)
{
  Pid *pid;

  if (event->comm.is_exec)
    {
      apply_exec (self, event);
      return;
    }
  if (event->tid != event->pid)
    return;
  if (self->follow_all)
    lu_process_table_follow (self, event->pid);
  pid = find_pid (self, event->pid);
  /* In a file a name is all that is known of a process that ran before. */
  if (pid != NULL && lu_process_comm (pid->current)[0] == 0)
    lu_process_set_command_line (pid->current, event->comm.name, strlen (event->comm.name));
}

static void
apply_fork (LuProcessTable *self, const LuEvent *event)
{
  Pid *parent = find_pid (self, event->task.parent_pid);
  LuProcess *child;

  if (parent == NULL && !(self->follow_all && event->pid != event->task.parent_pid))
    return;
  if (event->pid == event->task.parent_pid)
    {
      parent->n_threads++;
      tell_forked (self, event->time, event->pid, event->tid);
      return;
    }
  /* Time 0 is a fork that a recorder made up for a process that ran before: it has its own
   * mappings. */
  if (parent != NULL && event->time != 0)
    {
      child = lu_process_new (event->pid, 0, event->time, lu_process_comm (parent->current),
                              lu_process_space_at (parent->current, event->time));
      lu_process_inherit_names (child, parent->current);
    }
  else
    {
      g_autoptr (LuSpace) space = lu_space_new ();

      child = lu_process_new (event->pid, 0, event->time, "", space);
      g_hash_table_add (self->undiscovered, GINT_TO_POINTER (event->pid));
    }
  put_current (self, child)->n_threads = 1;
  tell_space (self, child, LU_SPACE_FORKED, event->task.parent_pid);
  tell_forked (self, event->time, event->task.parent_pid, event->pid);
  tell_added (self, child, FALSE);
}

static void
mark_dead (LuProcessTable *self, Pid *pid, guint64 time)
{
  if (pid->dead)
    return;
  pid->dead = TRUE;
  pid->dead_round = self->round;
  self->n_live--;
  mark_unsettled (self, pid);
  tell_space (self, pid->current, LU_SPACE_ENDED, 0);
  if (self->funcs->exited != NULL)
    self->funcs->exited (time, pid->number, self->user_data);
}

static void
apply_exit (LuProcessTable *self, const LuEvent *event)
{
  Pid *pid = find_pid (self, event->pid);

  if (pid == NULL || pid->dead)
    return;
  pid->n_threads--;
  if (event->tid == event->pid)
    pid->leader_exited = TRUE;
  if (pid->leader_exited && pid->n_threads <= 0)
    mark_dead (self, pid, event->time);
}

/* All tasks outside of our pid namespace have the number of the idle task, of which only a file
 * that somebody else recorded says anything. */
static gboolean
is_idle_task_in_file (const LuEvent *event)
{
  return event->kind == LU_EVENT_COMM && event->time == 0;
}

void
lu_process_table_apply (LuProcessTable *self, const LuEvent *event)
{
  self->newest_time = MAX (self->newest_time, event->time);
  if (event->pid < 0 || (event->pid == 0 && !is_idle_task_in_file (event)))
    return;
  switch (event->kind)
    {
    case LU_EVENT_MMAP:
      apply_mmap (self, event);
      break;
    case LU_EVENT_COMM:
      apply_comm (self, event);
      break;
    case LU_EVENT_FORK:
      apply_fork (self, event);
      break;
    case LU_EVENT_EXIT:
      apply_exit (self, event);
      break;
    default:
      break;
    }
}

static LuProcess *
process_at (Pid *pid, guint64 time)
{
  LuProcess *process = pid->current;

  for (const Past *past = pid->past; past != NULL && lu_process_start_time (process) > time;
       past = past->older)
    process = past->process;
  return process;
}

gboolean
lu_process_table_lookup (LuProcessTable *self, gint32 number, guint64 time, LuProcess **process,
                         LuSpace **space)
{
  Pid *pid = number >= 0 ? find_pid (self, number) : NULL;

  if (pid == NULL && self->follow_all && number > 0)
    {
      lu_process_table_follow (self, number);
      g_hash_table_add (self->undiscovered, GINT_TO_POINTER (number));
      pid = find_pid (self, number);
    }
  if (pid == NULL)
    return FALSE;
  *process = process_at (pid, time);
  *space = lu_process_space_at (*process, time);
  return TRUE;
}

gboolean
lu_process_table_is_current (LuProcessTable *self, const LuProcess *process)
{
  const Pid *pid = find_pid (self, lu_process_pid (process));

  return pid != NULL && !pid->dead && pid->current == process;
}

/* Drops what no ring can hold samples of any more. TRUE if nothing is left to clean up for the pid.
 */
static gboolean
settle (LuProcessTable *self, Pid *pid)
{
  Past **past = &pid->past;

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

  self->round++;
  for (guint i = 0; i < self->unsettled->len; i++)
    {
      Pid *pid = g_ptr_array_index (self->unsettled, i);

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

/* The last thread of a process may have ended without an EXIT of its own (it was never announced).
 */
static void
bury_unseen_dead (LuProcessTable *self, guint64 time)
{
  GHashTableIter iter;
  gpointer key, value;

  g_hash_table_iter_init (&iter, self->pids);
  while (g_hash_table_iter_next (&iter, &key, &value))
    {
      Pid *pid = value;

      if (pid->leader_exited && !pid->dead && kill (GPOINTER_TO_INT (key), 0) < 0 && errno == ESRCH)
        mark_dead (self, pid, time);
    }
}

void
lu_process_table_repair (LuProcessTable *self, guint64 time)
{
  GHashTableIter iter;
  gpointer key;

  g_hash_table_iter_init (&iter, self->undiscovered);
  while (g_hash_table_iter_next (&iter, &key, NULL))
    {
      gint32 number = GPOINTER_TO_INT (key);
      Pid *pid = find_pid (self, number);

      if (pid != NULL && !pid->dead && !lu_process_table_discover (self, number, time))
        mark_dead (self, pid, time);
      g_hash_table_iter_remove (&iter);
    }
  bury_unseen_dead (self, time);
}

void
lu_process_table_put_discovered (LuProcessTable *self, gint32 number, const char *comm,
                                 guint n_threads, LuSpace *space, guint64 time)
{
  Pid *pid = find_pid (self, number);
  guint64 start;

  if (pid != NULL && !pid->dead && lu_process_comm (pid->current)[0] != 0)
    {
      lu_process_take_space (pid->current, time, lu_space_ref (space));
      pid->n_threads = (gint) n_threads;
      mark_unsettled (self, pid);
      tell_space (self, pid->current, LU_SPACE_DISCOVERED, 0);
      return;
    }
  /* What was never announced has always been so, as far as its samples go. */
  start = pid != NULL && pid->dead ? time : 0;
  pid = put_current (self,
                     lu_process_new (number, pid != NULL ? pid->n_execs : 0, start, comm, space));
  pid->n_threads = (gint) n_threads;
  tell_space (self, pid->current, LU_SPACE_DISCOVERED, 0);
  tell_added (self, pid->current, TRUE);
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

static gboolean
is_live (gpointer value)
{
  return !((Pid *) value)->dead;
}

void
lu_process_table_discover_followed (LuProcessTable *self, guint64 time)
{
  g_autoptr (GArray) numbers = g_array_new (FALSE, FALSE, sizeof (gint32));
  GHashTableIter iter;
  gpointer key, value;

  g_hash_table_iter_init (&iter, self->pids);
  while (g_hash_table_iter_next (&iter, &key, &value))
    if (is_live (value))
      {
        gint32 number = GPOINTER_TO_INT (key);

        g_array_append_val (numbers, number);
      }
  for (guint i = 0; i < numbers->len; i++)
    lu_process_table_discover (self, g_array_index (numbers, gint32, i), time);
}

typedef struct
{
  LuProcessTable *table;
  LuProcess *process;
} Announced;

static void
announce_space (LuSpace *space, gpointer user_data)
{
  Announced *announced = user_data;
  guint n_mappings;
  const LuMapping *mappings = lu_space_mappings (space, &n_mappings);

  for (guint i = 0; i < n_mappings; i++)
    announce (announced->table, &mappings[i], announced->process);
}

void
lu_process_table_announce (LuProcessTable *self, LuProcess *process)
{
  Announced announced = { .table = self, .process = process };

  lu_process_foreach_space (process, announce_space, &announced);
}

gboolean
lu_process_table_follows_all (LuProcessTable *self)
{
  return self->follow_all;
}
