#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""test_golden.py PROGRAM ARCHITECTURE [--update] - what `PROGRAM tables` prints for golden/ARCHITECTURE.s,
assembled and linked here, is golden/ARCHITECTURE.txt.

Skips (exit status 77) without an assembler and a linker for the architecture. Where entries stand in
.eh_frame is the linker's business, so their offsets are not compared; --update writes the text anew."""

import difflib
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

GOLDEN = pathlib.Path(__file__).resolve().parent / "golden"
PREFIXES = {"x86-64": ("x86_64", "x86_64-linux-gnu-"), "aarch64": ("aarch64", "aarch64-linux-gnu-")}
HEAD = "".join(f"# SPDX-{line}\n" for line in ("License-" "Identifier: LGPL-2.1-or-later",
                                              "FileCopyrightText: 2026 The live-unwinder authors"))
COUNTS = re.compile(r"^(FDEs|rows|rules) +(\d+)", re.MULTILINE)


def find_tool(architecture, name):
    machine, prefix = PREFIXES[architecture]
    found = shutil.which(prefix + name)
    return found or (shutil.which(name) if platform.machine() == machine else None)


def build(architecture, directory):
    """A shared library with its code at a fixed address; None without the tools."""
    assembler, linker = find_tool(architecture, "as"), find_tool(architecture, "ld")
    if not assembler or not linker:
        return None
    made, library = directory / "golden.o", directory / "golden.so"
    subprocess.run([assembler, "-o", made, GOLDEN / f"{architecture}.s"], check=True)
    subprocess.run([linker, "-shared", "--eh-frame-hdr", "-Ttext=0x10000", "--section-start=.plt=0x20000",
                    "-o", library, made],
                   check=True)
    return library


def tables(program, *args):
    done = subprocess.run([program, "tables", *args], check=True, capture_output=True, text=True,
                          env=os.environ | {"LC_ALL": "C"})
    return done.stdout


def main(argv):
    program, architecture = argv[1:3]
    with tempfile.TemporaryDirectory() as directory:
        library = build(architecture, pathlib.Path(directory))
        if library is None:
            print(f"no assembler or no linker for {architecture}")
            return 77
        text = HEAD + re.sub(r"_frame\+0x[0-9a-f]+", "_frame", tables(program, library))
        counts = dict(COUNTS.findall(tables(program, "--stats", library)))
    if "--update" in argv:
        (GOLDEN / f"{architecture}.txt").write_text(text)
        return 0
    want = (GOLDEN / f"{architecture}.txt").read_text()
    sys.stdout.writelines(difflib.unified_diff(want.splitlines(True), text.splitlines(True),
                                               f"golden/{architecture}.txt", "printed"))
    n_fdes = sum(".." in line for line in text.splitlines())
    print(f"{n_fdes} FDEs, {len(text.splitlines()) - n_fdes - 2} rows")
    return 0 if text == want and int(counts["FDEs"]) == n_fdes else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv))
