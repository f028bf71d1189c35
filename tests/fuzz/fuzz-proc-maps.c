/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* fuzz-proc-maps.c - the parser of /proc/PID/maps; the inspected process chooses the paths in it.
 */

#include "fuzz.h"
#include "process/proc-maps.h"

#include <string.h>

typedef struct
{
  gsize size;
  guint n, stop_at;
} Lines;

static gboolean
check_line (const LuMmapEvent *map, gpointer user_data)
{
  Lines *lines = user_data;

  g_assert_cmpuint (map->length, >, 0);
  g_assert_cmpuint (map->start, <, map->start + map->length);
  g_assert_nonnull (map->path);
  g_assert_cmpuint (strlen (map->path), <=, lines->size);
  return ++lines->n != lines->stop_at;
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  g_autofree char *text = size > 0 ? g_memdup2 (data, size) : g_malloc (1); /* no NUL behind it */
  gsize n_lines = 1;
  Lines lines = { .size = size };
  guint skipped;

  for (gsize i = 0; i < size; i++)
    n_lines += data[i] == '\n';
  skipped = lu_proc_maps_parse (text, size, check_line, &lines);
  g_assert_cmpuint (lines.n + skipped, <=, n_lines);
  lines = (Lines){ .size = size, .stop_at = 2 };
  lu_proc_maps_parse (text, size, check_line, &lines);
  g_assert_cmpuint (lines.n, <=, 2);
  return 0;
}
