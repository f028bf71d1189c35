#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""fake-helper.py - the least that a helper can be; test_helper.py plays with it.

Takes the command line of sysprofd, writes a header, one sample for each event and one line of log,
and ends when event-fd says so.  The first word may be `long`: then it first fills the pipe.
"""

import os
import struct
import sys
import time

HEADER = struct.pack("<II64sqq168x", 0xFDCA975E, 0x101, b"2026-01-01T00:00:00Z", 1, 0)


def frame(kind, payload, cpu):
    size = 24 + len(payload) + 7 & ~7
    head = struct.pack("<HhiqB3xI", size, cpu, 1, time.monotonic_ns(), kind, 0)
    return (head + payload).ljust(size, b"\0")


def main(argv):
    options = {}
    for word in argv:
        name, _, value = word.partition("=")
        options.setdefault(name, []).append(value)
    capture = int(options["--capture-fd"][0])
    event = int(options["--event-fd"][0])
    os.write(capture, HEADER)
    for value in options["--perf-fd"]:
        fd, _, cpu = value.partition(":")
        os.fstat(int(fd))
        os.write(capture, frame(2, struct.pack("<HHiQ", 1, 0, 1, 0x1000), int(cpu)))
    text = " ".join(sorted(n for n in options if n.startswith("--")))
    os.write(capture, frame(12, struct.pack("<Hxxxxxx32s", 0, b"fake") + text.encode() + b"\0", -1))
    if "long" in options:
        # One byte at a time: a large write to a pipe that closes half-way succeeds with the bytes
        # so far.
        for _ in range(4000):
            os.write(capture, frame(12, bytes(40), -1))
    os.set_blocking(event, True)
    os.read(event, 8)
    return 0 if os.environ.get("PATH") is None else 4


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
