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
VICTIM_SECONDS = 0.5  # of CPU time that the victim has at least in a recording
PATIENCE = 60  # seconds
SAMPLES_PER_SECOND = 1000
VICTIM = "def f(n):\n return f(n - 1) if n else sum(range(200))\nwhile True:\n f(20)"
MAX_RECORDING_KIB, MAX_HELPER_KIB = 256 << 10, 64 << 10
STOP_SECONDS = 1.0
# Programs that come and go, each with a file of its own and about 0.1 s of CPU time.
SHORT = 16
SHELL = shutil.which("bash")
SHORT_WORK = "f() { local i; for ((i = 0; i < 80000; i++)); do :; done; }; f"

LIVE_UNWINDER = GENERATOR = PLAY = None


def peak_kib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return int(next(line.split()[1] for line in file if line.startswith("VmHWM")))


def cpu_seconds(pid):
    with open(f"/proc/{pid}/schedstat", encoding="ascii") as file:
        return int(file.read().split()[0]) / 1e9


def slowness():
    """How many times longer work takes because others have something to do, too.  A machine with
    less time for the recorder also loses more, without any attack."""
    return max(1, os.getloadavg()[0] / os.cpu_count())


def incomplete_percent(samples):
    """Counts only samples that have user frames."""
    users = [sample for sample in samples if sample.user]
    return 100 * sum(syscap.is_synthetic(sample.user[-1]) for sample in users) / max(len(users), 1)


class Recording:
    """A recording of the victim, and the figures that /proc showed meanwhile."""

    def __init__(self, path, stats, clock, short):
        capture = syscap.read(path)
        self.stats = stats
        times = [sample.time for sample in capture.samples]
        within = [cpu for at, cpu in clock if min(times) <= at <= max(times)]
        self.cpu = within[-1] - within[0] if within else 0
        self.stop = self.peak = 0
        samples = [sample for sample in capture.samples if sample.pid == clock.pid]
        self.samples = len(samples)
        self.incomplete = incomplete_percent(samples)
        self.short_samples = [sample for sample in capture.samples if sample.pid in short]
        self.short_incomplete = incomplete_percent(self.short_samples)


class Clock(list):
    """Times in ns with the seconds of CPU time that a process has used until then."""

    def __init__(self, pid):
        super().__init__()
        self.pid = pid

    def look(self):
        cpu = cpu_seconds(self.pid)
        self.append((time.monotonic_ns(), cpu))
        return cpu


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

    def run_short(self, name):
        """Returns the pid of a program that has ended."""
        path = os.path.join(self.directory, name)
        shutil.copy(SHELL, path)
        with open(path, "ab") as file:
            file.write(name.encode())  # the size is part of a file's identity
        process = subprocess.Popen([path, "-c", SHORT_WORK])
        process.wait()
        return process.pid

    def record(self, name):
        """Records until the victim and the short programs have run for a while."""
        path = os.path.join(self.directory, name)
        recorder = self.start([LIVE_UNWINDER, "--all", "--stats", "json", "-q", "-o", path],
                              stderr=subprocess.PIPE, text=True)
        clock = Clock(self.victim.pid)
        short = []
        began, cpu = time.monotonic(), None
        while time.monotonic() < began + PATIENCE:
            if time.monotonic() < began + SECONDS:
                cpu = clock.look()
            elif clock.look() >= cpu + VICTIM_SECONDS and len(short) == SHORT:
                break
            if time.monotonic() > began + SECONDS / 2 and len(short) < SHORT:
                short.append(self.run_short(f"{name}-{len(short)}"))
            else:
                time.sleep(0.05)
        peak = peak_kib(recorder.pid)
        began = time.monotonic()
        recorder.send_signal(signal.SIGINT)
        text = recorder.communicate(timeout=60)[1]
        stop = time.monotonic() - began
        self.assertEqual(recorder.returncode, 0, text)
        recording = Recording(path, json.loads(text[text.index("{"):]), clock, short)
        recording.stop, recording.peak = stop, peak
        print(f"{name}: {recording.samples} samples of the victim in {recording.cpu:.2f} s of CPU time, "
              f"{recording.incomplete:.2f} % not complete; {len(recording.short_samples)} of {len(short)} "
              f"short programs, {recording.short_incomplete:.2f} % not complete; stop {stop:.2f} s, "
              f"{peak >> 10} MiB, load {os.getloadavg()[0]:.1f}", file=sys.stderr)
        return recording

    def test_recording(self):
        quiet = self.record("quiet.syscap")
        self.attack()
        attacked = self.record("attacked.syscap")
        for recording in (quiet, attacked):
            self.assertGreaterEqual(recording.cpu, VICTIM_SECONDS / 2)
            self.assertGreaterEqual(recording.samples, 0.9 * recording.cpu * SAMPLES_PER_SECOND)
            self.assertGreaterEqual(len(recording.short_samples), SHORT * 50)
        self.assertLessEqual(attacked.incomplete, quiet.incomplete + 1)
        self.assertLessEqual(attacked.short_incomplete, quiet.short_incomplete + 1)
        self.assertLess(attacked.stats["lost"]["percent"],
                        quiet.stats["lost"]["percent"] + slowness())
        self.assertLess(attacked.stop, STOP_SECONDS * slowness())
        self.assertLess(attacked.peak, MAX_RECORDING_KIB)

    def test_kill(self):
        self.attack()
        recorder = self.start([LIVE_UNWINDER, "--all", "-q", "-o", os.path.join(self.directory, "x")])
        time.sleep(2)
        recorder.kill()
        self.assertEqual(recorder.wait(timeout=slowness()), -signal.SIGKILL)

    def test_helper(self):
        self.attack()
        play = subprocess.run([PLAY, "--stack-size", "16384", LIVE_UNWINDER, "--", "sleep",
                               str(SECONDS)], stdout=subprocess.PIPE, text=True, check=True)
        result = json.loads(play.stdout)
        print(f"helper: {result['rss_anon_kib']} KiB, stop {result['stop_ms']} ms, "
              f"{result['last_log']}", file=sys.stderr)
        self.assertFalse(result["killed"])
        self.assertIsNone(result["fault"])
        self.assertLess(result["lost"], 0.01 * slowness() * result["samples"])
        self.assertLess(result["rss_anon_kib"], MAX_HELPER_KIB)
        self.assertLess(result["stop_ms"], 1000 * STOP_SECONDS * slowness())


if __name__ == "__main__":
    LIVE_UNWINDER, GENERATOR, PLAY = sys.argv[1:4]
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
