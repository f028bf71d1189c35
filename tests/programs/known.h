/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* known.h - definitions shared by the programs with known stacks.
 *
 * A program includes this, marks every function of the stack KNOWN, and burns its time with spin(),
 * which is expanded in the caller. The leaf of a sample is then always the function that the case
 * names, even when the sample was taken in the kernel, because the clock is read with a bare system
 * call and not through libc or the vDSO. Time is CPU time of the thread, so that a busy machine
 * gives as many samples as an idle one. */
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

/* Never inlined, cloned, or renamed. */
#ifdef __clang__
#define KNOWN static __attribute__ ((noinline, used))
#else
#define KNOWN static __attribute__ ((noipa, used))
#endif

/* Placed after a call, it keeps the call from being the last instruction. */
#define AFTER_CALL() __asm__ volatile("" ::: "memory")

/* Fills the frame pointer register with junk: a walk by frame pointers gets lost here. */
#ifdef __i386__
#define JUNK_FRAME_POINTER() __asm__ volatile("movl $0x5a5a5a5a, %%ebp" ::: "ebp")
#elif defined __aarch64__
/* gcc does not save the register for that; its functions have no frame pointers in any case. */
#define JUNK_FRAME_POINTER() ((void) 0)
#else
#define JUNK_FRAME_POINTER() __asm__ volatile("movl $0x5a5a5a5a, %%ebp" ::: "rbp")
#endif

/* CPU time of this thread in nanoseconds. */
static inline __attribute__ ((always_inline)) long long
cpu_time (void)
{
  long now[2] = { 0, 0 };
  long ignored;

#ifdef __i386__
  __asm__ volatile("int $0x80"
                   : "=a"(ignored)
                   : "0"(SYS_clock_gettime), "b"(3 /* CLOCK_THREAD_CPUTIME_ID */), "c"(now)
                   : "memory");
#elif defined __aarch64__
  register long call __asm__("x8") = SYS_clock_gettime;
  register long result __asm__("x0") = 3 /* CLOCK_THREAD_CPUTIME_ID */;
  register long *to __asm__("x1") = now;

  __asm__ volatile("svc #0" : "+r"(result) : "r"(call), "r"(to) : "memory");
  ignored = result;
#else
  __asm__ volatile("syscall"
                   : "=a"(ignored)
                   : "0"(SYS_clock_gettime), "D"(3 /* CLOCK_THREAD_CPUTIME_ID */), "S"(now)
                   : "rcx", "r11", "memory");
#endif
  (void) ignored;
  return now[0] * 1000000000LL + now[1];
}

static inline __attribute__ ((always_inline)) void
spin (unsigned milliseconds)
{
  long long end = cpu_time () + milliseconds * 1000000LL;

  do
    for (unsigned i = 0; i < 200000; i++)
      __asm__ volatile("");
  while (cpu_time () < end);
}

/* Assembles void hot (unsigned long rounds), a leaf that has no CFI and burns time. */
#ifdef __aarch64__
#define HOT_WITHOUT_CFI                                                                            \
  ".globl hot\n"                                                                                   \
  ".type hot, @function\n"                                                                         \
  "hot:\n"                                                                                         \
  "  subs x0, x0, #1\n"                                                                            \
  "  b.ne hot\n"                                                                                   \
  "  ret\n"                                                                                        \
  ".size hot, . - hot\n"
#else
#define HOT_WITHOUT_CFI                                                                            \
  ".globl hot\n"                                                                                   \
  ".type hot, @function\n"                                                                         \
  "hot:\n"                                                                                         \
  "  dec %rdi\n"                                                                                   \
  "  jnz hot\n"                                                                                    \
  "  ret\n"                                                                                        \
  ".size hot, . - hot\n"
#endif
