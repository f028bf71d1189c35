#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""bench.py BUILD [ROUNDS] [OPTION]... - what a walk in the kernel costs.

Used by hand, and as a benchmark. Each round runs, at each depth, the program on a tower of calls
without frame pointers and the kernel's walk along frame pointers (bpf_get_stack) on the same tower
with them; the least of all rounds counts, since a busy machine only adds. Prints one JSON line with
what a read of 16 bytes and of a page of user memory costs on this machine, one for each depth, one
with what a frame and a walk without frames cost by the outermost two, and one for each real program,
and for all of them at once: how long half, 90 % and 99 % of the walks took at most, and the longest
one, by the program's own clock.

With --process only running processes are measured: the main thread of each, 1,000 times a second or
as often as --rate says, one line for each CPU on which it was sampled at least 20 times; ns_per_run
is the least of all rounds. With --neighbour MIB a program on the same CPU writes to so much memory
all the time, so that little is in the caches when a walk starts.

A peer (--peer NAME=COMMAND) is measured in the same rounds on the same tower. Its COMMAND is given a
CPU, the ns between samples, for how many ms to sample, and the words of the tower's command; it
starts that on the CPU, samples it alone, and prints a JSON line as bench-floor.c does: "runs",
"ns_per_run" by the kernel's own statistics (bpf_enable_stats()), and "frames" of a stack. For a
running process the words are "--process" and its number."""

import argparse
import contextlib
import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parent / "workloads"))

import programs  # noqa: E402

# The frames of the tower; below them are main and libc's frames.
DEPTHS = (2, 9, 31, 61, 121)
PERIOD_NS = 100003
TIME_MS = 200
# A process is sampled so often, but no longer than the time.
PROCESS_SAMPLES = 2000
PROCESS_TIME_MS = 5000
# Measured on each real program whose walks are timed, and on all of them at once.
LOADS = ("python3", "sqlite3", "gcc")
LOAD_S = 4


def last_line(command):
    try:
        run = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                             check=False, timeout=60)
        lines = [line for line in (run.stdout + run.stderr).splitlines() if line.startswith("{")]
        return json.loads(lines[-1]) if run.returncode == 0 and lines else None
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None


def least(results):
    return min((r for r in results if r and r["runs"] >= 20), key=lambda r: r["ns_per_run"],
               default=None)


def commands(directory, depth, peers):
    """Returns what is measured in each round: name -> words."""
    ours = [directory / "bench-walk", "--wait", 20, "--time", TIME_MS, "--period", PERIOD_NS]
    tower = ["--", directory / "tower", depth]
    found = {"walk": [*ours, *tower], "uncached": [*ours, "--no-cache", *tower],
             "floor": [directory / "bench-floor", 0, PERIOD_NS, TIME_MS, "walk", directory / "tower-fp", depth]}
    for name, command in peers.items():
        found[name] = [*command, 0, PERIOD_NS, TIME_MS, directory / "tower", depth]
    return found


def measure(directory, depth, rounds, peers):
    results = {name: [] for name in commands(directory, depth, peers)}
    for _ in range(rounds):
        for name, command in commands(directory, depth, peers).items():
            results[name].append(last_line(command))
    return {name: least(found) for name, found in results.items()}


def bench_reads(directory, rounds):
    """Returns False if nothing could be measured."""
    command = [directory / "bench-floor", 0, PERIOD_NS, TIME_MS, "read", directory / "tower", DEPTHS[-1]]
    results = [r for r in (last_line(command) for _ in range(rounds)) if r and r["runs"] >= 20]
    if results:
        print(json.dumps({"read_16_bytes_ns": min(r["read_16_ns"] for r in results),
                          "read_4096_bytes_ns": min(r["read_page_ns"] for r in results)}), flush=True)
    return bool(results)


def of_peer(result):
    return {"frames": round(result["frames"], 1), "ns": round(result["ns_per_run"])} if result else None


def bench_depths(directory, rounds, peers):
    """Returns False if nothing could be measured."""
    points = []
    for depth in DEPTHS:
        found = measure(directory, depth, rounds, peers)
        ours, uncached, floor = found["walk"], found["uncached"], found["floor"]
        if not ours or not floor:
            return False
        points.append((ours["frames"], ours["ns_per_run"]))
        print(json.dumps({
            "frames": round(ours["frames"], 1), "ns_per_walk": round(ours["ns_per_run"]),
            "without_remembered_rules": round(uncached["ns_per_run"]) if uncached else None,
            "bytes": round(ours["bytes"]),
            "frame_pointer_frames": floor["frames"],
            "frame_pointer_ns": round(floor["ns_per_run"]),
            **{name: of_peer(found[name]) for name in peers},
        }), flush=True)
    (few, cheap), (many, dear) = points[0], points[-1]
    each = (dear - cheap) / (many - few)
    print(json.dumps({"ns_per_frame": round(each, 1), "ns_fixed": round(cheap - few * each)}), flush=True)
    return True


def time_load(recorder, names, directory):
    """Returns one line about the times of walks while these programs ran."""
    try:
        words = [shlex.join(map(str, each.prepare(LOAD_S))) for each in programs.ALL if each.name in names]
    except programs.Skip as reason:
        print(f"bench.py: {reason}", file=sys.stderr)
        return
    script = "".join(f"{word} >/dev/null & " for word in words) + "wait"
    stats = last_line([recorder, "-q", "--engine", "bpf", "--time-walks", "--stats", "json", "--force",
                       "-o", os.path.join(directory, "x.syscap"), "--", "sh", "-c", script])
    if stats is not None:
        walks = stats["kernel_walks"]
        print(json.dumps({"load": " + ".join(names), "walks": walks["stacks"], "percent": round(walks["percent"], 2),
                          "frames": round(walks["frames"] / max(walks["stacks"], 1), 1), **walks["walk_ns"]}),
              flush=True)


def bench_loads(recorder):
    with tempfile.TemporaryDirectory(prefix="bench-walk-") as directory:
        programs.set_directory(directory)
        for name in LOADS:
            time_load(recorder, [name], directory)
        time_load(recorder, LOADS, directory)


@contextlib.contextmanager
def neighbour(directory, cpu, mib):
    """Empties the CPU's caches all the time, unless mib is 0."""
    if mib == 0:
        yield
        return
    with subprocess.Popen([str(directory / "empty-caches"), str(mib)],
                          preexec_fn=lambda: os.sched_setaffinity(0, {cpu})) as process:
        try:
            yield
        finally:
            process.kill()


def measure_process(directory, pid, cpu, arguments):
    """Returns what is measured in one round: name -> result."""
    period = round(1e9 / arguments.rate) + 3001
    ms = min(PROCESS_TIME_MS, round(PROCESS_SAMPLES * period / 1e6))
    words = {"walk": [directory / "bench-walk", "--timed", "--cpu", cpu, "--process", pid, "--period", period,
                      "--time", ms]}
    for name, command in arguments.peers.items():
        words[name] = [*command, cpu, period, ms, "--process", pid]
    found = {}
    for name, command in words.items():
        with neighbour(directory, cpu, arguments.neighbour):
            found[name] = last_line(command)
    return found


def bench_process(directory, pid, arguments):
    """Returns False if nothing could be measured."""
    is_measured = False
    for cpu in sorted(os.sched_getaffinity(pid)):
        found = [measure_process(directory, pid, cpu, arguments) for _ in range(arguments.rounds)]
        result = least([each["walk"] for each in found])
        if result:
            is_measured = True
            print(json.dumps({"process": pid, "cpu": cpu, "ns_per_walk": round(result["ns_per_run"]),
                              **{key: result[key] for key in ("runs", "frames", "remembered", "p50", "p90", "p99")},
                              **{name: of_peer(least([each[name] for each in found])) for name in arguments.peers}}),
                  flush=True)
    return is_measured


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("rounds", type=int, nargs="?", default=3)
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=COMMAND")
    parser.add_argument("--process", type=int, action="append", default=[], metavar="PID")
    parser.add_argument("--rate", type=int, default=1000, metavar="HZ")
    parser.add_argument("--neighbour", type=int, default=0, metavar="MIB")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    arguments.peers = {name: shlex.split(command)
                       for name, _, command in (peer.partition("=") for peer in arguments.peer)}
    if arguments.process:
        measured = [bench_process(build / "tests/bpf", pid, arguments) for pid in arguments.process]
        return 0 if all(measured) else 77
    if not bench_reads(build / "tests/bpf", arguments.rounds) or not bench_depths(
            build / "tests/bpf", arguments.rounds, arguments.peers):
        print("bench.py: no runs; are there the rights to load programs?", file=sys.stderr)
        return 77
    bench_loads(build / "src/live-unwinder")
    return 0


if __name__ == "__main__":
    sys.exit(main())
