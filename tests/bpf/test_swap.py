#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""test_swap.py LIVE_UNWINDER FRESH SWAP LIBRARY LIBRARY - no stack is walked by mappings of another time.

Records swap.c, which maps other code at the same address all the time, and fresh.c, which maps new
code at other addresses.  What the kernel walks has to be what the engines find, and every stack that
counts as complete has to lead through this code to main.  Prints TAP."""

import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "judge"))
import kernel_walks  # noqa: E402  (needs the path above)
import syscap  # noqa: E402  (needs the path above)

SECONDS = "2"
USER = 2**64 - 512      # PERF_CONTEXT_USER
# The frames of a sample in spin(): spin(), step() or generated code, main(), and three that start a program.
DEPTH = 6


def place_of_spin(program):
    """Returns the file offsets of the function; in its segment addresses equal offsets."""
    table = subprocess.run(["nm", "-S", program], capture_output=True, text=True, check=True).stdout
    begin, size = next(line.split()[:2] for line in table.splitlines() if line.endswith(" t spin"))
    return int(begin, 16), int(begin, 16) + int(size, 16)


def record(program, engine, command, path):
    result = subprocess.run([program, "-q", "--engine", engine, "--stats", "json", "-o", path, "--force",
                             "--", *command], capture_output=True, text=True, check=False, timeout=60)
    lines = [line for line in result.stderr.splitlines() if line.startswith("{")]
    if result.returncode != 0 or not lines:
        return None, result.stderr.strip()
    return json.loads(lines[-1]), result.stderr


def depths_in_spin(capture, program):
    """Returns {frames of a complete stack that was sampled in spin(): number of samples}"""
    begin, end = place_of_spin(program)
    mapping = next(each for each in capture.maps if each.path == os.path.realpath(program))
    depths = {}
    for sample in capture.samples:
        user = sample.addresses
        if USER in user:
            user = user[user.index(USER) + 1:]
        if user and begin <= user[0] - mapping.start + mapping.offset < end and user[-1] >> 32 != 0xe0000000:
            depths[len(user)] = depths.get(len(user), 0) + 1
    return depths


def report(number, name, is_good):
    print(f"{'ok' if is_good else 'not ok'} {number} - {name}", flush=True)


def test(number, name, program, command):
    """Returns FALSE, and says why, if nothing can be walked here."""
    with tempfile.TemporaryDirectory(prefix="swap-") as directory:
        path = os.path.join(directory, "x.syscap")
        stats, said = record(program, "bpf", command, path)
        if stats is None:
            print(f"1..0 # SKIP {kernel_walks.reason_to_skip(said)}")
            return False
        depths = depths_in_spin(syscap.read(path), command[0])
        walks = stats["kernel_walks"]
        print(f"# {stats['samples']} samples, {stats['complete_percent']:.2f} % complete, {walks['stacks']} walked, "
              f"{walks['stale']} of them by other mappings; complete ones in spin(), by depth: {depths}")
        report(number, f"{name}: complete stacks lead through it", sum(depths.values()) > 30 and set(depths) == {DEPTH})
        stats, said = record(program, "bpf-check", command, path)
        check = stats["check"]
        print(f"# {check}")
        report(number + 1, f"{name}: walks are what the engines say",
               check["kernel_compared"] > 30 and check["kernel_differ"] == 0)
    return True


def main(argv):
    program, fresh, swap, *libraries = argv[1:]
    if test(1, "other code at the same address", program, [swap, SECONDS, *libraries]):
        test(3, "new code", program, [fresh, SECONDS])
        print("1..4")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
