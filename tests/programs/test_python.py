#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""test_python.py - Python's own functions: python3 -X perf with ten of them, one inside the other.

    test_python.py LIVE_UNWINDER

Of the stacks that are in the innermost one, at least 99 % must have all ten by name, and the root.
Each Python function is then run by a piece of generated code of its own, without unwind information
and without a frame pointer. Needs Python 3.12 or later; exit status 77: cannot run here.
"""

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


def find_python():
    """An interpreter that knows -X perf, or None."""
    for name in (sys.executable, "/usr/bin/python3"):
        check = "import sys; raise SystemExit(not sys.is_stack_trampoline_active())"
        if os.path.exists(name) and subprocess.run([name, "-X", "perf", "-c", check], check=False,
                                                   stderr=subprocess.DEVNULL).returncode == 0:
            return name
    return None


def main():
    recorder = os.path.abspath(sys.argv[1])
    python = find_python()
    if python is None:
        print("no Python that knows -X perf (3.12 or later)")
        return 77
    failed = False
    with tempfile.TemporaryDirectory() as directory:
        script = os.path.join(directory, "ten.py")
        with open(script, "w", encoding="utf-8") as out:
            out.write(SCRIPT)
        for engine in ("auto", "table", "dwfl"):
            stacks = os.path.join(directory, engine + ".folded")
            result = subprocess.run([recorder, "-q", "--engine", engine, "-o", stacks, "--", python,
                                     "-X", "perf", script], capture_output=True, text=True, check=False,
                                    cwd=directory)
            if result.returncode != 0:
                print(result.stderr.strip())
                return 1 if os.geteuid() == 0 else 77
            inside = whole = 0
            with open(stacks, encoding="utf-8") as lines:
                for stack, count in (line.rsplit(" ", 1) for line in lines):
                    if ";py::level9:" in stack:
                        inside += int(count)
                        whole += int(count) * bool(NESTED.search(stack))
            print(f"{engine}: {whole} of {inside} stacks have all ten functions and the root")
            failed |= inside < 100 or whole < 0.99 * inside
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
