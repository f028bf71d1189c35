#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""test_report.py - what the commands that read recordings print for somebody at a terminal.

    test_report.py LIVE_UNWINDER [-v] [TEST…]
"""

import gzip
import json
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
        """Returns the text that is written to a terminal of that width."""
        ours, theirs = pty.openpty()
        ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        process = subprocess.Popen([PROGRAM, *arguments], cwd=self.directory, stdin=subprocess.DEVNULL,
                                   stdout=theirs, stderr=subprocess.PIPE,
                                   env=environment(**{"PAGER": "cat", "NO_COLOR": "1", **more}))
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


class Pager(Case):
    PAGED = {"PAGER": "sed 's/^/page: /'"}

    def test_only_on_a_terminal(self):
        for command in (["report", self.capture], ["diff", self.capture, self.capture]):
            plain = self.on_a_terminal(100, *command)
            paged = self.on_a_terminal(100, *command, **self.PAGED)
            self.assertEqual(paged, "".join(f"page: {line}\n" for line in plain.splitlines()))
            self.assertEqual(self.on_a_terminal(100, *command, "--no-pager", **self.PAGED), plain)
            self.assertNotIn("page: ", self.run_well(*command, **self.PAGED))

    def test_choice(self):
        for environ in ({"LIVE_UNWINDER_PAGER": "", **self.PAGED}, {"LIVE_UNWINDER_PAGER": "cat", **self.PAGED}):
            self.assertNotIn("page: ", self.on_a_terminal(100, "report", self.capture, **environ))
        text = self.on_a_terminal(100, "report", self.capture, LIVE_UNWINDER_PAGER="echo LESS=$LESS; cat >/dev/null",
                                  **self.PAGED)
        self.assertEqual(text, "LESS=FRX\n")
        # It need not read everything.
        self.on_a_terminal(100, "report", "-n", "1", self.capture, PAGER="true")


class Colors(Case):
    TERMINAL = {"NO_COLOR": "", "TERM": "xterm"}
    CODE = re.compile("\033\\[[0-9;]*m")
    RED, GREEN, DIM, END = "\033[31m", "\033[32m", "\033[2m", "\033[m"

    @classmethod
    def setUpClass(cls):
        """A program that works in the kernel only."""
        super().setUpClass()
        cls.kernel = os.path.join(cls.directory, "kernel.syscap")
        done = cls.run_it("-q", "-o", cls.kernel, "--", "dd", "if=/dev/zero", "of=/dev/null", "bs=1M",
                          "count=6000")
        assert done.returncode == 0, done.stderr

    def test_when(self):
        for command in (["report", self.capture], ["report", "--tree", self.capture],
                        ["report", "--function", "burn", "--lines", self.capture],
                        ["diff", self.capture, self.kernel]):
            plain = self.on_a_terminal(100, *command)
            self.assertNotIn("\033", plain)
            colored = self.on_a_terminal(100, *command, **self.TERMINAL)
            self.assertNotEqual(colored, plain)
            self.assertEqual(self.CODE.sub("", colored), plain)  # the columns are the same
            paged = self.on_a_terminal(100, *command, **self.TERMINAL, PAGER="tac | tac")
            self.assertEqual(paged, colored)
            for more in ({"TERM": "dumb"}, {"NO_COLOR": "1"}):
                self.assertEqual(self.on_a_terminal(100, *command, **{**self.TERMINAL, **more}), plain)
            never = self.on_a_terminal(100, *command, "--color=never", **self.TERMINAL)
            self.assertEqual(never, plain)
            piped = self.run_well(*command, **self.TERMINAL)
            self.assertNotIn("\033", piped)
            always = self.run_well(*command, "--color=always", NO_COLOR="1", TERM="dumb")
            self.assertIn("\033", always)
            self.assertEqual(self.CODE.sub("", always), piped)

    def test_never_in_json(self):
        for command in (["report", self.capture], ["diff", self.capture, self.capture]):
            self.assertNotIn("\033", self.run_well(*command, "--json", "--color=always"))

    def test_no_choice(self):
        done = self.run_it("report", "--color=blue", self.capture)
        self.assertEqual((done.returncode, done.stdout), (125, ""))
        self.assertIn("auto, always or never", done.stderr)

    def test_hot_shares(self):
        text = self.run_well("report", "--tree", "--min", "0", "--color=always", self.capture)
        shares = re.findall("(\033\\[[0-9]+m|) *(\\d+\\.\\d\\d) %(\033\\[m|)", text.partition("\n\n")[2])
        for begin, share, end in shares:
            expected = self.RED if float(share) >= 5 else self.GREEN if float(share) > 0.5 else ""
            if float(share) not in (0.5, 5):  # they are rounded
                self.assertEqual((begin, end), (expected, self.END if expected else ""), share)
        self.assertEqual({self.RED, ""} - {begin for begin, _, _ in shares}, set())

    @unittest.skipUnless(os.geteuid() == 0, "others may see nothing of the kernel")
    def test_the_kernel_is_dimmed(self):
        for options, kernel in (([], "kernel"), (["--tree"], "\\[kernel\\]"),
                                (["--function", "do_syscall_64"], "\\[kernel\\]")):
            text = self.run_well("report", *options, "--color=always", self.kernel)
            lines = [line for line in text.splitlines() if re.search(f"  {kernel}(\033\\[m)?$", line)]
            self.assertTrue(lines, text)
            for line in text.splitlines():
                self.assertEqual(line in lines and line.endswith(self.END), line in lines, line)
                self.assertEqual(self.DIM in line, line in lines, line)

    def test_slower_is_red(self):
        for options in ([], ["--tree"]):
            for pair, burn in (([self.capture, self.kernel], self.GREEN), ([self.kernel, self.capture], self.RED)):
                text = self.run_well("diff", *options, "--color=always", *pair)
                line = [line for line in text.splitlines() if re.search("  burn ", line)][0]
                self.assertTrue(line.startswith(burn), line)
        for options in ([], ["--tree", "--min=-1"]):
            text = self.run_well("diff", *options, "--color=always", self.capture, self.capture)
            self.assertIn("burn", text)
            self.assertNotIn("\033", text)


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


    def test_converted(self):
        """A conversion has the samples that the report counts."""
        count = {}
        for option in (), ("--process", "deep"), ("--contains", "burn"), ("--to", "0.1"):
            for name in "x.folded", "x.json.gz":
                self.run_well("convert", "-f", *option, self.capture, name)
            with open(os.path.join(self.directory, "x.folded"), encoding="utf-8") as file:
                folded = sum(int(line.rsplit(" ", 1)[1]) for line in file)
            with gzip.open(os.path.join(self.directory, "x.json.gz")) as file:
                fox = sum(thread["samples"]["length"] for thread in json.load(file)["threads"])
            reported = json.loads(self.run_well("report", "--json", *option, self.capture))["samples"]
            self.assertEqual((folded, fox), (reported, reported), option)
            count[option] = reported
        self.assertGreater(count[()], count["--to", "0.1"])
        self.assertGreater(count["--to", "0.1"], 0)

    def test_what_cannot_be_filtered(self):
        for name in ("perf.data", "y.syscap"):
            done = self.run_it("convert", "--pid", "1", self.capture, name)
            self.assertEqual(done.returncode, 125)
            self.assertIn("every format but", done.stderr)
        done = self.run_it("convert", "--process", "nosuch", self.capture, "z.folded")
        self.assertEqual(done.returncode, 125)
        self.assertIn("was sampled", done.stderr)
        for name in ("perf.data", "y.syscap", "z.folded"):
            self.assertFalse(os.path.exists(os.path.join(self.directory, name)), name)


class Programs(Case):
    def test_processes_of_a_program_are_one_line(self):
        file = os.path.join(self.directory, "three.syscap")
        done = self.run_it("-q", "-f", "-o", file, "--", "sh", "-c", f"{self.program}; {self.program}; "
                           f"{self.program}; :")
        self.assertEqual(done.returncode, 0, done.stderr)
        text = self.run_well("report", "--processes", file)
        self.assertRegex(text, r"(?m)^ +\d+ +\d+\.\d\d % +3 +3  deep$")


class Recursion(Case):
    def test_callers_and_callees(self):
        """A function that calls itself has the samples that it has in tables, and other callees."""
        name = "a_function_with_a_name_that_is_long_enough_to_fill_a_whole_line_of_a_terminal_on_its_own"
        rows = {row["name"]: row for row in json.loads(self.run_well("report", "--json", self.capture))["functions"]}
        text = self.run_well("report", "--function", name, self.capture)
        self.assertRegex(text, rf"{name}: total {rows[name]['total']} \(.*, self {rows[name]['self']} \(")
        callers, _, callees = text.partition("\nCallees\n")
        self.assertRegex(callers.partition("\nCallers\n")[2], rf"^ +{rows[name]['total']} .* main ")
        self.assertRegex(callees, r"^ +\d+ .* burn ")
        self.assertNotIn(name, callees)


class Diff(Case):
    """The other recording is of a function that the first one does not have."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        os.mkdir(os.path.join(cls.directory, "slow"))
        source, program = (os.path.join(cls.directory, "slow", name) for name in ("deep.c", "deep"))
        with open(source, "w", encoding="ascii") as out:
            out.write(DEEP.replace("clock_gettime (C", "slow_part (); clock_gettime (C").replace(
                "volatile unsigned sink;", "volatile unsigned sink; __attribute__ ((noinline)) static void"
                " slow_part (void) { for (unsigned i = 0; i < 20000; i++) sink += i; }"))
        subprocess.run([*COMPILER, "-O1", "-o", program, source], check=True)
        cls.slow = os.path.join(cls.directory, "slow.syscap")
        done = cls.run_it("-q", "-o", cls.slow, "--", program)
        assert done.returncode == 0, done.stderr

    def test_points(self):
        text = self.run_well("diff", self.capture, self.slow)
        self.assertRegex(text, r"(?m)^ +\+\d+\.\d\d pp +0\.00 % +\d+\.\d\d % +\+\d+\.\d\d pp  slow_part ")

    def test_json(self):
        found = json.loads(self.run_well("diff", "--json", self.capture, self.slow))
        rows = {row["name"]: row for row in found["functions"]}
        self.assertEqual(rows["slow_part"]["self_a"], 0)
        self.assertGreater(rows["slow_part"]["self_b"], 10)
        for side in "ab":
            self.assertGreater(found[f"samples_{side}"], 10)
            self.assertAlmostEqual(sum(row[f"self_{side}"] for row in found["functions"]), 100, 3)

    def test_tree(self):
        text = self.run_well("diff", "--tree", "--min", "5", self.capture, self.slow)
        self.assertTrue(re.search(r"(?m)^ +\+\d+\.\d\d pp +0\.00 % +\d+\.\d\d %  +slow_part  \[deep\]$",
                                  text))
        self.assertNotIn("pp", self.run_well("diff", "--tree", self.capture, self.capture))

    def test_a_status_for_scripts(self):
        done = self.run_it("diff", "--fail-above", "5", self.capture, self.slow)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"grew by \d+\.\d\d pp, more than 5\.00 pp$")
        self.assertIn("slow_part", done.stdout)
        self.run_well("diff", "--fail-above", "100.1", self.capture, self.slow)
        self.run_well("diff", "--fail-above", "0", self.capture, self.capture)
        self.assertEqual(self.run_it("diff", "--fail-above", "5", self.capture, "none").returncode, 125)


class Width(Case):
    def test_no_line_is_longer_than_the_terminal(self):
        for arguments in ((), ("--tree", "--min", "0"), ("--threads", "--processes"),
                          ("--function", "burn")):
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
