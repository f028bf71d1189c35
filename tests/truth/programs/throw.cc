// SPDX-License-Identifier: LGPL-2.1-or-later
// SPDX-FileCopyrightText: 2026 The live-unwinder authors

// throw.cc - exceptions through frames with destructors, rethrown, and across a callback from C.

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <unistd.h>

struct Guard
{
  int &count;
  explicit Guard (int &count_) : count (count_)
  {
  }
  ~Guard ()
  {
    count++;
  }
};

static int __attribute__ ((noinline)) deep (int n, int &count)
{
  Guard guard (count);

  if (n == 0)
    throw std::runtime_error ("at the bottom");
  return deep (n - 1, count) + count;
}

static int __attribute__ ((noinline)) middle (int &count)
{
  try
    {
      return deep (6, count);
    }
  catch (const std::logic_error &)
    {
      return 0;
    }
  catch (const std::runtime_error &)
    {
      throw;
    }
}

static int
compare (const void *left, const void *right)
{
  throw std::string ("from a callback");
}

static int __attribute__ ((noinline)) run ()
{
  int count = 0, numbers[4] = { 4, 3, 2, 1 };

  for (int i = 0; i < 3; i++)
    {
      try
        {
          count += middle (count);
        }
      catch (const std::exception &error)
        {
          count += (int) std::string (error.what ()).size ();
        }
      try
        {
          std::qsort (numbers, 4, sizeof numbers[0], compare);
        }
      catch (const std::string &text)
        {
          count += (int) text.size ();
        }
    }
  return count == 0;
}

int
main ()
{
  volatile int result; // a call, not a jump

  getppid ();
  result = run ();
  return result;
}
