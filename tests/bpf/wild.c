/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* wild.c - runs with a stack pointer, a frame pointer and a stack full of what does harm, if
 * anything does: random words, addresses of its own code, loops of frame pointers, pages that are
 * not there. For ever; the code has unwind information that is wrong by then. x86-64. */

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define WORDS (1u << 16)

static uint64_t state = 88172645463325252u;

static uint64_t
next (void)
{
  state ^= state << 13;
  state ^= state >> 7;
  return state ^= state << 17;
}

/* Spins with these registers, then comes back. No call: the stack may be anything. */
static void
spin_with (uint64_t sp, uint64_t fp, uint64_t turns)
{
  __asm__ volatile("mov %%rsp, %%r12\n\t"
                   "mov %%rbp, %%r13\n\t"
                   "mov %0, %%rsp\n\t"
                   "mov %1, %%rbp\n\t"
                   "1: dec %2\n\t"
                   "jnz 1b\n\t"
                   "mov %%r12, %%rsp\n\t"
                   "mov %%r13, %%rbp\n\t"
                   :
                   : "r"(sp), "r"(fp), "r"(turns)
                   : "r12", "r13", "memory", "cc");
}

int main (void);

static uint64_t
word (uint64_t stack)
{
  switch (next () % 6)
    {
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
      return stack + 8 * (uint64_t) WORDS + next () % 65536; /* behind its end */
    }
}

int
main (void)
{
  uint64_t *stack = mmap (NULL, WORDS * sizeof *stack, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  if (stack == MAP_FAILED)
    return 1;
  for (;;)
    {
      uint64_t at = (uint64_t) stack;

      for (unsigned i = 0; i < WORDS; i += 1 + next () % 4)
        stack[i] = word (at);
      for (unsigned i = 0; i < 16; i++)
        spin_with (next () % 4 != 0 ? at + 8 * (next () % WORDS) : word (at), word (at), 200000);
    }
}
