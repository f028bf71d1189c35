#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""test_cli.py - the program as a user meets it: exit codes, files, signals, errors.

    test_cli.py LIVE_UNWINDER [-v] [TEST…]

Everything is checked from outside; captures are read with the judge's own reader.  Tests that need
root or the permission to sample skip with the reason.
"""

import fcntl
import json
import os
import pty
import re
import resource
import select
import shlex
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "judge"))
import kernel_walks  # noqa: E402  (needs the path above)
import syscap  # noqa: E402  (needs the path above)

PROGRAM = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else None
SPIN = "import time\ne = time.process_time() + {}\nwhile time.process_time() < e: sum(range(1000))"
NOBODY = 65534


def spin(seconds):
    return [sys.executable, "-S", "-c", SPIN.format(seconds)]


def is_root():
    return os.geteuid() == 0


def leaves_root():
    """Whether there are other users, and no file system that admits root alone."""
    with open("/proc/self/uid_map", encoding="utf-8") as file:
        has_users = int(file.read().split()[2]) > 0xf0000000
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        alone = any(" - fuse" in line and ",user_id=0," in line and ",allow_other" not in line
                    for line in file)
    return is_root() and has_users and not alone


def stats_of(stderr):
    lines = [line for line in stderr.splitlines() if line.startswith("{")]
    return json.loads(lines[-1]) if lines else None


def is_kernel_thread(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return int(file.read().rsplit(")", 1)[1].split()[6]) & 0x200000 != 0  # PF_KTHREAD
    except OSError:
        return False


def threads_of(pid):
    """Yields what the kernel's file "status" says of each thread of a process, as a dictionary."""
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/status", encoding="utf-8") as file:
            yield dict(line.rstrip("\n").split(":\t", 1) for line in file)


def times_run(pid):
    """Returns how often the threads of a process have waited, as counted by the kernel."""
    return sum(int(status["voluntary_ctxt_switches"]) for status in threads_of(pid))


class Case(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="cli-")
        os.chmod(self.directory, 0o755)
        self.addCleanup(shutil.rmtree, self.directory, True)
        self.file = os.path.join(self.directory, "x.syscap")

    def run_it(self, *arguments, timeout=60, **options):
        return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True,
                              timeout=timeout, cwd=self.directory, stdin=subprocess.DEVNULL,
                              **options)

    def start(self, *arguments, **options):
        process = subprocess.Popen([PROGRAM, *arguments], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True, cwd=self.directory,
                                   stdin=subprocess.DEVNULL, **options)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def samples(self, file=None):
        return len(syscap.read(file or self.file).samples)


class ExitCodes(Case):
    def test_the_commands_own(self):
        self.assertEqual(self.run_it("-q", "--", "sh", "-c", "exit 42").returncode, 42)

    def test_a_signal(self):
        result = self.run_it("-q", "--", "sh", "-c", "kill -TERM $$")
        self.assertEqual(result.returncode, 128 + signal.SIGTERM)

    def test_command_not_found(self):
        result = self.run_it("--", "/nonexistent/program")
        self.assertEqual(result.returncode, 127)
        self.assertIn("/nonexistent/program", result.stderr)
        self.assertFalse(os.path.exists(os.path.join(self.directory, "capture.syscap")))

    @unittest.skipUnless(is_root(), "needs root")
    def test_command_not_found_in_anothers_directory(self):
        """The file is removed although the recorder has dropped root's rights by then."""
        os.chown(self.directory, NOBODY, NOBODY)
        self.assertEqual(self.run_it("--", "/nonexistent/program").returncode, 127)
        self.assertEqual(os.listdir(self.directory), [])

    def test_command_not_executable(self):
        self.assertEqual(self.run_it("--", "/etc/passwd").returncode, 126)

    def test_our_own_failures(self):
        for arguments in (["--nonsense"], [], ["-a", "-p", "1"], ["-p", "99999999"],
                          ["-s", "65529", "-a"], ["--input", "/nonexistent"], ["report"],
                          ["report", "/nonexistent"]):
            result = self.run_it(*arguments)
            self.assertEqual(result.returncode, 125, arguments)
            self.assertRegex(result.stderr, r"\S", arguments)

    def test_help_and_version(self):
        self.assertRegex(self.run_it("--version").stdout, r"^live-unwinder \d+\.\d+\.\d+\n$")
        text = self.run_it("--help").stdout
        for option in ("--pid", "--tid", "--all", "--output", "--duration", "--frequency",
                       "--stack-size", "--engine", "--input", "--stats", "--fail-on-loss",
                       "--include-self", "--quiet", "--force", "doctor", "report"):
            self.assertIn(option, text)


class Files(Case):
    def test_default_name_mode_and_owner(self):
        self.assertEqual(self.run_it("-q", "--", *spin(0.1)).returncode, 0)
        status = os.stat(os.path.join(self.directory, "capture.syscap"))
        self.assertEqual(stat.S_IMODE(status.st_mode), 0o600)

    @unittest.skipUnless(is_root(), "needs root")
    def test_belongs_to_the_user_of_sudo(self):
        env = dict(os.environ, SUDO_UID="12345", SUDO_GID="23456")
        self.run_it("-q", "-o", self.file, "--", "true", env=env)
        status = os.stat(self.file)
        self.assertEqual((status.st_uid, status.st_gid), (12345, 23456))

    def test_an_existing_file_is_refused_before_the_command_starts(self):
        with open(self.file, "w", encoding="utf-8") as file:
            file.write("precious")
        mark = os.path.join(self.directory, "ran")
        result = self.run_it("-o", self.file, "--", "touch", mark)
        self.assertEqual(result.returncode, 125)
        self.assertIn("--force", result.stderr)
        self.assertFalse(os.path.exists(mark))
        with open(self.file, encoding="utf-8") as file:
            self.assertEqual(file.read(), "precious")
        self.assertEqual(self.run_it("-q", "-f", "-o", self.file, "--", *spin(0.1)).returncode, 0)
        self.assertGreater(self.samples(), 0)

    def test_never_through_a_link(self):
        victim = os.path.join(self.directory, "victim")
        os.symlink(victim, self.file)
        for force in ([], ["--force"]):
            result = self.run_it(*force, "-o", self.file, "--", "true")
            self.assertEqual(result.returncode, 125)
            self.assertIn("symbolic link", result.stderr)
        self.assertFalse(os.path.exists(victim))

    def test_standard_output(self):
        with open(self.file, "wb") as file:
            subprocess.run([PROGRAM, "-q", "-o", "-", "--", *spin(0.2)], stdout=file, check=True,
                           timeout=60)
        self.assertGreater(self.samples(), 50)

    def test_not_to_a_terminal(self):
        main, second = pty.openpty()
        result = subprocess.run([PROGRAM, "-o", "-", "--", "true"], stdout=second, timeout=60,
                                stderr=subprocess.PIPE, text=True, check=False)
        os.close(main)
        os.close(second)
        self.assertEqual(result.returncode, 125)
        self.assertIn("terminal", result.stderr)

    def test_a_directory_that_is_not_there(self):
        result = self.run_it("-o", "/nonexistent/x.syscap", "--", "true")
        self.assertEqual(result.returncode, 125)
        self.assertIn("No such file", result.stderr)

    def test_a_full_disk(self):
        """The data written so far stays readable, and the error says what happened."""
        def limit():
            import resource
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (40960, 40960))
        result = self.run_it("-o", self.file, "--", *spin(2), preexec_fn=limit)
        self.assertEqual(result.returncode, 125)
        self.assertRegex(result.stderr, "File too large|No space left")
        self.assertLessEqual(os.path.getsize(self.file), 40960)
        syscap.read(self.file)

    def test_a_reader_that_leaves(self):
        read_end, write_end = os.pipe()
        process = self.start("-o", f"/dev/fd/{write_end}", "--", *spin(5), pass_fds=[write_end])
        os.close(write_end)
        os.read(read_end, 100)
        os.close(read_end)
        self.assertEqual(process.wait(timeout=30), 125)


class Helper(Case):
    """Helper mode on an empty ring; tests/helper has the rest."""

    def begin(self, *arguments, **options):
        ring = os.memfd_create("ring", os.MFD_ALLOW_SEALING)
        os.ftruncate(ring, 64 << 20)
        fcntl.fcntl(ring, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
        event = os.eventfd(0)
        self.reader, writer = os.pipe()
        process = self.start("--stack-size=16384", f"--event-fd={event}", f"--perf-fd={ring}:0",
                             f"--capture-fd={writer}", *arguments,
                             pass_fds=[ring, event, writer], **options)
        for fd in (ring, writer):
            os.close(fd)
        self.addCleanup(os.close, event)
        return process, event

    @unittest.skipUnless(is_root(), "needs root")
    def test_in_the_sandbox(self):
        process, event = self.begin()
        self.assertEqual(os.read(self.reader, 4), b"\x5e\x97\xca\xfd")
        time.sleep(0.5)
        kept = sum(1 << n for n in (2, 19, 40))  # linux/capability.h
        for status in threads_of(process.pid):
            if status["NoNewPrivs"] == "0":
                self.skipTest("built without the sandbox")
            self.assertEqual(status["Seccomp"], "2")
            self.assertEqual(int(status["CapPrm"], 16) & ~kept, 0)
            self.assertEqual(int(status["CapBnd"], 16), 0)
        begin = time.monotonic()
        os.eventfd_write(event, 1234)
        self.assertEqual(process.wait(timeout=30), 0)
        self.assertLess(time.monotonic() - begin, 2)
        os.close(self.reader)

    @unittest.skipUnless(is_root(), "needs root")
    def test_the_log_says_nothing_of_no_stacks(self):
        process, event = self.begin()
        said = os.read(self.reader, 4)
        time.sleep(0.5)
        os.eventfd_write(event, 1234)
        with open(self.reader, "rb") as reader:
            said += reader.read()
        self.assertEqual(process.wait(timeout=30), 0)
        self.assertIn(b" samples, ", said)
        self.assertNotIn(b"of 0 stacks", said)

    @unittest.skipUnless(is_root(), "needs root")
    def test_a_client_that_dies(self):
        process, _ = self.begin()
        os.read(self.reader, 4)
        os.close(self.reader)
        self.assertEqual(process.wait(timeout=30), 0)
        self.assertEqual(process.stderr.read(), "")

    def test_few_descriptors(self):
        """However few descriptors are allowed, it starts or reports the error, and it ends."""
        for limit in range(10, 26):
            process, event = self.begin(preexec_fn=lambda n=limit: resource.setrlimit(
                resource.RLIMIT_NOFILE, (n, n)))
            time.sleep(0.1)
            os.eventfd_write(event, 1)
            self.assertIn(process.wait(timeout=10), (0, 125), limit)
            os.close(self.reader)

    def test_a_limit_of_file_sizes(self):
        """The limit concerns files such as those of the store; they are not used then, and nothing
        else changes."""
        sysprof, event = self.begin(preexec_fn=lambda: resource.setrlimit(
            resource.RLIMIT_FSIZE, (0, 0)))
        self.assertEqual(os.read(self.reader, 4), b"\x5e\x97\xca\xfd")
        os.eventfd_write(event, 1)
        self.assertEqual(sysprof.wait(timeout=10), 0)
        os.close(self.reader)

    def test_descriptors_that_cannot_be(self):
        for arguments, says in (
                (["--perf-fd=77:0", "--capture-fd=78"], "nothing is open there"),
                (["--perf-fd=2:0", "--capture-fd=78"], "above 2"),
                (["--capture-fd=78"], "--perf-fd"),
                (["--perf-fd=77:0", "--capture-fd=78", "--all"], "--all")):
            result = self.run_it(*arguments)
            self.assertEqual(result.returncode, 125, arguments)
            self.assertIn(says, result.stderr)


class Recording(Case):
    def test_samples_follow_cpu_time(self):
        result = self.run_it("--stats", "json", "-o", self.file, "--", *spin(1))
        stats = stats_of(result.stderr)
        # One per millisecond, less the time that the host of a virtual machine takes away.
        self.assertGreater(stats["samples"], 600)
        self.assertGreater(stats["complete_percent"], 95)
        self.assertEqual(self.samples(), stats["samples"])
        self.assertGreater(stats["cpu"]["recording_self_seconds"], 0)
        self.assertLess(stats["cpu"]["recording_self_seconds"], stats["cpu"]["self_seconds"])
        capture = syscap.read(self.file)
        self.assertEqual(json.loads(capture.metadata["live-unwinder.stats"])["samples"],
                         stats["samples"])

    def test_others_hardly_wake_it(self):
        """A build on the same machine starts a hundred processes a second, which are not
        recorded."""
        build = subprocess.Popen(["sh", "-c", "while :; do /bin/true; done"])
        self.addCleanup(build.wait)
        self.addCleanup(build.kill)
        recorder = subprocess.Popen([PROGRAM, "-q", "-o", self.file, "--", "sleep", "30"],
                                    stderr=subprocess.DEVNULL)
        self.addCleanup(recorder.wait)
        self.addCleanup(recorder.terminate)
        time.sleep(1.5)         # until start-up is over
        before = times_run(recorder.pid)
        time.sleep(2)
        per_second = (times_run(recorder.pid) - before) / 2
        self.assertGreater(before, 0)
        self.assertLess(per_second, 300)

    def test_engines_are_compared(self):
        result = self.run_it("--engine", "check", "--stats", "json", "-o", self.file, "--",
                             *spin(0.5))
        check = stats_of(result.stderr)["check"]
        self.assertGreater(check["compared"], 50)
        self.assertEqual((check["frames_differ"], check["states_differ"]), (0, 0), result.stderr)

    def test_duration_ends_the_recording_not_the_command(self):
        begin = time.monotonic()
        result = self.run_it("--stats", "json", "-d", "0.5", "-o", self.file, "--", "sh", "-c",
                             "sleep 1.5; exit 7")
        self.assertEqual(result.returncode, 7)
        self.assertGreater(time.monotonic() - begin, 1.4)
        self.assertLess(stats_of(result.stderr)["seconds"], 1.0)

    def wait_for_threads(self, pid, names):
        """Returns when a process has threads of these names, or after ten seconds."""
        end = time.monotonic() + 10
        seen = set()
        while not names <= seen and time.monotonic() < end:
            time.sleep(0.05)
            seen = {status["Name"] for status in threads_of(pid)}

    def test_rights_are_given_up(self):
        """Root keeps only the capabilities that docs/sandbox.md lists, in every thread."""
        process = self.start("-q", "-o", self.file, "--", *spin(1.5))
        self.wait_for_threads(process.pid, {"drain", "worker", "writer"})
        kept = sum(1 << n for n in (2, 5, 14, 19, 38, 39, 40))  # linux/capability.h
        seen = set()
        for status in threads_of(process.pid):
            if status["NoNewPrivs"] == "0":
                self.skipTest("built without the sandbox")
            for name in ("CapPrm", "CapEff", "CapInh", "CapAmb"):
                self.assertEqual(int(status[name], 16) & ~kept, 0, f"{name} {status[name]}")
            if leaves_root():
                for name in ("Uid", "Gid"):
                    self.assertEqual(set(map(int, status[name].split())),
                                     {0xc0000000 + process.pid}, name)
                self.assertEqual(status["Groups"].strip(), "")
            seen.add(status["Name"])
        self.assertTrue({"drain", "worker", "writer"} <= seen, seen)
        self.assertEqual(process.wait(timeout=30), 0)
        self.assertGreater(self.samples(), 50)

    def test_children_are_followed(self):
        self.run_it("-q", "-o", self.file, "--", "sh", "-c",
                    f"{sys.executable} -S -c '{SPIN.format(0.3)}' & wait")
        capture = syscap.read(self.file)
        self.assertGreaterEqual(len({sample.pid for sample in capture.samples}), 1)
        self.assertTrue(any("process_time" in process.cmdline for process in capture.processes))

    @unittest.skipUnless(is_root(), "needs root")
    def test_kernel_threads_have_names(self):
        """Also in the first second, before they are sampled."""
        write = "for i in 1 2 3 4 5 6 7 8; do dd if=/dev/zero of=x bs=64k count=64 conv=fsync; done"
        writer = subprocess.Popen(["sh", "-c", write], cwd=self.directory, stderr=subprocess.DEVNULL)
        self.addCleanup(writer.wait)
        self.addCleanup(writer.kill)
        self.run_it("-q", "-a", "-d", "0.8", "-F", "4000", "-o", self.file)
        capture = syscap.read(self.file)
        names = {process.pid: process.cmdline for process in capture.processes}
        threads = {s.pid for s in capture.samples if s.pid > 0 and is_kernel_thread(s.pid)}
        if not threads:
            self.skipTest("none was sampled")
        self.assertEqual({pid for pid in threads if names.get(pid, "") in ("", "?")}, set())

    def test_a_running_process_is_never_touched(self):
        target = subprocess.Popen(spin(30))
        self.addCleanup(target.wait)
        self.addCleanup(target.kill)
        time.sleep(0.2)
        process = self.start("--stats", "json", "-d", "1", "-o", self.file, "--pid",
                             str(target.pid))
        seen = set()
        while process.poll() is None:
            with open(f"/proc/{target.pid}/status", encoding="utf-8") as file:
                text = file.read()
            seen.add(re.search(r"State:\t(\S)", text).group(1))
            self.assertIn("TracerPid:\t0", text)
            time.sleep(0.01)
        self.assertEqual(process.returncode, 0)
        self.assertLessEqual(seen, {"R", "S"})
        stats = stats_of(process.stderr.read())
        self.assertGreater(stats["samples"], 100)
        self.assertGreater(stats["complete_percent"], 95)
        self.assertEqual({sample.pid for sample in syscap.read(self.file).samples}, {target.pid})

    def test_nothing_is_allocated_from_ring_to_sink(self):
        preload = os.environ.get("FORBID_MALLOC")
        if not preload:
            self.skipTest("FORBID_MALLOC does not name forbid-malloc.so")
        target = subprocess.Popen(spin(30))
        self.addCleanup(target.wait)
        self.addCleanup(target.kill)
        environment = {**os.environ, "LD_PRELOAD": preload, "FORBID_MALLOC_AFTER": "2",
                       "FORBID_MALLOC_THREADS": "drain,writer"}
        process = self.start("--stats", "json", "-d", "5", "-o", self.file, "--pid",
                             str(target.pid), env=environment)
        stderr = process.stderr.read()
        self.assertEqual(process.wait(), 0, stderr)
        self.assertGreater(stats_of(stderr)["samples"], 500)

    def test_it_ends_with_the_process(self):
        target = subprocess.Popen(spin(0.5))
        result = self.run_it("-q", "-o", self.file, "-p", str(target.pid), timeout=20)
        target.wait()
        self.assertEqual(result.returncode, 0)

    def test_one_thread(self):
        code = ("import threading, time\n"
                "def f():\n e = time.monotonic() + 20\n while time.monotonic() < e: pass\n"
                "t = threading.Thread(target=f); t.start(); f()")
        target = subprocess.Popen([sys.executable, "-S", "-c", code])
        self.addCleanup(target.wait)
        self.addCleanup(target.kill)
        time.sleep(0.3)
        tids = [int(tid) for tid in os.listdir(f"/proc/{target.pid}/task")]
        other = next(tid for tid in tids if tid != target.pid)
        self.run_it("-q", "-d", "1", "-o", self.file, "--tid", str(other))
        samples = syscap.read(self.file).samples
        self.assertGreater(len(samples), 50)
        self.assertEqual({sample.tid for sample in samples}, {other})

    @unittest.skipUnless(is_root(), "needs root")
    def test_the_whole_system(self):
        target = subprocess.Popen(spin(30))
        self.addCleanup(target.wait)
        self.addCleanup(target.kill)
        result = self.run_it("--stats", "json", "-a", "-d", "1", "-o", self.file)
        self.assertEqual(result.returncode, 0, result.stderr)
        capture = syscap.read(self.file)
        self.assertIn(target.pid, {sample.pid for sample in capture.samples})
        self.assertGreater(stats_of(result.stderr)["expected"], 0)

    @unittest.skipUnless(is_root(), "needs root")
    def test_ourselves_only_if_asked(self):
        process = self.start("-q", "-a", "-d", "1", "-o", self.file)
        process.wait()
        self.assertNotIn(process.pid, {sample.pid for sample in syscap.read(self.file).samples})
        process = self.start("-q", "-a", "-d", "1", "-F", "9999", "--include-self", "-f", "-o",
                             self.file)
        process.wait()
        self.assertIn(process.pid, {sample.pid for sample in syscap.read(self.file).samples})

    def test_the_stack_copy_grows_by_itself(self):
        code = "import sys\nsys.setrecursionlimit(10000)\nimport json\n" + SPIN.format(0.5)
        deep = "def f(n):\n return sorted([1], key=lambda x: f(n - 1)) if n else exec(code)\nf(120)"
        result = self.run_it("--engine", "table", "--stats", "json", "-o", self.file, "--",
                             sys.executable, "-S", "-c", f"code = {code!r}\n{deep}")
        stats = stats_of(result.stderr)
        self.assertGreater(stats["stack"]["size"], 16384)
        self.assertGreater(stats["stack"]["grown"], 0)

    def test_loss_can_fail_the_recording(self):
        result = self.run_it("-q", "--fail-on-loss", "0", "-o", self.file, "--", *spin(0.3))
        self.assertIn(result.returncode, (0, 125))
        result = self.run_it("-q", "--fail-on-loss", "100", "-f", "-o", self.file, "--",
                             *spin(0.3))
        self.assertEqual(result.returncode, 0)

    def test_no_debuginfod_is_asked_if_it_shall_not_be(self):
        """The server would take the connection and never answer; see also test_debuginfod.py."""
        with socket.create_server(("127.0.0.1", 0)) as server:
            calls = []
            thread = threading.Thread(target=lambda: calls.append(self.accept(server)))
            thread.start()
            env = dict(os.environ, DEBUGINFOD_URLS=f"http://127.0.0.1:{server.getsockname()[1]}",
                       DEBUGINFOD_CACHE_PATH=self.directory)
            begin = time.monotonic()
            result = self.run_it("-q", "--debuginfod=no", "-o", self.file, "--", *spin(0.3),
                                 env=env, timeout=30)
            took = time.monotonic() - begin
            report = self.run_it("report", "--debuginfod=no", self.file, env=env, timeout=30)
            thread.join()
        self.assertEqual((result.returncode, report.returncode), (0, 0))
        self.assertLess(took, 10)
        self.assertEqual(calls, [False], "somebody asked the server")

    @staticmethod
    def accept(server):
        return bool(select.select([server], [], [], 4)[0])


class CpuHotplug(Case):
    """Meson runs it alone: a recorder looks for new CPUs once a second, so other tests would lose samples."""

    @unittest.skipUnless(os.environ.get("LU_TEST_CPU_HOTPLUG"),
                         "takes a CPU away for a second: set LU_TEST_CPU_HOTPLUG=1")
    def test_cpus_come_and_go(self):
        switch = "/sys/devices/system/cpu/cpu1/online"
        if not os.access(switch, os.W_OK):
            self.skipTest("no CPU that can be taken away")

        def set_online(value):
            with open(switch, "w", encoding="ascii") as file:
                file.write(value)
        self.addCleanup(set_online, "1")
        targets = [subprocess.Popen(spin(30)) for _ in range(2)]
        for target in targets:
            self.addCleanup(target.wait)
            self.addCleanup(target.kill)
        process = self.start("--stats", "json", "-a", "-d", "8", "-o", self.file)
        time.sleep(1.5)
        set_online("0")
        time.sleep(2.5)
        set_online("1")
        self.assertEqual(process.wait(timeout=30), 0)
        self.assertGreaterEqual(stats_of(process.stderr.read())["cpu_changes"], 2)
        capture = syscap.read(self.file)
        end = max(sample.time for sample in capture.samples)
        late = [sample for sample in capture.samples
                if sample.cpu == 1 and sample.time > end - 1_500_000_000]
        self.assertGreater(len(late), 100)


class KernelWalks(Case):
    """Stacks that BPF unwinds; skipped where BPF cannot be used."""

    @classmethod
    def setUpClass(cls):
        """The tables are on disk, because compiling them is not under test."""
        cls.store = tempfile.mkdtemp(prefix="cli-store-")
        cls.addClassCleanup(shutil.rmtree, cls.store, True)
        with open("/proc/self/maps", encoding="utf-8") as maps:
            files = {line.split()[-1] for line in maps if " r-xp " in line and "/" in line}
        subprocess.run([PROGRAM, "tables", "--build", *files], capture_output=True, check=False,
                       env={**os.environ, "LIVE_UNWINDER_STORE": cls.store})

    def setUp(self):
        super().setUp()
        result = self.run_it("-q", "--engine", "bpf", "-o", self.file, "--", "true")
        if result.returncode != 0:
            self.skipTest(kernel_walks.reason_to_skip(result.stderr))
        os.unlink(self.file)

    def run_it(self, *arguments, **options):
        return super().run_it(*arguments, env={**os.environ, "LIVE_UNWINDER_STORE": self.store},
                              **options)

    def record(self, *arguments, seconds=1.5):
        result = self.run_it("--stats", "json", "-o", self.file, *arguments, "--", *spin(seconds))
        self.assertEqual(result.returncode, 0, result.stderr)
        return result, stats_of(result.stderr)

    def test_most_stacks_are_never_copied(self):
        _, stats = self.record("--engine", "bpf")
        walks = stats["kernel_walks"]
        self.assertTrue(walks["active"])
        self.assertGreater(walks["percent"], 80)
        self.assertEqual(walks["strange"], 0)
        self.assertEqual(stats["lost"]["malformed"], 0)
        self.assertEqual(walks["reasons"]["walked"], walks["stacks"])
        self.assertLess(stats["source"]["ring_bytes_per_sample"], 8000)
        self.assertGreater(stats["complete_percent"], 98)
        self.assertGreater(self.samples(), 700)

    def test_it_is_the_default(self):
        _, stats = self.record(seconds=0.5)
        self.assertTrue(stats["kernel_walks"]["active"])

    def test_a_walk_is_what_the_engines_say(self):
        result, stats = self.record("--engine", "bpf-check")
        self.assertGreater(stats["check"]["kernel_compared"], 300)
        self.assertEqual(stats["check"]["kernel_differ"], 0, result.stderr)
        self.assertGreater(stats["samples"], 700)
        self.assertLess(stats["samples"], 3000)

    def test_the_frames_of_the_kernel_are_those_of_the_sample(self):
        result = self.run_it("--engine", "bpf-check", "--stats", "json", "-o", self.file, "--",
                             "dd", "if=/dev/urandom", "of=/dev/null", "bs=64k", "count=2000")
        check = stats_of(result.stderr)["check"]
        self.assertGreater(check["kernel_frames_compared"], 50)
        self.assertEqual(check["kernel_frames_differ"], 0, result.stderr)

    def test_walks_are_timed(self):
        _, stats = self.record("--engine", "bpf", "--time-walks", seconds=0.5)
        self.assertGreater(stats["kernel_walks"]["walk_ns"]["p50"], 100)

    def test_a_running_process(self):
        process = subprocess.Popen(spin(4), stdin=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        time.sleep(0.3)
        result = self.run_it("--engine", "bpf", "--stats", "json", "-d", "1.5", "-o", self.file,
                             "--pid", str(process.pid))
        stats = stats_of(result.stderr)
        self.assertGreater(stats["kernel_walks"]["percent"], 70, result.stderr)
        self.assertEqual({s.pid for s in syscap.read(self.file).samples}, {process.pid})

    def test_nothing_else_is_used_if_it_is_not_wanted(self):
        _, stats = self.record("--engine", "table", seconds=0.5)
        self.assertFalse(stats["kernel_walks"]["active"])

    def test_of_a_file_nothing_can_be_walked(self):
        result = self.run_it("--engine", "bpf", "--input", "/nonexistent")
        self.assertEqual(result.returncode, 125)
        self.assertIn("--engine bpf", result.stderr)


class Signals(Case):
    def test_interrupt_finishes_the_file(self):
        process = self.start("--stats", "json", "-o", self.file, "--", *spin(30),
                             start_new_session=True)
        time.sleep(1.2)
        os.killpg(process.pid, signal.SIGINT)
        self.assertIn(process.wait(timeout=10), (1, 128 + signal.SIGINT))
        self.assertIsNotNone(stats_of(process.stderr.read()))
        self.assertIn("live-unwinder.stats", syscap.read(self.file).metadata)

    def test_a_signal_for_us_alone_reaches_the_command(self):
        process = self.start("-q", "-o", self.file, "--", *spin(30))
        time.sleep(0.8)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=10), 128 + signal.SIGTERM)
        self.assertIn("live-unwinder.stats", syscap.read(self.file).metadata)

    def test_the_command_gets_them_as_we_did(self):
        def ignore_and_block():
            for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGTERM})

        command = ["grep", "-E", "Sig(Blk|Ign)", "/proc/self/status"]
        for before in (None, ignore_and_block):
            ours = self.run_it("-q", "-f", "-o", self.file, "--", *command, preexec_fn=before)
            alone = subprocess.run(command, capture_output=True, text=True, check=True,
                                   preexec_fn=before)
            with self.subTest(before=before):
                self.assertEqual(ours.stdout, alone.stdout)

    def test_one_that_is_ignored_ends_nothing(self):
        """As under nohup, when the terminal is closed."""
        process = self.start("-q", "-o", self.file, "--", *spin(2),
                             preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        time.sleep(0.8)
        process.send_signal(signal.SIGHUP)
        self.assertEqual(process.wait(timeout=10), 0)

    def test_the_second_one_exits_at_once(self):
        stubborn = "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        process = self.start("-q", "-o", self.file, "--", sys.executable, "-S", "-c",
                             stubborn + "time.sleep(1)\n" + SPIN.format(20),
                             start_new_session=True)
        time.sleep(1.0)
        os.killpg(process.pid, signal.SIGINT)
        time.sleep(0.5)
        self.assertIsNone(process.poll())
        os.killpg(process.pid, signal.SIGINT)
        self.assertEqual(process.wait(timeout=5), 128 + signal.SIGINT)
        os.killpg(process.pid, signal.SIGKILL)
        syscap.read(self.file)

    def test_killed_at_any_moment_the_file_opens(self):
        for delay in (0.05, 0.2, 0.5, 1.0):
            process = self.start("-q", "-f", "-o", self.file, "--", *spin(20),
                                 start_new_session=True)
            time.sleep(delay)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if os.path.exists(self.file) and os.path.getsize(self.file) >= 256:
                syscap.read(self.file)
        self.assertGreater(self.samples(), 100)


@unittest.skipUnless(is_root(), "needs root to become somebody else")
class WithoutPrivilege(Case):
    def setUp(self):
        super().setUp()
        with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as file:
            self.paranoid = int(file.read())
        self.copy = os.path.join(self.directory, "live-unwinder")
        shutil.copy(PROGRAM, self.copy)
        os.chmod(self.copy, 0o755)
        os.chown(self.directory, NOBODY, NOBODY)

    def as_nobody(self, *arguments):
        return subprocess.run([self.copy, *arguments], capture_output=True, text=True, timeout=60,
                              cwd=self.directory, stdin=subprocess.DEVNULL, user=NOBODY,
                              group=NOBODY, extra_groups=[], check=False)

    def needs_paranoid_at_most_2(self):
        if self.paranoid > 2:
            self.skipTest(f"kernel.perf_event_paranoid is {self.paranoid}")

    def test_ones_own_command(self):
        self.needs_paranoid_at_most_2()
        program = "/usr/bin/perl"
        if not os.path.exists(program):
            self.skipTest("no perl")
        result = self.as_nobody("--stats", "json", "-o", "x.syscap", "--", program, "-e",
                                "my $x; for my $i (1 .. 12000000) { $x += $i }")
        self.assertEqual(result.returncode, 0, result.stderr)
        stats = stats_of(result.stderr)
        self.assertGreater(stats["samples"], 100)
        self.assertGreater(stats["complete_percent"], 98)
        self.assertFalse(stats["source"]["kernel"])
        for sample in syscap.read(self.file).samples:
            for address in sample.addresses:
                self.assertFalse(0xFFFF800000000000 <= address < 0xFFFFFFFFFFFFF000)

    def test_walks_in_the_kernel_are_refused_with_a_remedy(self):
        self.needs_paranoid_at_most_2()
        result = self.as_nobody("--engine", "bpf", "--", "true")
        self.assertEqual(result.returncode, 125)
        self.assertRegex(result.stderr, "CAP_BPF|without libbpf|no walker")
        result = self.as_nobody("-v", "-o", "y.syscap", "--", "true")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("not unwound in the kernel", result.stderr)

    def test_the_system_is_refused_with_a_remedy(self):
        if self.paranoid < 1:
            self.skipTest(f"kernel.perf_event_paranoid is {self.paranoid}")
        result = self.as_nobody("-a")
        self.assertEqual(result.returncode, 125)
        for word in ("perf_event_paranoid", "setcap", "root"):
            self.assertIn(word, result.stderr)

    def test_a_process_of_somebody_else(self):
        result = self.as_nobody("-p", str(os.getpid()))
        self.assertEqual(result.returncode, 125)
        self.assertRegex(result.stderr, "another user|perf_event_paranoid")
        self.assertFalse(os.path.exists(os.path.join(self.directory, "capture.syscap")))

    def test_doctor(self):
        result = self.as_nobody("doctor")
        self.assertIn("perf_event_paranoid", result.stdout)
        self.assertEqual(result.returncode, 0 if self.paranoid <= 2 else 125)

    def test_the_remedy_of_the_doctor_works(self):
        """It is the last line, to be copied as it is."""
        said = self.as_nobody("doctor").stdout
        remedy = said.splitlines()[-1].split()
        if remedy[:2] != ["sudo", "setcap"] or shutil.which("setcap") is None:
            self.skipTest("no capabilities can be given: " + said)
        self.assertRegex(said, "(?m)^  no +kernel mode: ")
        self.addCleanup(shutil.copy, PROGRAM, self.copy)
        subprocess.run(shlex.split(" ".join(remedy[1:])), check=True)
        said = self.as_nobody("doctor").stdout
        for step in ("events of the whole", "kernel mode", "kernel symbols", "mappings of other"):
            self.assertRegex(said, f"(?m)^  ok +{step}")
        self.assertNotIn("setcap", said)


def can_sample():
    result = subprocess.run([PROGRAM, "doctor"], capture_output=True, text=True, check=False)
    return result.returncode == 0, result.stdout


if __name__ == "__main__":
    works, why = can_sample()
    if not works:
        print(f"1..0 # SKIP this machine does not let us sample:\n{why}")
        sys.exit(77)
    unittest.main()
