#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""test_lines.py LINES_OF [--addresses N] [--show N] FILE… - our lines and inlined functions compared with
addr2line's.

Asks both for N addresses of each file, spread evenly over its code. Where both know a line, functions,
files and lines of all levels are the same, but for one address in a hundred: see is_known()."""

import argparse
import collections
import os
import re
import shutil
import struct
import subprocess
import sys

SKIP = 77
MAX_DIFFERENT = 0.01


def code_of(path):
    """(address, size) of .text."""
    with open(path, "rb") as file:
        data = file.read()
    offset, = struct.unpack_from("<Q", data, 0x28)
    size, count, names = struct.unpack_from("<HHH", data, 0x3a)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, offset + i * size) for i in range(count)]
    for header in headers:
        start = headers[names][4] + header[0]
        if data[start:data.index(b"\0", start)] == b".text":
            return header[3], header[5]
    raise SystemExit(f"{path}: no .text")


def answers(command, addresses):
    """address -> [(function, file, line)], the innermost first."""
    result = subprocess.run(command, input="".join(f"{address:#x}\n" for address in addresses), check=True,
                            stdout=subprocess.PIPE, text=True)
    found, lines = {}, result.stdout.splitlines()
    at = 0
    while at < len(lines):
        address = int(lines[at], 16)
        found[address] = []
        at += 1
        while at < len(lines) and not re.fullmatch("0x[0-9a-f]{16}", lines[at]):
            place = re.sub(r" \(discriminator \d+\)$", "", lines[at + 1])
            file, line = place.rsplit(":", 1)
            found[address].append((lines[at], os.path.normpath(file), int(line) if line.isdigit() else 0))
            at += 2
    return found


def is_known(ours, theirs):
    """Why they may differ, or None."""
    if theirs[0][2] == 0 or ours[0][2] == 0:
        return "one knows no line"
    if [level[1:] for level in ours] == [level[1:] for level in theirs]:
        return "functions of other names"      # of several at one address, or with parameters
    if [level[0] for level in ours] == [level[0] for level in theirs]:
        return "other lines"                   # of several at one address, or of a part of a line
    if len(theirs) < len(ours) and ours[0][1:] == theirs[0][1:]:
        return "fewer levels in addr2line"     # that of binutils 2.40 leaves out clang's lists of ranges
    if len(ours) != len(theirs):
        return "other depth"
    return "all"


def compare(lines_of, path, n, show):
    path = os.path.abspath(path)
    start, size = code_of(path)
    addresses = sorted({start + i * size // n for i in range(n)})
    ours = answers([lines_of, path], addresses)
    theirs = answers(["addr2line", "-a", "-f", "-i", "-C", "-e", path], addresses)
    kinds = collections.Counter()
    shown = 0
    for address in addresses:
        if ours[address] == theirs[address]:
            kinds["equal"] += 1
            kinds["equal, with inlined functions"] += len(ours[address]) > 1
            continue
        kind = is_known(ours[address], theirs[address])
        kinds[kind] += 1
        if shown < show:
            shown += 1
            print(f"# {address:#x} {kind}:\n#   {ours[address]}\n#   {theirs[address]}")
    print(f"# {os.path.basename(path)}: {dict(kinds)} of {len(addresses)}")
    different = sum(kinds[kind] for kind in ("other lines", "other depth", "all"))
    return kinds["equal"] > 0 and different <= MAX_DIFFERENT * len(addresses)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("lines_of")
    parser.add_argument("--addresses", type=int, default=10000)
    parser.add_argument("--show", type=int, default=0)
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    if shutil.which("addr2line") is None:
        print("addr2line is not installed")
        return SKIP
    good = [compare(arguments.lines_of, path, arguments.addresses, arguments.show)
            for path in arguments.files]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
