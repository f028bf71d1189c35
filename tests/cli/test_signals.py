#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""test_signals.py - a signal is heard in every state of a recording.

    test_signals.py LIVE_UNWINDER [-v] [TEST…]

The table STATES brings the program into a state that nothing else would end, and tells how to see
that it is there.  Where that is work that takes no time, a preloaded module holds it (hold-call.c,
HOLD_CALL_MODULE; without it, those tests skip).  Then the first signal ends the program, or makes it say what it waits for, within a
second; the second signal ends it.  Tests that need the permission to sample skip with the reason.
"""

import fcntl
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "judge"))
import syscap  # noqa: E402  (needs the path above)

PROGRAM = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else None
SPIN = [sys.executable, "-S", "-c", "while True: sum(range(1000))"]
STUBBORN = [sys.executable, "-S", "-c",
            "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
            "while True: sum(range(1000))"]
WAITS = re.compile(r"live-unwinder: (still )?waiting for ")
SECOND = 1.0
SLACK = 0.5  # of a busy machine
PATIENCE = 30.0  # until a call is held
HOLD_CALL = os.environ.get("HOLD_CALL_MODULE")
HELD = "held\n"
F_SETPIPE_SZ = 1031


class State:
    """One state: what to run, and in which channels it waits."""

    def __init__(self, directory):
        self.directory = directory
        self.descriptors = []
        self.stdout = subprocess.DEVNULL
        self.environment = dict(os.environ)

    def path(self, name):
        return os.path.join(self.directory, name)

    def fifo(self, name):
        os.mkfifo(self.path(name))
        return self.path(name)

    def small_pipe(self, reader, is_full=False):
        fcntl.fcntl(reader, F_SETPIPE_SZ, 4096)
        if is_full:
            with open(f"/proc/self/fd/{reader}", "wb", buffering=0) as writer:
                os.set_blocking(writer.fileno(), False)
                writer.write(bytes(65536))

    def full_pipe(self, is_full=False):
        reader, self.stdout = os.pipe()
        self.descriptors += [reader, self.stdout]
        self.small_pipe(reader, is_full)
        return "-"

    def read_fifo(self, name):
        """A FIFO with a reader that does not read."""
        path = self.fifo(name)
        self.descriptors.append(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
        self.small_pipe(self.descriptors[-1], is_full=True)
        return path

    def perf_data(self):
        """A file of perf, to be read."""
        subprocess.run([PROGRAM, "-q", "--no-store", "-o", self.path("in.perf.data"), "--",
                        sys.executable, "-S", "-c", "sum(range(10**7))"],
                       stdin=subprocess.DEVNULL, check=True)
        return self.path("in.perf.data")

    def deaf_server(self):
        """A debuginfod server that takes calls and never answers."""
        server = socket.socket()
        server.bind(("127.0.0.1", 0))
        server.listen(8)
        self.server = server
        self.environment["DEBUGINFOD_URLS"] = f"http://127.0.0.1:{server.getsockname()[1]}"
        self.environment["DEBUGINFOD_CACHE_PATH"] = self.path("cache")

    def capture(self):
        """A capture, to be read."""
        subprocess.run([PROGRAM, "-q", "--no-store", "-o", self.path("in.syscap"), "--",
                        sys.executable, "-S", "-c", "sum(range(10**7))"],
                       stdin=subprocess.DEVNULL, check=True)
        return self.path("in.syscap")

    def hold(self, call, thread=None):
        """The call never returns; from the named thread only, if there is a name."""
        if HOLD_CALL is None:
            raise unittest.SkipTest("no module that holds a call (HOLD_CALL_MODULE)")
        self.environment.update(LD_PRELOAD=HOLD_CALL, HOLD_CALL=call)
        if thread is not None:
            self.environment["HOLD_THREAD"] = thread

    def close(self):
        for descriptor in self.descriptors:
            os.close(descriptor)
        if hasattr(self, "server"):
            self.server.close()


# name: (arguments of a state, is the state reached after a while or with a text, files that may stay)
STATES = {
    "a FIFO that nobody reads": (
        lambda s: ["-o", s.fifo("x.syscap"), "--", *SPIN], 0.3, ["x.syscap"]),
    "a second output that nobody reads": (
        lambda s: ["-o", s.path("y.syscap"), "-o", s.fifo("x.folded"), "--", *SPIN], 0.3,
        ["x.folded"]),
    "a perf.data that nobody writes": (
        lambda s: ["-o", s.path("y.syscap"), "--input", s.fifo("perf.data")], 0.3, ["perf.data"]),
    "standard output that is full at the start": (
        lambda s: ["-o", s.full_pipe(is_full=True), "--", *SPIN], 0.5, []),
    "standard output that nobody reads": (
        lambda s: ["-o", s.full_pipe(), "--", *SPIN], 1.0, []),
    "the end of an output that nobody reads": (
        lambda s: ["-d", "0.5", "-o", s.full_pipe(), "--", *SPIN], 1.5, []),
    "a format whose reader does not read": (
        lambda s: ["-d", "0.5", "-a", "-o", s.read_fifo("x.pb.gz")], 2.0, ["x.pb.gz"]),
    "a command that goes on": (
        lambda s: ["-d", "0.3", "-o", s.path("y.syscap"), "--", *STUBBORN], 1.0, ["y.syscap"]),
    "rotation": (
        lambda s: ["--rotate", "1", "-o", s.path("y.syscap"), "--", *SPIN], 2.5, None),
    "a file of perf into a format whose reader does not read": (
        lambda s: ["convert", s.perf_data(), s.read_fifo("x.folded")], 1.0,
        ["in.perf.data", "x.folded"]),
    "a file of perf into a capture whose reader does not read": (
        lambda s: ["convert", s.perf_data(), s.read_fifo("x.syscap")], 1.0,
        ["in.perf.data", "x.syscap"]),
    "a server of debug files that does not answer": (
        lambda s: (s.deaf_server(), ["--debuginfod", "yes", "-d", "0.3", "-o", s.path("y.folded"),
                                     "--", *SPIN])[1], 2.0, ["y.folded"]),
    "compressing what was recorded": (
        lambda s: (s.hold("deflate"), ["-d", "0.5", "-o", s.path("y.json.gz"), "--", *SPIN])[1],
        HELD, ["y.json.gz"]),
    "compressing what perf recorded": (
        lambda s: ["convert", s.perf_data(), s.path("y.json.gz"), *(s.hold("deflate") or ())],
        HELD, ["in.perf.data", "y.json.gz"]),
    "compressing a capture": (
        lambda s: ["convert", s.capture(), s.path("y.json.gz"), *(s.hold("deflate") or ())],
        HELD, ["in.syscap", "y.json.gz"]),
    "naming": (
        lambda s: (s.hold("pread64", "end"), ["-d", "0.5", "-o", s.path("y.syscap"), "--",
                                              *SPIN])[1], HELD, ["y.syscap"]),
    "opening files": (
        lambda s: (s.hold("pread64", "worker"), ["-o", s.path("y.syscap"), "--", *SPIN])[1],
        HELD, ["y.syscap"]),
}


class Signals(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="signals-")
        self.addCleanup(shutil.rmtree, self.directory, True)
        self.state = State(self.directory)
        self.addCleanup(self.state.close)

    def start(self, arguments):
        if arguments[0] != "convert":
            arguments = ["--no-store", *arguments]
        process = subprocess.Popen([PROGRAM, *arguments], stdout=self.state.stdout,
                                   stderr=subprocess.PIPE, cwd=self.directory, env=self.state.environment,
                                   stdin=subprocess.DEVNULL, start_new_session=True)
        os.set_blocking(process.stderr.fileno(), False)

        def end():
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
            process.stderr.close()
        self.addCleanup(end)
        return process

    def ends_or_says(self, process, seconds):
        """Waits until the program ends, or says what it waits for; returns which, with the text."""
        end, text = time.monotonic() + seconds, ""
        while time.monotonic() < end:
            select.select([process.stderr], [], [], 0.02)
            text += (process.stderr.read() or b"").decode(errors="replace")
            if process.poll() is not None:
                return "ends", text
            if WAITS.search(text):
                return "says", text
            time.sleep(0.01)
        return None, text

    def wait(self, process, delay):
        """Waits for a time, or for a text."""
        text, end = b"", time.monotonic() + PATIENCE
        if not isinstance(delay, str):
            time.sleep(delay)
        while isinstance(delay, str) and delay.encode() not in text and process.poll() is None:
            self.assertLess(time.monotonic(), end, text)
            time.sleep(0.01)
            text += process.stderr.read() or b""
        if process.poll() is not None:
            sizes = {entry.name: entry.stat().st_size for entry in os.scandir(self.directory)}
            self.fail(f"ended with {process.returncode}: {text + (process.stderr.read() or b'')}, {sizes}")

    def check(self, name, number=signal.SIGINT):
        arguments, delay, left = STATES[name]
        process = self.start(arguments(self.state))
        self.wait(process, delay)
        process.send_signal(number)
        what, text = self.ends_or_says(process, SECOND + SLACK)
        self.assertIsNotNone(what, f"neither ends nor says anything: {text}")
        if what == "says":
            process.send_signal(number)
            self.assertEqual(process.wait(timeout=SECOND + SLACK), 128 + number)
        if left is not None:
            self.assertEqual([name for name in sorted(os.listdir(self.directory)) if name != "cache"],
                             left)
        for file in os.listdir(self.directory):
            if file.endswith(".syscap") and os.path.isfile(os.path.join(self.directory, file)):
                syscap.read(os.path.join(self.directory, file))
        return what, process


def add(name):
    def test(self):
        self.check(name)
    test.__doc__ = name
    setattr(Signals, "test_" + re.sub(r"\W+", "_", name), test)


for state in STATES:
    add(state)


if __name__ == "__main__":
    unittest.main()
