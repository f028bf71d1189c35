# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""Tests of decode.py: lengths as objdump sees them, and ways of jumps."""

import os
import re
import shutil
import subprocess
import unittest

import decode
import elf

HERE = 0x1000
LIBRARIES = ("/lib/x86_64-linux-gnu/libc.so.6", "/lib/x86_64-linux-gnu/libm.so.6",
             "/lib32/libc.so.6")

# bytes, 64 bits, (size, way, target, slot, base, displacement)
WAYS = (
    ("90", True, (1, decode.NEXT, None, None, None, 0)),
    ("e8 10 00 00 00", True, (5, decode.CALL, None, None, None, 0)),
    ("ff d0", True, (2, decode.CALL, None, None, None, 0)),
    ("eb fe", True, (2, decode.JUMP, HERE, None, None, 0)),
    ("e9 fb ff ff ff", True, (5, decode.JUMP, HERE, None, None, 0)),
    ("f2 e9 fa ff ff ff", True, (6, decode.JUMP, HERE, None, None, 0)),
    ("75 02", True, (2, decode.BRANCH, HERE + 4, None, None, 0)),
    ("0f 84 00 01 00 00", True, (6, decode.BRANCH, HERE + 0x106, None, None, 0)),
    ("e3 7e", True, (2, decode.BRANCH, HERE + 0x80, None, None, 0)),
    ("ff e0", True, (2, decode.INDIRECT, None, None, None, 0)),
    ("41 ff e3", True, (3, decode.INDIRECT, None, None, None, 0)),
    ("f2 ff 25 00 10 00 00", True, (7, decode.INDIRECT, None, HERE + 0x1007, None, 0x1000)),
    ("ff 24 c5 00 20 00 00", True, (7, decode.INDIRECT, None, None, None, 0x2000)),
    ("ff 25 00 30 00 00", False, (6, decode.INDIRECT, None, 0x3000, None, 0x3000)),
    ("ff a3 0c 00 00 00", False, (6, decode.INDIRECT, None, None, 3, 12)),
    ("c3", True, (1, decode.RETURN, None, None, None, 0)),
    ("c2 08 00", True, (3, decode.RETURN, None, None, None, 0)),
    ("0f 0b", True, (2, decode.STOP, None, None, None, 0)),
    ("cc", True, (1, decode.STOP, None, None, None, 0)),
)


class Decoding(unittest.TestCase):
    def test_ways(self):
        for text, is_64, want in WAYS:
            with self.subTest(text):
                got = decode.instruction(bytes.fromhex(text), 0, HERE, is_64)
                target = got.target if want[2] is not None else None
                self.assertEqual((got.size, got.way, target, got.slot, got.base,
                                  got.displacement), want)

    def test_cut_anywhere(self):
        for text, is_64, want in WAYS:
            code = bytes.fromhex(text)
            for size in range(len(code)):
                with self.subTest(text, size=size):
                    self.assertIsNone(decode.instruction(code[:size], 0, HERE, is_64))

    @unittest.skipIf(shutil.which("objdump") is None, "no objdump")
    def test_real_libraries_as_objdump_sees_them(self):
        for path in filter(os.path.exists, LIBRARIES):
            with self.subTest(path):
                self.assertGreater(self.compare(path), 10000)

    def compare(self, path):
        image = elf.Elf(path)
        section = image.section(".text")
        code = image.section_data(section)
        text = subprocess.run(["objdump", "-d", "-w", "-j", ".text", "--no-show-raw-insn", path],
                              capture_output=True, text=True, check=True).stdout
        lines = [(int(start, 16), what)
                 for start, what in re.findall(r"^ *([0-9a-f]+):\t(.*)", text, re.M)]
        for (start, what), (end, _) in zip(lines, lines[1:]):
            # To objdump, fwait (9b) is part of the next instruction.
            if "(bad)" not in what and code[start - section.ea] != 0x9b:
                got = decode.instruction(code, start - section.ea, start, image.is_64)
                self.assertIsNotNone(got, f"{start:#x} {what}")
                self.assertEqual(got.size, end - start, f"{start:#x} {what}")
        return len(lines)


if __name__ == "__main__":
    unittest.main()
