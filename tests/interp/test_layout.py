#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""test_layout.py PRINT_LAYOUT CC - is what we know about each version of CPython what its headers say?

Compiles python-layout.c with the headers of every CPython that is installed here (pyenv's, Debian's; more
prefixes in LU_PYTHON_PREFIXES, separated by colons) and compares its output with what print-layout finds in
the library or program of that version. Skips if no version has headers."""

import glob
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PREFIXES = [*glob.glob(os.path.expanduser("~/.pyenv/versions/3.*")), "/usr", "/usr/local",
            *filter(None, os.environ.get("LU_PYTHON_PREFIXES", "").split(":"))]


def installed():
    """(headers, library or program, root) of each version."""
    for prefix in PREFIXES:
        for headers in sorted(glob.glob(f"{prefix}/include/python3.*")):
            version = re.sub(r"[a-z]*$", "", headers.rsplit("python", 1)[1])
            if not os.path.exists(f"{headers}/Python.h"):
                continue
            names = [f"{prefix}/lib/libpython{version}*.so.1.0",
                     f"{prefix}/lib/x86_64-linux-gnu/libpython{version}*.so.1.0", f"{prefix}/bin/python{version}"]
            for name in (found for pattern in names for found in glob.glob(pattern)):
                yield headers, name, re.sub(r"/usr(/local)?$", "", prefix)


def from_headers(compiler, headers, root):
    with tempfile.TemporaryDirectory() as directory:
        program = os.path.join(directory, "layout")
        options = [f"--sysroot={root}"] if root and not root.endswith(tuple("0123456789")) else []
        for command in ([*compiler, "-w", *options, f"-I{headers}", f"-I{headers}/internal", "-c", "-o", f"{program}.o",
                         os.path.join(HERE, "python-layout.c")], [*compiler, "-o", program, f"{program}.o"]):
            made = subprocess.run(command, capture_output=True, text=True, check=False)
            if made.returncode != 0:
                raise RuntimeError(made.stderr.strip().split("\n")[0])
        return subprocess.run([program], capture_output=True, text=True, check=True).stdout


def main():
    print_layout, compiler = sys.argv[1], sys.argv[2:]
    n_compared, failures = 0, []
    for headers, file, root in installed():
        try:
            expected = from_headers(compiler, headers, root)
        except RuntimeError as error:
            print(f"{headers}: {error}")
            continue
        found = subprocess.run([print_layout, file], capture_output=True, text=True, check=False).stdout
        n_compared += 1
        wrong = sorted(set(expected.split("\n")) - set(found.split("\n")))
        # The program may only load the library that has the interpreter.
        if wrong and not (found.startswith("none\n") and "/bin/" in file):
            failures.append(f"{file}: headers say {', '.join(wrong)}; found: {found!r}")
    print("\n".join(failures))
    print(f"{n_compared} files compared, {len(failures)} wrong")
    if n_compared == 0:
        print("skipped: no CPython with headers is installed here")
        sys.exit(77)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
