#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""test_lent_stack.py LIVE_UNWINDER LENT_STACK - a child of vfork() has no stack of its parent's words.

Records lent-stack.c, whose children are sampled while their parent uses the stack again that it had lent
them. No complete stack may lead from execve() to the parent's functions. Prints TAP."""

import bisect
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "judge"))
import syscap  # noqa: E402  (needs the path above)

SECONDS = "4"
USER = 2**64 - 512      # PERF_CONTEXT_USER
SYNTHETIC = 0xe0000000  # the upper half of an address
CHILD = ["child_inner", "child_outer", "lend", "main"]
TRIES = 5
ENOUGH = 3              # stacks that the child had lost


def functions_of(program):
    """Returns the functions of a static program, sorted: (begin, end, name)."""
    lines = subprocess.run(["nm", "-S", program], capture_output=True, text=True, check=True).stdout.splitlines()
    symbols = [line.split() for line in lines]
    return sorted((int(symbol[0], 16), int(symbol[0], 16) + int(symbol[1], 16), symbol[3])
                  for symbol in symbols if len(symbol) == 4 and symbol[2] in "tTwW")


def callers_of_execve(capture, functions):
    """Returns for each sample in execve() (the names of its callers, whether the stack is complete)."""
    def name(address):
        i = bisect.bisect_right(functions, (address, 2**64)) - 1
        return functions[i][2] if i >= 0 and address < functions[i][1] else "?"

    for sample in capture.samples:
        user = sample.addresses
        user = user[user.index(USER) + 1:] if USER in user else user
        is_complete = bool(user) and user[-1] >> 32 != SYNTHETIC
        names = [name(address) for address in user if address >> 32 != SYNTHETIC]
        if names and "execve" in names[0]:
            yield names[1:], is_complete


def record(program, lent_stack, path):
    """Returns (statistics, or None, and what was said)."""
    result = subprocess.run([program, "-q", "--engine", "bpf", "-F", "9999", "--stats", "json", "-o", path, "--force",
                             "--", lent_stack, SECONDS], capture_output=True, text=True, check=False, timeout=60)
    lines = [line for line in result.stderr.splitlines() if line.startswith("{")]
    if result.returncode != 0 or not lines:
        return None, " ".join(result.stderr.split())
    return json.loads(lines[-1]), result.stderr


def main(argv):
    program, lent_stack = argv[1:]
    functions = functions_of(lent_stack)
    n_own = n_lost = n_wrong = 0
    with tempfile.TemporaryDirectory(prefix="lent-stack-") as directory:
        path = os.path.join(directory, "x.syscap")
        for _ in range(TRIES):
            stats, said = record(program, lent_stack, path)
            if stats is None:
                print(f"1..0 # SKIP {said}")
                return 0
            for callers, is_complete in callers_of_execve(syscap.read(path), functions):
                n_own += is_complete and callers[:len(CHILD)] == CHILD
                n_wrong += any(caller.startswith("parent") for caller in callers)
            n_lost += stats["kernel_walks"]["reasons"].get("other-stack", 0)
            if n_own > 0 and n_lost >= ENOUGH:
                break
    print(f"# stacks in execve(): {n_own} of children, {n_lost} lost, {n_wrong} of the parent")
    seen = f" # SKIP only {n_lost} times" if n_lost < ENOUGH else ""
    print(f"{'ok' if n_own > 0 else 'not ok'} 1 - the time was met in which the parent goes on{seen}")
    print(f"{'ok' if n_wrong == 0 else 'not ok'} 2 - no child's stack is that of its parent")
    print("1..2")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
