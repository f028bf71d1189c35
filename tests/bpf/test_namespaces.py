#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""test_namespaces.py LIVE_UNWINDER - records across pid namespaces.

A process has a different pid in each pid namespace. The BPF program must use the one that side-band and
the recorder's /proc use: if the recorder has a namespace of its own, if the recorded processes are in
nested ones, and in a system-wide recording while other processes are outside. Prints TAP."""

import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "judge"))
import kernel_walks  # noqa: E402  (needs the path above)
import syscap  # noqa: E402  (needs the path above)

TRIES = 4
ENOUGH_SAMPLES = 40
UNSHARE = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
# Keeps a CPU busy for the given number of seconds.
SPIN = ["sh", "-c", "t=$1; shift; exec timeout $t sh -c 'while :; do :; done'", "spin"]
# A shell in the new namespace starts the process to be recorded and the recorder.
BESIDE = ["sh", "-c", "spin=$1; shift; sh -c \"$spin\" & \"$@\"", "beside", "exec timeout 2 sh -c 'while :; do :; done'"]


def record(program, *arguments, before=()):
    """Returns (statistics, capture, messages); statistics are None if the recorder failed. Tries again if
    there are few samples, because a busy machine may not run the recorded process soon enough."""
    for _ in range(TRIES):
        found = record_once(program, *arguments, before=before)
        if found[0] is None or found[0]["samples"] >= ENOUGH_SAMPLES:
            break
    return found


def record_once(program, *arguments, before):
    with tempfile.TemporaryDirectory(prefix="namespaces-") as directory:
        path = os.path.join(directory, "x.syscap")
        result = subprocess.run([*before, program, "-q", "--stats", "json", "-o", path, *arguments],
                                capture_output=True, text=True, check=False, timeout=60)
        lines = [line for line in result.stderr.splitlines() if line.startswith("{")]
        said = " ".join(result.stderr.split())
        if not lines or not os.path.exists(path):
            return None, None, said
        return json.loads(lines[-1]), syscap.read(path), said


def reason_to_skip(stats, said):
    """Why nothing was walked in the kernel, of what record() has returned."""
    return kernel_walks.reason_to_skip(said if stats is None else stats["kernel_walks"]["reason"])


class Report:
    def __init__(self):
        self.number = 0

    def __call__(self, name, is_good):
        self.number += 1
        print(f"{'ok' if is_good else 'not ok'} {self.number} - {name}", flush=True)


def is_walked(stats):
    """Most stacks were unwound by BPF; a short recording has some before its tables are
    published."""
    if stats is None:
        return False
    walks = stats["kernel_walks"]
    print(f"# {stats['samples']} samples, {stats['complete_percent']:.2f} % complete, walks: {walks.get('percent')} %, "
          f"{walks['reason']}, {walks.get('reasons')}")
    return walks["active"] and walks["percent"] > 50 and stats["complete_percent"] > 90


def check_inside(report, program):
    stats, _, said = record(program, "--engine", "bpf", "--", *SPIN, "0.5", before=UNSHARE)
    print(f"# {said[:200]}")
    report("the recorder in a namespace", is_walked(stats))
    stats, _, _ = record(program, "--engine", "bpf", "--", *UNSHARE, *UNSHARE, *SPIN, "0.5", before=UNSHARE)
    report("and what it records in another one below", is_walked(stats))
    stats, _, _ = record(program, "--engine", "bpf-check", "--", *SPIN, "0.5", before=UNSHARE)
    print(f"# {stats['check']}")
    report("walks there are what the engines say",
           stats["check"]["kernel_compared"] > 20 and stats["check"]["kernel_differ"] == 0)


def check_beside(report, program):
    with subprocess.Popen(["sh", "-c", "exec timeout 5 sh -c 'while :; do :; done'"]) as outside:
        stats, capture, _ = record(program, "--engine", "bpf", "--all", "--duration", "0.5",
                                   before=UNSHARE + BESIDE)
        report("system-wide in a namespace", is_walked(stats))
        pids = {sample.pid for sample in capture.samples}
        print(f"# processes in the capture: {sorted(pids)}")
        report("of what is outside there are no samples", pids and min(pids) > 0)
        stats, capture, _ = record(program, "--engine", "table", "--all", "--duration", "0.5", before=UNSHARE + BESIDE)
        pids = {sample.pid for sample in capture.samples}
        print(f"# processes in the capture: {sorted(pids)}, samples of others: {stats['other_samples']}")
        report("with copies, too", pids and min(pids) > 0 and stats["other_samples"] > 20)
        outside.terminate()


def check_foreign_proc(report, program):
    stats, _, said = record(program, "--all", "--duration", "0.5", before=["unshare", "--pid", "--fork"])
    print(f"# {said}")
    report("/proc of another namespace is refused", stats is None and "/proc" in said)


def main(argv):
    program = argv[1]
    allowed = subprocess.run([*UNSHARE, "true"], capture_output=True, text=True, check=False)
    if allowed.returncode != 0:
        print(f"1..0 # SKIP no pid namespaces: {' '.join(allowed.stderr.split())}")
        return 0
    stats, _, said = record(program, "--engine", "bpf", "--", *UNSHARE, *SPIN, "0.5")
    if stats is None or not stats["kernel_walks"]["active"]:
        print(f"1..0 # SKIP {reason_to_skip(stats, said)}")
        return 0
    print("1..8")
    report = Report()
    report("what is recorded is in a namespace", is_walked(stats))
    check_inside(report, program)
    check_beside(report, program)
    check_foreign_proc(report, program)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
