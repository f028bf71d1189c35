#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""test_runtimes.py - generated code of Java and Mono: loop calls a, that b, c, d and spin.

    test_runtimes.py LIVE_UNWINDER

In a stack that is called complete and is in spin, no function may be missing, whether the code keeps
frame pointers or not. Where it does, nearly all of these stacks must be complete. Runtimes that are
not installed are left out; exit status 77: none is, or nothing can be recorded here.
"""

import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass

SECONDS = 1.0  # CPU time, so that a busy machine has as many samples
CHAIN = ["loop", "a", "b", "c", "d", "spin"]
# An interpreted function has no name of its own.
FRAME = re.compile(r"(Interpreter)\b|.*\bChain[.:]+(\w+)\b.*")
# Java's functions that run for long are replaced while they run; each must still be there once.
BODY = """
  static long spin (int n) { long s = 0; for (int i = 0; i < n; i++) s += i * s ^ i; return s; }
  static long d (int n) { return spin (n) + 1; }
  static long c (int n) { return d (n) + 1; }
  static long b (int n) { return c (n) + 1; }
  static long a (int n) { return b (n) + 1; }
"""
JAVA = "public class Chain {" + BODY + """
  static volatile long sink;
  static long now () {
    return java.lang.management.ManagementFactory.getThreadMXBean ().getCurrentThreadCpuTime ();
  }
  static void loop (long end) {
    while (now () < end) for (int i = 0; i < 1000; i++) sink += a (1000);
  }
  public static void main (String[] args) { loop (now () + (long) (%g * 1e9)); }
}""" % SECONDS
MONO = ("using System.Diagnostics; using System.Runtime.CompilerServices; class Chain {"
        + BODY.replace("static long", "[MethodImpl (MethodImplOptions.NoInlining)] static long") + """
  static long sink;
  static double now () { return Process.GetCurrentProcess ().TotalProcessorTime.TotalSeconds; }
  static void loop (double end) {
    while (now () < end) for (int i = 0; i < 1000; i++) sink += a (1000);
  }
  static void Main () { loop (now () + %g); }
}""" % SECONDS)
MAP = ["-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit", "-XX:CompileCommand=quiet",
       "-XX:CompileCommand=dontinline,Chain.*"]


@dataclass(frozen=True)
class Case:
    name: str
    source: str
    text: str
    compiler: list
    command: list
    least: float = 0        # share of the stacks in spin that must be complete

    def is_here(self):
        return all(shutil.which(command[0]) for command in (self.compiler, self.command))


def java(name, *options, least=0.0):
    return Case(name, "Chain.java", JAVA, ["javac", "Chain.java"],
                ["java", *MAP, *options, "-cp", ".", "Chain"], least)


CASES = [
    java("Java, first compiler, no frame pointers", "-XX:TieredStopAtLevel=1"),
    java("Java, no frame pointers"),
    java("Java, interpreted", "-Xint"),
    java("Java, first compiler, frame pointers", "-XX:TieredStopAtLevel=1",
         "-XX:+PreserveFramePointer", least=0.95),
    java("Java, frame pointers", "-XX:+PreserveFramePointer", least=0.95),
    Case("Mono", "chain.cs", MONO, ["mcs", "-out:chain.exe", "chain.cs"],
         ["mono", "--jitmap", "chain.exe"]),
]


def functions(stack):
    """The names of the generated functions of a stack, the outermost first; None: interpreted."""
    return [match.group(2) for match in map(FRAME.fullmatch, stack) if match]


def is_whole(stack):
    """Whether the chain is there: what is compiled by name, the rest as interpreted functions."""
    inner = functions(stack)[-len(CHAIN):]
    return len(inner) == len(CHAIN) and all(n in (None, c) for n, c in zip(inner, CHAIN))


def record(recorder, engine, case, directory):
    """Returns the stacks in spin and how often each was seen; None: cannot run here."""
    path = os.path.join(directory, "stacks.folded")
    run = subprocess.run([recorder, "-q", "-f", "--engine", engine, "-o", path, "--", *case.command],
                         capture_output=True, text=True, check=False, cwd=directory)
    if run.returncode != 0:
        print(run.stderr.strip())
        return None
    with open(path, encoding="utf-8") as lines:
        stacks = [line.rstrip("\n").rsplit(" ", 1) for line in lines]
    found = [([f.removesuffix("_[j]") for f in stack.split(";") if not f.endswith("_[k]")], int(n))
             for stack, n in stacks]
    return [(stack, n) for stack, n in found if functions(stack)[-1:] in (["spin"], [None])]


def check(recorder, engine, case, directory):
    """Returns a fault or None."""
    found = record(recorder, engine, case, directory)
    if found is None:
        return None if os.geteuid() != 0 else "the recorder failed"
    complete = [(stack, n) for stack, n in found if not stack[1].startswith("[")]
    broken = [(stack, n) for stack, n in complete
              if functions(stack)[-1] == "spin" and not is_whole(stack)]
    n_all, n_complete, n_broken = (sum(n for _, n in s) for s in (found, complete, broken))
    print(f"{case.name}, {engine}: {n_all} stacks in spin, {n_complete} complete, {n_broken} broken")
    for stack, n in broken[:3]:
        print(f"#   {n} x {' '.join(stack[-8:])}")
    ends = collections.Counter()
    for stack, n in found:
        ends[stack[1]] += n
    if n_all < 50:
        return f"only {n_all} stacks are in spin"
    if n_complete < case.least * n_all:
        return f"only {n_complete} of {n_all} stacks are complete; they begin with {ends.most_common(4)}"
    return "complete stacks are broken" if n_broken else None


def main():
    recorder = os.path.abspath(sys.argv[1])
    here = [case for case in CASES if case.is_here()]
    for case in CASES:
        if case not in here:
            print(f"left out: {case.name}: needs {case.compiler[0]} and {case.command[0]}")
    faults = []
    for case in here:
        with tempfile.TemporaryDirectory() as directory:
            with open(os.path.join(directory, case.source), "w", encoding="utf-8") as out:
                out.write(case.text)
            subprocess.run(case.compiler, check=True, cwd=directory)
            for engine in ("auto", "table"):
                fault = check(recorder, engine, case, directory)
                if fault:
                    faults.append(f"FAILED: {case.name}, {engine}: {fault}")
    for fault in faults:  # at the end, where the totals of a whole check look
        print(fault)
    return int(bool(faults)) if here else 77


if __name__ == "__main__":
    sys.exit(main())
