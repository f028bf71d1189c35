/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* asking.c - see asking.h. */

#include "asking.h"

#include "base/clock.h"
#include "pace.h"

struct _LuAsking
{
  LuProcessTable *table; /* borrowed */
  LuDispatch *dispatch;  /* borrowed */
  gboolean live;
  GPtrArray *young; /* of LuProcess, references */
};

LuAsking *
lu_asking_new (LuProcessTable *table, LuDispatch *dispatch, gboolean live)
{
  LuAsking *self = g_new0 (LuAsking, 1);

  self->table = table;
  self->dispatch = dispatch;
  self->live = live;
  self->young = g_ptr_array_new_with_free_func ((GDestroyNotify) lu_process_unref);
  return self;
}

void
lu_asking_free (LuAsking *self)
{
  if (self == NULL)
    return;
  g_ptr_array_unref (self->young);
  g_free (self);
}

/* /proc has nothing of the dead, and of a pid that executed something else meanwhile the wrong
 * thing. */
void
lu_asking_now (LuAsking *self, LuProcess *process, LuProcessNeeds needs)
{
  /* Those that it maps later may be others. */
  if (!lu_process_is_asked (process, LU_PROCESS_MOUNTS) && lu_process_maps_our_files (process))
    needs &= ~(LuProcessNeeds) LU_PROCESS_MOUNTS;
  needs = lu_process_ask_once (process, needs);
  if (lu_process_has_command_line (process))
    needs &= ~(LuProcessNeeds) LU_PROCESS_NAME;
  if (self->live && needs != 0 && lu_process_table_is_current (self->table, process))
    lu_dispatch_process (self->dispatch, process, needs);
}

void
lu_asking_later (LuAsking *self, LuProcess *process)
{
  if (self->live && lu_process_ask_once (process, LU_PROCESS_LATER) != 0)
    g_ptr_array_add (self->young, lu_process_ref (process));
}

/* TRUE: it need not be looked at again. */
static gboolean
is_settled (LuAsking *self, LuProcess *process, guint64 now)
{
  guint64 start = lu_process_start_time (process);

  if (!lu_process_table_is_current (self->table, process))
    return TRUE;
  if (start != 0 && now - start < LU_PACE_NAME_AGE_MS * G_GUINT64_CONSTANT (1000000))
    return FALSE;
  lu_asking_now (self, process, LU_PROCESS_NAME | (start != 0 ? LU_PROCESS_MOUNTS : 0));
  return TRUE;
}

void
lu_asking_end_round (LuAsking *self)
{
  guint64 now = self->young->len > 0 ? lu_monotonic_ns () : 0;

  for (guint i = self->young->len; i > 0; i--)
    if (is_settled (self, g_ptr_array_index (self->young, i - 1), now))
      g_ptr_array_remove_index_fast (self->young, i - 1);
}

guint
lu_asking_n_young (const LuAsking *self)
{
  return self->young->len;
}
