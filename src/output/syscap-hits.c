/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* syscap-hits.c - which addresses of which process are in a capture; see syscap-hits.h.
 *
 * In front of the table of addresses stands a small one of those seen lately: samples come from the
 * same places again and again; and before that, the outer end of the last stack, which most stacks
 * of a process share. An address is looked up in the mappings when it is first seen, when
 * the process is still known. */

#include "output/syscap-hits-private.h"

#include "lu/status.h"
#include "output/syscap-format.h"
#include "output/syscap-frames.h"
#include "output/syscap-stack.h"

#include <string.h>

/* About 60 bytes each. */
#define MAX_HITS (512u << 10)
/* Made room for at once, as the writer should not allocate; touched only as far as it is used. */
#define EXPECTED_HITS (64u << 10)

static void
file_free (gpointer pointer)
{
  LuSyscapHitFile *self = pointer;

  g_free (self->path);
  g_free (self->build_id);
  g_free (self);
}

LuSyscapHits *
lu_syscap_hits_new (gboolean is_live)
{
  LuSyscapHits *self = g_new0 (LuSyscapHits, 1);

  self->is_live = is_live;
  self->addresses = lu_id_table_new_sized (2, EXPECTED_HITS);
  self->hits = g_array_sized_new (FALSE, FALSE, sizeof (LuSyscapHit), EXPECTED_HITS);
  self->files = g_ptr_array_new_with_free_func (file_free);
  self->file_of = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  self->jitdumps = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  return self;
}

void
lu_syscap_hits_free (LuSyscapHits *self)
{
  if (self == NULL)
    return;
  lu_id_table_free (self->addresses);
  g_array_unref (self->hits);
  g_ptr_array_unref (self->files);
  g_hash_table_unref (self->file_of);
  for (guint i = 0; i < LU_SYSCAP_N_LATELY; i++)
    if (self->lately[i].name != NULL)
      g_ref_string_release (self->lately[i].name);
  g_hash_table_unref (self->jitdumps);
  g_free (self->seen_hits);
  g_free (self);
}

void
lu_syscap_hits_set_debuginfod (LuSyscapHits *self, LuDebuginfod *debuginfod)
{
  self->debuginfod = debuginfod;
  self->seen_hits = g_new0 (guint32, 1 << LU_SYSCAP_SEEN_BITS);
}

static guint32
find_file (LuSyscapHits *self, gint32 pid, const LuSyscapMapping *mapping)
{
  guint32 number = GPOINTER_TO_UINT (g_hash_table_lookup (self->file_of, mapping->name));
  const char *separator;
  LuSyscapHitFile *file;

  if (number > 0)
    return LU_SYSCAP_HIT_FIRST_FILE + number - 1;
  separator = strrchr (mapping->name, LU_SYSCAP_NAME_SEPARATOR);
  if (separator == NULL || (mapping->name[0] != '/' && !g_str_has_prefix (mapping->name, "[vdso]"))
      || g_str_has_prefix (mapping->name, "//"))
    return LU_SYSCAP_HIT_OUTSIDE;
  file = g_new0 (LuSyscapHitFile, 1);
  file->path = g_strndup (mapping->name, (gsize) (separator - mapping->name));
  file->build_id = separator[1] == '@' ? g_strdup (separator + 2) : NULL;
  file->inode = separator[1] == '#' ? g_ascii_strtoull (separator + 2, NULL, 10) : 0;
  file->pid = self->is_live ? pid : 0;
  file->start = mapping->start;
  file->end = mapping->end;
  g_ptr_array_add (self->files, file);
  g_hash_table_insert (self->file_of, g_strdup (mapping->name),
                       GUINT_TO_POINTER (self->files->len));
  return LU_SYSCAP_HIT_FIRST_FILE + self->files->len - 1;
}

static guint32
get_file (LuSyscapHits *self, gint32 pid, const LuSyscapMapping *mapping)
{
  LuSyscapLatelyFile *lately = &self->lately[mapping->module_id % LU_SYSCAP_N_LATELY];

  if (lately->name != mapping->name)
    {
      if (lately->name != NULL)
        g_ref_string_release (lately->name);
      lately->name = g_ref_string_acquire (mapping->name);
      lately->file = find_file (self, pid, mapping);
    }
  return lately->file;
}

static gboolean
find_jitdump (const LuSyscapMapping *mapping, gpointer user_data)
{
  const char *separator = strrchr (mapping->name, LU_SYSCAP_NAME_SEPARATOR);
  g_autofree char *path =
      separator != NULL ? g_strndup (mapping->name, (gsize) (separator - mapping->name)) : NULL;
  const char *slash = path != NULL ? strrchr (path, '/') : NULL;

  if (slash == NULL || !g_str_has_prefix (slash, "/jit-") || !g_str_has_suffix (path, ".dump"))
    return TRUE;
  *(char **) user_data = g_steal_pointer (&path);
  return FALSE;
}

/* The jitdump announces itself by a mapping; look for it when generated code was hit. */
static void
note_generated (LuSyscapHits *self, gint32 pid, const LuSyscapMaps *maps)
{
  char *path = NULL;

  if (maps == NULL || g_hash_table_contains (self->jitdumps, GINT_TO_POINTER (pid)))
    return;
  lu_syscap_maps_foreach (maps, find_jitdump, &path);
  if (path != NULL)
    g_hash_table_insert (self->jitdumps, GINT_TO_POINTER (pid), path);
}

/* Its number; G_MAXUINT32: there is no room for it. */
static guint32
add_hit (LuSyscapHits *self, gint32 pid, guint64 time, const LuSyscapMaps *maps, guint64 address,
         gboolean is_user)
{
  const LuSyscapMapping *mapping = NULL;
  LuSyscapHit hit = { .time = time,
                      .file = is_user ? LU_SYSCAP_HIT_OUTSIDE : LU_SYSCAP_HIT_KERNEL };
  guint32 number;

  if (self->hits->len >= MAX_HITS)
    {
      number = lu_id_table_find (self->addresses, (guint32) pid, address);
      self->n_left_out += number == G_MAXUINT32;
      return number;
    }
  number = lu_id_table_add (self->addresses, (guint32) pid, address);
  if (number != self->hits->len)
    return number;
  if ((address >> 32) == (LU_SYNTHETIC_BASE >> 32))
    hit.file = LU_SYSCAP_HIT_STATE;
  else if (is_user && maps != NULL)
    mapping = lu_syscap_maps_find (maps, address);
  if (mapping != NULL)
    {
      hit.file = get_file (self, pid, mapping);
      hit.file_offset = address - mapping->start + mapping->file_offset;
    }
  if (hit.file >= LU_SYSCAP_HIT_FIRST_FILE)
    ((LuSyscapHitFile *) g_ptr_array_index (self->files, hit.file - LU_SYSCAP_HIT_FIRST_FILE))
        ->n_hits++;
  else if (hit.file == LU_SYSCAP_HIT_OUTSIDE)
    note_generated (self, pid, maps);
  g_array_append_val (self->hits, hit);
  return number;
}

static void
count (LuSyscapHits *self, guint32 number)
{
  LuSyscapHit *hit =
      number != G_MAXUINT32 ? &g_array_index (self->hits, LuSyscapHit, number) : NULL;
  LuSyscapHitFile *file;

  if (hit == NULL || hit->file < LU_SYSCAP_HIT_FIRST_FILE)
    return;
  file = g_ptr_array_index (self->files, hit->file - LU_SYSCAP_HIT_FIRST_FILE);
  hit->n += hit->n < G_MAXINT32;
  file->n_samples += file->last_sample != self->n_samples;
  file->last_sample = self->n_samples;
}

/* How many addresses, from the outermost on, are those of the stack before, which it then replaces.
 */
static guint
match_last (LuSyscapHits *self, gint32 pid, const guint64 *addresses, guint n)
{
  const guint64 *end = addresses + n - 1;
  guint n_same = 0, n_kept = MIN (n, LU_SYSCAP_MAX_LAST);

  if (self->last_pid != pid)
    self->n_last = 0;
  while (n_same < MIN (n_kept, self->n_last) && self->last[n_same] == end[-(gssize) n_same])
    n_same++;
  for (guint i = n_same; i < n_kept; i++)
    self->last[i] = end[-(gssize) i];
  self->last_pid = pid;
  self->n_last = n_kept;
  return n_same;
}

void
lu_syscap_hits_add (LuSyscapHits *self, gint32 pid, guint64 time, const LuSyscapMaps *maps,
                    const guint64 *addresses, guint n_addresses)
{
  guint64 process = (guint64) (guint32) pid * G_GUINT64_CONSTANT (0xd6e8feb86659fd93);
  gboolean is_user = FALSE;

  self->n_samples++;
  /* Where they are counted, each time counts. */
  if (self->seen_hits == NULL && n_addresses > 0)
    n_addresses -= match_last (self, pid, addresses, n_addresses);
  for (guint i = 0; i < n_addresses; i++)
    {
      guint64 mixed = (addresses[i] ^ process) * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15);
      guint place = (guint) (mixed >> (64 - LU_SYSCAP_SEEN_BITS));
      guint32 number;

      if (addresses[i] >= LU_SYSCAP_CONTEXT_MAX)
        {
          is_user = addresses[i] == LU_SYSCAP_CONTEXT_USER;
          continue;
        }
      if (self->seen[place] == mixed && self->seen_hits == NULL)
        continue;
      number = self->seen[place] == mixed ? self->seen_hits[place]
                                          : add_hit (self, pid, time, maps, addresses[i], is_user);
      self->seen[place] = mixed;
      if (self->seen_hits == NULL)
        continue;
      self->seen_hits[place] = number;
      count (self, number);
    }
}
