#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""helper.py - a helper of Sysprof that writes known frames; the scripts of this directory count them.

    helper.py EARLY LATE SYSPROFD'S-OPTIONS…

It writes EARLY lines of log at once and LATE lines when it is told to stop, then a name of a synthetic
address and a counter of its own. It never writes more than a pipe takes at once.
"""

import os
import struct
import sys
import time

HEADER = struct.pack("<II64sqq168x", 0xFDCA975E, 0x101, b"2026-01-01T00:00:00Z", 1, 0)
JITMAP, CTRDEF, LOG = 7, 8, 12


def frame(kind, payload):
    size = 24 + len(payload) + 7 & ~7
    return (struct.pack("<HhiqB3xI", size, -1, 1, time.monotonic_ns(), kind, 0) + payload).ljust(size, b"\0")


def log(text):
    return frame(LOG, struct.pack("<H6x32s", 1 << 5, b"upstream") + text.encode() + b"\0")


def main(early, late, *options):
    fds = dict(option[2:].split("=") for option in options)
    capture, event = int(fds["capture-fd"]), int(fds["event-fd"])
    os.set_blocking(event, True)
    os.write(capture, HEADER)
    # First, because the client forwards nothing but the first frames of what it reads at once.
    os.write(capture, frame(JITMAP, struct.pack("<IQ", 1, 0xE000000000001000) + b"name of the helper\0"))
    time.sleep(0.5)
    os.write(capture, frame(CTRDEF, struct.pack("<H6x32s32s52sIq", 1, b"upstream", b"of the helper", b"", 1, 0)))
    time.sleep(0.5)
    for i in range(int(early)):
        os.write(capture, log(f"early {i}"))
    os.read(event, 8)
    for i in range(int(late)):
        os.write(capture, log(f"late {i}"))


main(*sys.argv[1:])
