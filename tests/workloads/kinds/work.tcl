# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors

# Recursion, sorting with a command, text and errors.
proc fibonacci {n} { expr {$n < 2 ? $n : [fibonacci [expr {$n - 1}]] + [fibonacci [expr {$n - 2}]]} }
set sum 0
for {set round 0} {$round < 4} {incr round} {
  set words {}
  for {set i 0} {$i < 2000} {incr i} { lappend words [string toupper word[expr {$i * 7919 % 1009}]] }
  incr sum [llength [lsort -decreasing -command {string compare} $words]]
  incr sum [regsub -all {\D+(\d+)} $words {\1} words]
  incr sum [fibonacci 16]
  catch { error deep }
}
puts $sum
