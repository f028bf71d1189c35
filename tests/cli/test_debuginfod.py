#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""test_debuginfod.py - tests separate debug files, installed and fetched from servers.

    test_debuginfod.py LIVE_UNWINDER [-v] [TEST…]

A stripped program gets its names from a real debuginfod on the loopback interface. Dead, slow and wrong
servers are simulated by small ones in this file, which record when they are asked. A test skips, and says
why, if a tool or a privilege is missing.
"""

import contextlib
import glob
import http.server
import os
import pty
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.request

PROGRAM = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else None
COMPILER = os.environ.get("CC", "cc").split()
HAS_DEBUGINFOD = os.environ.get("LU_HAS_DEBUGINFOD", "1") == "1"
BUDGET = 10  # seconds, the default limit
NOBODY = 65534
MEBIBYTE = 1 << 20

SOURCE = """
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
volatile unsigned sink;
#define LEVEL(name, next) __attribute__ ((noinline, noclone)) static void \\
  name (unsigned n) { next (n); sink++; }
__attribute__ ((noinline, noclone)) static void
busy_leaf (unsigned n) { for (unsigned i = 0; i < n; i++) sink += i; }
LEVEL (second_level, busy_leaf)
LEVEL (first_level, second_level)
int
main (int argc, char **argv)
{
  struct timespec now;
  double seconds = argc > 1 ? atof (argv[1]) : 0.3;
  do
    {
      first_level (20000);
      clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &now);
    }
  while (now.tv_sec + now.tv_nsec / 1e9 < seconds);
  if (argc > 2)
    {
      FILE *file = fopen (argv[2], "w");
      clock_gettime (CLOCK_MONOTONIC, &now);
      fprintf (file, "%.9f", now.tv_sec + now.tv_nsec / 1e9);
      fclose (file);
    }
}
"""
NAMES = {"busy_leaf", "second_level", "first_level", "main"}


def run_tool(*command):
    """Runs a tool of binutils or the compiler; skips the test if that does not work."""
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError) as problem:
        raise unittest.SkipTest(f"{command[0]}: {problem}") from problem


class Case(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="debug-")
        os.chmod(self.directory, 0o755)
        self.addCleanup(shutil.rmtree, self.directory, True)
        self.capture = self.path("x.syscap")

    def path(self, *names):
        return os.path.join(self.directory, *names)

    def build(self, *flags):
        """Builds and strips the program; returns its debug file."""
        source, program, debug = self.path("p.c"), self.path("prog"), self.path("prog.debug")
        with open(source, "w", encoding="utf-8") as out:
            out.write(SOURCE)
        run_tool(*COMPILER, "-g", "-O2", "-Wl,--build-id", *flags, "-o", program, source)
        run_tool("objcopy", "--only-keep-debug", program, debug)
        run_tool("strip", "--strip-all", program)
        self.program = program
        return debug

    def build_id(self):
        text = run_tool("readelf", "-n", self.program)
        return re.search(r"Build ID: ([0-9a-f]+)", text)[1]

    def run_it(self, *arguments, env=None, timeout=60):
        return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True,
                              timeout=timeout, cwd=self.directory, stdin=subprocess.DEVNULL,
                              env=self.environment(env))

    def environment(self, env):
        base = {name: value for name, value in os.environ.items()
                if not name.startswith(("DEBUGINFOD_", "SUDO_"))}
        base["DEBUGINFOD_CACHE_PATH"] = self.path("cache")
        return {**base, **(env or {})}

    def record(self, *options, env=None, command=None):
        """Records the program, or skips where sampling is not allowed. Returns the messages and the
        time beyond the command's."""
        begin = time.monotonic()
        result = self.run_it("--stats", "none", "-f", "-o", self.capture, *options, "--",
                             *(command or [self.program]), env=env)
        if result.returncode == 125 and os.geteuid() != 0:
            self.skipTest(result.stderr.strip())
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stderr, time.monotonic() - begin

    def names(self, *options, env=None, capture=None):
        """Returns the program's functions that the report names, and its messages."""
        result = self.run_it("report", "-n", "1000", *options, capture or self.capture, env=env)
        self.assertEqual(result.returncode, 0, result.stderr)
        return {name for name in NAMES if re.search(rf"%  {name} ", result.stdout)}, result.stderr


class Installed(Case):
    """Debug files on this machine."""

    def test_beside_the_program(self):
        debug = self.build()
        self.record("--no-symbols")
        self.assertEqual(self.names()[0], set())  # without a link it cannot be found
        os.mkdir(self.path(".debug"))
        os.rename(debug, self.path(".debug", "prog.debug"))
        run_tool("objcopy", f"--add-gnu-debuglink={self.path('.debug', 'prog.debug')}",
                 self.program)
        self.assertEqual(self.names()[0], NAMES)

    def test_the_link_alone(self):
        """Without a build-id the checksum decides."""
        debug = self.build("-Wl,--build-id=none")
        run_tool("objcopy", f"--add-gnu-debuglink={debug}", self.program)
        self.record()
        self.assertEqual(self.names()[0], NAMES)
        with open(debug, "r+b") as file:
            file.seek(-1, os.SEEK_END)
            last = file.read(1)
            file.seek(-1, os.SEEK_END)
            file.write(bytes([last[0] ^ 1]))
        self.record()
        self.assertEqual(self.names()[0], set())

    @unittest.skipUnless(os.geteuid() == 0, "chroot needs root")
    def test_in_the_root_of_the_process(self):
        debug = self.build("-static")
        build_id = self.build_id()
        root = self.path("root")
        place = os.path.join(root, "usr/lib/debug/.build-id", build_id[:2])
        os.makedirs(place)
        shutil.move(debug, os.path.join(place, build_id[2:] + ".debug"))
        shutil.move(self.program, os.path.join(root, "prog"))
        process = subprocess.Popen(["chroot", root, "/prog", "30"])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        time.sleep(0.3)
        result = self.run_it("-q", "-d", "0.5", "-o", self.capture, "--pid", str(process.pid))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.names()[0], NAMES)


class Server:
    """Answers each request for a build-id by `behave`(handler, build-id), and notes the times."""

    def __init__(self, behave):
        self.requests = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                outer.requests.append((time.monotonic(), self.path))
                with contextlib.suppress(OSError):
                    behave(self, self.path.split("/")[2])

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.block_on_close = False
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))
        self.thread.start()
        self.env = {"DEBUGINFOD_URLS": f"http://127.0.0.1:{self.server.server_address[1]}"}

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


def send_headers(handler, size):
    handler.send_response(200)
    handler.send_header("Content-Type", "application/octet-stream")
    handler.send_header("Content-Length", str(size))
    handler.end_headers()


def send_file(handler, path):
    with open(path, "rb") as file:
        data = file.read()
    send_headers(handler, len(data))
    handler.wfile.write(data)


def trickle(handler, size, seconds=30):
    send_headers(handler, size)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        handler.wfile.write(b"\x7f")
        handler.wfile.flush()
        time.sleep(0.2)


@unittest.skipUnless(HAS_DEBUGINFOD, "built without libdebuginfod")
class Debuginfod(Case):
    def serve(self, behave):
        server = Server(behave)
        self.addCleanup(server.close)
        return server

    def serve_own(self, answer):
        """A server that has an answer only for the program's build-id."""
        wanted = self.build_id()

        def behave(handler, build_id):
            if build_id == wanted:
                answer(handler)
            else:
                handler.send_error(404)
        return self.serve(behave)

    def start_real(self, directory):
        """A real debuginfod that serves the files of a directory, once it has indexed the
        program's."""
        if shutil.which("debuginfod") is None:
            self.skipTest("no debuginfod here")
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        process = subprocess.Popen(["debuginfod", "-d", ":memory:", "-p", str(port), "-F", directory],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   env=self.environment(None), cwd=self.directory)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        url = f"http://127.0.0.1:{port}"
        for _ in range(200):
            with contextlib.suppress(OSError):
                with urllib.request.urlopen(f"{url}/buildid/{self.build_id()}/debuginfo"):
                    return {"DEBUGINFOD_URLS": url}
            time.sleep(0.1)
        return self.skipTest("debuginfod does not come up")

    def test_hit(self):
        """Recording, report, convert and diff; with the program and without it."""
        served = self.path("served")
        os.mkdir(served)
        shutil.move(self.build(), served)
        shutil.copy(self.program, served)
        env = self.start_real(served)
        said, _ = self.record("--debuginfod=no", env=env)
        self.assertNotIn("debuginfod", said)
        self.assertEqual(self.names("--debuginfod=no", env=env)[0], set())
        found, said = self.names(env=env)
        self.assertEqual(found, NAMES)
        self.assertIn("debuginfod: files fetched: 1", said)
        folded = self.path("x.folded")
        result = self.run_it("convert", self.capture, folded, env=env)
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(folded, encoding="utf-8") as file:
            self.assertIn("main;first_level;second_level;busy_leaf", file.read())
        result = self.run_it("diff", "-n", "10000", self.capture, self.capture, env=env)
        self.assertIn("busy_leaf", result.stdout)

        result = self.run_it("report", "--lines", self.capture, env=env)
        self.assertRegex(result.stdout, r"busy_leaf p\.c:\d+")

        said, _ = self.record(env=env)
        self.assertIn("debuginfod: files fetched: 1", said)
        self.assertEqual(self.names("--debuginfod=no")[0], NAMES)  # they are in the capture
        said, _ = self.record("-o", self.path("y.folded"), env=env)
        self.assertEqual(said.count("debuginfod: files fetched: 1"), 1, said)
        said, _ = self.record(env={**env, "DEBUGINFOD_MAXSIZE": "4096",
                                   "DEBUGINFOD_CACHE_PATH": self.path("other-cache")})
        self.assertRegex(said, r"prog \(larger than 4 KiB; ")
        self.assertEqual(self.names("--debuginfod=no")[0], set())
        self.record("--debuginfod=yes", "--no-symbols", env=env)
        self.assertEqual(self.names("--debuginfod=yes", env=env)[0], NAMES)

        self.record("--no-symbols", env=env)
        os.unlink(self.program)
        result = self.run_it("report", "--lines", self.capture, env=env)
        self.assertRegex(result.stdout, r"busy_leaf p\.c:\d+")
        self.assertEqual(self.names(env=env)[0], NAMES)
        with open(self.capture, "rb") as file:  # from standard input, as on another machine
            elsewhere = subprocess.run([PROGRAM, "report", "-"], stdin=file, text=True, check=True,
                                       capture_output=True, env=self.environment(env))
        self.assertIn("busy_leaf", elsewhere.stdout)

    def test_a_file_of_perf(self):
        served = self.path("served")
        os.mkdir(served)
        shutil.move(self.build(), served)
        env = self.start_real(served)
        data, capture = self.path("perf.data"), self.path("perf.syscap")
        run_tool("perf", "record", "-q", "--call-graph", "dwarf,8192", "-o", data, self.program)
        result = self.run_it("convert", data, capture, env=env)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("debuginfod: files fetched: 1", result.stderr)
        self.assertEqual(self.names("--debuginfod=no", capture=capture)[0], NAMES)
        self.assertEqual(self.names(capture=data)[0], set())
        self.assertEqual(self.names(env=env, capture=data)[0], NAMES)

    def test_miss(self):
        self.build()
        server = self.serve(lambda handler, build_id: handler.send_error(404))
        said, _ = self.record("--no-symbols", env=server.env)
        self.assertNotIn("debuginfod", said)
        self.assertEqual(server.requests, [])
        share = [self.share_of(self.names(env=server.env)[1])]
        share.append(self.share_of(self.record(env=server.env)[0]))
        self.assertGreater(len(server.requests), 0)
        for value in share:
            self.assertGreater(value, 50)
            self.assertLessEqual(value, 100)

    def share_of(self, said):
        self.assertRegex(said, r"files fetched: 0.* prog \(no server has it; ")
        return float(re.search(r"prog \([^)]* (\d+\.\d) % of the samples\)", said)[1])

    def test_a_dead_server_costs_its_budget_at_most(self):
        """The server takes the connection and never answers."""
        self.build()
        with socket.create_server(("127.0.0.1", 0)) as server:
            env = {"DEBUGINFOD_URLS": f"http://127.0.0.1:{server.getsockname()[1]}"}
            said, took = self.record(env=env)
            self.assertTrue(select.select([server], [], [], 0)[0], "nobody asked")
        self.assertLess(took, BUDGET + 1)
        self.assertIn("no server answers", said)
        said, took = self.record("--debuginfod=no", env=env)
        self.assertLess(took, 3)
        self.assertNotIn("debuginfod", said)

    def test_the_doctor_asks_nobody(self):
        """A message says whether something would be fetched."""
        server = self.serve(lambda *_: None)
        line = " +debug files are fetched"
        text = self.run_it("doctor", env=server.env).stdout
        self.assertRegex(text, "ok" + line)
        text = self.run_it("doctor").stdout
        self.assertRegex(text, f"no{line}.*\n.*DEBUGINFOD_URLS")
        self.assertEqual(server.requests, [])

    def test_a_refused_connection_costs_nothing(self):
        self.build()
        with socket.create_server(("127.0.0.1", 0)) as server:
            env = {"DEBUGINFOD_URLS": f"http://127.0.0.1:{server.getsockname()[1]}"}
        said, took = self.record(env=env)
        self.assertLess(took, 3)
        self.assertIn("no server answers", said)

    def test_a_slow_server(self):
        """The part of a file that has arrived when the time is over is not kept."""
        self.build()
        server = self.serve_own(lambda handler: trickle(handler, 1 << 20))
        said, took = self.record(env=server.env)
        self.assertLess(took, BUDGET + 1)
        self.assertRegex(said, r"prog \(too slow; ")
        self.assertEqual(self.names("--debuginfod=no")[0], set())
        self.assertEqual(os.listdir(self.path("cache", self.build_id())), [])

    def test_a_wrong_file(self):
        self.build()
        server = self.serve_own(lambda handler: send_file(handler, PROGRAM))
        said, _ = self.record(env=server.env)
        self.assertRegex(said, r"prog \(the server has another file; ")
        self.assertEqual(self.names("--debuginfod=no")[0], set())

    def test_what_is_too_large_is_not_fetched(self):
        self.build()
        server = self.serve_own(lambda handler: trickle(handler, 3 << 30))
        said, took = self.record(env=server.env)
        self.assertRegex(said, r"prog \(larger than 256 MiB; in up to \d+\.\d % of the samples\)")
        self.assertLess(took, 4)

    def test_a_file_without_an_end(self):
        """The server does not say how large it is, and sends until nobody listens."""
        sent = []

        def answer(handler):
            handler.send_response(200)
            handler.end_headers()
            for _ in range(1000):
                handler.wfile.write(bytes(MEBIBYTE))
                sent.append(MEBIBYTE)
        self.build()
        server = self.serve_own(answer)
        env = {**server.env, "DEBUGINFOD_MAXSIZE": str(8 * MEBIBYTE)}
        said, _ = self.record(env=env)
        self.assertRegex(said, r"prog \(larger than 8 MiB; in up to \d+\.\d % of the samples\)")
        self.assertLess(sum(sent), 64 * MEBIBYTE)  # the network keeps some
        self.assertEqual(glob.glob(self.path("cache", self.build_id(), "*")), [])

    def test_nothing_is_fetched_while_it_is_recorded(self):
        self.build()
        ended = self.path("ended")
        server = self.serve(lambda handler, build_id: handler.send_error(404))
        self.record(env=server.env, command=[self.program, "0.5", ended])
        with open(ended, encoding="utf-8") as file:
            end = float(file.read())
        self.assertGreater(len(server.requests), 0)
        self.assertGreater(min(when for when, _ in server.requests), end)

    def test_ctrl_c_leaves_out_the_rest(self):
        """In a report, on a terminal, and at the end of a recording."""
        self.build()
        server = self.serve_own(lambda handler: trickle(handler, 1 << 20))
        self.record("--debuginfod=no")
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        with subprocess.Popen([PROGRAM, "report", self.capture], stdout=subprocess.PIPE,
                              stderr=slave, env=self.environment(server.env)) as report:
            os.close(slave)
            said = self.read_until(master, "Debug file of prog: 0.0 of 1.0 MB")
            report.send_signal(signal.SIGINT)
            begin = time.monotonic()
            printed = report.communicate(timeout=20)[0].decode()
            self.assertLess(time.monotonic() - begin, 3)
        said += self.read_until(master, "of the samples)")
        self.assertEqual(report.returncode, 0)
        self.assertIn("Functions by self", printed)
        self.assertIn("stopped", said)

        server.requests.clear()
        with subprocess.Popen([PROGRAM, "--stats=none", "-f", "-o", self.capture, "--",
                               self.program], stderr=subprocess.PIPE, text=True,
                              env=self.environment(server.env)) as process:
            end = time.monotonic() + 20
            while not server.requests and time.monotonic() < end:
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            begin = time.monotonic()
            said = process.communicate(timeout=20)[1]
            self.assertLess(time.monotonic() - begin, 3)
        self.assertEqual(process.returncode, 0, said)
        self.assertIn("stopped", said)
        self.assertEqual(self.names("--debuginfod=no")[0], set())

    def read_until(self, fd, text):
        said = ""
        end = time.monotonic() + 15
        while text not in said and time.monotonic() < end:
            if select.select([fd], [], [], 0.2)[0]:
                try:
                    said += os.read(fd, 4096).decode()
                except OSError:  # the other end is closed
                    break
        self.assertIn(text, said)
        return said

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_the_process_that_fetches_may_nothing(self):
        self.build()
        env = {"DEBUGINFOD_URLS": "http://127.0.0.1:1", "SUDO_UID": str(NOBODY),
               "SUDO_GID": str(NOBODY)}
        recorder = subprocess.Popen([PROGRAM, "-q", "-d", "10", "-o", self.capture, "--all"],
                                    env=self.environment(env))
        self.addCleanup(recorder.wait)
        self.addCleanup(recorder.kill)
        pid = self.find_child(recorder.pid)
        with open(f"/proc/{pid}/status", encoding="utf-8") as file:
            status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
        self.assertEqual(status["Uid"].split(), [str(NOBODY)] * 4)
        self.assertEqual(status["Gid"].split(), [str(NOBODY)] * 4)
        self.assertEqual(status["Groups"].strip(), "")
        for kind in ("CapPrm", "CapEff", "CapInh", "CapAmb"):
            self.assertEqual(int(status[kind], 16), 0, kind)
        self.assertEqual(status["NoNewPrivs"], "1")
        self.assertEqual(sorted(os.listdir(f"/proc/{pid}/fd")), ["0", "1", "2", "3"])
        for fd in range(3):
            self.assertEqual(os.readlink(f"/proc/{pid}/fd/{fd}"), "/dev/null")
        recorder.kill()
        recorder.wait()
        end = time.monotonic() + 5
        while os.path.exists(f"/proc/{pid}/exe") and time.monotonic() < end:
            time.sleep(0.02)
        self.assertFalse(os.path.exists(f"/proc/{pid}/exe"), "it outlives the recorder")

    def find_child(self, parent):
        """Returns the fetching process, once it waits for requests."""
        end = time.monotonic() + 10
        while time.monotonic() < end:
            with open(f"/proc/{parent}/task/{parent}/children", encoding="utf-8") as file:
                for pid in file.read().split():
                    with open(f"/proc/{pid}/comm", encoding="utf-8") as comm:
                        if comm.read().strip() == "lu-fetch":
                            return pid
            time.sleep(0.02)
        return self.fail("there is no such process")

    def test_options(self):
        self.build()
        self.record("--debuginfod=no")
        for arguments in (["report", "--debuginfod=maybe", self.capture],
                          ["--debuginfod=maybe", "--", "true"],
                          ["--perf-fd", "5:0", "--capture-fd", "6", "--debuginfod=yes"]):
            result = self.run_it(*arguments)
            self.assertEqual(result.returncode, 125)
            self.assertIn("--debuginfod", result.stderr)
        if not glob.glob("/etc/debuginfod/*.urls"):
            result = self.run_it("report", "--debuginfod=yes", self.capture)
            self.assertEqual(result.returncode, 125)
            self.assertIn("DEBUGINFOD_URLS", result.stderr)
        said = self.names(env={"DEBUGINFOD_URLS": " "})[1]
        self.assertEqual(said, "")


if __name__ == "__main__":
    unittest.main()
