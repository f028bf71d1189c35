#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""test_arguments.py LIVE_UNWINDER - the BPF program sends the arguments of each exec.

Every sampled process has its whole command line, even if it ends before anybody can read /proc. A process
that only forks has its parent's command line, and very long command lines are cut off. Prints TAP."""

import os
import re
import sys

import test_namespaces

COUNT = 150
WORD = "an-argument-of-more-than-fifteen-characters"
# The subshell is a process that forks and does not exec.
SHELL = f"""
for ((i = 0; i < {COUNT}; i++)); do /bin/true {WORD} "two words" number-$i; done
(for ((i = 0; i < 200000; i++)); do :; done)
for ((i = 0; i < 20; i++)); do /bin/true {WORD} $(printf '%09999d' 7); done
"""
LONGEST = 4095  # /proc gives one more, if the process is sampled before its arguments arrive


def names(capture):
    """Returns the last name of each sampled process."""
    sampled = {sample.pid for sample in capture.samples}
    named = {}
    for process in sorted(capture.processes, key=lambda p: p.time):
        if process.pid in sampled:
            named[process.pid] = process.cmdline
    return named


def kernel_version():
    return [int(n) for n in re.findall(r"\d+", os.uname().release)[:2]]


def main(argv):
    stats, capture, said = test_namespaces.record(argv[1], "-F", "4000", "--engine", "bpf", "--",
                                                  "bash", "-c", SHELL)
    if stats is None or not stats["kernel_walks"]["active"]:
        print(f"1..0 # SKIP {test_namespaces.reason_to_skip(stats, said)}")
        return 0
    if kernel_version() < [6, 1]:
        print("1..0 # SKIP the kernel's own mappings are read from Linux 6.1 on")
        return 0
    print("1..3")
    report = test_namespaces.Report()
    all_names = list(names(capture).values())
    short = [n for n in all_names if "/true" in n and len(n) < 200]
    whole = [n for n in short if f"/true {WORD} two words number-" in n]
    print(f"# {len(whole)} of {len(short)} short processes have all of their name; else: "
          f"{[n for n in short if n not in whole][:3]}")
    report("short processes have their arguments", len(short) > COUNT / 2 and len(whole) >= 0.95 * len(short))
    long = [n for n in all_names if len(n) > 1000 and "/true" in n]
    print(f"# long ones have {sorted({len(n) for n in long})} characters")
    report("the rest of long ones is cut off", long and {len(n) for n in long} <= {LONGEST, LONGEST + 1})
    shells = [n for n in all_names if n.startswith("bash -c")]
    print(f"# {len(shells)} shells")
    report("who was forked has the parent's", len(shells) >= 2)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
