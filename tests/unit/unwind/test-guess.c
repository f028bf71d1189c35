/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-guess.c - one step by frame pointer over stacks made by hand: what is believed, and what is
 * not.
 *
 * Code at JIT is in no file, at PLAIN in a file without unwind information there, at RULES in the
 * same file with a rule by the stack pointer, at KEEPS with one by the frame pointer. Behind CALL
 * bytes stands an indirect call, behind DIRECT a direct one, behind LATER nobody has looked yet. */

#include "unwind/guess.h"
#include "unwind/space-cache.h"

#include <string.h>

#define JIT    0x10000u
#define PLAIN  0x20000u
#define RULES  0x30000u
#define KEEPS  0x40000u
#define SIZE   0x10000u
#define CALL   0x100u
#define DIRECT 0x200u
#define LATER  0x300u
#define SP     G_GUINT64_CONSTANT (0x7ffff000) /* the copy begins here */
#define N      12

#define ALL_BUT_CODE (~(G_GUINT64_CONSTANT (1) << lu_view_region_of (JIT)))

/* As a word: the address of a word of the stack. */
#define AT(i) (SP + 8 * (i))

static LuModule *file_module, *anonymous_module;
static LuDwflMapping jit, file;

typedef struct
{
  const char *name;
  guint64 words[N];
  guint sp, fp; /* words; fp 0: FP_VALUE */
  guint64 fp_value;
  guint64 pc;
  gboolean is_exact;
  guint64 last_fp;
  LuGuessResult want;
  guint64 want_pc;
  guint want_sp; /* word */
} Case;

static const Case cases[] = {
  { "a frame of generated code",
    { [1] = 7, [2] = AT (9), [3] = RULES + CALL },
    .fp = 2,
    .pc = JIT,
    .want = LU_GUESS_FOUND,
    .want_pc = RULES + CALL,
    .want_sp = 4 },
  { "its caller is code without rules, called directly",
    { [2] = AT (9), [3] = PLAIN + DIRECT },
    .fp = 2,
    .pc = PLAIN,
    .want = LU_GUESS_FOUND,
    .want_pc = PLAIN + DIRECT,
    .want_sp = 4 },
  { "its caller is generated code whose frame pointer goes on",
    { [2] = AT (9), [3] = JIT + 5 },
    .fp = 2,
    .pc = JIT,
    .want = LU_GUESS_FOUND,
    .want_pc = JIT + 5,
    .want_sp = 4 },
  { "generated code whose frame pointer does not go on",
    { [2] = 77, [3] = JIT + 5 },
    .fp = 2,
    .pc = JIT,
    .want = LU_GUESS_NONE },
  { "generated code whose frame pointer leads to itself",
    { [2] = AT (2), [3] = JIT + 5 },
    .fp = 2,
    .pc = JIT,
    .want = LU_GUESS_NONE },
  { "no call in front of the return address",
    { [2] = AT (9), [3] = RULES + 1 },
    .fp = 2,
    .pc = JIT,
    .want = LU_GUESS_NONE },
  { "nobody knows yet whether there is a call",
    { [2] = AT (9), [3] = RULES + LATER },
    .fp = 2,
    .pc = JIT,
    .want = LU_GUESS_UNKNOWN },
  { "the return address is no code", { [2] = AT (9), [3] = 5 }, .fp = 2, .pc = JIT },
  { "the return address is 0", { [2] = AT (9), [3] = 0 }, .fp = 2, .pc = JIT },
  { "a return address for a frame pointer",
    { [2] = RULES + CALL, [3] = RULES + CALL },
    .fp = 2,
    .pc = JIT },
  { "the frame pointer is not aligned",
    { [2] = AT (9), [3] = RULES + CALL },
    .fp_value = AT (2) + 4,
    .pc = JIT },
  { "the frame pointer is below the stack pointer",
    { [2] = AT (9), [3] = RULES + CALL },
    .sp = 3,
    .fp = 2,
    .pc = JIT },
  { "the frame pointer is that of the last guess",
    { [2] = AT (9), [3] = RULES + CALL },
    .fp = 2,
    .last_fp = AT (2),
    .pc = JIT },
  { "a trampoline of Python, called through a pointer",
    { [1] = RULES + CALL },
    .fp = 5,
    .last_fp = AT (9),
    .pc = JIT + 10,
    .want = LU_GUESS_FOUND,
    .want_pc = RULES + CALL,
    .want_sp = 2 },
  { "one without endbr64",
    { [1] = KEEPS + CALL },
    .fp = 5,
    .last_fp = AT (9),
    .pc = JIT + 0x56,
    .want = LU_GUESS_FOUND,
    .want_pc = KEEPS + CALL,
    .want_sp = 2 },
  { "the frame pointer goes first",
    { [1] = RULES + CALL, [2] = AT (9), [3] = PLAIN + CALL },
    .fp = 2,
    .pc = JIT + 10,
    .want = LU_GUESS_FOUND,
    .want_pc = PLAIN + CALL,
    .want_sp = 4 },
  { "nobody has looked yet what called the trampoline",
    { [1] = RULES + LATER },
    .fp_value = 7,
    .pc = JIT + 10,
    .want = LU_GUESS_UNKNOWN },
  { "no trampoline returns to this byte of a slot",
    { [1] = RULES + CALL },
    .fp_value = 7,
    .pc = JIT + 12 },
  { "no trampoline is called directly", { [1] = RULES + DIRECT }, .fp_value = 7, .pc = JIT + 10 },
  { "no trampoline is called by code without rules",
    { [1] = PLAIN + CALL },
    .fp_value = 7,
    .pc = JIT + 10 },
  { "no trampoline is in a file", { [1] = RULES + CALL }, .fp_value = 7, .pc = PLAIN + 10 },
  { "what was sampled in a trampoline is not told",
    { [1] = RULES + CALL },
    .fp_value = 7,
    .pc = JIT + 10,
    .is_exact = TRUE },
  { "the return address is just out of the copy",
    { 0 },
    .fp_value = AT (N - 1),
    .pc = JIT,
    .want = LU_GUESS_BEYOND },
  { "the frame pointer is out of the copy",
    { 0 },
    .fp_value = AT (5000),
    .pc = JIT,
    .want = LU_GUESS_BEYOND },
  { "the frame pointer is far away", { 0 }, .fp_value = SP + (1u << 20), .pc = JIT },
  { "the frame pointer is at the end of all addresses",
    { 0 },
    .fp_value = ~G_GUINT64_CONSTANT (7),
    .pc = JIT },
  { "the frame pointer is 0", { 0 }, .fp_value = 0, .pc = JIT },

  { "a leaf that has set up its frame, full of return addresses",
    { RULES + CALL, RULES + CALL, AT (9), RULES + CALL },
    .fp = 2,
    .pc = JIT,
    .is_exact = TRUE,
    .want = LU_GUESS_FOUND,
    .want_pc = RULES + CALL,
    .want_sp = 4 },
  { "a leaf at its first instruction",
    { PLAIN + CALL, 7, AT (9), RULES + CALL },
    .fp = 2,
    .pc = JIT,
    .is_exact = TRUE,
    .want = LU_GUESS_FOUND,
    .want_pc = PLAIN + CALL,
    .want_sp = 1 },
  { "a leaf at its first instruction, called by generated code",
    { JIT + 5, 7, AT (9), RULES + CALL },
    .fp = 2,
    .pc = PLAIN,
    .is_exact = TRUE,
    .want = LU_GUESS_FOUND,
    .want_pc = JIT + 5,
    .want_sp = 1 },
  { "a leaf at its first instruction, called by code with rules that keeps frame pointers",
    { KEEPS + CALL, 7, AT (9), RULES + CALL },
    .fp = 2,
    .pc = JIT,
    .is_exact = TRUE,
    .want = LU_GUESS_FOUND,
    .want_pc = KEEPS + CALL,
    .want_sp = 1 },
  { "a leaf with two words that could be its return address",
    { JIT + 5, JIT + 5, AT (9), RULES + CALL },
    .fp = 2,
    .pc = JIT,
    .is_exact = TRUE },
  { "a leaf whose topmost word nobody knows yet",
    { PLAIN + LATER, 7, AT (9), RULES + CALL },
    .fp = 2,
    .pc = JIT,
    .is_exact = TRUE,
    .want = LU_GUESS_UNKNOWN },
  { "a leaf that has pushed the frame pointer",
    { AT (3), RULES + CALL, 7, AT (9), PLAIN + CALL },
    .fp = 3,
    .pc = JIT,
    .is_exact = TRUE,
    .want = LU_GUESS_FOUND,
    .want_pc = RULES + CALL,
    .want_sp = 2 },
  { "a leaf that has pushed it above no return address",
    { AT (3), RULES + 1, 7, AT (9), PLAIN + CALL },
    .fp = 3,
    .pc = JIT,
    .is_exact = TRUE,
    .want = LU_GUESS_FOUND,
    .want_pc = PLAIN + CALL,
    .want_sp = 5 },

  { "the frame pointer of code that called this one",
    { 7, KEEPS + CALL, AT (9), RULES + DIRECT },
    .fp = 2,
    .pc = JIT },
  { "the same for a leaf",
    { 7, KEEPS + CALL, AT (9), RULES + DIRECT },
    .fp = 2,
    .pc = JIT,
    .is_exact = TRUE },
  { "of code that can only have called something else",
    { 7, KEEPS + DIRECT, AT (9), RULES + DIRECT },
    .fp = 2,
    .pc = JIT,
    .want = LU_GUESS_FOUND,
    .want_pc = RULES + DIRECT,
    .want_sp = 4 },
  { "an old return address, below code that keeps frame pointers itself",
    { 7, KEEPS + CALL, AT (9), PLAIN + CALL },
    .fp = 2,
    .pc = JIT,
    .want = LU_GUESS_FOUND,
    .want_pc = PLAIN + CALL,
    .want_sp = 4 },
};

static guint n_looked_for;

static const LuDwflMapping *
find (gpointer data, guint64 address)
{
  n_looked_for++;
  return address - JIT < SIZE ? &jit : address - PLAIN < 3 * SIZE ? &file : NULL;
}

static LuCallKind
call_before (gpointer data, const LuDwflMapping *mapping, guint64 pc)
{
  g_assert_true (mapping == &file);
  switch (pc % SIZE)
    {
    case CALL:
      return LU_CALL_INDIRECT;
    case DIRECT:
      return LU_CALL_DIRECT;
    case LATER:
      return LU_CALL_UNKNOWN;
    default:
      return LU_CALL_NONE;
    }
}

/* Where the code of the file is a small function. */
#define LEAF       40
#define LEAF_LATER 41

static LuGuessResult
leaf_at (gpointer data, const LuDwflMapping *mapping, guint64 pc)
{
  g_assert_true (mapping == &file);
  return pc % SIZE == LEAF         ? LU_GUESS_FOUND
         : pc % SIZE == LEAF_LATER ? LU_GUESS_UNKNOWN
                                   : LU_GUESS_NONE;
}

static guint n_asked;

static LuGuessRule
rule_at (gpointer data, const LuDwflMapping *mapping, guint64 lookup)
{
  n_asked++;
  g_assert_true (mapping == &file);
  return lookup < RULES   ? LU_GUESS_RULE_NONE
         : lookup < KEEPS ? LU_GUESS_RULE_OTHER
                          : LU_GUESS_RULE_BY_FP;
}

static LuGuessPlaces set_up;

static LuGuess
new_guess (const LuSample *sample, gboolean is_exact, guint64 last_fp)
{
  return (LuGuess){ .arch = &lu_arch_x86_64,
                    .sample = sample,
                    .sampled_sp = SP,
                    .is_exact = is_exact,
                    .last_fp = last_fp,
                    .set_up = &set_up,
                    .find = find,
                    .call_before = call_before,
                    .rule_at = rule_at,
                    .leaf_at = leaf_at };
}

/* Returns how often a mapping was looked for. */
static guint
check_case (const Case *c, guint64 no_code)
{
  LuSample sample = { .stack = (const guint8 *) c->words,
                      .stack_size = sizeof c->words,
                      .stack_asked = sizeof c->words };
  LuGuess guess = new_guess (&sample, c->is_exact, c->last_fp);
  LuGuessFrame frame = { .pc = c->pc, .sp = AT (c->sp), .fp = c->fp ? AT (c->fp) : c->fp_value };
  LuGuessFrame caller;

  guess.no_code = no_code;
  n_looked_for = 0;
  memset (&set_up, 0, sizeof set_up);
  g_assert_cmpint (lu_guess_caller (&guess, c->pc < PLAIN ? &jit : &file, &frame, &caller), ==,
                   c->want);
  if (c->want != LU_GUESS_FOUND)
    return n_looked_for;
  g_assert_cmphex (caller.pc, ==, c->want_pc);
  g_assert_cmphex (caller.sp, ==, AT (c->want_sp));
  g_assert_true (c->want_sp > c->fp ? guess.last_fp == frame.fp && caller.fp == c->words[c->fp]
                                    : guess.last_fp == c->last_fp && caller.fp == frame.fp);
  return n_looked_for;
}

static void
test_case (gconstpointer data)
{
  g_assert_cmpuint (check_case (data, ALL_BUT_CODE), <=, check_case (data, 0));
}

/* Words between stack and frame pointer that are no addresses of code cost no look-up. */
static void
test_regions (void)
{
  static const Case c = { .words = { 7, AT (1), AT (4), 0, AT (9), RULES + CALL },
                          .fp = 4,
                          .pc = JIT,
                          .want = LU_GUESS_FOUND,
                          .want_pc = RULES + CALL,
                          .want_sp = 6 };

  g_assert_cmpuint (check_case (&c, ALL_BUT_CODE) + 2, ==, check_case (&c, 0));
}

static LuGuessResult
guess_leaf (guint64 serial, guint64 pc, guint64 top)
{
  guint64 words[N] = { [0] = top, [1] = JIT + 7, [2] = AT (9), [3] = RULES + CALL };
  LuSample sample = { .stack = (const guint8 *) words, .stack_size = sizeof words };
  LuGuess guess = new_guess (&sample, TRUE, 0);
  LuGuessFrame frame = { .pc = pc, .sp = AT (0), .fp = AT (2) }, caller;
  LuGuessResult result;

  guess.serial = serial;
  result = lu_guess_caller (&guess, pc < PLAIN ? &jit : &file, &frame, &caller);
  if (result == LU_GUESS_FOUND)
    g_assert_cmphex (caller.pc, ==, pc == PLAIN + LEAF ? top : RULES + CALL);
  return result;
}

/* Two words could be the return address: then it counts whether the frame was set up at the same
 * place before. */
static void
test_set_up_before (void)
{
  g_assert_cmpint (guess_leaf (1, JIT + 50, JIT + 9), ==, LU_GUESS_NONE);
  g_assert_cmpint (guess_leaf (1, JIT + 50, 5), ==, LU_GUESS_FOUND);
  g_assert_cmpint (guess_leaf (1, JIT + 50, JIT + 9), ==, LU_GUESS_FOUND);
  g_assert_cmpint (guess_leaf (1, JIT + 51, JIT + 9), ==, LU_GUESS_NONE);
  g_assert_cmpint (guess_leaf (2, JIT + 50, JIT + 9), ==, LU_GUESS_NONE);
  for (guint i = 0; i < 10000; i++)
    g_assert_cmpint (guess_leaf (3, JIT + i % 7, 5), ==, LU_GUESS_FOUND);
  g_assert_cmpint (guess_leaf (1, JIT + 50, JIT + 9), ==, LU_GUESS_NONE);
}

/* Or what the code does until it returns. */
static void
test_leaf (void)
{
  memset (&set_up, 0, sizeof set_up);
  g_assert_cmpint (guess_leaf (1, PLAIN + LEAF, JIT + 9), ==, LU_GUESS_FOUND);
  g_assert_cmpint (guess_leaf (1, PLAIN + LEAF + 2, JIT + 9), ==, LU_GUESS_NONE);
  g_assert_cmpint (guess_leaf (1, PLAIN + LEAF_LATER, JIT + 9), ==, LU_GUESS_UNKNOWN);
  g_assert_cmpint (guess_leaf (1, JIT + LEAF, JIT + 9), ==, LU_GUESS_NONE);
}

/* Whatever is on the stack: what is found lies in the copy, and above. */
static void
test_random (void)
{
  static const guint64 words[] = {
    0,   ~G_GUINT64_CONSTANT (0), JIT + 5, PLAIN + CALL, RULES + CALL, KEEPS + CALL, RULES + DIRECT,
    4097
  };
  guint n_found = 0;

  for (guint i = 0; i < 200000; i++)
    {
      guint n_bytes = (guint) g_test_rand_int_range (0, 8 * N + 1);
      g_autofree guint8 *bytes = g_malloc (n_bytes + 1); /* so that a sanitizer sees the end */
      LuSample sample = { .stack = bytes, .stack_size = n_bytes, .stack_asked = 8 * N };
      LuGuess guess = new_guess (&sample, i % 2, 0);
      LuGuessFrame frame = { .pc = i % 3 ? JIT : PLAIN, .sp = AT (i % 4) }, caller;

      for (guint at = 0; at + 8 <= n_bytes; at += 8)
        {
          guint64 word = i % 5 ? AT (g_test_rand_int_range (-1, N + 1)) : words[at / 8 % 8];

          if (g_test_rand_int_range (0, 2) != 0)
            word = words[g_test_rand_int_range (0, G_N_ELEMENTS (words))];
          memcpy (bytes + at, &word, sizeof word);
        }
      frame.fp = AT (g_test_rand_int_range (-1, N + 1)) + (i % 7 == 0);
      if (lu_guess_caller (&guess, i % 3 ? &jit : &file, &frame, &caller) != LU_GUESS_FOUND)
        continue;
      n_found++;
      g_assert_true (caller.sp > frame.sp && caller.sp <= SP + n_bytes);
      g_assert_nonnull (find (NULL, caller.pc - 1));
    }
  g_assert_cmpuint (n_found, >, 1000);
}

static LuGuessFacts facts;

/* One step by facts and by all that is asked without them, which becomes facts. Whether the facts
 * were enough; then both are the same. */
static gboolean
compare_by_facts (const LuSample *sample, LuGuess *guess, const LuGuessFrame *frame)
{
  struct lu_copy copy = { sample->stack, SP, sample->stack_size };
  struct lu_plain_regs regs = { .pc = frame->pc, .offset = frame->sp - SP, .fp = frame->fp };
  lu_plain plain =
      lu_guess_facts_step (&facts, guess->serial, guess->last_fp, guess->n_rules, &copy, &regs);
  guint n_before = guess->n_rules;
  LuGuessFrame caller;
  LuGuessResult result = lu_guess_caller (guess, frame->pc < PLAIN ? &jit : &file, frame, &caller);
  guint n_rules = guess->n_rules - n_before;

  if (plain != 0)
    {
      g_assert_cmpint (result, ==, LU_GUESS_FOUND);
      g_assert_false (guess->has_searched);
      g_assert_cmphex (regs.pc, ==, caller.pc);
      g_assert_cmphex (SP + regs.offset, ==, caller.sp);
      g_assert_cmphex (regs.fp, ==, caller.fp);
      g_assert_cmpuint (n_rules, ==, (plain & LU_PLAIN_GUESS_ASKED) != 0);
      g_assert_cmphex (guess->last_fp, ==, frame->fp);
    }
  else if (result == LU_GUESS_FOUND && !guess->has_searched && n_rules <= 1
           && caller.fp - SP < sample->stack_size)
    {
      lu_guess_facts_note (&facts, guess->serial, frame->pc, LU_GUESS_FROM);
      lu_guess_facts_note (&facts, guess->serial, caller.pc,
                           LU_GUESS_TO | (caller.pc < PLAIN ? LU_GUESS_TO_JIT : 0)
                               | (n_rules > 0 ? LU_GUESS_TO_ASKED : 0));
    }
  return plain != 0;
}

static void
test_facts (void)
{
  static const guint64 codes[] = { JIT, JIT + 5, PLAIN + CALL, PLAIN + DIRECT, RULES + CALL };
  guint n_by_facts = 0;

  for (guint i = 0; i < 200000; i++)
    {
      guint64 words[N];
      LuSample sample = { .stack = (const guint8 *) words,
                          .stack_size = (guint) g_test_rand_int_range (0, sizeof words + 1) };
      LuGuess guess =
          new_guess (&sample, FALSE, i % 3 ? 0 : AT (g_test_rand_int_range (-1, N + 1)));
      LuGuessFrame frame = { .pc = codes[g_test_rand_int_range (0, 4)],
                             .sp = AT (g_test_rand_int_range (0, 4)),
                             .fp = AT (g_test_rand_int_range (-1, N + 1)) + (i % 17 == 0) };

      guess.serial = 1 + i % 2;
      guess.n_rules = LU_GUESS_MAX_RULES - (guint) g_test_rand_int_range (0, 3);
      for (guint at = 0; at < N; at++)
        words[at] = g_test_rand_int_range (0, 2) ? codes[g_test_rand_int_range (0, 5)]
                                                 : AT (g_test_rand_int_range (-1, N + 1));
      n_by_facts += compare_by_facts (&sample, &guess, &frame);
    }
  g_assert_cmpuint (n_by_facts, >, 1000);
}

/* A stack at the very top of the address space. */
static void
test_wrap_around (void)
{
  guint64 words[4] = { 0, RULES + CALL, 0, RULES + CALL };
  LuSample sample = { .stack = (const guint8 *) words, .stack_size = sizeof words };
  LuGuess guess = new_guess (&sample, FALSE, 0);
  LuGuessFrame frame = { .pc = JIT }, caller;

  guess.sampled_sp = frame.sp = (guint64) -32;
  for (guint i = 0; i < 4; i++)
    {
      frame.fp = frame.sp + 8 * i;
      g_assert_cmpint (lu_guess_caller (&guess, &jit, &frame, &caller), ==,
                       i == 3       ? LU_GUESS_BEYOND
                       : i % 2 == 0 ? LU_GUESS_FOUND
                                    : LU_GUESS_NONE);
      guess.last_fp = 0;
    }
}

/* A frame full of addresses whose rules have to be compiled. */
static void
test_rules_are_limited (void)
{
  g_autofree guint64 *words = g_new (guint64, 4096);
  LuSample sample = { .stack = (const guint8 *) words, .stack_size = 8 * 4096 };
  LuGuess guess = new_guess (&sample, FALSE, 0);
  guint n_most = 0;

  n_asked = 0;
  for (guint i = 0; i < 4096; i++)
    words[i] = RULES + DIRECT;
  for (guint at = 0; at + 202 < 4096; at += 202)
    {
      LuGuessFrame frame = { .pc = JIT, .sp = AT (at), .fp = AT (at + 200) }, caller;
      guint before = n_asked;

      words[at + 200] = AT (at + 402);
      g_assert_cmpint (lu_guess_caller (&guess, &jit, &frame, &caller), ==, LU_GUESS_FOUND);
      n_most = MAX (n_most, n_asked - before);
    }
  g_assert_cmpuint (n_most, ==, 201);
  g_assert_cmpuint (n_asked, <=, 1024);
}

static LuModule *
new_module (LuModuleKind kind)
{
  LuModuleKey key = { .kind = kind, .path = "x" };

  return lu_module_new (&key);
}

/* A process that has ended takes its deleted or foreign files along; the next one may have them. */
static void
test_file_that_is_gone (void)
{
  g_autoptr (LuCodeReader) reader = lu_code_reader_new ();
  LuModuleKey key = { .kind = LU_MODULE_FILE, .path = (char *) "/nowhere/gone" };
  LuModule *module = lu_module_new (&key);
  LuDwflMapping mapping = { .start = PLAIN, .end = PLAIN + SIZE, .module = module };
  const LuArch *arch = &lu_arch_x86_64;

  g_assert_cmpint (lu_guess_read_call (reader, 0, arch, &mapping, PLAIN + CALL), ==, LU_CALL_NONE);
  g_assert_cmpint (lu_guess_known_call (&mapping, PLAIN + CALL), ==, LU_CALL_UNKNOWN);
  g_assert_cmpint (lu_guess_read_leaf (reader, 0, &mapping, PLAIN), ==, LU_GUESS_NONE);
  g_assert_cmpint (lu_guess_known_leaf (&mapping, PLAIN), ==, LU_GUESS_UNKNOWN);
  lu_module_unref (module);
}

int
main (int argc, char **argv)
{
  int result;

  g_test_init (&argc, &argv, NULL);
  file_module = new_module (LU_MODULE_FILE);
  anonymous_module = new_module (LU_MODULE_ANONYMOUS);
  jit = (LuDwflMapping){
    .start = JIT, .end = JIT + SIZE, .module = anonymous_module, .status = LU_STATUS_JIT
  };
  file = (LuDwflMapping){ .start = PLAIN, .end = PLAIN + 3 * SIZE, .module = file_module };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *path = g_strdup_printf ("/guess/%s", cases[i].name);

      g_test_add_data_func (path, &cases[i], test_case);
    }
  g_test_add_func ("/guess/words of all kinds at random", test_random);
  g_test_add_func ("/guess/regions without code", test_regions);
  g_test_add_func ("/guess/steps by facts", test_facts);
  g_test_add_func ("/guess/set up before", test_set_up_before);
  g_test_add_func ("/guess/code that runs to a return", test_leaf);
  g_test_add_func ("/guess/at the end of all addresses", test_wrap_around);
  g_test_add_func ("/guess/rules are asked for so often and not more", test_rules_are_limited);
  g_test_add_func ("/guess/a file that is gone", test_file_that_is_gone);
  result = g_test_run ();
  lu_module_unref (file_module);
  lu_module_unref (anonymous_module);
  return result;
}
