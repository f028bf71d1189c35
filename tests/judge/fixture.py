# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""fixture.py - builds the programs in fixtures/ for the judge's tests, in a temporary directory."""

import errno
import os
import platform
import shlex
import subprocess
import sys
import tempfile
import unittest

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fixtures")
CC = shlex.split(os.environ.get("CC", "cc"))
SKIP = 77

_directory = tempfile.TemporaryDirectory(prefix="judge-")


def build(source, name, *flags):
    """Compiles fixtures/@source as @name; returns its path, or skips the test with the reason."""
    target = os.path.join(_directory.name, name)
    command = [*CC, "-o", target, os.path.join(SOURCES, source), *flags]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise unittest.SkipTest(f"no compiler: {error}") from error
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or ["no message"]
        raise unittest.SkipTest(f"cannot build {name}: {lines[-1]}")
    return target


def run(program, *args):
    """Returns what @program prints, or skips the test where the kernel runs no such programs."""
    try:
        return subprocess.run([program, *args], capture_output=True, text=True, check=True).stdout
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise
        raise unittest.SkipTest(f"the kernel does not run {program}") from error


def path(name):
    return os.path.join(_directory.name, name)


def main():
    """Runs the tests of the calling file; exits with 77 on a machine that they do not fit."""
    if platform.machine() != "x86_64":
        print("SKIP: the fixtures are x86-64 programs")
        sys.exit(SKIP)
    unittest.main(verbosity=2)
