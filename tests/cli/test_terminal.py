#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""test_terminal.py - what somebody at a terminal types and reads.

    test_terminal.py LIVE_UNWINDER [-v] [TEST…]
"""

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
SPIN = "import time\ne = time.process_time() + {}\nwhile time.process_time() < e: sum(range(1000))"


def spin(seconds):
    return [sys.executable, "-S", "-c", SPIN.format(seconds)]


class Case(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="terminal-")
        self.addCleanup(shutil.rmtree, self.directory, True)
        self.bin = os.path.join(self.directory, "bin")
        os.mkdir(self.bin)

    def run_it(self, *arguments, path=None, **environment):
        """The program finds only what is in `path`, if that is given."""
        environment = dict(os.environ, LC_ALL="C.UTF-8", DEBUGINFOD_URLS="", **environment)
        if path is not None:
            environment["PATH"] = path
        result = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=60,
                                cwd=self.directory, stdin=subprocess.DEVNULL, env=environment,
                                check=False)
        if "perf events cannot be used" in result.stderr:
            self.skipTest(result.stderr.strip())
        return result

    def install(self, name, script="exit 0"):
        with open(os.path.join(self.bin, name), "w", encoding="ascii") as file:
            file.write(f"#!/bin/sh\n{script}\n")
        os.chmod(os.path.join(self.bin, name), 0o755)


class Summary(Case):
    def lines(self, *arguments, path=None):
        result = self.run_it("-f", *arguments, path=path)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stderr.splitlines()

    @unittest.skipUnless(os.geteuid() == 0, "others are told what they may not")
    def test_two_lines_are_all(self):
        lines = self.lines("--", *spin(1.3))
        self.assertEqual(len(lines), 2, lines)
        self.assertRegex(lines[0], r"^1,\d\d\d samples in \d+\.\d s, (100|99\.\d) % complete, none "
                                   r"lost → capture\.syscap \(\d+(\.\d)? (kB|MB)\)$")
        self.assertIn("live-unwinder report capture.syscap", lines[1])

    def test_verbose_has_the_rest(self):
        few, many = self.lines("--", *spin(0.3)), self.lines("-v", "--", *spin(0.3))
        for word in ("Cost: ", "Lost: ", "Event: "):
            self.assertFalse([line for line in few if line.startswith(word)], few)
            self.assertTrue([line for line in many if line.startswith(word)], many)
        self.assertTrue(many[-1].startswith("Next: "), many)

    def test_sysprof_is_named_if_it_is_there(self):
        path = self.bin
        self.assertNotIn("sysprof", self.lines("--", *spin(0.2), path=path)[-1])
        self.install("sysprof")
        self.assertTrue(self.lines("-o", "a b.syscap", "--", *spin(0.2), path=path)[-1]
                        .startswith("Next: sysprof 'a b.syscap'"))

    def test_a_page_comes_first(self):
        self.install("sysprof")
        arguments = ["-o", "x.syscap", "-o", "x.html", "--", *spin(0.2)]
        self.assertTrue(self.lines(*arguments, path=self.bin)[-1]
                        .startswith("Next: open x.html in a browser"))
        self.install("xdg-open")
        self.assertTrue(self.lines(*arguments, path=self.bin)[-1].startswith("Next: xdg-open x.html"))

    def test_stacks_that_are_cut_off_are_worth_a_line(self):
        lines = self.lines("--engine", "table", "-s", "512", "--", *spin(0.4))
        self.assertTrue([line for line in lines if "the next larger one is --stack-size 1024" in line],
                        lines)
        shown = re.search(r"s, (\d+\.\d) % complete", lines[0])
        self.assertLess(float(shown[1]), 90)

    def test_what_has_no_name_is_not_named(self):
        with open(os.path.join(self.directory, "out"), "wb") as out:
            done = subprocess.run([PROGRAM, "-o", "-", "--", *spin(0.2)], stdout=out,
                                  stderr=subprocess.PIPE, text=True, cwd=self.directory, check=False)
        if done.returncode == 125:
            self.skipTest(done.stderr)
        self.assertNotIn("→", done.stderr)
        self.assertNotIn("Next", done.stderr)


class Open(Case):
    """The viewer gets the file when it is finished, and the recording ends without it."""

    VIEWER = 'cp "$1" seen.new && echo "$0 $1" > who && mv seen.new seen; sleep 0.1'

    def opened(self, *arguments, file):
        result = self.run_it("-f", "--open", *arguments, "--", *spin(0.3),
                             path=self.bin + ":" + os.environ["PATH"])
        self.assertEqual(result.returncode, 0, result.stderr)
        seen = os.path.join(self.directory, "seen")
        deadline = time.monotonic() + 60
        while not os.path.exists(seen) and time.monotonic() < deadline:
            time.sleep(0.05)
        with open(seen, "rb") as one, open(os.path.join(self.directory, file), "rb") as other:
            self.assertEqual(one.read(), other.read())
        os.unlink(seen)
        with open(os.path.join(self.directory, "who"), encoding="utf-8") as who:
            return who.read().strip()

    def test_a_capture_and_a_page(self):
        for name in ("sysprof", "xdg-open"):
            self.install(name, self.VIEWER)
        said = self.opened("-o", "-x y.syscap", file="-x y.syscap")
        self.assertEqual(said, os.path.join(self.bin, "sysprof") + " ./-x y.syscap")
        said = self.opened("-o", "x.syscap", "-o", "x.html", file="x.html")
        self.assertEqual(said, os.path.join(self.bin, "xdg-open") + " x.html")

    def test_nothing_that_opens_it(self):
        result = self.run_it("--open", "--", "true", path=self.bin)
        self.assertEqual(result.returncode, 125)
        self.assertIn("--open: nothing here shows", result.stderr)
        self.assertEqual(os.listdir(self.directory), ["bin"])

    def test_nothing_that_was_recorded(self):
        self.install("sysprof", self.VIEWER)
        result = self.run_it("--open", "--", "no-such-command", path=self.bin + ":" + os.environ["PATH"])
        self.assertEqual(result.returncode, 127)
        self.assertFalse(os.path.exists(os.path.join(self.directory, "who")))


class Habits(Case):
    def test_a_command_that_is_misspelt(self):
        result = self.run_it("reporx", "x.syscap")
        self.assertEqual(result.returncode, 127)
        self.assertIn("did you mean report?", result.stderr)
        self.assertEqual(os.listdir(self.directory), ["bin"])

    def test_a_program_of_a_similar_name_is_recorded(self):
        self.install("repor", "exit 7")
        path = self.bin + ":" + os.environ["PATH"]
        self.assertEqual(self.run_it("repor", path=path).returncode, 7)

    def test_words_of_other_tools(self):
        self.assertEqual(self.run_it("version").stdout, self.run_it("--version").stdout)
        self.assertEqual(self.run_it("help").stdout, self.run_it("--help").stdout)
        self.assertEqual(self.run_it("help", "report").stdout,
                         self.run_it("report", "--help").stdout)
        result = self.run_it("record", "-g", "--call-graph", "dwarf,16384", "-o", "y.syscap", "--",
                             *spin(0.2))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue(os.path.exists(os.path.join(self.directory, "y.syscap")))

    def test_processes_that_are_gone_are_told_and_left_out(self):
        gone = subprocess.Popen(["true"])
        gone.wait()
        here = subprocess.Popen(spin(20))
        self.addCleanup(here.wait)
        self.addCleanup(here.kill)
        result = self.run_it("-d", "300ms", "-p", str(gone.pid), "-p", str(here.pid))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(f"there is no process {gone.pid}", result.stderr)
        self.assertNotIn("\n0 samples", result.stderr)
        result = self.run_it("-f", "-p", f"{gone.pid},{gone.pid}")
        self.assertEqual(result.returncode, 125)
        self.assertIn("none of the processes", result.stderr)

    def test_so_are_threads(self):
        gone = subprocess.Popen(["true"])
        gone.wait()
        here = subprocess.Popen(spin(20))
        self.addCleanup(here.wait)
        self.addCleanup(here.kill)
        result = self.run_it("-d", "300ms", "-t", f"{gone.pid},{here.pid}")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(f"there is no thread {gone.pid}", result.stderr)
        self.assertRegex(result.stderr, r"(?m)^[1-9]\d* samples in ")
        result = self.run_it("-f", "-t", str(gone.pid), "-t", str(gone.pid))
        self.assertEqual(result.returncode, 125)
        self.assertIn("none of the threads", result.stderr)


class Names(Case):
    """The kernel calls a script by its own name."""

    def setUp(self):
        super().setUp()
        self.file = os.path.join(self.directory, "capture.syscap")

    def start(self, name):
        self.install(name, "while :; do :; done")
        target = subprocess.Popen([os.path.join(self.bin, name)])
        self.addCleanup(target.wait)
        self.addCleanup(target.kill)
        comm = ""
        while comm != name:
            with open(f"/proc/{target.pid}/comm", encoding="ascii") as file:
                comm = file.read().strip()
        return target.pid

    def recorded(self, *names):
        options = [f"--name={name}" for name in names]
        result = self.run_it("-f", "-d", "2s", *options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return {sample.pid for sample in syscap.read(self.file).samples}

    def test_all_of_a_name_or_of_a_part_of_it(self):
        lu_one, lu_one_too, lu_oneself = (self.start(name) for name in ("lu-one", "lu-one", "lu-oneself"))
        self.assertEqual(self.recorded("lu-one"), {lu_one, lu_one_too})
        self.assertEqual(self.recorded("LU-ONES"), {lu_oneself})
        self.assertEqual(self.recorded("lu-one", "lu-oneself"), {lu_one, lu_one_too, lu_oneself})

    def test_nobody_of_a_name(self):
        result = self.run_it("--name", "lu-nobody")
        self.assertEqual(result.returncode, 125)
        self.assertIn("no process named lu-nobody; --wait", result.stderr)
        self.assertFalse(os.path.exists(self.file))

    def wait_for(self, name):
        recorder = subprocess.Popen([PROGRAM, "-d", "2s", "--name", name, "--wait"],
                                    stderr=subprocess.PIPE, cwd=self.directory, text=True,
                                    env=dict(os.environ, LC_ALL="C.UTF-8", DEBUGINFOD_URLS=""))
        self.addCleanup(recorder.stderr.close)
        self.addCleanup(recorder.wait)
        self.addCleanup(recorder.kill)
        line = recorder.stderr.readline()
        if "waiting" not in line:
            self.skipTest(line)
        return recorder

    def test_waits_until_there_is_one(self):
        recorder = self.wait_for("lu-late")
        pid = self.start("lu-late")
        self.assertEqual(recorder.wait(60), 0)
        self.assertEqual({sample.pid for sample in syscap.read(self.file).samples}, {pid})

    def test_a_signal_ends_the_wait(self):
        recorder = self.wait_for("lu-never")
        recorder.send_signal(signal.SIGINT)
        self.assertEqual(recorder.wait(60), 130)
        self.assertEqual(recorder.stderr.read(), "")
        self.assertFalse(os.path.exists(self.file))


class Signals(Case):
    def test_signals_of_users_do_not_end_a_recording(self):
        for number in (signal.SIGUSR1, signal.SIGUSR2):
            recorder = subprocess.Popen([PROGRAM, "-f", "-d", "2", "--", *spin(0.1)[:3],
                                         "import time; print(flush=True); time.sleep(0.5)"],
                                        cwd=self.directory, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL)
            self.assertEqual(recorder.stdout.read(1), b"\n")
            recorder.send_signal(number)
            recorder.stdout.close()
            self.assertEqual(recorder.wait(), 0)

    def test_command_gets_signals_as_they_were(self):
        """A signal that is ignored for us would be ignored for COMMAND as well."""
        result = self.run_it("-q", "--", "sh", "-c", "kill -USR1 $$")
        self.assertEqual(result.returncode, 128 + signal.SIGUSR1)


if __name__ == "__main__":
    unittest.main()
