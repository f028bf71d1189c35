/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* coroutine.c - `coroutine context|fcontext|zero|last|switch`: burns its time on a stack of its
 * own.
 *
 * `context` uses libc's makecontext; the stack ends in libc. `fcontext` begins it with the code of
 * Boost's make_fcontext(), and `zero` with a return address and a frame pointer of 0. So does
 * `last`, as Ruby does: its first function ends with a call that never returns.
 * `switch` uses a few hand-written instructions without CFI, like most coroutine libraries: a walk
 * can go past them only by what they have kept in rbx, or must say that it ends there. */
#include "known.h"

#include <string.h>
#include <ucontext.h>

static ucontext_t main_context, own_context;
static char own_stack[256 * 1024] __attribute__ ((aligned (16)));

void run_on_stack (void *top, void (*function) (void));
/* The function returns to `root`. */
void run_from_root (void *top, void (*function) (void), const void *root);
extern const char finish[];

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

        ".globl run_from_root\n"
        ".type run_from_root, @function\n"
        "run_from_root:\n"
        "  mov %rdi, %rsp\n"
        "  push %rdx\n"
        "  xor %ebp, %ebp\n"
        "  jmp *%rsi\n"
        ".size run_from_root, . - run_from_root\n"

        ".type make_fcontext, @function\n"
        "make_fcontext:\n"
        "  push %rbp\n"
        "  jmp *%rbx\n"
        ".globl finish\n"
        "finish:\n"
        "  xor %rdi, %rdi\n"
        "  call _exit@PLT\n"
        "  hlt\n"
        ".size make_fcontext, . - make_fcontext\n"
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

/* For a stack without anything to return to. */
KNOWN void
coroutine_for_ever (void)
{
  coroutine_inner ();
  _exit (0);
}

KNOWN __attribute__ ((noreturn)) void
coroutine_end (void)
{
  coroutine_inner ();
  _exit (0);
}

KNOWN __attribute__ ((noreturn)) void
coroutine_last (void)
{
  coroutine_end ();
}

int
main (int argc, char **argv)
{
  if (argc > 1 && strcmp (argv[1], "switch") == 0)
    {
      run_on_stack (own_stack + sizeof own_stack, coroutine);
      return 0;
    }
  if (argc > 1 && strcmp (argv[1], "fcontext") == 0)
    run_from_root (own_stack + sizeof own_stack, coroutine, finish);
  if (argc > 1 && strcmp (argv[1], "zero") == 0)
    run_from_root (own_stack + sizeof own_stack, coroutine_for_ever, NULL);
  if (argc > 1 && strcmp (argv[1], "last") == 0)
    run_from_root (own_stack + sizeof own_stack, coroutine_last, NULL);
  getcontext (&own_context);
  own_context.uc_stack.ss_sp = own_stack;
  own_context.uc_stack.ss_size = sizeof own_stack;
  own_context.uc_link = &main_context;
  makecontext (&own_context, coroutine, 0);
  return swapcontext (&main_context, &own_context);
}
