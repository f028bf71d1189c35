#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""frames.py CAPTURE - what a capture holds: "early N", "late N", "samples N", "jitmap ADDRESS" and "twice ID"
lines, for the scripts of this directory."""

import collections
import struct
import sys

SAMPLE, JITMAP, CTRDEF, LOG = 2, 7, 8, 12


def frames(data):
    at = 256
    while at + 24 <= len(data):
        size, _, _, _, kind = struct.unpack_from("<HhiqB", data, at)
        yield kind, data[at + 24:at + size]
        at += size


def main(path):
    counts, counters = collections.Counter(early=0, late=0, samples=0), collections.Counter()
    with open(path, "rb") as file:
        data = file.read()
    for kind, payload in frames(data):
        if kind == SAMPLE:
            counts["samples"] += 1
        elif kind == JITMAP:
            print(f"jitmap {struct.unpack_from('<Q', payload, 4)[0]:#x}")
        elif kind == CTRDEF:
            for i in range(struct.unpack_from("<H", payload)[0]):
                counters[struct.unpack_from("<I", payload, 8 + 128 * i + 116)[0] & 0xffffff] += 1
        elif kind == LOG and payload[8:40].startswith(b"upstream\0"):
            counts[payload[40:].split()[0].decode()] += 1
    for each in counts.items():
        print(*each)
    for number, n in counters.items():
        if n > 1:
            print(f"twice {number}")


main(*sys.argv[1:])
