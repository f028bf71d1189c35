/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors
 *
 * skipped.c - code without CFI that keeps its caller's frame pointer, and whose stack pointer no
 * reader of its instructions can follow; its caller has none either, and sets up a frame pointer. A
 * step by frame pointer from the first skips the second. Runs for a number of seconds. AS_GO: it is
 * set up, and restored, as Go's compiler does. */

#include <stdlib.h>
#include <time.h>

long outer (long n);
long leaf (long n);

__asm__(".text\n"
        ".type outer, @function\n"
        "outer:\n"
#ifdef AS_GO
        "  sub $24, %rsp\n"
        "  mov %rbp, 16(%rsp)\n"
        "  lea 16(%rsp), %rbp\n"
        "  test %rdi, %rdi\n"
        "  jns 1f\n"
        "  lea 8(%rsp), %rbp\n"
        "1: call middle\n"
        "  mov 16(%rsp), %rbp\n"
        "  add $24, %rsp\n"
#else
        "  push %rbp\n"
        "  mov %rsp, %rbp\n"
        "  test %rdi, %rdi\n"
        "  jns 1f\n" /* always; else the frame pointer leads to another place of the frame */
        "  push %rax\n"
        "  mov %rsp, %rbp\n"
        "1: call middle\n"
        "  leave\n"
#endif
        "  ret\n"
        ".size outer, . - outer\n"
        ".type middle, @function\n"
        "middle:\n"
        "  mov %rsp, stack_pointer(%rip)\n"
        "  and $-64, %rsp\n"
        "  call leaf\n"
        "  mov stack_pointer(%rip), %rsp\n"
        "  ret\n"
        ".size middle, . - middle\n"
        ".local stack_pointer\n"
        ".comm stack_pointer, 8, 8\n");

__attribute__ ((used, noinline)) long
leaf (long n)
{
  volatile long sum = 0;

  for (long i = 0; i < n; i++)
    sum += i;
  return sum;
}

__attribute__ ((noinline)) static long
run (long n)
{
  return outer (n) + 1;
}

int
main (int argc, char **argv)
{
  clock_t end = clock () + (argc > 1 ? atoi (argv[1]) : 1) * CLOCKS_PER_SEC;
  long sum = 0;

  while (clock () < end)
    sum += run (100000);
  return sum == 1;
}
