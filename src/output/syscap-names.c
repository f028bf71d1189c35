/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* syscap-names.c - names what syscap-hits.c collected, when a capture is complete.
 *
 * What is in no file comes first; then file by file, so that each is opened once. */

#include "output/syscap-hits-private.h"

#include "lu/status.h"
#include "output/syscap-stack.h"
#include "output/syscap-symbols.h"
#include "symbolize/jit-names.h"
#include "symbolize/names.h"

#define MAX_SYMBOLS_FILE (64u << 20)

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
  gpointer key = GINT_TO_POINTER (pid);
  LuJitNames *names = g_hash_table_lookup (self->generated, key);

  if (names == NULL)
    {
      names = lu_jit_names_new_of_process (pid, g_hash_table_lookup (self->hits->jitdumps, key));
      g_hash_table_insert (self->generated, key, names);
    }
  return names;
}

static void
name_generated (Namer *self, guint hit)
{
  guint64 address = address_of (self->hits, hit);
  const LuSyscapHit *place = &g_array_index (self->hits->hits, LuSyscapHit, hit);
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
  const LuSyscapHitFile *source = g_ptr_array_index (self->hits->files, number);
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
    queries[i].file_offset = g_array_index (self->hits->hits, LuSyscapHit, hits[i]).file_offset;
  lu_names_find_all (self->names, &file, queries, source->n_hits);
  for (guint i = 0; i < source->n_hits; i++)
    {
      guint64 address = address_of (self->hits, hits[i]);
      LuSyscapHit *hit = &g_array_index (self->hits->hits, LuSyscapHit, hits[i]);

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

static gboolean
take_fetched (guint32 number, const LuNameFetched *fetched, gpointer user_data)
{
  Namer *self = user_data;

  return name_file (self, number, fetched) > 0 && lu_names_lack_debug_file (self->names);
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
      const LuSyscapHitFile *source = g_ptr_array_index (self->hits->files, i);
      LuUnnamedFile file = { .path = source->path, .number = i };

      if (go_on != NULL && !go_on (i, n_files, user_data))
        return FALSE;
      file.n_samples = name_file (self, i, NULL);
      if (file.n_samples > 0)
        lu_unnamed_files_add (unnamed, file, self->names, texts);
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
      n += ((const LuSyscapHitFile *) g_ptr_array_index (self->files, i))->n_hits;
    }
  for (guint32 i = 0; i < self->hits->len; i++)
    {
      guint32 file = g_array_index (self->hits, LuSyscapHit, i).file;

      if (file >= LU_SYSCAP_HIT_FIRST_FILE)
        sorted[next[file - LU_SYSCAP_HIT_FIRST_FILE]++] = i;
    }
  g_free (next);
  return sorted;
}

static void
name_without_files (Namer *self)
{
  for (guint i = 0; i < self->hits->hits->len; i++)
    switch (g_array_index (self->hits->hits, LuSyscapHit, i).file)
      {
      case LU_SYSCAP_HIT_OUTSIDE:
        name_generated (self, i);
        break;
      case LU_SYSCAP_HIT_KERNEL:
        name_kernel (self, i);
        break;
      case LU_SYSCAP_HIT_STATE:
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
