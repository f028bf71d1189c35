/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* merge.c - puts the functions that an interpreter ran into the native stack; see merge.h. */

#include "interp/merge.h"

#include <string.h>

typedef enum
{
  ALL,       /* each call has its functions */
  ALL_BUT_1, /* each but the innermost one, which has none */
  DIFFER,
} Agreement;

static gboolean
is_call (guint8 kind)
{
  return kind == LU_NATIVE_CALL || kind == LU_NATIVE_BEGINS;
}

static guint
count_calls (const LuMerge *self)
{
  guint n = 0;

  for (guint i = 0; i < self->n_frames; i++)
    n += is_call (self->kinds[i]);
  return n;
}

/* Functions further out than the last entry belong to a call, too. */
static guint
count_entries (const LuMerge *self)
{
  guint n = 0;

  for (guint i = 0; i < self->n_chain; i++)
    n += (self->chain[i].code & LU_INTERP_ENTRY) != 0 || i + 1 == self->n_chain;
  return n;
}

static gboolean
is_chain_whole (const LuMerge *self)
{
  return (self->chain_flags & (LU_INTERP_CHAIN_CUT | LU_INTERP_CHAIN_BROKEN)) == 0;
}

static Agreement
compare_whole (const LuMerge *self, guint n_calls, guint n_entries, gboolean begins)
{
  if ((self->chain_flags & LU_INTERP_CHAIN_NO_LEAF) != 0)
    return n_calls == n_entries + 1 ? ALL_BUT_1 : DIFFER;
  if (n_calls == n_entries)
    return begins && self->begins_in_two ? DIFFER : ALL;
  /* With several interpreters, or stacks that a library switches, the outermost call may as well be
   * the one without functions. */
  return begins && n_calls == n_entries + 1 && n_entries > 0
                 && (self->chain_flags & LU_INTERP_CHAIN_SEVERAL) == 0
             ? ALL_BUT_1
             : DIFFER;
}

/* If something is missing at the outer end, only a clear beginning at the leaf will do. */
static Agreement
compare (const LuMerge *self)
{
  guint n_calls = count_calls (self), n_entries = count_entries (self);
  gboolean begins = self->n_frames > 0 && self->kinds[0] == LU_NATIVE_BEGINS;
  guint n_without = (self->chain_flags & LU_INTERP_CHAIN_NO_LEAF) != 0 ? 1 : 0;

  if (self->is_whole && is_chain_whole (self))
    return compare_whole (self, n_calls, n_entries, begins);
  if (begins || (self->is_whole && n_calls < n_entries + n_without)
      || (is_chain_whole (self) && n_calls > n_entries + n_without))
    return DIFFER;
  return n_without > 0 ? ALL_BUT_1 : ALL;
}

typedef struct
{
  LuFrame *frames;
  guint n;
  gboolean
      has_waiters; /* there is room for them once, and a forged chain may name its task often */
} Output;

static void
add_function (Output *self, guint64 address)
{
  if (address != 0)
    self->frames[self->n++] = (LuFrame){ .pc = address, .flags = LU_FRAME_FUNCTION };
}

/* Adds the functions of one call, from *next on. Returns whether a task begins with one. */
static gboolean
add_call (const LuMerge *self, Output *output, guint *next)
{
  gboolean has_task = FALSE;

  while (*next < self->n_chain)
    {
      guint64 code = self->chain[*next].code;

      add_function (output, self->addresses[(*next)++]);
      has_task |= (code & LU_INTERP_TASK) != 0;
      if ((code & LU_INTERP_ENTRY) != 0)
        break;
    }
  return has_task;
}

static void
add_waiters (const LuMerge *self, Output *output)
{
  if (output->has_waiters)
    return;
  output->has_waiters = TRUE;
  for (guint i = 0; i < self->n_waiters; i++)
    add_function (output, self->waiters[i]);
}

static void
merge (const LuMerge *self, gboolean skips_first, Output *output)
{
  guint next = 0;

  for (guint i = 0; i < self->n_frames; i++)
    {
      gboolean has_functions = is_call (self->kinds[i]) && !skips_first && next < self->n_chain;
      gboolean is_replaced = has_functions || (self->kinds[i] == LU_NATIVE_HANDLER && !skips_first);
      gboolean has_task = has_functions && add_call (self, output, &next);

      if (!is_replaced || self->keeps_native)
        output->frames[output->n++] = self->frames[i];
      if (has_task)
        add_waiters (self, output);
      if (is_call (self->kinds[i]))
        skips_first = FALSE;
    }
  /* The stack does not reach the rest. */
  while (next < self->n_chain)
    if (add_call (self, output, &next))
      add_waiters (self, output);
}

static void
mark (const LuMerge *self, Output *output)
{
  gboolean is_marked = FALSE;

  for (guint i = 0; i < self->n_frames; i++)
    {
      output->frames[output->n++] = self->frames[i];
      if (is_marked || !is_call (self->kinds[i]))
        continue;
      add_function (output, lu_function_in (self->language, LU_FUNCTION_UNMATCHED));
      is_marked = TRUE;
    }
}

LuMergeResult
lu_merge (const LuMerge *self, LuFrame *merged, guint *n_merged)
{
  Output output = { .frames = merged };
  Agreement agreement = compare (self);

  if (agreement == DIFFER)
    mark (self, &output);
  else
    merge (self, agreement == ALL_BUT_1, &output);
  *n_merged = output.n;
  if (agreement == DIFFER)
    return LU_MERGE_DIFFER;
  return self->is_whole && is_chain_whole (self) ? LU_MERGED : LU_MERGED_PART;
}
