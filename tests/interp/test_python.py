#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""test_python.py LIVE_UNWINDER [--seconds N] [--churn] [PYTHON…] - are the functions of Python in each sample the true ones?

Records chains.py, which knows its own chains, with each CPython from 3.6 on that is installed here, and
compares every sample in a time whose chain is known with that chain. A sample is exact, without functions (its
C frames were kept), or wrong. Nothing may be wrong. The first samples of a process come before its
interpreter is known, so only those after the first one with functions count. With --churn, the program does nothing but
make and free functions (3.8 and later)."""

import bisect
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "judge"))
import syscap  # noqa: E402  (found through the line above)

FIRST, END = 0xE000000010000000, 0xE000000020000000
SOURCE = 0x10000000
# Lines of burn() after its first one: the whole of it.
BURN_LINES = 8
UNMATCHED = FIRST + 2
# Tasks of asyncio that wait are in the stack, too; test_tasks.py looks at them.
WAITERS = (" [awaits] (", "[python: awaited by ")
# A machine that is busy with other things gives the program too few samples: it then runs again, for longer.
MIN_SAMPLES = 30
MAX_SECONDS = 30
# A ring that nobody empties in time loses chains, too.
MIN_EXACT = 95.0


def pythons():
    found = glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3")) + ["/usr/bin/python3"]
    return sorted(path for path in found if os.access(path, os.X_OK))


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


def are_lines_right(capture, functions, lines):
    """The source of a function is "/srv/app.py:12+3" if line 15 runs. A chain that another CPU announced, and whose
    announcement comes late, has no line."""
    for i, (address, line) in enumerate(zip(functions, lines.split(":"))):
        first, *after = capture.jitmap[address + SOURCE].rsplit(":", 1)[1].split("+")
        if after and not (int(first) + int(after[0]) == int(line) if i > 0 else 0 < int(after[0]) <= BURN_LINES):
            return False
    return True


def has_lines(capture, functions):
    return all("+" in capture.jitmap[address + SOURCE].rsplit(":", 1)[1] for address in functions)


def judge(capture, times):
    """(exact, without functions, cut, without the right lines; [wrong])."""
    counts, wrong, has_begun = {"exact": 0, "late": 0, "without": 0, "cut": 0, "lines": 0}, [], False
    for sample in sorted(capture.samples, key=lambda one: one.time):
        functions = [address for address in sample.user if FIRST <= address < END]
        has_begun |= bool(functions)
        functions = [address for address in functions if not any(text in capture.jitmap.get(address, "") for text in WAITERS)]
        chain, lines = expected(times, sample)
        if chain is None or not has_begun:
            continue
        found = "|".join(capture.jitmap.get(address, hex(address)) for address in functions)
        if not functions or UNMATCHED in functions:
            counts["without"] += 1
        elif found == chain and are_lines_right(capture, functions, lines):
            counts["exact" if has_lines(capture, functions) else "late"] += 1
        elif found == chain:
            counts["lines"] += 1
        elif len(sample.addresses) >= 1024 and chain.startswith(found.split("|")[0]):
            counts["cut"] += 1
        else:
            wrong.append((chain, found))
    return counts, wrong


def test(program, python, seconds, kind, directory):
    capture, log = os.path.join(directory, "x.syscap"), os.path.join(directory, "log")
    run = subprocess.run([program, "--force", "--stats", "json", "-o", capture, "--", python,
                          os.path.join(HERE, "chains.py"), log, str(seconds), *kind],
                         capture_output=True, text=True, check=False)
    if run.returncode != 0:
        return [f"exit status {run.returncode}: {run.stderr.strip()[-300:]}"]
    times = read_log(log)
    counts, wrong = judge(syscap.read(capture), times)
    n = sum(counts.values()) + len(wrong)
    share = 100.0 * counts["exact"] / max(n, 1)
    print(f"{python}: {n} samples, {share:.2f} % exact, {counts['without']} without functions, "
          f"{counts['cut']} too long to tell, {counts['late']} without a line, {counts['lines']} with a wrong line, "
          f"{len(wrong)} wrong", flush=True)
    if kind:
        print(f"{sum(map(len, times.values())) / seconds:.0f} functions made and freed in a second", flush=True)
    problems = [f"expected {chain}\n  found {found}" for chain, found in wrong[:3]]
    if n < MIN_SAMPLES and seconds < MAX_SECONDS:
        return problems or test(program, python, 4 * seconds, kind, directory)
    if counts["lines"] > 0:
        problems.append("wrong lines")
    if n >= MIN_SAMPLES and share < MIN_EXACT:
        problems.append(f"only {share:.2f} % exact")
    return problems


def why_not(program):
    if os.geteuid() != 0:
        return "needs root, to read chains in the kernel"
    run = subprocess.run([program, "--engine", "bpf", "--no-symbols", "-o", "/dev/null", "--force", "--", "true"],
                         capture_output=True, text=True, check=False)
    return None if run.returncode == 0 else f"BPF does not unwind here: {run.stderr.strip()[-200:]}"


def main():
    arguments = sys.argv[2:]
    seconds = float(arguments[1]) if arguments[:1] == ["--seconds"] else 2.0
    arguments = arguments[2:] if arguments[:1] == ["--seconds"] else arguments
    kind = ["churn"] if arguments[:1] == ["--churn"] else []
    chosen = arguments[len(kind):]
    reason = why_not(sys.argv[1]) or (None if chosen or pythons() else "no CPython is installed here")
    if reason:
        print(f"skipped: {reason}")
        sys.exit(77)
    failed = False
    directory = tempfile.mkdtemp()
    for python in chosen or pythons():
        if kind and re.search(r"/3\.[67]\.", python):
            continue
        for problem in test(sys.argv[1], python, seconds, kind, directory):
            print(f"{python}: {problem}")
            failed = True
    shutil.rmtree(directory)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
