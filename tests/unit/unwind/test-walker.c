/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-walker.c - a walk that follows the thread's last stack has the same result as a walk without
 * one.
 *
 * A stack of target.c's programs is changed in every way that could lead a memory astray. Each
 * changed sample is walked as the next one of a thread whose last stack was the unchanged one, and
 * as the first one of another thread; both results must be equal.
 *
 * Arguments: the directory of target.c's programs. */

#include "unwind/walker.h"

#include "tracee.h"

#include "../../tries.h"

#include <linux/perf_event.h>
#include <string.h>

#define N_RANDOM TEST_TRIES (20000, 4000)
#define WORD_IP  8
#define WORD_SP  7
#define WORD_FP  6
#define WORD_BX  1

static const char *directory;

typedef struct
{
  Tracee *tracee;
  LuWalker *walker;
  gint32 next_tid; /* nothing is remembered of it */
  guint64 words[17];
  guint8 *stack;
  LuSample sample; /* with the changes */
  gboolean is_ours;
  LuStack kept, fresh;
} Fixture;

/* Restores the unchanged sample. */
static void
reset (Fixture *self)
{
  self->sample = self->tracee->sample;
  memcpy (self->words, self->tracee->words, sizeof self->words);
  memcpy (self->stack, self->tracee->stack, self->sample.stack_size);
  self->sample.regs.words = self->words;
  self->sample.stack = self->stack;
}

/* A walker knows the instructions before return addresses only after the engine has read them. */
static void
find_calls_of (LuUnwinder *dwfl, pid_t pid, const LuSample *sample, LuAddressSpace *space,
               LuStack *stack)
{
  lu_stack_reset (stack);
  dwfl->ops->unwind (
      dwfl, &(LuUnwindRequest){ .pid = pid, .tid = pid, .sample = sample, .space = space }, stack);
}

static void
find_calls (Tracee *tracee)
{
  g_autoptr (LuUnwinder) dwfl = lu_unwinder_dwfl.new(NULL);
  static LuStack stack;

  find_calls_of (dwfl, tracee->pid, &tracee->sample, tracee->space, &stack);
}

static gboolean
set_up (Fixture *self, const char *what, const char *number)
{
  const char *args[] = { what, number, NULL };

  *self = (Fixture){ .next_tid = 1000, .tracee = tracee_start (directory, "pie", args, 1 << 20) };
  if (self->tracee == NULL)
    return FALSE;
  self->walker = lu_walker_new (TRUE);
  find_calls (self->tracee);
  self->stack = g_malloc (self->tracee->sample.stack_size);
  reset (self);
  return TRUE;
}

static void
tear_down (Fixture *self)
{
  lu_walker_free (self->walker);
  g_free (self->stack);
  tracee_free (self->tracee);
}

static gboolean
walk (Fixture *self, gint32 tid, const LuSample *sample, LuAddressSpace *space, LuStack *stack)
{
  gboolean is_ours;

  lu_stack_reset (stack);
  is_ours = lu_walker_walk (self->walker, tid, sample, space, stack);
  if (!is_ours) /* the stack's contents are undefined */
    lu_stack_reset (stack);
  return is_ours;
}

/* Compares walks of the changed sample after the unchanged one, and alone. */
static void
compare_in (Fixture *self, LuAddressSpace *space)
{
  LuStack *kept = &self->kept, *fresh = &self->fresh;
  gboolean is_ours;

  lu_walker_expect (self->walker, 1, &self->sample); /* changes nothing */
  walk (self, 1, &self->tracee->sample, self->tracee->space, kept);
  lu_walker_expect (self->walker, 1, &self->sample);
  is_ours = walk (self, 1, &self->sample, space, kept);
  self->is_ours = walk (self, self->next_tid++, &self->sample, space, fresh);
  g_assert_cmpint (is_ours, ==, self->is_ours);
  g_assert_cmpint (kept->status, ==, fresh->status);
  g_assert_cmpuint (kept->n_frames, ==, fresh->n_frames);
  g_assert_cmphex (kept->end_pc, ==, fresh->end_pc);
  g_assert_cmphex (kept->sampled_sp, ==, fresh->sampled_sp);
  g_assert_cmpuint (kept->stack_needed, ==, fresh->stack_needed);
  g_assert_cmpuint (kept->stack_used, ==, fresh->stack_used);
  for (guint i = 0; i < fresh->n_frames; i++)
    g_assert_cmpmem (&kept->frames[i], sizeof kept->frames[i], &fresh->frames[i],
                     sizeof fresh->frames[i]);
}

static void
compare (Fixture *self)
{
  compare_in (self, self->tracee->space);
}

static guint64
get_word (const Fixture *self, guint64 offset)
{
  guint64 value;

  memcpy (&value, self->stack + offset, sizeof value);
  return value;
}

static void
set_word (Fixture *self, guint64 offset, guint64 value)
{
  memcpy (self->stack + offset, &value, sizeof value);
}

/* Returns the bytes of the stack that the walk of the unchanged sample reads, and some more. */
static guint64
used (Fixture *self)
{
  walk (self, 1, &self->tracee->sample, self->tracee->space, &self->kept);
  return MIN (self->kept.stack_used + 256, self->sample.stack_size - sizeof (guint64));
}

/* The cases */

static void
test_same (Fixture *self)
{
  guint64 before;

  compare (self);
  g_assert_true (self->is_ours);
  g_assert_cmpint (self->kept.status, ==, LU_STATUS_COMPLETE);
  before = lu_walker_n_followed (self->walker);
  compare (self);
  /* Nearly all frames are followed, twice. */
  g_assert_cmpuint (lu_walker_n_followed (self->walker) - before, >=,
                    MIN (self->kept.n_frames, 400));
}

/* Each word is changed alone: to another value, to that of another word, to zero. */
static void
test_word (Fixture *self)
{
  guint64 end = used (self);

  for (guint64 at = 0; at + 8 <= end; at += 8)
    {
      guint64 value = get_word (self, at);
      const guint64 others[] = { value ^ 1,         value + 8,
                                 value - 16,        0,
                                 G_MAXUINT64,       get_word (self, (at + 64) % end & ~7ull),
                                 value ^ 1ull << 63 };

      for (guint i = 0; i < G_N_ELEMENTS (others); i++)
        {
          set_word (self, at, others[i]);
          compare (self);
        }
      set_word (self, at, value);
    }
}

/* The copy ends anywhere, also in the middle of a word. */
static void
test_size (Fixture *self)
{
  guint64 end = used (self);

  for (guint64 size = 8; size <= end; size += size % 8 == 0 ? 5 : 3)
    {
      self->sample.stack_size = (guint32) size;
      self->sample.stack_asked = (guint32) (size % 2 == 0 ? size : end);
      compare (self);
    }
}

/* Only registers change, or the whole stack is at another place. */
static void
test_registers (Fixture *self)
{
  static const gint64 deltas[] = { 1, -1, 8, -8, 16, -16, 64, 4096, -65536, 1ll << 40 };

  for (guint word = 0; word < 17; word++)
    for (guint i = 0; i < G_N_ELEMENTS (deltas); i++)
      {
        guint64 value = self->words[word];

        self->words[word] = value + (guint64) deltas[i];
        compare (self);
        self->words[word] = 0;
        compare (self);
        self->words[word] = value;
      }
}

/* The sample begins in another frame, or some words lower. */
static void
test_shifted (Fixture *self)
{
  guint64 end = used (self);

  for (guint64 by = 8; by < end; by += 8)
    {
      memmove (self->stack, self->tracee->stack + by, self->tracee->sample.stack_size - by);
      self->words[WORD_SP] = self->tracee->words[WORD_SP] + by;
      compare (self); /* the same words at the same addresses */
      self->words[WORD_SP] = self->tracee->words[WORD_SP];
      compare (self); /* at other addresses */
    }
}

/* After an exec or a new mapping in the same thread nothing of the old address space is used. */
static void
test_space (Fixture *self)
{
  guint n;
  const LuMapping *mappings = lu_address_space_mappings (self->tracee->space, &n);
  const LuModuleKey key = { .kind = LU_MODULE_ANONYMOUS, .path = "//anon" };
  g_autoptr (LuModule) module = lu_module_new (&key);

  for (guint i = 0; i < n; i++)
    {
      LuMapping mapping = mappings[i];
      g_autoptr (LuAddressSpace) space = NULL, empty = lu_address_space_new ();

      mapping.module = module;
      space =
          lu_address_space_take_with_mapping (lu_address_space_ref (self->tracee->space), &mapping);
      compare_in (self, space);
      compare_in (self, empty);
    }
}

/* Several changes together and on top of each other, so that pieces of the last stack stand between
 * new frames. */
static void
test_random (Fixture *self)
{
  GRand *rand = g_rand_new_with_seed ((guint32) g_test_rand_int ());
  guint64 end = used (self);

  for (guint i = 0; i < N_RANDOM; i++)
    {
      guint n_changes = (guint) g_rand_int_range (rand, 0, 6);

      if (g_rand_int_range (rand, 0, 4) == 0)
        reset (self);
      for (guint k = 0; k < n_changes; k++)
        {
          guint64 at = 8 * (guint64) g_rand_int_range (rand, 0, (gint32) (end / 8));
          guint64 from = 8 * (guint64) g_rand_int_range (rand, 0, (gint32) (end / 8));

          set_word (self, at,
                    g_rand_boolean (rand) ? get_word (self, from)
                                          : get_word (self, at) + 8 * g_rand_int (rand) % 64);
        }
      if (g_rand_int_range (rand, 0, 3) == 0)
        self->words[g_rand_boolean (rand) ? WORD_FP : WORD_BX] += 8;
      if (g_rand_int_range (rand, 0, 8) == 0)
        self->sample.stack_size = (guint32) g_rand_int_range (rand, 8, (gint32) end);
      /* The last stack is the result of the previous round. */
      walk (self, 2, &self->sample, self->tracee->space, &self->kept);
      compare (self);
    }
  g_rand_free (rand);
}

/* A thread whose last stack was changed, too: chains of changed stacks without the unchanged one
 * between them. */
static void
test_chain (Fixture *self)
{
  GRand *rand = g_rand_new_with_seed ((guint32) g_test_rand_int ());
  guint64 end = used (self);

  for (guint i = 0; i < N_RANDOM; i++)
    {
      guint64 at = 8 * (guint64) g_rand_int_range (rand, 0, (gint32) (end / 8));
      gboolean is_ours;

      if (g_rand_int_range (rand, 0, 16) == 0)
        reset (self);
      set_word (self, at, get_word (self, at) + 8);
      is_ours = walk (self, 3, &self->sample, self->tracee->space, &self->kept);
      g_assert_cmpint (
          is_ours, ==,
          walk (self, self->next_tid++, &self->sample, self->tracee->space, &self->fresh));
      g_assert_cmpint (self->kept.status, ==, self->fresh.status);
      g_assert_cmpuint (self->kept.n_frames, ==, self->fresh.n_frames);
      g_assert_cmpmem (self->kept.frames, self->kept.n_frames * sizeof (LuFrame),
                       self->fresh.frames, self->fresh.n_frames * sizeof (LuFrame));
    }
  g_rand_free (rand);
}

/* The walker handles the words on top of the stack as the engine does. */
static void
test_top (Fixture *self)
{
  g_autoptr (LuUnwinder) dwfl = lu_unwinder_dwfl.new(NULL);
  LuStack *stack = &self->kept;
  guint64 end = used (self);
  guint n_ours = 0, n_all = 0;

  for (guint64 at = 0; at < 5 * 8; at += 8)
    for (guint64 other = 0; other < end; other += 8)
      {
        const guint64 values[] = { get_word (self, other), get_word (self, other) + 1,
                                   self->words[WORD_SP] + other - 16, other };

        for (guint i = 0; i < G_N_ELEMENTS (values); i++)
          {
            n_all++;
            reset (self);
            set_word (self, at, values[i]);
            find_calls_of (dwfl, self->tracee->pid, &self->sample, self->tracee->space, stack);
            if (!walk (self, self->next_tid++, &self->sample, self->tracee->space, &self->fresh))
              continue;
            n_ours++;
            g_assert_cmpint (self->fresh.status, ==, stack->status);
            g_assert_cmphex (self->fresh.end_pc, ==, stack->end_pc);
            g_assert_cmpmem (self->fresh.frames, self->fresh.n_frames * sizeof (LuFrame),
                             stack->frames, stack->n_frames * sizeof (LuFrame));
          }
      }
  /* A word that leads nowhere is no reason to use the engine. */
  g_assert_cmpuint (n_ours, >, n_all * 19 / 20);
}

/* The pc is the very first byte of a program's code, as when the first call of _init faults its
 * page in: no system call can lead there. */
static void
test_first_byte (Fixture *self)
{
  g_autoptr (LuUnwinder) dwfl = lu_unwinder_dwfl.new(NULL);
  LuStack *stack = &self->kept;

  self->words[WORD_IP] = lu_address_space_find (self->tracee->space, self->words[WORD_IP])->start;
  self->sample.cpumode = PERF_RECORD_MISC_KERNEL;
  find_calls_of (dwfl, self->tracee->pid, &self->sample, self->tracee->space, stack);
  g_assert_cmpint (stack->status, ==, LU_STATUS_COMPLETE);
  g_assert_true (walk (self, self->next_tid++, &self->sample, self->tracee->space, &self->fresh));
  g_assert_cmpint (self->fresh.status, ==, LU_STATUS_COMPLETE);
  g_assert_cmpmem (self->fresh.frames, self->fresh.n_frames * sizeof (LuFrame), stack->frames,
                   stack->n_frames * sizeof (LuFrame));
}

static const struct
{
  const char *name, *what, *number;
  void (*run) (Fixture *self);
} cases[] = {
  { "/walker/plain/same", "plain", NULL, test_same },
  { "/walker/plain/word", "plain", NULL, test_word },
  { "/walker/plain/size", "plain", NULL, test_size },
  { "/walker/plain/registers", "plain", NULL, test_registers },
  { "/walker/plain/shifted", "plain", NULL, test_shifted },
  { "/walker/plain/space", "plain", NULL, test_space },
  { "/walker/plain/random", "plain", NULL, test_random },
  { "/walker/plain/chain", "plain", NULL, test_chain },
  { "/walker/deep/same", "recurse", "500", test_same },
  { "/walker/deep/random", "recurse", "300", test_chain },
  { "/walker/signal/word", "signal", NULL, test_word },
  { "/walker/signal/size", "signal", NULL, test_size },
  { "/walker/signal/random", "signal", NULL, test_random },
  { "/walker/realigned/word", "realigned", NULL, test_word },
  { "/walker/realigned/registers", "realigned", NULL, test_registers },
  { "/walker/realigned/random", "realigned", NULL, test_random },
  { "/walker/bare/same", "bare", NULL, test_same },
  { "/walker/bare/word", "bare", NULL, test_word },
  { "/walker/bare/size", "bare", NULL, test_size },
  { "/walker/bare/registers", "bare", NULL, test_registers },
  { "/walker/bare/random", "bare", NULL, test_chain },
  { "/walker/bare/top", "bare", NULL, test_top },
  { "/walker/bare/first-byte", "bare", NULL, test_first_byte },
  { "/walker/generated/same", "generated", "40", test_same },
  { "/walker/generated/word", "generated", "20", test_word },
  { "/walker/generated/size", "generated", "20", test_size },
  { "/walker/generated/registers", "generated", "20", test_registers },
  { "/walker/generated/shifted", "generated", "20", test_shifted },
  { "/walker/generated/space", "generated", "20", test_space },
  { "/walker/generated/random", "generated", "20", test_random },
  { "/walker/generated/chain", "generated", "20", test_chain },
};

static void
run_case (gconstpointer data)
{
  const guint *i = data;
  g_autofree Fixture *self = g_new0 (Fixture, 1);

  if (!set_up (self, cases[*i].what, cases[*i].number))
    return;
  cases[*i].run (self);
  tear_down (self);
}

int
main (int argc, char **argv)
{
  static guint indices[G_N_ELEMENTS (cases)];

  g_test_init (&argc, &argv, NULL);
  directory = argc > 1 ? argv[1] : ".";
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      indices[i] = i;
      g_test_add_data_func (cases[i].name, &indices[i], run_case);
    }
  return g_test_run ();
}
