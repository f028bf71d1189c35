#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""test_inflating.py LIVE_UNWINDER GENERATOR PLAY - files whose CFI is small on disk and large in memory.

An unprivileged process maps 300 files of 170 KB whose compressed .debug_frame has 64 MiB each, and
runs their code.  Other processes are recorded as without it, the recorder stops at once, and neither
a recording nor a helper takes more memory than it may.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "judge"))
import syscap  # noqa: E402  (needs the path above)

NOBODY = 65534
FILES = 300
SECONDS = 4
VICTIM = "def f(n):\n return f(n - 1) if n else sum(range(200))\nwhile True:\n f(20)"
MAX_RECORDING_KIB, MAX_HELPER_KIB = 256 << 10, 64 << 10
STOP_SECONDS = 1.0

LIVE_UNWINDER = GENERATOR = PLAY = None


def peak_kib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return int(next(line.split()[1] for line in file if line.startswith("VmHWM")))


def complete_percent(capture, pid):
    """Of the samples of that process that have user frames."""
    samples = [sample for sample in capture.samples if sample.pid == pid and sample.user]
    whole = [sample for sample in samples if not syscap.is_synthetic(sample.user[-1])]
    return len(samples), 100 * len(whole) / max(len(samples), 1)


class Inflating(unittest.TestCase):
    def setUp(self):
        if os.geteuid() != 0:
            self.skipTest("needs root, to record everything and to become another user")
        self.directory = tempfile.mkdtemp(prefix="hostile-inflating-")
        os.chmod(self.directory, 0o777)
        self.processes = []
        self.victim = self.start([sys.executable, "-c", VICTIM])

    def tearDown(self):
        for process in self.processes:
            process.kill()
            process.communicate()
        shutil.rmtree(self.directory, ignore_errors=True)

    def start(self, command, **options):
        self.processes.append(subprocess.Popen(command, **options))
        return self.processes[-1]

    def attack(self):
        attacker = self.start([GENERATOR, self.directory, str(FILES), "60"], user=NOBODY, group=NOBODY,
                              extra_groups=[], stdout=subprocess.PIPE)
        self.assertIn(b"mapped", attacker.stdout.readline())

    def record(self, name):
        """Returns (capture, JSON summary, seconds that the stop took, peak in KiB)."""
        path = os.path.join(self.directory, name)
        recorder = self.start([LIVE_UNWINDER, "--all", "--stats", "json", "-q", "-o", path],
                              stderr=subprocess.PIPE, text=True)
        time.sleep(SECONDS)
        peak = peak_kib(recorder.pid)
        began = time.monotonic()
        recorder.send_signal(signal.SIGINT)
        text = recorder.communicate(timeout=60)[1]
        stop = time.monotonic() - began
        self.assertEqual(recorder.returncode, 0, text)
        return syscap.read(path), json.loads(text[text.index("{"):]), stop, peak

    def test_recording(self):
        capture, quiet, _, _ = self.record("quiet.syscap")
        _, want = complete_percent(capture, self.victim.pid)
        self.attack()
        capture, stats, stop, peak = self.record("attacked.syscap")
        n, percent = complete_percent(capture, self.victim.pid)
        print(f"victim: {n} samples, {percent:.2f} % complete, {want:.2f} % without the attack; "
              f"stop {stop:.2f} s, {peak >> 10} MiB", file=sys.stderr)
        self.assertGreater(n, 100)
        self.assertGreaterEqual(percent, want - 1)
        self.assertLess(stats["lost"]["percent"], quiet["lost"]["percent"] + 1)
        self.assertLess(stop, STOP_SECONDS)
        self.assertLess(peak, MAX_RECORDING_KIB)

    def test_kill(self):
        self.attack()
        recorder = self.start([LIVE_UNWINDER, "--all", "-q", "-o", os.path.join(self.directory, "x")])
        time.sleep(2)
        recorder.kill()
        self.assertEqual(recorder.wait(timeout=1), -signal.SIGKILL)

    def test_helper(self):
        self.attack()
        play = subprocess.run([PLAY, "--stack-size", "16384", LIVE_UNWINDER, "--", "sleep",
                               str(SECONDS)], stdout=subprocess.PIPE, text=True, check=True)
        result = json.loads(play.stdout)
        print(f"helper: {result['rss_anon_kib']} KiB, stop {result['stop_ms']} ms, "
              f"{result['last_log']}", file=sys.stderr)
        self.assertFalse(result["killed"])
        self.assertIsNone(result["fault"])
        self.assertEqual(result["lost"], 0)
        self.assertLess(result["rss_anon_kib"], MAX_HELPER_KIB)
        self.assertLess(result["stop_ms"], 1000)


if __name__ == "__main__":
    LIVE_UNWINDER, GENERATOR, PLAY = sys.argv[1:4]
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
