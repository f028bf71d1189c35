/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* self.c TABLE - an aarch64 program that walks its own stack, by the table that table.c made of it
 * and include/lu/step.h, and compares with what its functions wrote down.
 *
 * Static, at a fixed address, run by qemu's user emulation. Functions write down where they return
 * to; those addresses must be on the stack in that order, and the walk must end at the outermost
 * frame. C library functions in between are walked through. */

#include "lu/step.h"

#include <alloca.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#ifdef __clang__
#define NOINLINE __attribute__ ((noinline))
#else
#define NOINLINE __attribute__ ((noinline, noclone))
#endif
#define HERE() __asm__ volatile("" ::: "memory")

#define MAX_TABLE  (4 << 20)
#define MAX_FRAMES 4096
#define STACK_SIZE (256 << 10)
/* mov x8, 139: where the kernel lets handlers return to. */
#define SIGRETURN 0xd2801168u
/* A return address may carry its signature in the bits above. */
#define ADDRESS_MASK ((1ull << 48) - 1)

static struct lu_rows rows;
static const struct lu_rule *rules;

/* As src/table/rule.c makes it for the vDSO, which emulation does not have. */
static const struct lu_rule restorer = {
  .cfa_kind = LU_CFA_DEREF_SP,
  .aux = 560,
  .saves = LU_SAVE_AT_SP | LU_SAVE_UNKNOWN << 4,
  .fp_off = 68,
  .bx_off = 69,
  .ra_kind = LU_RA_AT_SP,
  .ra_off = 71,
  .flags = LU_RULE_SIGNAL | LU_RULE_SIGFRAME,
};

/* Leaf last, while functions are entered and left. */
static uint64_t chain[MAX_FRAMES];
static unsigned n_chain;
static uint64_t stack_end;
static char other_stack[STACK_SIZE];

static unsigned n_tests, n_walks, n_failed;

#define ENTER() (chain[n_chain++] = (uint64_t) __builtin_return_address (0) & ADDRESS_MASK)
#define LEAVE()                                                                                    \
  do                                                                                               \
    {                                                                                              \
      HERE ();                                                                                     \
      n_chain--;                                                                                   \
    }                                                                                              \
  while (0)

/* The walk */

static int
read_word (void *data, uint64_t address, uint64_t *value)
{
  uint64_t low = *(uint64_t *) data, other = (uint64_t) other_stack;

  if ((address < low || address > stack_end - 8)
      && (address < other || address > other + STACK_SIZE - 8))
    return 0;
  memcpy (value, (const void *) address, sizeof *value);
  return 1;
}

static int
read_sampled (void *data, uint32_t number, uint64_t *value)
{
  return 0;
}

/* Whether the address can be read at all. */
static int
is_code (uint64_t address)
{
  return address % 4 == 0 && (access ((const char *) address, F_OK) == 0 || errno != EFAULT);
}

static const struct lu_rule *
find_rule (const struct lu_regs *regs)
{
  uint64_t lookup = regs->pc - (regs->frame_kind == LU_FRAME_KIND_CALLER);
  const struct lu_rule *rule = &rules[lu_rows_find (&rows, lookup)];

  if (rule->cfa_kind == LU_CFA_NONE && is_code (regs->pc)
      && *(const uint32_t *) regs->pc == SIGRETURN)
    return &restorer;
  return rule;
}

static void
complain (const char *what, unsigned depth, const struct lu_regs *regs, int result)
{
  printf ("# %s at depth %u: pc %#lx sp %#lx, result %d, %u of the chain left\n", what, depth,
          (unsigned long) regs->pc, (unsigned long) regs->sp, result, n_chain);
  n_failed++;
}

/* Walks from these registers to the end and looks for the chain on the way. */
static void
walk (struct lu_regs *regs)
{
  uint64_t low = regs->sp < stack_end ? regs->sp : 0;
  unsigned left = n_chain;
  int result = LU_STEP_CALLER;

  n_walks++;
  for (unsigned depth = 0; depth < MAX_FRAMES; depth++)
    {
      result = lu_step (regs, find_rule (regs), read_word, read_sampled, &low);
      if (result != LU_STEP_CALLER)
        {
          if (result != LU_STATUS_COMPLETE || left > 0)
            complain ("ended", depth, regs, result);
          return;
        }
      /* On a stack of its own a handler's frames may be anywhere to the interrupted ones. */
      if (regs->frame_kind == LU_FRAME_KIND_INTERRUPTED)
        low = 0;
      if (left > 0 && regs->pc == chain[left - 1])
        left--;
    }
  complain ("no end", MAX_FRAMES, regs, result);
}

static NOINLINE void
walk_here (void)
{
  struct lu_regs regs = {
    .address_mask = ADDRESS_MASK,
    .known = LU_KNOWN_FP | LU_KNOWN_LINK,
    .frame_kind = LU_FRAME_KIND_SAMPLED,
  };

  ENTER ();
  __asm__ volatile("adr %0, .\n\tmov %1, sp\n\tmov %2, x29\n\tmov %3, x30"
                   : "=r"(regs.pc), "=r"(regs.sp), "=r"(regs.fp), "=r"(regs.link));
  walk (&regs);
  LEAVE ();
}

/* Frames of all kinds */

static NOINLINE void
plain (void)
{
  ENTER ();
  walk_here ();
  LEAVE ();
}

static NOINLINE int
recurse (int depth)
{
  int result;

  ENTER ();
  if (depth == 0)
    walk_here ();
  result = depth > 0 ? recurse (depth - 1) : 1;
  LEAVE ();
  return result + 1;
}

static NOINLINE int
large (int n)
{
  volatile char bytes[70000];

  ENTER ();
  memset ((char *) bytes, n, sizeof bytes);
  walk_here ();
  LEAVE ();
  return bytes[n];
}

static NOINLINE int
dynamic (int n)
{
  volatile char *bytes = alloca ((size_t) n);

  ENTER ();
  memset ((char *) bytes, n, (size_t) n);
  plain ();
  LEAVE ();
  return bytes[1];
}

static NOINLINE double
variadic (int n, ...)
{
  double sum = 0;
  va_list list;

  ENTER ();
  va_start (list, n);
  while (n-- > 0)
    sum += va_arg (list, double);
  va_end (list);
  plain ();
  LEAVE ();
  return sum;
}

static int
compare (const void *left, const void *right)
{
  int result = *(const int *) left - *(const int *) right;

  ENTER ();
  walk_here ();
  LEAVE ();
  return result;
}

static NOINLINE void
callback (void)
{
  int numbers[] = { 3, 1, 2, 5, 4 };

  ENTER ();
  qsort (numbers, 5, sizeof numbers[0], compare);
  LEAVE ();
}

/* Signals */

static volatile uint64_t n_spins, until;
static volatile sig_atomic_t n_signals;

static void
on_signal (int number)
{
  ENTER ();
  walk_here ();
  LEAVE ();
  if (n_signals++ == 0 && number == SIGUSR1)
    raise (SIGUSR2);
}

/* A leaf: its return address is in the link register and nowhere else. */
static NOINLINE void
spin (void)
{
  while (n_spins < until)
    n_spins++;
}

/* The timer's signal interrupts spin(), or this function. */
static NOINLINE void
interrupted (int flags)
{
  struct sigaction action = { .sa_handler = on_signal, .sa_flags = flags };
  struct itimerval timer = { { 0, 2000 }, { 0, 2000 } }, off = { { 0, 0 }, { 0, 0 } };

  ENTER ();
  n_signals = 1;
  sigaction (SIGALRM, &action, NULL);
  setitimer (ITIMER_REAL, &timer, NULL);
  while (n_signals < 20)
    {
      until = n_spins + 10000;
      spin ();
    }
  setitimer (ITIMER_REAL, &off, NULL);
  LEAVE ();
}

static NOINLINE void
raised (int flags)
{
  struct sigaction action = { .sa_handler = on_signal, .sa_flags = flags };

  ENTER ();
  n_signals = 0;
  sigaction (SIGUSR1, &action, NULL);
  sigaction (SIGUSR2, &action, NULL);
  raise (SIGUSR1);
  LEAVE ();
}

static void
use_other_stack (void)
{
  stack_t stack = { .ss_sp = other_stack, .ss_size = sizeof other_stack };

  sigaltstack (&stack, NULL);
}

/* The program */

static int
load (const char *path)
{
  static uint64_t bytes[MAX_TABLE / 8];
  const uint32_t *words = (const uint32_t *) bytes;
  int fd = open (path, O_RDONLY);
  ssize_t size = fd >= 0 ? read (fd, bytes, sizeof bytes) : -1;

  if (size < 24)
    return 0;
  rows.base = bytes[0];
  rows.n_pages = words[2];
  rows.pages = words + 6;
  rows.rows = rows.pages + rows.n_pages + 2; /* behind rule 0 */
  rules = (const struct lu_rule *) (rows.rows + words[3]);
  return 1;
}

static void
result (const char *name)
{
  static unsigned n_before, n_bpf_unwound;

  printf ("%sok %u - %s (%u walks)\n",
          n_failed > n_before || n_walks == n_bpf_unwound ? "not " : "", ++n_tests, name,
          n_walks - n_bpf_unwound);
  n_before = n_failed;
  n_bpf_unwound = n_walks;
}

static NOINLINE void
run (void)
{
  ENTER ();
  plain ();
  result ("plain frames");
  recurse (500);
  result ("recursion");
  large (3);
  result ("a large frame");
  dynamic (1000);
  result ("a frame of a size known at run time");
  variadic (3, 1., 2., 3.);
  result ("variable arguments");
  callback ();
  result ("a callback from the C library");
  raised (0);
  result ("signals, one within the other");
  interrupted (SA_RESTART);
  result ("a leaf interrupted by signals");
  use_other_stack ();
  raised (SA_ONSTACK);
  result ("signals on an alternate stack");
  interrupted (SA_ONSTACK);
  result ("a leaf interrupted, on an alternate stack");
  LEAVE ();
}

int
main (int argc, char **argv)
{
  setvbuf (stdout, NULL, _IONBF, 0);
  if (argc < 2 || !load (argv[1]))
    {
      printf ("Bail out! no table\n");
      return 2;
    }
  stack_end = (uint64_t) argv[argc - 1];
  run ();
  HERE ();
  printf ("1..%u\n", n_tests);
  return n_failed > 0;
}
