/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-go-stacks.c - the functions of Go programs where stacks end, or go on elsewhere. */

#include "go-program.h"

#include "elf/go-stacks.h"
#include "elf/go-switch.h"

#include "../../cases.h"

typedef struct
{
  const char *name;
  const char *function;
  guint8 flags;
  LuGoFunctionKind kind;
} Case;

static const Case cases[] = {
  { "top", "runtime.goexit", 0, LU_GO_TOP },
  { "with a calling convention", "runtime.systemstack.abi0", 0, LU_GO_SWITCH },
  { "as a part of a longer name", "runtime.goexit2", 0, LU_GO_ORDINARY },
  { "leaves", "runtime.mcall", LU_GO_FLAG_SP_WRITE, LU_GO_LEAVE },
  { "interrupted", "runtime.asyncPreempt.abi0", 0, LU_GO_PREEMPT },
  { "of a file", "gogo", 0, LU_GO_SWITCH },
  { "called by that", "runtime.asyncPreempt2", 0, LU_GO_ORDINARY },
  { "restorer", "runtime.sigreturn__sigaction.abi0", 0, LU_GO_RESTORER },
  { "writes the stack pointer", "main.align", LU_GO_FLAG_SP_WRITE, LU_GO_SWITCH },
  { "assembly", "main.add", LU_GO_FLAG_ASSEMBLY, LU_GO_ORDINARY },
};

static void
test_case (gconstpointer data)
{
  const Case *a_case = data;
  const GoFunction functions[] = { { "main.main", 0, "\2\x10", 0 },
                                   { a_case->function, 0x10, "\2\x10", a_case->flags },
                                   { "main.f", 0x20, "\2\x10", 0 } };
  const GoProgram program = { .magic = 0xfffffff1,
                              .functions = functions,
                              .n_functions = G_N_ELEMENTS (functions),
                              .end = 0x30,
                              .text = GO_TEXT,
                              .section_name = ".gopclntab" };
  g_autoptr (GByteArray) file = go_program_new (&program);
  LuElfInput input;
  g_autoptr (LuGoTable) table = go_program_read (file, &input);
  g_autoptr (GArray) found = NULL;
  gboolean is_restorer = a_case->kind == LU_GO_RESTORER;
  gboolean moves = a_case->kind == LU_GO_SWITCH || a_case->kind == LU_GO_LEAVE;

  g_assert_nonnull (table);
  found = lu_go_functions_new (table, EM_X86_64);
  /* The kernel's frame is recognized by a return address before the restorer. */
  g_assert_cmpint (lu_go_functions_find (found, GO_TEXT + (is_restorer ? 0xf : 0x1f)), ==,
                   a_case->kind);
  g_assert_cmpint (lu_go_functions_find (found, GO_TEXT + 0x20), ==, LU_GO_ORDINARY);
  /* At its first instruction it has not moved yet. */
  g_assert_true (!moves || lu_go_functions_find (found, GO_TEXT + 0x10) == LU_GO_ORDINARY);
  g_assert_cmpint (lu_go_functions_find (found, GO_TEXT + (is_restorer ? 0x10 : 0xf)), ==,
                   LU_GO_ORDINARY);
}

typedef struct
{
  const char *name;
  guint16 machine;
  struct lu_rule rule;
} Preempted;

/* A handler of Go pushes this on the stack that it has interrupted. */
static const Preempted preempted[] = {
  { "x86-64",
    EM_X86_64,
    { .cfa_kind = LU_CFA_SP,
      .cfa_off = 8,
      .saves = LU_SAVE_SAME | LU_SAVE_SAME << 4,
      .ra_kind = LU_RA_AT_CFA,
      .ra_off = -1,
      .flags = LU_RULE_SIGNAL } },
  { "aarch64",
    EM_AARCH64,
    { .cfa_kind = LU_CFA_SP,
      .cfa_off = 16,
      .saves = LU_SAVE_SAME | LU_SAVE_SAME << 4,
      .ra_kind = LU_RA_LINK,
      .flags = LU_RULE_SIGNAL | LU_RULE_SIGFRAME } },
};

/* The walk in the kernel has a rule for the first instruction only, where the handler returns to:
 * the frame of any other depends on how far the function has come. */
static void
test_preempted (gconstpointer data)
{
  const Preempted *a_case = data;
  const GoFunction functions[] = { { "main.main", 0, "\2\x10", 0 },
                                   { "runtime.asyncPreempt.abi0", 0x10, "\2\x10", 0 },
                                   { "main.f", 0x20, "\2\x10", 0 } };
  const GoProgram program = { .magic = 0xfffffff1,
                              .functions = functions,
                              .n_functions = G_N_ELEMENTS (functions),
                              .end = 0x30,
                              .text = GO_TEXT,
                              .section_name = ".gopclntab" };
  g_autoptr (GByteArray) file = go_program_new (&program);
  LuElfInput input;
  g_autoptr (LuGoTable) table = go_program_read (file, &input);
  g_autoptr (GArray) found = lu_go_functions_new (table, a_case->machine);
  const LuGoFunction *entry = &g_array_index (found, LuGoFunction, 0);

  g_assert_cmpuint (found->len, ==, 2);
  g_assert_cmphex (entry[0].start, ==, GO_TEXT + 0x10);
  g_assert_cmphex (entry[0].end, ==, GO_TEXT + 0x11);
  g_assert_cmpmem (&entry[0].rule, sizeof entry[0].rule, &a_case->rule, sizeof a_case->rule);
  g_assert_cmpint (entry[1].rule.cfa_kind, ==, LU_CFA_NONE);
  for (guint64 at = GO_TEXT + 0x10; at < GO_TEXT + 0x20; at++)
    g_assert_cmpint (lu_go_functions_find (found, at), ==, LU_GO_PREEMPT);
}

static void
test_ends (void)
{
  static const struct
  {
    LuGoFunctionKind kind;
    gboolean ends_caller, ends_running;
    LuStatus of_caller;
  } expected[] = {
    { LU_GO_ORDINARY, FALSE, FALSE, 0 },
    { LU_GO_TOP, TRUE, FALSE, LU_STATUS_COMPLETE },
    { LU_GO_LEAVE, TRUE, TRUE, LU_STATUS_COMPLETE },
    { LU_GO_SWITCH, TRUE, TRUE, LU_STATUS_OTHER_STACK },
    { LU_GO_PREEMPT, FALSE, FALSE, 0 },
    { LU_GO_RESTORER, FALSE, FALSE, 0 },
  };
  LuStatus status;

  for (guint i = 0; i < G_N_ELEMENTS (expected); i++)
    {
      g_assert_cmpint (lu_go_stack_ends (expected[i].kind, FALSE, &status), ==,
                       expected[i].ends_running);
      g_assert_true (!expected[i].ends_running || status == LU_STATUS_OTHER_STACK);
      g_assert_cmpint (lu_go_stack_ends (expected[i].kind, TRUE, &status), ==,
                       expected[i].ends_caller);
      g_assert_true (!expected[i].ends_caller || status == expected[i].of_caller);
    }
}

typedef struct
{
  const char *name;
  const char *function;
  gsize n;
  char code[64];
  gsize at; /* of the only return address with a rule; 0: there is none */
  struct lu_rule rule;
} Switch;

/* The instructions of Go 1.19 and of Go 1.23. */
static const Switch switches[] = {
  { "sched",
    "runtime.systemstack",
    64,
    "\x64\x48\x8b\x04\x25\xf8\xff\xff\xff\x48\x8b\x58\x30\x48\x8b\x13\x48\x3b\x83\xc0\0\0\0"
    "\x48\x8b\x5a\x38\x48\x89\xdc\xff\xd7\xc3",
    32,
    { .cfa_kind = LU_CFA_GO_SCHED,
      .cfa_off = 8,
      .aux = -8,
      .fp_off = -2,
      .bx_off = 24,
      .ra_off = 6 | 7 << 8,
      .saves = LU_SAVE_UNKNOWN | LU_SAVE_UNKNOWN << 4 } },
  { "sched with a frame pointer",
    "runtime.systemstack",
    64,
    "\x55\x48\x89\xe5\x48\xc7\xc1\xf8\xff\xff\xff\x64\x48\x8b\x01\x48\x8b\x58\x30\x48\x3b\x83"
    "\xc0\0\0\0\x48\x8b\x62\x38\xff\xd7\x5d\xc3",
    32,
    { .cfa_kind = LU_CFA_GO_SCHED,
      .cfa_off = 16,
      .aux = -8,
      .fp_off = -2,
      .bx_off = 24,
      .ra_off = 6 | 7 << 8,
      .saves = LU_SAVE_AT_CFA | LU_SAVE_UNKNOWN << 4 } },
  { "slots",
    "runtime.asmcgocall",
    64,
    "\x48\x89\xe2\xff\xd0\x48\x8b\x7c\x24\x30\x48\x8b\x77\x08\x48\x2b\x74\x24\x28\xc3",
    5,
    { .cfa_kind = LU_CFA_GO_SLOTS,
      .cfa_off = 8,
      .fp_off = -2,
      .bx_off = 6,
      .ra_off = 5,
      .saves = LU_SAVE_UNKNOWN | LU_SAVE_UNKNOWN << 4 } },
  { "slots with a frame pointer",
    "runtime.asmcgocall",
    64,
    "\x55\x48\x89\xe5\xe8\1\0\0\0\x48\x8b\x7c\x24\x08\x48\x8b\x77\x08\x48\x2b\x34\x24\x5d\xc3",
    9,
    { .cfa_kind = LU_CFA_GO_SLOTS,
      .cfa_off = 16,
      .fp_off = -2,
      .bx_off = 1,
      .saves = LU_SAVE_AT_CFA | LU_SAVE_UNKNOWN << 4 } },
  { "on the same stack",
    "runtime.asmcgocall",
    64,
    "\xff\xd0\x48\x8b\x74\x24\x28\x48\x89\xf4\xc3",
    2,
    { .cfa_kind = LU_CFA_DEREF_SP,
      .cfa_off = 8,
      .aux = 0x28,
      .fp_off = -2,
      .ra_off = -1,
      .saves = LU_SAVE_UNKNOWN | LU_SAVE_UNKNOWN << 4 } },
  { "by frame pointer",
    "time.now",
    64,
    "\x48\x83\xec\x18\x48\x89\x6c\x24\x10\x48\x8d\x6c\x24\x10\xff\xd0\xc3",
    16,
    { .cfa_kind = LU_CFA_FP,
      .cfa_off = 16,
      .fp_off = -2,
      .ra_off = -1,
      .saves = LU_SAVE_AT_CFA | LU_SAVE_UNKNOWN << 4,
      .flags = LU_RULE_SWITCH } },
  { "aligned",
    "runtime.callCgoMmap",
    64,
    "\x48\x83\xec\x18\x48\x89\x6c\x24\x10\x48\x8d\x6c\x24\x10\x48\x89\xe3\x48\x83\xe4\xf0"
    "\x48\x89\x1c\x24\xff\xd0\x48\x8b\x24\x24\xc3",
    27,
    { .cfa_kind = LU_CFA_FP,
      .cfa_off = 16,
      .fp_off = -2,
      .ra_off = -1,
      .saves = LU_SAVE_AT_CFA | LU_SAVE_UNKNOWN << 4 } },
  { "without a frame pointer", "time.now", 64, "\x48\x83\xec\x18\xff\xd0\xc3", 0, { 0 } },
  { "of other code", "runtime.systemstack", 64, "\xff\xd7\xc3", 0, { 0 } },
  { "cut off",
    "runtime.asmcgocall",
    12,
    "\xff\xd0\x48\x8b\x7c\x24\x30\x48\x8b\x77\x08\x48",
    0,
    { 0 } },
};

static void
test_switch (gconstpointer data)
{
  const Switch *a_case = data;
  const LuGoCode code = { .name = a_case->function,
                          .code = (const guint8 *) a_case->code,
                          .size = a_case->n };
  struct lu_rule rule;
  gsize at = 0;

  g_assert_true (lu_go_may_switch (a_case->function));
  g_assert_cmpint (lu_go_find_switch (&code, &at, &rule), ==, a_case->at != 0);
  if (a_case->at == 0)
    return;
  g_assert_cmpuint (at, ==, a_case->at);
  g_assert_cmpmem (&rule, sizeof rule, &a_case->rule, sizeof rule);
  at++;
  g_assert_false (lu_go_find_switch (&code, &at, &rule));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  TEST_ADD_CASES ("/go-stacks", cases, test_case);
  TEST_ADD_CASES ("/go-stacks/switch", switches, test_switch);
  TEST_ADD_CASES ("/go-stacks/preempted", preempted, test_preempted);
  g_test_add_func ("/go-stacks/ends", test_ends);
  return g_test_run ();
}
