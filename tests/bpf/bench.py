#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""bench.py BUILD [ROUNDS] - what a walk in the kernel costs at several depths, beside the kernel's own.

Used by hand, and as a benchmark. Each round runs, at each depth, the program on a tower of calls
without frame pointers and the kernel's walk along frame pointers (bpf_get_stack) on the same tower
with them; the least of all rounds counts, since a busy machine only adds. Prints one JSON line for
each depth, and one with what a frame and a walk without frames cost by the outermost two."""

import json
import subprocess
import sys
from pathlib import Path

# Frames of the tower; below them are main and those of libc.
DEPTHS = (2, 9, 31, 61, 121)
PERIOD_NS = 100003
TIME_MS = 200


def last_line(command):
    run = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                         check=False, timeout=60)
    return json.loads(run.stdout) if run.returncode == 0 else None


def least(results):
    return min((r for r in results if r and r["runs"] >= 20), key=lambda r: r["ns_per_run"],
               default=None)


def measure(folder, depth, rounds):
    ours, floors, kept = [], [], []
    for _ in range(rounds):
        ours.append(last_line([folder / "bench-walk", "--wait", 20, "--time", TIME_MS, "--period",
                               PERIOD_NS, "--", folder / "tower", depth]))
        kept.append(last_line([folder / "bench-walk", "--no-cache", "--wait", 20, "--time", TIME_MS,
                               "--period", PERIOD_NS, "--", folder / "tower", depth]))
        floors.append(last_line([folder / "bench-floor", 0, PERIOD_NS, TIME_MS, folder / "tower-fp",
                                 depth]))
    return least(ours), least(kept), least(floors)


def main():
    folder = Path(sys.argv[1]) / "tests/bpf"
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    points = []
    for depth in DEPTHS:
        ours, uncached, floor = measure(folder, depth, rounds)
        if not ours or not floor:
            print("bench.py: no runs; are there the rights to load programs?", file=sys.stderr)
            return 77
        points.append((ours["frames"], ours["ns_per_run"]))
        print(json.dumps({
            "frames": round(ours["frames"], 1), "ns_per_walk": round(ours["ns_per_run"]),
            "without_remembered_rules": round(uncached["ns_per_run"]) if uncached else None,
            "bytes": round(ours["bytes"]),
            "frame_pointer_frames": floor["frames"],
            "frame_pointer_ns": round(floor["ns_per_run"]),
        }), flush=True)
    (few, cheap), (many, dear) = points[0], points[-1]
    each = (dear - cheap) / (many - few)
    print(json.dumps({"ns_per_frame": round(each, 1), "ns_fixed": round(cheap - few * each)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
