# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""capwriter.py - writes small captures by hand, right ones and wrong ones, for the judge's tests.

It knows the format only as far as the tests need, and lets a test break every rule on purpose.
"""

import struct

CONTEXT_KERNEL = (1 << 64) - 128
CONTEXT_USER = (1 << 64) - 512
SYNTHETIC = 0xE000000000000000


class Writer:
    def __init__(self, time=1000, end_time=0):
        self.data = bytearray(struct.pack("<II64sqq168x", 0xFDCA975E, 0x101,
                                          b"2026-01-01T00:00:00Z", time, end_time))

    def frame(self, kind, payload, time=1000, pid=1, cpu=0):
        payload = bytes(payload)
        size = 24 + len(payload) + 7 & ~7
        self.data += struct.pack("<HhiqB3xI", size, cpu, pid, time, kind, 0)
        self.data += payload.ljust(size - 24, b"\0")
        return self

    def sample(self, user, kernel=(), time=2000, pid=1, tid=None, cpu=0):
        words = [CONTEXT_KERNEL, *kernel] if kernel else []
        words += [CONTEXT_USER, *user] if user else []
        return self.words(words, time, pid, tid, cpu)

    def words(self, words, time=2000, pid=1, tid=None, cpu=0):
        head = struct.pack("<HHi", len(words), 0, pid if tid is None else tid)
        return self.frame(2, head + struct.pack(f"<{len(words)}Q", *words), time, pid, cpu)

    def map(self, start, end, offset, path, build_id="", inode=0, time=1000, pid=1):
        tail = b"@" + build_id.encode() + b"\0" if build_id else b""
        return self.frame(3, struct.pack("<4Q", start, end, offset, inode) + path.encode() + b"\0"
                          + tail, time, pid)

    def process(self, cmdline, time=1000, pid=1):
        return self.frame(4, cmdline.encode() + b"\0", time, pid)

    def jitmap(self, names):
        entries = b"".join(struct.pack("<Q", a) + n.encode() + b"\0" for a, n in names.items())
        return self.frame(7, struct.pack("<I", len(names)) + entries, pid=-1)

    def metadata(self, key, text):
        return self.frame(11, key.encode().ljust(40, b"\0") + text.encode() + b"\0", pid=-1)

    def save(self, path):
        with open(path, "wb") as file:
            file.write(self.data)
        return path
