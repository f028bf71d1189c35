#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""test_perf.py LIVE_UNWINDER [--seconds N] [INTERPRETER…] - does each stack have the functions that -X perf shows?

Records chains.py under python3 -X perf (3.12 and later) with --native-frames, so that a stack has both the functions
that were read from the interpreter and the trampolines that this option generates, one for each call of a function. The
names of the trampolines come from Python's own perf map. A trampoline runs before the interpreter notes its function, so a
sample between the two has the innermost trampoline more; how many samples are there depends on the machine, since this
code waits for memory whenever a function runs for the first time. The interpreter itself calls some __init__() without
a trampoline (3.13): these may be missing in what -X perf shows."""

import bisect
import collections
import os
import re
import shlex
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "judge")]
import syscap  # noqa: E402  (found through the line above)
import truth  # noqa: E402

# Percent of the samples. On an idle machine, 99.9 are the same or about to be, and 0.3 of all are about to be.
MIN_SAME = 99.0
MAX_BEGINNING = 5.0
NAME = re.compile(r"py::(.*):(.*)")
SHOWN = re.compile(r"(.*) \((.*):\d+\)")


def read_map(path):
    """Sorted (start, end, name, file)."""
    entries = []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            start, size, name = line.rstrip("\n").split(" ", 2)
            found = NAME.fullmatch(name)
            if found:
                entries.append((int(start, 16), int(start, 16) + int(size, 16), found[1], os.path.basename(found[2]) or found[2]))
    return sorted(entries)


def trampolines(entries, sample):
    for address in sample.user:
        at = bisect.bisect_right(entries, (address, 1 << 64)) - 1
        if at >= 0 and entries[at][0] <= address <= entries[at][1]:
            yield entries[at][2:]


def functions(capture, sample):
    for address in sample.user:
        if truth.FIRST <= address < truth.END:
            found = SHOWN.fullmatch(capture.jitmap.get(address, ""))
            yield (found[1], found[2]) if found else (capture.jitmap.get(address), None)


def is_same(ours, theirs):
    """Whether the functions are equal, but for methods __init__ that have no trampoline."""
    rest = iter(theirs)
    other = next(rest, None)
    for function in ours:
        if function == other:
            other = next(rest, None)
        elif not function[0].endswith("__init__"):
            return False
    return other is None


def compare(capture, entries):
    """(same, beginning, [others]) of all samples with functions or trampolines, after the first one with both: Python
    starts without trampolines. The innermost function is just beginning in samples that have one trampoline more."""
    same, beginning, others, has_begun = 0, 0, [], False
    for sample in sorted(capture.samples, key=lambda one: one.time):
        ours, theirs = list(functions(capture, sample)), list(trampolines(entries, sample))
        has_begun |= bool(ours) and bool(theirs)
        # An output has so many addresses of a stack; the middle of longer ones is not there. A stack that is not whole
        # lacks trampolines.
        if not has_begun or not (ours or theirs) or len(sample.addresses) >= 1024 or syscap.is_synthetic(sample.user[-1]):
            continue
        if is_same(ours, theirs):
            same += 1
        elif ours and theirs and is_same(ours, theirs[1:]):
            beginning += 1
        else:
            others.append((ours, theirs))
    return same, beginning, others


def test(program, command, seconds, directory):
    capture, log = os.path.join(directory, "x.syscap"), os.path.join(directory, "log")
    # The first line is the process: its map is named by it.
    script = 'echo $$; exec "$@"'
    run = subprocess.run([program, "--force", "--native-frames", "-o", capture, "--", "sh", "-c", script, "sh", *command, "-X", "perf",
                          os.path.join(HERE, "chains.py"), log, str(seconds)], capture_output=True, text=True, check=False)
    perf_map = f"/tmp/perf-{run.stdout.strip()}.map"
    if run.returncode != 0 or not os.path.exists(perf_map):
        return [f"exit status {run.returncode}: {run.stderr.strip()[-300:]}"]
    same, beginning, others = compare(syscap.read(capture), read_map(perf_map))
    os.unlink(perf_map)
    n = same + beginning + len(others)
    share, share_beginning = 100.0 * (same + beginning) / max(n, 1), 100.0 * beginning / max(n, 1)
    print(f"{shlex.join(command)}: {n} samples, {share:.2f} % with the functions of -X perf, {share_beginning:.2f} % of all "
          "where the innermost function is just beginning", flush=True)
    for ours, theirs in others[:3]:
        print(f"# ours {ours[:6]} ({len(ours)}), theirs {theirs[:6]} ({len(theirs)})")
    if n < truth.MIN_SAMPLES and seconds < truth.MAX_SECONDS:
        return test(program, command, 4 * seconds, directory)
    if share_beginning > MAX_BEGINNING:
        return [f"{share_beginning:.2f} % lack the innermost function"]
    return [f"only {share:.2f} % are the same"] if share < MIN_SAME else []


def has_option(command):
    run = subprocess.run([*command, "-X", "perf", "-c", "import sys; sys.exit(not sys.is_stack_trampoline_active())"],
                         capture_output=True, check=False)
    return run.returncode == 0


def main():
    chosen = truth.options().parse_intermixed_args()
    truth.main(chosen, [command for command in chosen.commands or truth.pythons() if has_option(command)], test)


if __name__ == "__main__":
    main()
