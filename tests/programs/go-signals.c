/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* go-signals.c - what Go programs do with signals. The file looks like Go's, whose unwind
 * information says nothing about these two:
 *
 * A handler returns to a restorer of the program's own. A function is interrupted at its first
 * instruction, where a call of runtime.asyncPreempt is put before; the function just before in the
 * file has another frame. */
#include "go-table.h"
#include "known.h"

#include <signal.h>

#define FLAG_RESTORER 0x04000000 /* SA_RESTORER, asm/signal.h */

void preempts (void);
void restorer (void) __asm__("runtime.sigreturn");

__asm__(GO_TABLE ("2", GO_PLACE ("runtime.asyncPreempt", "1") GO_PLACE ("runtime.sigreturn", "2"),
                  GO_ENTRY ("runtime.asyncPreempt", "1", "4")
                      GO_ENTRY ("runtime.sigreturn", "2", "4"),
                  GO_NAME ("runtime.asyncPreempt", "1")
                      GO_NAME ("runtime.sigreturn",
                               "2")) ".pushsection .text\n" GO_TEXT ".type other, @function\n"
                                     "other:\n"
                                     "  .cfi_startproc\n"
                                     "  .cfi_def_cfa_offset 64\n"
                                     "  nop\n"
                                     "  .cfi_endproc\n"
                                     ".size other, . - other\n"

                                     ".type interrupted, @function\n"
                                     "interrupted:\n"
                                     "  .cfi_startproc\n"
                                     "  ret\n"
                                     "  .cfi_endproc\n"
                                     ".size interrupted, . - interrupted\n"

                                     ".type preempts, @function\n"
                                     "preempts:\n"
                                     "  lea interrupted(%rip), %rax\n"
                                     "  push %rax\n"
                                     "  jmp runtime.asyncPreempt\n"
                                     ".size preempts, . - preempts\n"

                                     ".type runtime.asyncPreempt, @function\n"
                                     "runtime.asyncPreempt:\n"
                                     "  .cfi_startproc\n"
                                     "  push %rbp\n"
                                     "  .cfi_def_cfa_offset 16\n"
                                     "  sub $8, %rsp\n"
                                     "  .cfi_def_cfa_offset 24\n"
                                     "  call hot\n"
                                     "  add $8, %rsp\n"
                                     "  .cfi_def_cfa_offset 16\n"
                                     "  pop %rbp\n"
                                     "  .cfi_def_cfa_offset 8\n"
                                     "  ret\n"
                                     "  .cfi_endproc\n"
                                     ".size runtime.asyncPreempt, . - runtime.asyncPreempt\n"

                                     "  .balign 32, 0xcc\n"
                                     "  .skip 32, 0xcc\n"
                                     ".type runtime.sigreturn, @function\n"
                                     "runtime.sigreturn:\n"
                                     "  mov $15, %eax\n"
                                     "  syscall\n"
                                     ".size runtime.sigreturn, . - runtime.sigreturn\n" GO_TEXT_END
                                     ".popsection\n");

KNOWN void
hot (void)
{
  spin (50);
}

KNOWN void
handler (int number)
{
  (void) number;
  hot ();
  AFTER_CALL ();
}

KNOWN void
sends (void)
{
  long result;

  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "0"(SYS_tkill), "D"((long) getpid ()), "S"((long) SIGUSR1)
                   : "rcx", "r11", "memory");
  (void) result;
}

KNOWN void
a (void)
{
  sends ();
  preempts ();
  AFTER_CALL ();
}

int
main (void)
{
  const struct
  {
    void (*handler) (int number);
    unsigned long flags;
    void (*restorer) (void);
    unsigned long mask;
  } action = { handler, FLAG_RESTORER, restorer, 0 };

  syscall (SYS_rt_sigaction, SIGUSR1, &action, NULL, sizeof action.mask);
  for (int i = 0; i < 10; i++)
    a ();
  return 0;
}
