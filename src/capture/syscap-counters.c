/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* syscap-counters.c - counters as frames of a capture; see syscap-counters.h.
 *
 * Ids count from 1 in the order in which counters are first seen. A device that appears later is
 * defined later. */

#include "syscap-counters.h"

#include "base/clock.h"
#include "machine-counters.h"

#include <stdio.h>
#include <string.h>

#define INTERVAL_NS (900u * 1000u * 1000u) /* a flush once a second is not exact */
#define OWN         "live-unwinder"
/* Frames have room for 511 definitions, and for more values. */
#define MAX_IN_FRAME 500

enum
{
  OWN_RATE,
  OWN_LOST,
  N_OWN,
};

struct _LuSyscapCounters
{
  LuMachineCounters *machine;
  guint64 n_samples, n_lost;
  guint64 last_samples, last_time;
  guint n_defined; /* of the machine's; our own come before them */
  gboolean is_defined;
};

LuSyscapCounters *
lu_syscap_counters_new_for (const char *proc, const char *cpus, gboolean devices)
{
  LuSyscapCounters *self = g_new0 (LuSyscapCounters, 1);

  self->machine = lu_machine_counters_new (proc, cpus, devices);
  return self;
}

LuSyscapCounters *
lu_syscap_counters_new (gboolean devices)
{
  return lu_syscap_counters_new_for ("/proc", "/sys/devices/system/cpu", devices);
}

void
lu_syscap_counters_free (LuSyscapCounters *self)
{
  if (self == NULL)
    return;
  lu_machine_counters_free (self->machine);
  g_free (self);
}

void
lu_syscap_counters_add_sample (LuSyscapCounters *self)
{
  if (self != NULL)
    self->n_samples++;
}

void
lu_syscap_counters_take_log (LuSyscapCounters *self, const char *message)
{
  guint64 lost;

  if (self != NULL && sscanf (message, LU_SYSCAP_LOST, &lost) == 1)
    self->n_lost += lost;
}

/* Frames */

/* Counters or values, and how frames hold them. */
typedef struct
{
  LuSyscapType type; /* of the frames */
  const char *bytes;
  gsize item_size;
  guint n;
  gsize (*measure) (guint n); /* returns the size of a frame with n of them */
  void (*fill) (gpointer frame, gconstpointer items, guint n);
} Items;

static gsize
measure_counters (guint n)
{
  return sizeof (LuSyscapCtrdefFrame) + n * sizeof (LuSyscapCtrdef);
}

static void
fill_counters (gpointer payload, gconstpointer items, guint n)
{
  LuSyscapCtrdefFrame *frame = payload;
  const LuSyscapCounter *counters = items;

  frame->n_counters = (guint16) n;
  for (guint i = 0; i < n; i++)
    {
      LuSyscapCtrdef *to = &frame->counters[i];

      g_strlcpy (to->category, counters[i].category, sizeof to->category);
      g_strlcpy (to->name, counters[i].name, sizeof to->name);
      g_strlcpy (to->description, counters[i].description, sizeof to->description);
      to->id_and_type = counters[i].id | (counters[i].is_real ? 1u << 24 : 0);
    }
}

static guint
count_groups (guint n)
{
  return (n + LU_SYSCAP_CTRSET_GROUP - 1) / LU_SYSCAP_CTRSET_GROUP;
}

static gsize
measure_values (guint n)
{
  return sizeof (LuSyscapCtrsetFrame) + count_groups (n) * sizeof (LuSyscapCtrsetGroup);
}

static void
fill_values (gpointer payload, gconstpointer items, guint n)
{
  LuSyscapCtrsetFrame *frame = payload;
  const LuSyscapCounterValue *values = items;

  frame->n_groups = (guint16) count_groups (n);
  for (guint i = 0; i < n; i++)
    {
      LuSyscapCtrsetGroup *group = &frame->groups[i / LU_SYSCAP_CTRSET_GROUP];

      group->ids[i % LU_SYSCAP_CTRSET_GROUP] = values[i].id;
      group->values[i % LU_SYSCAP_CTRSET_GROUP] = values[i].bits;
    }
}

/* Writes as many frames as the items need. */
static gboolean
write_items (LuSyscapWriter *writer, guint64 time, const Items *items, GError **error)
{
  const LuSyscapHead head = { items->type, -1, -1, time };

  for (guint i = 0; i < items->n; i += MAX_IN_FRAME)
    {
      guint n = MIN (items->n - i, MAX_IN_FRAME);
      gpointer frame = lu_syscap_writer_add (writer, &head, items->measure (n), error);

      if (frame == NULL)
        return FALSE;
      items->fill (frame, items->bytes + i * items->item_size, n);
    }
  return TRUE;
}

gboolean
lu_syscap_write_counters (LuSyscapWriter *writer, guint64 time, const LuSyscapCounter *counters,
                          guint n, GError **error)
{
  const Items items = { LU_SYSCAP_CTRDEF, (const char *) counters,
                        sizeof *counters, n,
                        measure_counters, fill_counters };

  return write_items (writer, time, &items, error);
}

gboolean
lu_syscap_write_values (LuSyscapWriter *writer, guint64 time, const LuSyscapCounterValue *values,
                        guint n, GError **error)
{
  const Items items = { LU_SYSCAP_CTRSET, (const char *) values, sizeof *values, n, measure_values,
                        fill_values };

  return write_items (writer, time, &items, error);
}

/* Ours */

static gboolean
define (LuSyscapCounters *self, LuSyscapWriter *writer, guint64 time, GError **error)
{
  guint n;
  const LuMachineCounter *machine = lu_machine_counters_get (self->machine, &n);
  g_autoptr (GArray) counters = g_array_new (FALSE, FALSE, sizeof (LuSyscapCounter));

  if (!self->is_defined)
    {
      const LuSyscapCounter own[N_OWN] = {
        { 1 + OWN_RATE, TRUE, OWN, "Samples per Second", "Samples that were written" },
        { 1 + OWN_LOST, FALSE, OWN, "Lost Samples", "Samples lost since the beginning" },
      };

      g_array_append_vals (counters, own, N_OWN);
    }
  for (guint i = self->n_defined; i < n; i++)
    {
      LuSyscapCounter counter = { .id = 1 + N_OWN + i, .is_real = machine[i].is_real };

      g_strlcpy (counter.category, machine[i].category, sizeof counter.category);
      g_strlcpy (counter.name, machine[i].name, sizeof counter.name);
      g_array_append_val (counters, counter);
    }
  self->is_defined = TRUE;
  self->n_defined = n;
  return lu_syscap_write_counters (
      writer, time, (const LuSyscapCounter *) (gpointer) counters->data, counters->len, error);
}

static guint64
bits_of (double value)
{
  guint64 bits;

  memcpy (&bits, &value, sizeof bits);
  return bits;
}

static gboolean
write_values (LuSyscapCounters *self, LuSyscapWriter *writer, guint64 time, GError **error)
{
  guint n;
  const LuMachineCounter *machine = lu_machine_counters_get (self->machine, &n);
  g_autofree LuSyscapCounterValue *values = g_new (LuSyscapCounterValue, N_OWN + n);
  double seconds = (double) (time - self->last_time) / 1e9;

  values[OWN_RATE] =
      (LuSyscapCounterValue){ 1 + OWN_RATE,
                              bits_of ((double) (self->n_samples - self->last_samples) / seconds) };
  values[OWN_LOST] = (LuSyscapCounterValue){ 1 + OWN_LOST, self->n_lost };
  for (guint i = 0; i < n; i++)
    values[N_OWN + i] =
        (LuSyscapCounterValue){ 1 + N_OWN + i, machine[i].is_real ? bits_of (machine[i].real)
                                                                  : (guint64) machine[i].integer };
  return lu_syscap_write_values (writer, time, values, N_OWN + n, error);
}

gboolean
lu_syscap_counters_write (LuSyscapCounters *self, LuSyscapWriter *writer, guint64 time,
                          GError **error)
{
  gboolean ok;

  if (self == NULL)
    return TRUE;
  if (self->last_time == 0)
    self->last_time = time;
  if (time < self->last_time || time - self->last_time < INTERVAL_NS)
    return TRUE;
  lu_machine_counters_read (self->machine);
  ok = define (self, writer, time, error) && write_values (self, writer, time, error);
  self->last_time = time;
  self->last_samples = self->n_samples;
  return ok;
}
