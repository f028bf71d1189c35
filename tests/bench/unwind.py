#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""unwind.py - the speed of the engines on nine recorded sets, beside what it is meant to be.

    unwind.py [--install] [--set NAME]… [--directory DIRECTORY] [--check] BENCH_UNWIND

Records the sets at the first run (sets.py).  One line per set, ns of CPU time per frame, of the
table engine unless said otherwise.  "first" has all opening and compiling in it and is compared with
what framehop needed for samples of the same kind, scaled by libdwfl's warm time here and there;
"warm" with a loop that only reads the same words; "ready" is what of it remains when that loop has
been there just before, so nothing that the memory of stacks is to blame for.  --check fails where a
figure misses its goal.
Timing wants a quiet machine; everything runs pinned to one CPU.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys

import sets

GOAL_HOT_MEDIAN, GOAL_HOT = 8.0, 16.0      # ns per frame
GOAL_WARM = 1.5                            # times the read loop
GOAL_FIRST = 0.6                           # times framehop's scaled time
GOAL_TABLE_BYTES = 2_000_000


def install():
    """Returns the packages of missing programs, by the names that apt knows."""
    missing = [name for name in sets.PACKAGES
               if subprocess.run(["dpkg-query", "-W", name], check=False,
                                 stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL).returncode != 0]
    if missing:
        subprocess.run(["apt-get", "-q", "-y", "-o", "DPkg::Lock::Timeout=300", "install",
                        "--no-install-recommends", *missing], check=True,
                       stdout=subprocess.DEVNULL)


def measure(bench, path):
    """{engine: figures} of one set."""
    cpu = max(os.sched_getaffinity(0))
    done = subprocess.run(["taskset", "-c", str(cpu), bench, path], stdout=subprocess.PIPE,
                          text=True, check=True)
    return {line["engine"]: line for line in map(json.loads, done.stdout.splitlines())}


def misses(figures):
    """Returns the figures of one set that miss their goals."""
    found = []
    if figures["hot"] > GOAL_HOT:
        found.append("hot")
    if figures["warm_ratio"] > GOAL_WARM:
        found.append("warm")
    if figures["first_ratio"] > GOAL_FIRST:
        found.append("first")
    if figures["table_bytes"] > GOAL_TABLE_BYTES:
        found.append("tables")
    if figures["different"]:
        found.append("stacks differ")
    return found


def show(one, table, dwfl):
    scaled = one.framehop_first * dwfl["warm"] / one.libdwfl_warm
    # A set whose samples are all handed on reads nothing.
    table["warm_ratio"] = table["warm"] / table["read"] if table["words_per_frame"] else 0.0
    table["first_ratio"] = table["first"] / scaled
    print(f"{one.name:8} {table['samples']:6} {table['frames'] / table['samples']:6.1f} "
          f"{table['handed_percent']:6.2f} {dwfl['warm']:7.0f} {dwfl['hot']:7.0f} "
          f"{table['first']:7.1f} {table['opening']:7.1f} {table['first_ratio']:6.2f} "
          f"{table['warm']:6.1f} {table['ready']:6.1f} {table['read']:6.1f} "
          f"{table['warm_ratio']:6.2f} "
          f"{table['hot']:6.1f} {table['hot_us_per_sample']:6.2f} "
          f"{table['table_bytes'] / 1000:6.0f} {table['different']:5}  "
          f"{', '.join(misses(table))}", flush=True)
    return table


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--install", action="store_true", help="install missing programs by apt")
    parser.add_argument("--set", action="append", choices=[one.name for one in sets.SETS])
    parser.add_argument("--directory", help="where recorded sets are kept (beside BENCH_UNWIND)")
    parser.add_argument("--check", action="store_true", help="fail if a goal is missed")
    parser.add_argument("bench", metavar="BENCH_UNWIND")
    arguments = parser.parse_args()
    directory = arguments.directory or os.path.join(os.path.dirname(os.path.abspath(arguments.bench)),
                                              "sets")
    if arguments.install:
        install()
    print("                   frames  to %    dwfl    dwfl                   of fh                "
          "       warm/           us/ tables")
    print("set     samples /sample   dwfl    warm     hot   first opening goal.6   warm  ready   "
          "read   read    hot sample   KB  diff  misses")
    results = []
    for one in sets.SETS:
        if arguments.set and one.name not in arguments.set:
            continue
        try:
            figures = measure(arguments.bench, sets.record(one, directory))
        except sets.programs.Skip as skip:
            print(f"{one.name:8} skipped: {skip}")
            continue
        results.append(show(one, figures["table"], figures["dwfl"]))
    if not results:
        return 77
    median = statistics.median(figures["hot"] for figures in results)
    print(f"hot, median of the sets: {median:.1f} ns per frame (goal {GOAL_HOT_MEDIAN})")
    failed = median > GOAL_HOT_MEDIAN or any(misses(figures) for figures in results)
    return 1 if arguments.check and failed else 0


if __name__ == "__main__":
    sys.exit(main())
