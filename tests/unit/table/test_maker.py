#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""test_maker.py MAKER ROOT SOURCE... - src/table/maker.py: another digest whenever a source or one of its
headers is another one, and only then; the build names all SOURCEs that make rows."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

MAKER, ROOT = sys.argv.pop(1), Path(sys.argv.pop(1))
SOURCES = {Path(name).resolve() for name in sys.argv[1:]}
del sys.argv[1:]


class Maker(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with
        self.addCleanup(directory.cleanup)
        self.root = Path(directory.name)
        self.write("src/table/one.c", '#include "table/one.h"\n#include <stdio.h>\nint one;\n')
        self.write("src/table/one.h", '#include "row.h"\n')
        self.write("src/table/other.h", "")
        self.write("include/row.h", "struct row;\n")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def make(self):
        output, deps = self.root / "out.h", self.root / "out.d"
        subprocess.run([sys.executable, MAKER, output, deps, self.root,
                        self.root / "src/table/one.c"], check=True)
        self.deps = deps.read_text(encoding="utf-8").split()
        return output.read_text(encoding="utf-8")

    def test_the_same(self):
        self.assertEqual(self.make(), self.make())
        self.assertRegex(self.make(), r"#define LU_TABLE_MAKER \{ (0x[0-9a-f]{2}, ){31}0x")

    def test_dependencies(self):
        self.make()
        self.assertEqual([Path(x).name for x in self.deps[1:]], ["row.h", "one.c", "one.h"])

    def test_source(self):
        before = self.make()
        self.write("src/table/one.c", '#include "table/one.h"\nint two;\n')
        self.assertNotEqual(before, self.make())

    def test_header_of_a_header(self):
        before = self.make()
        self.write("include/row.h", "struct row2;\n")
        self.assertNotEqual(before, self.make())

    def test_what_is_not_included(self):
        before = self.make()
        self.write("src/table/other.h", "int other;\n")
        self.assertEqual(before, self.make())

    def test_sources_of_the_build(self):
        for room in ("arch", "code", "table"):
            makers = {path.resolve() for path in (ROOT / "src" / room).glob("*.c")
                      if path.name not in ("decoder.c", "decoder-none.c", "store.c", "store-pending.c")}
            self.assertEqual(makers - SOURCES, set())
        self.assertIn((ROOT / "src/module/file-rows.c").resolve(), SOURCES)


unittest.main()
