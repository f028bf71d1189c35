#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""storm.py - a helper in a storm of short processes, for as long as asked.

    storm.py [--minutes N] [--frequency HZ] [--stack-size BYTES] PLAY HELPER [WORD…]

Run by hand, half an hour before a release.  After a sixth of the time memory and descriptors must
not grow any more, nothing may be lost, and what the kernel delivered must be accounted for in the
helper's own last line.  Prints memory over time; exit status 1 if a limit is broken.
"""

import argparse
import json
import os
import subprocess
import sys

MAX_GROWTH_KIB = 1024
STORM = """
while :; do
  /bin/true & /bin/ls >/dev/null & /bin/sh -c : & wait
  for i in 1 2 3 4 5 6 7 8; do /bin/true; (:); done
done
"""


def play(args):
    command = [args.play, f"--seconds={60 * args.minutes}", "--no-tree",
               f"--series={max(1, int(args.minutes))}", f"--frequency={args.frequency}",
               f"--stack-size={args.stack_size}", *args.options, *args.helper,
               "--", "nice", "/bin/bash", "-c", STORM]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False,
                          stdin=subprocess.DEVNULL)
    if not done.stdout.startswith("{"):
        raise SystemExit(done.stdout or "play printed nothing")
    return json.loads(done.stdout)


def problems(args, result):
    """Returns the problems, as texts."""
    settled = [point for point in result["series"] if point[0] >= 10 * args.minutes]
    growth = settled[-1][1] - settled[0][1]
    most = 32 + 4 * os.cpu_count()
    if growth > MAX_GROWTH_KIB:
        yield f"RssAnon grew by {growth} KiB after a sixth of the time"
    if result["fds"] > most:
        yield f"{result['fds']} descriptors, not {most}"
    if result["lost"]:
        yield f"{result['lost']} samples were lost"
    if result["killed"] or result["exit"] != 0:
        yield f"ended with {result['exit']}, signal {result['signal']}"
    if result["fault"]:
        yield f"the stream is broken: {result['fault']}"


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--frequency", type=int, default=1000)
    parser.add_argument("--stack-size", type=int, default=16384)
    parser.add_argument("--alone", action="append_const", dest="options", const="--alone",
                        default=[], help="sample the storm alone, not the whole machine")
    parser.add_argument("play")
    parser.add_argument("helper", nargs="+")
    args = parser.parse_args(argv)
    result = play(args)
    for point in result["series"]:
        print("{:8.0f} s  RssAnon {:6d} KiB  RSS {:7d} KiB  {:4d} descriptors".format(*point))
    print(f"{result['samples']} samples, {result['lost']} lost, "
          f"{1e6 * result['cpu'] / max(1, result['samples']):.2f}"
          f" µs of CPU for each, {result['bytes']} bytes; its last line: {result['last_log']}")
    found = list(problems(args, result))
    for text in found:
        print(f"storm: {text}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
