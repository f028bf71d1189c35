/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* syscap-hits.c - collects which addresses of which process are in a capture, and names them at its
 * end; see syscap-hits.h.
 *
 * Most addresses do not reach the table of addresses. The outer end of the last stack, which most
 * stacks of a process share, is skipped first; then a small cache knows the recent addresses,
 * because samples hit the same places again and again. The mapping of an address is looked up when
 * it is first seen, while the process is still known. */

#include "syscap-hits.h"

#include "base/id-table.h"
#include "syscap-stack.h"
#include "syscap-symbols.h"
#include "symbolize/jit-names.h"
#include "symbolize/place-names.h"

/* Each takes about 60 bytes. */
#define MAX_HITS (512u << 10)
/* Room is allocated at once, because the writer should not allocate; unused pages are never
 * touched.
 */
#define EXPECTED_HITS    (64u << 10)
#define MAX_SYMBOLS_FILE (64u << 20)
/* Number of the first function of an interpreter, in __symbols__. Numbers of native functions,
 * which the namer gives, are small. */
#define FIRST_FUNCTION (1u << 30)
#define SEEN_BITS      13
/* Processes with generated code. */
#define MAX_GENERATED 4096
/* Outermost addresses of the last stack that are remembered. */
#define MAX_LAST 64

enum
{
  NOWHERE, /* outside every mapping */
  GENERATED,
  KERNEL,
  STATE,
  FIRST_FILE
};

typedef struct
{
  guint64 file_offset;
  guint64 time;
  guint32 file;      /* NOWHERE to STATE, or FIRST_FILE + number */
  guint32 n_samples; /* 0 unless samples are counted */
} Hit;

typedef struct
{
  LuFileId *id; /* referenced */
  LuNameFile file;
  /* 0 unless samples are counted: */
  guint64 n_samples, last_sample;
} HitFile;

/* A function of an interpreter. */
typedef struct
{
  char *name; /* owned */
  guint32 number;
} Function;

/* The generated code of a process. */
typedef struct
{
  char *program; /* owned */
  guint64 n_samples;
  guint n_named, n_unnamed; /* addresses */
} Generated;

struct _LuSyscapHits
{
  gboolean is_live;
  guint64 seen[1 << SEEN_BITS];
  guint64 last[MAX_LAST]; /* addresses of its last stack, outermost first */
  guint n_last;
  gint32 last_pid;
  LuIdTable *addresses;  /* (pid, address) */
  GArray *hits;          /* of Hit, in the order of addresses */
  GPtrArray *files;      /* of HitFile, owned */
  GHashTable *file_of;   /* LuFileId -> number + 1 */
  GHashTable *jitdumps;  /* pid -> path */
  GHashTable *functions; /* address -> Function, both owned */
  GHashTable *generated; /* pid -> Generated */
  guint n_left_out;
  LuDebuginfod *debuginfod; /* borrowed; NULL: fetch nothing and count no samples */
  guint32 *seen_hits;       /* by slot of `seen`: number of the hit; NULL: count no samples */
  guint64 n_samples;
};

static void
file_free (gpointer pointer)
{
  HitFile *self = pointer;

  lu_file_id_unref (self->id);
  g_free (self);
}

static void
function_free (gpointer pointer)
{
  g_free (((Function *) pointer)->name);
  g_free (pointer);
}

static void
generated_free (gpointer pointer)
{
  g_free (((Generated *) pointer)->program);
  g_free (pointer);
}

LuSyscapHits *
lu_syscap_hits_new (gboolean is_live)
{
  LuSyscapHits *self = g_new0 (LuSyscapHits, 1);

  self->is_live = is_live;
  self->addresses = lu_id_table_new_sized (2, EXPECTED_HITS);
  self->hits = g_array_sized_new (FALSE, FALSE, sizeof (Hit), EXPECTED_HITS);
  self->files = g_ptr_array_new_with_free_func (file_free);
  self->file_of = g_hash_table_new (NULL, NULL);
  self->functions = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, function_free);
  self->jitdumps = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  self->generated = g_hash_table_new_full (NULL, NULL, NULL, generated_free);
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
  g_hash_table_unref (self->functions);
  g_hash_table_unref (self->generated);
  g_free (self->seen_hits);
  g_free (self);
}

void
lu_syscap_hits_set_debuginfod (LuSyscapHits *self, LuDebuginfod *debuginfod)
{
  self->debuginfod = debuginfod;
  self->seen_hits = g_new0 (guint32, 1 << SEEN_BITS);
}

void
lu_syscap_hits_learn (LuSyscapHits *self, guint64 address, const char *name, guint32 number)
{
  Function *function = g_new (Function, 1);

  *function = (Function){ .name = g_strdup (name), .number = number };
  g_hash_table_insert (self->functions, g_memdup2 (&address, sizeof address), function);
}

static guint32
find_file (LuSyscapHits *self, gint32 pid, const LuSyscapMapping *mapping)
{
  guint32 number = GPOINTER_TO_UINT (g_hash_table_lookup (self->file_of, mapping->file));
  HitFile *file;

  if (number > 0)
    return FIRST_FILE + number - 1;
  if (lu_file_is_generated (mapping->file))
    return GENERATED;
  file = g_new0 (HitFile, 1);
  file->id = lu_file_id_ref (mapping->file);
  file->file = (LuNameFile){
    .id = file->id, .pid = self->is_live ? pid : 0, .start = mapping->start, .end = mapping->end
  };
  g_ptr_array_add (self->files, file);
  g_hash_table_insert (self->file_of, file->id, GUINT_TO_POINTER (self->files->len));
  return FIRST_FILE + self->files->len - 1;
}

static gboolean
find_jitdump (const LuSyscapMapping *mapping, gpointer user_data)
{
  if (!lu_jit_names_is_jitdump (mapping->file->path))
    return TRUE;
  *(char **) user_data = g_strdup (mapping->file->path);
  return FALSE;
}

/* Looks for the mapping by which a process announces its jitdump, once generated code was hit. */
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

/* Returns the number of the hit; G_MAXUINT32 if there is no room for it. */
static guint32
add_hit (LuSyscapHits *self, const LuSyscapHitStack *stack, guint64 address, gboolean is_user)
{
  const LuSyscapMapping *mapping = NULL;
  Hit hit = { .time = stack->time, .file = is_user ? NOWHERE : KERNEL };
  guint32 number;

  if (self->hits->len >= MAX_HITS)
    {
      number = lu_id_table_find (self->addresses, (guint32) stack->pid, address);
      self->n_left_out += number == G_MAXUINT32;
      return number;
    }
  number = lu_id_table_add (self->addresses, (guint32) stack->pid, address);
  if (number != self->hits->len)
    return number;
  if (lu_is_synthetic (address))
    hit.file = STATE;
  else if (is_user && stack->maps != NULL)
    mapping = lu_syscap_maps_find (stack->maps, address);
  if (mapping != NULL)
    {
      hit.file = find_file (self, stack->pid, mapping);
      hit.file_offset = address - mapping->start + mapping->file_offset;
    }
  if (hit.file <= GENERATED)
    note_generated (self, stack->pid, stack->maps);
  g_array_append_val (self->hits, hit);
  return number;
}

static void
count (LuSyscapHits *self, guint32 number)
{
  Hit *hit = number != G_MAXUINT32 ? &g_array_index (self->hits, Hit, number) : NULL;
  HitFile *file;

  if (hit == NULL || hit->file < FIRST_FILE)
    return;
  file = g_ptr_array_index (self->files, hit->file - FIRST_FILE);
  hit->n_samples += hit->n_samples < G_MAXUINT32;
  file->n_samples += file->last_sample != self->n_samples;
  file->last_sample = self->n_samples;
}

/* Returns how many of the outermost addresses equal those of the last stack. Then remembers this
 * stack instead. */
static guint
match_last (LuSyscapHits *self, const LuSyscapHitStack *stack)
{
  const guint64 *end = stack->addresses + stack->n_addresses - 1;
  guint n_same = 0, n_kept = MIN (stack->n_addresses, MAX_LAST);

  if (self->last_pid != stack->pid)
    self->n_last = 0;
  while (n_same < MIN (n_kept, self->n_last) && self->last[n_same] == end[-(gssize) n_same])
    n_same++;
  for (guint i = n_same; i < n_kept; i++)
    self->last[i] = end[-(gssize) i];
  self->last_pid = stack->pid;
  self->n_last = n_kept;
  return n_same;
}

static void
count_generated (LuSyscapHits *self, gint32 pid, LuProcess *process)
{
  Generated *generated = g_hash_table_lookup (self->generated, GINT_TO_POINTER (pid));
  LuLabels labels;

  if (generated == NULL)
    {
      if (g_hash_table_size (self->generated) >= MAX_GENERATED)
        return;
      labels = lu_process_labels (process);
      generated = g_new0 (Generated, 1);
      generated->program = lu_labels_program (&labels);
      g_hash_table_insert (self->generated, GINT_TO_POINTER (pid), generated);
    }
  generated->n_samples++;
}

void
lu_syscap_hits_add (LuSyscapHits *self, const LuSyscapHitStack *stack)
{
  guint64 process = (guint64) (guint32) stack->pid * G_GUINT64_CONSTANT (0xd6e8feb86659fd93);
  gboolean is_user = FALSE;
  guint n = stack->n_addresses;

  self->n_samples++;
  if (stack->generated_by != NULL)
    count_generated (self, stack->pid, stack->generated_by);
  /* If samples are counted, no address may be skipped. */
  if (self->seen_hits == NULL && n > 0)
    n -= match_last (self, stack);
  for (guint i = 0; i < n; i++)
    {
      guint64 address = stack->addresses[i];
      guint64 mixed = (address ^ process) * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15);
      guint slot = (guint) (mixed >> (64 - SEEN_BITS));
      guint32 number;

      if (address >= PERF_CONTEXT_MAX)
        {
          is_user = address == PERF_CONTEXT_USER;
          continue;
        }
      if (self->seen[slot] == mixed && self->seen_hits == NULL)
        continue;
      number = self->seen[slot] == mixed ? self->seen_hits[slot]
                                         : add_hit (self, stack, address, is_user);
      self->seen[slot] = mixed;
      if (self->seen_hits == NULL)
        continue;
      self->seen_hits[slot] = number;
      count (self, number);
    }
}

/* Names */

typedef struct
{
  const LuSyscapHits *hits;
  GArray *symbols; /* of LuSyscapSymbol */
  LuNamer *namer;
  const LuKallsyms *kallsyms; /* NULL: none */
  guint n_named;              /* addresses with a symbol */
} Naming;

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

static const Hit *
hit_at (const LuSyscapHits *self, guint hit)
{
  return &g_array_index (self->hits, Hit, hit);
}

/* Adds a symbol, whose pid is that of the hit. */
static void
add_symbol (Naming *self, guint hit, LuSyscapSymbol symbol)
{
  symbol.pid = pid_of (self->hits, hit);
  g_array_append_val (self->symbols, symbol);
  self->n_named += !symbol.is_place;
}

/* Code without a name is one function, as in reports. */
static void
add_place (Naming *self, guint hit, const char *name)
{
  guint64 address = address_of (self->hits, hit);

  add_symbol (
      self, hit,
      (LuSyscapSymbol){ .begin = address, .end = address + 1, .name = name, .is_place = TRUE });
}

static void
name_kernel (Naming *self, guint hit)
{
  LuKernelSymbol symbol;

  if (lu_kallsyms_find (self->kallsyms, address_of (self->hits, hit), &symbol))
    add_symbol (
        self, hit,
        (LuSyscapSymbol){ .begin = symbol.address, .end = symbol.end, .name = symbol.name });
  else
    add_place (self, hit, LU_PLACE_KERNEL);
}

static void
name_state (Naming *self, guint hit)
{
  guint64 address = address_of (self->hits, hit);
  g_autofree char *state = lu_syscap_synthetic_name (address);
  const Function *function = g_hash_table_lookup (self->hits->functions, &address);
  const char *name = state != NULL ? state : function != NULL ? function->name : NULL;

  if (name != NULL)
    add_symbol (
        self, hit,
        (LuSyscapSymbol){ .begin = address,
                          .end = address + 1,
                          .name = lu_namer_intern (self->namer, name),
                          .function = function != NULL ? FIRST_FUNCTION + function->number : 0 });
}

static void
add_unnamed (Naming *self, guint hit)
{
  add_place (self, hit,
             hit_at (self->hits, hit)->file == NOWHERE ? LU_PLACE_NOWHERE : LU_PLACE_GENERATED);
}

static void
name_generated (Naming *self, guint hit)
{
  const LuGeneratedQuery query = { .pid = pid_of (self->hits, hit),
                                   .address = address_of (self->hits, hit),
                                   .time = hit_at (self->hits, hit)->time };

  if (self->hits->is_live)
    lu_namer_add_generated (self->namer, &query, hit);
  else
    add_unnamed (self, hit);
}

/* Names an address of the kernel or a state. All others are left to lu_namer_run(). */
static void
name_hit (Naming *self, guint hit)
{
  const Hit *found = hit_at (self->hits, hit);

  switch (found->file)
    {
    case NOWHERE:
    case GENERATED:
      name_generated (self, hit);
      break;
    case KERNEL:
      name_kernel (self, hit);
      break;
    case STATE:
      name_state (self, hit);
      break;
    default:
      lu_namer_add (self->namer, found->file - FIRST_FILE, found->file_offset, hit);
    }
}

/* Adds up the samples of the unnamed addresses in each file. A sample may have several of them, so
 * the sum is limited to the samples of the file. */
static guint64
count_samples (GArray *files, gpointer user_data)
{
  const Naming *self = user_data;
  guint n_answers;
  const LuNameQuery *answers = lu_namer_answers (self->namer, &n_answers);
  g_autofree guint64 *counts = g_new0 (guint64, self->hits->files->len + 1);

  for (guint i = 0; i < n_answers; i++)
    if (answers[i].name == NULL && !answers[i].is_generated)
      counts[answers[i].file] += hit_at (self->hits, answers[i].number)->n_samples;
  for (guint i = 0; i < files->len; i++)
    {
      LuUnnamedFile *file = &g_array_index (files, LuUnnamedFile, i);
      const HitFile *source = g_ptr_array_index (self->hits->files, file->number);

      file->n_samples = MIN (counts[file->number], source->n_samples);
    }
  return self->hits->n_samples;
}

static void
note_generated_name (Naming *self, const LuNameQuery *answer)
{
  gint32 pid = pid_of (self->hits, answer->number);
  Generated *generated = g_hash_table_lookup (self->hits->generated, GINT_TO_POINTER (pid));

  if (generated != NULL && answer->name != NULL)
    generated->n_named++;
  else if (generated != NULL)
    generated->n_unnamed++;
}

static void
find_runtimes (const LuSyscapHits *self, LuRuntimes *runtimes)
{
  GHashTableIter iter;
  gpointer pid, value;

  g_hash_table_iter_init (&iter, self->generated);
  while (g_hash_table_iter_next (&iter, &pid, &value))
    {
      const Generated *generated = value;

      if (generated->n_unnamed > generated->n_named)
        lu_runtimes_add (runtimes, generated->program, GPOINTER_TO_INT (pid), generated->n_samples);
    }
}

static void
add_answers (Naming *self)
{
  guint n_answers;
  const LuNameQuery *answers = lu_namer_answers (self->namer, &n_answers);

  for (guint i = 0; i < n_answers; i++)
    {
      const LuNameQuery *answer = &answers[i];
      LuSyscapSymbol symbol = { .begin = answer->start,
                                .end = answer->end,
                                .name = answer->name,
                                .function = answer->function,
                                .is_place = !answer->is_generated && !answer->has_symbol };
      guint64 bias = address_of (self->hits, answer->number) - answer->file_offset;

      if (answer->is_generated)
        note_generated_name (self, answer);
      if (answer->name == NULL && answer->is_generated)
        add_unnamed (self, answer->number);
      if (answer->name == NULL)
        continue;
      if (!answer->is_generated)
        {
          symbol.begin += bias;
          symbol.end += bias;
        }
      add_symbol (self, answer->number, symbol);
    }
}

GByteArray *
lu_syscap_hits_name (LuSyscapHits *self, const LuKallsyms *kallsyms, LuNamerProgress progress,
                     gpointer user_data, LuSyscapHitsResult *result)
{
  g_autoptr (LuNamer) namer = lu_namer_new (self->jitdumps);
  g_autoptr (GArray) symbols = g_array_new (FALSE, FALSE, sizeof (LuSyscapSymbol));
  Naming naming = { self, symbols, namer, kallsyms, 0 };
  LuNamerOptions options = { .progress = progress,
                             .progress_data = user_data,
                             .debuginfod = self->debuginfod,
                             .count = count_samples,
                             .count_data = &naming };
  guint n_left_out = 0;
  GByteArray *file;

  *result = (LuSyscapHitsResult){ .n_addresses = self->hits->len };
  for (guint i = 0; i < self->files->len; i++)
    lu_namer_add_file (namer, &((const HitFile *) g_ptr_array_index (self->files, i))->file);
  for (guint i = 0; i < self->hits->len; i++)
    name_hit (&naming, i);
  result->is_skipped = !lu_namer_run (namer, &options);
  add_answers (&naming);
  find_runtimes (self, &result->runtimes);
  result->n_named = naming.n_named;
  file = lu_syscap_symbols_encode (symbols, MAX_SYMBOLS_FILE, &n_left_out);
  result->n_left_out = self->n_left_out + n_left_out;
  return file;
}
