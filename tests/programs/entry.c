/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* entry.c - a leaf without any CFI a few bytes behind the entry point, as the start files of C
 * libraries have it: the entry says by its CFI that stacks end there, and its neighbour is not it.
 */
#include "known.h"

void hot (unsigned long rounds);

__asm__(".pushsection .text\n"
        ".globl _start\n"
        ".type _start, @function\n"
        "_start:\n"
        "  .cfi_startproc\n"
        "  .cfi_undefined rip\n"
        "  and $-16, %rsp\n"
        "  call run\n"
        "  hlt\n"
        "  .cfi_endproc\n"
        ".size _start, . - _start\n"
        ".globl hot\n"
        ".type hot, @function\n"
        "hot:\n"
        "  dec %rdi\n"
        "  jnz hot\n"
        "  ret\n"
        ".size hot, . - hot\n"
        ".popsection\n");

KNOWN void
run (void)
{
  long long end = cpu_time () + 500 * 1000000LL;

  while (cpu_time () < end)
    hot (1000000);
  for (;;)
    __asm__ volatile("syscall" : : "a"(SYS_exit_group), "D"(0) : "rcx", "r11", "memory");
}
