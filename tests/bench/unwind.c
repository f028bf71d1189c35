/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* unwind.c FILE... - measures how fast the engines unwind the samples of a perf.data file (recorded
 * with --call-graph dwarf). Used by unwind.py. Prints one JSON line per file and engine, in ns per
 * frame; the engines take turns in one run:
 *
 * first: a new engine, one pass over all samples, including the opening of all files; CPU time.
 *
 * warm: further passes; rules are cached, stacks come from memory.
 *
 * hot: 256 samples again and again; stacks are in the CPU caches, which is closest to recording.
 *
 * ready: like warm, but the stack words have just been read by a loop like the next one, whose time
 * is not included, so the figure is free of the stacks' memory accesses.
 *
 * read: a loop that reads the words that the steps read, in their order, and does nothing else.
 *
 * warm, ready and read are sums of the best times of each run of 256 samples in any pass, and these
 * passes take turns, so that other load on the machine matters as little as possible.
 *
 * `handed`: samples of a warm pass that the walker left to dwfl. `different`: samples whose stack
 * differs from that of the first engine. `read` does not include the words of samples that dwfl
 * gets. */

#include "base/fetch.h"
#include "input/ring.h"
#include "input/source-perf-data.h"
#include "lu/step.h"
#include "module/opener.h"
#include "process/process-table.h"
#include "table/compile.h"
#include "unwind/dwfl-address-space.h"
#include "unwind/unwinder.h"
#include "unwind/walker.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define ROUNDS    15
#define RUN       256 /* samples that are timed together */
#define N_AT_ONCE 64  /* whose words fit into the second-level cache */
#define N_HOT     256
#define HOT_NS    3e8 /* total time of the hot passes */

typedef struct
{
  LuSample sample; /* owns its words, and the stack behind them as in a record */
  LuAddressSpace *space;
  gint32 pid, tid;
  guint first_word, n_words; /* of Set.words: the words that the steps read */
} Item;

typedef struct
{
  LuProcessTable *table;
  LuOpener *opener;
  GArray *items;
  GArray *words;     /* guint32: offsets in the stacks */
  gsize table_bytes; /* kept by a walker after all samples */
  double opening;    /* ns, of all files */
} Set;

typedef struct
{
  guint64 n_frames, n_complete;
} Totals;

static double
read_clock (clockid_t clock)
{
  struct timespec spec;

  clock_gettime (clock, &spec);
  return (double) spec.tv_sec * 1e9 + (double) spec.tv_nsec;
}

/* CPU time, for work that is done once. */
static double
cpu_time (void)
{
  return read_clock (CLOCK_THREAD_CPUTIME_ID);
}

/* Wall-clock time, for work that is repeated and whose best time counts. In a virtual machine CPU
 * time sometimes jumps back by the time that another machine took, and the best times would be
 * those jumps. */
static double
now (void)
{
  return read_clock (CLOCK_MONOTONIC);
}

/* Reading */

static void
module_added (LuModule *module, LuProcess *process, guint64 start, guint64 end, gpointer user_data)
{
  Set *set = user_data;
  double began = cpu_time ();

  lu_opener_open (set->opener, module, 0, start, end);
  set->opening += cpu_time () - began;
}

static void
keep_sample (Set *set, const LuEvent *event)
{
  LuProcess *process;
  LuAddressSpace *space;
  Item item = { .sample = event->sample, .pid = event->pid, .tid = event->tid };
  gsize words_size = event->sample.regs.n_words * sizeof (guint64);
  guint8 *bytes;

  if (event->sample.regs.abi != LU_ABI_64 || event->sample.stack_size < 8
      || !lu_process_table_lookup (set->table, event->pid, event->time, &process, &space))
    return;
  item.space = lu_address_space_ref (space);
  bytes = g_malloc (words_size + event->sample.stack_size);
  memcpy (bytes, event->sample.regs.words, words_size);
  memcpy (bytes + words_size, event->sample.stack, event->sample.stack_size);
  item.sample.regs.words = (const guint64 *) bytes;
  item.sample.stack = bytes + words_size;
  g_array_append_val (set->items, item);
}

static LuVerdict
handle_event (const LuEvent *event, gpointer user_data)
{
  Set *set = user_data;

  if (event->kind == LU_EVENT_SAMPLE)
    keep_sample (set, event);
  else
    lu_process_table_apply (set->table, event);
  return LU_VERDICT_DONE;
}

static gboolean
read_set (Set *set, const char *path)
{
  static const LuProcessTableFuncs funcs = {
    .module_added = module_added,
  };
  g_autoptr (GError) error = NULL;
  g_autoptr (LuSource) source = lu_source_perf_data_new (path, &error);

  if (source == NULL || !source->ops->start (source, &error))
    {
      fprintf (stderr, "%s: %s\n", path, error->message);
      return FALSE;
    }
  set->table = lu_process_table_new (TRUE, &funcs, set);
  set->opener = lu_opener_new (FALSE, 1u << 30);
  set->items = g_array_new (FALSE, FALSE, sizeof (Item));
  set->words = g_array_new (FALSE, FALSE, sizeof (guint32));
  while (source->ops->drain (source, handle_event, set) != LU_ROUND_END)
    lu_process_table_end_round (set->table);
  return set->items->len > 0;
}

static void
clear_set (Set *set)
{
  for (guint i = 0; i < set->items->len; i++)
    {
      Item *item = &g_array_index (set->items, Item, i);

      lu_address_space_unref (item->space);
      g_free ((gpointer) item->sample.regs.words);
    }
  g_array_unref (set->items);
  g_array_unref (set->words);
  lu_process_table_free (set->table);
  lu_opener_free (set->opener);
}

/* Measuring */

static guint64
digest_of (const LuStack *stack)
{
  guint64 digest = (guint64) stack->status + 1;

  for (guint i = 0; i < stack->n_frames; i++)
    digest = (digest ^ stack->frames[i].pc) * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15);
  return digest;
}

/* The engines as the recorder uses them: with tables, the drain's walker does what it can and
 * leaves the rest to the worker's engine. */
typedef struct
{
  const LuUnwinderOps *ops;
  LuWalker *walker; /* NULL: every sample goes to the unwinder */
  LuUnwinder *unwinder;
  guint n_handed; /* in this pass */
} Engine;

static void
engine_init (Engine *self, const LuUnwinderOps *ops)
{
  self->ops = ops;
  self->walker = ops->walks_in_drain ? lu_walker_new (TRUE) : NULL;
  self->unwinder = ops->new (NULL);
}

static void
engine_clear (Engine *self)
{
  lu_walker_free (self->walker);
  lu_unwinder_free (self->unwinder);
}

static void
unwind_item (LuUnwinder *unwinder, const Item *item, LuStack *stack)
{
  const LuUnwindRequest request = {
    .pid = item->pid, .tid = item->tid, .sample = &item->sample, .space = item->space
  };

  unwinder->ops->unwind (unwinder, &request, stack);
}

static void
unwind (Engine *self, const Item *item, LuStack *stack)
{
  lu_stack_reset (stack);
  if (self->walker != NULL)
    {
      if (lu_walker_walk (self->walker, item->tid, &item->sample, item->space, stack))
        return;
      lu_stack_reset (stack);
      self->n_handed++;
    }
  unwind_item (self->unwinder, item, stack);
}

/* Reads like lu_ring_expect(): the start of a record, and its last word. */
static void
expect (const LuSample *sample)
{
  const guint8 *bytes = (const guint8 *) sample->regs.words;
  gsize size = sample->regs.n_words * sizeof (guint64) + sample->stack_size;

  for (gsize at = 0; at < MIN (LU_RING_EXPECTED_BYTES, size); at += LU_CACHE_LINE)
    lu_fetch_ahead (bytes + at);
  lu_fetch_ahead (bytes + size - 8);
}

/* Prefetches like the drain: the memory that the next sample's walk reads, and the start of the one
 * after it. */
static void
look_ahead (const Engine *engine, const Set *set, guint next, guint limit)
{
  const Item *item = &g_array_index (set->items, Item, next);

  if (next + 1 < limit)
    expect (&item[1].sample);
  if (next < limit && engine->walker != NULL)
    lu_walker_expect (engine->walker, item->tid, &item->sample);
}

/* Returns ns for one pass over items [first, first + n). digests: a digest of each stack, or NULL.
 */
static double
pass (Engine *engine, const Set *set, guint first, guint n, Totals *totals, guint64 *digests)
{
  static LuStack stack;
  double began = now ();

  *totals = (Totals){ 0 };
  engine->n_handed = 0;
  for (guint i = first; i < first + n; i++)
    {
      const Item *item = &g_array_index (set->items, Item, i);

      look_ahead (engine, set, i + 1, first + n);
      unwind (engine, item, &stack);
      totals->n_frames += stack.n_frames;
      totals->n_complete += stack.status == LU_STATUS_COMPLETE;
      if (digests != NULL)
        digests[i] = digest_of (&stack);
    }
  return now () - began;
}

/* Keeps the compiler from dropping the reads. */
extern volatile guint64 last_words;
volatile guint64 last_words;

/* Reads the words of items [first, first + n); returns ns. */
static double
read_words (const Set *set, guint first, guint n)
{
  const guint32 *words = (const guint32 *) (gpointer) set->words->data;
  double began = now ();

  for (guint i = first; i < first + n; i++)
    {
      const Item *item = &g_array_index (set->items, Item, i);
      const guint32 *word = words + item->first_word;
      guint64 local = 0, value;

      for (guint k = 0; k < item->n_words; k++)
        {
          memcpy (&value, item->sample.stack + word[k], sizeof value);
          local += value;
        }
      last_words = local;
    }
  return now () - began;
}

/* Recording which words the steps read */

typedef struct
{
  Set *set;
  const Item *item;
  guint64 sp;
} Tracing;

static int
trace_word (void *data, uint64_t address, uint64_t *value)
{
  Tracing *tracing = data;
  guint64 offset = address - tracing->sp;
  guint32 kept = (guint32) offset;

  if (offset > tracing->item->sample.stack_size - sizeof *value)
    return 0;
  memcpy (value, tracing->item->sample.stack + offset, sizeof *value);
  g_array_append_val (tracing->set->words, kept);
  return 1;
}

static int
trace_register (void *data, uint32_t number, uint64_t *value)
{
  const Tracing *tracing = data;

  return lu_arch_read_dwarf (lu_arch_of_abi (LU_ABI_64), &tracing->item->sample.regs, (int) number,
                             value);
}

static guint64
sampled (const Item *item, int dwarf_number)
{
  guint64 value = 0;

  lu_arch_read_dwarf (lu_arch_of_abi (LU_ABI_64), &item->sample.regs, dwarf_number, &value);
  return value;
}

static gboolean
find_rule (GHashTable *cfis, LuAddressSpace *space, guint64 lookup, struct lu_rule *rule)
{
  static LuCfaRun run;
  const LuMapping *mapping = lu_address_space_find (space, lookup);
  LuDwflMapping described;
  gpointer cfi;

  if (mapping == NULL)
    return FALSE;
  described = lu_dwfl_mapping_describe (mapping, lu_arch_of_abi (LU_ABI_64));
  if (described.status != LU_STATUS_COMPLETE)
    return FALSE;
  if (!g_hash_table_lookup_extended (cfis, mapping->module, NULL, &cfi))
    {
      cfi = lu_cfi_new_for_image (lu_module_image (mapping->module));
      g_hash_table_insert (cfis, mapping->module, cfi);
    }
  if (cfi == NULL)
    return FALSE;
  *rule = lu_compile_at (cfi, &run, lookup - described.bias);
  return rule->cfa_kind != LU_CFA_NONE;
}

/* A frame without a rule uses the two words at the frame pointer, if they lead to this pc. */
static gboolean
fp_step (struct lu_regs *regs, guint64 pc, Tracing *tracing)
{
  guint64 fp;

  if (!trace_word (tracing, regs->fp, &fp) || !trace_word (tracing, regs->fp + 8, &regs->pc)
      || regs->pc != pc)
    return FALSE;
  regs->sp = regs->fp + 16;
  regs->fp = fp;
  regs->known = LU_KNOWN_FP;
  regs->frame_kind = LU_FRAME_KIND_CALLER;
  return TRUE;
}

/* Steps as long as the frames match those of the stack. x86-64 only. */
static void
trace_sample (Set *set, Item *item, const LuStack *stack, GHashTable *cfis)
{
  struct lu_regs regs = { .pc = sampled (item, 16),
                          .sp = sampled (item, 7),
                          .fp = sampled (item, 6),
                          .bx = sampled (item, 3),
                          .address_mask = G_MAXUINT64,
                          .known = LU_KNOWN_FP | LU_KNOWN_BX };
  Tracing tracing = { .set = set, .item = item, .sp = regs.sp };
  struct lu_rule rule;

  for (guint i = 0; i < stack->n_frames && stack->frames[i].pc == regs.pc; i++)
    {
      guint64 lookup = regs.pc - (regs.frame_kind == LU_FRAME_KIND_CALLER);

      if (!find_rule (cfis, item->space, lookup, &rule))
        {
          if (i + 1 == stack->n_frames || !fp_step (&regs, stack->frames[i + 1].pc, &tracing))
            break;
        }
      else if (lu_step (&regs, &rule, trace_word, trace_register, &tracing) != LU_STEP_CALLER)
        break;
    }
}

static void
trace (Set *set)
{
  g_autoptr (LuWalker) walker = lu_walker_new (TRUE);
  g_autoptr (LuUnwinder) dwfl = lu_unwinder_dwfl.new(NULL);
  g_autoptr (GHashTable) cfis =
      g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) lu_cfi_free);
  static LuStack stack;

  for (guint i = 0; i < set->items->len; i++)
    {
      Item *item = &g_array_index (set->items, Item, i);

      /* The walker knows the code before return addresses only after the engine has read it. */
      lu_stack_reset (&stack);
      unwind_item (dwfl, item, &stack);
      lu_stack_reset (&stack);
      item->first_word = set->words->len;
      if (lu_walker_walk (walker, item->tid, &item->sample, item->space, &stack)
          && lu_arch_of_abi (LU_ABI_64) == &lu_arch_x86_64)
        trace_sample (set, item, &stack, cfis);
      item->n_words = set->words->len - item->first_word;
    }
  set->table_bytes = lu_walker_table_bytes (walker);
}

/* Results */

/* Works like pass(), a few samples at a time, each time after reading their words; the time for
 * reading is not in the result. */
static double
pass_when_read (Engine *engine, const Set *set, guint first, guint n)
{
  double ns = 0;
  Totals totals;

  for (guint i = first; i < first + n; i += N_AT_ONCE)
    {
      guint n_now = MIN (N_AT_ONCE, first + n - i);

      read_words (set, i, n_now);
      ns += pass (engine, set, i, n_now, &totals, NULL);
    }
  return ns;
}

typedef enum
{
  READ,  /* the words alone */
  WARM,  /* walks, from memory */
  READY, /* walks, when the words have just been read */
  N_KINDS
} Kind;

typedef struct
{
  double ns[N_KINDS]; /* of all samples */
  guint n_handed;     /* in a warm pass */
} Passes;

static double
run_once (Engine *engine, const Set *set, Kind kind, guint first, guint n)
{
  Totals totals;

  switch (kind)
    {
    case READ:
      return read_words (set, first, n);
    case WARM:
      return pass (engine, set, first, n, &totals, NULL);
    default:
      return pass_when_read (engine, set, first, n);
    }
}

/* The first two kinds take turns, so that both suffer equally from other load on the machine. The
 * third kind follows them: caches keep data that was read twice, and then not even other passes
 * would have to go to memory. */
static Passes
best_passes (Engine *engine, const Set *set)
{
  guint n = set->items->len, n_runs = (n + RUN - 1) / RUN;
  g_autofree double *best = g_new (double, N_KINDS *n_runs);
  Passes passes = { 0 };

  for (guint i = 0; i < N_KINDS * n_runs; i++)
    best[i] = G_MAXDOUBLE;
  for (guint turn = 0; turn < ROUNDS * N_KINDS; turn++)
    {
      Kind kind = turn >= 2 * ROUNDS ? READY : turn % 2 == 0 ? READ : WARM;
      guint n_handed = 0;

      for (guint i = 0; i < n_runs; i++)
        {
          double *of_run = &best[kind * n_runs + i];
          double ns = run_once (engine, set, kind, i * RUN, MIN (RUN, n - i * RUN));

          *of_run = MIN (*of_run, ns);
          n_handed += engine->n_handed;
        }
      passes.n_handed = kind == WARM ? n_handed : passes.n_handed;
    }
  for (guint i = 0; i < N_KINDS * n_runs; i++)
    passes.ns[i / n_runs] += best[i];
  return passes;
}

static void
measure (const char *path, const Set *set, const LuUnwinderOps *ops, guint64 *reference)
{
  Engine engine = { 0 };
  g_autofree guint64 *digests = g_new0 (guint64, set->items->len);
  guint n = set->items->len, n_hot = MIN (n, N_HOT), n_different = 0;
  double first, hot = G_MAXDOUBLE;
  Passes passes;
  Totals totals, hot_totals;

  engine_init (&engine, ops);
  first = cpu_time ();
  pass (&engine, set, 0, n, &totals, digests);
  first = cpu_time () - first + set->opening;
  passes = best_passes (&engine, set);
  for (double spent = 0, ns; spent < HOT_NS; spent += ns)
    {
      ns = pass (&engine, set, (n - n_hot) / 2, n_hot, &hot_totals, NULL);
      hot = MIN (hot, ns);
    }
  for (guint i = 0; i < n; i++)
    if (reference[i] == 0)
      reference[i] = digests[i];
    else
      n_different += reference[i] != digests[i];
  printf (
      "{\"file\": \"%s\", \"engine\": \"%s\", \"samples\": %u, \"frames\": %" G_GUINT64_FORMAT
      ", \"complete_percent\": %.2f, \"different\": %u, \"first\": %.1f, \"opening\": %.1f, "
      "\"warm\": %.1f, \"ready\": %.1f, \"hot\": %.1f, \"read\": %.1f, \"words_per_frame\": %.2f, "
      "\"hot_us_per_sample\": %.3f, \"handed_percent\": %.2f, \"table_bytes\": %zu}\n",
      path, ops->name, n, totals.n_frames, 100. * (double) totals.n_complete / n, n_different,
      first / (double) totals.n_frames, set->opening / (double) totals.n_frames,
      passes.ns[WARM] / (double) totals.n_frames, passes.ns[READY] / (double) totals.n_frames,
      hot / (double) hot_totals.n_frames, passes.ns[READ] / (double) totals.n_frames,
      set->words->len / (double) totals.n_frames, hot / 1000 / n_hot, 100. * passes.n_handed / n,
      set->table_bytes);
  fflush (stdout);
  engine_clear (&engine);
}

int
main (int argc, char **argv)
{
  const char *only = g_getenv ("LU_BENCH_ONLY_TABLE"); /* for a profiler */
  int status = argc > 1 ? 0 : 2;

  if (argc < 2)
    fprintf (stderr, "usage: unwind FILE...\n");
  for (int i = 1; i < argc; i++)
    {
      g_autofree guint64 *reference = NULL;
      Set set = { 0 };

      if (!read_set (&set, argv[i]))
        {
          status = 1;
          continue;
        }
      trace (&set);
      reference = g_new0 (guint64, set.items->len);
      if (only == NULL)
        measure (argv[i], &set, &lu_unwinder_dwfl, reference);
      measure (argv[i], &set, &lu_unwinder_table, reference);
      clear_set (&set);
    }
  return status;
}
