# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""truth.py - what the tests have in common that compare the functions of an interpreter with what its program knows.

Each records a program that announces its own chains of functions (chains.py, chains.rb, tasks.py), once for each
interpreter. They are called as

    test_X.py LIVE_UNWINDER [--seconds N] [INTERPRETER…]

where an INTERPRETER is a command that starts one, such as "chroot /srv/sid python3.15"."""

import argparse
import bisect
import glob
import os
import shlex
import shutil
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "judge"))
import kernel_walks  # noqa: E402  (needs the path above)

# Addresses of functions in a capture, and how far above each that of its source is.
FIRST, END = 0xE000000010000000, 0xE000000020000000
SOURCE = 0x10000000
UNMATCHED_PYTHON = FIRST + 2
UNMATCHED_RUBY = FIRST + 5
# A machine that is busy with other things gives the program too few samples: it then runs again, for longer.
MIN_SAMPLES = 30
MAX_SECONDS = 30
# A ring that nobody empties in time loses chains, too.
MIN_EXACT = 95.0


def pythons():
    """Commands, for each CPython that is installed here."""
    found = glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3")) + ["/usr/bin/python3"]
    return [[path] for path in sorted(found) if os.access(path, os.X_OK)]


def read_log(path):
    """tid -> sorted (begin, end, chain, lines)."""
    times = {}
    with open(path, encoding="utf-8") as log:
        for line in log:
            begin, end, tid, lines, chain = line.rstrip("\n").split(" ", 4)
            times.setdefault(int(tid), []).append((int(begin), int(end), chain, lines))
    return {tid: sorted(entries) for tid, entries in times.items()}


def expected(times, sample):
    entries = times.get(sample.tid, [])
    i = bisect.bisect_right(entries, (sample.time, 1 << 63, "")) - 1
    return entries[i][2:] if i >= 0 and entries[i][0] <= sample.time < entries[i][1] else (None, None)


def options(seconds=2.0):
    """The parser of what all of these tests are called with."""
    parser = argparse.ArgumentParser()
    parser.add_argument("program", metavar="LIVE_UNWINDER")
    parser.add_argument("--seconds", type=float, default=seconds)
    parser.add_argument("commands", metavar="INTERPRETER", nargs="*", type=shlex.split)
    return parser


def why_not(program):
    if os.geteuid() != 0:
        return "needs root, to read chains in the kernel"
    reason = kernel_walks.why_not(program, "--no-symbols")
    return f"BPF does not unwind here: {reason[-200:]}" if reason else None


def main(chosen, commands, test, parent=None):
    """Calls test(program, command, seconds, directory), which returns problems, for each of COMMANDS, and ends the
    program. The directory is made in PARENT. CHOSEN is what options() understood."""
    reason = why_not(chosen.program) or (None if commands else "no interpreter that this test needs is installed here")
    if reason:
        print(f"skipped: {reason}")
        sys.exit(77)
    has_failed = False
    directory = tempfile.mkdtemp(dir=parent)
    for command in commands:
        for problem in test(chosen.program, command, chosen.seconds, directory):
            print(f"{shlex.join(command)}: {problem}")
            has_failed = True
    shutil.rmtree(directory)
    sys.exit(1 if has_failed else 0)
