# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""Tests of syscap.py: what it reads, and above all what it refuses."""

import io
import struct
import unittest

import syscap
from capwriter import CONTEXT_KERNEL, CONTEXT_USER, SYNTHETIC, Writer


def chunk(path, data, last):
    return struct.pack("<HH256s", last, len(data), path.encode()) + data


class Reading(unittest.TestCase):
    def test_every_kind_of_frame(self):
        w = Writer(time=5, end_time=9)
        w.process("prog arg").map(0x1000, 0x3000, 0x400, "/bin/prog", "00ff").map(
            0x5000, 0x6000, 0, "/lib/x", inode=7)
        w.sample([1, 2], [3], time=6, pid=1, tid=4, cpu=1)
        w.frame(5, struct.pack("<i", 77)).frame(6, b"").jitmap({SYNTHETIC + 1: "[one]"})
        w.metadata("key", "value")
        w.frame(8, struct.pack("<H6x32s32s52sIq", 1, b"Sampler", b"Lost", b"text", 1 << 24 | 3, 0))
        w.frame(9, struct.pack("<H6x8I8Q", 1, 3, *[0] * 7, 42, *[0] * 7))
        w.frame(10, struct.pack("<q24s40s", 8, b"group", b"name") + b"message\0")
        w.frame(12, struct.pack("<H6x32s", 16, b"domain") + b"text\0")
        w.frame(13, chunk("/proc/kallsyms", b"abc", 0)).frame(13, chunk("/proc/kallsyms", b"d", 1))
        c = syscap.parse(bytes(w.data))
        self.assertEqual((c.time, c.end_time, c.n_frames, c.truncated), (5, 9, 14, False))
        self.assertEqual(c.samples[0].split(), ([3], [1, 2]))
        self.assertEqual((c.samples[0].tid, c.samples[0].cpu), (4, 1))
        self.assertEqual((c.maps[0].build_id, c.maps[0].inode), ("00ff", 0))
        self.assertEqual((c.maps[1].build_id, c.maps[1].inode), ("", 7))
        self.assertEqual(c.processes[0].cmdline, "prog arg")
        self.assertEqual((c.forks[0].child, len(c.exits)), (77, 1))
        self.assertEqual(c.jitmap, {SYNTHETIC + 1: "[one]"})
        self.assertEqual(c.metadata, {"key": "value"})
        self.assertEqual((c.counters[3].name, c.counter_sets[0].values), ("Lost", {3: 42}))
        self.assertEqual((c.marks[0].name, c.logs[0].message), ("name", "text"))
        self.assertEqual(bytes(c.files["/proc/kallsyms"]), b"abcd")
        self.assertEqual(c.open_files, set())
        out = io.StringIO()
        syscap.dump(c, out)
        self.assertIn("-- kernel -- 0x3 -- user -- 0x1 0x2", out.getvalue())

    def test_a_capture_cut_anywhere_reads_up_to_there(self):
        w = Writer().sample([1, 2, 3])
        first = len(w.data)
        w.sample([4, 5, 6])
        for end in range(first, len(w.data)):
            c = syscap.parse(bytes(w.data[:end]))
            self.assertEqual(len(c.samples), 1)
            self.assertEqual(c.truncated, end != first)

    def test_mappings_that_name_synthetic_addresses(self):
        w = Writer().map(SYNTHETIC + 1, SYNTHETIC + 2, 0, "[one]").map(0x1000, 0x2000, 0, "/two")
        c = syscap.parse(bytes(w.data))
        self.assertEqual(c.jitmap, {SYNTHETIC + 1: "[one]"})
        self.assertEqual([m.path for m in c.maps], ["/two"])

    def test_words_of_an_address_list(self):
        w = Writer().words([7, CONTEXT_KERNEL, 1, CONTEXT_USER, 2]).words([(1 << 64) - 2048, 9])
        c = syscap.parse(bytes(w.data))
        self.assertEqual(c.samples[0].split(), ([1], [7, 2]))
        self.assertEqual(c.samples[1].split(), ([], []))


class Refusing(unittest.TestCase):
    def refuse(self, writer, pattern):
        with self.assertRaisesRegex(syscap.SyscapError, pattern):
            syscap.parse(bytes(writer.data))

    def patched(self, at, fmt, value):
        """A capture of one sample with @value at offset @at of its frame."""
        w = Writer().sample([1, 2, 3])
        struct.pack_into(fmt, w.data, 256 + at, value)
        return w

    def test_file_header(self):
        with self.assertRaises(syscap.SyscapError):
            syscap.parse(b"")
        for at, value in ((0, 0), (4, 0x102), (4, 0x001)):
            w = Writer()
            struct.pack_into("<I", w.data, at, value)
            with self.subTest(at=at, value=value):
                self.refuse(w, "magic|version")

    def test_frame_header(self):
        for at, fmt, value, pattern in ((0, "<H", 0, "length"), (0, "<H", 16, "length"),
                                        (0, "<H", 57, "length"), (16, "<B", 0, "type"),
                                        (16, "<B", 16, "type"), (16, "<B", 200, "type"),
                                        (17, "<B", 1, "padding"), (20, "<I", 1, "padding")):
            with self.subTest(at=at, value=value):
                self.refuse(self.patched(at, fmt, value), pattern)

    def test_indexes(self):
        index = (1).to_bytes(8, "little")
        w = Writer().frame(1, bytes(8))
        struct.pack_into("<I", w.data, syscap.HEADER_SIZE + 20, syscap.INDEX_MAGIC)
        struct.pack_into("<Q", w.data, 88, syscap.HEADER_SIZE)
        self.assertEqual(syscap.parse(bytes(w.data)).n_frames, 1)
        struct.pack_into("<Q", w.data, 88, syscap.HEADER_SIZE + 8)
        self.refuse(w, "header names an index")
        self.refuse(Writer().frame(1, index), "index")

    def test_payloads(self):
        self.refuse(self.patched(24, "<H", 5), "cut")
        self.refuse(self.patched(4, "<i", -1), "pid")
        self.refuse(Writer().words(range(1, 1026)), "1024")
        self.refuse(Writer().map(0x2000, 0x2000, 0, "/x"), "empty")
        self.refuse(Writer().map(0x1000, 0x2000, 0, "/x", "AB"), "hex")
        self.refuse(Writer().map(0x1000, 0x2000, 0, "/x", "ab", inode=3), "inode")
        self.refuse(Writer().map(0x1000, 0x2000, 0, "/x", pid=-1), "pid")
        self.refuse(Writer().process("x", pid=-1), "pid")
        self.refuse(Writer().frame(4, b"12345678"), "no end")
        self.refuse(Writer().jitmap({0x1000: "x"}), "synthetic")
        self.refuse(Writer().jitmap({SYNTHETIC: "x"}).jitmap({SYNTHETIC: "y"}), "twice")
        twice = Writer().frame(13, chunk("/x", b"a", 1)).frame(13, chunk("/x", b"b", 1))
        self.refuse(twice, "last")
        self.refuse(Writer().frame(13, struct.pack("<HH256s", 1, 99, b"/x")), "fit")
        self.refuse(Writer().frame(11, b"k" * 40 + b"v\0"), "no end")


if __name__ == "__main__":
    unittest.main()
