#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""test_lent_stack.py LIVE_UNWINDER LENT_STACK ENGINE - a child of vfork() has no stack of its parent's words.

Records lent-stack.c, whose children are sampled while their parent uses the stack again that it had lent
them. No stack may lead from execve() or _exit() to the parent's functions. Prints TAP."""

import bisect
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "judge"))
import kernel_walks  # noqa: E402  (needs the path above)
import syscap  # noqa: E402  (needs the path above)

SECONDS = "4"
USER = 2**64 - 512      # PERF_CONTEXT_USER
SYNTHETIC = 0xe0000000  # the upper half of an address
OTHER_STACK = SYNTHETIC << 32 | 3
LAST_CALLS = ("execve", "_exit")
CHILD = ["child_inner", "child_outer", "lend", "main"]
TRIES = 5
ENOUGH = 3              # stacks that the child had lost


def functions_of(program):
    """Returns the functions of a static program, sorted: (begin, end, name)."""
    lines = subprocess.run(["nm", "-S", program], capture_output=True, text=True, check=True).stdout.splitlines()
    symbols = [line.split() for line in lines]
    return sorted((int(symbol[0], 16), int(symbol[0], 16) + int(symbol[1], 16), symbol[3])
                  for symbol in symbols if len(symbol) == 4 and symbol[2] in "tTwW")


def callers_of_last_calls(capture, functions):
    """Returns for each sample in execve() or _exit() (the names of its callers, its end: 0 if complete)."""
    def name(address):
        i = bisect.bisect_right(functions, (address, 2**64)) - 1
        return functions[i][2] if i >= 0 and address < functions[i][1] else "?"

    for sample in capture.samples:
        user = sample.addresses
        user = user[user.index(USER) + 1:] if USER in user else user
        end = user[-1] if user and user[-1] >> 32 == SYNTHETIC else 0
        names = [name(address) for address in user if address >> 32 != SYNTHETIC]
        if names and any(call in names[0] for call in LAST_CALLS):
            yield names[1:], end


def record(program, lent_stack, engine, path):
    """Returns whether that worked, and what was said."""
    result = subprocess.run([program, "-q", "--engine", engine, "-F", "9999", "-o", path, "--force", "--", lent_stack,
                             SECONDS], capture_output=True, text=True, check=False, timeout=60)
    return result.returncode == 0, " ".join(result.stderr.split())


def shows_functions_of_kernel():
    """Returns whether the kernel tells addresses, which a copy needs."""
    with open("/proc/kallsyms", encoding="ascii") as symbols:
        return any(int(line.split()[0], 16) != 0 for _, line in zip(range(100), symbols))


def main(argv):
    program, lent_stack, engine = argv[1:]
    functions = functions_of(lent_stack)
    n_own = n_lost = n_wrong = 0
    if engine != "bpf" and not shows_functions_of_kernel():
        print("1..0 # SKIP the kernel hides its addresses")
        return 0
    with tempfile.TemporaryDirectory(prefix="lent-stack-") as directory:
        path = os.path.join(directory, "x.syscap")
        for _ in range(TRIES):
            is_recorded, said = record(program, lent_stack, engine, path)
            if not is_recorded:
                print(f"1..0 # SKIP {kernel_walks.reason_to_skip(said)}")
                return 0
            for callers, end in callers_of_last_calls(syscap.read(path), functions):
                n_own += end == 0 and callers[:len(CHILD)] == CHILD
                n_wrong += any(caller.startswith("parent") for caller in callers)
                n_lost += end == OTHER_STACK and not callers
            if n_own > 0 and n_lost >= ENOUGH:
                break
    print(f"# stacks in execve() and _exit(): {n_own} of children, {n_lost} lost, {n_wrong} of the parent")
    seen = f" # SKIP only {n_lost} times" if n_lost < ENOUGH else ""
    print(f"{'ok' if n_own > 0 else 'not ok'} 1 - the time was met in which the parent goes on{seen}")
    print(f"{'ok' if n_wrong == 0 else 'not ok'} 2 - no child's stack is that of its parent")
    print("1..2")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
