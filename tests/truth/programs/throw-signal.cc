// SPDX-License-Identifier: LGPL-2.1-or-later
// SPDX-FileCopyrightText: 2026 The live-unwinder authors

// throw-signal.cc - exceptions thrown by a signal handler, through the signal's frame and through
// many others, and caught at a different depth each time.

#include <csignal>
#include <stdexcept>
#include <unistd.h>

static volatile int sink;

struct Guard
{
  ~Guard ()
  {
    sink = sink + 1;
  }
};

static void
on_fault (int number)
{
  throw std::runtime_error ("from a handler");
}

static int __attribute__ ((noinline)) descend (int n, volatile int *nowhere)
{
  Guard guard;

  if (n == 0)
    return *nowhere;
  return descend (n - 1, nowhere) + sink;
}

static int __attribute__ ((noinline)) attempt (int n)
{
  try
    {
      return descend (n, nullptr);
    }
  catch (const std::runtime_error &)
    {
      return n;
    }
}

static int __attribute__ ((noinline)) run ()
{
  struct sigaction action = {};
  int sum = 0;

  action.sa_handler = on_fault;
  action.sa_flags = SA_NODEFER;
  sigaction (SIGSEGV, &action, nullptr);
  for (int n = 0; n < 6; n++)
    sum += attempt (n);
  return sum != 15;
}

int
main ()
{
  volatile int result; // a call, not a jump

  getppid ();
  result = run ();
  return result;
}
