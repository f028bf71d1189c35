/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* perf-features.c - one small reader per section, in a table by section number; see
 * perf-features.h.
 *
 * Sections are read through a cursor. Strings are { u32 length, bytes }, padded with zeros. The
 * memory kept is bounded by the size of the section, which the caller limits. */

#include "input/perf-features.h"

#include "lu/event.h"

#include <linux/perf_event.h>

enum
{
  MISC_BUILD_ID_SIZE = 1 << 15, /* perf 5.12: the byte after the build-id is its size */
  BUILD_ID_FIELD = 24,          /* u8 build_id[20], u8 size, 3 reserved */
  MAX_BUILD_IDS = 1 << 14,
  MAX_PATH = 4096, /* 64 MiB in total, for a pipe that keeps naming files */
  MAX_STRINGS = 1 << 16,
};

typedef struct
{
  guint8 size; /* 0: several files with different build-ids */
  guint8 bytes[LU_BUILD_ID_MAX];
} BuildId;

void
lu_perf_features_init (LuPerfFeatures *self)
{
  *self = (LuPerfFeatures){ 0 };
  self->build_ids = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  self->event_names = g_ptr_array_new_with_free_func (g_free);
}

void
lu_perf_features_clear (LuPerfFeatures *self)
{
  g_clear_pointer (&self->build_ids, g_hash_table_unref);
  g_clear_pointer (&self->event_names, g_ptr_array_unref);
  g_free (self->info.os_release);
  g_free (self->info.arch);
  g_free (self->info.command_line);
}

/* Returns a copy of the next string, or NULL if there is none. Invalid UTF-8 is escaped: the text
 * goes to people and into JSON. */
static char *
dup_string (LuCursor *bytes)
{
  guint32 length = lu_cursor_u32 (bytes);
  const guint8 *at = lu_cursor_take (bytes, length);
  g_autofree char *raw = NULL;

  if (at == NULL)
    return NULL;
  raw = g_strndup ((const char *) at, length);
  return g_utf8_make_valid (raw, -1);
}

static void
take_string (LuCursor *bytes, char **where)
{
  char *string = dup_string (bytes);

  if (string == NULL)
    return;
  g_free (*where);
  *where = string;
}

static void
read_os_release (LuPerfFeatures *self, LuCursor *bytes)
{
  take_string (bytes, &self->info.os_release);
}

static void
read_arch (LuPerfFeatures *self, LuCursor *bytes)
{
  take_string (bytes, &self->info.arch);
}

/* { u32 nr, nr x string } */
static void
read_command_line (LuPerfFeatures *self, LuCursor *bytes)
{
  g_autoptr (GString) joined = g_string_new (NULL);
  guint32 nr = lu_cursor_u32 (bytes);

  for (guint32 i = 0; i < nr && i < MAX_STRINGS && !bytes->failed; i++)
    {
      g_autofree char *argument = dup_string (bytes);

      if (argument != NULL)
        g_string_append_printf (joined, "%s%s", i > 0 ? " " : "", argument);
    }
  g_free (self->info.command_line);
  self->info.command_line = g_string_free (g_steal_pointer (&joined), FALSE);
}

/* { u32 nr_events, u32 attr_size, nr_events x { attr, u32 nr_ids, string name, nr_ids x u64 } } */
static void
read_event_description (LuPerfFeatures *self, LuCursor *bytes)
{
  guint32 nr = lu_cursor_u32 (bytes);
  guint32 attr_size = lu_cursor_u32 (bytes);

  g_ptr_array_set_size (self->event_names, 0);
  for (guint32 i = 0; i < nr && i < MAX_STRINGS; i++)
    {
      guint32 nr_ids;
      g_autofree char *name = NULL;

      lu_cursor_take (bytes, attr_size);
      nr_ids = lu_cursor_u32 (bytes);
      name = dup_string (bytes);
      lu_cursor_take (bytes, (gsize) nr_ids * 8);
      if (bytes->failed)
        return;
      g_ptr_array_add (self->event_names, g_steal_pointer (&name));
    }
}

static void
read_compressed (LuPerfFeatures *self, LuCursor *bytes)
{
  self->is_compressed = TRUE;
}

static void
read_directory (LuPerfFeatures *self, LuCursor *bytes)
{
  self->is_directory = TRUE;
}

static void
add_build_id (LuPerfFeatures *self, const char *path, const guint8 *bytes, guint8 size)
{
  BuildId *known = g_hash_table_lookup (self->build_ids, path);

  if (known != NULL)
    {
      if (known->size != size || memcmp (known->bytes, bytes, size) != 0)
        known->size = 0;
      return;
    }
  if (g_hash_table_size (self->build_ids) >= MAX_BUILD_IDS || strlen (path) >= MAX_PATH)
    return;
  known = g_new0 (BuildId, 1);
  known->size = size;
  memcpy (known->bytes, bytes, size);
  g_hash_table_insert (self->build_ids, g_strdup (path), known);
}

/* { header, s32 pid, u8 build_id[20], u8 size, u8 reserved[3], char path[] } */
void
lu_perf_features_read_build_id (LuPerfFeatures *self, LuCursor *record)
{
  guint16 misc;
  guint8 size = LU_BUILD_ID_MAX;
  const guint8 *id;
  const char *path;

  lu_cursor_u32 (record);
  misc = lu_cursor_u16 (record);
  lu_cursor_u16 (record);
  lu_cursor_u32 (record);
  id = lu_cursor_take (record, BUILD_ID_FIELD);
  path = lu_cursor_string (record);
  if (record->failed || (misc & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_USER)
    return;
  if (misc & MISC_BUILD_ID_SIZE)
    size = id[LU_BUILD_ID_MAX];
  if (size > 0 && size <= LU_BUILD_ID_MAX && (path[0] == '/' || strcmp (path, "[vdso]") == 0))
    add_build_id (self, path, id, size);
}

static void
read_build_ids (LuPerfFeatures *self, LuCursor *bytes)
{
  while (lu_cursor_left (bytes) >= sizeof (struct perf_event_header))
    {
      struct perf_event_header header;
      const guint8 *at;
      LuCursor record;

      memcpy (&header, bytes->at, sizeof header);
      at = lu_cursor_take (bytes, header.size);
      if (at == NULL || header.size < sizeof header)
        return;
      lu_cursor_init (&record, at, header.size);
      lu_perf_features_read_build_id (self, &record);
    }
}

/* The index is the section number (tools/perf/util/header.h, enum HEADER_*). */
static void (*const readers[]) (LuPerfFeatures *self, LuCursor *bytes) = {
  [2] = read_build_ids,     [4] = read_os_release,         [6] = read_arch,
  [11] = read_command_line, [12] = read_event_description, [24] = read_directory,
  [27] = read_compressed,
};

gboolean
lu_perf_features_wants (guint feature)
{
  return feature < G_N_ELEMENTS (readers) && readers[feature] != NULL;
}

void
lu_perf_features_read (LuPerfFeatures *self, guint feature, LuCursor *bytes)
{
  if (lu_perf_features_wants (feature))
    readers[feature](self, bytes);
}

const guint8 *
lu_perf_features_find_build_id (const LuPerfFeatures *self, const char *path, guint8 *size)
{
  const BuildId *known = g_hash_table_lookup (self->build_ids, path);

  if (known == NULL || known->size == 0)
    return NULL;
  *size = known->size;
  return known->bytes;
}
