/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* marker.h - where single steps begin. The frames of functions called before it are not known to
 * the tracer, so main() has nothing of interest: it marks and calls run(). */

#pragma once

#include <unistd.h>

#ifdef __clang__
#define NOINLINE __attribute__ ((noinline))
#else
#define NOINLINE __attribute__ ((noinline, noclone))
#endif

#define MAIN(run)                                                                                  \
  int main (void)                                                                                  \
  {                                                                                                \
    volatile int result; /* a call, not a jump */                                                  \
                                                                                                   \
    getppid ();                                                                                    \
    result = run ();                                                                               \
    return result;                                                                                 \
  }
