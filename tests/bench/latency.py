#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""latency.py - how much later a real-time thread wakes up beside a recording of deep stacks.

    latency.py [--depth N] [--frequency HZ] [--seconds N] [--rounds N] [--cpu N] [--interval US] BUILD

The victim is cyclictest (Debian package rt-tests), SCHED_FIFO, on the CPU of a program that has a deep
stack all the time; the recorder samples that program and runs on the other CPUs.  Each round has the
victim alone, beside `perf record -g` of the program built with frame pointers, and beside
live-unwinder of the program built without, with its usual limit of frames and without one.  (perf
records 127 frames, unless kernel.perf_event_max_stack says otherwise.)  A sample delays a wake-up that falls into it, so the
cost of a sample, from interrupt to record, shows in the upper percentiles.  Prints, for each mode, the
least of all rounds in us, since a busy machine only adds, and what it is above the victim alone.  Takes
a little longer than rounds x modes x seconds (144 s as it is), and says on standard error how far it is.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SHARES = (0.5, 0.99, 0.999, 0.9999)
BUCKETS_US = 2000
MAX_DEPTH = 4096
START_S = 1.5   # until a recorder has begun to sample
GRACE_S = 30    # that the victim may take longer than it was told to


def others(cpu):
    """The CPUs of the recorder: all but the victim's, if there are more."""
    rest = sorted(os.sched_getaffinity(0) - {cpu})
    return ",".join(map(str, rest or [cpu]))


def recorders(arguments, directory):
    """{mode: (the program with the deep stack, the words of its recorder before its pid)}"""
    bpf = arguments.build / "tests/bpf"
    rate = str(arguments.frequency)
    found = {"alone": (bpf / "tower", None)}
    perf = shutil.which("perf")
    if perf:
        found["perf"] = (bpf / "tower-fp", [perf, "record", "-q", "-g", "-e", "cpu-clock", "-F", rate,
                                            "-o", f"{directory}/perf.data", "-p"])
    ours = [arguments.build / "src/live-unwinder", "-q", "--engine", "bpf", "-F", rate, "--force", "--stats", "none",
            "-o", f"{directory}/x.syscap"]
    found["live-unwinder"] = (bpf / "tower", [*ours, "-p"])
    found["live-unwinder, whole stacks"] = (
        bpf / "tower", [*ours, "--max-depth", str(min(arguments.depth + 100, MAX_DEPTH)), "-p"])
    return found


def victim(arguments, directory):
    """The latencies of one run of cyclictest: us -> how often."""
    path = f"{directory}/cyclictest.json"
    subprocess.run(["cyclictest", "-q", "-t1", "-p90", f"-a{arguments.cpu}", f"-i{arguments.interval}",
                    f"-h{BUCKETS_US}", f"-D{arguments.seconds}", f"--json={path}"],
                   check=True, stdout=subprocess.DEVNULL, timeout=arguments.seconds + GRACE_S)
    with open(path, encoding="utf-8") as file:
        thread = next(iter(json.load(file)["thread"].values()))
    return {int(us): count for us, count in thread["histogram"].items()}, thread["max"]


def percentile(histogram, share):
    wanted, so_far = share * sum(histogram.values()), 0
    for us, count in sorted(histogram.items()):
        so_far += count
        if so_far >= wanted:
            return us
    return BUCKETS_US


def run(arguments, mode, directory):
    program, words = recorders(arguments, directory)[mode]
    with subprocess.Popen(["taskset", "-c", str(arguments.cpu), program, str(arguments.depth)]) as burner:
        recorder = None
        try:
            if words:
                recorder = subprocess.Popen(["taskset", "-c", others(arguments.cpu), *words, str(burner.pid)],
                                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(START_S)
            if recorder and recorder.poll() is not None:
                raise RuntimeError(f"the recorder of {mode} ended with {recorder.returncode}")
            histogram, longest = victim(arguments, directory)
        finally:
            if recorder:
                recorder.terminate()
                recorder.wait()
            burner.kill()
    return [percentile(histogram, share) for share in SHARES] + [longest]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--depth", type=int, default=2000)
    parser.add_argument("--frequency", type=int, default=999)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--interval", type=int, default=211, help="of the victim, us")
    parser.add_argument("build", type=Path)
    arguments = parser.parse_args()
    arguments.build = arguments.build.resolve()
    if shutil.which("cyclictest") is None:
        print("latency.py: no cyclictest (package rt-tests)", file=sys.stderr)
        return 77
    best = {}
    with tempfile.TemporaryDirectory(prefix="latency-") as directory:
        for number in range(arguments.rounds):
            for mode in recorders(arguments, directory):
                print(f"latency.py: round {number + 1} of {arguments.rounds}, {mode}", file=sys.stderr)
                found = run(arguments, mode, directory)
                best[mode] = list(map(min, best.get(mode, found), found))
    names = [f"p{100 * share:g}" for share in SHARES] + ["max"]
    for mode, found in best.items():
        added = {f"{name} added": us - alone for name, us, alone in zip(names, found, best["alone"])}
        print(json.dumps({"mode": mode, **dict(zip(names, found)), **(added if mode != "alone" else {})}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
