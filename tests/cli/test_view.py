#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""test_view.py - names in recordings, and what is made of them: outputs, reports.

    test_view.py LIVE_UNWINDER [-v] [TEST…]

Everything is checked from outside. Tests that need root, the permission to sample or another program
skip with the reason.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "judge"))
import syscap  # noqa: E402  (needs the path above)

PROGRAM = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else None
COMPILER = os.environ.get("CC", "cc").split()

NESTED = """
#include <time.h>
volatile unsigned sink;
#define LEVEL(name, next) __attribute__ ((noinline, noclone)) static void \
  name (unsigned n) { next (n); sink++; }
__attribute__ ((noinline, noclone)) static void
busy_leaf (unsigned n) { for (unsigned i = 0; i < n; i++) sink += i; }
LEVEL (third_level, busy_leaf)
LEVEL (second_level, third_level)
LEVEL (first_level, second_level)
int
main (int argc, char **argv)
{
  struct timespec now;
  long seconds = argc > 1 ? argc : 1;
  do
    {
      first_level (20000);
      clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &now);
    }
  while (now.tv_sec < seconds && !(argc == 1 && now.tv_nsec > 400000000));
}
"""

SCRIPT = """
"use strict";
function level9(n) { let sum = 0; for (let i = 0; i < n; i++) sum += Math.sqrt(i * n); return sum; }
%s
const end = Date.now() + 1500;
let total = 0;
while (Date.now() < end) total += level0(20000);
console.log(total > 0);
""" % "\n".join(f"function level{i}(n) {{ return level{i + 1}(n) + {i}; }}" for i in range(8, -1, -1))


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="view-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def run_it(self, *arguments, timeout=60, **options):
        return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True,
                              timeout=timeout, cwd=self.folder, stdin=subprocess.DEVNULL,
                              **options)

    def run_well(self, *arguments, **options):
        result = self.run_it(*arguments, **options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def build_nested(self, name="nested"):
        source = self.path(name + ".c")
        with open(source, "w", encoding="utf-8") as out:
            out.write(NESTED)
        program = self.path(name)
        result = subprocess.run([*COMPILER, "-O2", "-o", program, source], check=False,
                                capture_output=True, text=True)
        if result.returncode != 0:
            self.skipTest("no compiler: " + result.stderr)
        return program

    def record(self, file, *arguments):
        """Records, or skips where sampling is not allowed."""
        result = self.run_it("-q", "-f", "-o", self.path(file), *arguments)
        if result.returncode == 125 and os.geteuid() != 0:
            self.skipTest(result.stderr.strip())
        self.assertEqual(result.returncode, 0, result.stderr)
        return self.path(file)

    def functions(self, capture, limit=10000):
        """name -> (self, total), from the text of the report."""
        text = self.run_well("report", "-n", str(limit), capture).stdout
        found = {}
        for line in text.splitlines():
            match = re.match(r"\s*(\d+)\s+[\d.]+ %\s+(\d+)\s+[\d.]+ %  (.*?)\s{2,}\S*$", line)
            if match:
                found[match[3]] = (int(match[1]), int(match[2]))
        return found


class Symbols(Case):
    LEVELS = ("busy_leaf", "third_level", "second_level", "first_level", "main")

    def test_names_outlive_the_program(self):
        program = self.build_nested()
        capture = self.record("a.syscap", "--", program)
        before = self.functions(capture)
        os.unlink(program)
        after = self.functions(capture)
        self.assertEqual(before, after)
        for level in self.LEVELS:
            self.assertIn(level, after)
        self.assertGreater(after["busy_leaf"][0], 100)

    def test_no_symbols(self):
        program = self.build_nested()
        capture = self.record("b.syscap", "--no-symbols", "--", program)
        self.assertIn("busy_leaf", self.functions(capture))
        os.unlink(program)
        self.assertNotIn("busy_leaf", self.functions(capture))

    def test_the_table_in_the_capture(self):
        """Sorted, without overlap, as Sysprof wants it; kernel and user, for each process."""
        capture = self.record("c.syscap", "--", "sh", "-c", f"{self.build_nested()}; ls / >/dev/null")
        data = b"".join(chunk for path, chunk in files_of(capture) if path == "__symbols__")
        records, last = 0, (0, 0)
        while data[records * 32:records * 32 + 32] != bytes(32):
            begin, end = (int.from_bytes(data[records * 32 + i:records * 32 + i + 8], "little")
                          for i in (0, 8))
            pid, name = (int.from_bytes(data[records * 32 + i:records * 32 + i + 4], "little")
                         for i in (16, 20))
            self.assertGreaterEqual((pid, begin), last)
            self.assertLess(begin, end)
            self.assertGreater(data.index(b"\0", name), name)
            last = (pid, end)
            records += 1
        self.assertGreater(records, 5)
        self.assertGreater(len(data), (records + 1) * 32)

    @unittest.skipUnless(shutil.which("node"), "node is not installed")
    def test_generated_code(self):
        """Ten nested functions of JavaScript, all named, with the root of the program."""
        script = self.path("script.js")
        with open(script, "w", encoding="utf-8") as out:
            out.write(SCRIPT)
        capture = self.record("d.syscap", "--", "node", "--perf-basic-prof", "--no-turbo-inlining",
                              "--max-inlined-bytecode-size=0", script)
        found = self.functions(capture)
        for level in range(10):
            names = [name for name in found if re.search(rf"\blevel{level}\b", name)]
            self.assertTrue(names, f"level{level}")
        self.assertTrue(any(name.startswith("_start") for name in found))


def files_of(path):
    """(path, bytes) of each FILE_CHUNK frame."""
    with open(path, "rb") as file:
        data = file.read()
    at = 256
    while at + 24 <= len(data):
        size = int.from_bytes(data[at:at + 2], "little")
        if data[at + 16] == 13:
            length = int.from_bytes(data[at + 26:at + 28], "little")
            yield data[at + 28:at + 284].split(b"\0")[0].decode(), data[at + 284:at + 284 + length]
        at += size


if __name__ == "__main__":
    unittest.main()
