#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""include-directions.py [ROOT] - does every room include only what it may know?

The rooms are the directories of src/ in their order of dependence (docs/ARCHITECTURE.md, "Rooms"): a file
includes only its own room, rooms above it in ROOMS, and include/lu. FORBIDDEN holds the pairs that
the order would allow and the design does not. include/lu itself is the contract with BPF: it includes
only itself and the freestanding C headers. Libraries with one owner are listed in LIBRARIES.

Prints one line per wrong include; exit status 1 if there is any. --self-test checks the checker."""

import os
import re
import sys
import tempfile

import tree

ROOMS = ["base", "sandbox", "arch", "elf", "interp", "table", "code", "module", "process", "input", "unwind", "symbolize",
         "bpf", "capture", "profile", "export", "record", "session", "report", "top", "cli"]
FORBIDDEN = {
    ("input", "process"): "input knows no process",
    ("unwind", "input"): "unwind must not know where samples come from",
    ("unwind", "symbolize"): "unwind knows no names",
    ("capture", "input"): "capture never sees a ring",
    ("profile", "input"): "profile never sees a ring",
    ("export", "input"): "export never sees a ring",
}
# Made by the build.
GENERATED = {"call-filter.h", "config.h", "page-template.h", "perfetto.pb-c.h", "profile.pb-c.h", "table-maker.h"}
FREESTANDING = {"stdint.h", "stddef.h", "stdbool.h", "limits.h", "stdarg.h", "stdatomic.h"}
# The directories of src/ (or single files) that may include a library's headers.
LIBRARIES = [
    (re.compile(r"^(elfutils/|libelf\.h|gelf\.h|dwarf\.h)"), ("src/elf/", "src/unwind/",
                                                              "src/symbolize/")),
    (re.compile(r"^elfutils/debuginfod"), ("src/symbolize/",)),
    (re.compile(r"^bpf/(lib)?bpf(_[a-z]+)?\.h"), ("src/bpf/", "bpf/")),
]
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)


def room_of(path):
    """The room a file of src/ belongs to; "" for a file in no room; None outside src/."""
    parts = path.split("/")
    if parts[0] != "src":
        return None
    return parts[1] if len(parts) > 2 else ""


def target_of(path, name, known):
    """The project file that `#include "name"` in `path` means; None if there is no such file."""
    for directory in (os.path.dirname(path), "src", "include"):
        candidate = os.path.normpath(os.path.join(directory, name))
        if candidate in known:
            return candidate
    return None


def check_contract(path, quote, name, target):
    if quote == "<" and name not in FREESTANDING:
        return f"{path}: <{name}>: include/lu is freestanding"
    if quote == '"' and (target is None or not target.startswith("include/lu/")):
        return f'{path}: "{name}": include/lu includes only itself'
    return None


def check_room(path, name, target):
    here, there = room_of(path), room_of(target)
    if there is None or there == here:
        return None
    if there not in ROOMS:
        return f'{path}: "{name}": {there} is not a room of the plan'
    if ROOMS.index(there) > ROOMS.index(here):
        return f'{path}: "{name}": {there} comes after {here}'
    why = FORBIDDEN.get((here, there))
    return f'{path}: "{name}": {why}' if why else None


def check_library(path, name):
    for pattern, owners in LIBRARIES:
        if pattern.match(name) and not path.startswith(owners):
            return f"{path}: <{name}>: only {', '.join(owners)} may include this library"
    return None


def check_file(path, content, known):
    problems = []
    here = room_of(path)
    if here == "":
        return [f"{path}: src/ holds rooms and meson.build, nothing else"]
    if here is not None and here not in ROOMS:
        return [f"{path}: {here} is not a room of the plan"]
    for quote, name in INCLUDE.findall(content):
        target = target_of(path, name, known)
        if path.startswith("include/lu/"):
            problems.append(check_contract(path, quote, name, target))
        elif quote == "<":
            problems.append(check_library(path, name))
        elif target is None and name not in GENERATED and not name.endswith(".skel.h"):
            problems.append(f'{path}: "{name}": no such file')
        elif target is not None:
            problems.append(check_room(path, name, target))
    return [problem for problem in problems if problem]


def check_tree(root):
    known = set(tree.files(root))
    problems, checked = [], 0
    for path in sorted(known):
        if path.startswith(("src/", "include/")) and path.endswith((".c", ".h")):
            problems += check_file(path, tree.text(root, path) or "", known)
            checked += 1
    return problems, checked


GOOD_TREE = {
    "include/lu/row.h": "#include <stdint.h>\n",
    "include/lu/step.h": '#include "lu/row.h"\n',
    "src/base/queue.h": "#include <glib.h>\n",
    "src/elf/image.c": '#include "image.h"\n#include <elfutils/libdw.h>\n',
    "src/elf/image.h": '#include "base/queue.h"\n#include "lu/row.h"\n',
    "src/process/address-space.h": '#include "module/module.h"\n#include "config.h"\n',
    "src/module/module.h": '#include "base/queue.h"\n',
    "src/input/record.h": '#include "base/queue.h"\n',
    "src/capture/sink.h": '#include "process/address-space.h"\n',
    "src/cli/main.c": '#include "capture/sink.h"\n#include "session/session.h"\n',
    "src/session/session.h": '  #  include "input/record.h"\n',
}
# (file, text, part of the complaint)
BAD_FILES = [
    ("src/input/ring.c", '#include "process/address-space.h"\n', "input knows no process"),
    ("src/process/process.c", '#include "input/record.h"\n', "input comes after process"),
    ("src/base/fd.c", '#include "elf/image.h"\n', "elf comes after base"),
    ("src/unwind/dwfl.c", '#include "input/record.h"\n', "where samples come from"),
    ("src/capture/syscap.c", '#include "input/record.h"\n', "never sees a ring"),
    ("src/export/folded.c", '#include "main.h"\n#include "session/session.h"\n', "no such file"),
    ("src/record/drain.c", '#include "session/session.h"\n', "session comes after record"),
    ("src/elf/image2.c", '#include "../process/address-space.h"\n', "process comes after elf"),
    ("src/utils/string.c", "\n", "utils is not a room"),
    ("src/main.c", "\n", "nothing else"),
    ("src/cli/main2.c", "#include <elfutils/libdwfl.h>\n", "may include this library"),
    ("include/lu/status.h", "#include <glib.h>\n", "freestanding"),
    ("include/lu/event.h", '#include "base/queue.h"\n', "only itself"),
]


def write_tree(root, tree_files):
    for path, content in tree_files.items():
        full = os.path.join(root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as out:
            out.write(content)


def self_test():
    with tempfile.TemporaryDirectory() as root:
        write_tree(root, GOOD_TREE)
        problems, checked = check_tree(root)
        assert problems == [] and checked == len(GOOD_TREE), problems
    for path, content, complaint in BAD_FILES:
        with tempfile.TemporaryDirectory() as root:
            write_tree(root, GOOD_TREE | {path: content})
            problems, _ = check_tree(root)
            assert any(complaint in problem for problem in problems), (path, problems)
            assert all(problem.startswith(path) for problem in problems), (path, problems)
    print(f"self-test: {len(BAD_FILES)} wrong includes found, {len(GOOD_TREE)} good files passed")
    return 0


def main(argv):
    if argv[1:] == ["--self-test"]:
        return self_test()
    root = argv[1] if len(argv) > 1 else os.path.join(os.path.dirname(argv[0]), "../..")
    problems, checked = check_tree(root)
    for problem in problems:
        print(problem)
    print(f"{checked} files checked, {len(problems)} wrong includes")
    return 1 if problems or checked == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
