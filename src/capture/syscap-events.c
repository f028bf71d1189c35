/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* syscap-events.c - the events of a recording in its metadata; see syscap-events.h. */

#include "syscap-events.h"

#include "syscap-format.h"

#include <string.h>

#define EACH "each"

struct _LuSyscapEvents
{
  GArray *described; /* of LuEventInfo; empty: there is only `usual` */
  LuEventInfo usual;
  GStringChunk *texts; /* of all of them */
};

LuSyscapEvents *
lu_syscap_events_new (void)
{
  LuSyscapEvents *self = g_new (LuSyscapEvents, 1);

  self->described = g_array_new (FALSE, FALSE, sizeof (LuEventInfo));
  self->usual = lu_event_of_frequency ("", 0);
  self->texts = g_string_chunk_new (256);
  return self;
}

void
lu_syscap_events_free (LuSyscapEvents *self)
{
  if (self == NULL)
    return;
  g_array_unref (self->described);
  g_string_chunk_free (self->texts);
  g_free (self);
}

static const char *
keep_text (LuSyscapEvents *self, const char *text)
{
  g_autofree char *valid = g_utf8_make_valid (text, -1);

  return g_string_chunk_insert_const (self->texts, valid);
}

static void
take_description (LuSyscapEvents *self, const char *text)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", LU_MAX_EVENTS + 1);

  for (guint i = 0; lines[i] != NULL && i < LU_MAX_EVENTS; i++)
    {
      g_auto (GStrv) words = g_strsplit (lines[i], " ", 3);
      LuEventInfo event = { 0 };

      if (g_strv_length (words) < 3)
        break;
      event.unit = keep_text (self, words[0]);
      event.varies = g_str_equal (words[1], EACH);
      event.weight = g_ascii_strtoull (words[1], NULL, 10);
      event.name = keep_text (self, words[2]);
      g_array_append_val (self->described, event);
    }
}

void
lu_syscap_events_take (LuSyscapEvents *self, const char *key, const char *text)
{
  if (g_str_equal (key, LU_SYSCAP_KEY_EVENT))
    self->usual.name = keep_text (self, text);
  else if (g_str_equal (key, LU_SYSCAP_KEY_FREQUENCY))
    self->usual = lu_event_of_frequency (self->usual.name, g_ascii_strtod (text, NULL));
  else if (g_str_equal (key, LU_SYSCAP_KEY_EVENTS) && self->described->len == 0)
    take_description (self, text);
}

guint
lu_syscap_events_size (const LuSyscapEvents *self)
{
  return MAX (self->described->len, 1);
}

const LuEventInfo *
lu_syscap_events_get (const LuSyscapEvents *self, guint index)
{
  if (self->described->len == 0)
    return &self->usual;
  return &g_array_index (self->described, LuEventInfo, index < self->described->len ? index : 0);
}

static gboolean
is_usual (const LuEventInfo *event, double frequency)
{
  LuEventInfo usual = lu_event_of_frequency (event->name, frequency);

  return !event->varies && event->weight == usual.weight && strcmp (event->unit, usual.unit) == 0;
}

char *
lu_syscap_events_describe (const LuEventInfo *events, guint n_events, double frequency)
{
  GString *text;

  if (n_events == 0 || (n_events == 1 && is_usual (&events[0], frequency)))
    return NULL;
  text = g_string_new (NULL);
  for (guint i = 0; i < n_events; i++)
    {
      g_autofree char *weight = g_strdup_printf ("%" G_GUINT64_FORMAT, events[i].weight);

      g_string_append_printf (text, "%s %s %s\n", events[i].unit, events[i].varies ? EACH : weight,
                              events[i].name);
    }
  return g_string_free (text, FALSE);
}
