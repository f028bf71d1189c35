/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* coroutine.c - `coroutine context|switch`: burns its time on a stack of its own.
 *
 * `context` uses libc's makecontext; the stack ends in libc. `switch` uses a few hand-written
 * instructions without CFI, like most coroutine libraries; no unwinder can go past them, and the
 * walk must say so. */
#include "known.h"

#include <string.h>
#include <ucontext.h>

static ucontext_t main_context, own_context;
static char own_stack[256 * 1024] __attribute__ ((aligned (16)));

void run_on_stack (void *top, void (*function) (void));

__asm__(".pushsection .text\n"
        ".globl run_on_stack\n"
        ".type run_on_stack, @function\n"
        "run_on_stack:\n"
        "  push %rbx\n"
        "  mov %rsp, %rbx\n"
        "  mov %rdi, %rsp\n"
        "  call *%rsi\n"
        "  mov %rbx, %rsp\n"
        "  pop %rbx\n"
        "  ret\n"
        ".size run_on_stack, . - run_on_stack\n"
        ".popsection\n");

KNOWN void
hot (void)
{
  spin (500);
}

KNOWN void
coroutine_inner (void)
{
  JUNK_FRAME_POINTER ();
  hot ();
  AFTER_CALL ();
}

KNOWN void
coroutine (void)
{
  coroutine_inner ();
  AFTER_CALL ();
}

int
main (int argc, char **argv)
{
  if (argc > 1 && strcmp (argv[1], "switch") == 0)
    {
      run_on_stack (own_stack + sizeof own_stack, coroutine);
      return 0;
    }
  getcontext (&own_context);
  own_context.uc_stack.ss_sp = own_stack;
  own_context.uc_stack.ss_size = sizeof own_stack;
  own_context.uc_link = &main_context;
  makecontext (&own_context, coroutine, 0);
  return swapcontext (&main_context, &own_context);
}
