/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-leaf.c - instructions on the way to a return or a frame, by size. */

#include "arch/arch.h"
#include "arch/x86-64/code.h"

#include <glib.h>
#include <string.h>

/* The answer for code that pops `depth` words, the one with the number `saved` - 1 into rbp. */
#define POPPED(depth, saved)                                                                       \
  (LU_LEAF_POPPED | (depth) << LU_LEAF_DEPTH_SHIFT | (saved) << LU_LEAF_FP_SHIFT)

static const struct
{
  const char *name;
  guint8 bytes[LU_LEAF_WINDOW];
  guint64 want;
} cases[] = {
  { "return", { 0xc3 }, LU_LEAF_BARE },
  { "push %rbp; mov %rsp,%rbp", { 0x55, 0x48, 0x89, 0xe5 }, LU_LEAF_BARE },
  { "the same otherwise", { 0x55, 0x48, 0x8b, 0xec, 0x90 }, LU_LEAF_BARE },
  { "leave", { 0xc9 }, LU_LEAF_FRAMED },
  { "mov %rbp,%rsp", { 0x48, 0x8b, 0xe5 }, LU_LEAF_FRAMED },
  { "the same otherwise", { 0x48, 0x89, 0xec }, LU_LEAF_FRAMED },
  { "sub $8,%rsp; add $8,%rsp", { 0x48, 0x83, 0xec, 8, 0x48, 0x83, 0xc4, 8 }, 8 },
  { "sub $8,%rsp; add $16,%rsp", { 0x48, 0x83, 0xec, 8, 0x48, 0x83, 0xc4, 16 }, 0 },
  { "dec %ecx", { 0xff, 0xc9 }, 2 },
  { "inc %r12", { 0x49, 0xff, 0xc4 }, 3 },
  { "mov 7(%rax),%rdx", { 0x48, 0x8b, 0x50, 0x07 }, 4 },
  { "mov (%rax),%ecx", { 0x8b, 0x08 }, 2 },
  { "mov %rax,%rdx", { 0x48, 0x89, 0xc2 }, 3 },
  { "mov 0xf(%rdx,%rbx,1),%rax", { 0x48, 0x8b, 0x44, 0x1a, 0x0f }, 5 },
  { "mov 0x1b8(%r13),%rax", { 0x49, 0x8b, 0x85, 0xb8, 0x01, 0, 0 }, 7 },
  { "mov 0x100(,%rax,8),%rax", { 0x48, 0x8b, 0x04, 0xc5, 0, 1, 0, 0 }, 8 },
  { "mov 0x100(%rip),%eax", { 0x8b, 0x05, 0, 1, 0, 0 }, 6 },
  { "mov 8(%rsp),%rax", { 0x48, 0x8b, 0x44, 0x24, 0x08 }, 5 },
  { "mov (%rbp),%rax", { 0x48, 0x8b, 0x45, 0 }, 4 },
  { "mov %r12,%rax", { 0x4c, 0x89, 0xe0 }, 3 },
  { "mov %rax,%r13", { 0x49, 0x89, 0xc5 }, 3 },
  { "movslq 0xb(%rdx),%rcx", { 0x48, 0x63, 0x4a, 0x0b }, 4 },
  { "cmp %rcx,%rbx", { 0x48, 0x3b, 0xd9 }, 3 },
  { "cmp %rbx,7(%rdx)", { 0x48, 0x39, 0x5a, 0x07 }, 4 },
  { "xor %eax,%eax", { 0x31, 0xc0 }, 2 },
  { "add $1,%eax", { 0x83, 0xc0, 0x01 }, 3 },
  { "sar $0x1d,%rbx", { 0x48, 0xc1, 0xfb, 0x1d }, 4 },
  { "lea 1(%rdi),%eax", { 0x8d, 0x47, 0x01 }, 3 },
  { "test %rax,%rax", { 0x48, 0x85, 0xc0 }, 3 },
  { "je", { 0x74, 0x01, 0xc3 }, 2 },
  { "je over a trap", { 0x77, 0x01, 0xcc }, 3 },

  { "mov %rsp,%rbp", { 0x48, 0x89, 0xe5 }, 0 },
  { "mov %rax,%rbp", { 0x48, 0x89, 0xc5 }, 0 },
  { "mov 8(%rax),%rbp", { 0x48, 0x8b, 0x68, 0x08 }, 0 },
  { "lea 8(%rsp),%rsp", { 0x48, 0x8d, 0x64, 0x24, 0x08 }, 0 },
  { "add $8,%rsp", { 0x48, 0x83, 0xc4, 0x08 }, 0 },
  { "mov -8(%rsp),%rax", { 0x48, 0x8b, 0x44, 0x24, 0xf8 }, 5 },
  { "mov -8(%r13),%rax", { 0x49, 0x8b, 0x45, 0xf8 }, 4 },
  { "mov 8(%rbp),%rax", { 0x48, 0x8b, 0x45, 8 }, 4 },
  { "mov -8(%rbp),%rax", { 0x48, 0x8b, 0x45, 0xf8 }, LU_LEAF_FRAMED },
  { "mov %dx,-0x40(%rbp)", { 0x66, 0x89, 0x55, 0xc0 }, LU_LEAF_FRAMED },
  { "mov -0xd1(%rbp),%al", { 0x8a, 0x85, 0x2f, 0xff, 0xff, 0xff }, LU_LEAF_FRAMED },
  { "movaps %xmm0,-0x40(%rbp,%rax,1)", { 0x0f, 0x29, 0x44, 0x05, 0xc0 }, LU_LEAF_FRAMED },
  { "lea -0x28(%rbp),%rsp", { 0x48, 0x8d, 0x65, 0xd8 }, LU_LEAF_FRAMED },
  { "lea -1(%rbp),%eax", { 0x8d, 0x45, 0xff }, 3 },
  { "and $0xffffd555,%eax", { 0x25, 0x55, 0xd5, 0xff, 0xff }, 5 },
  { "test %al,%al", { 0x84, 0xc0 }, 2 },
  { "cmpb $0,0x2d0(%rbx)", { 0x80, 0xbb, 0xd0, 2, 0, 0, 0, 0x75 }, 7 },
  { "cmpl $0,0x1c0(%rbx)", { 0x83, 0xbb, 0xc0, 1, 0, 0, 0 }, 7 },
  { "add $0xffffff38,%edx", { 0x81, 0xc2, 0x38, 0xff, 0xff, 0xff }, 6 },
  { "movl $-1,8(%r15)", { 0x41, 0xc7, 0x47, 8, 0xff, 0xff, 0xff, 0xff }, 8 },
  { "testb $0xa,1(%rcx)", { 0xf6, 0x41, 1, 0x0a }, 4 },
  { "not %edi", { 0xf7, 0xd7 }, 2 },
  { "movzbl (%rcx),%ecx", { 0x0f, 0xb6, 0x09 }, 3 },
  { "movzbl 0x100(%rip),%eax", { 0x0f, 0xb6, 0x05, 0, 1, 0, 0 }, 7 },
  { "jg", { 0x0f, 0x8f, 0xc8, 6, 0, 0 }, 6 },
  { "mov $1,%eax", { 0xb8, 1, 0, 0, 0 }, 5 },
  { "movabs $1,%rdi", { 0x48, 0xbf, 1, 0, 0, 0, 0, 0 }, 10 },
  { "mov $1,%ebp", { 0xbd, 1, 0, 0, 0 }, 0 },
  { "mov $1,%rax, with a prefix that has no effect", { 0x66, 0x48, 0xc7, 0xc0, 1, 0, 0, 0 }, 8 },
  { "bswap %ebp", { 0x0f, 0xcd }, 0 },
  { "bswap %r13d", { 0x41, 0x0f, 0xcd }, 3 },
  { "cmp %ax,$0x100", { 0x66, 0x3d, 0, 1 }, 4 },
  { "orw $0x8000,-4(%rax)", { 0x66, 0x81, 0x48, 0xfc, 0, 0x80 }, 6 },
  { "mov %fs:-0x410,%rax", { 0x64, 0x48, 0x8b, 4, 0x25, 0xf0, 0xfb, 0xff }, 9 },
  { "lock xadd %eax,0x100(%rip)", { 0xf0, 0x0f, 0xc1, 0x05, 0, 1, 0, 0 }, 8 },
  { "cltq", { 0x48, 0x98 }, 2 },
  { "bswap %rax", { 0x48, 0x0f, 0xc8 }, 3 },
  { "xorps %xmm0,%xmm0", { 0x0f, 0x57, 0xc0 }, 3 },
  { "vpaddd %ymm1,%ymm2,%ymm5", { 0xc5, 0xed, 0xfe, 0xe9 }, 4 },
  { "vpbroadcastd %xmm0,%ymm0", { 0xc4, 0xe2, 0x7d, 0x58, 0xc0 }, 5 },
  { "andn %rax,%rcx,%rbp", { 0xc4, 0xe2, 0xf0, 0xf2, 0xe8 }, 0 },
  { "cmove %rax,%rbp", { 0x48, 0x0f, 0x44, 0xe8 }, 0 },
  { "repz ret", { 0xf3, 0xc3 }, LU_LEAF_BARE },
  { "sub %rax,%rsp", { 0x48, 0x29, 0xc4 }, 0 },
  { "push %rbp", { 0x55 }, 0 },
  { "push %rbp; mov %rbx,%rbp", { 0x55, 0x48, 0x89, 0xdd }, 0 },
  { "push %rbp; mov %esp,%ebp", { 0x55, 0x89, 0xe5 }, 0 },
  { "pop %rbp", { 0x5d }, 0 },
  { "pop %r12", { 0x41, 0x5c }, 0 },
  { "dec %rsp", { 0x48, 0xff, 0xcc }, 0 },
  { "incl (%rax)", { 0xff, 0x00 }, 2 },
  { "call", { 0xe8, 0, 0, 0, 0 }, 0 },
  { "call *%rax", { 0xff, 0xd0 }, 0 },
  { "jmp", { 0xe9, 0, 0, 0, 0 }, 0 },
  { "jmp back", { 0xeb, 0xfe }, 0 },
  { "ret $8", { 0xc2, 8, 0 }, 0 },
  { "trap", { 0xcc }, 0 },
  { "two bytes of opcode", { 0x0f, 0xb6, 0xc0 }, 3 },
  { "16 bits", { 0x66, 0x89, 0xc0 }, 3 },
  { "call below the frame pointer", { 0xff, 0x55, 0xd0 }, LU_LEAF_FRAMED },
  { "ud2", { 0x0f, 0x0b }, 0 },
  { "zeros", { 0 }, 0 },
};

static void
test_cases (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      guint64 code;

      memcpy (&code, cases[i].bytes, sizeof code);
      g_test_message ("%s", cases[i].name);
      g_assert_cmpuint (lu_leaf_step (code), ==, cases[i].want);
    }
}

/* Whatever the bytes are, a step goes forwards, and not far. */
static void
test_random (void)
{
  for (guint i = 0; i < 1000000; i++)
    {
      guint64 code = (guint64) g_test_rand_int () << 32 | (guint32) g_test_rand_int ();

      g_assert_cmpuint (lu_leaf_step (code), <=, LU_LEAF_FRAMED);
    }
}

/* Code that stacks begin with, and code that only resembles it. */
static void
test_roots (void)
{
  static const struct
  {
    guint8 code[LU_LEAF_BYTES];
    gboolean is_root;
  } roots[] = {
    { { 0x48, 0x89, 0xdc, 0x48, 0x8b, 0x3c, 0x24, 0x48, 0x85, 0xff, 0x74, 0x08 }, TRUE },
    { { 0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x89, 0xdc, 0x48, 0x8b, 0x3c, 0x24, 0x48, 0x85, 0xff, 0x74 },
      TRUE },
    { { 0x48, 0x31, 0xff, 0xe8, 1, 2, 3, 4, 0xf4 }, TRUE },
    { { 0x89, 0xc7, 0x31, 0xc0, 0xb0, 0x3c, 0x0f, 0x05, 0xf4 }, TRUE },
    { { 0x48, 0x89, 0xdc, 0x48, 0x8b, 0x3c, 0x24, 0x48, 0x85, 0xff, 0x75, 0x08 }, FALSE },
    { { 0x48, 0x31, 0xff, 0xe8, 1, 2, 3, 4, 0x90 }, FALSE },
    { { 0x90, 0x48, 0x31, 0xff, 0xe8, 1, 2, 3, 4, 0xf4 }, FALSE },
    { { 0 }, FALSE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (roots); i++)
    g_assert_cmpint (lu_arch_x86_64.leaf_of (roots[i].code) == LU_LEAF_ROOT, ==, roots[i].is_root);
}

/* The answer of a function from each of its places on. */
static void
test_kinds (void)
{
  /* push %rbp; mov %rsp,%rbp; xor %eax,%eax; leave; ret; pop %rbx; ret */
  static const guint8 code[2 * LU_LEAF_BYTES] = { 0x55, 0x48, 0x89, 0xe5, 0x31,
                                                  0xc0, 0xc9, 0xc3, 0x5b, 0xc3 };
  guint64 is_end;

  g_assert_cmpint (lu_leaf_frame_of (code, &is_end), ==, LU_LEAF_BARE);
  g_assert_cmpuint (is_end, ==, 0);
  g_assert_cmpint (lu_leaf_frame_of (code + 1, &is_end), ==, LU_LEAF_PUSHED);
  g_assert_cmpint (lu_leaf_frame_of (code + 4, &is_end), ==, LU_LEAF_FRAMED);
  g_assert_cmpint (lu_leaf_frame_of (code + 6, &is_end), ==, LU_LEAF_FRAMED);
  g_assert_cmpint (lu_leaf_frame_of (code + 7, &is_end), ==, LU_LEAF_BARE);
  g_assert_cmpint (lu_leaf_frame_of (code + 8, &is_end), ==, POPPED (1, 0));
  g_assert_cmpuint (is_end, ==, 1);
}

/* Code at the end of functions, from where on it only pops: as in Chromium behind the call of a
 * function without frame pointer. */
static void
test_pops (void)
{
  static const struct
  {
    guint8 code[LU_LEAF_BYTES];
    guint32 want;
  } ends[] = {
    /* mov %eax,0x6b6b460(%rip); add $8,%rsp; ret */
    { { 0x89, 0x05, 0x60, 0xb4, 0xb6, 0x06, 0x48, 0x83, 0xc4, 8, 0xc3 }, POPPED (1, 0) },
    /* add $0x18,%rsp; mov %rbx,%rax; pop %rbx; pop %rbp; pop %r12; ret */
    { { 0x48, 0x83, 0xc4, 0x18, 0x48, 0x89, 0xd8, 0x5b, 0x5d, 0x41, 0x5c, 0xc3 }, POPPED (6, 5) },
    /* add $0x88,%rsp; ret */
    { { 0x48, 0x81, 0xc4, 0x88, 0, 0, 0, 0xc3 }, POPPED (17, 0) },
    /* pop %rbp; jmp; pop %rbp; jmp *%rax; pop %rbx; jmp */
    { { 0x5d, 0xe9, 1, 2, 3, 4 }, POPPED (1, 1) },
    { { 0x5d, 0xff, 0xe0 }, POPPED (1, 1) },
    { { 0x5b, 0xe9, 1, 2, 3, 4 }, LU_LEAF_UNDECIDED },
    /* jmp *0x100(%rip), as in a linkage table; behind something else; jmp *%rax */
    { { 0xff, 0x25, 0, 1, 0, 0, 0x68, 1, 0, 0, 0 }, LU_LEAF_BARE },
    { { 0x31, 0xc0, 0xff, 0x25, 0, 1, 0, 0 }, LU_LEAF_UNDECIDED },
    { { 0xff, 0xe0 }, LU_LEAF_UNDECIDED },
    /* pop %rbp; xor %eax,%eax; jmp */
    { { 0x5d, 0x31, 0xc0, 0xe9, 1, 2, 3, 4 }, LU_LEAF_UNDECIDED },
    /* too many words; not a multiple of a word; to the other side */
    { { 0x48, 0x81, 0xc4, 8, 8, 0, 0, 0xc3 }, LU_LEAF_UNDECIDED },
    { { 0x48, 0x83, 0xc4, 7, 0xc3 }, LU_LEAF_UNDECIDED },
    { { 0x48, 0x83, 0xc4, 0xf8, 0xc3 }, LU_LEAF_UNDECIDED },
    /* pop %rsp; ret; pop %rbp; pop %rbp; ret; pop %rbx; leave; ret */
    { { 0x5c, 0xc3 }, LU_LEAF_UNDECIDED },
    { { 0x5d, 0x5d, 0xc3 }, LU_LEAF_UNDECIDED },
    { { 0x5b, 0xc9, 0xc3 }, LU_LEAF_UNDECIDED },
    /* pop %rbx; push %rbp; mov %rsp,%rbp; pop %rbx; ret $8 */
    { { 0x5b, 0x55, 0x48, 0x89, 0xe5 }, LU_LEAF_UNDECIDED },
    { { 0x5b, 0xc2, 8, 0 }, LU_LEAF_UNDECIDED },
    /* test %al,%al; je; lea 0xea9b36e(%rip),%rax; ret */
    { { 0x84, 0xc0, 0x74, 8, 0x48, 0x8d, 0x05, 0x6e, 0xb3, 0xa9, 0x0e, 0xc3 }, LU_LEAF_BARE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (ends); i++)
    g_assert_cmphex (lu_leaf_of (ends[i].code), ==, ends[i].want);
}

/* A register that is pushed before a return holds the return address, unless it is popped first. */
static void
test_registers (void)
{
  static const struct
  {
    guint8 code[LU_LEAF_BYTES];
    guint32 kind, want; /* want: 1 + number */
  } codes[] = {
    /* pop %rcx; lea 8(%r15),%rsp; push %rcx; ret */
    { { 0x59, 0x49, 0x8d, 0x67, 8, 0x51, 0xc3 }, LU_LEAF_UNDECIDED, 0 },
    { { 0x49, 0x8d, 0x67, 8, 0x51, 0xc3 }, LU_LEAF_UNDECIDED, 1 + 1 },
    /* push %r8; ret */
    { { 0x41, 0x50, 0xc3 }, LU_LEAF_UNDECIDED, 1 + 8 },
    /* pop %r8; push %r8; ret */
    { { 0x41, 0x58, 0x41, 0x50, 0xc3 }, LU_LEAF_UNDECIDED, 0 },
    /* push %rbp; mov %rsp,%rbp; push %rsi; push %r15; mov 0x190(%r13),%rax; ret */
    { { 0x55, 0x48, 0x89, 0xe5, 0x56, 0x41, 0x57, 0x49, 0x8b, 0x85, 0x90, 1, 0, 0, 0xc3 },
      LU_LEAF_BARE,
      1 + 15 },
    /* push %rax; mov (%rdi),%rax; mov (%rdi),%rbx; mov (%rdi),%rcx; ret */
    { { 0x50, 0x48, 0x8b, 0x07, 0x48, 0x8b, 0x1f, 0x48, 0x8b, 0x0f, 0xc3 }, LU_LEAF_UNDECIDED, 0 },
    /* push %r10; push %rdi; mov %rsp,%rbx; push %rax; push %rbp; mov %rsp,%rbp */
    { { 0x41, 0x52, 0x57, 0x48, 0x89, 0xe3, 0x50, 0x55, 0x48, 0x89, 0xe5 }, LU_LEAF_UNDECIDED, 1 },
    /* push %rax; push %r13; mov %rsp,%rbp */
    { { 0x50, 0x41, 0x55, 0x48, 0x89, 0xe5 }, LU_LEAF_UNDECIDED, 0 },
    /* push %rbp; ret */
    { { 0x55, 0xc3 }, LU_LEAF_UNDECIDED, 0 },
    /* mov %ecx,0x10(%rax); pop %rbp; ret; in the next function mov %edx,0x10(%rdi), which has the
     * byte of push %rdi; pop %rbp; ret */
    { { 0x89, 0x48, 0x10, 0x5d, 0xc3, 0xcc, 0x89, 0x57, 0x10, 0x5d, 0xc3 }, LU_LEAF_POPPED, 0 },
    { { 0x5d, 0xff, 0xe0, 0xcc, 0x89, 0x57, 0x10, 0x5d, 0xc3 }, LU_LEAF_POPPED, 0 },
    { { 0xc3, 0xcc, 0x89, 0x57, 0x10, 0x5d, 0xc3 }, LU_LEAF_BARE, 0 },
    /* the same before the return; behind a prologue, where it may be code */
    { { 0x89, 0x57, 0x10, 0x5d, 0xc3 }, LU_LEAF_POPPED, 0 },
    { { 0x55, 0x48, 0x89, 0xe5, 0x89, 0x57, 0x10, 0x5d, 0xc3 }, LU_LEAF_BARE, 1 + 7 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (codes); i++)
    {
      guint32 leaf = lu_leaf_of (codes[i].code);

      g_assert_cmpuint (LU_LEAF_KIND (leaf), ==, codes[i].kind);
      g_assert_cmpuint (LU_LEAF_REGISTER_OF (leaf), ==, codes[i].want);
    }
  g_assert_cmpuint (lu_leaf_dwarf_number (1), ==, 2);
  g_assert_cmpuint (lu_leaf_dwarf_number (7), ==, 5);
  g_assert_cmpuint (lu_leaf_dwarf_number (15), ==, 15);
}

/* Code of aarch64, and where it shows that its return address is. */
static void
test_aarch64 (void)
{
#define LOADED(fp)                                                                                 \
  (LU_LEAF_POPPED | ((fp) + 1) << LU_LEAF_DEPTH_SHIFT | ((fp) + 1) << LU_LEAF_FP_SHIFT)
  static const struct
  {
    const char *what;
    guint32 words[LU_ARCH_MAX_LEAF_BYTES / 4];
    guint32 want;
  } leaves[] = {
    { "ret", { 0xd65f03c0 }, LU_LEAF_BARE },
    { "autiasp; ret", { 0xd50323bf, 0xd65f03c0 }, LU_LEAF_BARE },
    { "bti c; paciasp", { 0xd503245f, 0xd503233f }, LU_LEAF_BARE },
    { "nop; stp x29, x30, [sp, #-16]!", { 0xd503201f, 0xa9bf7bfd }, LU_LEAF_BARE },
    { "ldp x6, x7, [x1, #-32]!; cbnz x18; str x4, [x0], #8; ret",
      { 0xa9fe1c26, 0xb5fffdf2, 0xf8008404, 0xd65f03c0 },
      LU_LEAF_BARE },
    { "ld1 {v0.16b}, [x1], #16; uaddlv h29, v0.16b; ret",
      { 0x4cdf7020, 0x6e30381c, 0xd65f03c0 },
      LU_LEAF_BARE },
    { "stp x29, x30, [sp, #16]; ret", { 0xa9017bfd, 0xd65f03c0 }, LU_LEAF_BARE },
    { "cmp x1, #3; tst x1, #1; ret", { 0xf1000c3f, 0xf240003f, 0xd65f03c0 }, LU_LEAF_BARE },
    { "ldadd x1, x2, [x0]; casal x1, x2, [x0]; ret",
      { 0xf8210002, 0xc8e1fc02, 0xd65f03c0 },
      LU_LEAF_BARE },
    { "adrp x16; ldr x17, [x16]; add x16, x16; br x17",
      { 0x90000010, 0xf9400211, 0x91000210, 0xd61f0220 },
      LU_LEAF_BARE },
    { "br x17", { 0xd61f0220 }, LU_LEAF_UNDECIDED },
    { "br x3", { 0xd61f0060 }, LU_LEAF_UNDECIDED },
    { "b", { 0x14000001, 0xd65f03c0 }, LU_LEAF_UNDECIDED },
    { "bl; ret", { 0x94000001, 0xd65f03c0 }, LU_LEAF_UNDECIDED },
    { "blr x3; nop; ret", { 0xd63f0060, 0xd503201f, 0xd65f03c0 }, LU_LEAF_UNDECIDED },
    { "svc; ret", { 0xd4000001, 0xd65f03c0 }, LU_LEAF_UNDECIDED },
    { "mov x29, sp; ret", { 0x910003fd, 0xd65f03c0 }, LU_LEAF_UNDECIDED },
    { "add sp, sp, #16; ret", { 0x910043ff, 0xd65f03c0 }, LU_LEAF_UNDECIDED },
    { "add sp, sp, x1; ret", { 0x8b2163ff, 0xd65f03c0 }, LU_LEAF_UNDECIDED },
    { "and sp, x1, #-16; ret", { 0x927cec3f, 0xd65f03c0 }, LU_LEAF_UNDECIDED },
    { "mov x30, x3; ret", { 0xaa0303fe, 0xd65f03c0 }, LU_LEAF_UNDECIDED },
    { "movz x29, #0; ret", { 0xd280001d, 0xd65f03c0 }, LU_LEAF_UNDECIDED },
    { "ldr x30, [sp], #16; ret", { 0xf84107fe, 0xd65f03c0 }, LU_LEAF_UNDECIDED },
    { "ldr x30, [sp, #8]; ret", { 0xf94007fe, 0xd65f03c0 }, LU_LEAF_UNDECIDED },
    { "ldp x19, x30, [sp, #16]; ret", { 0xa9417bf3, 0xd65f03c0 }, LU_LEAF_UNDECIDED },
    { "ldr x0, [sp], #16; ret", { 0xf84107e0, 0xd65f03c0 }, LU_LEAF_UNDECIDED },
    { "ldr q0, [sp], #16; ret", { 0x3cc107e0, 0xd65f03c0 }, LU_LEAF_UNDECIDED },
    { "stp x19, x20, [sp, #-16]!; ret", { 0xa9bf53f3, 0xd65f03c0 }, LU_LEAF_UNDECIDED },
    { "mrs x30, tpidr_el0; ret", { 0xd53bd05e, 0xd65f03c0 }, LU_LEAF_UNDECIDED },
    { "udf", { 0 }, LU_LEAF_UNDECIDED },
    { "ldp x29, x30, [sp], #32; ret", { 0xa8c27bfd, 0xd65f03c0 }, LOADED (0) },
    { "bl; ldp x19, x20, [sp, #16]; ldp x29, x30, [sp, #32]; add sp, sp, #64; ret",
      { 0x94000001, 0xa94153f3, 0xa9427bfd, 0x910103ff, 0xd65f03c0 },
      LOADED (4) },
    { "mov x29, sp; ldp x29, x30, [sp], #16; ret",
      { 0x910003fd, 0xa8c17bfd, 0xd65f03c0 },
      LOADED (0) },
    { "stp x29, x30, [sp, #-16]! after a call", { 0x94000001, 0xa9bf7bfd }, LU_LEAF_UNDECIDED },
    { "ldp x29, x30, [sp, #-16]", { 0xa97f7bfd, 0xd65f03c0 }, LU_LEAF_UNDECIDED },
    { "sub sp, sp, #16; ldp x29, x30, [sp], #16", { 0xd10043ff, 0xa8c17bfd }, LU_LEAF_UNDECIDED },
  };
#undef LOADED
  static const guint32 entry[] = { 0x90000010, 0xf9400211, 0x91000210, 0xd61f0220 };
  static const guint32 with_bti[] = { 0xd503245f, 0x90000010, 0xf9400211, 0x91000210 };

  for (guint i = 0; i < G_N_ELEMENTS (leaves); i++)
    {
      g_test_message ("%s", leaves[i].what);
      g_assert_cmphex (lu_arch_aarch64.leaf_of ((const guint8 *) leaves[i].words), ==,
                       leaves[i].want);
    }
  g_assert_true (lu_arch_aarch64.is_plt_entry ((const guint8 *) entry));
  g_assert_true (lu_arch_aarch64.is_plt_entry ((const guint8 *) with_bti));
  g_assert_false (lu_arch_aarch64.is_plt_entry ((const guint8 *) &entry[1]));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/leaf/cases", test_cases);
  g_test_add_func ("/leaf/random", test_random);
  g_test_add_func ("/leaf/kinds", test_kinds);
  g_test_add_func ("/leaf/pops", test_pops);
  g_test_add_func ("/leaf/registers", test_registers);
  g_test_add_func ("/leaf/roots", test_roots);
  g_test_add_func ("/leaf/aarch64", test_aarch64);
  return g_test_run ();
}
