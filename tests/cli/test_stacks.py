#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""test_stacks.py - `live-unwinder stacks` on programs whose threads wait, run and end.

    test_stacks.py LIVE_UNWINDER [-v] [TEST…]
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else None
COMPILER = os.environ.get("CC", "cc").split()
NOBODY = 65534
N_THREADS = 50

# Threads wait for two mutexes that nobody unlocks, below calls of different depth; `deep` waits below
# as many bytes of stack as it is told, `spinner` runs. The program says when all are there.
TARGET = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static pthread_mutex_t locks[2] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER };
static pthread_barrier_t barrier;
static volatile int sink;
#define REAL __attribute__ ((noinline, noclone, noipa))
REAL static void take_lock (int i) {
  pthread_mutex_lock (&locks[i]);
  sink++;
}
REAL static void descend (int n, int i) {
  char room[1000];
  memset (room, n, sizeof room);
  if (n > 0)
    descend (n - 1, i);
  else
    take_lock (i);
  sink += room[n % 1000];
}
static void *worker (void *data) {
  long i = (long) data;
  char name[16];
  snprintf (name, sizeof name, "worker-%ld", i);
  pthread_setname_np (pthread_self (), name);
  pthread_barrier_wait (&barrier);
  descend ((int) i % 10, (int) i & 1);
  return NULL;
}
static void *deep (void *data) {
  pthread_setname_np (pthread_self (), "a\033[31m\n");
  pthread_barrier_wait (&barrier);
  descend (atoi (data) / 1000, 0);
  return NULL;
}
REAL static void spin (void) {
  for (;;)
    sink++;
}
static void *spinner (void *data) {
  pthread_barrier_wait (&barrier);
  spin ();
  return NULL;
}
int main (int argc, char **argv) {
  void *(*first) (void *) = strcmp (argv[1], "deep") == 0   ? deep
                            : strcmp (argv[1], "spin") == 0 ? spinner
                                                            : NULL;
  long n = first == NULL ? atoi (argv[1]) : argc > 3 ? atoi (argv[3]) : 1;
  pthread_t thread = 0;
  pthread_mutex_lock (&locks[0]);
  pthread_mutex_lock (&locks[1]);
  pthread_barrier_init (&barrier, NULL, n + 1);
  for (long i = 0; i < n; i++)
    pthread_create (&thread, NULL, first != NULL ? first : worker, first != NULL ? argv[2] : (void *) i);
  pthread_barrier_wait (&barrier);
  puts ("ready");
  fflush (stdout);
  pthread_join (thread, NULL);
}
"""


def run_it(*arguments, **options):
    return subprocess.run([PROGRAM, "stacks", *arguments], capture_output=True, text=True,
                          timeout=120, check=False, errors="surrogateescape", **options)


def parse(text):
    """{tid: (name, state, [lines])}"""
    threads = {}
    for block in re.split(r"\n(?=Thread )", text):
        match = re.match(r'Thread (\d+) "(.*)" \((.*)\)\n', block)
        if match:
            lines = [line.strip() for line in block.splitlines()[1:] if line.startswith("  ")]
            threads[int(match[1])] = (match[2], match[3], lines)
    return threads


def functions(lines):
    return [match[1] for line in lines if (match := re.match(r"#\d+ +([^+\s(]+)", line))]


def switches(pid):
    """How often each thread was switched out; threads that wait for ever are not."""
    found = {}
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/status") as file:
            found[int(tid)] = re.findall(r"ctxt_switches:\s*(\d+)", file.read())
    return found


class Stacks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if os.geteuid() != 0:
            raise unittest.SkipTest("needs root")
        cls.directory = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.directory)
        cls.target = os.path.join(cls.directory, "target")
        subprocess.run([*COMPILER, "-O2", "-fomit-frame-pointer", "-w", "-pthread", "-x", "c", "-",
                        "-o", cls.target], input=TARGET, text=True, check=True)
        sleeper = subprocess.Popen(["sleep", "60"])
        try:
            result = run_it("-p", str(sleeper.pid))
        finally:
            sleeper.kill()
            sleeper.wait()
        if re.search("does not hand over|without libbpf|perf events cannot", result.stderr):
            raise unittest.SkipTest(result.stderr.strip())

    def start(self, *arguments):
        process = subprocess.Popen([self.target, *arguments], stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def wait_until_all_wait(self, pid):
        """Threads have passed the barrier, but may not have reached their mutex."""
        for _ in range(1000):
            with_wait = 0
            for tid in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{tid}/syscall") as file:
                    with_wait += file.read().startswith("202 ")  # futex
            before = switches(pid)
            if with_wait == len(before):
                subprocess.run(["sleep", "0.05"], check=True)
                if switches(pid) == before:
                    return before
        self.fail("the threads do not come to rest")

    def stacks_of(self, pid, *options):
        result = run_it("-p", str(pid), *options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def test_a_deadlock_of_fifty_threads(self):
        """Every stack is whole, and no thread ran for it."""
        process = self.start(str(N_THREADS))
        before = self.wait_until_all_wait(process.pid)
        threads = parse(self.stacks_of(process.pid))
        self.assertEqual(switches(process.pid), before)
        self.assertEqual(set(threads), set(before))
        names = {name: lines for name, _, lines in threads.values()}
        for i in range(N_THREADS):
            lines = names[f"worker-{i}"]
            chain = functions(lines)
            self.assertNotIn("[", " ".join(lines))
            self.assertTrue(any("futex" in function for function in chain), lines)
            inner = chain.index("take_lock")
            self.assertEqual(chain[inner + 1:inner + 2 + i % 10], ["descend"] * (1 + i % 10), lines)
            self.assertEqual(chain[inner + 2 + i % 10], "worker", lines)
        self.assertIn("main", functions(threads[process.pid][2]))
        self.assertEqual({state for _, state, _ in threads.values()}, {"waiting"})

    def test_equal_stacks_are_grouped(self):
        process = self.start(str(N_THREADS))
        self.wait_until_all_wait(process.pid)
        text = self.stacks_of(process.pid, "--group")
        self.assertEqual(len(re.findall("^5 threads: ", text, re.MULTILINE)), 10, text)
        self.assertEqual(len(re.findall('"worker-', text)), N_THREADS)
        self.assertEqual(len(re.findall("take_lock", text)), 10)
        process = self.start("deep", "0", "30")
        self.wait_until_all_wait(process.pid)
        line = re.search("^30 threads: .*", self.stacks_of(process.pid, "--group"), re.MULTILINE)[0]
        self.assertEqual(line.count('"a?'), 21)
        self.assertTrue(line.endswith(", …"), line)

    def test_json(self):
        """It has what the text has."""
        process = self.start("3")
        self.wait_until_all_wait(process.pid)
        threads = parse(self.stacks_of(process.pid))
        found = json.loads(self.stacks_of(process.pid, "--json", "--group"))["threads"]
        self.assertEqual({(thread["pid"], thread["tid"]) for thread in found},
                         {(process.pid, tid) for tid in threads})
        for thread in found:
            name, state, lines = threads[thread["tid"]]
            self.assertEqual((thread["name"], thread["state"]), (name, state))
            self.assertEqual(thread["command"], f"{self.target} 3")
            self.assertEqual([f"#{number:<4}{frame['name']}+0x{frame['offset']:x} ({frame['module']})"
                              for number, frame in enumerate(thread["stack"])], lines)

    def test_page_by_page_on_a_terminal(self):
        process = self.start("1")
        self.wait_until_all_wait(process.pid)
        for options, begins in (([], "page: Process "), (["--no-pager"], "Process ")):
            master, slave = os.openpty()
            subprocess.run([PROGRAM, "stacks", "-p", str(process.pid), *options], stdout=slave,
                           env={**os.environ, "PAGER": "sed 's/^/page: /'"}, check=True)
            os.close(slave)
            self.assertTrue(os.read(master, 4096).decode().startswith(begins))
            os.close(master)

    def test_the_kernel_is_dimmed(self):
        process = self.start("1")
        self.wait_until_all_wait(process.pid)
        text = self.stacks_of(process.pid, "--color=always")
        self.assertRegex(text, "(?m)^\033\\[2m  #\\d+ +\\w*futex\\w*\\+.*\\(kernel\\)\033\\[m$")
        self.assertNotIn("\033", self.stacks_of(process.pid))

    def test_a_deep_stack(self):
        """Up to 256 KiB are whole; of more, the end says that it was cut off. The thread's name cannot
        do anything to a terminal."""
        process = self.start("deep", "200000")
        self.wait_until_all_wait(process.pid)
        name, _, lines = parse(self.stacks_of(process.pid))[max(switches(process.pid))]
        self.assertEqual(name, "a?[31m?")
        chain = functions(lines)
        self.assertEqual((chain.count("descend"), chain.count("deep")), (201, 1))
        process = self.start("deep", "400000")
        self.wait_until_all_wait(process.pid)
        _, _, lines = parse(self.stacks_of(process.pid))[max(switches(process.pid))]
        self.assertEqual(lines[-1], "[truncated stack copy]")
        self.assertNotIn("deep", functions(lines))

    def test_a_thread_that_runs(self):
        process = self.start("spin", "x")
        threads = parse(self.stacks_of(process.pid))
        self.assertEqual(len(threads), 2)
        _, state, lines = threads[max(threads)]
        self.assertIn(state, ("running", "ready to run"))
        chain = functions(lines)
        self.assertEqual(chain[chain.index("spin") + 1], "spinner", lines)

    def test_a_stopped_program(self):
        process = self.start("1")
        self.wait_until_all_wait(process.pid)
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        threads = parse(self.stacks_of(process.pid))
        self.assertEqual({state for _, state, _ in threads.values()}, {"stopped by a signal"})
        self.assertIn("main", functions(threads[process.pid][2]))

    def test_everything_while_processes_end(self):
        shell = subprocess.Popen(["sh", "-c", "while :; do (:); sleep 0.01; done"])
        self.addCleanup(shell.wait)
        self.addCleanup(shell.kill)
        process = self.start("1")
        for _ in range(3):
            result = run_it("--all")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn(process.pid, parse(result.stdout))

    def test_the_target_ends_meanwhile(self):
        for _ in range(5):
            process = self.start(str(N_THREADS))
            reader = subprocess.Popen([PROGRAM, "stacks", "-p", str(process.pid)], text=True,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            process.kill()
            out, errors = reader.communicate(timeout=120)
            if reader.returncode == 0:
                self.assertIn("Thread", out)
            else:
                self.assertEqual(reader.returncode, 125)
                self.assertRegex(errors, r"\(any more\)|may have ended")

    def test_a_pid_namespace(self):
        """Threads have the numbers of the namespace in which the command runs."""
        if shutil.which("unshare") is None:
            self.skipTest("no unshare")
        result = subprocess.run(["unshare", "-p", "-f", "--mount-proc", PROGRAM, "stacks", "-a"],
                                capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 125, result.stdout)  # nobody else is there
        result = subprocess.run(["unshare", "-p", "-f", "--mount-proc", "sh", "-c",
                                 f"{PROGRAM} stacks -p 1; exit"],
                                capture_output=True, text=True, check=False)
        self.assertEqual(list(parse(result.stdout)), [1], result.stderr)

    def test_processes_by_name_and_those_that_are_gone(self):
        process = self.start("1")
        result = run_it("--name", "target", "--full-names")
        self.assertIn(process.pid, parse(result.stdout), result.stderr)
        result = run_it("--name", "nobody has this name")
        self.assertEqual(result.returncode, 125)
        self.assertRegex(result.stderr, "no process named nobody has this name$")
        gone = subprocess.Popen(["true"])
        gone.wait()
        result = run_it("-p", str(gone.pid))
        self.assertEqual(result.returncode, 125)
        self.assertIn("there is no process", result.stderr)
        result = run_it("-p", f"{gone.pid},{process.pid}")
        self.assertEqual(result.returncode, 0)
        self.assertIn("there is no process", result.stderr)
        for words in ([], ["x"], ["-a", "-p", "1"], ["-p", "x"]):
            self.assertEqual(run_it(*words).returncode, 125, words)

    def test_without_rights(self):
        copy = os.path.join(self.directory, "live-unwinder")
        shutil.copy(PROGRAM, copy)
        os.chmod(self.directory, 0o755)
        result = subprocess.run([copy, "stacks", "-p", str(os.getpid())], capture_output=True,
                                text=True, user=NOBODY, group=NOBODY, extra_groups=[], check=False)
        self.assertEqual((result.returncode, result.stdout), (125, ""))
        self.assertRegex(result.stderr, "no permission to load BPF programs\n +Needs root")


if __name__ == "__main__":
    unittest.main()
