# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""Tests of elf.py and dwarfcfi.py against a file whose call frame information is known."""

import os
import re
import shutil
import struct
import subprocess
import unittest

import elf
import fixture

# Function, offset in it, (has an FDE, signal frame, return address undefined).
ROWS = [
    ("_start", 0, (True, False, True)),
    ("_start", 1, (True, False, True)),
    ("middle", 0, (True, False, False)),
    ("middle", 1, (True, False, False)),
    ("middle", 2, (True, False, True)),
    ("middle", 3, (True, False, True)),
    ("middle", 4, (True, False, False)),
    ("middle", 5, (True, False, False)),
    ("changing", 0, (True, False, True)),
    ("changing", 1, (True, False, False)),
    ("changing", 2, (True, False, True)),
    ("changing", 3, (True, False, False)),
    ("changing", 302, (True, False, False)),
    ("changing", 303, (True, False, True)),
    ("trampoline", 0, (True, True, False)),
    ("trampoline", 1, (True, True, False)),
    ("bare", 0, (False, False, False)),
]

BUILDS = {
    "eh_frame with its table": (),
    "eh_frame without a table": ("-Wl,--no-eh-frame-hdr",),
    "debug_frame": ("-DDEBUG_FRAME",),
    "debug_frame, compressed": ("-DDEBUG_FRAME", "-Wl,--compress-debug-sections=zlib"),
    "static": ("-static", "-no-pie"),
}


class CallFrames(unittest.TestCase):
    def test_rows(self):
        for number, (name, flags) in enumerate(BUILDS.items()):
            image = elf.Elf(fixture.build("cfi.S", f"cfi{number}", "-nostdlib", *flags))
            symbols = {s.name: s for s in image.symbols}
            for function, offset, want in ROWS:
                with self.subTest(name, function=function, offset=offset):
                    found = image.frame_info(symbols[function].ea + offset)
                    self.assertEqual(found[:3], want)

    def test_entry_of_a_linkage_table_as_address(self):
        image = elf.Elf(fixture.build("address.c", "address", "-O2", "-fno-pie", "-no-pie"))
        table = image.section(".plt.sec") or image.section(".plt")
        self.assertEqual([table.ea <= s.ea < table.ea + table.size for s in image.exports["malloc"]],
                         [True])
        self.assertNotIn("free", image.exports)

    def test_entry(self):
        image = elf.Elf(fixture.build("cfi.S", "entry", "-nostdlib"))
        symbols = {s.name: s for s in image.symbols}
        start = symbols["_start"].ea
        self.assertEqual(image.entry_range(), (start, symbols["middle"].ea))
        self.assertTrue(image.is_program)

    @unittest.skipIf(shutil.which("readelf") is None, "no readelf")
    def test_a_real_library_as_readelf_sees_it(self):
        """Every row of every FDE: the same ranges, and undefined in the same places."""
        path = os.path.realpath("/lib/x86_64-linux-gnu/libc.so.6")
        if not os.path.exists(path):
            self.skipTest(f"no {path}")
        text = subprocess.run(["readelf", "--debug-dump=frames-interp", "--wide", path],
                              capture_output=True, text=True, check=False).stdout
        image = elf.Elf(path)
        seen = rows = undefined = 0
        ra_column, in_fde = None, False
        for line in text.splitlines():
            if (found := re.search(r" FDE .*pc=([0-9a-f]+)\.\.([0-9a-f]+)", line)) is not None:
                start, end = (int(x, 16) for x in found.groups())
                self.assertEqual(image.frame_info(start)[3:5], (start, end))
                self.assertEqual(image.frame_info(end - 1)[3:5], (start, end))
                seen += 1
                in_fde = True
            elif re.match(r"\s+LOC\s", line):
                ra_column = line.split().index("ra") - len(line.split())
            elif " CIE " in line:
                in_fde = False
            elif (found := re.match(r"([0-9a-f]{16}) ", line)) is not None and in_fde:
                is_undefined = line.split()[ra_column] == "u"
                info = image.frame_info(int(found.group(1), 16))
                self.assertEqual(info.ra_undefined, is_undefined, line)
                rows += 1
                undefined += is_undefined
        self.assertGreater(seen, 1000)
        self.assertGreater(rows, seen)
        self.assertGreater(undefined, 0)


class Files(unittest.TestCase):
    def test_no_elf(self):
        for data in (b"", b"\x7fELF", b"\x7fELF\x02\x01" + bytes(10), b"MZ" * 100):
            with self.assertRaises(elf.ElfError):
                elf.Elf(data)

    def test_corrupted_cfi_says_nothing_and_does_not_hang(self):
        with open(fixture.build("cfi.S", "corrupt", "-nostdlib"), "rb") as file:
            good = file.read()
        section = elf.Elf(good).section(".eh_frame")
        header = elf.Elf(good).section(".eh_frame_hdr")
        places = [*range(section.offset, section.offset + section.size),
                  *range(header.offset, header.offset + header.size)]
        for at in places:
            for value in (0x00, 0x7f, 0xff):
                data = bytearray(good)
                data[at] = value
                image = elf.Elf(bytes(data))
                for symbol in image.symbols:
                    image.frame_info(symbol.ea)

    def test_build_id(self):
        identity = "0123456789abcdef0123456789abcdef01234567"
        image = elf.Elf(fixture.build("cfi.S", "ident", "-nostdlib",
                                      f"-Wl,--build-id=0x{identity}"))
        self.assertEqual(image.build_id, identity)
        image = elf.Elf(fixture.build("cfi.S", "noident", "-nostdlib", "-Wl,--build-id=none"))
        self.assertEqual(image.build_id, "")

    def test_several_executable_segments(self):
        """The LOAD that covers the offset counts, not the first executable one."""
        with open(fixture.build("cfi.S", "two", "-nostdlib"), "rb") as file:
            data = bytearray(file.read())
        image = elf.Elf(bytes(data))
        phoff, = struct.unpack_from("<Q", data, 32)
        code = image.exec_loads[0]
        spare = next(i for i, s in enumerate(image.segments) if s.kind not in (1, 0x6474e550))
        struct.pack_into("<IIQQQQQQ", data, phoff + 56 * spare, elf.PT_LOAD, 5,
                         code.offset + 0x10000, 0x7000000, 0x7000000, 0x100, 0x100, 0x1000)
        image = elf.Elf(bytes(data))
        self.assertEqual(image.fo_to_ea(code.offset + 1), code.ea + 1)
        self.assertEqual(image.fo_to_ea(code.offset + 0x10005), 0x7000005)
        self.assertIsNone(image.fo_to_ea(code.offset + 0x20000))

    def test_vdso(self):
        image = elf.running_vdso()
        if image is None:
            self.skipTest("no vDSO here")
        symbol = next(s for s in image.symbols if s.name == "__vdso_clock_gettime")
        self.assertTrue(image.frame_info(symbol.ea).has_fde)
        self.assertFalse(image.frame_info(symbol.ea).ra_undefined)


if __name__ == "__main__":
    fixture.main()
