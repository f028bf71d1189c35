#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""join.py OUTPUT PAGE STYLE MODULE... - the page with its style and its modules, as one file.

The modules become one script: all their names share one scope, so imports go, and so does "export".
Lines that are empty or only a comment go, too."""

import re
import sys


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def script(path, known):
    text = re.sub(r"^import [^;]*;\n", "", read(path), flags=re.MULTILINE)
    text = re.sub(r"^export ", "", text, flags=re.MULTILINE)
    names = re.findall(r"^(?:async )?(?:const|let|function|class) (\w+)", text, flags=re.MULTILINE)
    for line in re.findall(r"^const .*", text, flags=re.MULTILINE):
        names += re.findall(r", ([A-Z][A-Z0-9_]*) = ", line)  # several constants in a line
    for name in names:
        if name in known:
            raise SystemExit(f"{path}: {known[name]} defines {name}, too")
        known[name] = path
    return re.sub(r"^ *(//.*)?\n", "", text, flags=re.MULTILINE)


def main(output, page, style, *modules):
    known = {}
    css = re.sub(r"/\*.*?\*/\s*", "", read(style), flags=re.DOTALL)
    text = read(page).replace("@STYLE@", css)
    text = text.replace("@SCRIPT@", "".join(script(module, known) for module in modules))
    with open(output, "w", encoding="utf-8") as out:
        out.write(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
