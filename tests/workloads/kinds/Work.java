// SPDX-License-Identifier: LGPL-2.1-or-later
// SPDX-FileCopyrightText: 2026 The live-unwinder authors

// Recursion, a sorted array with a callback, maps, exceptions and text, for Java and C1 or C2.

import java.util.*;

public class Work
{
  static int fibonacci (int n) { return n < 2 ? n : fibonacci (n - 1) + fibonacci (n - 2); }

  static int depth (int n)
  {
    if (n == 0)
      throw new IllegalStateException ("deep");
    return depth (n - 1) + 1;
  }

  static int thrown ()
  {
    try
      {
        return depth (40);
      }
    catch (IllegalStateException error)
      {
        return error.getMessage ().length ();
      }
  }

  static int text (int n)
  {
    Map<String, Integer> counts = new TreeMap<> (Comparator.reverseOrder ());
    StringBuilder all = new StringBuilder ();
    for (int i = 0; i < n; i++)
      counts.merge ("word" + i * 7919 % 101, 1, Integer::sum);
    counts.forEach ( (word, count) -> all.append (word).append (count));
    return all.toString ().replaceAll ("w(o+)rd", "$1").hashCode ();
  }

  static int sorted (int n)
  {
    Integer[] numbers = new Integer[n];
    for (int i = 0; i < n; i++)
      numbers[i] = i * 7919 % 1009;
    Arrays.sort (numbers, (a, b) -> b - a);
    return numbers[n / 2];
  }

  public static void main (String[] arguments)
  {
    long end = System.nanoTime () + (long) (Double.parseDouble (arguments[0]) * 1e9);
    int sum = 0;
    while (System.nanoTime () < end)
      sum += fibonacci (22) + thrown () + text (500) + sorted (2000);
    System.out.println (sum != 0);
  }
}
