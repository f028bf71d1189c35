/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* landing-pad.c - hot() does what libgcc does at the end of _Unwind_Resume(), slowly: it writes the
 * catching frame's rbp and return address over those of its caller, puts the landing pad on the
 * stack, moves the stack pointer there, and jumps.
 *
 * Two contexts lie in its frame: that of its caller and that of the catching frame, which is
 * lands(). catches() stands before it and ends with a call, so the landing pad has no code of its
 * own function before it. */
#include "known.h"

void catches (unsigned long rounds);

#define SPIN                                                                                       \
  "  mov %rdi, %r8\n"                                                                              \
  "1: dec %r8\n"                                                                                   \
  "  jnz 1b\n"

__asm__(".pushsection .text\n"
        ".type throws, @function\n"
        "throws:\n"
        "  .cfi_startproc\n"
        "  push %rbp\n"
        "  .cfi_def_cfa_offset 16\n"
        "  .cfi_offset rbp, -16\n"
        "  mov %rsp, %rbp\n"
        "  .cfi_def_cfa_register rbp\n"
        "  call hot\n"
        "  ud2\n"
        "  .cfi_endproc\n"
        ".size throws, . - throws\n"

        ".type catches, @function\n"
        "catches:\n"
        "  .cfi_startproc\n"
        "  push %rbx\n"
        "  .cfi_def_cfa_offset 16\n"
        "  .cfi_offset rbx, -16\n"
        "  call throws\n"
        "  .cfi_endproc\n"
        ".size catches, . - catches\n"

        ".type lands, @function\n"
        "lands:\n"
        "  .cfi_startproc\n"
        "  .cfi_def_cfa_offset 16\n"
        "  .cfi_offset rbx, -16\n"
        "  pop %rbx\n"
        "  .cfi_def_cfa_offset 8\n"
        "  ret\n"
        "  .cfi_endproc\n"
        ".size lands, . - lands\n"

        ".type hot, @function\n"
        "hot:\n"
        "  .cfi_startproc\n"
        "  push %rbp\n"
        "  .cfi_def_cfa_offset 16\n"
        "  .cfi_offset rbp, -16\n"
        "  mov %rsp, %rbp\n"
        "  .cfi_def_cfa_register rbp\n"
        "  sub $208, %rsp\n"
        "  .cfi_offset rax, -72\n"
        "  .cfi_offset rdx, -64\n"
        /* The caller's: where its return address is, the stack pointer there, the address. */
        "  lea 8(%rbp), %rax\n"
        "  mov %rax, -96(%rbp)\n"
        "  lea 16(%rbp), %rax\n"
        "  mov %rax, -80(%rbp)\n"
        "  mov 8(%rbp), %rax\n"
        "  mov %rax, -72(%rbp)\n"
        /* The catching frame's. Its rbp was saved by throws(). */
        "  lea 16(%rbp), %rax\n"
        "  mov %rax, -208(%rbp)\n"
        "  lea 24(%rbp), %rax\n"
        "  mov %rax, -128(%rbp)\n"
        "  lea 32(%rbp), %rax\n"
        "  mov %rax, -112(%rbp)\n"
        "  lea lands(%rip), %rsi\n"
        "  mov %rsi, -104(%rbp)\n" SPIN "  mov 16(%rbp), %rax\n"
        "  mov %rax, (%rbp)\n" SPIN "  mov 24(%rbp), %rax\n"
        "  mov %rax, 8(%rbp)\n" SPIN "  mov %rsi, 24(%rbp)\n"
        "  lea 24(%rbp), %rcx\n" SPIN "  mov (%rbp), %rbp\n"
        "  .cfi_restore rbp\n"
        "  .cfi_def_cfa rcx, 8\n" SPIN "  mov %rcx, %rsp\n"
        "  .cfi_def_cfa rsp, 8\n" SPIN "  pop %rcx\n"
        "  .cfi_def_cfa_offset 0\n"
        "  .cfi_register rip, rcx\n" SPIN "  jmp *%rcx\n"
        "  .cfi_endproc\n"
        ".size hot, . - hot\n"
        ".popsection\n");

int
main (void)
{
  for (long long end = cpu_time () + 1000 * 1000000LL; cpu_time () < end;)
    {
      catches (100000);
      AFTER_CALL ();
    }
  return 0;
}
