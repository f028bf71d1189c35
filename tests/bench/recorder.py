#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""recorder.py - what the whole recorder costs per sample, writing included.

    recorder.py [--seconds N] [--frequency HZ] [--program NAME]… [--engine NAME] [--check] LIVE_UNWINDER

Records programs of tests/workloads with copies of 16 KiB and takes the CPU time of all threads of
the recorder from the scheduler's account at two moments while it runs, so that start and end do not
count.  Samples are those of the capture between the two moments.  Also the wake-ups of a recording
of an idle process.  The cost has a part for each wake-up, so it falls with the frequency.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "workloads"))
sys.path.insert(0, os.path.join(HERE, "..", "judge"))
import programs  # noqa: E402  (needs the path above)
import syscap  # noqa: E402

START = 1.5            # seconds until everything has been seen
GOAL_SAMPLE, GOAL_FRAME = 1000, 30     # ns: goal = first + frames × second
GOAL_WAKEUPS = 5


def threads(pid):
    """{thread name: (ns on a CPU, times it got one)}, by the kernel's account."""
    found = {}
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/comm", encoding="utf-8") as file:
            name = file.read().strip()
        with open(f"/proc/{pid}/task/{tid}/schedstat", encoding="ascii") as file:
            on_cpu, _, times = map(int, file.read().split())
        old = found.get(name, (0, 0))
        found[name] = (old[0] + on_cpu, old[1] + times)
    return found


def difference(before, after):
    return {name: tuple(b - a for a, b in zip(before.get(name, (0, 0)), values))
            for name, values in after.items()}


def watch(command, seconds):
    """Runs a recorder; (its threads' figures between two moments, the moments in ns)."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(START)
    before, began = threads(process.pid), time.monotonic_ns()
    time.sleep(seconds)
    after, ended = threads(process.pid), time.monotonic_ns()
    process.wait()
    return difference(before, after), began, ended


def measure(arguments, name, directory):
    prepare = next(each.prepare for each in programs.ALL if each.name == name)
    path = os.path.join(directory, name + ".syscap")
    program = prepare(START + arguments.seconds + 4)
    command = [arguments.recorder, "-q", "--engine", arguments.engine, "-s", "16384", "-F", str(arguments.frequency), "--no-store",
               "-d", str(START + arguments.seconds + 0.5), "-o", path, "--stats", "none"]
    if arguments.all:
        with subprocess.Popen(program, stdout=subprocess.DEVNULL) as other:
            used, began, ended = watch([*command, "--all"], arguments.seconds)
            other.kill()
    else:
        used, began, ended = watch([*command, "--", *program], arguments.seconds)
    samples = [sample for sample in syscap.read(path).samples if began <= sample.time < ended]
    frames = sum(len(sample.addresses) for sample in samples)
    total = sum(on_cpu for on_cpu, _ in used.values())
    count = max(len(samples), 1)
    goal = GOAL_SAMPLE + GOAL_FRAME * frames / count
    print(f"{name:8} {len(samples):7} {frames / count:6.1f} {total / count:8.0f} {goal:6.0f}   " +
          ", ".join(f"{thread} {on_cpu / count:.0f} ({times / arguments.seconds:.0f}/s)"
                    for thread, (on_cpu, times) in sorted(used.items()) if on_cpu > 0), flush=True)
    return total / count <= goal


def measure_idle(arguments, directory):
    """A recording of a process that sleeps."""
    command = [arguments.recorder, "-q", "-o", os.path.join(directory, "idle.syscap"), "--stats",
               "none", "-d", str(START + arguments.seconds + 0.5), "--", "sleep", "60"]
    used, _, _ = watch(command, arguments.seconds)
    wakeups = sum(times for _, times in used.values()) / arguments.seconds
    print(f"idle: {wakeups:.1f} wake-ups/s (goal {GOAL_WAKEUPS})")
    return wakeups <= GOAL_WAKEUPS


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=6)
    parser.add_argument("--frequency", type=int, default=999)
    parser.add_argument("--all", action="store_true",
                        help="record the whole system: on a busy machine the samples of others "
                        "have to be read, too, and should count")
    parser.add_argument("--engine", default="auto")
    parser.add_argument("--program", action="append", default=None)
    parser.add_argument("--check", action="store_true", help="fail if a goal is missed")
    parser.add_argument("recorder", metavar="LIVE_UNWINDER")
    arguments = parser.parse_args()
    print("program  samples frames  ns/sample   goal   by thread (times it ran)")
    is_good = True
    with tempfile.TemporaryDirectory() as directory:
        programs.set_directory(directory)
        for name in arguments.program or ["python3", "gcc"]:
            try:
                is_good &= measure(arguments, name, directory)
            except programs.Skip as skip:
                print(f"{name:8} skipped: {skip}")
        is_good &= measure_idle(arguments, directory)
    return 1 if arguments.check and not is_good else 0


if __name__ == "__main__":
    sys.exit(main())
