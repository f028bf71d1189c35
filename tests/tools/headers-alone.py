#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""headers-alone.py BUILD [ROOT] - does every header compile when it is the only thing included?

Takes the compiler and its include and define options from BUILD/compile_commands.json (of a file of
the library), so nothing is repeated here. A header that a source of the library includes before anything
else was compiled alone when the library was, and only its guard is looked at. Headers of include/lu are
compiled a second time with -ffreestanding: they are shared with BPF. Prints the compiler's complaint for each
bad header. --self-test checks that a header missing an include is found."""

import concurrent.futures
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

import tree

KEPT = ("-I", "-D", "-U", "-isystem", "-std", "-pthread", "-m")
WARNINGS = ["-Wall", "-Werror", "-Wno-unused-function", "-Wno-unused-const-variable"]


DIRECTIVE = re.compile(r'^[ \t]*#[ \t]*(?:include[ \t]+"([^"]+)")?', re.MULTILINE)
GUARD = re.compile(r"^#pragma once$", re.MULTILINE)


def library_entries(build):
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as stream:
        return [entry for entry in json.load(stream) if entry["output"].startswith("src/liblu.a.p/")]


def read(path):
    with open(path, encoding="utf-8", errors="replace") as stream:
        return stream.read()


def proved(build, root):
    """The headers of src with a guard that sources of the library include first."""
    found = set()
    for entry in library_entries(build):
        source = os.path.join(entry["directory"], entry["file"])
        first = DIRECTIVE.search(read(source)) if os.path.exists(source) else None
        header = f"src/{first.group(1)}" if first and first.group(1) else None
        if header and os.path.exists(os.path.join(root, header)) and GUARD.search(read(os.path.join(root, header))):
            found.add(header)
    return found


def command_for(build):
    """Compiler words, without input and output, for a header of src/."""
    entry = library_entries(build)[0]
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


def jobs(root, headers, known, compiler, options):
    for header in headers:
        full = os.path.abspath(os.path.join(root, header))
        if header not in known:
            yield header, compiler + options + WARNINGS, full
        if header.startswith("include/lu/"):
            freestanding = ["-std=gnu11", "-ffreestanding", f"-I{os.path.abspath(root)}/include"]
            yield header + " (freestanding)", compiler + freestanding + WARNINGS, full


def check(root, build, headers, compiler, options):
    bad = 0
    known = proved(build, root)
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        waiting = [(name, pool.submit(compile_alone, command, build, full))
                   for name, command, full in jobs(root, headers, known, compiler, options)]
        for name, future in waiting:
            complaint = future.result()
            if complaint:
                bad += 1
                print(f"{name} does not compile alone:\n{complaint}")
    n_known = len(known.intersection(headers))
    print(f"{len(headers) - n_known} headers compiled alone, {n_known} first in a source that is compiled, {bad} failures")
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
        self_test_of_proofs(root, compiler)
    return 0


def self_test_of_proofs(root, compiler):
    """Only what a compiled source includes first needs no compiler, and only with a guard."""
    sources = {"first.c": '/* text */\n#include "a/first.h"\n#include "a/second.h"\n',
               "system.c": '#include <stdio.h>\n#include "a/late.h"\n',
               "defines.c": '#define X\n#include "a/late.h"\n', "open.c": '#include "a/open.h"\n', "twice.c": '#include "../twice.h"\n'}
    headers = {"first.h": "#pragma once\n", "second.h": "#pragma once\nuint8_t second (void);\n",
               "late.h": "#pragma once\nuint8_t late (void);\n", "open.h": "struct open { int a; };\n"}
    os.makedirs(os.path.join(root, "src/a"))
    for name, text in (sources | headers).items():
        with open(os.path.join(root, "src/a", name), "w", encoding="utf-8") as out:
            out.write(text)
    entries = [{"directory": root, "file": f"src/a/{name}", "output": f"src/liblu.a.p/{name}.o",
                "command": shlex.join(compiler)} for name in sources]
    entries.append({"directory": root, "file": "src/a/gone.c", "output": "src/liblu.a.p/gone.c.o", "command": "cc"})
    entries.append({"directory": root, "file": "src/a/first.c", "output": "tests/other.p/first.c.o", "command": "cc"})
    with open(os.path.join(root, "compile_commands.json"), "w", encoding="utf-8") as out:
        json.dump(entries, out)
    assert proved(root, root) == {"src/a/first.h"}, proved(root, root)
    assert check(root, root, [f"src/a/{name}" for name in headers], compiler, []) == 3


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
