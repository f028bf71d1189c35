/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* go.c - how the code of Go's runtime moves to another stack, and what its signal handlers push.
 *
 * A function's frame holds the return address at its lower end, and below that, at sp - 8, the
 * caller's frame pointer. Its own frame pointer leads to that word. Instructions: Arm Architecture
 * Reference Manual, C4.1; the code: runtime/asm_arm64.s, sys_linux_arm64.s and signal_arm64.go. */

#include "arch/aarch64/go.h"

#include <string.h>

#define INSTRUCTION 4

/* stur x29, [sp, #-8]; sub x29, sp, #8; ldp x29, x30, [sp, #-8]; mov sp, x1; mov sp, x0 */
#define SAVE_FP    0xf81f83fd
#define SET_FP     0xd10023fd
#define RESTORE    0xa97ffbfd
#define MOV_SP_X1  0x9100003f
#define MOV_SP_X0  0x9100001f
#define BLR_X3     0xd63f0060
#define BL         0x94000000
#define BL_MASK    0xfc000000
#define PROLOGUE   3 /* instructions */
#define AFTER_CALL 5

static guint32
instruction_at (const LuArchText *code, gsize n)
{
  guint32 word = 0;

  if ((n + 1) * INSTRUCTION <= code->size)
    memcpy (&word, code->bytes + n * INSTRUCTION, sizeof word);
  return word;
}

/* Returns the place of an instruction, or 0 if there is none from `from` on. */
static gsize
find (const LuArchText *code, gsize from, guint32 word)
{
  for (gsize n = from; n < code->size / INSTRUCTION; n++)
    if (instruction_at (code, n) == word)
      return n;
  return 0;
}

/* Returns the bytes of the frame that a function begins with, 0 if it begins in another way: str
 * x30, [sp, #-n]! */
static gint16
frame_size (const LuArchText *code)
{
  guint32 word = instruction_at (code, 0);
  gint16 size = (gint16) (0x200 - (word >> 12 & 0x1ff));

  return (word & 0xfff00fff) == 0xf8100ffe && size % 8 == 0 && instruction_at (code, 1) == SAVE_FP
                 && instruction_at (code, 2) == SET_FP
             ? size
             : 0;
}

/* Decodes ldr xTO, [xFROM, #offset] and returns the offset, or -1. */
static gint
load_offset (guint32 word, guint to, guint from)
{
  return (word & 0xffc003ff) == (0xf9400000 | from << 5 | to) ? (gint) (word >> 10 & 0xfff) * 8
                                                              : -1;
}

/* runtime.nanotime1 and runtime.walltime move to the thread's own stack in the middle, and back
 * before the end. In between only the frame pointer leads to their frame. */
static gboolean
find_by_frame_pointer (const LuArchText *code, LuArchRange *where, struct lu_rule *rule)
{
  gint16 words = frame_size (code) / 8;
  gsize end = find (code, PROLOGUE, RESTORE);

  if (words == 0 || end == 0 || find (code, PROLOGUE, MOV_SP_X1) == 0)
    return FALSE;
  *where = (LuArchRange){ PROLOGUE * INSTRUCTION, end * INSTRUCTION };
  *rule = (struct lu_rule){ .cfa_kind = LU_CFA_FP,
                            .cfa_off = 8 + 8 * words,
                            .saves = LU_SAVE_AT_CFA | LU_SAVE_UNKNOWN << 4,
                            .fp_off = (gint16) (-words - 1),
                            .ra_kind = LU_RA_AT_CFA,
                            .ra_off = (gint16) -words,
                            .flags = LU_RULE_SWITCH };
  return TRUE;
}

/* runtime.systemstack: behind the call of its argument, it finds the goroutine as m.curg, m being
 * that of the current g, and the goroutine's stack pointer in g.sched. */
static gboolean
find_by_sched (const LuArchText *code, LuArchRange *where, struct lu_rule *rule)
{
  gint16 words = frame_size (code) / 8;

  for (gsize at = find (code, PROLOGUE, BLR_X3); at != 0; at = find (code, at, BLR_X3))
    {
      gint m = load_offset (instruction_at (code, ++at), 3, LU_AARCH64_GO_G);
      gint g = load_offset (instruction_at (code, at + 1), LU_AARCH64_GO_G, 3);
      gint sp = load_offset (instruction_at (code, at + 3), 0, LU_AARCH64_GO_G);

      if (words == 0 || m < 0 || m / 8 > G_MAXUINT8 || g < 0 || sp < 0 || sp / 8 > G_MAXINT8
          || (instruction_at (code, at + 2) & BL_MASK) != BL
          || instruction_at (code, at + 4) != MOV_SP_X0)
        continue;
      *where = (LuArchRange){ at * INSTRUCTION - 1, at * INSTRUCTION };
      *rule = (struct lu_rule){ .cfa_kind = LU_CFA_GO_SCHED,
                                .cfa_off = 8 * words,
                                .saves = LU_SAVE_AT_CFA | LU_SAVE_UNKNOWN << 4,
                                .fp_off = (gint16) (-words - 1),
                                .bx_off = (gint16) (g / 8),
                                .ra_off = (gint16) (m / 8 | sp / 8 << 8) };
      return TRUE;
    }
  return FALSE;
}

gboolean
lu_aarch64_find_go_switch (const char *name, const LuArchText *code, LuArchRange *where,
                           struct lu_rule *rule)
{
  if (strcmp (name, "runtime.systemstack") == 0)
    return find_by_sched (code, where, rule);
  return strcmp (name, "runtime.asmcgocall") != 0 && strcmp (name, "runtime.cgocallback") != 0
         && find_by_frame_pointer (code, where, rule);
}

/* The link register of the interrupted function is the word at its CFA; behind that its stack
 * begins. The last instruction has neither. */
void
lu_aarch64_complete_go_preempt (struct lu_rule *rule)
{
  gint32 depth = rule->cfa_off;
  gboolean is_usual =
      rule->cfa_kind == LU_CFA_SP && depth >= 0 && depth % 8 == 0 && depth / 8 <= G_MAXINT16;
  gboolean is_saved = rule->ra_kind == LU_RA_AT_CFA;

  if (!is_usual || (!is_saved && rule->ra_kind != LU_RA_LINK))
    {
      *rule = (struct lu_rule){ .cfa_kind = LU_CFA_COMPLEX };
      return;
    }
  rule->cfa_off = depth + LU_AARCH64_GO_PUSHED;
  rule->ra_off = (gint16) (rule->ra_off - (is_saved ? LU_AARCH64_GO_PUSHED / 8 : 0));
  if (lu_rule_fp_kind (rule) == LU_SAVE_AT_CFA)
    rule->fp_off = (gint16) (rule->fp_off - LU_AARCH64_GO_PUSHED / 8);
  rule->bx_off = (gint16) (depth / 8);
  rule->flags |= LU_RULE_SIGFRAME;
}
