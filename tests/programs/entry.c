/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* entry.c - a leaf without any CFI a few bytes behind the entry point, as in the start files of C
 * libraries: the CFI of the entry point says that stacks end there, and the leaf must not be
 * mistaken for it. */
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
        ".size _start, . - _start\n" HOT_WITHOUT_CFI ".popsection\n");

KNOWN void
run (void)
{
  long long end = cpu_time () + 500 * 1000000LL;

  while (cpu_time () < end)
    hot (1000000);
  for (;;)
    __asm__ volatile("syscall" : : "a"(SYS_exit_group), "D"(0) : "rcx", "r11", "memory");
}
