/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* syscap-hits.c - addresses of a capture, and their names; see syscap-hits.h.
 *
 * In front of the table of addresses stands a small one of those seen lately: samples come from the
 * same places again and again. An address is looked up in the mappings when it is first seen, when
 * the process is still known. */

#include "output/syscap-hits.h"

#include "base/id-table.h"
#include "lu/status.h"
#include "output/syscap-format.h"
#include "output/syscap-frames.h"
#include "output/syscap-stack.h"
#include "output/syscap-symbols.h"
#include "symbolize/jit-names.h"
#include "symbolize/names.h"

#include <string.h>

/* About 60 bytes each. */
#define MAX_HITS (512u << 10)
/* Made room for at once, as the writer should not allocate; touched only as far as it is used. */
#define EXPECTED_HITS    (64u << 10)
#define MAX_SYMBOLS_FILE (64u << 20)
#define SEEN_BITS        13

enum
{
  FILE_NONE, /* outside every mapping, or generated code */
  FILE_KERNEL,
  FILE_STATE,
  FIRST_FILE
};

typedef struct
{
  guint64 file_offset;
  guint64 time;
  guint32 file; /* FILE_*, or FIRST_FILE + number */
} Hit;

typedef struct
{
  char *path, *build_id; /* owned */
  guint64 inode;
  gint32 pid;
  guint64 start, end;
  guint n_hits;
} File;

struct _LuSyscapHits
{
  gboolean is_live;
  guint64 seen[1 << SEEN_BITS];
  LuIdTable *addresses; /* (pid, address) */
  GArray *hits;         /* of Hit, in that order */
  GPtrArray *files;     /* of File, owned */
  GHashTable *file_of;  /* mapping name -> number + 1 */
  GHashTable *jitdumps; /* pid -> path */
  guint n_left_out;
};

/* While names are found. */
typedef struct
{
  LuSyscapHits *hits;
  GArray *symbols; /* of LuSyscapSymbol */
  LuNames *names;
  const LuKallsyms *kallsyms;
  GHashTable *generated; /* pid -> LuJitNames */
  guint n_named;
} Namer;

static void
file_free (gpointer pointer)
{
  File *self = pointer;

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
  self->hits = g_array_sized_new (FALSE, FALSE, sizeof (Hit), EXPECTED_HITS);
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
  g_hash_table_unref (self->jitdumps);
  g_free (self);
}

/* While recording */

static guint32
get_file (LuSyscapHits *self, gint32 pid, const LuSyscapMapping *mapping)
{
  guint32 number = GPOINTER_TO_UINT (g_hash_table_lookup (self->file_of, mapping->name));
  const char *separator = strrchr (mapping->name, LU_SYSCAP_NAME_SEPARATOR);
  File *file;

  if (number > 0)
    return FIRST_FILE + number - 1;
  if (separator == NULL || (mapping->name[0] != '/' && !g_str_has_prefix (mapping->name, "[vdso]"))
      || g_str_has_prefix (mapping->name, "//"))
    return FILE_NONE;
  file = g_new0 (File, 1);
  file->path = g_strndup (mapping->name, (gsize) (separator - mapping->name));
  file->build_id = separator[1] == '@' ? g_strdup (separator + 2) : NULL;
  file->inode = separator[1] == '#' ? g_ascii_strtoull (separator + 2, NULL, 10) : 0;
  file->pid = self->is_live ? pid : 0;
  file->start = mapping->start;
  file->end = mapping->end;
  g_ptr_array_add (self->files, file);
  g_hash_table_insert (self->file_of, g_strdup (mapping->name),
                       GUINT_TO_POINTER (self->files->len));
  return FIRST_FILE + self->files->len - 1;
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

static void
add_hit (LuSyscapHits *self, gint32 pid, guint64 time, const LuSyscapMaps *maps, guint64 address,
         gboolean is_user)
{
  const LuSyscapMapping *mapping = NULL;
  Hit hit = { .time = time, .file = is_user ? FILE_NONE : FILE_KERNEL };

  if (self->hits->len >= MAX_HITS)
    {
      self->n_left_out += lu_id_table_find (self->addresses, (guint32) pid, address) == G_MAXUINT32;
      return;
    }
  if (lu_id_table_add (self->addresses, (guint32) pid, address) != self->hits->len)
    return;
  if ((address >> 32) == (LU_SYNTHETIC_BASE >> 32))
    hit.file = FILE_STATE;
  else if (is_user && maps != NULL)
    mapping = lu_syscap_maps_find (maps, address);
  if (mapping != NULL)
    {
      hit.file = get_file (self, pid, mapping);
      hit.file_offset = address - mapping->start + mapping->file_offset;
    }
  if (hit.file >= FIRST_FILE)
    ((File *) g_ptr_array_index (self->files, hit.file - FIRST_FILE))->n_hits++;
  else if (hit.file == FILE_NONE)
    note_generated (self, pid, maps);
  g_array_append_val (self->hits, hit);
}

void
lu_syscap_hits_add (LuSyscapHits *self, gint32 pid, guint64 time, const LuSyscapMaps *maps,
                    const guint64 *addresses, guint n_addresses)
{
  guint64 process = (guint64) (guint32) pid * G_GUINT64_CONSTANT (0xd6e8feb86659fd93);
  gboolean is_user = FALSE;

  for (guint i = 0; i < n_addresses; i++)
    {
      guint64 mixed = (addresses[i] ^ process) * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15);
      guint64 *seen = &self->seen[mixed >> (64 - SEEN_BITS)];

      if (addresses[i] >= LU_SYSCAP_CONTEXT_MAX)
        {
          is_user = addresses[i] == LU_SYSCAP_CONTEXT_USER;
          continue;
        }
      if (*seen == mixed)
        continue;
      *seen = mixed;
      add_hit (self, pid, time, maps, addresses[i], is_user);
    }
}

/* At the end */

static gint32
pid_of (const LuSyscapHits *self, guint hit)
{
  return (gint32) lu_id_table_key (self->addresses, hit)[0];
}

static guint64
address_of (const LuSyscapHits *self, guint hit)
{
  return lu_id_table_key (self->addresses, hit)[1];
}

static void
add_symbol (Namer *self, guint hit, guint64 begin, guint64 end, const char *name)
{
  LuSyscapSymbol symbol = {
    .begin = begin, .end = end, .pid = pid_of (self->hits, hit), .name = name
  };

  self->n_named++;
  g_array_append_val (self->symbols, symbol);
}

static void
name_kernel (Namer *self, guint hit)
{
  guint64 address = address_of (self->hits, hit);
  gint index = self->kallsyms != NULL ? lu_kallsyms_find (self->kallsyms, address) : -1;
  LuKernelSymbol symbol;

  if (index < 0)
    return;
  lu_kallsyms_get (self->kallsyms, (guint) index, &symbol);
  add_symbol (self, hit, symbol.address, symbol.end, symbol.name);
}

static void
name_state (Namer *self, guint hit)
{
  guint64 address = address_of (self->hits, hit);
  g_autofree char *name = NULL;

  if (address == LU_SYSCAP_LEFT_OUT)
    name = g_strdup (LU_SYSCAP_LEFT_OUT_NAME);
  else if (address - LU_SYNTHETIC_BASE < LU_N_STATUS)
    name = g_strdup_printf ("[%s]", lu_status_title ((LuStatus) (address - LU_SYNTHETIC_BASE)));
  if (name != NULL)
    add_symbol (self, hit, address, address + 1, lu_names_intern (self->names, name));
}

static LuJitNames *
get_generated (Namer *self, gint32 pid)
{
  LuJitNames *names = g_hash_table_lookup (self->generated, GINT_TO_POINTER (pid));
  const char *jitdump = g_hash_table_lookup (self->hits->jitdumps, GINT_TO_POINTER (pid));
  int fd;

  if (names != NULL)
    return names;
  names = lu_jit_names_new ();
  g_hash_table_insert (self->generated, GINT_TO_POINTER (pid), names);
  fd = lu_jit_names_open_perf_map (pid);
  if (fd >= 0)
    lu_jit_names_add_perf_map (names, fd);
  if (jitdump == NULL)
    return names;
  fd = lu_name_file_open_in_root (pid, jitdump);
  if (fd < 0)
    fd = lu_name_file_open_regular (jitdump);
  if (fd >= 0)
    lu_jit_names_add_jitdump (names, fd);
  return names;
}

static void
name_generated (Namer *self, guint hit)
{
  guint64 address = address_of (self->hits, hit);
  const Hit *place = &g_array_index (self->hits->hits, Hit, hit);
  LuJitName found;

  if (!self->hits->is_live
      || !lu_jit_names_find (get_generated (self, pid_of (self->hits, hit)), address, place->time,
                             &found))
    return;
  add_symbol (self, hit, found.start, found.end, lu_names_intern (self->names, found.name));
  g_free (found.name);
}

/* hits: numbers of those in the file. */
static void
name_file (Namer *self, const File *source, const guint32 *hits)
{
  LuNameFile file = { .path = source->path,
                      .build_id = source->build_id,
                      .inode = source->inode,
                      .pid = source->pid,
                      .start = source->start,
                      .end = source->end };
  g_autofree LuNameQuery *queries = g_new0 (LuNameQuery, source->n_hits);

  for (guint i = 0; i < source->n_hits; i++)
    queries[i].file_offset = g_array_index (self->hits->hits, Hit, hits[i]).file_offset;
  lu_names_find_all (self->names, &file, queries, source->n_hits);
  for (guint i = 0; i < source->n_hits; i++)
    {
      guint64 address = address_of (self->hits, hits[i]);

      if (queries[i].name != NULL)
        add_symbol (self, hits[i], address - (queries[i].file_offset - queries[i].start),
                    address + (queries[i].end - queries[i].file_offset), queries[i].name);
    }
}

/* Numbers of all hits, those of a file together; *starts: where each file's begin. */
static guint32 *
sort_by_file (const LuSyscapHits *self, guint32 **starts)
{
  guint32 *sorted = g_new (guint32, self->hits->len + 1);
  guint32 *next = g_new (guint32, self->files->len + 1);
  guint32 n = 0;

  *starts = g_new (guint32, self->files->len + 1);
  for (guint i = 0; i < self->files->len; i++)
    {
      (*starts)[i] = next[i] = n;
      n += ((const File *) g_ptr_array_index (self->files, i))->n_hits;
    }
  for (guint32 i = 0; i < self->hits->len; i++)
    {
      guint32 file = g_array_index (self->hits, Hit, i).file;

      if (file >= FIRST_FILE)
        sorted[next[file - FIRST_FILE]++] = i;
    }
  g_free (next);
  return sorted;
}

static void
name_without_files (Namer *self)
{
  for (guint i = 0; i < self->hits->hits->len; i++)
    switch (g_array_index (self->hits->hits, Hit, i).file)
      {
      case FILE_NONE:
        name_generated (self, i);
        break;
      case FILE_KERNEL:
        name_kernel (self, i);
        break;
      case FILE_STATE:
        name_state (self, i);
        break;
      default:
        break;
      }
}

GByteArray *
lu_syscap_hits_name (LuSyscapHits *self, const LuKallsyms *kallsyms, LuSyscapHitsFunc go_on,
                     gpointer user_data, LuSyscapHitsResult *result)
{
  Namer namer = { .hits = self, .kallsyms = kallsyms };
  g_autofree guint32 *starts = NULL;
  g_autofree guint32 *sorted = sort_by_file (self, &starts);
  guint n_left_out = 0;
  GByteArray *file;

  *result = (LuSyscapHitsResult){ .n_addresses = self->hits->len };
  namer.symbols = g_array_new (FALSE, FALSE, sizeof (LuSyscapSymbol));
  namer.names = lu_names_new ();
  namer.generated = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) lu_jit_names_free);
  name_without_files (&namer);
  for (guint i = 0; i < self->files->len && !result->is_skipped; i++)
    {
      result->is_skipped = go_on != NULL && !go_on (i, self->files->len, user_data);
      if (!result->is_skipped)
        name_file (&namer, g_ptr_array_index (self->files, i), sorted + starts[i]);
    }
  file = lu_syscap_symbols_encode (namer.symbols, MAX_SYMBOLS_FILE, &n_left_out);
  result->n_named = namer.n_named;
  result->n_left_out = self->n_left_out + n_left_out;
  g_hash_table_unref (namer.generated);
  lu_names_free (namer.names);
  g_array_unref (namer.symbols);
  return file;
}
