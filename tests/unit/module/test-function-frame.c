/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-function-frame.c - where functions of this program, in assembly, have their return address,
 * as their own code and that of functions that jump to them shows, and where their paths lead. */

#include "module/function-frame.h"

#include "code/decoder.h"
#include "own-module.h"

#include <stdio.h>

#ifdef __x86_64__

extern char __executable_start;
extern char framed[], framed_inside[], framed_behind[], framed_end[], bare[], bare_inside[],
    bare_pushed[], jumps[], jumps_twice[], framed_late[], framed_late_inside[], wrong[],
    wrong_inside[], next_bare[], two_ends[], two_inside[], two_last[], anywhere[], stops[],
    undecodable[], longest[], longer[], branches[], leaps[], thunk[], go_short[], go_long[];

__asm__(".text\n.p2align 4\n"
        "framed: push %rbp\n mov %rsp, %rbp\n push %rbx\n sub $0x18, %rsp\n"
        "framed_inside: test %edi, %edi\n je 1f\n call bare\n"
        "framed_behind: nop\n"
        "1: add $0x18, %rsp\n pop %rbx\n pop %rbp\n"
        "framed_end: ret\n int3\n"
        ".p2align 4, 0xcc\n"
        "bare: cmp $1, %edi\n ja 1f\n xor %eax, %eax\n ret\n"
        "1: imul %edi, %edi\n"
        "bare_inside: dec %edi\n jne bare_inside\n push %rbx\n"
        "bare_pushed: pop %rbx\n ret\n"
        /* Nothing shows that this is not a part of the function above. */
        "next_bare: xor %ecx, %ecx\n ret\n"
        ".p2align 4, 0xcc\n"
        "jumps: push %rbp\n mov %rsp, %rbp\n mov %rdi, %rsi\n pop %rbp\n jmp framed\n"
        ".p2align 4, 0xcc\n"
        "jumps_twice: jmp jumps\n"
        ".p2align 4, 0xcc\n"
        /* One path comes without a frame. */
        "framed_late: test %edi, %edi\n je 1f\n push %rbp\n mov %rsp, %rbp\n"
        "framed_late_inside: call bare\n pop %rbp\n"
        "1: ret\n"
        ".p2align 4, 0xcc\n"
        /* It returns with its frame still there. */
        "wrong: push %rbp\n mov %rsp, %rbp\n"
        "wrong_inside: nop\n ret\n"
        ".p2align 4, 0xcc\n"
        "two_ends: push %rbp\n mov %rsp, %rbp\n test %edi, %edi\n je 1f\n pop %rbp\n ret\n"
        "1: call bare\n"
        "two_inside: leave\n"
        "two_last: repz ret\n"
        "anywhere: push %rbp\n mov %rsp, %rbp\n test %edi, %edi\n je 1f\n jmp *%rax\n"
        "1: pop %rbp\n ret\n"
        "stops: push %rbp\n mov %rsp, %rbp\n test %edi, %edi\n je 1f\n ud2\n"
        "1: pop %rbp\n ret\n"
        "undecodable: push %rbp\n mov %rsp, %rbp\n test %edi, %edi\n je 1f\n .byte 0x06\n"
        "1: pop %rbp\n ret\n"
        /* At the limit of 256 instructions, and beyond that. */
        "longest: push %rbp\n mov %rsp, %rbp\n .rept 252\n nop\n .endr\n pop %rbp\n ret\n"
        "longer: push %rbp\n mov %rsp, %rbp\n .rept 253\n nop\n .endr\n pop %rbp\n ret\n"
        "branches: push %rbp\n mov %rsp, %rbp\n .rept 33\n je 1f\n nop\n1:\n .endr\n"
        "pop %rbp\n ret\n"
        "leaps: push %rbp\n mov %rsp, %rbp\n jmp 1f\n pop %rbp\n ret\n .skip 4096, 0xcc\n"
        "1: pop %rbp\n ret\n"
        "thunk: call 2f\n1: pause\n jmp 1b\n2: mov %rax, (%rsp)\n ret\n"
        "pop %rbp\n ret\n"
        /* As Go 1.19 compiles them. */
        ".p2align 4, 0xcc\n"
        "go_short: sub $0x18, %rsp\n mov %rbp, 0x10(%rsp)\n lea 0x10(%rsp), %rbp\n"
        "mov %rsp, %rbx\n and $-16, %rsp\n mov %rbx, (%rsp)\n call *%rax\n"
        "mov (%rsp), %rsp\n mov 0x10(%rsp), %rbp\n add $0x18, %rsp\n ret\n"
        ".p2align 4, 0xcc\n"
        "go_long: sub $0x218, %rsp\n mov %rbp, 0x210(%rsp)\n lea 0x210(%rsp), %rbp\n"
        "call *%rax\n mov 0x210(%rsp), %rbp\n add $0x218, %rsp\n ret\n"
        ".p2align 4, 0xcc\n");

static guint64
elf_address (const LuModule *module, const char *place)
{
  guint64 address = (guint64) (gsize) place;

  return lu_image_is_position_independent (lu_module_image (module))
             ? address - (guint64) (gsize) &__executable_start
             : address;
}

static void
test_places (void)
{
  static const struct
  {
    const char *start, *at;
    enum lu_leaf_kind want;
  } places[] = {
    { framed, framed_inside, LU_LEAF_FRAMED },  { framed, framed_behind, LU_LEAF_FRAMED },
    { framed, framed, LU_LEAF_BARE },           { framed, framed_end, LU_LEAF_BARE },
    { framed, bare_inside, LU_LEAF_UNDECIDED }, { bare, bare_inside, LU_LEAF_BARE },
    { bare, bare_pushed, LU_LEAF_UNDECIDED },   { bare, next_bare, LU_LEAF_UNDECIDED },
    { jumps, framed_inside, LU_LEAF_FRAMED },   { jumps, bare_inside, LU_LEAF_UNDECIDED },
    { jumps_twice, framed_end, LU_LEAF_BARE },  { jumps_twice, framed_inside, LU_LEAF_FRAMED },
    { wrong, wrong_inside, LU_LEAF_UNDECIDED }, { framed_late, framed_late_inside, LU_LEAF_FRAMED },
    { framed_late, framed_late, LU_LEAF_BARE },
  };
  g_autoptr (LuCodeReader) reader = lu_code_reader_new ();
  g_autoptr (LuModule) module = open_program ();
  const LuMappedModule mapped = { .module = module, .start = 0x1000, .end = 0x2000 };

  for (guint i = 0; i < G_N_ELEMENTS (places); i++)
    {
      enum lu_leaf_kind kind =
          lu_function_frame_at (reader, &mapped, elf_address (module, places[i].start),
                                elf_address (module, places[i].at));

      g_test_message ("place %u", i);
      g_assert_cmpint (kind, ==, places[i].want);
    }
  g_assert_cmpint (lu_function_frame_at (reader, &mapped, 0, 0), ==, LU_LEAF_UNDECIDED);
  g_assert_cmpint (lu_function_frame_at (reader, &mapped, G_MAXUINT64, 1), ==, LU_LEAF_UNDECIDED);
}

static void
test_reach (void)
{
  static const struct
  {
    const char *start, *at;
    LuReach want;
  } places[] = {
    { framed, framed, LU_REACH_HERE },
    { framed, framed_behind, LU_REACH_HERE },
    { framed, framed_end, LU_REACH_HERE },
    { framed, bare, LU_REACH_ELSEWHERE }, /* it is called */
    { framed, bare_inside, LU_REACH_ELSEWHERE },
    { two_ends, framed, LU_REACH_ELSEWHERE }, /* before it */
    { two_ends, two_inside, LU_REACH_HERE },
    { two_ends, two_last, LU_REACH_HERE },
    { two_ends, anywhere, LU_REACH_ELSEWHERE },
    { bare, bare_inside, LU_REACH_HERE },
    { bare, next_bare, LU_REACH_HERE }, /* no frame ends between them */
    { jumps, framed_inside, LU_REACH_ANYWHERE },
    { anywhere, stops, LU_REACH_ANYWHERE },
    { stops, undecodable, LU_REACH_ANYWHERE },
    { undecodable, longest, LU_REACH_ANYWHERE },
    { longest, longer, LU_REACH_ELSEWHERE },
    { longer, branches, LU_REACH_ANYWHERE },
    { branches, leaps, LU_REACH_ANYWHERE },
    { leaps, framed, LU_REACH_ANYWHERE },
    { thunk, framed, LU_REACH_ANYWHERE }, /* it returns to the address in rax */
    { go_short, framed, LU_REACH_ELSEWHERE },
    { go_short, go_long, LU_REACH_ELSEWHERE },
    { go_short, go_short, LU_REACH_HERE },
    { go_long, framed, LU_REACH_ELSEWHERE },
  };
  g_autoptr (LuCodeReader) reader = lu_code_reader_new ();
  g_autoptr (LuModule) module = open_program ();
  const LuMappedModule mapped = { .module = module, .start = 0x1000, .end = 0x2000 };
  LuReach reach;

  for (guint i = 0; i < G_N_ELEMENTS (places); i++)
    {
      g_test_message ("place %u", i);
      g_assert_cmpint (lu_function_reach (reader, &mapped, elf_address (module, places[i].start),
                                          elf_address (module, places[i].at), &reach),
                       ==, LU_CODE_READ);
      g_assert_cmpint (reach, ==, places[i].want);
    }
  reach = LU_REACH_ELSEWHERE;
  g_assert_cmpint (lu_function_reach (reader, &mapped, G_MAXUINT64, 1, &reach), ==, LU_CODE_READ);
  g_assert_cmpint (reach, ==, LU_REACH_ANYWHERE);
}

#endif

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
#ifdef __x86_64__
  if (!lu_decoder_load ())
    {
      puts ("1..0 # SKIP no library that decodes instructions");
      return 0;
    }
  g_test_add_func ("/function-frame/places", test_places);
  g_test_add_func ("/function-frame/reach", test_reach);
#endif
  return g_test_run ();
}
