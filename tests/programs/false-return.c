/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* false-return.c - a program to be built without any CFI, which spends its time in a function that
 * has put another return address in the place of its own: the one that its caller's call of another
 * function has. So a walk that does not look where calls lead comes to main(), past a call that was
 * never made. Runs for the number of seconds of its argument. */

#include <stdlib.h>
#include <time.h>

void call_both (void);

__asm__(".text\n"
        ".type nothing, @function\n"
        "nothing:\n"
        "  ret\n"
        ".size nothing, . - nothing\n"
        ".type spin, @function\n"
        "spin:\n"
        "  push %rbx\n"
        "  mov 8(%rsp), %rdx\n"
        "  lea behind_nothing(%rip), %rax\n"
        "  mov %rax, 8(%rsp)\n"
        "  mov $1000000, %ecx\n"
        "1: dec %ecx\n"
        "  jnz 1b\n"
        "  mov %rdx, 8(%rsp)\n"
        "  pop %rbx\n"
        "  ret\n"
        ".size spin, . - spin\n"
        ".globl call_both\n"
        ".type call_both, @function\n"
        "call_both:\n"
        "  push %rbx\n"
        "  call nothing\n"
        "behind_nothing:\n"
        "  call spin\n"
        "  pop %rbx\n"
        "  ret\n"
        ".size call_both, . - call_both\n");

int
main (int argc, char **argv)
{
  time_t end = time (NULL) + (argc > 1 ? atoi (argv[1]) : 2) + 1;

  while (time (NULL) < end)
    call_both ();
  return 0;
}
