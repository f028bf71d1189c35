#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""test_top.py - live-unwinder top: tables in a file, and the screen, under tmux.

    test_top.py LIVE_UNWINDER TOP_PHASES [-v] [TEST…]

Each test waits for a state and not for a time."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM, PHASES = (os.path.abspath(sys.argv.pop(1)) for _ in range(2))
PATIENCE = 100
HAS_SCREEN = os.environ.get("LU_HAS_SCREEN") == "1"
ENVIRONMENT = dict(os.environ, LC_ALL="C.UTF-8", LANGUAGE="", DEBUGINFOD_URLS="", LIVE_UNWINDER_STORE="")


class Case(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="top-")
        self.addCleanup(shutil.rmtree, self.directory, True)

    def start(self, *command, **options):
        process = subprocess.Popen(command, cwd=self.directory, stdin=subprocess.DEVNULL, text=True,
                                   env=ENVIRONMENT, **options)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def run_it(self, *arguments, **environment):
        result = subprocess.run([PROGRAM, "top", *arguments], capture_output=True, text=True,
                                timeout=PATIENCE, cwd=self.directory, stdin=subprocess.DEVNULL,
                                env=dict(ENVIRONMENT, **environment), check=False)
        if "perf events cannot be used" in result.stderr:
            self.skipTest(result.stderr.strip())
        return result


class Tables(Case):
    def test_functions_of_a_command(self):
        result = self.run_it("--", "sh", "-c", 'echo out; echo err >&2; "$0" 0 700; exit 3', PHASES)
        self.assertEqual(result.returncode, 3)
        self.assertEqual(result.stderr, "out\nerr\n")
        lines = result.stdout.splitlines()
        self.assertRegex(lines[0], r"^\d+ samples in \d+\.\d s: functions by self$")
        self.assertRegex(lines[2], r"^ +\d+\.\d\d +\d+\.\d\d  late_phase  \[top-phases\]$")
        self.assertRegex(result.stdout, r"(?m)^ +0\.\d\d +[6-9]\d\.\d\d  call_both ")

    def test_functions_that_come_later(self):
        """Names that are found after a table was added up have no samples in it, and no others'."""
        script = "import sys; import json, re, decimal, difflib, email.message, html.parser, http.client, xml.dom"
        result = self.run_it("--batch", "0", "--interval", "100ms", "-F", "9999", "--",
                             "sh", "-c", f"for i in 1 2 3 4 5 6; do {sys.executable} -c '{script}'; $0 0 30; done", PHASES)
        self.assertEqual(result.returncode, 0, result.stderr)
        shares = re.findall(r"(?m)^ +(\d+\.\d\d) +(\d+\.\d\d)  ", result.stdout)
        self.assertNotEqual(shares, [])
        self.assertEqual([pair for pair in shares if max(map(float, pair)) > 100], [])

    def test_samples_leave_the_window(self):
        top = self.start(PROGRAM, "top", "--batch", "0", "--interval", "200ms", "--window", "1s",
                         "--", PHASES, "700", "3600000", stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE)
        self.addCleanup(top.stderr.close)
        self.addCleanup(top.stdout.close)
        seen, table = set(), []
        for line in top.stdout:
            if line != "\n":
                table.append(line)
                continue
            text, table = "".join(table), []
            phases = {name for name in ("early_phase", "late_phase") if name in text}
            seen |= phases
            if seen == {"early_phase", "late_phase"} and phases == {"late_phase"}:
                break
        self.assertEqual(seen, {"early_phase", "late_phase"}, top.poll())
        top.send_signal(signal.SIGTERM)
        self.assertEqual(top.wait(PATIENCE), 128 + signal.SIGTERM)

    def test_losses_are_told(self):
        """A recorder that is stopped for a while loses samples, which leave the window like others."""
        target = self.start(PHASES, "3600000")
        top = self.start(PROGRAM, "top", "--batch", "0", "--interval", "200ms", "--window", "2s", "--engine", "table", "-F", "9999", "-p", str(target.pid), stdout=subprocess.PIPE)
        self.addCleanup(top.stdout.close)
        captions = (line for line in top.stdout if "functions by self" in line)
        lost, stopped_for = 0, 0.5
        for number, caption in enumerate(captions):
            with open(f"/proc/{top.pid}/task/{top.pid}/children", encoding="ascii") as children:
                recorder = int(children.read().split()[0])
            now = int(re.search(r"self(?:, (\d+) lost)?$", caption)[1] or 0)
            if now < lost:
                break
            # top goes on printing while its recorder is stopped; those captions say nothing of losses.
            if lost == now == 0 and number % 10 == 0:
                os.kill(recorder, signal.SIGSTOP)
                time.sleep(stopped_for)
                os.kill(recorder, signal.SIGCONT)
                stopped_for *= 2  # how much the rings hold depends on the size of the samples
            lost = now
        self.assertGreater(lost, 0, top.poll())

    def test_no_more_tables_than_wanted(self):
        self.start(PHASES, "3600000")
        result = self.run_it("--batch", "2", "--interval", "300ms", "--name", "top-phases")
        self.assertEqual((result.returncode, result.stdout.count("functions by self")), (0, 2))

    def test_errors(self):
        gone = subprocess.Popen(["true"])
        gone.wait()
        for arguments, text in ((("-p", str(gone.pid)), "there is no process"),
                                (("--window", "x"), '--window: "x" is not a time'),
                                (("--window", "2h"), "--window: give up to an hour"),
                                (("--interval", "1ms"), "--interval: give 100ms to an hour"),
                                (("-o", "x"), "-o")):
            result = self.run_it(*arguments)
            self.assertEqual(result.returncode, 125, arguments)
            self.assertIn(text, result.stderr)
        self.assertEqual(self.run_it("--", "no-such-command").returncode, 127)


@unittest.skipUnless(HAS_SCREEN, "built without ncurses")
@unittest.skipUnless(shutil.which("tmux"), "tmux is not installed")
class Screen(Case):
    def setUp(self):
        super().setUp()
        if "perf events cannot be used" in self.run_it("--batch", "1", "--", "true").stderr:
            self.skipTest("no perf events")
        self.socket = os.path.join(self.directory, "tmux")
        shell = f"cd {self.directory}; PS1='$ ' exec bash --norc --noprofile"
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", "100", "-y", "30", shell)
        self.addCleanup(self.tmux, "kill-server")

    def tmux(self, *arguments):
        done = subprocess.run(["tmux", "-S", self.socket, *arguments], capture_output=True, text=True,
                              env=ENVIRONMENT, check=False)
        return done.stdout

    def type(self, *keys):
        self.tmux("send-keys", *keys)

    def shown(self):
        return self.tmux("capture-pane", "-p")

    def until(self, pattern, look=None):
        deadline = time.monotonic() + PATIENCE
        while not re.search(pattern, (look or self.shown)(), re.MULTILINE):
            self.assertLess(time.monotonic(), deadline, f"no {pattern} in:\n{(look or self.shown)()}")
            time.sleep(0.05)

    def read(self, name):
        path = os.path.join(self.directory, name)
        if not os.path.exists(path):
            return ""
        with open(path, encoding="utf-8") as file:
            return file.read()

    def open(self, arguments):
        """Starts top from a shell that restores no terminal, and notes its number and how it ended."""
        with open(os.path.join(self.directory, "run"), "w", encoding="utf-8") as file:
            file.write(f"""stty -a >before
sh -c 'echo $$ >pid; exec "$0" "$@"' {PROGRAM} top {arguments}
echo $? >code
stty -a >after
echo done >done
""")
        self.type("-l", "sh run\n")

    def check_restored(self, code):
        self.until("done", lambda: self.read("done"))
        self.assertEqual(self.read("code").strip(), str(code), self.shown())
        self.assertEqual(self.read("after"), self.read("before"))
        self.assertEqual(self.tmux("display", "-p", "#{alternate_on} #{cursor_flag}").strip(), "0 1")
        self.assertNotIn("live-unwinder top  ", self.shown())

    def test_looks_and_keys(self):
        target = self.start(PHASES, "0", "3600000")
        self.open(f"--interval 300ms -p {target.pid}")
        self.until(r"functions by self$")
        self.until(r"^ +\d\d\.\d\d +\d\d\.\d\d  late_phase  \[top-phases\]")
        self.type("s")
        self.until("functions by total$")
        self.type("/")
        self.type("-l", "LATE")
        self.until("Filter: LATE_")
        self.type("Enter")
        self.until('by total, with "LATE"$')
        self.assertNotIn("call_both", self.shown())
        self.type("Enter")
        self.until(r"^Callers\n +\d+\.\d\d +call_both .*\n +\d+\.\d\d +main ")
        self.type("BSpace")
        self.until(r"^(?!Callers)")
        self.type("BSpace")
        self.until("functions by total$")
        self.type("p")
        self.until(rf"^ +100\.00 +100\.00 +{target.pid}  .*top-phases 0 3600000$")
        self.type("Enter")
        self.until(f"functions by total, process {target.pid}$")
        self.type("t")
        self.until(rf"^ +100\.00 +100\.00 +{target.pid} +{target.pid}  top-phases$")
        self.type("q")
        self.check_restored(0)

    def test_pauses_and_writes(self):
        target = self.start(PHASES, "0", "3600000")
        self.open(f"--interval 300ms -p {target.pid}")
        self.until("late_phase")
        self.type("Space")
        self.until("PAUSED$")
        self.type("w")
        self.until(r"^The last \d+\.\d s are in top-\w+\.syscap$")
        counted = re.search(r"^(\d+) samples", self.shown(), re.MULTILINE)[1]
        name = re.search(r"top-\w+\.syscap", self.shown())[0]
        report = subprocess.run([PROGRAM, "report", name], capture_output=True, text=True,
                                cwd=self.directory, env=ENVIRONMENT, check=False)
        self.assertIn(f"{name}: {counted} samples", report.stdout, report.stderr)
        self.assertIn("late_phase", report.stdout)
        with open(os.path.join(self.directory, name), "rb") as capture:
            self.assertTrue(b"late_phase" in capture.read())  # for a machine without the program
        self.type("Space")
        self.until(r"^live-unwinder top  process \d+$")
        self.type("C-c")
        self.check_restored(0)

    def test_every_way_out(self):
        target = self.start(PHASES, "0", "3600000")
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGSEGV):
            for name in ("done", "pid"):
                if self.read(name):
                    os.unlink(os.path.join(self.directory, name))
            self.open(f"-p {target.pid}")
            self.until("late_phase")
            os.kill(int(self.read("pid")), number)
            self.check_restored(128 + number)
            self.type("C-l")

    def test_stops_and_goes_on(self):
        target = self.start(PHASES, "0", "3600000")
        self.type("-l", f"{PROGRAM} top --interval 300ms -p {target.pid}\n")
        self.until("late_phase")
        self.type("C-z")
        self.until("Stopped")
        self.assertEqual(self.tmux("display", "-p", "#{alternate_on}").strip(), "0")
        self.type("-l", "fg\n")
        self.until("late_phase")
        self.tmux("resize-window", "-x", "50", "-y", "10")
        self.until("^q quit .{30,42}$")
        self.type("q")
        self.until(r"^\$$")
        self.assertEqual(self.tmux("display", "-p", "#{alternate_on}").strip(), "0")

    def test_a_command_that_writes_to_the_terminal(self):
        script = "printf 'FROM-%s\\n' COMMAND; exec \"$0\" 0 3600000"
        with open(os.path.join(self.directory, "script"), "w", encoding="ascii") as file:
            file.write(script.replace('"$0"', PHASES))
        self.open("-- sh script")
        self.until("late_phase")
        self.assertNotIn("FROM-COMMAND", self.shown())
        self.type("q")
        self.check_restored(0)
        self.until("^FROM-COMMAND$")

    def test_a_command_that_ends(self):
        self.open(f"-- sh -c '{PHASES} 0 500; exit 7'")
        self.until("The recording has ended; q leaves")
        self.assertIn("late_phase", self.shown())
        self.type("q")
        self.check_restored(7)

    def test_a_recorder_that_fails(self):
        self.open("-- no-such-command")
        self.check_restored(127)
        self.until("^live-unwinder: no-such-command: No such file or directory$")

    def test_text_of_others_moves_no_cursor(self):
        target = self.start("\x1b[5;5Hname\x07\u0442", "0", "3600000", executable=PHASES)
        self.open(f"-p {target.pid}")
        self.until("late_phase")
        self.type("p")
        self.until(rf"{target.pid}  \?\[5;5Hname\?\u0442 0 3600000$")
        self.type("q")
        self.check_restored(0)

    def test_a_terminal_that_cannot(self):
        self.type("-l", f"TERM=dumb {PROGRAM} top >&1; echo code $?\n")
        self.until('a terminal of type "dumb" cannot show a screen')
        self.until("^code 125$")


if __name__ == "__main__":
    unittest.main()
