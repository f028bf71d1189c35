// SPDX-License-Identifier: LGPL-2.1-or-later
// SPDX-FileCopyrightText: 2026 The live-unwinder authors

// goroutines.go - the workload Go: computing goroutines, channels, maps and little or much garbage.
package main

import (
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"
)

type node struct {
	left, right *node
	key         int
}

func (n *node) insert(key int) *node {
	if n == nil {
		return &node{key: key}
	}
	if key < n.key {
		n.left = n.left.insert(key)
	} else {
		n.right = n.right.insert(key)
	}
	return n
}

func (n *node) sum() int {
	if n == nil {
		return 0
	}
	return n.key + n.left.sum() + n.right.sum()
}

func fibonacci(n int) int {
	if n < 2 {
		return n
	}
	return fibonacci(n-1) + fibonacci(n-2)
}

func words(seed int) int {
	counts := map[string]int{}
	list := make([]string, 0, 500)
	for i := 0; i < 500; i++ {
		seed = (seed*1103515245 + 12345) & 0x7fffffff
		word := "w" + strconv.Itoa(seed%977)
		counts[word]++
		list = append(list, strings.ToUpper(word))
	}
	sort.Strings(list)
	return len(counts) + len(list[0])
}

func compute(garbage bool, jobs <-chan int, results chan<- int) {
	for seed := range jobs {
		var root *node
		for i := 0; i < 100; i++ {
			seed = (seed*1103515245 + 12345) & 0x7fffffff
			root = root.insert(seed)
		}
		total := root.sum() + fibonacci(28)
		for i := 0; garbage && i < 10; i++ {
			total += words(seed + i)
		}
		results <- total + words(seed)
	}
}

func cpuTime() time.Duration {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func main() {
	seconds, _ := strconv.ParseFloat(os.Args[1], 64)
	jobs, results := make(chan int, 64), make(chan int, 64)
	for i := 0; i < 8; i++ {
		go compute(len(os.Args) > 2, jobs, results)
	}
	total := 0
	for round := 0; cpuTime().Seconds() < seconds; round++ {
		for i := 0; i < 32; i++ {
			jobs <- round*32 + i
		}
		for i := 0; i < 32; i++ {
			total += <-results
		}
	}
	close(jobs)
	fmt.Println(total != 0)
}
