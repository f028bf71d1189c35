# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""workloads.py - what helpers are compared on: name -> how it is prepared and what is expected.

Used by compare.py.  Sizes are CPU seconds on two CPUs; everything is built into a directory of the
run.  Real programs come from the table of tests/workloads.
"""

import os
import shutil
import subprocess
import sys
from typing import Callable, NamedTuple

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "workloads"))
import generate  # noqa: E402  (needs the path above)
import programs  # noqa: E402

SMALL_FILES = 120
SHORT_PROCESSES = 2000

Skip = programs.Skip


class Workload(NamedTuple):
    name: str
    prepare: Callable       # (directory, seconds) -> command
    complete: float         # least complete %, by the judge


def _tool(name):
    found = shutil.which(name, path="/usr/bin:/bin")
    if not found:
        raise Skip(f"no {name}")
    return found


def _python(_directory, seconds):
    return [_tool("python3"), os.path.join(HERE, "..", "workloads", "interpreter.py"), str(seconds)]


def _four_pythons(directory, seconds):
    one = " ".join(_python(directory, seconds / 2))
    return [_tool("sh"), "-c", f"{one} & {one} & {one} & {one} & wait"]


def _cc1(directory, seconds):
    path = os.path.join(directory, "large.c")
    with open(path, "w", encoding="ascii") as file:
        file.write(programs.c_source_of(seconds))
    return [_tool("gcc"), "-O2", "-c", path, "-o", os.path.join(directory, "large.o")]


def _make(directory, _seconds):
    make = os.path.join(directory, "make")
    if not os.path.isdir(make):
        os.mkdir(make)
        rules = "all: " + " ".join(f"f{i}.o" for i in range(SMALL_FILES))
        rules += "\n%.o: %.c\n\t" + _tool("gcc") + " -O1 -c $< -o $@\n"
        with open(os.path.join(make, "Makefile"), "w", encoding="ascii") as file:
            file.write(rules)
        text = generate.c_source(2)
        for i in range(SMALL_FILES):
            with open(os.path.join(make, f"f{i}.c"), "w", encoding="ascii") as file:
                file.write(text)
    return [_tool("make"), "-B", "-s", "-j2", "-C", make]


def _short(_directory, seconds):
    count = SHORT_PROCESSES if seconds >= 2 else int(SHORT_PROCESSES * seconds / 2)
    return [_tool("bash"), "-c", f"for ((i = 0; i < {count}; i++)); do {_tool('true')}; done"]


def _deep_program(directory):
    path = os.path.join(directory, "deep")
    if not os.path.exists(path):
        done = subprocess.run([_tool("gcc"), "-O2", "-fomit-frame-pointer", "-pthread",
                               os.path.join(HERE, "deep.c"), "-o", path],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Skip(f"cannot build deep: {done.stderr.strip()[-200:]}")
    return path


def _deep(depth):
    return lambda directory, seconds: [_deep_program(directory), str(depth), str(seconds)]


def _threads(directory, seconds):
    return [_deep_program(directory), "20", str(seconds / 2), "4"]


ALL = {w.name: w for w in [
    Workload("python3", _python, 99.5),
    Workload("cc1", _cc1, 99.5),
    Workload("make", _make, 99.5),
    Workload("short", _short, 98.0),
    Workload("deep20", _deep(20), 99.5),
    Workload("deep150", _deep(150), 99.5),
    Workload("deep400", _deep(400), 100.0),
    Workload("threads", _threads, 99.5),
    Workload("4python", _four_pythons, 99.5),
]}
