/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-pieces.c - the two pieces the truth rests on: what instructions are, and what they do to the
 * shadow stack. Bytes are hand-assembled (Intel SDM volume 2). */

#include "decode.h"
#include "shadow.h"

#include "../cases.h"

static const struct
{
  const char *name;
  guint8 bytes[MAX_INSTRUCTION];
  guint8 size, kind, length;
} instructions[] = {
  { "call rel32", { 0xe8, 1, 2, 3, 4 }, 5, INSTRUCTION_CALL, 5 },
  { "call rel32 with bnd", { 0xf2, 0xe8, 1, 2, 3, 4 }, 6, INSTRUCTION_CALL, 6 },
  { "call rel32 padded by the linker", { 0x67, 0xe8, 1, 2, 3, 4 }, 6, INSTRUCTION_CALL, 6 },
  { "call *%rax", { 0xff, 0xd0 }, 2, INSTRUCTION_CALL, 2 },
  { "call *%r11", { 0x41, 0xff, 0xd3 }, 3, INSTRUCTION_CALL, 3 },
  { "notrack call *%rax", { 0x3e, 0xff, 0xd0 }, 3, INSTRUCTION_CALL, 3 },
  { "call *(%rax)", { 0xff, 0x10 }, 2, INSTRUCTION_CALL, 2 },
  { "call *8(%rax)", { 0xff, 0x50, 8 }, 3, INSTRUCTION_CALL, 3 },
  { "call *0x100(%rbp)", { 0xff, 0x95, 0, 1, 0, 0 }, 6, INSTRUCTION_CALL, 6 },
  { "call *x(%rip)", { 0xff, 0x15, 1, 2, 3, 4 }, 6, INSTRUCTION_CALL, 6 },
  { "call *(%rsp)", { 0xff, 0x14, 0x24 }, 3, INSTRUCTION_CALL, 3 },
  { "call *8(%r12,%rax,8)", { 0x41, 0xff, 0x54, 0xc4, 8 }, 5, INSTRUCTION_CALL, 5 },
  { "call *x(,%rax,8)", { 0xff, 0x14, 0xc5, 1, 2, 3, 4 }, 7, INSTRUCTION_CALL, 7 },
  { "call *%fs:0x10", { 0x64, 0xff, 0x14, 0x25, 0x10, 0, 0, 0 }, 8, INSTRUCTION_CALL, 8 },
  { "ret", { 0xc3 }, 1, INSTRUCTION_RETURN, 0 },
  { "rep ret", { 0xf3, 0xc3 }, 2, INSTRUCTION_RETURN, 0 },
  { "ret 8", { 0xc2, 8, 0 }, 3, INSTRUCTION_RETURN, 0 },
  { "jmp rel8", { 0xeb, 0 }, 2, INSTRUCTION_JUMP, 0 },
  { "jmp rel32", { 0xe9, 0, 0, 0, 0 }, 5, INSTRUCTION_JUMP, 0 },
  { "jmp *%rdx", { 0xff, 0xe2 }, 2, INSTRUCTION_JUMP, 0 },
  { "bnd jmp *x(%rip)", { 0xf2, 0xff, 0x25, 1, 2, 3, 4 }, 7, INSTRUCTION_JUMP, 0 },
  { "je rel8", { 0x74, 0 }, 2, INSTRUCTION_JUMP, 0 },
  { "jne rel32", { 0x0f, 0x85, 0, 0, 0, 0 }, 6, INSTRUCTION_JUMP, 0 },
  { "syscall", { 0x0f, 0x05 }, 2, INSTRUCTION_SYSCALL, 0 },
  { "mov 16(%rdx), %rsp", { 0x48, 0x8b, 0x62, 16 }, 4, INSTRUCTION_MOVE_STACK, 0 },
  { "mov %rbp, %rsp", { 0x48, 0x89, 0xec }, 3, INSTRUCTION_MOVE_STACK, 0 },
  { "mov %rsp, %rbp", { 0x48, 0x89, 0xe5 }, 3, INSTRUCTION_OTHER, 0 },
  { "mov %rbp, %r12", { 0x49, 0x89, 0xec }, 3, INSTRUCTION_OTHER, 0 },
  { "mov 16(%rdx), %r12", { 0x4c, 0x8b, 0x62, 16 }, 4, INSTRUCTION_OTHER, 0 },
  { "mov 16(%rdx), %esp", { 0x8b, 0x62, 16 }, 3, INSTRUCTION_OTHER, 0 },
  { "push x(%rip)", { 0xff, 0x35, 1, 2, 3, 4 }, 6, INSTRUCTION_OTHER, 0 },
  { "inc %rax", { 0x48, 0xff, 0xc0 }, 3, INSTRUCTION_OTHER, 0 },
  { "endbr64", { 0xf3, 0x0f, 0x1e, 0xfa }, 4, INSTRUCTION_OTHER, 0 },
  { "vzeroupper", { 0xc5, 0xf8, 0x77 }, 3, INSTRUCTION_OTHER, 0 },
  { "cut off", { 0x41 }, 1, INSTRUCTION_OTHER, 0 },
};

static void
test_decode (gconstpointer data)
{
  guint i = GPOINTER_TO_UINT (data);
  Instruction got = instruction_decode (instructions[i].bytes, instructions[i].size);

  g_assert_cmpuint (got.kind, ==, instructions[i].kind);
  if (got.kind == INSTRUCTION_CALL)
    g_assert_cmpuint (got.length, ==, instructions[i].length);
}

static void
test_call_and_return (void)
{
  Shadow shadow;

  shadow_init (&shadow, TRUE);
  shadow_call (&shadow, 0x1000, 0x40, 1, 2);
  shadow_call (&shadow, 0xf00, 0x50, 3, 4);
  g_assert_cmphex (shadow_caller (&shadow, 0)->sp, ==, 0xf08);
  g_assert_cmphex (shadow_caller (&shadow, 1)->pc, ==, 0x40);
  shadow_return (&shadow, 0xf00, 0xf08, 0x50);
  g_assert_cmphex (shadow_caller (&shadow, 0)->fp, ==, 1);
  g_assert_null (shadow_caller (&shadow, 1));
  g_assert_cmpuint (shadow.n_returns, ==, 1);
  shadow_return (&shadow, 0x1000, 0x1008, 0x99);
  g_assert_cmpuint (shadow.n_diverted, ==, 1);
  g_assert_null (shadow_caller (&shadow, 0));
  shadow_clear (&shadow);
}

/* vfork takes its return address off the stack and puts it back. */
static void
test_popped_return_address (void)
{
  Shadow shadow;

  shadow_init (&shadow, TRUE);
  shadow_call (&shadow, 0x1000, 0x40, 1, 2);
  g_assert_false (shadow_is_leaving (&shadow, 0x1008));
  shadow_jump (&shadow, 0x1000);
  g_assert_nonnull (shadow_caller (&shadow, 0));
  shadow_clear (&shadow);
}

static void
test_long_jump (void)
{
  Shadow shadow;

  shadow_init (&shadow, TRUE);
  for (guint i = 0; i < 10; i++)
    shadow_call (&shadow, 0x1000 - 0x10 * i, 0x40 + i, 0, 0);
  g_assert_true (shadow_is_leaving (&shadow, 0xff8));
  shadow_jump (&shadow, 0xff8);
  g_assert_cmpuint (shadow.callers->len, ==, 1);
  g_assert_cmphex (shadow_caller (&shadow, 0)->pc, ==, 0x40);
  shadow_clear (&shadow);
}

/* A handler on a stack below the interrupted one, then one that is left by a jump. */
static void
test_signal (void)
{
  const Caller interrupted = { .pc = 0x70, .sp = 0x8000, .fp = 5, .bx = 6 };
  Shadow shadow;

  shadow_init (&shadow, TRUE);
  shadow_call (&shadow, 0x8100, 0x40, 1, 2);
  shadow_signal (&shadow, 0x2000, 0x7777, &interrupted);
  g_assert_cmphex (shadow_caller (&shadow, 0)->pc, ==, 0x7777);
  g_assert_cmphex (shadow_caller (&shadow, 1)->sp, ==, 0x8000);
  g_assert_true (shadow_caller (&shadow, 1)->is_interrupted);
  shadow_return (&shadow, 0x2000, 0x2008, 0x7777);
  g_assert_true (shadow_caller (&shadow, 0)->is_interrupted);
  g_assert_true (shadow_signal_return (&shadow, 0x2008, 0x70, 0x8000));
  g_assert_cmphex (shadow_caller (&shadow, 0)->pc, ==, 0x40);
  shadow_signal (&shadow, 0x2000, 0x7777, &interrupted);
  shadow_call (&shadow, 0x1f00, 0x90, 0, 0);
  shadow_jump (&shadow, 0x8010);
  g_assert_cmpuint (shadow.callers->len, ==, 1);
  shadow_clear (&shadow);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  TEST_ADD_INDEXED_CASES ("/decode", instructions, test_decode);
  g_test_add_func ("/shadow/call and return", test_call_and_return);
  g_test_add_func ("/shadow/popped return address", test_popped_return_address);
  g_test_add_func ("/shadow/long jump", test_long_jump);
  g_test_add_func ("/shadow/signal", test_signal);
  return g_test_run ();
}
