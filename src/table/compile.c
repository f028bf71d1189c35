/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* compile.c - runs FDEs and collects their rows; see compile.h. */

#include "table/compile.h"

#include "table/rule.h"

/* Limit for the bytes of instructions, in multiples of the sections' size: entries of a hostile
 * file can share bytes. */
#define BUDGET_FACTOR 4
#define BUDGET_MIN    65536

LuCompiler *
lu_compiler_new (LuCfi *cfi)
{
  LuCompiler *self = g_new0 (LuCompiler, 1);

  self->cfi = cfi;
  self->budget = BUDGET_MIN + (cfi != NULL ? BUDGET_FACTOR * lu_cfi_size (cfi) : 0);
  lu_rule_list_init (&self->rules);
  return self;
}

void
lu_compiler_free (LuCompiler *self)
{
  lu_rule_list_clear (&self->rules);
  g_free (self->fde_rows.rows);
  g_free (self);
}

static void
add_row (LuRawRows *rows, guint64 address, guint32 rule)
{
  if (rows->n > 0 && rows->rows[rows->n - 1].address == address)
    rows->n--; /* an earlier row at the same address is replaced */
  if (rows->n > 0 && rows->rows[rows->n - 1].rule == rule)
    return;
  if (rows->n == rows->n_allocated)
    {
      rows->n_allocated = MAX (2 * rows->n_allocated, 64);
      rows->rows = g_renew (LuRawRow, rows->rows, rows->n_allocated);
    }
  rows->rows[rows->n++] = (LuRawRow){ .address = address, .rule = rule };
}

/* Takes the rules off the rows of a function that lacks a push. */
static void
refuse_links (LuCompiler *self)
{
  guint n = self->fde_rows.n;

  self->fde_rows.n = 0;
  for (guint i = 0; i < n; i++)
    {
      LuRawRow row = self->fde_rows.rows[i];
      gboolean is_link = self->rules.rules[row.rule].ra_kind == LU_RA_LINK;

      add_row (&self->fde_rows, row.address, is_link ? LU_RULE_COMPLEX : row.rule);
    }
}

gboolean
lu_compiler_run (LuCompiler *self, const LuFde *fde, guint64 from, guint64 to)
{
  const LuArch *arch = lu_cfi_arch (self->cfi);
  const LuCie *cie = lu_cfi_cie (self->cfi, fde);
  LuCfaRun *run = &self->run;
  gboolean lacks_push = FALSE;

  self->fde_rows.n = 0;
  lu_cfa_run_start (run, &(LuCfaProgram){ .section = lu_cfi_section (self->cfi, fde),
                                          .arch = arch,
                                          .cie = cie,
                                          .instructions = lu_cfi_program (self->cfi, fde),
                                          .start = fde->start,
                                          .end = to });
  if (fde->program_size > self->budget)
    run->cfi_error = LU_CFI_ERROR_BUDGET;
  else
    self->budget -= fde->program_size;
  while (run->cfi_error == LU_CFI_ERROR_NONE && lu_cfa_run_next (run))
    {
      struct lu_rule rule = lu_rule_make (&run->state, cie->is_signal, arch);

      add_row (&self->fde_rows, MAX (run->row_start, from),
               lu_rule_list_intern (&self->rules, &rule));
      lacks_push |= lu_rule_lacks_push (&run->state, cie->is_signal, arch);
    }
  if (run->cfi_error == LU_CFI_ERROR_NONE)
    {
      if (lacks_push)
        refuse_links (self);
      return TRUE;
    }
  lu_cfi_add_error (self->cfi, run->cfi_error);
  self->fde_rows.n = 0;
  add_row (&self->fde_rows, from, LU_RULE_NONE);
  return FALSE;
}

/* Runs an FDE up to the end of the code. The state left is that of the last byte. Returns whether a
 * state lacks a push. */
static gboolean
run_to (LuCfi *cfi, LuCfaRun *run, const LuFde *fde, guint64 end)
{
  const LuCie *cie = lu_cfi_cie (cfi, fde);
  gboolean lacks_push = FALSE;

  run->work += fde->program_size;
  lu_cfa_run_start (run, &(LuCfaProgram){ .section = lu_cfi_section (cfi, fde),
                                          .arch = lu_cfi_arch (cfi),
                                          .cie = cie,
                                          .instructions = lu_cfi_program (cfi, fde),
                                          .start = fde->start,
                                          .end = end });
  while (lu_cfa_run_next (run))
    lacks_push |= lu_rule_lacks_push (&run->state, cie->is_signal, lu_cfi_arch (cfi));
  return lacks_push;
}

struct lu_rule
lu_compile_at (LuCfi *cfi, LuCfaRun *run, guint64 address)
{
  const struct lu_rule none = { .cfa_kind = LU_CFA_NONE };
  struct lu_rule rule;
  guint64 from, to;
  LuFde fde;

  run->work = 0;
  if (!lu_cfi_find (cfi, address, &fde, &from, &to))
    return none;
  run_to (cfi, run, &fde, address + 1);
  if (run->cfi_error != LU_CFI_ERROR_NONE)
    return none;
  rule = lu_rule_make (&run->state, lu_cfi_cie (cfi, &fde)->is_signal, lu_cfi_arch (cfi));
  if (rule.ra_kind == LU_RA_LINK && run_to (cfi, run, &fde, to))
    return (struct lu_rule){ .cfa_kind = LU_CFA_COMPLEX };
  return rule;
}

/* Pieces. */

typedef struct
{
  const LuFde *fdes;
  guint n, i;
} Queue;

static guint64
next_start (const Queue *queue, guint i)
{
  return i < queue->n ? queue->fdes[i].start : G_MAXUINT64;
}

/* Returns where the code of the queue's first FDE ends: at the start of the next FDE at the latest.
 */
static guint64
piece_end (const Queue *queue)
{
  return MIN (queue->fdes[queue->i].end, next_start (queue, queue->i + 1));
}

void
lu_compiler_foreach_piece (LuCompiler *self, LuPieceFunc func, gpointer user_data)
{
  Queue eh = { 0 }, debug = { 0 };
  guint64 done = 0; /* all code below is done */

  eh.fdes = lu_cfi_fdes (self->cfi, LU_CFI_EH_FRAME, &eh.n);
  debug.fdes = lu_cfi_fdes (self->cfi, LU_CFI_DEBUG_FRAME, &debug.n);
  while (eh.i < eh.n || debug.i < debug.n)
    {
      guint64 eh_start = next_start (&eh, eh.i);
      gboolean is_debug = next_start (&debug, debug.i) < eh_start;
      Queue *queue = is_debug ? &debug : &eh;
      guint64 from = MAX (queue->fdes[queue->i].start, done);
      guint64 end = piece_end (queue);
      guint64 to = is_debug ? MIN (end, eh_start) : end;

      if (from < to)
        func (&queue->fdes[queue->i], from, to, user_data);
      done = MAX (done, to);
      /* The rest of a .debug_frame FDE follows the .eh_frame FDE that cuts it. */
      if (is_debug && end > to)
        {
          queue = &eh;
          from = eh.fdes[eh.i].start;
          to = piece_end (&eh);
          if (from < to)
            func (&eh.fdes[eh.i], from, to, user_data);
          done = MAX (done, to);
        }
      queue->i++;
    }
}
