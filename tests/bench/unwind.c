/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* unwind.c FILE... - how fast the engines unwind the samples of a perf.data file (recorded with
 * --call-graph dwarf). Prints one JSON line per file and engine, in ns of CPU time per frame:
 *
 *   first  a new engine, one pass over all samples, whatever it must set up included
 *   warm   the best of further passes: rules are there, stacks come from memory
 *   hot    256 samples again and again: stacks are in the caches, nearest to recording
 *   touch  a loop that reads the same stack words and does nothing else, warm
 *
 * Files are opened before the clock starts, by both engines alike. `different`: samples whose stack
 * is not that of the first engine. */

#include "input/source-perf-data.h"
#include "module/opener.h"
#include "process/process-table.h"
#include "unwind/unwinder.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define ROUNDS 5
#define N_HOT  256
#define HOT_NS 3e8 /* the hot passes together take so long */

typedef struct
{
  LuSample sample; /* owns its words and stack */
  LuSpace *space;
  gint32 pid;
} Item;

typedef struct
{
  LuProcessTable *table;
  LuOpener *opener;
  GArray *items;
} Set;

typedef struct
{
  guint64 n_frames, stack_used, digest, n_complete;
} Totals;

static double
now (void)
{
  struct timespec spec;

  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &spec);
  return (double) spec.tv_sec * 1e9 + (double) spec.tv_nsec;
}

/* Reading */

static void
module_added (LuModule *module, LuProcess *process, guint64 start, guint64 end, gpointer user_data)
{
  Set *set = user_data;

  lu_opener_open (set->opener, module, 0, start, end);
}

static void
process_added (LuProcess *process, gboolean is_exec, gpointer user_data)
{
}

static void
forked (guint64 time, gint32 pid, gint32 child_pid, gpointer user_data)
{
}

static void
exited (guint64 time, gint32 pid, gpointer user_data)
{
}

static void
keep_sample (Set *set, const LuEvent *event)
{
  LuProcess *process;
  LuSpace *space;
  Item item = { .sample = event->sample, .pid = event->pid };

  if (event->sample.regs.abi != LU_ABI_64 || event->sample.stack_size < 8
      || !lu_process_table_lookup (set->table, event->pid, event->time, &process, &space))
    return;
  item.space = lu_space_ref (space);
  item.sample.regs.words =
      g_memdup2 (event->sample.regs.words, event->sample.regs.n_words * sizeof (guint64));
  item.sample.stack = g_memdup2 (event->sample.stack, event->sample.stack_size);
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
    .process_added = process_added,
    .forked = forked,
    .exited = exited,
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

      lu_space_unref (item->space);
      g_free ((gpointer) item->sample.regs.words);
      g_free ((gpointer) item->sample.stack);
    }
  g_array_unref (set->items);
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

/* ns for one pass over items [first, first + n). digests: what each stack was, or NULL. */
static double
pass (LuUnwinder *unwinder, const Set *set, guint first, guint n, Totals *totals, guint64 *digests)
{
  static LuStack stack;
  double began = now ();

  *totals = (Totals){ 0 };
  for (guint i = first; i < first + n; i++)
    {
      const Item *item = &g_array_index (set->items, Item, i);

      lu_stack_reset (&stack);
      unwinder->ops->unwind (unwinder, item->pid, item->pid, &item->sample, item->space, &stack);
      totals->n_frames += stack.n_frames;
      totals->stack_used += stack.stack_used;
      totals->n_complete += stack.status == LU_STATUS_COMPLETE;
      if (digests != NULL)
        digests[i] = digest_of (&stack);
    }
  return now () - began;
}

/* Written so that the reads are not left out. */
extern volatile guint64 last_words;
volatile guint64 last_words;

/* Reads two words of each frame, as many as a walk cannot do without. */
static double
touch (const Set *set, const Totals *totals)
{
  guint64 step = totals->stack_used / MAX (totals->n_frames, 1) & ~G_GUINT64_CONSTANT (7);
  double began = now ();

  step = MAX (step, 16);
  for (guint i = 0; i < set->items->len; i++)
    {
      const Item *item = &g_array_index (set->items, Item, i);
      guint64 local = 0;

      for (guint64 at = 0;
           at + 16 <= MIN (item->sample.stack_size, totals->stack_used / set->items->len);
           at += step)
        local += *(const guint64 *) (item->sample.stack + at)
                 + *(const guint64 *) (item->sample.stack + at + 8);
      last_words = local;
    }
  return now () - began;
}

static void
measure (const char *path, const Set *set, const LuUnwinderOps *ops, guint64 *reference)
{
  g_autoptr (LuUnwinder) unwinder = ops->new (NULL);
  g_autofree guint64 *digests = g_new0 (guint64, set->items->len);
  guint n = set->items->len, n_hot = MIN (n, N_HOT), n_different = 0;
  double first, warm = G_MAXDOUBLE, hot = G_MAXDOUBLE, touched = G_MAXDOUBLE;
  Totals totals, hot_totals;

  first = pass (unwinder, set, 0, n, &totals, digests);
  for (guint i = 0; i < ROUNDS; i++)
    {
      double ns;

      ns = pass (unwinder, set, 0, n, &totals, NULL);
      warm = MIN (warm, ns);
      ns = touch (set, &totals);
      touched = MIN (touched, ns);
    }
  for (double spent = 0, ns; spent < HOT_NS; spent += ns)
    {
      ns = pass (unwinder, set, (n - n_hot) / 2, n_hot, &hot_totals, NULL);
      hot = MIN (hot, ns);
    }
  for (guint i = 0; i < n; i++)
    if (reference[i] == 0)
      reference[i] = digests[i];
    else
      n_different += reference[i] != digests[i];
  printf ("{\"file\": \"%s\", \"engine\": \"%s\", \"samples\": %u, \"frames\": %" G_GUINT64_FORMAT
          ", \"complete_percent\": %.2f, \"different\": %u, \"first\": %.1f, \"warm\": %.1f, "
          "\"hot\": %.1f, \"touch\": %.1f, \"hot_us_per_sample\": %.3f}\n",
          path, ops->name, n, totals.n_frames, 100. * (double) totals.n_complete / n, n_different,
          first / (double) totals.n_frames, warm / (double) totals.n_frames,
          hot / (double) hot_totals.n_frames, touched / (double) totals.n_frames,
          hot / 1000 / n_hot);
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
      reference = g_new0 (guint64, set.items->len);
      if (only == NULL)
        measure (argv[i], &set, &lu_unwinder_dwfl, reference);
      measure (argv[i], &set, &lu_unwinder_table, reference);
      clear_set (&set);
    }
  return status;
}
