/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-step.c - include/lu/step.h: each kind of rule executed on a small stack, and rules that must
 * not be executed. */

#include "arch/arch.h"
#include "lu/step.h"

#include <glib.h>
#include <stddef.h>
#include <ucontext.h>

#define SP      0x7000
#define N_WORDS 64
/* The word at an address, unless a case says otherwise. */
#define WORD(address) (0x9000 + (address))

typedef struct
{
  guint64 low, high; /* readable addresses */
  guint64 failed;    /* address of the last read that failed */
  guint64 r10;
} Memory;

static int
read_word (void *data, uint64_t address, uint64_t *value)
{
  Memory *memory = data;

  if (address < memory->low || address > memory->high - 8)
    {
      memory->failed = address;
      return 0;
    }
  *value = WORD (address);
  return 1;
}

static int
read_sampled (void *data, uint32_t number, uint64_t *value)
{
  const Memory *memory = data;

  *value = memory->r10;
  return number == 10;
}

#define ALL (LU_KNOWN_FP | LU_KNOWN_BX | LU_KNOWN_LINK)

typedef struct
{
  const char *name;
  struct lu_rule rule;
  struct lu_regs regs; /* sp: SP unless given */
  int want;
  struct lu_regs after; /* pc, sp, fp, bx, known */
} Case;

#define SAVES(fp, bx) ((LU_SAVE_##fp) | (LU_SAVE_##bx) << 4)
#define RETURNS       .ra_kind = LU_RA_AT_CFA, .ra_off = -1
/* Frame pointer and return address saved at these offsets. */
#define RECORD(base, off, fp, ra)                                                                  \
  {                                                                                                \
    .cfa_kind = LU_CFA_##base, .cfa_off = off, .saves = SAVES (AT_CFA, SAME), .fp_off = fp,        \
    .ra_kind = LU_RA_AT_CFA, .ra_off = ra                                                          \
  }
/* After a frame-pointer step that does not find the stack pointer. */
#define LOST(...)                                                                                  \
  {                                                                                                \
    .frame_kind = LU_FRAME_KIND_CALLER, .known = LU_KNOWN_FP | LU_LOST_SP, __VA_ARGS__             \
  }
#define CALLER(...)                                                                                \
  {                                                                                                \
    .frame_kind = LU_FRAME_KIND_CALLER, .known = ALL, __VA_ARGS__                                  \
  }
#define SAMPLED(...)                                                                               \
  {                                                                                                \
    .frame_kind = LU_FRAME_KIND_SAMPLED, .known = ALL, __VA_ARGS__                                 \
  }
#define KNOWN_BOTH (LU_KNOWN_FP | LU_KNOWN_BX)

static const Case cases[] = {
  { "CFA from the stack pointer, registers kept",
    { .cfa_kind = LU_CFA_SP, .cfa_off = 16, RETURNS },
    CALLER (.fp = 5, .bx = 6),
    LU_STEP_CALLER,
    { .pc = WORD (SP + 8), .sp = SP + 16, .fp = 5, .bx = 6, .known = KNOWN_BOTH } },
  { "CFA from the frame pointer, both saved",
    { .cfa_kind = LU_CFA_FP,
      .cfa_off = 16,
      .saves = SAVES (AT_CFA, AT_CFA),
      .fp_off = -2,
      .bx_off = -3,
      RETURNS },
    CALLER (.fp = SP + 32),
    LU_STEP_CALLER,
    { .pc = WORD (SP + 40),
      .sp = SP + 48,
      .fp = WORD (SP + 32),
      .bx = WORD (SP + 24),
      .known = KNOWN_BOTH } },
  { "CFA from rbx",
    { .cfa_kind = LU_CFA_BX, .cfa_off = 8, RETURNS },
    CALLER (.bx = SP + 64),
    LU_STEP_CALLER,
    { .pc = WORD (SP + 64), .sp = SP + 72, .bx = SP + 64, .known = KNOWN_BOTH } },
  { "PLT below the threshold",
    { .cfa_kind = LU_CFA_PLT, .cfa_off = 8, .aux = 11, RETURNS },
    SAMPLED (.pc = 0x101a),
    LU_STEP_CALLER,
    { .pc = WORD (SP), .sp = SP + 8, .known = KNOWN_BOTH } },
  { "PLT at the threshold",
    { .cfa_kind = LU_CFA_PLT, .cfa_off = 8, .aux = 11, RETURNS },
    SAMPLED (.pc = 0x101b),
    LU_STEP_CALLER,
    { .pc = WORD (SP + 8), .sp = SP + 16, .known = KNOWN_BOTH } },
  { "CFA behind the stack pointer",
    { .cfa_kind = LU_CFA_DEREF_SP,
      .aux = 24,
      .cfa_off = -0x9000,
      .ra_kind = LU_RA_AT_SP,
      .ra_off = 4 },
    CALLER (.fp = 1),
    LU_STEP_CALLER,
    { .pc = WORD (SP + 32), .sp = SP + 24, .fp = 1, .known = KNOWN_BOTH } },
  { "CFA behind the frame pointer, return address too",
    { .cfa_kind = LU_CFA_DEREF_FP,
      .aux = -8,
      .cfa_off = -0x9000,
      .ra_kind = LU_RA_AT_FP,
      .ra_off = 1,
      .saves = SAVES (AT_FP, AT_SP),
      .bx_off = 2 },
    CALLER (.fp = SP + 64),
    LU_STEP_CALLER,
    { .pc = WORD (SP + 72),
      .sp = SP + 56,
      .fp = WORD (SP + 64),
      .bx = WORD (SP + 16),
      .known = KNOWN_BOTH } },
  { "CFA in r10, sampled frame",
    { .cfa_kind = LU_CFA_REGISTER, .aux = 10, RETURNS },
    SAMPLED (.fp = 3),
    LU_STEP_CALLER,
    { .pc = WORD (SP + 120), .sp = SP + 128, .fp = 3, .known = KNOWN_BOTH } },
  { "CFA in r10, not the sampled frame",
    { .cfa_kind = LU_CFA_REGISTER, .aux = 10, RETURNS },
    CALLER (.fp = 3),
    LU_STATUS_UNSUPPORTED_RULE,
    { 0 } },
  { "CFA in a register that was not sampled",
    { .cfa_kind = LU_CFA_REGISTER, .aux = 11, RETURNS },
    SAMPLED (.fp = 3),
    LU_STATUS_UNSUPPORTED_RULE,
    { 0 } },
  { "return address in a register, stack pointer as it is",
    { .cfa_kind = LU_CFA_SP, .ra_kind = LU_RA_REGISTER, .aux = 10 },
    SAMPLED (.fp = 3),
    LU_STEP_CALLER,
    { .pc = SP + 128, .sp = SP, .fp = 3, .known = KNOWN_BOTH } },
  { "return address in a register, not the sampled frame",
    { .cfa_kind = LU_CFA_SP, .cfa_off = 8, .ra_kind = LU_RA_REGISTER, .aux = 10 },
    CALLER (.fp = 3),
    LU_STATUS_UNSUPPORTED_RULE,
    { 0 } },
  { "link register",
    { .cfa_kind = LU_CFA_SP, .ra_kind = LU_RA_LINK },
    SAMPLED (.link = 0x4444),
    LU_STEP_CALLER,
    { .pc = 0x4444, .sp = SP, .known = KNOWN_BOTH } },
  { "link register that is not known",
    { .cfa_kind = LU_CFA_SP, .cfa_off = 16, .ra_kind = LU_RA_LINK },
    { .frame_kind = LU_FRAME_KIND_CALLER, .known = KNOWN_BOTH },
    LU_STATUS_UNSUPPORTED_RULE,
    { 0 } },
  { "signed return address",
    { .cfa_kind = LU_CFA_SP, .ra_kind = LU_RA_LINK, .flags = LU_RULE_SIGNED },
    SAMPLED (.link = 0xab00000000004444, .address_mask = 0xffffffffffff),
    LU_STEP_CALLER,
    { .pc = 0x4444, .sp = SP, .known = KNOWN_BOTH } },
  { "frame pointer that is not known any more",
    { .cfa_kind = LU_CFA_SP, .cfa_off = 16, .saves = SAVES (UNKNOWN, SAME), RETURNS },
    CALLER (.bx = 2),
    LU_STEP_CALLER,
    { .pc = WORD (SP + 8), .sp = SP + 16, .bx = 2, .known = LU_KNOWN_BX } },
  { "CFA from a frame pointer that is not known",
    { .cfa_kind = LU_CFA_FP, .cfa_off = 16, RETURNS },
    { .frame_kind = LU_FRAME_KIND_CALLER, .known = LU_KNOWN_BX, .fp = SP },
    LU_STATUS_UNSUPPORTED_RULE,
    { 0 } },
  { "a slot that cannot be read costs the register",
    { .cfa_kind = LU_CFA_SP,
      .cfa_off = 16,
      .saves = SAVES (AT_CFA, SAME),
      .fp_off = 1000,
      RETURNS },
    CALLER (.bx = 2),
    LU_STEP_CALLER,
    { .pc = WORD (SP + 8), .sp = SP + 16, .bx = 2, .known = LU_KNOWN_BX } },
  { "a slot below the sampled stack pointer has been popped",
    { .cfa_kind = LU_CFA_SP, .cfa_off = 8, .saves = SAVES (AT_CFA, SAME), .fp_off = -2, RETURNS },
    SAMPLED (.fp = 9),
    LU_STEP_CALLER,
    { .pc = WORD (SP), .sp = SP + 8, .fp = 9, .known = KNOWN_BOTH } },
  { "a frame pointer above the frame has been popped",
    { .cfa_kind = LU_CFA_REGISTER,
      .aux = 10,
      .saves = SAVES (AT_FP, AT_FP),
      .bx_off = -2,
      RETURNS },
    SAMPLED (.fp = SP + 128, .bx = 4),
    LU_STEP_CALLER,
    { .pc = WORD (SP + 120), .sp = SP + 128, .fp = SP + 128, .bx = 4, .known = KNOWN_BOTH } },
  { "a frame pointer below the frame has been popped",
    { .cfa_kind = LU_CFA_SP, .cfa_off = 8, .saves = SAVES (AT_FP, SAME), RETURNS },
    SAMPLED (.fp = SP - 8, .bx = 4),
    LU_STEP_CALLER,
    { .pc = WORD (SP), .sp = SP + 8, .fp = SP - 8, .bx = 4, .known = KNOWN_BOTH } },
  { "a frame pointer that points into the frame is followed",
    { .cfa_kind = LU_CFA_REGISTER, .aux = 10, .saves = SAVES (AT_FP, SAME), RETURNS },
    SAMPLED (.fp = SP, .bx = 4),
    LU_STEP_CALLER,
    { .pc = WORD (SP + 120), .sp = SP + 128, .fp = WORD (SP), .bx = 4, .known = KNOWN_BOTH } },
  { "a lost stack pointer is found by the record of the frame",
    RECORD (SP, 64, -6, -5),
    LOST (.fp = SP + 32),
    LU_STEP_CALLER,
    { .pc = WORD (SP + 40), .sp = SP + 80, .fp = WORD (SP + 32), .known = LU_KNOWN_FP } },
  { "a lost stack pointer is not needed",
    RECORD (FP, 16, -2, -1),
    LOST (.fp = SP + 32),
    LU_STEP_CALLER,
    { .pc = WORD (SP + 40), .sp = SP + 48, .fp = WORD (SP + 32), .known = LU_KNOWN_FP } },
  { "a lost stack pointer, the return address not beside the frame pointer",
    RECORD (SP, 64, -6, -1),
    LOST (.fp = SP + 32),
    LU_STATUS_UNSUPPORTED_RULE,
    { 0 } },
  { "a lost stack pointer, the frame pointer not saved",
    { .cfa_kind = LU_CFA_SP, .cfa_off = 16, RETURNS },
    LOST (.fp = SP + 32),
    LU_STATUS_UNSUPPORTED_RULE,
    { 0 } },
  { "a lost stack pointer, and a record below it",
    RECORD (SP, 64, -6, -5),
    LOST (.fp = SP - 48),
    LU_STATUS_BAD_RETURN_ADDRESS,
    { 0 } },
  { "end of stack",
    { .cfa_kind = LU_CFA_SP, .ra_kind = LU_RA_END },
    CALLER (.fp = 1),
    LU_STATUS_COMPLETE,
    { 0 } },
  { "nothing known",
    { .cfa_kind = LU_CFA_NONE },
    CALLER (.fp = 1),
    LU_STATUS_NO_UNWIND_INFO,
    { 0 } },
  { "complex",
    { .cfa_kind = LU_CFA_COMPLEX },
    CALLER (.fp = 1),
    LU_STATUS_UNSUPPORTED_RULE,
    { 0 } },
  { "a kind that does not exist",
    { .cfa_kind = 99 },
    CALLER (.fp = 1),
    LU_STATUS_UNSUPPORTED_RULE,
    { 0 } },
  { "return address that cannot be read",
    { .cfa_kind = LU_CFA_SP, .cfa_off = 0x10000, RETURNS },
    CALLER (.fp = 1),
    LU_STATUS_UNREADABLE_MEMORY,
    { 0 } },
  { "CFA that cannot be read",
    { .cfa_kind = LU_CFA_DEREF_FP, RETURNS },
    CALLER (.fp = 1),
    LU_STATUS_UNREADABLE_MEMORY,
    { 0 } },
  { "a caller that is not above",
    { .cfa_kind = LU_CFA_SP, .cfa_off = 0, RETURNS },
    CALLER (.fp = 1),
    LU_STATUS_BAD_RETURN_ADDRESS,
    { 0 } },
  { "a caller below",
    { .cfa_kind = LU_CFA_FP, .cfa_off = -16, RETURNS },
    SAMPLED (.fp = SP),
    LU_STATUS_BAD_RETURN_ADDRESS,
    { 0 } },
  { "an address that wraps",
    { .cfa_kind = LU_CFA_FP, .cfa_off = 16, RETURNS },
    CALLER (.fp = ~0ull - 7),
    LU_STATUS_BAD_RETURN_ADDRESS,
    { 0 } },
};

static void
test_rules (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      Memory memory = { .low = SP, .high = SP + 8 * N_WORDS, .r10 = SP + 128 };
      struct lu_regs regs = cases[i].regs, before;
      const struct lu_regs *after = &cases[i].after;

      regs.sp = SP;
      before = regs;
      g_test_message ("%s", cases[i].name);
      g_assert_cmpint (lu_step (&regs, &cases[i].rule, read_word, read_sampled, &memory), ==,
                       cases[i].want);
      if (cases[i].want != LU_STEP_CALLER)
        {
          g_assert_cmpmem (&regs, sizeof regs, &before, sizeof before);
          continue;
        }
      g_assert_cmphex (regs.pc, ==, after->pc);
      g_assert_cmphex (regs.sp, ==, after->sp);
      g_assert_cmphex (regs.known, ==, after->known);
      if ((regs.known & LU_KNOWN_FP) != 0)
        g_assert_cmphex (regs.fp, ==, after->fp);
      if ((regs.known & LU_KNOWN_BX) != 0)
        g_assert_cmphex (regs.bx, ==, after->bx);
      g_assert_cmpint (regs.frame_kind, ==, LU_FRAME_KIND_CALLER);
    }
}

/* Through a signal frame to an interrupted frame whose rule needs r10. */
static void
test_signal (void)
{
  const struct lu_rule restorer = {
    .cfa_kind = LU_CFA_DEREF_SP,
    .aux = 160,
    .saves = SAVES (AT_SP, AT_SP),
    .fp_off = 15,
    .bx_off = 16,
    .ra_kind = LU_RA_AT_SP,
    .ra_off = 21,
    .flags = LU_RULE_SIGNAL | LU_RULE_UCONTEXT,
  };
  const struct lu_rule by_r10 = {
    .cfa_kind = LU_CFA_REGISTER, .aux = 10, .cfa_off = 0x1000, RETURNS
  };
  Memory memory = { .low = SP, .high = SP + 0x10000 };
  struct lu_regs regs = { .sp = SP,
                          .known = KNOWN_BOTH,
                          .frame_kind = LU_FRAME_KIND_CALLER,
                          .saved_words = lu_arch_x86_64.saved_words };

  g_assert_cmpint (lu_step (&regs, &restorer, read_word, read_sampled, &memory), ==,
                   LU_STEP_CALLER);
  g_assert_cmphex (regs.pc, ==, WORD (SP + 168));
  g_assert_cmphex (regs.sp, ==, WORD (SP + 160));
  g_assert_cmphex (regs.fp, ==, WORD (SP + 120));
  g_assert_cmphex (regs.bx, ==, WORD (SP + 128));
  g_assert_cmpint (regs.frame_kind, ==, LU_FRAME_KIND_INTERRUPTED);
  g_assert_cmphex (regs.ucontext, ==, SP);
  memory.high = 0x20000;
  g_assert_cmpint (lu_step (&regs, &by_r10, read_word, read_sampled, &memory), ==, LU_STEP_CALLER);
  g_assert_cmphex (regs.sp, ==, WORD (SP + 40 + 2 * 8) + 0x1000);
  g_assert_cmpint (regs.frame_kind, ==, LU_FRAME_KIND_CALLER);
  g_assert_cmphex (regs.ucontext, ==, 0);
}

/* A signal frame on aarch64; the interrupted leaf has its return address in the link register, then
 * in x15. */
static void
test_signal_aarch64 (void)
{
  const struct lu_rule restorer = {
    .cfa_kind = LU_CFA_DEREF_SP,
    .aux = 560,
    .saves = SAVES (AT_SP, UNKNOWN),
    .fp_off = 68,
    .bx_off = 69,
    .ra_kind = LU_RA_AT_SP,
    .ra_off = 71,
    .flags = LU_RULE_SIGNAL | LU_RULE_SIGFRAME,
  };
  const struct lu_rule leaf = { .cfa_kind = LU_CFA_SP, .cfa_off = 32, .ra_kind = LU_RA_LINK };
  const struct lu_rule other = { .cfa_kind = LU_CFA_SP, .ra_kind = LU_RA_REGISTER, .aux = 15 };
  Memory memory = { .low = SP, .high = SP + 0x10000 };
  struct lu_regs regs = { .sp = SP,
                          .known = KNOWN_BOTH,
                          .frame_kind = LU_FRAME_KIND_CALLER,
                          .saved_words = lu_arch_aarch64.saved_words };
  struct lu_regs again;

  g_assert_cmpint (lu_step (&regs, &restorer, read_word, read_sampled, &memory), ==,
                   LU_STEP_CALLER);
  g_assert_cmphex (regs.pc, ==, WORD (SP + 568));
  g_assert_cmphex (regs.sp, ==, WORD (SP + 560));
  g_assert_cmphex (regs.fp, ==, WORD (SP + 544));
  g_assert_cmphex (regs.link, ==, WORD (SP + 552));
  g_assert_cmphex (regs.known, ==, LU_KNOWN_FP | LU_KNOWN_LINK);
  g_assert_cmpint (regs.frame_kind, ==, LU_FRAME_KIND_INTERRUPTED);
  again = regs;
  g_assert_cmpint (lu_step (&regs, &leaf, read_word, read_sampled, &memory), ==, LU_STEP_CALLER);
  g_assert_cmphex (regs.pc, ==, WORD (SP + 552));
  g_assert_cmphex (regs.sp, ==, WORD (SP + 560) + 32);
  g_assert_cmphex (regs.known, ==, LU_KNOWN_FP);
  g_assert_cmpint (lu_step (&again, &other, read_word, read_sampled, &memory), ==, LU_STEP_CALLER);
  g_assert_cmphex (again.pc, ==, WORD (SP + 312 + 8 * 15));
}

/* An interrupted frame on another stack may lie below its signal frame. */
static void
test_signal_below (void)
{
  const struct lu_rule restorer = {
    .cfa_kind = LU_CFA_DEREF_SP, .cfa_off = -0xa000, .ra_kind = LU_RA_AT_SP, .flags = LU_RULE_SIGNAL
  };
  Memory memory = { .low = SP, .high = SP + 0x1000 };
  struct lu_regs regs = { .sp = SP, .frame_kind = LU_FRAME_KIND_CALLER };

  g_assert_cmpint (lu_step (&regs, &restorer, read_word, read_sampled, &memory), ==,
                   LU_STEP_CALLER);
  g_assert_cmphex (regs.sp, <, SP);
  g_assert_cmphex (regs.ucontext, ==, 0);
}

/* The layout is that of this system's headers. */
static void
test_ucontext (void)
{
  const guint8 *words = lu_arch_of_abi (LU_ABI_64)->saved_words;

#ifdef __x86_64__
  static const struct
  {
    guint number;
    int index;
  } registers[] = {
    { 0, REG_RAX },  { 1, REG_RDX },  { 2, REG_RCX },  { 3, REG_RBX },  { 4, REG_RSI },
    { 5, REG_RDI },  { 6, REG_RBP },  { 7, REG_RSP },  { 8, REG_R8 },   { 9, REG_R9 },
    { 10, REG_R10 }, { 11, REG_R11 }, { 12, REG_R12 }, { 13, REG_R13 }, { 14, REG_R14 },
    { 15, REG_R15 }, { 16, REG_RIP },
  };

  for (guint i = 0; i < G_N_ELEMENTS (registers); i++)
    g_assert_cmpuint (8 * words[registers[i].number], ==,
                      offsetof (ucontext_t, uc_mcontext.gregs) + 8 * (guint) registers[i].index);
  g_assert_cmpuint (words[17], ==, 0);
#elif defined __aarch64__
  for (guint i = 0; i < 31; i++)
    g_assert_cmpuint (8 * words[i], ==, 128 + offsetof (ucontext_t, uc_mcontext.regs) + 8 * i);
  g_assert_cmpuint (8 * words[31], ==, 128 + offsetof (ucontext_t, uc_mcontext.sp));
  g_assert_cmpuint (8 * words[32], ==, 128 + offsetof (ucontext_t, uc_mcontext.pc));
#else
  g_test_skip ("neither an x86-64 nor an aarch64 system");
#endif
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/step/rules", test_rules);
  g_test_add_func ("/step/signal", test_signal);
  g_test_add_func ("/step/signal-aarch64", test_signal_aarch64);
  g_test_add_func ("/step/signal-below", test_signal_below);
  g_test_add_func ("/step/ucontext", test_ucontext);
  return g_test_run ();
}
