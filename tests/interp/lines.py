#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""lines.py FILE… - prints the tables of lines of all code objects of these files, as print-lines.c reads them, a
tab, and the line of each instruction as the interpreter itself says; for any CPython from 3.6 on."""

import dis
import sys
import types

FORMAT = 0 if sys.version_info < (3, 10) else 1 if sys.version_info < (3, 11) else 2


def true_lines(code):
    """[(start, line)]; 0: no line."""
    if FORMAT == 0:
        return list(dis.findlinestarts(code))
    return [(start, line or 0) for start, _, line in code.co_lines()]


def show(code):
    table = code.co_linetable if FORMAT else code.co_lnotab
    if len(table) < 16384:
        starts, at, line, answers = true_lines(code), 0, 0, []
        for offset in range(0, len(code.co_code), 2):
            while at < len(starts) and starts[at][0] <= offset:
                line = starts[at][1]
                at += 1
            answers.append(line)
        print(FORMAT, code.co_firstlineno, "".join("%02x" % byte for byte in table),
              " ".join(str(offset) for offset in range(0, len(code.co_code), 2)),
              "\t", " ".join(str(line) for line in answers))
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            show(constant)


for name in sys.argv[1:]:
    with open(name, "rb") as source:
        show(compile(source.read(), name, "exec"))
