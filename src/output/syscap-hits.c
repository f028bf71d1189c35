/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* syscap-hits.c - addresses of a capture, and their names; see syscap-hits.h.
 *
 * In front of the table of addresses stands a small one of those seen lately: samples come from the
 * same places again and again; and before that, the outer end of the last stack, which most stacks
 * of a process share. An address is looked up in the mappings when it is first seen, when
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
/* Outermost addresses of the last stack that are kept. */
#define MAX_LAST 64
#define N_LATELY 64

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
  guint32 file;   /* FILE_*, or FIRST_FILE + number */
  guint32 n : 31; /* how often, if it is counted */
  guint32 is_named : 1;
} Hit;

typedef struct
{
  char *path, *build_id; /* owned */
  guint64 inode;
  gint32 pid;
  guint64 start, end;
  guint n_hits;
  /* if samples are counted */
  guint64 n_samples, last_sample;
} File;

/* In front of file_of: names of mappings are interned, and there are few. */
typedef struct
{
  char *name; /* reference; NULL: none */
  guint32 file;
} LatelyFile;

struct _LuSyscapHits
{
  gboolean is_live;
  guint64 seen[1 << SEEN_BITS];
  guint64 last[MAX_LAST]; /* of last_pid; outermost first */
  guint n_last;
  gint32 last_pid;
  LuIdTable *addresses; /* (pid, address) */
  GArray *hits;         /* of Hit, in that order */
  GPtrArray *files;     /* of File, owned */
  GHashTable *file_of;  /* mapping name -> number + 1 */
  LatelyFile lately[N_LATELY];
  GHashTable *jitdumps; /* pid -> path */
  guint n_left_out;
  LuDebuginfod *debuginfod; /* borrowed; NULL: nothing is fetched, nor counted */
  guint32 *seen_hits;       /* beside seen: numbers of these hits */
  guint64 n_samples;
};

/* While names are found. */
typedef struct
{
  LuSyscapHits *hits;
  GArray *symbols; /* of LuSyscapSymbol */
  LuNames *names;
  const LuKallsyms *kallsyms;
  GHashTable *generated;          /* pid -> LuJitNames */
  const guint32 *sorted, *starts; /* numbers of hits by file */
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
  for (guint i = 0; i < N_LATELY; i++)
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
  self->seen_hits = g_new0 (guint32, 1 << SEEN_BITS);
}

/* While recording */

static guint32
find_file (LuSyscapHits *self, gint32 pid, const LuSyscapMapping *mapping)
{
  guint32 number = GPOINTER_TO_UINT (g_hash_table_lookup (self->file_of, mapping->name));
  const char *separator;
  File *file;

  if (number > 0)
    return FIRST_FILE + number - 1;
  separator = strrchr (mapping->name, LU_SYSCAP_NAME_SEPARATOR);
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

static guint32
get_file (LuSyscapHits *self, gint32 pid, const LuSyscapMapping *mapping)
{
  LatelyFile *lately = &self->lately[mapping->module_id % N_LATELY];

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
  Hit hit = { .time = time, .file = is_user ? FILE_NONE : FILE_KERNEL };
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
  return number;
}

static void
count (LuSyscapHits *self, guint32 number)
{
  Hit *hit = number != G_MAXUINT32 ? &g_array_index (self->hits, Hit, number) : NULL;
  File *file;

  if (hit == NULL || hit->file < FIRST_FILE)
    return;
  file = g_ptr_array_index (self->files, hit->file - FIRST_FILE);
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
  guint n_same = 0, n_kept = MIN (n, MAX_LAST);

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
      guint place = (guint) (mixed >> (64 - SEEN_BITS));
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

/* Names what has no name yet in a file. Samples at most that still have none; 0: there are none. */
static guint64
name_file (Namer *self, guint number, const LuNameFetched *fetched)
{
  const File *source = g_ptr_array_index (self->hits->files, number);
  const guint32 *hits = self->sorted + self->starts[number];
  LuNameFile file = { .path = source->path,
                      .build_id = source->build_id,
                      .inode = source->inode,
                      .pid = source->pid,
                      .start = source->start,
                      .end = source->end,
                      .fetched = fetched };
  g_autofree LuNameQuery *queries = g_new0 (LuNameQuery, source->n_hits);
  guint64 n_without = 0;

  for (guint i = 0; i < source->n_hits; i++)
    queries[i].file_offset = g_array_index (self->hits->hits, Hit, hits[i]).file_offset;
  lu_names_find_all (self->names, &file, queries, source->n_hits);
  for (guint i = 0; i < source->n_hits; i++)
    {
      guint64 address = address_of (self->hits, hits[i]);
      Hit *hit = &g_array_index (self->hits->hits, Hit, hits[i]);

      if (!hit->is_named && queries[i].name != NULL)
        {
          hit->is_named = TRUE;
          add_symbol (self, hits[i], address - (queries[i].file_offset - queries[i].start),
                      address + (queries[i].end - queries[i].file_offset), queries[i].name);
        }
      n_without += hit->is_named ? 0 : hit->n;
    }
  return MIN (n_without, source->n_samples);
}

/* Files from elsewhere */

static void
add_unnamed (const Namer *self, guint number, guint64 n_samples, GArray *unnamed,
             GStringChunk *texts)
{
  const File *file = g_ptr_array_index (self->hits->files, number);
  const char *build_id;
  LuNamesLack lack = lu_names_lack (self->names, &build_id);
  LuUnnamedFile one = { .path = file->path,
                        .is_gone = lack == LU_NAMES_LACK_FILE,
                        .n_samples = n_samples,
                        .number = number };

  if (n_samples == 0 || lack == LU_NAMES_LACK_NOTHING)
    return;
  one.build_id = g_string_chunk_insert_const (texts, build_id);
  g_array_append_val (unnamed, one);
}

static gboolean
take_fetched (guint32 number, const LuNameFetched *fetched, gpointer user_data)
{
  Namer *self = user_data;
  const char *build_id;

  return name_file (self, number, fetched) > 0
         && lu_names_lack (self->names, &build_id) == LU_NAMES_LACK_DEBUG_FILE;
}

/* FALSE: go_on() said no. */
static gboolean
name_files (Namer *self, LuSyscapHitsFunc go_on, gpointer user_data)
{
  g_autoptr (GArray) unnamed = g_array_new (FALSE, FALSE, sizeof (LuUnnamedFile));
  g_autoptr (GStringChunk) texts = g_string_chunk_new (4096);
  guint n_files = self->hits->files->len;

  for (guint i = 0; i < n_files; i++)
    {
      if (go_on != NULL && !go_on (i, n_files, user_data))
        return FALSE;
      add_unnamed (self, i, name_file (self, i, NULL), unnamed, texts);
    }
  if (self->hits->debuginfod != NULL)
    lu_debuginfod_fetch (self->hits->debuginfod, unnamed, self->hits->n_samples, take_fetched,
                         self);
  return TRUE;
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
  namer.sorted = sorted;
  namer.starts = starts;
  namer.symbols = g_array_new (FALSE, FALSE, sizeof (LuSyscapSymbol));
  namer.names = lu_names_new ();
  namer.generated = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) lu_jit_names_free);
  name_without_files (&namer);
  result->is_skipped = !name_files (&namer, go_on, user_data);
  file = lu_syscap_symbols_encode (namer.symbols, MAX_SYMBOLS_FILE, &n_left_out);
  result->n_named = namer.n_named;
  result->n_left_out = self->n_left_out + n_left_out;
  g_hash_table_unref (namer.generated);
  lu_names_free (namer.names);
  g_array_unref (namer.symbols);
  return file;
}
