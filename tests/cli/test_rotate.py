#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""test_rotate.py - one recording in many files: nothing is lost between them, each opens alone.

    test_rotate.py LIVE_UNWINDER [-v] [TEST…]

Everything is checked from outside; captures are read with the judge's own reader.
"""

import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "judge"))
import syscap  # noqa: E402  (needs the path above)

PROGRAM = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else None
SPIN = "import time\ne = time.time() + {}\nwhile time.time() < e: sum(range(1000))"
STAMP = r"-\d{8}T\d{6}Z(-\d+)?"


def spin(seconds):
    return [sys.executable, "-S", "-c", SPIN.format(seconds)]


class Rotate(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="rotate-")
        self.addCleanup(shutil.rmtree, self.directory, True)

    def run_it(self, *arguments, **options):
        return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=60,
                              cwd=self.directory, stdin=subprocess.DEVNULL, check=False, **options)

    def record(self, *arguments):
        """Records; returns the statistics, or skips where sampling is not allowed."""
        result = self.run_it("--stats", "json", *arguments)
        if result.returncode == 125 and os.geteuid() != 0:
            self.skipTest(result.stderr.strip())
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads([line for line in result.stderr.splitlines() if line.startswith("{")][-1])

    def files(self, suffix):
        names = sorted(glob.glob(os.path.join(self.directory, "x*" + suffix)))
        for name in names:
            self.assertRegex(os.path.basename(name), rf"^x{STAMP}{re.escape(suffix)}$")
        return names

    def wait_for_the_first_file(self, process):
        """The command starts when it is open, which takes a busy machine a second."""
        end = time.monotonic() + 20
        while process.poll() is None and not self.files(".syscap") and time.monotonic() < end:
            time.sleep(0.01)

    def check_whole(self, names):
        """Each capture is finished, complete in itself, and begins where the previous one ended.
        Returns the samples of all."""
        samples = 0
        captures = [syscap.read(name) for name in names]
        for capture in captures:
            self.assertFalse(capture.truncated)
            self.assertGreater(capture.end_time, capture.time)
            self.assertEqual(capture.metadata["live-unwinder.address-convention"],
                             "return-address-minus-1")
            stats = json.loads(capture.metadata["live-unwinder.stats"])
            self.assertEqual(stats["samples"], len(capture.samples))
            self.assertEqual(stats["lost"]["samples"], 0)
            self.assertIn("__symbols__", capture.files)
            known = {process.pid for process in capture.processes}
            mapped = {mapping.pid for mapping in capture.maps}
            for sample in capture.samples:
                self.assertGreaterEqual(sample.time, capture.time)
                self.assertLess(sample.time, capture.end_time)
                if sample.user:
                    self.assertIn(sample.pid, known)
                # A process that ends has no stack: only its state is shown.
                if not all(map(syscap.is_synthetic, sample.user)):
                    self.assertIn(sample.pid, mapped)
            samples += len(capture.samples)
        for before, after in zip(captures, captures[1:]):
            self.assertEqual(before.end_time, after.time)
        numbers = [int(capture.metadata["live-unwinder.file-number"]) for capture in captures]
        self.assertEqual(numbers, list(range(numbers[0], numbers[0] + len(numbers))))
        return samples

    def test_nothing_is_lost(self):
        stats = self.record("--rotate", "1", "-o", "x.syscap", "-o", "x.folded", "--",
                            "sh", "-c", " ".join(f"'{word}'" for word in spin(3.4)) + " & "
                            "sleep 1.5; ls -lR /proc/self/ >/dev/null 2>&1; wait")
        captures = self.files(".syscap")
        self.assertGreaterEqual(len(captures), 3)
        self.assertEqual(stats["files"], len(captures))
        self.assertEqual(self.check_whole(captures), stats["samples"])
        self.assertEqual(stats["lost"]["samples"], 0)
        self.assertLess(abs(stats.get("unexplained", 0)), 0.05 * stats["samples"] + 20)
        counted = 0
        self.assertEqual(len(self.files(".folded")), len(captures))
        for name in self.files(".folded"):
            with open(name, encoding="utf-8") as lines:
                counted += sum(int(line.rsplit(" ", 1)[1]) for line in lines)
        self.assertEqual(counted, stats["samples"])
        # On a busy machine the first second may be over before the program runs.
        for name in captures[1:3]:
            report = self.run_it("report", "--json", name)
            self.assertEqual(report.returncode, 0, report.stderr)
            names = {function["name"] for function in json.loads(report.stdout)["functions"]}
            self.assertIn("_start", names)

    def test_an_interruption_leaves_whole_files(self):
        """The signal may come at any time: also while a file is being finished."""
        for delay in (1.02, 2.2):
            with subprocess.Popen([PROGRAM, "-q", "--rotate", "1", "-o", "x.syscap", "--", *spin(20)],
                                  cwd=self.directory, stderr=subprocess.PIPE, text=True) as process:
                self.wait_for_the_first_file(process)
                time.sleep(delay)
                process.send_signal(signal.SIGINT)
                stderr = process.communicate(timeout=30)[1]
            if process.returncode == 125 and os.geteuid() != 0:
                self.skipTest(stderr.strip())
            self.assertEqual(process.returncode, 128 + signal.SIGINT, stderr)
            captures = self.files(".syscap")
            self.assertGreaterEqual(len(captures), 2 if delay > 2 else 1)
            self.assertGreater(self.check_whole(captures), 10)  # others may use the machine
            for name in captures:
                os.unlink(name)

    def test_only_the_last_are_kept(self):
        stats = self.record("--rotate", "1", "--rotate-keep", "2", "-o", "x.syscap", "-o", "x.html",
                            "--", *spin(4.3))
        self.assertGreaterEqual(stats["files"], 4)
        captures = self.files(".syscap")
        self.assertEqual([len(captures), len(self.files(".html"))], [2, 2])
        self.check_whole(captures)

    def test_a_directory_that_is_replaced(self):
        """Files stay in the directory that was there at the beginning, and are removed from it."""
        outputs, moved, other = (os.path.join(self.directory, name) for name in ("out", "moved", "other"))
        os.mkdir(outputs)
        os.mkdir(other)
        recorder = subprocess.Popen([PROGRAM, "--rotate", "1", "--rotate-keep", "2", "-o",
                                     os.path.join(outputs, "x.syscap"), "--", *spin(5)],
                                    stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(recorder.kill)
        deadline = time.monotonic() + 10
        while not os.listdir(outputs) and recorder.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        os.rename(outputs, moved)
        os.symlink(other, outputs)
        stderr = recorder.communicate(timeout=60)[1]
        if recorder.returncode == 125 and os.geteuid() != 0:
            self.skipTest(stderr.strip())
        self.assertEqual(recorder.returncode, 0, stderr)
        self.assertEqual(os.listdir(other), [])
        self.assertEqual(len(os.listdir(moved)), 2)

    @unittest.skipUnless(shutil.which("perf"), "perf is not installed")
    def test_the_same_as_one_file(self):
        """A file of perf gives the same samples in one capture and in many."""
        data = os.path.join(self.directory, "in.data")
        result = subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-F", "199", "--call-graph",
                                 "dwarf,8192", "-o", data, *spin(3)], capture_output=True, text=True,
                                check=False)
        if result.returncode != 0:
            self.skipTest("perf record: " + result.stderr.strip())
        self.record("--input", data, "-o", "one.syscap")
        self.record("--input", data, "--rotate", "1", "-o", "x.syscap")
        one = syscap.read(os.path.join(self.directory, "one.syscap"))
        many = [sample for name in self.files(".syscap") for sample in syscap.read(name).samples]
        self.assertGreaterEqual(len(self.files(".syscap")), 2)
        self.assertEqual(sorted(many), sorted(one.samples))

    def test_what_cannot_be(self):
        for arguments, message in ((("--rotate", "0"), "--rotate"), (("--rotate-keep", "3"), "--rotate"),
                                   (("--rotate", "1", "-o", "-"), "standard output"),
                                   (("--rotate", "1", "-o", "/dev/null"), "/dev/null")):
            result = self.run_it(*arguments, "--", "true")
            self.assertEqual(result.returncode, 125, arguments)
            self.assertIn(message, result.stderr)
        self.assertEqual(os.listdir(self.directory), [])

    def test_a_command_that_is_not_there(self):
        self.assertEqual(self.run_it("--rotate", "1", "--", "/nonexistent").returncode, 127)
        self.assertEqual(os.listdir(self.directory), [])

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_in_anothers_directory(self):
        """New files can be created there although root's other rights have been dropped."""
        os.chmod(self.directory, 0o755)
        os.chown(self.directory, 65534, 65534)
        stats = self.record("--rotate", "1", "-o", "x.syscap", "--", *spin(1.6))
        self.assertEqual(self.check_whole(self.files(".syscap")), stats["samples"])


if __name__ == "__main__":
    unittest.main()
