# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""Tests of run.py and programs.py that need no recorder; above all, a bad run is called bad."""

import os
import subprocess
import sys
import tempfile
import unittest

import generate
import programs
import run
import survey

GOOD = {"complete_percent": 99.5, "excluded": {}}


def a_run(**changes):
    found = run.Run("x")
    found.report, found.samples, found.cpu = dict(GOOD), 9990, 10.0
    found.rss_kib, found.descriptors = 20 * 1024, 10
    for name, value in changes.items():
        setattr(found, name, value)
    return found


class Verdicts(unittest.TestCase):
    workload = programs.Workload("x", 99.0, None, 48)

    def test_a_good_run(self):
        self.assertEqual(run.faults(self.workload, a_run()), [])

    def test_each_way_to_be_bad(self):
        for name, value, word in (("samples", 9700, "delivered"), ("samples", 0, "delivered"),
                                  ("cpu", 0.0, "delivered"), ("rss_kib", 49 * 1024, "RssAnon"),
                                  ("descriptors", 33 + 4 * os.cpu_count(), "descriptors"),
                                  ("report", {"complete_percent": 98.99}, "complete")):
            with self.subTest(name, value=value):
                found = run.faults(self.workload, a_run(**{name: value}))
                self.assertEqual(len(found), 1)
                self.assertIn(word, found[0])

    def test_a_recorder_that_fails_is_a_failure(self):
        for recorder in ("false", "true"):
            with self.subTest(recorder), tempfile.TemporaryDirectory() as directory:
                done = subprocess.run(
                    [sys.executable, run.__file__, "--check", "--seconds", "0.1", "--workload",
                     "perl", "--keep", directory, f"/bin/{recorder}"],
                    capture_output=True, text=True, check=False)
                if "SKIP" in done.stdout or "Skip" in done.stderr:
                    self.skipTest(done.stdout)
                self.assertEqual(done.returncode, 1, done.stdout + done.stderr)


class Survey(unittest.TestCase):
    GOOD = {"kind": "x", "engine": "auto", "error": None, "judged": 9, "complete": 9, "wrong": 0,
            "calls_followed": 9, "refused": {}, "examples": []}

    def test_one_wrong_stack_is_counted(self):
        bad = {**self.GOOD, "wrong": 1, "refused": {"no call": 1}}
        self.assertEqual(survey.print_totals([self.GOOD, self.GOOD]), 0)
        self.assertEqual(survey.print_totals([self.GOOD, bad]), 1)

    def test_a_recorder_that_fails_fails(self):
        with tempfile.TemporaryDirectory() as directory:
            done = subprocess.run([sys.executable, survey.__file__, "--kind", "sed", "--engine",
                                   "auto", "--keep", directory, "/bin/false"],
                                  capture_output=True, text=True, check=False)
            if "SKIP" in done.stdout:
                self.skipTest(done.stdout)
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)

    def test_pieces_add_up(self):
        more = {**self.GOOD, "judged": 3, "complete": 1, "wrong": 2}
        other = {**self.GOOD, "engine": "table"}
        failed = {"kind": "x", "engine": "auto", "error": "no message"}
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "results")
            self.assertEqual(survey.read_results(path), [])
            survey.write_results(path, [self.GOOD, more, other, failed])
            found = survey.read_results(path)
        self.assertEqual(dict(survey.add_up(found)["x", "auto"]),
                         {"judged": 12, "complete": 10, "wrong": 2, "calls_followed": 18})
        self.assertEqual(survey.print_totals(found), 2)
        self.assertEqual(survey.table(found)[-1], "| x | 12 | 83.33 | 2 | 9 | 100.00 | 0 |")

    def test_what_has_enough_is_left_out(self):
        some = [{**self.GOOD, "kind": "sed", "judged": n} for n in (30, 30)] + [
            {**self.GOOD, "kind": "sed", "engine": "table", "judged": 59},
            {**self.GOOD, "kind": "lua", "judged": 7}]
        args = survey.parse_arguments(["--kind", "sed,lua", "--kind", "tar", "--least", "60", "x"])
        self.assertEqual([(name, engine) for name, _, engine in survey.to_record(args, some)],
                         [("lua", "table"), ("tar", "auto"), ("tar", "table"), ("lua", "auto"),
                          ("sed", "table")])

    def test_unknown_kinds_are_refused(self):
        with self.assertRaises(SystemExit):
            survey.parse_arguments(["--kind", "sed,nothing", "x"])

    def test_every_kind_says_what_it_needs_and_runs(self):
        for name, kind in survey.read_kinds().items():
            self.assertTrue(kind["needs"] and kind["record"], name)


class Stats(unittest.TestCase):
    def test_the_line_is_found_among_others(self):
        text = 'hello\n{ not json\n{"complete_percent": 5, "lost": {"samples": 3}}\nbye\n'
        stats = run.parse_stats(text)
        self.assertEqual(run.find_key(stats, *programs.STATS_COMPLETE), 5)
        self.assertEqual(run.find_key(stats, *programs.STATS_LOST), 3)
        self.assertIsNone(run.find_key(stats, "lost.nothing", "lost.samples.deeper"))
        self.assertEqual(run.parse_stats("nothing\n"), {})


class Measuring(unittest.TestCase):
    def test_cpu_time_of_a_command_and_its_children(self):
        with tempfile.TemporaryDirectory() as directory:
            programs.set_directory(directory)
            try:
                wrapper = programs.cputime()
            except programs.Skip as reason:
                self.skipTest(str(reason))
            loop = "import time\nwhile time.process_time() < 0.3: pass"
            shell = f"{sys.executable} -c '{loop}' & {sys.executable} -c '{loop}'; wait; exit 3"
            target = os.path.join(directory, "out")
            done = subprocess.run([wrapper, target, "sh", "-c", shell], check=False)
            self.assertEqual(done.returncode, 3)
            with open(target, encoding="ascii") as file:
                seconds = float(file.read().split()[0])
            self.assertGreaterEqual(seconds, 0.6)
            self.assertLess(seconds, 2.0)

    def test_inputs_are_the_same_every_time(self):
        for make in (generate.c_source, generate.cc_source, generate.lines,
                     lambda size: generate.rs_source(size, size)):
            self.assertEqual(make(3), make(3))
            self.assertLess(len(make(3)), len(make(6)))


if __name__ == "__main__":
    unittest.main(verbosity=2)
