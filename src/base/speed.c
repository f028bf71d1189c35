/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* speed.c - measures how slow the machine is; see speed.h.
 *
 * The work is a sum over bytes, as reading files is. The least of a few times counts, because an
 * interrupt, or the first use of code and memory, can only make one longer. */

#include "base/speed.h"

#include "base/clock.h"

#define N_BYTES 65536
#define N_TIMES 6
/* A server of 2024 needs 23 µs, beside a busy neighbour on the same core 49. */
#define USUAL_NS 30000

static guint64
work (const guint8 *bytes)
{
  guint64 sum = 0;

  for (guint i = 0; i < N_BYTES; i++)
    sum = sum * 31 + bytes[i];
  return sum;
}

static guint
measure (void)
{
  g_autofree guint8 *bytes = g_malloc0 (N_BYTES);
  guint64 least = G_MAXUINT64;

  for (guint i = 0; i < N_TIMES; i++)
    {
      guint64 begin = lu_thread_cpu_ns ();

      bytes[0] = (guint8) work (bytes); /* the compiler must not leave it out */
      least = MIN (least, lu_thread_cpu_ns () - begin);
    }
  return (guint) CLAMP (least / USUAL_NS, 1, LU_SLOWNESS_MAX);
}

guint
lu_machine_slowness (void)
{
  static gsize slowness;

  if (g_once_init_enter (&slowness))
    g_once_init_leave (&slowness, measure ());
  return (guint) slowness;
}
