/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-leaf-end.c - leaves of this program, in assembly, that return without having used their
 * stack, and others. */

#include "module/leaf-end.h"

#include "code/decoder.h"
#include "own-module.h"

#include <stdio.h>

#ifdef __x86_64__

extern char __executable_start;
extern char before_all[], loops[], in_loop[], two_ways[], one_pushes[], pushes[], pops[], calls[],
    calls_pointer[], jumps[], jumps_pointer[], leaves[], stops[], writes_top[], writes_below[],
    writes_fp[], moves_sp[], far_away[], for_ever[], longest[], longer[], undecodable[],
    returns_more[], end_of_all[];

__asm__(".text\n.p2align 4\n"
        "before_all: ret\n"
        "loops: mov %rdi, %rcx\n xor %eax, %eax\n test %ecx, %ecx\n je 2f\n"
        "1: add (%rsi), %eax\n mov %eax, (%rdi)\n"
        "in_loop: add $4, %rsi\n dec %ecx\n jne 1b\n"
        "2: mov -8(%rsp), %rdx\n ret\n"
        "two_ways: test %edi, %edi\n je 1f\n jmp 2f\n 1: xor %eax, %eax\n 2: ret\n"
        "one_pushes: test %edi, %edi\n je 1f\n push %rbx\n pop %rbx\n1: ret\n"
        "pushes: push %rbx\n pop %rbx\n ret\n"
        "pops: pop %rbx\n ret\n"
        "calls: call before_all\n ret\n"
        "calls_pointer: call *%rax\n ret\n"
        "jumps: jmp in_loop\n"
        "jumps_pointer: jmp *%rax\n"
        "leaves: leave\n ret\n"
        "stops: test %edi, %edi\n je 1f\n ud2\n1: ret\n"
        "writes_top: mov %rax, (%rsp)\n ret\n"
        "writes_below: mov %rax, (%rdi)\n vmovups %ymm0, (%rdi)\n vzeroupper\n ret\n"
        "writes_fp: mov %rax, %rbp\n ret\n"
        "moves_sp: add $8, %rsp\n ret\n"
        "far_away: test %edi, %edi\n je end_of_all\n ret\n"
        "for_ever: jmp for_ever\n"
        "undecodable: test %edi, %edi\n je 1f\n .byte 0x06\n1: ret\n"
        "returns_more: ret $8\n"
        "longest: .rept 1023\n nop\n .endr\n ret\n"
        "longer: .rept 1024\n nop\n .endr\n ret\n"
        ".skip 4096, 0xcc\n"
        "end_of_all: ret\n");

/* Returns the offset of a place in the file, whose code is where its segment says. */
static guint64
offset_of (const LuModule *module, const char *place)
{
  guint64 address = (guint64) (gsize) place;
  LuImage *image = lu_module_image (module);
  const LuSegment *segments;
  guint n;

  if (lu_image_is_position_independent (image))
    address -= (guint64) (gsize) &__executable_start;
  segments = lu_image_segments (image, &n);
  for (guint i = 0; i < n; i++)
    if (address - segments[i].vaddr < segments[i].file_size)
      return segments[i].file_offset + (address - segments[i].vaddr);
  g_assert_not_reached ();
}

static void
test_places (void)
{
  static const struct
  {
    const char *place;
    gboolean want;
  } places[] = {
    { loops, TRUE },         { in_loop, TRUE },        { two_ways, TRUE },
    { writes_below, TRUE },  { jumps, TRUE },          { longest, TRUE },
    { one_pushes, FALSE },   { pushes, FALSE },        { pops, FALSE },
    { calls, FALSE },        { calls_pointer, FALSE }, { jumps_pointer, FALSE },
    { leaves, FALSE },       { stops, FALSE },         { writes_top, FALSE },
    { writes_fp, FALSE },    { moves_sp, FALSE },      { far_away, FALSE },
    { for_ever, FALSE },     { longer, FALSE },        { undecodable, FALSE },
    { returns_more, FALSE },
  };
  g_autoptr (LuCodeReader) reader = lu_code_reader_new ();
  g_autoptr (LuModule) module = open_program ();
  const LuMappedModule mapped = { .module = module, .start = 0x1000, .end = 0x2000 };

  for (guint i = 0; i < G_N_ELEMENTS (places); i++)
    {
      guint64 offset = offset_of (module, places[i].place);
      LuLeafCode code = { .file_offset = offset,
                          .before = offset - offset_of (module, before_all),
                          .after = offset_of (module, end_of_all) + 1 - offset };
      gboolean is_bare;

      g_test_message ("place %u", i);
      g_assert_cmpint (lu_leaf_end (reader, &mapped, &code, &is_bare), ==, LU_CODE_READ);
      g_assert_cmpint (is_bare, ==, places[i].want);
    }
}

/* The paths of a loop lead to code before it, which the mapping may not have. */
static void
test_edges (void)
{
  g_autoptr (LuCodeReader) reader = lu_code_reader_new ();
  g_autoptr (LuModule) module = open_program ();
  const LuMappedModule mapped = { .module = module, .start = 0x1000, .end = 0x2000 };
  LuLeafCode code = { .file_offset = offset_of (module, in_loop), .after = 64 };
  gboolean is_bare;

  lu_leaf_end (reader, &mapped, &code, &is_bare);
  g_assert_false (is_bare);
  code.before = (gsize) (in_loop - loops);
  lu_leaf_end (reader, &mapped, &code, &is_bare);
  g_assert_true (is_bare);
  code.after = 4;
  lu_leaf_end (reader, &mapped, &code, &is_bare);
  g_assert_false (is_bare);
  code.file_offset = G_MAXINT64;
  g_assert_cmpint (lu_leaf_end (reader, &mapped, &code, &is_bare), ==, LU_CODE_UNREADABLE);
  g_assert_false (is_bare);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  if (!lu_decoder_load ())
    {
      puts ("1..0 # SKIP no library that decodes instructions");
      return 0;
    }
  g_test_add_func ("/leaf-end/places", test_places);
  g_test_add_func ("/leaf-end/edges", test_edges);
  return g_test_run ();
}

#else

int
main (void)
{
  puts ("1..0 # SKIP the places are assembly of another machine");
  return 0;
}

#endif
