#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""test_short.py LIVE_UNWINDER - does a COMMAND that ends after a twentieth of a second show its functions?

COMMAND must not begin before the BPF program for interpreters is loaded, which takes longer than that."""

import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "judge")]
import syscap  # noqa: E402  (found through the line above)
import truth  # noqa: E402

CPU_TIME = 0.05  # seconds, spent in work()
BURN = f"import time\ndef work():\n  end = time.process_time() + {CPU_TIME}\n  while time.process_time() < end: pass\nwork()"
RATE = 1000
PYTHON = "/usr/bin/python3"
ROUNDS = 5
MIN_SHARE = 0.5


def named(program, capture):
    """(samples of the program's function, samples of the process)."""
    subprocess.run([program, "--force", "-F", str(RATE), "-o", capture, "--", PYTHON, "-c", BURN], check=True,
                   stderr=subprocess.DEVNULL)
    read = syscap.read(capture)
    names = {address for address, name in read.jitmap.items() if truth.FIRST <= address < truth.END and name.startswith("work (")}
    return sum(not names.isdisjoint(sample.user) for sample in read.samples), len(read.samples)


def main():
    reason = truth.why_not(sys.argv[1]) or (None if os.path.exists(PYTHON) else "Python is not installed here")
    if reason:
        print(f"skipped: {reason}")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as directory:
        counts = [named(sys.argv[1], os.path.join(directory, "x.syscap")) for _ in range(ROUNDS)]
    print(f"samples with the function, all samples: {counts}")
    sys.exit(sum(count[0] for count in counts) < MIN_SHARE * ROUNDS * RATE * CPU_TIME)


if __name__ == "__main__":
    main()
