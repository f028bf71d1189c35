#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""test_python.py LIVE_UNWINDER [--seconds N] [--churn] [INTERPRETER…] - are the functions of Python in each sample the true ones?

Records chains.py, which knows its own chains, with each CPython from 3.6 on that is installed here, and
compares every sample in a time whose chain is known with that chain. A sample is exact, without functions (its
C frames were kept), or wrong. Nothing may be wrong. The first samples of a process come before its
interpreter is known, so only those after the first one with functions count. With --churn, the program does nothing but
make and free functions (3.8 and later)."""

import os
import re
import shlex
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "judge")]
import syscap  # noqa: E402  (found through the line above)
import truth  # noqa: E402
from truth import END, FIRST, MIN_EXACT, MIN_SAMPLES, SOURCE  # noqa: E402

# Lines of burn() after its first one: the whole of it.
BURN_LINES = 8
# Tasks of asyncio that wait are in the stack, too; test_tasks.py looks at them.
WAITERS = (" [awaits] (", "[python: awaited by ")


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
        chain, lines = truth.expected(times, sample)
        if chain is None or not has_begun:
            continue
        found = "|".join(capture.jitmap.get(address, hex(address)) for address in functions)
        if not functions or truth.UNMATCHED_PYTHON in functions:
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


def test(program, command, seconds, directory, kind):
    capture, log = os.path.join(directory, "x.syscap"), os.path.join(directory, "log")
    run = subprocess.run([program, "--force", "--stats", "json", "-o", capture, "--", *command,
                          os.path.join(HERE, "chains.py"), log, str(seconds), *kind],
                         capture_output=True, text=True, check=False)
    if run.returncode != 0:
        return [f"exit status {run.returncode}: {run.stderr.strip()[-300:]}"]
    times = truth.read_log(log)
    counts, wrong = judge(syscap.read(capture), times)
    n = sum(counts.values()) + len(wrong)
    share = 100.0 * counts["exact"] / max(n, 1)
    print(f"{shlex.join(command)}: {n} samples, {share:.2f} % exact, {counts['without']} without functions, "
          f"{counts['cut']} too long to tell, {counts['late']} without a line, {counts['lines']} with a wrong line, "
          f"{len(wrong)} wrong", flush=True)
    if kind:
        print(f"{sum(map(len, times.values())) / seconds:.0f} functions made and freed in a second", flush=True)
    problems = [f"expected {chain}\n  found {found}" for chain, found in wrong[:3]]
    if n < MIN_SAMPLES and seconds < truth.MAX_SECONDS:
        return problems or test(program, command, 4 * seconds, directory, kind)
    if counts["lines"] > 0:
        problems.append("wrong lines")
    if n >= MIN_SAMPLES and share < MIN_EXACT:
        problems.append(f"only {share:.2f} % exact")
    return problems


def main():
    parser = truth.options()
    parser.add_argument("--churn", action="store_true")
    chosen = parser.parse_intermixed_args()
    kind = ["churn"] if chosen.churn else []
    commands = [command for command in chosen.commands or truth.pythons()
                if not (kind and re.search(r"/3\.[67]\.", command[-1]))]
    truth.main(chosen, commands, lambda *what: test(*what, kind))


if __name__ == "__main__":
    main()
