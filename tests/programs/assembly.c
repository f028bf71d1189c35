/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* assembly.c - functions in assembly, without CFI and frame pointer, called by a function that
 * keeps one. The frame pointer register is their caller's, and following it skips that caller.
 *
 * hot_odd() takes half a word of the stack, hot_large() more words than are searched for return
 * addresses, and through() calls on. hot_bare() and its caller straight() take none of the stack,
 * so the word above the return address of hot_bare() is that of straight().
 * realigner() keeps its CFA below its frame pointer. */
#include "known.h"

void hot_odd (unsigned long rounds);
void hot_large (unsigned long rounds);
void through (void (*function) (void));
void straight (unsigned long rounds);

#define HOT(name, room)                                                                            \
  ".type " name ", @function\n" name ":\n"                                                         \
  "  sub $" room ", %rsp\n"                                                                        \
  "1: dec %rdi\n"                                                                                  \
  "  jnz 1b\n"                                                                                     \
  "  add $" room ", %rsp\n"                                                                        \
  "  ret\n"                                                                                        \
  ".size " name ", . - " name "\n"

__asm__(".pushsection .text\n" HOT ("hot_odd", "4")
            HOT ("hot_large", "4096") ".type through, @function\n"
                                      "through:\n"
                                      "  sub $72, %rsp\n"
                                      "  call *%rdi\n"
                                      "  add $72, %rsp\n"
                                      "  ret\n"
                                      ".size through, . - through\n"
                                      ".type straight, @function\n"
                                      "straight:\n"
                                      "  call hot_bare\n"
                                      "  ret\n"
                                      ".size straight, . - straight\n"
                                      ".type hot_bare, @function\n"
                                      "hot_bare:\n"
                                      "  dec %rdi\n"
                                      "  jnz hot_bare\n"
                                      "  ret\n"
                                      ".size hot_bare, . - hot_bare\n"
                                      ".popsection\n");

KNOWN void
hot_inner (void)
{
  spin (100);
}

KNOWN void
without_frame_pointer (void)
{
  through (hot_inner);
  for (long long end = cpu_time () + 100 * 1000000LL; cpu_time () < end;)
    straight (400000);
  AFTER_CALL ();
}

/* The arguments on the stack are found through a register that this frame holds a copy of. */
KNOWN void
realigner (int a, int b, int c, int d, int e, int f, int g, int h)
{
  __attribute__ ((aligned (64))) volatile int is_stopped = 0;

  for (long long end = cpu_time () + 100 * 1000000LL;
       cpu_time () < end && is_stopped < a + b + c + d + e + f + g + h;)
    straight (400000);
  AFTER_CALL ();
}

/* The alignment makes the compiler keep a frame pointer. */
KNOWN void
keeper (void)
{
  __attribute__ ((aligned (64))) volatile int is_stopped = 0;

  for (long long end = cpu_time () + 200 * 1000000LL; cpu_time () < end && !is_stopped;)
    {
      hot_odd (400000);
      hot_large (400000);
    }
  without_frame_pointer ();
  realigner (1, 2, 3, 4, 5, 6, 7, 8);
  AFTER_CALL ();
}

KNOWN void
outer (void)
{
  keeper ();
  AFTER_CALL ();
}

int
main (void)
{
  for (int i = 0; i < 4; i++)
    outer ();
  return 0;
}
