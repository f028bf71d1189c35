// SPDX-License-Identifier: LGPL-2.1-or-later
// SPDX-FileCopyrightText: 2026 The live-unwinder authors

// Recursion, ranges, garbage and exceptions, in D.
import std.algorithm, std.array, std.conv, std.range, std.stdio;

int fibonacci (int n) { return n < 2 ? n : fibonacci (n - 1) + fibonacci (n - 2); }

int depth (int n)
{
  if (n == 0)
    throw new Exception ("deep");
  return depth (n - 1) + 1;
}

int thrown ()
{
  try
    return depth (30);
  catch (Exception error)
    return cast (int) error.msg.length;
}

void main ()
{
  long sum = 0;
  foreach (round; 0 .. 20)
    {
      string[] words = iota (2000).map! (i => "word" ~ to! string (i * 7919 % 1009)).array;
      int[string] counts;
      foreach (word; words.sort! ((a, b) => a > b))
        counts[word]++;
      sum += counts.length + fibonacci (22) + thrown ();
    }
  writeln (sum);
}
