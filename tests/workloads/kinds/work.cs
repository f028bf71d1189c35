// SPDX-License-Identifier: LGPL-2.1-or-later
// SPDX-FileCopyrightText: 2026 The live-unwinder authors

// Recursion, sorting with a delegate, dictionaries, exceptions and text, for Mono.

using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Text;

class Work
{
  static int Fibonacci (int n) { return n < 2 ? n : Fibonacci (n - 1) + Fibonacci (n - 2); }

  static int Depth (int n)
  {
    if (n == 0)
      throw new InvalidOperationException ("deep");
    return Depth (n - 1) + 1;
  }

  static int Thrown ()
  {
    try { return Depth (20); } catch (InvalidOperationException error) { return error.Message.Length; }
  }

  static int Text (int n)
  {
    var counts = new SortedDictionary<string, int> ();
    var all = new StringBuilder ();
    for (int i = 0; i < n; i++)
      counts["word" + i * 7919 % 101] = i;
    foreach (var pair in counts)
      all.Append (pair.Key).Append (pair.Value);
    return all.ToString ().GetHashCode ();
  }

  static int Sorted (int n)
  {
    var numbers = new List<int> ();
    for (int i = 0; i < n; i++)
      numbers.Add (i * 7919 % 1009);
    numbers.Sort ((a, b) => b - a);
    return numbers[n / 2];
  }

  static void Main (string[] arguments)
  {
    var watch = Stopwatch.StartNew ();
    double seconds = double.Parse (arguments[0]);
    int sum = 0;
    while (watch.Elapsed.TotalSeconds < seconds)
      sum += Fibonacci (22) + Thrown () + Text (500) + Sorted (2000);
    Console.WriteLine (sum != 0);
  }
}
