/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* arbiter.c FILE… - makes rows from the instructions of files that have CFI, without looking at it,
 * and compares them with the CFI at every instruction.
 *
 * Apart are assembly, known from debug information, code that only exceptions lead to (with
 * --landing-pads), which no code without CFI has, and places where the CFI is wrong by itself: it
 * changes the CFA behind an instruction that leaves the stack pointer as it is.
 *
 * For each file: instructions with CFI, the share of them with a row, and rows that are wrong; -v
 * prints each wrong one. The code is looked at in the parts that a recording takes, or with --whole
 * at once. Code whose CFI is not a plain frame (expressions, ends of stacks) is not counted.
 * --limit-rows P and --limit-wrong N set the percentage of instructions with rows, and the wrong
 * ones in a million, at which the program fails. It fails, too, if there is nothing to compare. */

#include "apart.h"

#include "code/code-rows.h"
#include "code/decoder.h"
#include "elf/image.h"
#include "arch/arch.h"
#include "table/compile.h"
#include "table/rule.h"
#include "table/table.h"

#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct
{
  guint64 n, n_rows, n_wrong, n_unclear;
  guint64 n_assembly, n_assembly_rows, n_assembly_wrong;
  guint64 n_pads;      /* instructions that only exceptions lead to */
  guint64 n_cfi_wrong; /* the CFI contradicts itself */
  double seconds;
  guint64 bytes;
} Counts;

/* Code that was looked at on its own. */
typedef struct
{
  guint64 start; /* ELF address */
  LuFlow *flow;  /* owned */
} Piece;

typedef struct
{
  LuTable *table;
  GArray *pieces; /* of Piece, ascending */
  LuCodeFile *file;
  GArray *assembly; /* arbiter_read_assembly() */
  GHashTable *pads; /* arbiter_follow_pads() */
  Counts counts;
  gboolean is_verbose;
} Arbiter;

/* Instructions between a place where the CFI is wrong and the next one where it is right. */
#define MAX_AGREEING 8

/* Bytes of code in a file; recordings read less (LU_CODE_MAX_BYTES). */
#define MAX_BYTES (1u << 30)

static gboolean is_whole;
static const char *pads_path;
static int min_rows_permille = -1, max_wrong_per_million = -1;

static gboolean
is_plain (const struct lu_rule *rule)
{
  return (rule->cfa_kind == LU_CFA_SP || rule->cfa_kind == LU_CFA_FP)
         && rule->ra_kind == LU_RA_AT_CFA && rule->ra_off == -1 && rule->flags == 0
         && lu_rule_fp_kind (rule) <= LU_SAVE_AT_CFA;
}

typedef enum
{
  RIGHT,
  UNCLEAR,
  WRONG,
} Verdict;

static Verdict
judge (const LuFrameFacts *facts, const struct lu_rule *cfi)
{
  int base = cfi->cfa_kind == LU_CFA_SP ? LU_FACT_SP : LU_FACT_FP;
  int slot = facts->kinds[LU_FACT_FP_SLOT];

  if (facts->kinds[base] != LU_FACT_CFA)
    return UNCLEAR;
  if (facts->offsets[base] != -cfi->cfa_off)
    return WRONG;
  if (facts->kinds[LU_FACT_FP] == LU_FACT_ENTRY)
    return RIGHT;
  if (lu_rule_fp_kind (cfi) == LU_SAVE_AT_CFA)
    return slot == LU_FACT_CFA && facts->offsets[LU_FACT_FP_SLOT] == 8 * cfi->fp_off ? RIGHT
                                                                                     : WRONG;
  return WRONG;
}

static gboolean
is_same_rule (const LuFrameFacts *a, const LuFrameFacts *b)
{
  struct lu_rule one, other;

  return lu_frame_facts_rule (a, &one) && lu_frame_facts_rule (b, &other)
         && memcmp (&one, &other, sizeof one) == 0;
}

/* Finds what other pieces than the home know of functions that go on at an address. FALSE: they do
 * not agree. */
static gboolean
find_facts_away (const Arbiter *self, guint home, guint64 address, const LuFrameFacts **facts)
{
  *facts = NULL;
  for (guint i = 0; i < self->pieces->len; i++)
    {
      const LuFrameFacts *found =
          i != home ? lu_flow_facts_at (g_array_index (self->pieces, Piece, i).flow, address)
                    : NULL;

      if (found != NULL && *facts != NULL && !is_same_rule (found, *facts))
        return FALSE;
      if (found != NULL)
        *facts = found;
    }
  return TRUE;
}

/* Facts that are certain come first, then those that other pieces know of functions that go on
 * here. */
static const LuFrameFacts *
find_facts (const Arbiter *self, guint64 address)
{
  guint n = lu_code_file_first (self->pieces, address + 1);
  const LuFlow *home = n > 0 ? g_array_index (self->pieces, Piece, n - 1).flow : NULL;
  const LuFrameFacts *own = home != NULL ? lu_flow_facts_at (home, address) : NULL, *away;

  if (own != NULL && lu_flow_is_certain_at (home, address))
    return own;
  if (!find_facts_away (self, n - 1, address, &away))
    return NULL;
  return away != NULL ? away : own;
}

static gboolean
is_known (gpointer data, guint64 address)
{
  return find_facts (data, address) != NULL;
}

static gboolean
is_assembly (const Arbiter *self, guint64 address)
{
  guint n = lu_code_file_first (self->assembly, address + 1);

  return n > 0 && address < g_array_index (self->assembly, LuCodeRange, n - 1).end;
}

static void
print_difference (const char *what, guint64 address, const struct lu_rule *cfi,
                  const struct lu_rule *rule)
{
  g_autofree char *a = lu_rule_to_text (cfi, &lu_arch_x86_64);
  g_autofree char *b = lu_rule_to_text (rule, &lu_arch_x86_64);

  g_print ("  %s %#" G_GINT64_MODIFIER "x: CFI %s, code %s\n", what, address, a, b);
}

/* Returns whether the CFI at an address, with which the code does not agree, contradicts the CFI
 * that follows: it comes to agree with the code, by another CFA, before any instruction changes
 * what the CFA is made from. LLVM describes some changes of the stack pointer too late, as before a
 * branch that it has moved in front of two equal ends of a function; BOLT gives jumps that it adds
 * the CFI of other code than that which they come from and lead to. */
static gboolean
is_cfi_wrong (const Arbiter *self, guint64 address, const struct lu_rule *cfi)
{
  guint32 base = 1u << (cfi->cfa_kind == LU_CFA_SP ? LU_CODE_SP : LU_CODE_FP);

  for (guint i = 0; i < MAX_AGREEING; i++)
    {
      const struct lu_rule *next;
      const LuFrameFacts *facts;
      const guint8 *bytes;
      gsize left;
      LuOp op;

      bytes = arbiter_bytes_at (self->file, address, &left);
      if (bytes == NULL || !lu_decoder_decode (bytes, left, address, &op) || (op.writes & base) != 0
          || op.kind == LU_OP_JUMP_INDIRECT || op.kind == LU_OP_RETURN || op.kind == LU_OP_STOP)
        return FALSE;
      address = op.kind == LU_OP_JUMP ? op.target : address + op.size;
      next = lu_table_find (self->table, address);
      facts = find_facts (self, address);
      if (next == NULL || !is_plain (next) || next->cfa_kind != cfi->cfa_kind || facts == NULL)
        return FALSE;
      if (judge (facts, next) == RIGHT)
        return next->cfa_off != cfi->cfa_off;
    }
  return FALSE;
}

static void
compare (Arbiter *self, guint64 address)
{
  const struct lu_rule *cfi = lu_table_find (self->table, address);
  const LuFrameFacts *facts = find_facts (self, address);
  gboolean is_apart = is_assembly (self, address);
  Counts *counts = &self->counts;
  struct lu_rule rule;
  Verdict verdict;

  if (!is_plain (cfi))
    return;
  if (!is_apart && facts == NULL && g_hash_table_contains (self->pads, ARBITER_KEY (address)))
    {
      counts->n_pads++;
      return;
    }
  *(is_apart ? &counts->n_assembly : &counts->n) += 1;
  if (facts == NULL || !lu_frame_facts_rule (facts, &rule))
    {
      if (self->is_verbose && !is_apart)
        g_print ("  none %#" G_GINT64_MODIFIER "x\n", address);
      return;
    }
  *(is_apart ? &counts->n_assembly_rows : &counts->n_rows) += 1;
  verdict = judge (facts, cfi);
  if (verdict == WRONG && is_cfi_wrong (self, address, cfi))
    {
      counts->n_cfi_wrong++;
      if (self->is_verbose)
        print_difference ("CFI is wrong", address, cfi, &rule);
      return;
    }
  *(is_apart ? &counts->n_assembly_wrong : &counts->n_wrong) += verdict == WRONG;
  counts->n_unclear += verdict == UNCLEAR;
  if (verdict == WRONG && self->is_verbose)
    print_difference ("wrong", address, cfi, &rule);
}

static void
compare_piece (const LuFde *fde, guint64 from, guint64 to, gpointer user_data)
{
  Arbiter *self = user_data;
  LuOp op;
  gsize left;

  for (guint64 at = from; at < to; at += op.size)
    {
      const guint8 *bytes = arbiter_bytes_at (self->file, at, &left);

      if (bytes == NULL || !lu_decoder_decode (bytes, MIN (left, to - at), at, &op))
        return;
      if (!op.is_padding)
        compare (self, at);
    }
}

static double
seconds (void)
{
  struct timespec now;

  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &now);
  return (double) now.tv_sec + (double) now.tv_nsec / 1e9;
}

static void
clear_piece (gpointer piece)
{
  lu_flow_free (((Piece *) piece)->flow);
}

static void
analyse (Arbiter *self, const LuCodeRows *rows)
{
  g_autoptr (GArray) words = lu_code_file_find_pointers (self->file);
  const GArray *parts = is_whole ? self->file->ranges : lu_code_rows_parts (rows);

  for (guint i = 0; i < parts->len; i++)
    {
      const LuCodeBytes *range = &g_array_index (parts, LuCodeBytes, i);
      LuFlow *flow = lu_code_rows_analyse (self->file, range, words, &(LuCodeWanted){ 0 });
      Piece piece = { range->start, flow };

      if (flow == NULL)
        g_print ("over budget\n");
      else
        g_array_append_val (self->pieces, piece);
      self->counts.bytes += range->size;
    }
}

static gboolean
is_good (const Counts *counts)
{
  return (min_rows_permille < 0 || counts->n_rows * 1000 >= counts->n * (guint64) min_rows_permille)
         && (max_wrong_per_million < 0
             || counts->n_wrong * 1000000 <= counts->n_rows * (guint64) max_wrong_per_million);
}

/* FALSE: beyond the limits. */
static gboolean
arbitrate (const char *path, gboolean is_verbose)
{
  const LuCodeWanted wanted = { .max_bytes = MAX_BYTES };
  int fd = open (path, O_RDONLY | O_CLOEXEC);
  g_autoptr (LuImage) image = fd >= 0 ? lu_image_open (fd, NULL) : NULL;
  g_autoptr (LuCodeFile) file = fd >= 0 ? lu_code_file_read (fd, MAX_BYTES, NULL) : NULL;
  g_autoptr (LuCodeRows) rows = fd >= 0 ? lu_code_rows_new (fd, &wanted) : NULL;
  LuCfi *cfi = image != NULL ? lu_cfi_new_for_image (image) : NULL;
  g_autoptr (LuTable) table = cfi != NULL ? lu_table_new (cfi) : NULL;
  Arbiter self = { .table = table, .file = file, .is_verbose = is_verbose };
  gboolean is_fine = TRUE;

  if (table != NULL && file != NULL && (is_whole || rows != NULL))
    {
      g_autoptr (LuCompiler) compiler = lu_compiler_new (cfi);
      double began = seconds ();

      self.pieces = g_array_new (FALSE, FALSE, sizeof (Piece));
      g_array_set_clear_func (self.pieces, clear_piece);
      analyse (&self, rows);
      self.counts.seconds = seconds () - began;
      self.assembly = arbiter_read_assembly (path);
      self.pads = arbiter_follow_pads (pads_path, file, is_known, &self);
      lu_compiler_foreach_piece (compiler, compare_piece, &self);
      g_array_unref (self.pieces);
      g_array_unref (self.assembly);
      g_hash_table_unref (self.pads);
      is_fine = is_good (&self.counts);
      g_print ("%-40s %9" G_GUINT64_FORMAT " %6.2f %% rows %5" G_GUINT64_FORMAT
               " wrong %6" G_GUINT64_FORMAT " unclear %5.1f MB/s%s\n",
               path, self.counts.n,
               100.0 * (double) self.counts.n_rows / (double) MAX (self.counts.n, 1),
               self.counts.n_wrong, self.counts.n_unclear,
               (double) self.counts.bytes / 1e6 / MAX (self.counts.seconds, 1e-9),
               is_fine ? "" : "  BEYOND THE LIMIT");
      g_print ("%-40s %9" G_GUINT64_FORMAT " of assembly, %" G_GUINT64_FORMAT
               " with rows, %" G_GUINT64_FORMAT " of them wrong; %" G_GUINT64_FORMAT
               " behind landing pads; %" G_GUINT64_FORMAT " where the CFI is wrong\n",
               "  apart", self.counts.n_assembly, self.counts.n_assembly_rows,
               self.counts.n_assembly_wrong, self.counts.n_pads, self.counts.n_cfi_wrong);
    }
  else
    {
      g_print ("%-40s nothing to compare: no CFI, or too much code or data\n", path);
      is_fine = FALSE;
    }
  lu_cfi_free (cfi);
  if (fd >= 0)
    close (fd);
  return is_fine;
}

int
main (int argc, char **argv)
{
  gboolean is_verbose = FALSE;
  double rows = -1;
  g_auto (GStrv) paths = NULL;
  const GOptionEntry entries[] = {
    { "verbose", 'v', 0, G_OPTION_ARG_NONE, &is_verbose, "Print what is wrong", NULL },
    { "whole", 0, 0, G_OPTION_ARG_NONE, &is_whole, "Do not cut the code into parts", NULL },
    { "landing-pads", 0, 0, G_OPTION_ARG_FILENAME, &pads_path, "What landing_pads.py prints",
      "FILE" },
    { "limit-rows", 0, 0, G_OPTION_ARG_DOUBLE, &rows, "Percentage of instructions", "P" },
    { "limit-wrong", 0, 0, G_OPTION_ARG_INT, &max_wrong_per_million, "In a million rows", "N" },
    { G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &paths, NULL, NULL },
    { NULL }
  };
  g_autoptr (GOptionContext) context = g_option_context_new ("FILE…");
  gboolean is_fine = TRUE;

  g_option_context_add_main_entries (context, entries, NULL);
  if (!g_option_context_parse (context, &argc, &argv, NULL) || paths == NULL)
    return 2;
  if (!lu_decoder_load ())
    {
      g_print ("1..0 # SKIP Zydis is not installed\n");
      return 77;
    }
  min_rows_permille = rows >= 0 ? (int) (rows * 10) : -1;
  for (guint i = 0; paths[i] != NULL; i++)
    is_fine &= arbitrate (paths[i], is_verbose);
  return is_fine ? 0 : 1;
}
