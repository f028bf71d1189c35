#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""embed.py NAME INPUT OUTPUT - a text file as a C header: an array NAME that ends in NUL."""

import sys

name, source, target = sys.argv[1:]
with open(source, "rb") as file:
    content = file.read() + b"\0"
rows = [content[i:i + 20] for i in range(0, len(content), 20)]
with open(target, "w", encoding="ascii") as out:
    out.write(f"#pragma once\n\nstatic const unsigned char {name}[] = {{\n")
    out.writelines("  " + "".join(f"{byte}, " for byte in row).rstrip() + "\n" for row in rows)
    out.write("};\n")
