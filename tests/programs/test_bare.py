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
of a program, and musl's library has none. One runs on a stack of makecontext(). In one, nearly all stacks have a
false return address, and in one a step by frame pointer skips a function; none of these may be called complete.

As root, the walk in the kernel goes by such rows, too: it must complete stacks that no copy can hold, as those of
a deep recursion, and of Go code that has called C, on another stack. Until it has the rows, it goes by frame pointers:
while Go starts, from C code that keeps none, called by assembly that does, so that this would be left out.

How many stacks are complete depends on how soon the recorder has read a program's files after its start: a recording
with too few is made again, up to TRIES times. A wrong stack is one too many in any of them.

Exit status 77: cannot run here.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "judge"))
import kernel_walks  # noqa: E402  (needs the path above)

JUDGE = os.path.join(HERE, "../judge/judge.py")
NO_TABLES = ["-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-pthread"]
BUILDS = {
    "gcc": ["gcc", "-O2"],
    "gcc without optimization": ["gcc", "-O0"],
    "gcc stripped": ["gcc", "-O2", "-s"],
    "gcc beside code with tables": ["gcc", "-O2"],
    "gcc on a stack made by hand": ["gcc", "-O2"],
    "gcc with a false return address": ["gcc", "-O2"],
    "gcc with a caller's frame pointer": ["gcc", "-O2"],
    "gcc with one as Go sets it up": ["gcc", "-O2", "-DAS_GO"],
    "clang": ["clang", "-O2"],
    "musl static": ["musl-gcc", "-O2", "-static"],
    "musl static stripped": ["musl-gcc", "-O2", "-static", "-s"],
    "musl dynamic": ["musl-gcc", "-O2"],
    "musl dynamic with tables": ["musl-gcc", "-O2"],
}
PROGRAM = "bare"  # each of them
SKIPPED = {"gcc with a caller's frame pointer", "gcc with one as Go sets it up"}
TABLED = {"musl dynamic with tables"} | SKIPPED
SECONDS = "2"
# Name of a build -> its source and its argument
OTHERS = {"gcc on a stack made by hand": ("coroutine.c", "context"),
          "gcc with a false return address": ("false-return.c", SECONDS),
          **dict.fromkeys(SKIPPED, ("skipped.c", SECONDS))}
FALSE = {"gcc with a false return address"} | SKIPPED
MAX_FALSE = 10.0
MIXED = {"gcc beside code with tables"}
N_FILLERS = 600
MIN_COMPLETE = 90.0
# In the kernel: of a first recording, in which the rows have yet to be made, and of a second one
MIN_FIRST, MIN_SECOND = 85.0, 98.0
MIN_SAMPLES = 100
TRIES = 3
# Programs of the system that are run for SECONDS, copied without their CFI
INSTALLED = {
    "/usr/bin/python3": ["-c", "import json, time\nend = time.time() + " + SECONDS + "\n"
                         "while time.time() < end: json.loads(json.dumps([{'a': i, 'b': [i]} for i in range(999)]))"],
    "/usr/bin/perl": ["-e", "my $end = time + " + SECONDS + "; while (time < $end) { my %h; $h{$_ % 97} .= 'x' "
                      "for 1 .. 1000; my $s = join ',', sort map { \"$_=\" . length $h{$_} } keys %h; }"],
}
STARTS = 'for i in 1 2 3 4 5 6 7 8 9 10 11 12; do timeout 0.08 "$1" >/dev/null; done; true'


def record(recorder, engine, command, directory, frequency=999):
    capture = os.path.join(directory, "capture.syscap")
    env = os.environ | {"LIVE_UNWINDER_STORE": os.path.join(directory, "store")}
    os.makedirs(env["LIVE_UNWINDER_STORE"], mode=0o700, exist_ok=True)
    done = subprocess.run([recorder, "-q", "-f", "-F", str(frequency), "--engine", engine, "-o", capture,
                           "--", *command], env=env, check=False, text=True,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if done.returncode != 0:
        print(kernel_walks.reason_to_skip(done.stderr))
        return None
    judged = subprocess.run([sys.executable, JUDGE, "--json", "--comm", PROGRAM, capture], check=False,
                            text=True, capture_output=True)
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
    """Prints the judge's report; returns the percentage of stacks called complete and the number of wrong ones."""
    judged, complete = found["judged"], found["complete"]
    refused = sum(found["refused"].values())
    share = 100 * (complete + refused) / max(judged, 1)
    print(f"{name}, {engine}: {judged} judged, {share:.2f} % called complete, {refused} of them wrong", flush=True)
    return share, refused


def try_to_record(recorder, name, engine, command, directory, least=MIN_COMPLETE, fresh=False):
    """Whether a recording is good; None: recording is not possible here. A fresh one finds nothing in the store."""
    for _ in range(TRIES):
        if fresh:
            shutil.rmtree(os.path.join(directory, "store"), ignore_errors=True)
        found = record(recorder, engine, command, directory)
        if found is None:
            return None
        share, refused = check(name, engine, found)
        if refused > 0:
            return False
        if found["judged"] < MIN_SAMPLES:
            print("  too few samples, not decided")
            return True
        if name in FALSE:
            return share <= MAX_FALSE
        if share >= least:
            return True
    return False


def build_deep(program):
    """Returns the command of a program whose stack is larger than any copy; None: not here."""
    if shutil.which("musl-gcc") is None:
        return None
    built = subprocess.run(["musl-gcc", "-O2", "-static", *NO_TABLES, "-DROOM=256", "-DMILLISECONDS=3000",
                            os.path.join(HERE, "recursion.c"), "-o", program], check=False)
    return [program, "1000"] if built.returncode == 0 else None


def build_go(program):
    """Returns the command of a program of Go that calls C; None: not here."""
    if shutil.which("go") is None:
        return None
    env = os.environ | {"CGO_ENABLED": "1", "CGO_CFLAGS": " ".join(["-O2", *NO_TABLES[:2]]),
                        "CGO_CFLAGS_ALLOW": "-f.*", "GO111MODULE": "off", "GOFLAGS": "",
                        "GOCACHE": program + ".cache"}
    built = subprocess.run(["go", "build", "-o", program, os.path.join(HERE, "bare.go")], check=False,
                           env=env, capture_output=True)
    return [program] if built.returncode == 0 else None


def check_in_kernel(recorder):
    """Whether the walk in the kernel completes what no copy holds."""
    good = True
    for name, build in {"musl static, deep": build_deep, "Go and C": build_go}.items():
        with tempfile.TemporaryDirectory() as directory:
            command = build(os.path.join(directory, PROGRAM))
            if command is None:
                print(f"{name}: cannot be built here")
                continue
            for least in (MIN_FIRST, MIN_SECOND):
                found = try_to_record(recorder, name, "bpf", command, directory, least, fresh=least == MIN_FIRST)
                if found is None:
                    return good
                good &= found
                if build == build_go and least == MIN_FIRST:
                    good &= check_starts(recorder, name, command, directory)
    return good


def check_installed(recorder):
    """Whether large programs of the system are recorded well, whose rows are made in parts; None: not here."""
    good = None
    for path, arguments in INSTALLED.items():
        if not os.path.exists(path) or shutil.which("objcopy") is None:
            continue
        with tempfile.TemporaryDirectory() as directory:
            program = os.path.join(directory, PROGRAM)
            subprocess.run(["objcopy", "-R", ".eh_frame", "-R", ".eh_frame_hdr", os.path.realpath(path), program],
                           check=True, capture_output=True)
            for engine in ("table", "auto"):
                found = try_to_record(recorder, os.path.basename(path), engine, [program, *arguments], directory,
                                      fresh=True)
                if found is None:
                    return None
                good = found and good is not False
    return good


def check_starts(recorder, name, command, directory):
    """Whether no stack is wrong of a program that starts again and again while the rows are made."""
    shutil.rmtree(os.path.join(directory, "store"))
    found = record(recorder, "bpf", ["sh", "-c", STARTS, "sh", *command], directory, 9999)
    return found is None or check(name + ", started often", "bpf", found)[1] == 0


def main():
    recorder = os.path.abspath(sys.argv[1])
    good, tried = True, 0
    for name, command in BUILDS.items():
        if shutil.which(command[0]) is None:
            print(f"{name}: {command[0]} is not installed")
            continue
        with tempfile.TemporaryDirectory() as directory:
            program = os.path.join(directory, PROGRAM)
            more = [make_filler(command, directory)] if name in MIXED else []
            flags = ["-pthread"] if name in TABLED else NO_TABLES
            source, argument = OTHERS.get(name, ("bare.c", SECONDS))
            built = subprocess.run([*command, *flags, os.path.join(HERE, source), *more, "-o",
                                    program], check=False, capture_output=True)
            if built.returncode != 0:
                print(f"{name}: cannot be built here")
                continue
            engines = ("table", "auto", "bpf") if name in SKIPPED and os.geteuid() == 0 else ("table", "auto")
            for engine in engines:
                found = try_to_record(recorder, name, engine, [program, argument], directory, fresh=engine == "table")
                if found is None:
                    return 77
                tried += 1
                good &= found
    installed = check_installed(recorder)
    if installed is not None:
        tried += 1
        good &= installed
    if os.geteuid() == 0:
        good &= check_in_kernel(recorder)
    if tried == 0:
        return 77
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
