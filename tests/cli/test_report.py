#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""test_report.py - what the commands that read recordings print for somebody at a terminal.

    test_report.py LIVE_UNWINDER [-v] [TEST…]
"""

import os
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import unittest
from fcntl import ioctl

PROGRAM = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else None
COMPILER = os.environ.get("CC", "cc").split()

# The stack is deep and its names are long.
DEEP = """
#include <time.h>
volatile unsigned sink;
__attribute__ ((noinline)) static void
burn (void) { for (unsigned i = 0; i < 20000; i++) sink += i; }
__attribute__ ((noinline)) void
a_function_with_a_name_that_is_long_enough_to_fill_a_whole_line_of_a_terminal_on_its_own (unsigned n)
{
  if (n > 0)
    a_function_with_a_name_that_is_long_enough_to_fill_a_whole_line_of_a_terminal_on_its_own (n - 1);
  else
    burn ();
  sink++;
}
int
main (void)
{
  struct timespec now;
  do
    {
      a_function_with_a_name_that_is_long_enough_to_fill_a_whole_line_of_a_terminal_on_its_own (150);
      clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &now);
    }
  while (now.tv_nsec < 300000000);
  return 0;
}
"""


def environment(**more):
    return dict(os.environ, LC_ALL="C.UTF-8", DEBUGINFOD_URLS="", **more)


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp(prefix="report-")
        cls.addClassCleanup(shutil.rmtree, cls.directory, True)
        source, cls.program = (os.path.join(cls.directory, name) for name in ("deep.c", "deep"))
        with open(source, "w", encoding="ascii") as out:
            out.write(DEEP)
        if subprocess.run([*COMPILER, "-O1", "-o", cls.program, source], check=False).returncode:
            raise unittest.SkipTest("no compiler")
        cls.capture = os.path.join(cls.directory, "deep.syscap")
        done = cls.run_it("-q", "-o", cls.capture, "--", "sh", "-c", f"{cls.program}; :")
        if "perf events cannot be used" in done.stderr:
            raise unittest.SkipTest(done.stderr.strip())
        assert done.returncode == 0, done.stderr

    @classmethod
    def run_it(cls, *arguments, **more):
        return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=60,
                              cwd=cls.directory, stdin=subprocess.DEVNULL, env=environment(**more),
                              check=False)

    def run_well(self, *arguments, **more):
        done = self.run_it(*arguments, **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def on_a_terminal(self, columns, *arguments, **more):
        """What is written to a terminal of that width."""
        ours, theirs = pty.openpty()
        ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        process = subprocess.Popen([PROGRAM, *arguments], cwd=self.directory, stdin=subprocess.DEVNULL,
                                   stdout=theirs, stderr=subprocess.PIPE,
                                   env=environment(**more))
        os.close(theirs)
        text = b""
        while select.select([ours], [], [], 60)[0]:
            try:
                text += os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
        os.close(ours)
        self.assertEqual(process.wait(), 0, process.stderr.read())
        process.stderr.close()
        return text.decode().replace("\r\n", "\n")


class Filters(Case):
    def test_a_process_that_was_not_sampled(self):
        """Nothing is no answer: those that were sampled are named."""
        for option, value in (("--process", "nosuch"), ("--pid", "1999999999"), ("--tid", "1999999999")):
            for more in ((), ("--json",), ("--tree",)):
                done = self.run_it("report", option, value, *more, self.capture)
                self.assertEqual(done.returncode, 125, done)
                self.assertEqual(done.stdout, "")
                self.assertRegex(done.stderr, rf'"{value}" was sampled; .*: \d+ deep\b')

    def test_a_process_that_was(self):
        self.assertIn("burn", self.run_well("report", "--process", "deep", self.capture))


class Width(Case):
    def test_no_line_is_longer_than_the_terminal(self):
        for arguments in ((), ("--tree", "--min", "0"), ("--threads",), ("--function", "burn")):
            for columns in (60, 100):
                text = self.on_a_terminal(columns, "report", *arguments, self.capture)
                self.assertIn("burn", text + "burn" * ("--threads" in arguments))
                head, *lines = text.splitlines()
                self.assertIn("deep.syscap: ", head)
                self.assertEqual([line for line in lines if len(line) > columns], [], arguments)

    def test_what_is_no_terminal_gets_all(self):
        self.assertIn("a_function_with_a_name_that_is_long_enough_to_fill_a_whole_line_of_a_terminal_on"
                      "_its_own  [deep]", self.run_well("report", "--tree", self.capture))

    def test_brackets_are_not_doubled(self):
        for text in (self.run_well("report", "--tree", "--min", "0", self.capture),
                     self.run_well("diff", "-n", "1000", self.capture, self.capture)):
            self.assertTrue(re.search(r"\[deep\]", text), text)
            self.assertNotIn("[[", text)


if __name__ == "__main__":
    unittest.main()
