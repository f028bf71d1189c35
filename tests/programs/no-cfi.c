/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* no-cfi.c - a function without any CFI in the middle of the stack, in a file that has CFI for all
 * other functions. It moves the stack pointer by 96 bytes, so that a walk that guesses goes wrong.
 */
#include "known.h"

void without_cfi (void (*function) (void));

__asm__(".pushsection .text\n"
        ".globl without_cfi\n"
        ".type without_cfi, @function\n"
        "without_cfi:\n"
        "  push %rbp\n"
        "  sub $96, %rsp\n"
        "  mov %rsp, %rbp\n"
        "  call *%rdi\n"
        "  add $96, %rsp\n"
        "  pop %rbp\n"
        "  ret\n"
        ".size without_cfi, . - without_cfi\n"
        ".popsection\n");

KNOWN void
hot (void)
{
  spin (500);
}

KNOWN void
inner (void)
{
  hot ();
  AFTER_CALL ();
}

KNOWN void
outer (void)
{
  without_cfi (inner);
  AFTER_CALL ();
}

int
main (void)
{
  outer ();
  return 0;
}
