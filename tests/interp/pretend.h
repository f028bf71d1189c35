/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* pretend.h - what programs have in common that claim to be an interpreter, with structures as a
 * hostile process would make them. They only burn time, in a function with the name of the
 * interpreter's. Each is called as PROGRAM KIND SECONDS:
 *
 *   cycle     frames and threads lead back to themselves
 *   wild      every word is a pointer to anywhere
 *   lies      sizes of texts and tables are far too large, names have control characters
 *   flood     each sample sees thousands of functions that nobody has seen before
 *   changing  another thread rewrites all of that all the time */

#pragma once

#include <stdint.h>

#define UGLY_NAME "\033[2J\nroot:x\r\t\001"

struct pretence
{
  void (*make_chain) (void);         /* what a real interpreter might have */
  void (*point_at) (uint64_t place); /* has the first frame there */
  void (*make_lies) (void);
  void (*make_cycle) (void);
  void (*make_flood) (void);
};

/* Each program has these two, by PRETEND. */
extern const struct pretence pretence;
/* Calls the function that has the interpreter's name, which calls burn(). */
void run (double seconds);

/* Defines both for a program that has the five functions of struct pretence, with their names.
 * FUNCTION is the interpreter's. The empty instruction keeps it on the stack: burn() is not its
 * last act. */
#define PRETEND(FUNCTION)                                                                          \
  const struct pretence pretence = { make_chain, point_at, make_lies, make_cycle, make_flood };    \
                                                                                                   \
  __attribute__ ((noinline)) void FUNCTION (double seconds)                                        \
  {                                                                                                \
    burn (seconds);                                                                                \
    __asm__ volatile("");                                                                          \
  }                                                                                                \
                                                                                                   \
  void run (double seconds)                                                                        \
  {                                                                                                \
    FUNCTION (seconds);                                                                            \
  }

/* Changes the structures as KIND says until the time is over. */
void burn (double seconds);

/* Returns pthread_self() of the thread that burns time, for any thread. */
uint64_t own_thread (void);
uint64_t address_of (const void *object);
/* Returns the size in bytes of a text that has another one. */
uint64_t wrong_size (void);
