#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""measure.py - what an attack by another user costs everybody else.

    measure.py [--attack NAME]… [--mode NAME]… [--seconds N] [--rounds N] BUILD

Run by hand, as root.  Records a victim and the whole machine while another user attacks, and while
the same number of harmless processes run ("load"): how many of the samples that the victim's CPU time
is worth arrived, how many of them are complete, how long the recorder takes to stop, what memory it
needs, how long SIGKILL takes, and how incomplete stacks of the victim end.  "stop" is the time until
the end, or until a recorder whose output is not read says what it waits for, and then the time until
a second signal has ended it, if that is longer.  No figure but "lost" and the states of stacks is the
recorder's own.
"""

import argparse
import collections
import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[1:1] = [os.path.join(HERE, "..", "judge"), os.path.join(HERE, "..", "helper")]
import captures  # noqa: E402  (needs the path above)
import symbols  # noqa: E402
import syscap  # noqa: E402

NOBODY = 65534
FREQUENCY = 1000
VICTIM = "def f(n):\n return f(n - 1) if n else sum(range(200))\nwhile True:\n f(20)"
LOAD = ("sh", "-c", "while :; do :; done")
SPARSE_BYTES = 15 << 30
FILES = 300
SPARSE_PROGRAMS = 4
PROGRAM_BYTES = 16 << 20
PATIENCE = 10
LIFE = 90  # seconds that an attack goes on if nobody ends it
PR_SET_PDEATHSIG = 1
KILL_AFTER = 2.0
STATES = 3  # of incomplete stacks, in which most of them end
LIBC = ctypes.CDLL(None)
COLUMNS = ("attack", "mode", "victim CPU s", "delivered %", "complete %", "lost %", "stop ms", "MiB",
           "kill ms", "load", "row s")


class Skip(Exception):
    pass


def end_with_parent():
    """Runs in a child.  Whatever ends this program, SIGKILL too, leaves no attack behind."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Machine:
    """Processes of an attack, in a directory that anybody may write to."""

    def __init__(self, build):
        self.build = os.path.abspath(build)
        self.directory = tempfile.mkdtemp(prefix="hostile-measure-")
        os.chmod(self.directory, 0o777)
        self.processes = []

    def path(self, *names):
        return os.path.join(self.directory, *names)

    def program(self, *names):
        return os.path.join(self.build, *names)

    def start(self, *command, as_root=False, **options):
        if not as_root:
            options.update(user=NOBODY, group=NOBODY, extra_groups=[])
        self.processes.append(subprocess.Popen(command, start_new_session=True,
                                               preexec_fn=end_with_parent, **options))
        return self.processes[-1]

    def wait_for_line(self, process):
        line = process.stdout.readline()
        if not line:
            raise Skip("the attack does not start here")
        return line

    def end(self):
        for process in self.processes:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)


def inflate(machine):
    """B1: compressed frames that become 64 MiB in each of many files."""
    process = machine.start(machine.program("tests/hostile/inflating-frames"), machine.directory,
                            str(FILES), str(LIFE), stdout=subprocess.PIPE)
    machine.wait_for_line(process)


def hide_symbols(machine):
    """B2: programs with tables of symbols that are mostly holes."""
    for number in range(SPARSE_PROGRAMS):
        program = symbols.Program(machine.program("tests/hostile/spin"), machine.path(f"s{number}"))
        program.write(b"", bytes(4096), SPARSE_BYTES + (number << 20))
        machine.start(program.path)


def hold_pages(machine, *kind):
    """B3: a page of a stack that its server never gives.  Not everywhere may others use /dev/fuse."""
    os.mkdir(machine.path("mount"))
    os.mkdir(machine.path("overlay"))
    os.mkdir(machine.path("overlay.empty"))
    process = machine.start("unshare", "--mount", "--", machine.program("tests/hostile/fuse-page"),
                            machine.path("mount"), *kind, stdout=subprocess.PIPE, as_root=True)
    return int(machine.wait_for_line(process))


def hold_program(machine, *kind, number=signal.SIGUSR1):
    """B3: a program whose server falls silent, or becomes slow, while it runs."""
    spin = shutil.copy(machine.program("tests/hostile/spin"), machine.path("spin"))
    os.truncate(spin, PROGRAM_BYTES)
    server = hold_pages(machine, spin, *kind)
    time.sleep(1)
    os.kill(server, number)


ATTACKS = {
    "load": lambda machine: machine.start(*LOAD),
    "inflating": inflate,
    "sparse": hide_symbols,
    "page": lambda machine: hold_pages(machine, "stack"),
    "program": hold_program,
    "overlay": lambda machine: hold_program(machine, "hidden", machine.path("overlay")),
    "slow": lambda machine: hold_program(machine, number=signal.SIGUSR2),
    "fifo": lambda machine: machine.start(*LOAD),
}


def cpu_seconds(pid):
    with open(f"/proc/{pid}/schedstat", encoding="ascii") as file:
        return int(file.read().split()[0]) / 1e9


def peak_mib(pid):
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            return max([int(line.split()[1]) for line in file if line.startswith("VmHWM")],
                       default=0) / 1024
    except OSError:
        return 0


class Figures:
    def __init__(self):
        self.cpu = self.delivered = self.complete = self.lost = self.stop = self.mib = self.kill = None
        self.states = collections.Counter()


def count(capture, samples, figures):
    """Fills in what the victim's samples say."""
    users = [sample for sample in samples if sample.user]
    ends = [sample.user[-1] for sample in users if syscap.is_synthetic(sample.user[-1])]
    figures.states.update(capture.jitmap.get(end, hex(end)) for end in ends)
    figures.delivered = 100 * len(samples) / (FREQUENCY * figures.cpu)
    figures.complete = 100 * (len(users) - len(ends)) / max(len(users), 1)


def measure_kill(recorder):
    """ms until a recorder has ended."""
    began = time.monotonic()
    recorder.kill()
    try:
        recorder.wait(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return float("inf")
    return 1000 * (time.monotonic() - began)


def record(machine, seconds, output, victim):
    """Starts a recording and waits; returns it and the victim's times of CPU (at, seconds)."""
    recorder = machine.start(machine.program("src/live-unwinder"), "--all", "--stats", "json", "-q",
                             "-F", str(FREQUENCY), "-o", output, as_root=True,
                             stderr=subprocess.PIPE)
    os.set_blocking(recorder.stderr.fileno(), False)
    clock = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        clock.append((time.monotonic_ns(), cpu_seconds(victim.pid)))
        time.sleep(0.02)
    return recorder, clock


def stop(recorder, figures):
    """Sends SIGINT; waits, and looks at the memory, until the recorder has ended or says what it waits
    for.  Another SIGINT ends it then.  Returns its words."""
    figures.mib = peak_mib(recorder.pid)
    text = b""
    for _ in range(2):
        began = time.monotonic()
        recorder.send_signal(signal.SIGINT)
        heard = len(text)
        while recorder.poll() is None and b"waiting for" not in text[heard:]:
            if time.monotonic() > began + PATIENCE:
                figures.stop = float("inf")
                return ""
            figures.mib = max(figures.mib, peak_mib(recorder.pid))
            time.sleep(0.005)
            text += recorder.stderr.read() or b""
        figures.stop = max(figures.stop or 0, 1000 * (time.monotonic() - began))
        if recorder.poll() is not None:
            break
    return (text + (recorder.stderr.read() or b"")).decode()


def open_unread(machine, path):
    """B4: a reader that does not read."""
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    machine.start("sleep", str(LIFE), as_root=True, stdin=reader)
    os.close(reader)


def standalone(machine, args, attack):
    figures = Figures()
    victim = machine.start(sys.executable, "-c", VICTIM, as_root=True)
    output = machine.path("out.syscap")
    if attack == "fifo":
        open_unread(machine, output)
    ATTACKS[attack](machine)
    recorder, clock = record(machine, args.seconds, output, victim)
    text = stop(recorder, figures)
    lines = [line for line in text.splitlines() if line.startswith("{")]
    if lines and attack != "fifo":
        capture = syscap.read(output)
        begin = min(sample.time for sample in capture.samples)
        end = max(sample.time for sample in capture.samples)
        within = [(at, cpu) for at, cpu in clock if begin <= at <= end]
        figures.cpu = within[-1][1] - within[0][1]
        count(capture, [sample for sample in capture.samples if sample.pid == victim.pid
                        and within[0][0] <= sample.time <= within[-1][0]], figures)
        figures.lost = json.loads(lines[-1])["lost"]["percent"]
    recorder, _ = record(machine, KILL_AFTER, machine.path("k.syscap"), victim)
    figures.kill = measure_kill(recorder)
    return figures


def play(machine, seconds, output, *options):
    """Returns what the player of a client says of a helper."""
    player = machine.start(machine.program("tests/helper/play"), "--stack-size", "16384",
                           "--seconds", str(seconds), "-F", str(FREQUENCY), "-o", output, *options,
                           machine.program("src/live-unwinder"), "--", sys.executable, "-c", VICTIM,
                           as_root=True, stdout=subprocess.PIPE, text=True)
    return json.loads(player.communicate()[0])


def helper(machine, args, attack):
    if attack == "fifo":
        raise Skip("a helper has no output of its own")
    figures = Figures()
    ATTACKS[attack](machine)
    output = machine.path("out.syscap")
    result = play(machine, args.seconds, output)
    workload = result["workload"]
    figures.cpu = workload["cpu"]
    capture = captures.read(output).capture
    count(capture, [sample for sample in capture.samples if sample.pid == workload["pid"]], figures)
    figures.lost = 100 * result["lost"] / max(1, result["lost"] + result["samples"])
    figures.stop, figures.mib = result["stop_ms"], result["rss_anon_kib"] / 1024
    if result["killed"]:
        figures.stop = float("inf")
    killed = play(machine, KILL_AFTER, machine.path("k.syscap"), "--stop", "kill")
    figures.kill = killed["stop_ms"] if killed["signal"] == signal.SIGKILL else float("inf")
    return figures


MODES = {"standalone": standalone, "helper": helper}


def print_row(cells):
    print(" | ".join(f"{'-' if cell is None else cell:>12}" if not isinstance(cell, float)
                     else f"{cell:>12.2f}" for cell in cells), flush=True)


def measure(attack, mode, args):
    began = time.monotonic()
    machine = Machine(args.build)
    try:
        found = MODES[mode](machine, args, attack)
        print_row((attack, mode, found.cpu, found.delivered, found.complete, found.lost, found.stop,
                   found.mib, found.kill, os.getloadavg()[0], time.monotonic() - began))
        for state, n in found.states.most_common(STATES):
            print(f"{n:>20} {state}", flush=True)
    except Skip as reason:
        print_row((attack, mode, f"SKIP {reason}"))
    finally:
        machine.end()


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", metavar="BUILD")
    parser.add_argument("--attack", action="append", choices=ATTACKS)
    parser.add_argument("--mode", action="append", choices=MODES)
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("--rounds", type=int, default=1)
    args = parser.parse_args(argv)
    if os.geteuid() != 0:
        print("SKIP: needs root, to record everything and to become another user")
        return 77
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    print_row(COLUMNS)
    for _ in range(args.rounds):
        for attack in args.attack or ATTACKS:
            for mode in args.mode or MODES:
                measure(attack, mode, args)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
