#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""record.py BUILD [NAME...] - records the samples of tests/captures again, on this machine.

BUILD is a build directory of this project, which has make-capture and the test programs. The script needs
perf, permission to use it, and the recorded programs. It runs everything in a directory below /tmp with a
minimal environment, so that the recorded stacks contain no personal data.
"""

import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
WORKLOADS = HERE.parent / "workloads"
sys.path.insert(0, str(WORKLOADS))
import generate  # noqa: E402  (found through the line above)

ENVIRONMENT = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "LC_ALL": "C.UTF-8"}

PYTHON = """\
import json, random, re
random.seed (1)
for i in range (60):
    text = json.dumps ([{"k%d" % j: [random.random () for _ in range (8)]} for j in range (60)])
    json.loads (text)
    re.findall (r"[0-9]+[.][0-9]{3}", text)
    sorted (text.split (","), key=lambda part: part[::-1])
"""

SPAWN = """\
import subprocess
for i in range (60):
    subprocess.run (["/bin/true"])
"""

MAKEFILE = """\
.PHONY: all
OBJECTS := $(foreach n,1 2 3 4 5 6 7 8 9 10 11 12,part$(n).o)
all: $(OBJECTS)
%.o: part.c
	gcc -O1 -c -o $@ part.c
"""


def program(build, name):
    """A test program, copied beside the others under its own name."""
    shutil.copy(build / "tests" / name, ".")
    return f"./{pathlib.Path(name).name}"


def prepare_python(_build):
    return ["/usr/bin/python3", "-c", PYTHON]


def prepare_spawn(_build):
    return ["/usr/bin/python3", "-c", SPAWN]


def prepare_node(_build):
    shutil.copy(WORKLOADS / "script.js", ".")
    return ["node", "script.js", "1"]


def prepare_cc1(_build):
    pathlib.Path("part.c").write_text(generate.c_source(25), encoding="utf-8")
    return ["gcc", "-O2", "-c", "-o", "part.o", "part.c"]


def prepare_clang(_build):
    pathlib.Path("part.c").write_text(generate.c_source(40), encoding="utf-8")
    return ["clang", "-O2", "-c", "-o", "part.o", "part.c"]


def prepare_perl(_build):
    shutil.copy(WORKLOADS / "script.pl", ".")
    return ["perl", "script.pl", "1"]


def prepare_git(_build):
    subprocess.run(["git", "clone", "-q", "--bare", str(HERE.parents[1]), "repo"], check=True)
    return ["sh", "-c", "git -C repo log --stat -60 >/dev/null; git -C repo repack -adfq --window=20"]


def prepare_cxx(_build):
    subprocess.run(["g++", "-O2", "-o", "exceptions", str(WORKLOADS / "exceptions.cc")], check=True)
    return ["./exceptions", "1"]


def prepare_sqlite3(_build):
    text = (WORKLOADS / "queries.sql").read_text(encoding="utf-8").replace("@ROWS@", "20000")
    pathlib.Path("queries.sql").write_text(text, encoding="utf-8")
    return ["sh", "-c", "sqlite3 :memory: <queries.sql"]


def prepare_make(_build):
    pathlib.Path("part.c").write_text(generate.c_source(3), encoding="utf-8")
    pathlib.Path("Makefile").write_text(MAKEFILE, encoding="utf-8")
    return ["make", "-s"]


def prepare_bash(_build):
    return ["bash", "-c", "for i in {1..80}; do x=$(echo $i | tr 1 2); ls / >/dev/null; done"]


def prepare_signals(build):
    return [program(build, "programs/signal")]


def prepare_signal_stack(build):
    return [program(build, "programs/signal"), "stack"]


def prepare_lazy(build):
    library = program(build, "programs/plt-library.so")
    return [program(build, "programs/plt"), library]


def prepare_vfork(build):
    path = program(build, "truth/vfork")
    return ["sh", "-c", f"for i in 1 2 3 4 5 6 7 8 9 10 11 12; do {path}; done"]


def prepare_coroutine(build):
    return [program(build, "programs/coroutine")]


# Name -> how it is prepared, samples per second, bytes of stack, the most samples to keep.
PROGRAMS = {
    "python3": (prepare_python, 997, 16384, 60),
    "node": (prepare_node, 497, 16384, 50),
    "cc1": (prepare_cc1, 997, 16384, 60),
    "clang": (prepare_clang, 997, 65528, 20),
    "perl": (prepare_perl, 497, 16384, 50),
    "git": (prepare_git, 997, 32768, 50),
    "cxx": (prepare_cxx, 997, 16384, 50),
    "sqlite3": (prepare_sqlite3, 997, 16384, 50),
    "make": (prepare_make, 997, 16384, 60),
    "bash": (prepare_bash, 4999, 16384, 60),
    "signals": (prepare_signals, 997, 16384, 40),
    "signal-stack": (prepare_signal_stack, 997, 16384, 30),
    "vfork": (prepare_vfork, 9973, 16384, 60),
    "spawn": (prepare_spawn, 4999, 16384, 50),
    "lazy": (prepare_lazy, 997, 16384, 60),
    "coroutine": (prepare_coroutine, 997, 16384, 20),
}
DIRECTORY = pathlib.Path("/tmp/live-unwinder-captures")


def record(build, name):
    prepare, frequency, stack, samples = PROGRAMS[name]
    os.mkdir(name)
    os.chdir(name)
    command = prepare(build)
    perf = ["perf", "record", "-q", "-o", "perf.data", "-e", "cpu-clock", "-F", str(frequency),
            "--call-graph", f"dwarf,{stack}", "--"] + command
    subprocess.run(perf, env=ENVIRONMENT, stdout=subprocess.DEVNULL, check=False)
    told = " ".join(perf).splitlines()[0]
    subprocess.run([build / "tests" / "captures" / "make-capture", "perf.data", HERE / name, told,
                    str(samples)], check=True)
    os.chdir("..")


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    DIRECTORY.mkdir()     # always the same, because the recording contains its name
    os.chdir(DIRECTORY)
    try:
        for name in sys.argv[2:] or PROGRAMS:
            record(build, name)
    finally:
        os.chdir("/")
        shutil.rmtree(DIRECTORY)


if __name__ == "__main__":
    main()
