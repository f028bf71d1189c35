/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* tower.c DEPTH [calls|signals|child|heir|mappings|edge|turns] - puts DEPTH frames of one function
 * on the stack, without frame pointers, and then runs for ever: a plain loop, calls into the
 * kernel, signals whose handler runs on a stack of its own, or a child that does likewise, from the
 * start or after SIGUSR1. Otherwise SIGUSR1 makes it execute itself anew. "mappings" makes
 * thousands of mappings first. "edge" puts frames of 16 bytes at odd words up to the last word
 * before a page that is not there (x86-64 only): at the end of each page a frame pointer would be
 * in one page, and the return address in the next. "turns" changes all the time between the frames
 * of two functions, which are in the same places. */

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <unistd.h>

static char alternate[64 << 10];
static volatile int is_over; /* never */

static __attribute__ ((noinline)) void
spin (unsigned turns)
{
  for (unsigned i = 0; i < turns; i++)
    __asm__ volatile("");
}

static void
handle (int number)
{
  spin (2000000);
  __asm__ volatile("");
}

static void
begin_anew (int number)
{
  char depth[] = "10";
  char *argv[] = { depth, depth, NULL };

  execv ("/proc/self/exe", argv);
}

static void
have_child (int number)
{
  if (fork () == 0)
    prctl (PR_SET_PDEATHSIG, SIGKILL);
}

static void
expect_signals (void)
{
  struct sigaction action = { .sa_handler = handle, .sa_flags = SA_ONSTACK };
  struct itimerval timer = { { 0, 5000 }, { 0, 5000 } };
  stack_t stack = { .ss_sp = alternate, .ss_size = sizeof alternate };

  sigaltstack (&stack, NULL);
  sigaction (SIGALRM, &action, NULL);
  setitimer (ITIMER_REAL, &timer, NULL);
}

/* Makes enough mappings for four levels of the kernel's tree. */
static void
make_mappings (void)
{
  enum
  {
    PAGE = 4096,
    N = 4000
  };
  char *at = mmap (NULL, N * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  for (size_t i = 0; at != MAP_FAILED && i < N; i += 2)
    mprotect (at + i * PAGE, PAGE, PROT_READ);
}

/* The comment keeps the compiler from making one function of two. */
#define CLIMBER(NAME)                                                                              \
  static __attribute__ ((noinline)) void NAME (unsigned n)                                         \
  {                                                                                                \
    if (n > 1)                                                                                     \
      NAME (n - 1);                                                                                \
    else                                                                                           \
      spin (100000);                                                                               \
    __asm__ volatile("# " #NAME);                                                                  \
  }

CLIMBER (climb_left)
CLIMBER (climb_right)

static void
take_turns (void)
{
  for (;;)
    {
      climb_left (20);
      climb_right (20);
    }
}

#ifdef __x86_64__
/* Leaves the stack for the one that ends at `end`, puts `n` frames of 16 bytes there, and spins. */
_Noreturn void climb_oddly (unsigned n, const char *end);
__asm__(".text\n\t"
        ".type climb_oddly, @function\n"
        "climb_oddly:\n\t"
        ".cfi_startproc\n\t"
        ".cfi_undefined rip\n\t"
        "lea -8(%rsi), %rsp\n\t"
        "call 1f\n\t"
        "ud2\n\t"
        ".cfi_endproc\n\t"
        ".size climb_oddly, . - climb_oddly\n\t"
        ".type climb_further, @function\n"
        "climb_further:\n"
        "1:\t.cfi_startproc\n\t"
        "sub $8, %rsp\n\t"
        ".cfi_adjust_cfa_offset 8\n\t"
        "dec %edi\n\t"
        "jz 2f\n\t"
        "call 1b\n"
        "2: jmp 2b\n\t"
        ".cfi_endproc\n\t"
        ".size climb_further, . - climb_further");

static void
climb_at_edge (unsigned n)
{
  enum
  {
    BYTES = 1 << 20,
    PAGE = 4096
  };
  char *stack =
      mmap (NULL, BYTES + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  if (stack == MAP_FAILED || mprotect (stack + BYTES, PAGE, PROT_NONE) != 0)
    exit (1);
  climb_oddly (n, stack + BYTES);
}
#endif

static __attribute__ ((noinline)) void
top (const char *what)
{
  if (strcmp (what, "mappings") == 0)
    make_mappings ();
  if (strcmp (what, "turns") == 0)
    take_turns ();
  if (strcmp (what, "signals") == 0)
    expect_signals ();
  if (strcmp (what, "child") == 0)
    have_child (0);
  if (strcmp (what, "heir") == 0)
    signal (SIGUSR1, have_child);
  while (!is_over)
    if (strcmp (what, "calls") == 0)
      getppid ();
    else
      spin (1000000);
}

static __attribute__ ((noinline)) void
climb (unsigned n, const char *what)
{
  if (n > 1)
    climb (n - 1, what);
  else
    top (what);
  __asm__ volatile("");
}

int
main (int argc, char **argv)
{
  signal (SIGUSR1, begin_anew);
#ifdef __x86_64__
  if (argc > 2 && strcmp (argv[2], "edge") == 0)
    climb_at_edge ((unsigned) atoi (argv[1]));
#endif
  climb (argc > 1 ? (unsigned) atoi (argv[1]) : 1, argc > 2 ? argv[2] : "");
  return 0;
}
