/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* go-switch.c - `go-switch sched|slots|frame`: works on another stack as Go's runtime does, by the
 * same instructions: runtime.systemstack of Go 1.19 knows its own stack by g.sched,
 * runtime.asmcgocall by words of its frame, runtime.nanotime1 by the frame pointer. */
#include "go-table.h"
#include "known.h"

#include <stddef.h>
#include <string.h>

/* As runtime/runtime2.go has them. */
struct g
{
  char *stack_start, *stack_end;
  void *others[4];
  struct m *m;
  char *sched_sp;
};

struct m
{
  struct g *g0;
  void *others[23];
  struct g *curg;
};

_Static_assert(offsetof (struct g, m) == 0x30 && offsetof (struct g, sched_sp) == 0x38,
               "as in the code");
_Static_assert(offsetof (struct m, curg) == 0xc0, "as in the code");

__thread struct g *go_g;
static char other_stack[256 * 1024] __attribute__ ((aligned (16)));

/* Saves what C expects to be kept, and calls. */
void call_kept (void (*how) (void (*) (void)), void (*function) (void));
void sched (void (*function) (void)) __asm__("runtime.systemstack");
void slots (void (*function) (void)) __asm__("runtime.asmcgocall");
void frame (void (*function) (void)) __asm__("runtime.nanotime1");

#define G              "%fs:go_g@tpoff"
#define FUNCTION(name) ".globl " name "\n.type " name ", @function\n" name ":\n"

__asm__(GO_TABLE (
    "3",
    GO_PLACE ("runtime.systemstack", "1") GO_PLACE ("runtime.asmcgocall", "2")
        GO_PLACE ("runtime.nanotime1", "3"),
    GO_ENTRY ("runtime.systemstack", "1", "6") GO_ENTRY ("runtime.asmcgocall", "2", "6")
        GO_ENTRY ("runtime.nanotime1", "3", "6"),
    GO_NAME ("runtime.systemstack", "1") GO_NAME ("runtime.asmcgocall", "2") GO_NAME (
        "runtime.nanotime1",
        "3")) ".pushsection .text\n" FUNCTION ("call_kept") "  .cfi_startproc\n"
                                                            "  push %rbx\n"
                                                            "  .cfi_def_cfa_offset 16\n"
                                                            "  .cfi_offset rbx, -16\n"
                                                            "  push %r12\n"
                                                            "  .cfi_def_cfa_offset 24\n"
                                                            "  .cfi_offset r12, -24\n"
                                                            "  push %rbp\n"
                                                            "  .cfi_def_cfa_offset 32\n"
                                                            "  .cfi_offset rbp, -32\n"
                                                            "  mov %rdi, %rax\n"
                                                            "  mov %rsi, %rdi\n"
                                                            "  call *%rax\n"
                                                            "  pop %rbp\n"
                                                            "  .cfi_def_cfa_offset 24\n"
                                                            "  pop %r12\n"
                                                            "  .cfi_def_cfa_offset 16\n"
                                                            "  pop %rbx\n"
                                                            "  .cfi_def_cfa_offset 8\n"
                                                            "  ret\n"
                                                            "  .cfi_endproc\n"
                                                            ".size call_kept, . - "
                                                            "call_kept\n" GO_TEXT FUNCTION (
                                                                "runtime.systemstack") "  mov " G
                                                                                       ", %rax\n"
                                                                                       "  mov "
                                                                                       "0x30(%rax),"
                                                                                       " %rbx\n"
                                                                                       "  mov "
                                                                                       "(%rbx), "
                                                                                       "%rdx\n"
                                                                                       "  cmp "
                                                                                       "0xc0(%rbx),"
                                                                                       " %rax\n"
                                                                                       "  jne 1f\n"
                                                                                       "  mov "
                                                                                       "%rsp, "
                                                                                       "0x38(%rax)"
                                                                                       "\n"
                                                                                       "  mov "
                                                                                       "%rdx, " G
                                                                                       "\n"
                                                                                       "  mov "
                                                                                       "0x38(%rdx),"
                                                                                       " %rbx\n"
                                                                                       "  mov "
                                                                                       "%rbx, "
                                                                                       "%rsp\n"
                                                                                       "  call "
                                                                                       "*%rdi\n"
                                                                                       "  mov " G
                                                                                       ", %rax\n"
                                                                                       "  mov "
                                                                                       "0x30(%rax),"
                                                                                       " %rbx\n"
                                                                                       "  mov "
                                                                                       "0xc0(%rbx),"
                                                                                       " %rax\n"
                                                                                       "  mov "
                                                                                       "%rax, " G
                                                                                       "\n"
                                                                                       "  mov "
                                                                                       "0x38(%rax),"
                                                                                       " %rsp\n"
                                                                                       "  ret\n"
                                                                                       "1: int3\n"
                                                                                       ".size "
                                                                                       "runtime."
                                                                                       "systemstack"
                                                                                       ", . - "
                                                                                       "runtime."
                                                                                       "systemstack"
                                                                                       "\n" FUNCTION (
                                                                                           "runtime"
                                                                                           ".asmcgo"
                                                                                           "call") "  mov %rsp, %rdx\n"
                                                                                                   "  mov " G
                                                                                                   ", %rsi\n"
                                                                                                   "  mov 0x30(%rsi), %r8\n"
                                                                                                   "  mov (%r8), %r8\n"
                                                                                                   "  mov 0x38(%r8), %rsp\n"
                                                                                                   "  sub $64, %rsp\n"
                                                                                                   "  and $-16, %rsp\n"
                                                                                                   "  mov %rsi, 48(%rsp)\n"
                                                                                                   "  mov 8(%rsi), %rsi\n"
                                                                                                   "  sub %rdx, %rsi\n"
                                                                                                   "  mov %rsi, 40(%rsp)\n"
                                                                                                   "  call *%rdi\n"
                                                                                                   "  mov 48(%rsp), %rdi\n"
                                                                                                   "  mov 8(%rdi), %rsi\n"
                                                                                                   "  sub 40(%rsp), %rsi\n"
                                                                                                   "  mov %rsi, %rsp\n"
                                                                                                   "  ret\n"
                                                                                                   "  .skip 16, 0xcc\n"
                                                                                                   ".size runtime.asmcgocall, . - runtime.asmcgocall\n" FUNCTION (
                                                                                                       "runtime.nanotime1") "  sub $0x18, %rsp\n"
                                                                                                                            "  mov %rbp, 0x10(%rsp)\n"
                                                                                                                            "  lea 0x10(%rsp), %rbp\n"
                                                                                                                            "  mov %rsp, %r12\n"
                                                                                                                            "  mov " G
                                                                                                                            ", %rax\n"
                                                                                                                            "  mov 0x30(%rax), %rax\n"
                                                                                                                            "  mov (%rax), %rax\n"
                                                                                                                            "  mov 0x38(%rax), %rsp\n"
                                                                                                                            "  call *%rdi\n"
                                                                                                                            "  mov %r12, %rsp\n"
                                                                                                                            "  mov 0x10(%rsp), %rbp\n"
                                                                                                                            "  add $0x18, %rsp\n"
                                                                                                                            "  ret\n"
                                                                                                                            ".size runtime.nanotime1, . - runtime.nanotime1\n" GO_TEXT_END
                                                                                                                            ".popsection\n");

KNOWN void
hot (void)
{
  spin (500);
}

KNOWN void
on_other_stack (void)
{
  hot ();
  AFTER_CALL ();
}

KNOWN void
goroutine (void (*how) (void (*) (void)))
{
  call_kept (how, on_other_stack);
  AFTER_CALL ();
}

int
main (int argc, char **argv)
{
  static struct g g0 = { .sched_sp = other_stack + sizeof other_stack }, g;
  static struct m m = { .g0 = &g0, .curg = &g };
  const char *how = argc > 1 ? argv[1] : "";

  g0.m = g.m = &m;
  g.stack_end = (char *) __builtin_frame_address (0);
  go_g = &g;
  goroutine (strcmp (how, "sched") == 0 ? sched : strcmp (how, "slots") == 0 ? slots : frame);
  return 0;
}
