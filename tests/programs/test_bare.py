#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""test_bare.py - stacks of programs without any CFI, by rows from their instructions.

    test_bare.py LIVE_UNWINDER

Builds bare.c without unwind tables by the compilers that are there: gcc and clang, stripped and not, and
musl's, linked statically and dynamically. Of the stacks of each program at least 90 % must be complete, and
the judge must agree with every one that is called so. The first recording of a file makes its rows; the
second one finds them in the store. One build has as much other code with tables, so that its rows are made
only for what the tables leave out, and only once a walk has come there; one has tables but for musl's start
of a program, and musl's library has none. One runs on a stack of makecontext(). Exit status 77: cannot run here.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
JUDGE = os.path.join(HERE, "../judge/judge.py")
NO_TABLES = ["-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-pthread"]
BUILDS = {
    "gcc": ["gcc", "-O2"],
    "gcc without optimization": ["gcc", "-O0"],
    "gcc stripped": ["gcc", "-O2", "-s"],
    "gcc beside code with tables": ["gcc", "-O2"],
    "gcc on a stack made by hand": ["gcc", "-O2"],
    "clang": ["clang", "-O2"],
    "musl static": ["musl-gcc", "-O2", "-static"],
    "musl static stripped": ["musl-gcc", "-O2", "-static", "-s"],
    "musl dynamic": ["musl-gcc", "-O2"],
    "musl dynamic with tables": ["musl-gcc", "-O2"],
}
TABLED = {"musl dynamic with tables"}
# Name of a build -> its source and its argument
OTHERS = {"gcc on a stack made by hand": ("coroutine.c", "context")}
MIXED = {"gcc beside code with tables"}
N_FILLERS = 600
MIN_COMPLETE = 90.0
MIN_SAMPLES = 100
SECONDS = "2"


def record(recorder, engine, command, directory):
    capture = os.path.join(directory, "capture.syscap")
    env = os.environ | {"LIVE_UNWINDER_STORE": os.path.join(directory, "store")}
    os.makedirs(env["LIVE_UNWINDER_STORE"], mode=0o700, exist_ok=True)
    done = subprocess.run([recorder, "-q", "-f", "-F", "999", "--engine", engine, "-o", capture,
                           "--", *command], env=env, check=False, text=True,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if done.returncode != 0:
        print(done.stderr.strip())
        return None
    judged = subprocess.run([sys.executable, JUDGE, "--json", "--comm",
                             os.path.basename(command[0])[:15], capture], check=False, text=True,
                            capture_output=True)
    return json.loads(judged.stdout)


def make_filler(compiler, directory):
    """Compiles functions with unwind tables that nobody calls; returns the object's path."""
    source, path = os.path.join(directory, "filler.c"), os.path.join(directory, "filler.o")
    with open(source, "w", encoding="utf-8") as file:
        file.write("int use (int *);\nint use (int *a) { return a[0]; }\n")
        for i in range(N_FILLERS):
            file.write(f"int filler_{i} (int);\nint filler_{i} (int n) "
                       f"{{ int a[8] = {{ n, {i} }}; return use (a) + use (a + 1); }}\n")
    subprocess.run([*compiler, "-fno-inline", "-fasynchronous-unwind-tables", "-c", source, "-o", path],
                   check=True)
    return path


def check(name, engine, found):
    """Whether the judge's report is good."""
    judged, complete = found["judged"], found["complete"]
    refused = sum(found["refused"].values())
    share = 100 * (complete + refused) / max(judged, 1)
    print(f"{name}, {engine}: {judged} judged, {share:.2f} % called complete, {refused} of them wrong")
    if judged < MIN_SAMPLES:
        print("  too few samples, not decided")
        return True
    return refused == 0 and share >= MIN_COMPLETE


def main():
    recorder = os.path.abspath(sys.argv[1])
    good, tried = True, 0
    for name, command in BUILDS.items():
        if shutil.which(command[0]) is None:
            print(f"{name}: {command[0]} is not installed")
            continue
        with tempfile.TemporaryDirectory() as directory:
            program = os.path.join(directory, "bare")
            more = [make_filler(command, directory)] if name in MIXED else []
            flags = ["-pthread"] if name in TABLED else NO_TABLES
            source, argument = OTHERS.get(name, ("bare.c", SECONDS))
            built = subprocess.run([*command, *flags, os.path.join(HERE, source), *more, "-o",
                                    program], check=False, capture_output=True)
            if built.returncode != 0:
                print(f"{name}: cannot be built here")
                continue
            for engine in ("table", "auto"):
                found = record(recorder, engine, [program, argument], directory)
                if found is None:
                    return 77
                tried += 1
                good &= check(name, engine, found)
    if tried == 0:
        return 77
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
