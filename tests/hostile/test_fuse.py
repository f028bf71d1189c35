#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""Pages and programs of a file system that never answers: nothing of ours waits for them, and SIGKILL
works.

usage: test_fuse.py LIVE-UNWINDER FUSE-PAGE PROGRAM [unittest arguments]
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

LIVE_UNWINDER, FUSE_PAGE, PROGRAM = (os.path.abspath(path) for path in sys.argv[1:4])
STOP = 1.5  # seconds: one, and the slack of a busy machine


def in_namespace():
    """Runs the rest of this program in a mount namespace of its own."""
    if os.geteuid() != 0 or "LU_IN_NAMESPACE" in os.environ:
        return
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode == 0:
        os.environ["LU_IN_NAMESPACE"] = "1"
        os.execvp("unshare", ["unshare", "--mount", sys.executable, *sys.argv])


class Pages(unittest.TestCase):
    def setUp(self):
        if "LU_IN_NAMESPACE" not in os.environ:
            self.skipTest("mounts need root")
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        self.mount = os.path.join(self.directory, "mount")
        self.overlay = os.path.join(self.directory, "overlay")
        for path in (self.mount, self.overlay, self.overlay + ".empty"):
            os.mkdir(path)
        self.capture = os.path.join(self.directory, "out.syscap")

    def start(self, *kind):
        victim = subprocess.Popen([FUSE_PAGE, self.mount, *kind], stdout=subprocess.PIPE,
                                  start_new_session=True)
        self.addCleanup(victim.stdout.close)
        self.addCleanup(victim.wait)
        for path in (self.mount, self.overlay):  # the last one first
            self.addCleanup(subprocess.run, ["umount", "-lq", path])
        self.addCleanup(os.killpg, victim.pid, signal.SIGKILL)
        server = victim.stdout.readline()
        if not server.strip().isdigit():
            self.skipTest("no FUSE mount, or none below an overlay")
        self.server = int(server)
        return victim

    def record(self, *arguments):
        recorder = subprocess.Popen([LIVE_UNWINDER, "--no-store", "-f", "-o", self.capture,
                                     *arguments], stderr=subprocess.PIPE, text=True)
        self.addCleanup(recorder.stderr.close)
        self.addCleanup(recorder.kill)
        return recorder

    def check(self, victim, *arguments, says="."):
        target = ["--pid", str(victim.pid)]
        recorder = self.record("--stats", "json", "-d", "2", *arguments, *target)
        try:
            stderr = recorder.communicate(timeout=3 + STOP)[1]
        except subprocess.TimeoutExpired:
            self.fail("the recording does not end")
        self.assertEqual(recorder.returncode, 0, stderr)
        self.assertRegex(stderr, says)
        stats = json.loads([line for line in stderr.splitlines() if line.startswith("{")][-1])
        self.assertGreater(stats["samples"], 100)
        self.report()
        recorder = self.record("-q", *arguments, *target)
        time.sleep(1)
        recorder.kill()
        try:
            recorder.wait(timeout=STOP)
        except subprocess.TimeoutExpired:
            self.fail("SIGKILL does not end the recorder")
        return stats

    def test_a_page_of_a_stack(self):
        stats = self.check(self.start("stack"), "--engine", "table")
        self.assertGreater(stats["walks"]["prefaults_stopped"], 0)

    def report(self):
        return subprocess.run([LIVE_UNWINDER, "report", self.capture], text=True, check=True,
                              capture_output=True, timeout=10).stdout

    def test_a_program(self):
        """It is unwound and named, until its file can neither be found nor opened nor read."""
        victim = self.start_program()
        self.assert_named(victim)
        os.kill(self.server, signal.SIGUSR1)
        self.check(victim, says="1 file system does not answer")

    def test_a_program_for_root_alone(self):
        """A recorder of root stays root's where a file system admits nobody else."""
        self.assert_named(self.start_program("alone"))

    def test_below_an_overlay(self):
        """An overlay asks the server below it, also one that the recorder's mounts do not show."""
        for kind in ("below", "hidden"):
            with self.subTest(kind=kind):
                victim = self.start_program(kind, self.overlay)
                self.assert_named(victim)
                os.kill(self.server, signal.SIGUSR1)
                self.check(victim, says="file systems? do(es)? not answer")
                self.doCleanups()
                self.setUp()

    def start_program(self, *options):
        victim = self.start(PROGRAM, *options)
        directory = self.overlay if len(options) == 2 else self.mount
        deadline = time.monotonic() + 10
        while not os.readlink(f"/proc/{victim.pid}/exe").startswith(directory + "/"):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        return victim

    def assert_named(self, victim):
        recorder = self.record("-d", "1", "--pid", str(victim.pid))
        self.assertIn(" 100 % complete", recorder.communicate(timeout=30)[1])
        report = self.report()
        self.assertRegex(report, r" spin .*\bpage")
        self.assertRegex(report, r" main .*\bpage")


if __name__ == "__main__":
    in_namespace()
    del sys.argv[1:4]
    unittest.main()
