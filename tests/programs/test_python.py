#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""test_python.py - Python's own functions: python3 -X perf with ten of them, one inside the other.

    test_python.py LIVE_UNWINDER

Of the stacks that are in the innermost one, at least 99 % must have all ten by name, and the root.
Each Python function is then run by a piece of generated code of its own, without unwind information
and without a frame pointer. Needs Python 3.12 or later; exit status 77: cannot run here.
"""

import glob
import os
import re
import subprocess
import sys
import tempfile

SECONDS = 1.2
SCRIPT = """
import time
def level9(n):
    total = 0
    for i in range(n):
        total += i * n
    return total
%s
end = time.time() + %g
while time.time() < end:
    level0(20000)
""" % ("\n".join(f"def level{i}(n): return level{i + 1}(n) + {i}" for i in range(8, -1, -1)), SECONDS)
# The outermost of the ten comes first; Python's own frames stand in between.
NESTED = re.compile(";_start;.*" + ".*".join(rf";py::level{i}:[^;]*" for i in range(10)))


def find_pythons():
    """The interpreters that know -X perf; trampolines of 3.12.1 and of later versions differ."""
    check = "import sys; sys.is_stack_trampoline_active() and print(sys.executable)"
    found = [subprocess.run([name, "-X", "perf", "-c", check], check=False, text=True,
                            capture_output=True).stdout.strip()
             for name in (sys.executable, "/usr/bin/python3",
                          *glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3")))
             if os.path.exists(name)]
    return sorted(set(found) - {""})


def count(recorder, engine, python, directory):
    """(Stacks in the innermost function, those of them that are whole); None: cannot record."""
    stacks = os.path.join(directory, "stacks.folded")
    result = subprocess.run([recorder, "-q", "-f", "--engine", engine, "-o", stacks, "--", python,
                             "-X", "perf", os.path.join(directory, "ten.py")], capture_output=True,
                            text=True, check=False, cwd=directory)
    if result.returncode != 0:
        print(result.stderr.strip())
        return None
    inside = whole = 0
    with open(stacks, encoding="utf-8") as lines:
        for stack, times in (line.rsplit(" ", 1) for line in lines):
            if ";py::level9:" in stack:
                inside += int(times)
                whole += int(times) * bool(NESTED.search(stack))
    print(f"{python}, {engine}: {whole} of {inside} stacks have all ten functions and the root")
    return inside, whole


def main():
    recorder = os.path.abspath(sys.argv[1])
    pythons = find_pythons()
    if not pythons:
        print("no Python that knows -X perf (3.12 or later)")
        return 77
    failed = False
    with tempfile.TemporaryDirectory() as directory:
        with open(os.path.join(directory, "ten.py"), "w", encoding="utf-8") as out:
            out.write(SCRIPT)
        for python in pythons:
            for engine in ("auto", "table", "dwfl"):
                counted = count(recorder, engine, python, directory)
                if counted is None:
                    return 1 if os.geteuid() == 0 else 77
                failed |= counted[0] < 100 or counted[1] < 0.99 * counted[0]
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
