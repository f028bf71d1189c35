#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""Tests of tools/test-totals.py, whose last line is what continuous integration believes: above all
that nothing that did not pass is ever counted as passed. Run by meson with the path of the tool."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

TOOL = os.environ.get("TEST_TOTALS") or os.path.join(os.path.dirname(__file__),
                                                     "../../tools/test-totals.py")


def tool(*args):
    return subprocess.run([sys.executable, TOOL, *args], capture_output=True, text=True,
                          check=False)


class Totals(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.results = os.path.join(directory.name, "results")
        self.log = os.path.join(directory.name, "testlog.json")
        open(self.results, "w", encoding="utf-8").close()

    def total(self, *tests):
        """The output lines and the exit status for a meson log with these tests."""
        with open(self.log, "w", encoding="utf-8") as out:
            for test in tests:
                out.write(json.dumps({"name": "t", "stdout": "", "stderr": "", **test}) + "\n")
        self.assertEqual(tool("add", self.results, "", self.log).returncode, 0)
        done = tool("sum", self.results)
        return done.stdout.splitlines(), done.returncode

    def tap_total(self, status, output):
        """Does so for a program that is not a meson test."""
        with open(self.log, "w", encoding="utf-8") as out:
            out.write(output)
        self.assertEqual(tool("tap", self.results, "n", status, self.log).returncode, 0)
        return tool("sum", self.results).stdout.splitlines()

    def test_tap_of_a_program(self):
        self.assertEqual(self.tap_total("0", "1..2\nok 1 - a\nok 2 - b # SKIP gone\n# why\n"),
                         ["skipped: n: b (gone)", "1 passed, 0 failed, 1 skipped"])

    def test_tap_of_a_program_that_dies(self):
        for output, passed in (("1..2\nok 1 - a\nTraceback\n", 1), ("1..2\n", 0), ("", 0)):
            self.setUp()
            lines = self.tap_total("1", output)
            self.assertEqual(lines[0], "--- n")
            self.assertTrue(lines[-2].startswith("FAILED: n (status 1: "), lines)
            self.assertEqual(lines[-1], f"{passed} passed, 1 failed, 0 skipped")

    def test_tap_that_is_repeated(self):
        again = self.log + ".again"
        for status, output, summary, total in (
                ("0", "1..2\nok 1 - a\nok 2 - b\n", "disturbed: n (passed when it was repeated)", "2 passed, 0 failed"),
                ("1", "1..2\nok 1 - a\nnot ok 2 - b\n", "FAILED: n: b", "1 passed, 1 failed")):
            self.setUp()
            with open(self.log, "w", encoding="utf-8") as out:
                out.write("1..2\nok 1 - a\nnot ok 2 - b\n")
            with open(again, "w", encoding="utf-8") as out:
                out.write(output)
            self.assertEqual(tool("tap-failed", "1", self.log).returncode, 0)
            self.assertEqual(tool("tap-failed", status, again).returncode, 1 if status == "0" else 0)
            tool("tap", self.results, "n", "1", self.log, status, again)
            lines = tool("sum", self.results).stdout.splitlines()
            self.assertEqual(lines, ["--- n", "  1..2", "  not ok 2 - b", summary, f"{total}, 0 skipped"])

    def test_exit_codes(self):
        lines, status = self.total({"result": "OK"}, {"result": "SKIP", "stdout": "a\nno perf\n"},
                                   {"result": "EXPECTEDFAIL"})
        self.assertEqual(lines, ["skipped: t (no perf)", "2 passed, 0 failed, 1 skipped"])
        self.assertEqual(status, 0)

    def test_everything_else_fails(self):
        for result in ("FAIL", "TIMEOUT", "ERROR", "INTERRUPT", "UNEXPECTEDPASS", "???"):
            self.setUp()
            lines, status = self.total({"result": "OK"}, {"result": result, "stderr": "why"})
            self.assertEqual(lines, ["--- t", "  why", f"FAILED: t ({result}: why)",
                                     "1 passed, 1 failed, 0 skipped"])
            self.assertEqual(status, 1)

    def test_tap_subtests(self):
        tap = ("TAP version 13\n1..5\nok 1 /a/b\nok 2 /a/c # SKIP no root\nnot ok 3 - /a/d\n"
               "ok 4\nnot ok 5 /a/e # TODO later\n")
        lines, status = self.total({"result": "FAIL", "stdout": tap})
        self.assertEqual(lines[-3:], ["skipped: t: /a/c (no root)", "FAILED: t: /a/d",
                                      "3 passed, 1 failed, 1 skipped"])
        self.assertEqual(status, 1)

    def test_output_of_what_failed(self):
        """The end of it stands before the totals, without the subtests that passed."""
        output = "".join(f"line {number}\n" for number in range(99)) + "ok 1 - good\nnot ok 2 - bad\n"
        lines, _ = self.total({"result": "OK", "stdout": "nothing of this"},
                              {"result": "FAIL", "stdout": output, "stderr": "Traceback\n"})
        self.assertEqual(lines[0], "--- t")
        self.assertEqual(lines[1], "  line 60")
        self.assertEqual(lines[40:42], ["  not ok 2 - bad", "  Traceback"])
        self.assertNotIn("  nothing of this", lines)

    def test_tap_that_died(self):
        lines, status = self.total({"result": "ERROR", "stdout": "1..2\nok 1 /a\n",
                                    "stderr": "Aborted"})
        self.assertEqual(lines[-1], "1 passed, 1 failed, 0 skipped")
        self.assertEqual(status, 1)

    def test_tap_skip_all(self):
        lines, status = self.total({"result": "SKIP", "stdout": "1..0 # SKIP no tool\n"},
                                   {"result": "OK"})
        self.assertEqual(lines, ["skipped: t (no tool)", "1 passed, 0 failed, 1 skipped"])
        self.assertEqual(status, 0)

    def repeated(self, first, *again):
        """The output lines and the exit status when first was repeated with these results."""
        path = self.log + ".again"
        with open(path, "w", encoding="utf-8") as out:
            for result in again:
                out.write(json.dumps({"name": first["name"], "stdout": "", "stderr": "", **result}) + "\n")
        with open(self.log, "w", encoding="utf-8") as out:
            out.write(json.dumps({"stdout": "", "stderr": "why", **first}) + "\n")
        self.assertEqual(tool("add", self.results, "", self.log, path).returncode, 0)
        done = tool("sum", self.results)
        return done.stdout.splitlines(), done.returncode

    def test_disturbed(self):
        """Passed each time alone, and told."""
        good = {"result": "OK"}
        lines, status = self.repeated({"name": "p:cli / a", "result": "FAIL"}, good, good, good)
        self.assertEqual(lines, ["--- p:cli / a", "  why", "disturbed: p:cli / a (passed 3 times alone)",
                                 "1 passed, 0 failed, 0 skipped"])
        self.assertEqual(status, 0)

    def test_not_disturbed(self):
        """One more failure, too few runs, or a test that records nothing."""
        good, bad = {"result": "OK"}, {"result": "FAIL"}
        for suite, runs in (("cli", (good, bad, good)), ("cli", (good, good)), ("unit", (good, good, good))):
            self.setUp()
            lines, status = self.repeated({"name": f"p:{suite} / a", "result": "FAIL"}, *runs)
            self.assertEqual(lines[-1], "0 passed, 1 failed, 0 skipped")
            self.assertEqual(status, 1)

    def test_what_is_repeated(self):
        """Live tests, unless too many failed."""
        def names(*tests):
            with open(self.log, "w", encoding="utf-8") as out:
                for name, result in tests:
                    out.write(json.dumps({"name": name, "result": result, "stdout": "", "stderr": ""}) + "\n")
            return tool("to-repeat", self.log).stdout.split()

        self.assertEqual(names(("p:cli / a", "FAIL"), ("p:cli / b", "OK"), ("p:unit / c", "FAIL"),
                               ("p:helper+slow / d", "TIMEOUT")), ["a", "d"])
        self.assertEqual(names(*((f"p:cli / {name}", "FAIL") for name in "abcdef")), [])

    def test_nothing_passed_is_a_failure(self):
        lines, status = self.total({"result": "SKIP"})
        self.assertEqual(lines[-1], "0 passed, 0 failed, 1 skipped")
        self.assertEqual(status, 1)

    def test_stages(self):
        tool("stage", self.results, "pass", "one")
        tool("stage", self.results, "skip", "two", "not\there")
        lines, status = self.total()
        self.assertEqual(lines, ["skipped: two (not here)", "1 passed, 0 failed, 1 skipped"])
        self.assertEqual(status, 0)
        tool("stage", self.results, "disturbed", "four", "passed 2 times more")
        tool("stage", self.results, "pass", "four")
        lines, status = self.total()
        self.assertEqual(lines[1:], ["disturbed: four (passed 2 times more)", "2 passed, 0 failed, 1 skipped"])
        self.assertEqual(status, 0)
        self.assertEqual(tool("stage", self.results, "maybe", "three").returncode, 2)


if __name__ == "__main__":
    unittest.main()
