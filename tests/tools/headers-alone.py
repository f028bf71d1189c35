#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""headers-alone.py BUILD [ROOT] - does every header compile when it is the only thing included?

Takes the compiler and its include and define options from BUILD/compile_commands.json (of a file of
the library), so nothing is repeated here. Headers of include/lu are compiled a second time with
-ffreestanding: they are shared with BPF. Prints the compiler's complaint for each bad header.
--self-test checks that a header missing an include is found."""

import concurrent.futures
import json
import os
import shlex
import subprocess
import sys
import tempfile

import tree

KEPT = ("-I", "-D", "-U", "-isystem", "-std", "-pthread", "-m")
WARNINGS = ["-Wall", "-Werror", "-Wno-unused-function", "-Wno-unused-const-variable"]


def command_for(build):
    """Compiler words, without input and output, for a header of src/."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as stream:
        entries = json.load(stream)
    entry = next(e for e in entries if e["output"].startswith("src/liblu.a.p/"))
    words = shlex.split(entry["command"])
    compiler = []
    while words and not words[0].startswith("-"):
        compiler.append(words.pop(0))
    return compiler, [word for word in words if word.startswith(KEPT)]


def compile_alone(command, directory, header):
    """None if the header compiles, else what the compiler said."""
    with tempfile.NamedTemporaryFile("w", suffix=".c", delete=False) as unit:
        unit.write(f'#include "{header}"\n#include "{header}"\nextern int lu_header_alone;\n')
    try:
        done = subprocess.run(command + ["-fsyntax-only", unit.name], cwd=directory,
                              capture_output=True, text=True, check=False)
    finally:
        os.unlink(unit.name)
    return done.stderr if done.returncode else None


def jobs(root, headers, compiler, options):
    for header in headers:
        full = os.path.abspath(os.path.join(root, header))
        yield header, compiler + options + WARNINGS, full
        if header.startswith("include/lu/"):
            freestanding = ["-std=gnu11", "-ffreestanding", f"-I{os.path.abspath(root)}/include"]
            yield header + " (freestanding)", compiler + freestanding + WARNINGS, full


def check(root, build, headers, compiler, options):
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        waiting = [(name, pool.submit(compile_alone, command, build, full))
                   for name, command, full in jobs(root, headers, compiler, options)]
        for name, future in waiting:
            complaint = future.result()
            if complaint:
                bad += 1
                print(f"{name} does not compile alone:\n{complaint}")
    print(f"{len(headers)} headers compiled alone, {bad} failures")
    return bad


def self_test(build):
    compiler, options = command_for(build)
    with tempfile.TemporaryDirectory() as root:
        os.makedirs(os.path.join(root, "include/lu"))
        texts = {"include/lu/good.h": "#pragma once\n#include <stdint.h>\nuint8_t good (void);\n",
                 "include/lu/lacks.h": "#pragma once\nuint8_t lacks (void);\n",
                 "include/lu/twice.h": "struct twice { int a; };\n"}
        for name, text in texts.items():
            with open(os.path.join(root, name), "w", encoding="utf-8") as out:
                out.write(text)
        for name, expected in (("good", 0), ("lacks", 2), ("twice", 2)):
            bad = check(root, build, [f"include/lu/{name}.h"], compiler, options)
            assert bad == expected, (name, bad)
    return 0


def main(argv):
    if argv[1:2] == ["--self-test"]:
        return self_test(argv[2])
    build = argv[1]
    root = argv[2] if len(argv) > 2 else os.path.join(os.path.dirname(argv[0]), "../..")
    headers = [name for name in tree.files(root)
               if name.startswith(("src/", "include/")) and name.endswith(".h")]
    compiler, options = command_for(build)
    return 1 if check(root, build, headers, compiler, options) or not headers else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
