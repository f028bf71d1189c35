/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* mutate.c [--rounds N] [--seed N] DIRECTORY - unwinds recorded samples with damaged stacks by one
 * table engine for all of them, by a new one for each, and by dwfl.
 *
 * An engine's memory of earlier stacks must never lead a later one elsewhere, so the first two have
 * to give the same stack, whatever is on it; but an engine that has seen where code without unwind
 * information sets up its frames goes on where a new one is in doubt. dwfl has to agree as well,
 * but may end at a function that goes on at a landing pad, as listed in allowed.txt. Words are
 * exchanged for other words of the same recording, so that damage resembles stacks. Output is TAP.
 */

#include "samples.h"

#include "unwind/unwinder.h"

#include "../tries.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PRINTED 5
/* The only one with exceptions. */
#define WITH_LANDING_PADS "cxx.samples.gz"

typedef struct
{
  const char *name;
  Recorded *recorded;
  GRand *random;
  LuUnwinder *warm, *dwfl;
  LuStack *stack;
  guint n_old, n_dwfl, n_landing, n_changed, n_doubts;
} Run;

/* Returns whether the first stack ends, in code without unwind information, where the second one
 * goes on. */
static gboolean
ends_in_doubt (const char *fresh, const char *other)
{
  return (g_str_has_prefix (fresh, "no-unwind-info ") || g_str_has_prefix (fresh, "jit "))
         && g_str_has_prefix (strchr (other, ' '), strchr (fresh, ' '));
}

static const RecordedSample *
random_sample (const Run *self)
{
  return &g_array_index (self->recorded->samples, RecordedSample,
                         g_rand_int_range (self->random, 0, (gint32) self->recorded->samples->len));
}

static guint64
random_word (const Run *self, const LuSample *sample)
{
  guint64 word = 0;
  guint n_words = sample->stack_size / 8;

  if (n_words > 0)
    memcpy (&word, sample->stack + 8 * (guint) g_rand_int_range (self->random, 0, (gint32) n_words),
            sizeof word);
  return word;
}

/* Returns the place of a return address of the last unwound stack, or of a register saved below it,
 * or any place. */
static guint
random_place (const Run *self, guint n_words)
{
  const LuStack *stack = self->stack;
  guint frame = (guint) g_rand_int_range (self->random, 0, (gint32) stack->n_frames + 1);
  guint at = frame < stack->n_frames ? stack->frames[frame].stack_offset / 8 : 0;
  guint below = 1 + (guint) g_rand_int_range (self->random, 0, 3);

  if (at >= below && at - below < n_words)
    return at - below;
  return (guint) g_rand_int_range (self->random, 0, (gint32) n_words);
}

static void
damage_word (const Run *self, const LuSample *sample, guint8 *at)
{
  guint64 word;

  memcpy (&word, at, sizeof word);
  switch (g_rand_int_range (self->random, 0, 6))
    {
    case 0:
      word = random_word (self, &random_sample (self)->sample);
      break;
    case 1:
      word = random_word (self, sample);
      break;
    case 2:
      word += (guint64) (gint64) g_rand_int_range (self->random, -64, 64);
      break;
    case 3:
      word = 0;
      break;
    case 4:
      word ^= G_GUINT64_CONSTANT (1) << g_rand_int_range (self->random, 0, 64);
      break;
    default: /* an address on this stack */
      word = sample->regs.words[7] + 8 * (guint64) g_rand_int_range (self->random, 0, 1024);
    }
  memcpy (at, &word, sizeof word);
}

/* Copies the sample, with up to four words of the stack and, rarely, a register changed. */
static LuSample
damage (const Run *self, const LuSample *from)
{
  LuSample sample = *from;
  guint8 *stack = g_memdup2 (from->stack, from->stack_size);
  guint64 *words = g_memdup2 (from->regs.words, from->regs.n_words * sizeof (guint64));
  guint n_words = from->stack_size / 8;

  for (gint32 n = g_rand_int_range (self->random, 0, 5); n > 0 && n_words > 0; n--)
    damage_word (self, from, stack + 8 * random_place (self, n_words));
  if (g_rand_int_range (self->random, 0, 16) == 0)
    damage_word (
        self, from,
        (guint8 *) &words[g_rand_int_range (self->random, 0, (gint32) from->regs.n_words)]);
  if (g_rand_int_range (self->random, 0, 16) == 0)
    sample.stack_size = (guint32) g_rand_int_range (self->random, 0, (gint32) n_words + 1) * 8;
  sample.stack = stack;
  sample.regs.words = words;
  return sample;
}

static char *
unwind (const Run *self, LuUnwinder *unwinder, const LuSample *sample, guint space)
{
  lu_stack_reset (self->stack);
  unwinder->ops->unwind (unwinder,
                         &(LuUnwindRequest){ .tid = (gint32) space + 1,
                                             .sample = sample,
                                             .space = self->recorded->spaces->pdata[space] },
                         self->stack);
  return recorded_stack_to_text (self->recorded, space, self->stack);
}

static void
complain (guint n, const Run *self, const char *what, const char *other, const char *table)
{
  if (n <= MAX_PRINTED)
    printf ("# %s: %s\n#   %s\n#   table %s\n", self->name, what, other, table);
}

static void
try_one (Run *self)
{
  const RecordedSample *recorded = random_sample (self);
  g_autofree char *whole = unwind (self, self->warm, &recorded->sample, recorded->space);
  LuSample sample = damage (self, &recorded->sample);
  g_autoptr (LuUnwinder) cold = lu_unwinder_table.new(NULL);
  g_autofree char *warm = NULL, *fresh = NULL, *dwfl = NULL;

  if (sample.stack_size >= 8)
    {
      warm = unwind (self, self->warm, &sample, recorded->space);
      fresh = unwind (self, cold, &sample, recorded->space);
      dwfl = unwind (self, self->dwfl, &sample, recorded->space);
      self->n_changed += strcmp (whole, fresh) != 0;
      self->n_doubts += ends_in_doubt (fresh, warm) && strcmp (warm, fresh) != 0;
      if (strcmp (warm, fresh) != 0 && !ends_in_doubt (fresh, warm))
        complain (++self->n_old, self, "a new engine finds another stack", fresh, warm);
      if (strcmp (fresh, dwfl) != 0 && !ends_in_doubt (fresh, dwfl))
        {
          if (g_str_has_prefix (dwfl, "unsupported-rule ")
              && strcmp (self->name, WITH_LANDING_PADS) == 0)
            self->n_landing++;
          else
            complain (++self->n_dwfl, self, "dwfl finds another stack", dwfl, fresh);
        }
    }
  g_free ((gpointer) sample.stack);
  g_free ((gpointer) sample.regs.words);
}

static gboolean
test_capture (const char *directory, const char *name, guint seed, guint rounds, guint number)
{
  g_autofree char *path = g_strdup_printf ("%s/%s", directory, name);
  g_autoptr (GError) error = NULL;
  g_autoptr (Recorded) recorded = recorded_read (path, &error);
  Run run = { .name = name, .recorded = recorded };
  gboolean is_ok;

  if (recorded == NULL)
    {
      printf ("not ok %u - %s\n", number, error->message);
      return FALSE;
    }
  run.random = g_rand_new_with_seed (seed);
  run.warm = lu_unwinder_table.new(NULL);
  run.dwfl = lu_unwinder_dwfl.new(NULL);
  run.stack = g_new (LuStack, 1);
  for (guint i = 0; i < rounds; i++)
    try_one (&run);
  is_ok = run.n_old == 0 && run.n_dwfl == 0 && run.n_changed > 0 && run.n_doubts <= 1 + rounds / 20;
  printf ("%sok %u - %s: of %u damaged stacks %u are others; %u another by a new engine, %u by "
          "dwfl, %u end for dwfl at a landing pad, in %u a new engine is in doubt\n",
          is_ok ? "" : "not ", number, name, rounds, run.n_changed, run.n_old, run.n_dwfl,
          run.n_landing, run.n_doubts);
  g_free (run.stack);
  lu_unwinder_free (run.dwfl);
  lu_unwinder_free (run.warm);
  g_rand_free (run.random);
  return is_ok;
}

int
main (int argc, char **argv)
{
  guint rounds = TEST_TRIES (300, 100), seed = 1, number = 0, n_failed = 0;
  g_autoptr (GDir) dir = NULL;
  const char *name;
  int i = 1;

  for (; i + 1 < argc && g_str_has_prefix (argv[i], "--"); i += 2)
    if (strcmp (argv[i], "--rounds") == 0)
      rounds = (guint) strtoul (argv[i + 1], NULL, 10);
    else
      seed = (guint) strtoul (argv[i + 1], NULL, 10);
  dir = i < argc ? g_dir_open (argv[i], 0, NULL) : NULL;
  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    if (g_str_has_suffix (name, ".samples.gz"))
      n_failed += !test_capture (argv[i], name, seed, rounds, ++number);
  printf ("1..%u\n", number);
  return n_failed == 0 && number > 0 ? 0 : 1;
}
