#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""test_tasks.py LIVE_UNWINDER [--seconds N] [INTERPRETER…] - are the tasks of asyncio that wait for the running one the true ones?

Records tasks.py, which knows who waits, with each CPython from 3.14 on that is installed here, or with each INTERPRETER, and compares every sample in a time whose chain is known with that chain: its
functions, those that wait, and the lines of both. Nothing may be wrong."""

import glob
import os
import shlex
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "judge")]
import syscap  # noqa: E402  (found through the line above)
import truth  # noqa: E402

FIRST_MINOR = 14
AWAITS = " [awaits] "


def minor(command):
    run = subprocess.run([*command, "-c", "import sys; print(sys.version_info[1])"], capture_output=True, text=True,
                         check=False)
    return int(run.stdout) if run.returncode == 0 else 0


def pythons():
    found = {os.path.realpath(path) for path in sum(truth.pythons(), glob.glob("/usr/bin/python3.[0-9]*[0-9]"))}
    return [command for command in ([path] for path in sorted(found)) if minor(command) >= FIRST_MINOR]


def are_lines_right(capture, functions, lines):
    for i, (address, line) in enumerate(zip(functions, lines.split(":"))):
        first, *after = capture.jitmap.get(address + truth.SOURCE, "").rsplit(":", 1)[-1].split("+")
        if after and line != "*" and i > 0 and int(first) + int(after[0]) != int(line):
            return False
    return True


def judge(capture, times):
    """({exact, without functions, exact with waiters}, [wrong], whether a task that waits was seen)."""
    counts, wrong, has_begun = {"exact": 0, "without": 0, "waiting": 0}, [], False
    for sample in sorted(capture.samples, key=lambda one: one.time):
        functions = [address for address in sample.user if truth.FIRST <= address < truth.END]
        chain, lines = truth.expected(times, sample)
        found = "|".join(capture.jitmap.get(address, hex(address)) for address in functions)
        # The file with the tasks may be opened after that of the interpreter.
        has_begun |= AWAITS in found
        if chain is None or not has_begun:
            continue
        if not functions or truth.UNMATCHED_PYTHON in functions:
            counts["without"] += 1
        elif found == chain and are_lines_right(capture, functions, lines):
            counts["exact"] += 1
            counts["waiting"] += AWAITS in chain
        else:
            wrong.append((chain + " " + lines, found))
    return counts, wrong, has_begun


def test(program, command, seconds, directory):
    capture, log = os.path.join(directory, "x.syscap"), os.path.join(directory, "log")
    with open(os.path.join(HERE, "tasks.py"), encoding="utf-8") as file:
        text = file.read()
    begin = "import sys; exec(compile(sys.argv[1], 'tasks.py', 'exec'))"
    with open(log, "w", encoding="utf-8") as output:
        run = subprocess.run([program, "--force", "-o", capture, "--", *command, "-c", begin, text, str(seconds)],
                             stdout=output, stderr=subprocess.PIPE, text=True, check=False)
    if run.returncode != 0:
        return [f"exit status {run.returncode}: {run.stderr.strip()[-300:]}"]
    counts, wrong, has_begun = judge(syscap.read(capture), truth.read_log(log))
    n = counts["exact"] + counts["without"] + len(wrong)
    share = 100.0 * counts["exact"] / max(n, 1)
    print(f"{shlex.join(command)}: {n} samples, {share:.2f} % exact, {counts['waiting']} of them with tasks that wait, "
          f"{counts['without']} without functions, {len(wrong)} wrong", flush=True)
    problems = [f"expected {chain}\n  found {found}" for chain, found in wrong[:3]]
    if n < truth.MIN_SAMPLES and seconds < truth.MAX_SECONDS:
        return problems or test(program, command, 4 * seconds, directory)
    if n >= truth.MIN_SAMPLES and (share < truth.MIN_EXACT or counts["waiting"] == 0):
        problems.append(f"only {share:.2f} % exact")
    if not has_begun:
        problems.append("no task that waits was seen")
    return problems


def main():
    chosen = truth.options(3.0).parse_intermixed_args()
    truth.main(chosen, chosen.commands or pythons(), test)


if __name__ == "__main__":
    main()
