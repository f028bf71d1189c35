#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""test_chains.py LIVE_UNWINDER - the BPF program reads the functions of Pythons of this machine.

Each Python that is installed runs the same program of two threads. Nearly every stack has to come with
a chain, and the functions are announced. Next to nothing may be unreadable: CPython 3.12 enters its
interpreter with a frame pointer that it has not set yet (tstate->cframe in _PyEval_EvalFrameDefault()),
for a few instructions. Prints TAP."""

import shutil
import subprocess
import sys
from pathlib import Path

import test_namespaces

# Two threads of 0.4 s of CPU time each.
PROGRAM = """
import threading, time
class Worker:
    def burn(self, n):
        return sum(i * i for i in range(n))
    def work(self):
        end = time.thread_time() + 0.4
        while time.thread_time() < end:
            sorted([3, 1, 2], key=lambda n: self.burn(500))
thread = threading.Thread(target=Worker().work)
thread.start()
Worker().work()
thread.join()
"""
OLDEST = (3, 7)
MIN_STACKS = 50
# of the stacks: the rest are from before the program that reads chains is loaded, and from ld.so.
MIN_CHAINS = 0.5
# of the chains, for each of: broken, cut, with a function that cannot be read. CPython 3.12 enters its
# interpreter with a frame that is not set up yet, and a walk that the machine stalls goes over its budget.
MAX_TORN = 0.005
MIN_FUNCTIONS = 4   # <module>, work, the lambda, burn and its generator


def version_of(python):
    run = subprocess.run([python, "-c", "import sys; print(sys.version_info[0], sys.version_info[1])"],
                         capture_output=True, text=True, check=False)
    return tuple(int(word) for word in run.stdout.split()) if run.returncode == 0 else ()


def pythons():
    """Returns one Python of each minor version."""
    names = [Path("/usr/bin/python3"), *Path.home().glob(".pyenv/versions/3.*/bin/python3")]
    found = {}
    for name in names:
        if shutil.which(name):
            found.setdefault(version_of(name), name)
    return {version: found[version] for version in sorted(found) if version >= OLDEST}


def main(argv):
    found = pythons()
    if not found:
        print("1..0 # SKIP no Python that can be read")
        return 0
    report = test_namespaces.Report()
    for version, python in found.items():
        stats, _, said = test_namespaces.record(argv[1], "--", python, "-c", PROGRAM)
        if stats is None or not stats["kernel_walks"]["active"]:
            print(f"1..0 # SKIP {test_namespaces.reason_to_skip(stats, said)}")
            return 0
        walks = stats["kernel_walks"]
        figures = {key: walks[key] for key in walks if key in ("stacks", "functions") or "chains" in key
                   or "unreadable" in key}
        print(f"# {figures}")
        report(f"Python {version[0]}.{version[1]}",
               walks["stacks"] >= MIN_STACKS and walks["chains"] >= MIN_CHAINS * walks["stacks"]
               and walks["functions"] >= MIN_FUNCTIONS
               and max(walks["chains_broken"], walks["chains_cut"],
                       walks["functions_unreadable"]) <= MAX_TORN * walks["chains"])
    print(f"1..{len(found)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
