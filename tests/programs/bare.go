// SPDX-License-Identifier: LGPL-2.1-or-later
// SPDX-FileCopyrightText: 2026 The live-unwinder authors

// bare.go - calls C code that is built without any CFI, at some depth of a goroutine's stack. Runs for
// two seconds.
package main

/*
static __attribute__ ((noinline)) int
fibonacci (int n)
{
  return n < 2 ? n : fibonacci (n - 1) + fibonacci (n - 2);
}

static int
work (int n)
{
  int sum = 0;

  for (int i = 0; i < n; i++)
    sum += fibonacci (i % 23);
  return sum;
}
*/
import "C"

import "time"

//go:noinline
func deeper(n int) int {
	if n == 0 {
		return int(C.work(200))
	}
	return deeper(n-1) + 1
}

func main() {
	end := time.Now().Add(2 * time.Second)
	sum := 0
	for time.Now().Before(end) {
		sum += deeper(10)
	}
	println(sum)
}
