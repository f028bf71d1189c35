#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""test_figures.py - the figures of the summary, each checked against what the kernel says.

    test_figures.py LIVE_UNWINDER [-v] [TEST…]

Storms of short processes and threads say themselves how much CPU time they used.
"""

import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else None
RATE = 999
SECONDS = 1.5

# A storm goes on for SECONDS and says how much CPU time it and its children used. With a third
# argument it waits for a line first; with "stay" it waits for another one at its end.
STORM = """
import os, resource, sys, threading, time
def work():
    end = time.thread_time() + 0.0003
    while time.thread_time() < end: pass
def fork():
    pid = os.fork()
    if pid == 0:
        work()
        os._exit(0)
    os.waitpid(pid, 0)
def thread():
    one = threading.Thread(target=work)
    one.start()
    one.join()
def execute():
    os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)
def used():
    all = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in all)
before = 0
if len(sys.argv) > 3:
    print("waits", flush=True)
    sys.stdin.readline()
    before = used()
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end: globals()[sys.argv[1]]()
print(used() - before, flush=True)
if sys.argv[3:] == ["stay"]: sys.stdin.readline()
os._exit(0)
"""


def storm(kind, seconds=SECONDS, *more):
    return [sys.executable, "-S", "-E", "-c", STORM, kind, str(seconds), *more]


def stats_of(stderr):
    return json.loads([line for line in stderr.splitlines() if line.startswith("{")][-1])


class Figures(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="lu-figures-")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)

    def run_it(self, *arguments, **options):
        result = subprocess.run([PROGRAM, "-F", str(RATE), *arguments], capture_output=True,
                                text=True, timeout=120, cwd=self.directory,
                                stdin=subprocess.DEVNULL, **options)
        if "perf events cannot be used" in result.stderr:
            self.skipTest("perf events cannot be used here")
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def check_storm(self, kind):
        result = self.run_it("--stats", "json", "-o", "x.syscap", "--", *storm(kind))
        used = float(result.stdout)
        expected = stats_of(result.stderr)["expected"]
        self.assertLess(abs(expected - used * RATE), 0.02 * used * RATE + 3,
                        f"expected {expected}, but {used} s were used")

    def test_a_storm_of_forks_is_expected(self):
        self.check_storm("fork")

    def test_a_storm_of_threads_is_expected(self):
        self.check_storm("thread")

    def test_a_storm_of_programs_is_expected(self):
        self.check_storm("execute")

    def check_storm_of_process(self, kind, end, tolerance):
        """It runs before it is recorded. Children that were waited for are counted by 10 ms."""
        process = subprocess.Popen(storm(kind, 2 * SECONDS, end), stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), "waits\n")
        recorder = subprocess.Popen([PROGRAM, "-F", str(RATE), "--stats", "json", "-o", "x.syscap",
                                     "--pid", str(process.pid)], cwd=self.directory,
                                    stderr=subprocess.PIPE, text=True)
        self.addCleanup(recorder.wait)
        self.addCleanup(recorder.kill)
        time.sleep(SECONDS)     # until events are open
        if recorder.poll() is not None and "perf events cannot be used" in recorder.stderr.read():
            self.skipTest("perf events cannot be used here")
        process.stdin.write("\n")
        process.stdin.flush()
        used = float(process.stdout.readline())
        if end == "stay":
            recorder.send_signal(signal.SIGINT)
        stats = stats_of(recorder.communicate()[1])
        if not stats["source"]["cpu_wide"]:
            self.skipTest("events of single tasks end before their tasks")
        expected = stats["expected"]
        self.assertLess(abs(expected - used * RATE), tolerance * used * RATE + 0.02 * RATE,
                        f"expected {expected}, but {used} s were used")

    def test_a_storm_of_forks_in_a_process_is_expected(self):
        self.check_storm_of_process("fork", "stay", 0.02)

    def test_a_storm_of_threads_in_a_process_is_expected(self):
        self.check_storm_of_process("thread", "stay", 0.02)

    def test_a_storm_of_programs_in_a_process_is_expected(self):
        self.check_storm_of_process("execute", "stay", 0.02)

    def test_a_storm_in_a_process_that_ends_is_expected(self):
        """Its account was read up to a second before."""
        self.check_storm_of_process("fork", "go", 0.05)

    def test_children_from_before_are_not_expected(self):
        """Their CPU time is in the account of their parent as soon as they end."""
        self.check_child_from_before(False)

    def test_recorded_children_are_expected_once(self):
        self.check_child_from_before(True)

    def check_child_from_before(self, is_recorded):
        process = subprocess.Popen(
            [sys.executable, "-S", "-E", "-c", "import os, sys, time\n"
             "def work(seconds):\n"
             "    end = time.thread_time() + seconds\n"
             "    while time.thread_time() < end: pass\n"
             "child = os.fork()\n"
             "if child == 0:\n"
             "    work(2)\n"
             "    print('waits', flush=True)\n"
             "    sys.stdin.readline()\n"
             "    os._exit(0)\n"
             "os.waitpid(child, 0)\n"
             "work(0.5)\n"
             "print('done', flush=True)\n"
             "time.sleep(60)"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        process.stdout.readline()
        with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as children:
            pids = [str(process.pid), *(children.read().split() if is_recorded else [])]
        recorder = subprocess.Popen([PROGRAM, "-F", str(RATE), "--stats", "json", "-o", "x.syscap",
                                     "--pid", ",".join(pids)], cwd=self.directory,
                                    stderr=subprocess.PIPE, text=True)
        self.addCleanup(recorder.wait)
        self.addCleanup(recorder.kill)
        time.sleep(SECONDS)     # until events are open
        if recorder.poll() is not None and "perf events cannot be used" in recorder.stderr.read():
            self.skipTest("perf events cannot be used here")
        process.stdin.write("\n")
        process.stdin.flush()
        process.stdout.readline()
        recorder.send_signal(signal.SIGINT)
        expected = stats_of(recorder.communicate()[1])["expected"]
        self.assertLess(abs(expected - 0.5 * RATE), 0.1 * RATE)

    def test_a_command_that_outlives_the_recording_is_expected(self):
        result = self.run_it("--stats", "json", "-d", str(SECONDS), "-o", "x.syscap", "--",
                             *storm("fork", 2 * SECONDS))
        used = float(result.stdout)
        expected = stats_of(result.stderr)["expected"]
        # The storm does not go on evenly on a busy machine.
        self.assertGreater(expected, 0.2 * used * RATE)
        self.assertLess(expected, 0.8 * used * RATE)

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_the_end_of_a_recording_of_all_is_not_expected(self):
        """The reader of the output sleeps when the recording is over, and the program waits."""
        os.mkfifo(os.path.join(self.directory, "x.syscap"))

        def read():
            with open(os.path.join(self.directory, "x.syscap"), "rb") as fifo:
                fifo.read(1)
                time.sleep(4)
                while fifo.read(1 << 16):
                    pass

        reader = threading.Thread(target=read)
        reader.start()
        spinner = subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"])
        self.addCleanup(spinner.wait)
        self.addCleanup(spinner.kill)
        # Whole copies fill the pipe.
        result = self.run_it("--stats", "json", "-a", "-d", "1", "-o", "x.syscap")
        reader.join()
        stats = stats_of(result.stderr)
        most = stats["seconds"] * RATE * os.cpu_count()
        self.assertLess(stats["expected"], 1.05 * most)

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_a_storm_in_a_recording_of_all_is_expected(self):
        """Other processes run as well, so /proc/stat says how much is used, in steps of 10 ms."""
        def busy():
            with open("/proc/stat", encoding="ascii") as file:
                fields = [int(word) for word in file.readline().split()[1:8]]
            return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")

        before = busy()
        recorder = subprocess.Popen([PROGRAM, "-F", str(RATE), "--stats", "json", "-a", "-d",
                                     str(3 * SECONDS), "-o", "x.syscap"], cwd=self.directory,
                                    stderr=subprocess.PIPE, text=True)
        self.addCleanup(recorder.wait)
        self.addCleanup(recorder.kill)
        time.sleep(SECONDS)     # until events are open
        used = float(subprocess.run(storm("fork"), check=True, capture_output=True).stdout)
        stats = stats_of(recorder.communicate()[1])
        self.assertLess(stats["expected"], 1.02 * (busy() - before) * RATE)
        self.assertGreater(stats["expected"], 0.98 * used * RATE)
        self.assertLess(abs(stats["unexplained"]), 0.1 * stats["expected"] + 20)

    def test_nothing_is_no_percentage(self):
        sleeper = subprocess.Popen(["sleep", "30"])
        self.addCleanup(sleeper.wait)
        self.addCleanup(sleeper.kill)
        time.sleep(0.2)
        arguments = ["-f", "-d", "0.2", "-o", "x.syscap", "--pid", str(sleeper.pid)]
        text = self.run_it(*arguments).stderr
        self.assertIn("0 samples", text)
        self.assertNotIn(" %", text)
        stats = stats_of(self.run_it("--stats", "json", *arguments).stderr)
        self.assertIsNone(stats["complete_percent"])

    def test_the_status_line_says_nothing_of_no_stacks(self):
        sleeper = subprocess.Popen(["sleep", "30"])
        self.addCleanup(sleeper.wait)
        self.addCleanup(sleeper.kill)
        time.sleep(0.2)
        terminal, end = pty.openpty()
        self.addCleanup(os.close, terminal)
        recorder = subprocess.Popen([PROGRAM, "-f", "-d", "1.2", "-o", "x.syscap", "--pid",
                                     str(sleeper.pid)], cwd=self.directory, stderr=end)
        recorder.wait()
        os.close(end)
        said = os.read(terminal, 65536).decode()
        self.assertIn("samples/s", said)
        self.assertNotIn("% complete", said)

    def test_each_output_has_its_own_size(self):
        names = ["x.syscap", "x.folded", "x.pb.gz"]
        outputs = [word for name in names for word in ("-o", name)]
        result = self.run_it("-f", "--engine", "table", "--stats", "json", *outputs, "--",
                             *storm("thread", 0.5))
        sizes = {name: os.path.getsize(os.path.join(self.directory, name)) for name in names}
        stats = stats_of(result.stderr)
        self.assertEqual({output["file"]: output["bytes"] for output in stats["outputs"]}, sizes)
        self.assertEqual(stats["bytes"], sizes["x.syscap"])
        text = self.run_it("-f", *outputs, "--", *storm("thread", 0.5)).stderr
        for name in names:
            size = os.path.getsize(os.path.join(self.directory, name))
            shown = re.search(rf"[ ]{re.escape(name)} \(([0-9.]+) (kB|MB)\)", text)
            self.assertIsNotNone(shown, text)
            unit = {"kB": 1e3, "MB": 1e6}[shown[2]]
            last_digit = unit / 10 ** len(shown[1].partition(".")[2])
            self.assertLessEqual(abs(float(shown[1]) * unit - size), last_digit)

    def test_naming_is_part_of_the_cost(self):
        """A program with very many symbols makes the end cost more than the recording."""
        compiler = shutil.which("cc")
        if compiler is None:
            self.skipTest("no C compiler")
        with open(os.path.join(self.directory, "many.s"), "w", encoding="ascii") as source:
            source.write(".globl main\nmain:\n mov $600000000, %eax\n1: dec %eax\n jne 1b\n ret\n")
            for i in range(400000):
                source.write(f".globl _Z{len(str(i)) + 20}a_rather_long_name_of{i}v\n"
                             f".type _Z{len(str(i)) + 20}a_rather_long_name_of{i}v, @function\n"
                             f"_Z{len(str(i)) + 20}a_rather_long_name_of{i}v:\n nop\n")
            source.write('.section .note.GNU-stack,"",@progbits\n')
        built = subprocess.run([compiler, "-o", "many", "many.s"], cwd=self.directory,
                               capture_output=True, check=False)
        if built.returncode != 0:
            self.skipTest("the program cannot be built for this machine")
        target = subprocess.Popen([os.path.join(self.directory, "many")])
        self.addCleanup(target.wait)
        self.addCleanup(target.kill)
        recorder = subprocess.Popen([PROGRAM, "-f", "--stats", "json", "-d", "0.3", "-o",
                                     "x.syscap", "--pid", str(target.pid)], cwd=self.directory,
                                    stderr=subprocess.PIPE, text=True)
        said = recorder.stderr.read()
        recorder.stderr.close()
        _, status, used = os.wait4(recorder.pid, 0)
        recorder.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(recorder.returncode, 0, said)
        self.assertGreater(stats_of(said)["cpu"]["self_seconds"],
                           0.85 * (used.ru_utime + used.ru_stime))


if __name__ == "__main__":
    unittest.main()
