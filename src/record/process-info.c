/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* process-info.c - see process-info.h. */

#include "process-info.h"

#include "base/clock.h"
#include "poll-scheduler.h"

struct _LuProcessInfo
{
  LuProcessTable *table; /* borrowed */
  LuDispatch *dispatch;  /* borrowed */
  gboolean live;
  GPtrArray *young; /* of LuProcess, references: requests for them wait */
};

LuProcessInfo *
lu_process_info_new (LuProcessTable *table, LuDispatch *dispatch, gboolean live)
{
  LuProcessInfo *self = g_new0 (LuProcessInfo, 1);

  self->table = table;
  self->dispatch = dispatch;
  self->live = live;
  self->young = g_ptr_array_new_with_free_func ((GDestroyNotify) lu_process_unref);
  return self;
}

void
lu_process_info_free (LuProcessInfo *self)
{
  if (self == NULL)
    return;
  g_ptr_array_unref (self->young);
  g_free (self);
}

/* Only for the current process of a pid: after its end /proc has nothing, and after an exec the
 * wrong name. */
void
lu_process_info_request (LuProcessInfo *self, LuProcess *process, LuProcessNeeds needs)
{
  /* Mounts are not needed for files of our own root. Mappings that come later may be of other
   * files. */
  if (!lu_process_is_asked (process, LU_PROCESS_MOUNTS) && lu_process_maps_our_files (process))
    needs &= ~(LuProcessNeeds) LU_PROCESS_MOUNTS;
  needs = lu_process_ask_once (process, needs);
  if (lu_process_has_command_line (process))
    needs &= ~(LuProcessNeeds) LU_PROCESS_NAME;
  if (self->live && needs != 0 && lu_process_table_is_current (self->table, process))
    lu_dispatch_process (self->dispatch, process, needs);
}

void
lu_process_info_request_later (LuProcessInfo *self, LuProcess *process)
{
  if (self->live && lu_process_ask_once (process, LU_PROCESS_LATER) != 0)
    g_ptr_array_add (self->young, lu_process_ref (process));
}

/* Requests what a young process needs if it is old enough. TRUE: nothing more has to be done for
 * the process. */
static gboolean
is_settled (LuProcessInfo *self, LuProcess *process, guint64 now)
{
  guint64 start = lu_process_start_time (process);

  if (!lu_process_table_is_current (self->table, process))
    return TRUE;
  if (start != 0 && now - start < LU_POLL_NAME_AGE_MS * G_GUINT64_CONSTANT (1000000))
    return FALSE;
  lu_process_info_request (self, process,
                           LU_PROCESS_NAME | (start != 0 ? LU_PROCESS_MOUNTS : LU_PROCESS_THREADS));
  return TRUE;
}

void
lu_process_info_end_round (LuProcessInfo *self)
{
  guint64 now = self->young->len > 0 ? lu_monotonic_ns () : 0;

  for (guint i = self->young->len; i > 0; i--)
    if (is_settled (self, g_ptr_array_index (self->young, i - 1), now))
      g_ptr_array_remove_index_fast (self->young, i - 1);
}

guint
lu_process_info_n_young (const LuProcessInfo *self)
{
  return self->young->len;
}
