/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* wild.c - runs with a stack pointer, a frame pointer and a stack full of harmful values: random
 * words, addresses of code with and without unwind information, loops of frame pointers, missing
 * pages. It runs for ever in code without unwind information, so that frames are inferred: in
 * memory without a file, and in this one. x86-64. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS (1u << 16)
/* Neither a user's address nor the kernel's. */
#define NON_CANONICAL ((uint64_t) 1 << 63)

static uint64_t state = 88172645463325252u;

static uint64_t
next (void)
{
  state ^= state << 13;
  state ^= state >> 7;
  return state ^= state << 17;
}

/* dec %rcx; jnz back; jmp *%r14 */
static const uint8_t __attribute__ ((section (".text.loop")))
loop[] = { 0x48, 0xff, 0xc9, 0x75, 0xfb, 0x41, 0xff, 0xe6 };

/* Spins with these registers in the loop at `code`, then returns. It makes no call, because the
 * stack may be anything. */
static void
spin_with (uint64_t sp, uint64_t fp, uint64_t turns, const uint8_t *code)
{
  __asm__ volatile("mov %%rsp, %%r12\n\t"
                   "mov %%rbp, %%r13\n\t"
                   "lea 1f(%%rip), %%r14\n\t"
                   "mov %[sp], %%rsp\n\t"
                   "mov %[fp], %%rbp\n\t"
                   "jmp *%[code]\n\t"
                   "1: mov %%r12, %%rsp\n\t"
                   "mov %%r13, %%rbp\n\t"
                   : "+c"(turns)
                   : [sp] "S"(sp), [fp] "D"(fp), [code] "a"(code)
                   : "r12", "r13", "r14", "memory", "cc");
}

int main (void);

/* Returns a random word; `code` is the address of the loop, in memory without a file. */
static uint64_t
word (uint64_t stack, uint64_t code)
{
  switch (next () % 7)
    {
    case 6:
      return code + next () % 64;
    case 0:
      return next ();
    case 1:
      return (uint64_t) main + next () % 512;
    case 2:
      return stack + 8 * (next () % WORDS); /* up and down */
    case 3:
      return (uint64_t) calloc + next () % 65536;
    case 4:
      return next () % 8192;
    default:
      return stack + 8 * (uint64_t) WORDS + next () % 65536; /* beyond its end */
    }
}

/* Returns whether interrupts leave code with such a stack pointer alone: a kernel that runs as a
 * guest without hardware's help (PVM) ends it. */
static int
may_be_non_canonical (void)
{
  int status = 1;
  pid_t child = fork ();

  if (child == 0)
    {
      spin_with (NON_CANONICAL, NON_CANONICAL, 100000000, loop);
      _exit (0);
    }
  return child > 0 && waitpid (child, &status, 0) == child && status == 0;
}

int
main (void)
{
  uint64_t mask = may_be_non_canonical () ? UINT64_MAX : NON_CANONICAL / 65536 - 1;
  uint8_t *code =
      mmap (NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  uint64_t *stack = mmap (NULL, WORDS * sizeof *stack, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  if (stack == MAP_FAILED || code == MAP_FAILED)
    return 1;
  memcpy (code, loop, sizeof loop);
  for (;;)
    {
      uint64_t at = (uint64_t) stack;

      for (unsigned i = 0; i < WORDS; i += 1 + next () % 4)
        stack[i] = word (at, (uint64_t) code);
      for (unsigned i = 0; i < 16; i++)
        {
          uint64_t sp = next () % 4 != 0 ? at + 8 * (next () % WORDS) : word (at, (uint64_t) code);

          spin_with (sp & mask,
                     next () % 2 != 0 ? sp + 8 * (next () % 64) : word (at, (uint64_t) code),
                     200000, next () % 2 != 0 ? code : loop);
        }
    }
}
