#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""run.py - records real programs, lets the judge decide, and prints one line for each.

    run.py [--workload NAME]… [--seconds N] [--check] LIVE_UNWINDER

Run by hand and by the long tests.  What it says comes from the capture, the ELF files and the
kernel: the CPU time that the number of samples is compared with is measured by cputime.c around the
command, and the recorder's own CPU time is what is left of the kernel's account for the whole run.
Only the columns "ours", "joined" and "lost" are the recorder's own words; joined stacks have outer
frames of other samples, which the judge cannot tell from the sample's own.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time

import programs

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "judge"))
import judge  # noqa: E402  (needs the path above)
import syscap  # noqa: E402

FREQUENCY = 999
MIN_DELIVERED = 98.0
POLL = 0.02
RECORD_TIMEOUT = 300
SKIP = 77


class Watch(threading.Thread):
    """Follows anonymous memory and descriptors of process @pid until stop()."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.rss_kib, self.descriptors = pid, 0, 0
        self._end = threading.Event()

    def run(self):
        while not self._end.wait(POLL):
            try:
                with open(f"/proc/{self.pid}/status", encoding="ascii", errors="replace") as file:
                    for line in file:
                        if line.startswith("RssAnon:"):
                            self.rss_kib = max(self.rss_kib, int(line.split()[1]))
                self.descriptors = max(self.descriptors, len(os.listdir(f"/proc/{self.pid}/fd")))
            except OSError:
                continue

    def stop(self):
        self._end.set()
        self.join()


class Run:
    """One recording of one workload and what was measured about it."""

    def __init__(self, name):
        self.name = name
        self.cpu = self.own_cpu = self.wall = 0.0
        self.wrapper_pid = -1
        self.rss_kib = self.descriptors = 0
        self.stats, self.error = {}, None
        self.report, self.samples = None, 0

    @property
    def delivered(self):
        return 100.0 * self.samples / (FREQUENCY * self.cpu) if self.cpu else 0.0


def find_key(tree, *names):
    """The first value under any key path of @names ("a.b") in the stats, or None."""
    for name in names:
        node = tree
        for part in name.split("."):
            node = node.get(part) if isinstance(node, dict) else None
        if node is not None:
            return node
    return None


def parse_stats(text):
    """Returns the line of --stats json among the recorder's and the workload's standard error."""
    for line in reversed(text.splitlines()):
        if line.startswith("{"):
            try:
                return json.loads(line)
            except ValueError:
                continue
    return {}


def record(run, recorder, options, command, directory):
    """Records @command; fills @run; returns the path of the capture, or None."""
    capture = os.path.join(directory, run.name + ".syscap")
    usage_file = os.path.join(directory, run.name + ".cpu")
    errors = os.path.join(directory, run.name + ".err")
    begin = time.monotonic()
    with open(errors, "wb") as err:
        child = subprocess.Popen(
            [recorder, "--quiet", "--stats", "json", "--force", "--native-frames", "-o",
             capture, *options, "--",
             programs.cputime(), usage_file, *command],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=err)
        timer = threading.Timer(RECORD_TIMEOUT, child.kill)
        timer.start()
        watch = Watch(child.pid)
        watch.start()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        timer.cancel()
        watch.stop()
    run.wall = time.monotonic() - begin
    run.rss_kib, run.descriptors = watch.rss_kib, watch.descriptors
    with open(errors, encoding="utf-8", errors="replace") as err:
        text = err.read()
    run.stats = parse_stats(text)
    if child.returncode != 0 or not os.path.exists(usage_file):
        run.error = f"exit status {child.returncode}: {text.strip()[-300:] or 'no message'}"
        return None
    with open(usage_file, encoding="ascii") as file:
        cpu, pid = file.read().split()
    run.cpu, run.wrapper_pid = float(cpu), int(pid)
    run.own_cpu = usage.ru_utime + usage.ru_stime - run.cpu
    return capture


def judge_run(run, path, vdso32=None):
    try:
        capture = syscap.read(path)
    except (OSError, syscap.SyscapError) as error:
        run.error = f"capture: {error}"
        return
    found = judge.Judge(capture, lambda sample: sample.pid != run.wrapper_pid, vdso32)
    run.report, run.samples = found.report(), found.samples


def run_workload(workload, recorder, args, directory):
    run = Run(workload.name)
    try:
        command = workload.prepare(args.seconds)
    except programs.Skip as reason:
        run.error = f"SKIP {reason}"
        return run
    path = record(run, recorder, args.option, command, directory)
    if path is not None:
        judge_run(run, path)
    return run


def faults(workload, run):
    """Returns why @run is not good, as text; empty if it is."""
    found = []
    report = run.report
    if workload.goal is not None and report["complete_percent"] < workload.goal:
        found.append(f"complete {report['complete_percent']:.2f} % < {workload.goal} %")
    if run.delivered < MIN_DELIVERED:
        found.append(f"delivered {run.delivered:.1f} % < {MIN_DELIVERED} %")
    if workload.max_rss_mib is not None and run.rss_kib > workload.max_rss_mib * 1024:
        found.append(f"RssAnon {run.rss_kib / 1024:.0f} MiB > {workload.max_rss_mib} MiB")
    most = 32 + 4 * os.cpu_count()
    if run.descriptors > most:
        found.append(f"{run.descriptors} descriptors > {most}")
    return found


HEADINGS = ("workload", "judge %", "ours %", "claimed %", "joined", "samples", "excl %", "CPU s",
            "deliv %", "lost", "own CPU %", "RssAnon", "fds", "verdict")
WIDTHS = (10, 8, 8, 9, 7, 8, 7, 7, 8, 6, 9, 8, 4, 0)


def print_row(cells):
    row = " ".join(str(c).ljust(w) if i in (0, len(cells) - 1) else str(c).rjust(w)
                   for i, (c, w) in enumerate(zip(cells, WIDTHS)))
    print(row.rstrip(), flush=True)


def print_run(workload, run):
    if run.report is None:
        print_row([run.name] + ["-"] * 12 + [run.error])
        return
    report = run.report
    excluded = sum(report["excluded"].values())
    ours = find_key(run.stats, *programs.STATS_COMPLETE)
    joined = find_key(run.stats, *programs.STATS_JOINED)
    lost = find_key(run.stats, *programs.STATS_LOST)
    bad = faults(workload, run)
    verdict = "for information" if workload.goal is None else "; ".join(bad) or "good"
    print_row([run.name, f"{report['complete_percent']:.2f}",
               "?" if ours is None else f"{ours:.2f}", f"{report['claimed_percent']:.2f}",
               "?" if joined is None else joined, run.samples,
               f"{100 * excluded / max(1, run.samples):.1f}", f"{run.cpu:.2f}",
               f"{run.delivered:.1f}", "?" if lost is None else lost,
               f"{100 * run.own_cpu / run.cpu:.1f}", f"{run.rss_kib / 1024:.1f}M",
               run.descriptors, verdict])


def parse_arguments(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recorder", metavar="LIVE_UNWINDER")
    parser.add_argument("--workload", action="append", choices=[w.name for w in programs.ALL])
    parser.add_argument("--seconds", type=float, default=9.0, help="CPU seconds of each workload")
    parser.add_argument("--option", action="append", default=[],
                        help="one more option for the recorder, as --option=--stack-size=65528")
    parser.add_argument("--tries", type=int, default=1,
                        help="record a workload again that misses a goal, as short runs vary")
    parser.add_argument("--check", action="store_true", help="fail when a goal is missed")
    parser.add_argument("--keep", metavar="DIRECTORY", help="keep captures and build results here")
    parser.add_argument("--details", action="store_true", help="print the judge's report of each")
    parser.add_argument("--json", metavar="FILE", help="write all results as JSON")
    return parser.parse_args(argv)


def run_all(args, directory):
    """Runs the workloads of @args; returns (results as plain data, number of failures)."""
    failures, results = 0, {}
    print_row(HEADINGS)
    for workload in programs.ALL:
        if args.workload and workload.name not in args.workload:
            continue
        for _ in range(args.tries):
            run = run_workload(workload, os.path.abspath(args.recorder), args, directory)
            print_run(workload, run)
            if run.report is None or workload.goal is None or not faults(workload, run):
                break
        if run.report is None:
            failures += not run.error.startswith("SKIP")
        else:
            failures += bool(workload.goal is not None and faults(workload, run))
            if args.details:
                judge.print_report(run.report, sys.stdout)
        results[run.name] = {"error": run.error, "judge": run.report, "cpu": run.cpu,
                             "own_cpu": run.own_cpu, "delivered_percent": run.delivered,
                             "rss_anon_kib": run.rss_kib, "descriptors": run.descriptors,
                             "stats": run.stats}
    return results, failures


def why_it_cannot_record(recorder, directory):
    """Why an ordinary user is not allowed to record here, or None."""
    if os.geteuid() == 0:
        return None
    done = subprocess.run([recorder, "--quiet", "--stats", "none", "--force", "-o",
                           os.path.join(directory, "try.syscap"), "--", "true"],
                          capture_output=True, text=True, check=False)
    denied = "perf_event_paranoid" in done.stderr or "ermission" in done.stderr
    return done.stderr.strip() if done.returncode != 0 and denied else None


def main(argv):
    args = parse_arguments(argv)
    with tempfile.TemporaryDirectory(prefix="workloads-") as temporary:
        directory = args.keep or temporary
        os.makedirs(directory, exist_ok=True)
        programs.set_directory(os.path.abspath(directory))
        reason = why_it_cannot_record(os.path.abspath(args.recorder), directory)
        if reason is not None:
            print(f"SKIP: cannot record here: {reason}")
            return SKIP
        results, failures = run_all(args, directory)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
    return 1 if failures and args.check else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
