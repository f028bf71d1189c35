#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""run.py TABLE INCLUDE - builds self.c for aarch64 in several ways, makes each one's table with the
program TABLE, and runs it: natively, or under qemu's user emulation.

Prints TAP.  Skips (exit status 77) without a compiler, a C library or an emulator for aarch64."""

import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent / "self.c"
LIMIT = 120     # seconds, of one run
FLAGS = ["-std=gnu11", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Wno-unused-command-line-argument",
         "-fasynchronous-unwind-tables", "-fno-stack-protector", "-static", "-fno-pie", "-no-pie"]
BUILDS = {
    "plain": ["-O2"],
    "with frame pointers": ["-O2", "-fno-omit-frame-pointer"],
    "small": ["-Os", "-fomit-frame-pointer"],
    "signed return addresses": ["-O2", "-mbranch-protection=standard"],
}


def compilers():
    """Debian has no cross gcc beside gcc-multilib; clang needs the cross C library only."""
    if platform.machine() == "aarch64":
        return [["cc"]]
    return [["aarch64-linux-gnu-gcc"], ["clang", "--target=aarch64-linux-gnu"]]


def emulator():
    """The command to run a program by; None without one."""
    if platform.machine() == "aarch64":
        return []
    found = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")
    return [found, "-cpu", "max"] if found else None


def build(compiler, flags, include, output):
    done = subprocess.run([*compiler, *FLAGS, *flags, f"-I{include}", "-o", output, SOURCE],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print("".join(f"# {line}\n" for line in done.stderr.splitlines()[-5:]), end="")
    return done.returncode == 0


def find_compiler(directory):
    """The first one that can make a static program."""
    source = directory / "try.c"
    source.write_text("#include <stdio.h>\nint main (void) { return puts (\"\") < 0; }\n")
    for compiler in compilers():
        if shutil.which(compiler[0]) and subprocess.run(
                [*compiler, "-static", "-o", directory / "try", source], check=False,
                stdin=subprocess.DEVNULL, capture_output=True).returncode == 0:
            return compiler
    return None


def run_build(command, program, table):
    """The lines of one run, and whether it was good."""
    try:
        done = subprocess.run([*command, program, table], stdin=subprocess.DEVNULL, check=False,
                              capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return ["no end"], False
    lines = done.stdout.splitlines() + done.stderr.splitlines()
    good = done.returncode == 0 and any(line.startswith("ok") for line in lines) \
        and not any(line.startswith("not ok") for line in lines) and "1.." in done.stdout
    return lines, good


def main(argv):
    tool, include = argv[1:3]
    command, failed = emulator(), 0
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        compiler = find_compiler(directory)
        if command is None or compiler is None:
            print("1..0 # SKIP no " + ("compiler" if compiler is None else "emulator") + " for aarch64")
            return 0
        program, table = directory / "self", directory / "self.table"
        for number, (title, flags) in enumerate(BUILDS.items(), 1):
            good = build(compiler, flags, include, program)
            if good:
                subprocess.run([tool, program, table], check=True)
                lines, good = run_build(command, program, table)
                print("".join(f"#   {line}\n" for line in lines), end="")
            print(f"{'' if good else 'not '}ok {number} - {title}")
            failed += not good
    print(f"1..{len(BUILDS)}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
