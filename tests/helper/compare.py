#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""compare.py - helpers side by side in one run: loss, cost, complete stacks, memory.

    compare.py [--stack-size KIB]… [--frequency HZ] [--workload NAME]… [--seconds N]
               [--json FILE] PLAY NAME=HELPER…

HELPER is a command line, as "live-unwinder" or "loader --library-path DIRECTORIES helper".  One line
for each workload, stack size and helper; helpers take turns on each, so that a busy machine is busy
for all of them.  The columns are the kernel's words (lost, CPU, memory) and the judge's (complete);
"deliv %" is samples of the workload over frequency times the CPU time it used.  The columns µs and
µs.run are CPU per sample of everything, and of the time of the workload alone.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile

import captures
import workloads

HEADINGS = ("workload", "KiB", "Hz", "helper", "samples", "lost", "lost %", "deliv %", "compl %",
            "outside %", "µs", "µs.run", "RssAnon", "fds", "stop ms", "end")
WIDTHS = (9, 4, 5, 9, 8, 6, 7, 8, 8, 9, 7, 7, 8, 6, 8, 0)
TIMEOUT = 300


def print_row(cells):
    print(" ".join(str(c).ljust(w) if i in (0, 3, 15) else str(c).rjust(w)
                   for i, (c, w) in enumerate(zip(cells, WIDTHS))).rstrip(), flush=True)


def play(program, helper, command, output, options=()):
    """Runs play; returns its result, or raises RuntimeError (skip reasons begin with SKIP)."""
    done = subprocess.run([program, "-o", output, *options, *helper, "--", *command],
                          capture_output=True, text=True, timeout=TIMEOUT, check=False,
                          stdin=subprocess.DEVNULL)
    line = next((x for x in done.stdout.splitlines() if x.startswith("{")), None)
    if line is None:
        raise RuntimeError((done.stdout + done.stderr).strip()[-300:] or "no result")
    return json.loads(line) | {"messages": done.stderr}


def measure(result, stream):
    """The figures of one run, from the result of play and the capture."""
    tree = captures.Tree(result["tree"])
    report = captures.judged(stream, tree)
    n = len(stream.capture.samples)
    during = sum(result["workload"]["began"] <= s.time <= result["workload"]["ended"]
                 for s in stream.capture.samples)
    expected = result["frequency"] * result["workload"]["cpu"]
    return {"samples": n, "lost": result["lost"],
            "lost_percent": 100.0 * result["lost"] / max(1, n + result["lost"]),
            "delivered_percent": 100.0 * report["samples"] / expected if expected else 0.0,
            "complete_percent": report["complete_percent"], "judged": report["judged"],
            "outside_percent": captures.outside_percent(stream, tree),
            "us_per_sample": 1e6 * result["cpu"] / max(1, n),
            "us_per_sample_run": 1e6 * result["cpu_during"] / max(1, during),
            "rss_anon_kib": result["rss_anon_kib"], "fds": result["fds"],
            "stop_ms": result["stop_ms"], "exit": result["exit"], "signal": result["signal"],
            "killed": result["killed"],
            "report": {k: v for k, v in report.items() if k != "examples"}}


def end_of(figures):
    if figures["killed"]:
        return "did not end"
    return f"signal {figures['signal']}" if figures["signal"] else f"exit {figures['exit']}"


def print_figures(workload, kib, frequency, name, f):
    print_row([workload, kib, frequency, name, f["samples"], f["lost"], f"{f['lost_percent']:.2f}",
               f"{f['delivered_percent']:.1f}", f"{f['complete_percent']:.2f}",
               f"{f['outside_percent']:.2f}", f"{f['us_per_sample']:.2f}",
               f"{f['us_per_sample_run']:.2f}", f"{f['rss_anon_kib'] / 1024:.1f}M", f["fds"],
               f"{f['stop_ms']:.1f}", end_of(f)])


def run(args, directory, workload, kib, frequency):
    """Runs one workload with every helper in turn; returns the measurements."""
    results = []
    for name, helper in args.helper:
        output = os.path.join(args.keep or directory,
                              f"{workload.name}-{kib}-{frequency}-{name}.syscap")
        try:
            command = workload.prepare(directory, args.seconds)
            result = play(args.play, helper, command, output,
                          [f"--stack-size={kib * 1024}", f"--frequency={frequency}",
                           *(["--alone"] if args.alone else [])])
            figures = measure(result, captures.read(output))
            print_figures(workload.name, kib, frequency, name, figures)
        except workloads.Skip as reason:
            print_row([workload.name, kib, frequency, name] + ["-"] * 11 + [f"skipped: {reason}"])
            continue
        except (RuntimeError, captures.syscap.SyscapError) as error:
            print_row([workload.name, kib, frequency, name] + ["-"] * 11 + [error])
            figures = {"error": str(error)}
        if not args.keep and os.path.exists(output):
            os.unlink(output)
        results.append({"workload": workload.name, "kib": kib, "frequency": frequency,
                        "helper": name, **figures})
    return results


def named_helper(text):
    name, _, command = text.partition("=")
    words = shlex.split(command)
    if not words or not os.access(words[0], os.X_OK):
        raise argparse.ArgumentTypeError(f"{text}: NAME=HELPER, with HELPER a program")
    return name, words


def parse_arguments(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("play")
    parser.add_argument("helper", nargs="+", type=named_helper, metavar="NAME=HELPER")
    parser.add_argument("--stack-size", type=int, action="append", metavar="KIB")
    parser.add_argument("--frequency", type=int, default=1000)
    parser.add_argument("--workload", action="append", choices=list(workloads.ALL))
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--alone", action="store_true",
                        help="sample the workloads alone, as other work on the machine disturbs")
    parser.add_argument("--keep", metavar="DIRECTORY", help="keep the captures here")
    parser.add_argument("--json", metavar="FILE")
    return parser.parse_args(argv)


def main(argv):
    args = parse_arguments(argv)
    results = []
    print_row(HEADINGS)
    with tempfile.TemporaryDirectory(prefix="helper-compare-") as directory:
        programs_directory = os.path.join(directory, "programs")
        os.mkdir(programs_directory)
        workloads.programs.set_directory(programs_directory)
        for kib in args.stack_size or [16]:
            for name in args.workload or workloads.ALL:
                results += run(args, directory, workloads.ALL[name], kib, args.frequency)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
    return 1 if any("error" in r for r in results) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
