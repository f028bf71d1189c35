#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""Checks that the machine that reads a recording makes no difference.

usage: both.py CROSS-FILE CROSS-LIVE-UNWINDER LIVE-UNWINDER

A program is recorded on this machine, by us and by perf.  The build for another architecture, emulated,
makes the same bytes of each output format as the build for this one, and unwinds perf's copies of
stacks to the same frames.  Prints TAP; exit status 77 if nothing can be recorded."""

import configparser
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FORMATS = ["folded", "html", "speedscope", "firefox", "perf", "pprof", "perfetto", "callgrind"]
WORKLOAD = [sys.executable, "-S", "-c", "import json\nfor i in range(900): json.dumps(list(range(9000)))"]
LEAST_SAMPLES = 100
LEAST_COMPLETE = 0.95
LIMIT = 300     # seconds


def emulated(cross_file, program):
    """Returns the command that runs a program of the other architecture with its libraries, but this
    system's files."""
    properties = configparser.ConfigParser()
    properties.read(cross_file)
    root = properties["properties"]["sys_root"].strip("'")
    loader = next(Path(root).rglob("ld-linux-aarch64.so.1"))
    directories = [str(path.parent) for path in Path(root).rglob("libc.so.6")]
    return ["qemu-aarch64", str(loader), "--library-path", ":".join(directories), program]


def run(command, directory):
    """Returns what a command prints; it must succeed."""
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=LIMIT, check=False,
                          env={**os.environ, "LIVE_UNWINDER_STORE": "", "DEBUGINFOD_URLS": ""})
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class Both:
    """The two builds, and the directory in which they work."""

    def __init__(self, here, there, directory):
        self.commands = {"here": here, "there": there}
        self.directory = Path(directory)
        self.n = self.n_failed = 0

    def result(self, is_right, title):
        self.n += 1
        self.n_failed += not is_right
        print(f"{'ok' if is_right else 'not ok'} {self.n} - {title}", flush=True)

    def make(self, *arguments):
        """Has each build make a file, and returns what they made."""
        made = []
        for name, command in self.commands.items():
            run([*command, *arguments, f"out.{name}"], self.directory)
            made.append((self.directory / f"out.{name}").read_bytes())
        return made

    def check_outputs(self):
        for name in FORMATS:
            here, there = self.make("convert", "--force", f"--format={name}", "x.syscap")
            self.result(here == there and here, f"the same {name} of a recording, {len(here)} bytes")

    def check_report(self):
        here, there = (run([*command, "report", "x.syscap"], self.directory) for command in self.commands.values())
        self.result(here == there, "the same report of a recording")

    def check_perf_data(self):
        for engine in ("table", "dwfl"):
            stacks = []
            for name, command in self.commands.items():
                capture = f"{engine}.{name}.syscap"
                run([*command, "--quiet", "--force", "--engine", engine, "--input", "perf.data", "-o", capture],
                    self.directory)
                stacks.append(run([*self.commands["here"], "convert", "--format=folded", capture, "-"], self.directory))
            counts = {line.rsplit(" ", 1)[0]: int(line.rsplit(" ", 1)[1]) for line in stacks[0].splitlines()}
            n = sum(counts.values())
            complete = sum(count for stack, count in counts.items() if "_start" in stack)
            self.result(stacks[0] == stacks[1] and n >= LEAST_SAMPLES and complete >= LEAST_COMPLETE * n,
                        f"the same {n} stacks of perf.data by {engine}, {complete} from the start of the program")


def main():
    cross_file, there, here = (os.path.abspath(argument) for argument in sys.argv[1:])
    if not shutil.which("qemu-aarch64") or not shutil.which("perf"):
        print("qemu-aarch64 or perf is not installed")
        return 77
    with tempfile.TemporaryDirectory() as directory:
        both = Both([here], emulated(cross_file, there), directory)
        recorded = subprocess.run([here, "-q", "-F", "997", "-o", "x.syscap", "--", *WORKLOAD], cwd=directory, check=False)
        if recorded.returncode != 0:
            print("nothing can be recorded here")
            return 77
        run(["perf", "record", "-q", "-F", "499", "--call-graph", "dwarf,16384", "-o", "perf.data", *WORKLOAD], directory)
        both.check_outputs()
        both.check_report()
        both.check_perf_data()
        print(f"1..{both.n}")
        return both.n_failed > 0


if __name__ == "__main__":
    sys.exit(main())
