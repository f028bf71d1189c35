/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* stacks.c - see stacks.h. */

#include "stacks.h"

#include <stdio.h>
#include <string.h>

typedef struct
{
  guint64 end;
  GArray *callers; /* owned */
  gboolean is_whole;
} Parked;

static void
clear_parked (gpointer data)
{
  Parked *parked = data;

  g_array_unref (parked->callers);
}

void
stacks_init (Stacks *self)
{
  *self = (Stacks){ .parked = g_array_new (FALSE, FALSE, sizeof (Parked)) };
  g_array_set_clear_func (self->parked, clear_parked);
}

void
stacks_clear (Stacks *self)
{
  g_clear_pointer (&self->parked, g_array_unref);
}

static gboolean
find_mapping (pid_t pid, guint64 address, guint64 *start, guint64 *end)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/maps", pid);
  g_autofree char *text = NULL;
  char *line;

  if (!g_file_get_contents (path, &text, NULL, NULL))
    return FALSE;
  for (line = text; line != NULL && *line != '\0'; line = strchr (line, '\n'))
    {
      line += *line == '\n';
      if (sscanf (line, "%" G_GINT64_MODIFIER "x-%" G_GINT64_MODIFIER "x", start, end) == 2
          && address >= *start && address < *end)
        return TRUE;
    }
  return FALSE;
}

/* The stack pointer has moved back to a caller there, out of a handler on an alternate stack. */
static gboolean
has_caller_in (const Shadow *shadow, guint64 start, guint64 end)
{
  const Caller *caller;

  for (guint depth = 0; (caller = shadow_caller (shadow, depth)) != NULL; depth++)
    if (caller->slot >= start && caller->slot < end)
      return TRUE;
  return FALSE;
}

static void
exchange (Stacks *self, Shadow *shadow, guint64 end)
{
  Parked now = { .end = self->end, .callers = shadow->callers, .is_whole = shadow->is_whole };

  shadow->callers = NULL;
  for (guint i = 0; i < self->parked->len && shadow->callers == NULL; i++)
    {
      Parked *parked = &g_array_index (self->parked, Parked, i);

      if (parked->end != end)
        continue;
      shadow->callers = g_array_ref (parked->callers);
      shadow->is_whole = parked->is_whole;
      g_array_remove_index_fast (self->parked, i);
    }
  if (shadow->callers == NULL)
    {
      shadow->callers = g_array_new (FALSE, FALSE, sizeof (Caller));
      shadow->is_whole = TRUE;
    }
  g_array_append_val (self->parked, now);
}

gboolean
stacks_follow (Stacks *self, Shadow *shadow, pid_t pid, guint64 sp, gboolean is_signal)
{
  guint64 start, end;
  gboolean is_other;

  if ((sp >= self->start && sp < self->end) || !find_mapping (pid, sp, &start, &end))
    return FALSE;
  /* A stack that has grown still ends at the same address. */
  is_other =
      self->end != 0 && self->end != end && !is_signal && !has_caller_in (shadow, start, end);
  if (is_other)
    exchange (self, shadow, end);
  self->start = start;
  self->end = end;
  return is_other;
}
