# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""sets.py - the recorded samples that the unwinding benchmark runs on: how each is made.

Used by unwind.py.  A set is a file of perf record, kept in a directory outside the sources; it is
recorded once and used again, because only figures of the same samples can be compared.  The
programs are those of tests/workloads, and two that only a benchmark needs.
"""

import os
import shutil
import subprocess
import sys
from typing import Callable, NamedTuple

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE_ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(HERE, "..", "workloads"))
import generate  # noqa: E402  (needs the path above)
import programs  # noqa: E402

FREQUENCY = 999
KIB16, KIB64 = 16384, 65528
MAKE_FILES = 230

# By apt's names, for unwind.py --install.
PACKAGES = ("linux-perf", "python3", "gcc", "clang", "perl", "nodejs", "git", "rustc", "sqlite3",
            "make")


class Set(NamedTuple):
    name: str
    copy: int              # bytes of stack in each sample
    seconds: float         # of CPU time, about
    prepare: Callable      # (seconds, directory) -> command
    # Time of framehop for its first pass over samples of the same kind, with opening and parsing
    # files, and of libdwfl for a warm pass in that run (ns per frame, AMD Zen 4 at 2.6 GHz).
    framehop_first: float
    libdwfl_warm: float


def _workload(name):
    prepare = next(each.prepare for each in programs.ALL if each.name == name)
    return lambda seconds, directory: prepare(seconds)


def _make(seconds, directory):
    """Many short compilations; hundreds of processes."""
    directory = os.path.join(directory, "make")
    os.makedirs(directory, exist_ok=True)
    count = int(MAKE_FILES * seconds / 10)
    names = [f"part{i}" for i in range(count)]
    for i, name in enumerate(names):
        with open(os.path.join(directory, name + ".c"), "w", encoding="utf-8") as file:
            file.write("#include <stdio.h>\n#include <stdlib.h>\n" + generate.c_source(1 + i % 2))
    with open(os.path.join(directory, "Makefile"), "w", encoding="utf-8") as file:
        file.write("all: " + " ".join(name + ".o" for name in names) +
                   "\n%.o: %.c\n\tgcc -O1 -c $< -o $@\n")
    return ["make", "-s", "-B", "-j2", "-C", directory]


def _git(seconds, directory):
    """History and repacking of this project's own repository."""
    if not os.path.exists(os.path.join(SOURCE_ROOT, ".git")):
        raise programs.Skip("the sources are not in a git repository")
    clone = os.path.join(directory, "clone.git")
    if not os.path.isdir(clone):
        subprocess.run(["git", "clone", "-q", "--bare", SOURCE_ROOT, clone], check=True)
    rounds = max(1, int(seconds / 2))
    return ["sh", "-c", f"cd {clone}; for i in $(seq {rounds}); do git log -p >/dev/null; "
            "git log --stat -C >/dev/null; "
            "git repack -adfq --depth=60 --window=60 --threads=1; git fsck >/dev/null 2>&1; done"]


SETS = (
    Set("python3", KIB16, 6, _workload("python3"), 82, 552),
    Set("cc1", KIB16, 8, _workload("gcc"), 204, 546),
    Set("clang64", KIB64, 5, _workload("clang++"), 227, 706),
    Set("perl", KIB16, 6, _workload("perl"), 110, 502),
    Set("node", KIB16, 6, _workload("node"), 80, 135),
    Set("git", KIB16, 24, _git, 116, 571),
    Set("rustc", KIB16, 8, _workload("rustc"), 291, 794),
    Set("sqlite3", KIB16, 6, _workload("sqlite3"), 128, 621),
    Set("make", KIB16, 8, _make, 299, 589),
)


def record(one, directory):
    """The path of the set's samples, recorded if they are not there; raises programs.Skip."""
    path = os.path.join(directory, one.name + ".data")
    if os.path.exists(path):
        return path
    perf = shutil.which("perf")
    if perf is None:
        raise programs.Skip("no perf")
    os.makedirs(directory, exist_ok=True)
    programs.set_directory(directory)
    command = one.prepare(one.seconds, directory)
    done = subprocess.run([perf, "record", "-q", "-e", "cpu-clock", "-F", str(FREQUENCY), "-m", "16M",
                           "--call-graph", f"dwarf,{one.copy}", "-o", path + ".new", "--", *command],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if not os.path.exists(path + ".new") or os.path.getsize(path + ".new") < 65536:
        raise programs.Skip(f"perf record: {done.stderr.strip()[-200:]}")
    os.rename(path + ".new", path)
    return path
