#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""maker.py OUTPUT DEPFILE ROOT SOURCE... - names the compiler of tables by what it is made of.

Writes LU_TABLE_MAKER, a digest (SHA-256) of the C files and of all our headers that they
include, for table/store.c: a stored table is of use to a program of the same sources, however
that was built.  Headers are looked for in ROOT/src and ROOT/include; those of the system, and what
is generated, do not count.  The depfile has make write it again when one of the headers changes.
"""

import hashlib
import re
import sys
from pathlib import Path

INCLUDE = re.compile(rb'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def with_headers(root, sources):
    """All files that the sources consist of, by their names below the root."""
    todo, found = list(sources), {}
    while todo:
        path = todo.pop()
        name = path.relative_to(root).as_posix()
        if name in found:
            continue
        found[name] = path.read_bytes()
        for match in INCLUDE.finditer(found[name]):
            places = (directory / match[1].decode()
                      for directory in (path.parent, root / "src", root / "include"))
            todo += [place.resolve() for place in places if place.is_file()][:1]
    return found


def digest(files):
    total = hashlib.sha256()
    for name in sorted(files):
        total.update(f"{name}\n{len(files[name])}\n".encode() + files[name])
    return total.digest()


def main():
    output, depfile, root, *sources = sys.argv[1:]
    root = Path(root).resolve()
    files = with_headers(root, [Path(source).resolve() for source in sources])
    words = ", ".join(f"0x{byte:02x}" for byte in digest(files))
    Path(output).write_text(f"#pragma once\n\n#define LU_TABLE_MAKER {{ {words} }}\n",
                            encoding="ascii")
    names = " ".join(str(root / name).replace(" ", "\\ ") for name in sorted(files))
    Path(depfile).write_text(f"{output}: {names}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
