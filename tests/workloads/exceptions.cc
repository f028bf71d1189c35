// SPDX-License-Identifier: LGPL-2.1-or-later
// SPDX-FileCopyrightText: 2026 The live-unwinder authors
//
// exceptions.cc - the workload C++: throws through many frames, often, for some CPU seconds.

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <stdexcept>
#include <string>
#include <vector>

struct Guard
{
  long &count;
  explicit Guard (long &c) : count (c)
  {
    count++;
  }
  ~Guard ()
  {
    count--;
  }
};

static long open_guards;

__attribute__ ((noinline)) static int
descend (int depth, std::vector<std::string> &names)
{
  Guard guard (open_guards);

  if (depth == 0)
    throw std::runtime_error ("bottom of " + names.back ());
  names.push_back (names.back () + static_cast<char> ('a' + depth % 26));
  if (names.back ().size () > 40)
    names.back ().resize (3);
  int below = descend (depth - 1, names);
  names.pop_back ();
  return below + 1;
}

__attribute__ ((noinline)) static int
rethrow (int depth, std::vector<std::string> &names)
{
  try
    {
      return descend (depth, names);
    }
  catch (const std::runtime_error &error)
    {
      throw std::logic_error (error.what ());
    }
}

int
main (int, char **argv)
{
  const double seconds = std::atof (argv[1]);
  unsigned long caught = 0;

  for (int i = 0; std::clock () < seconds * CLOCKS_PER_SEC; i++)
    {
      std::vector<std::string> names{ "top" };
      try
        {
          rethrow (i % 60, names);
        }
      catch (const std::exception &error)
        {
          caught += std::string (error.what ()).size ();
        }
    }
  std::printf ("%lu %ld\n", caught, open_guards);
  return open_guards != 0;
}
