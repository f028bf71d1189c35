#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""survey.py - records programs of many kinds with every engine, and looks for one wrong stack.

    survey.py [--kind NAME,…] [--engine NAME]… [--seconds N] [--keep DIRECTORY] LIVE_UNWINDER
    survey.py --into FILE [--least N] [--minutes N] … LIVE_UNWINDER
    survey.py --into FILE --table

Run by hand and by the stage `survey` of tools/check.  A stack is wrong that the recorder calls
complete and the judge refuses; one fails the survey.  How many stacks are complete is told, too;
run.py has goals for that.

With --into a survey can be made in pieces: the file keeps what each recording gave, the totals
are those of all runs, and what has --least stacks already is not recorded again.  The same command
with --minutes, repeated until it records nothing, makes the whole survey; --table prints the file
as a table of Markdown.
"""

import argparse
import collections
import configparser
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import generate
import programs
import run as runner

import fixture  # run.py knows where the judge is
import judge

ENGINES = ("auto", "table")
# High, and no multiple of what timers go by.
FREQUENCY = 4999
PREPARE_TIMEOUT = 300
WRONG = 3                       # stacks of each kind that are printed
SUMS = ("judged", "complete", "wrong", "calls_followed")

KINDS = os.path.join(programs.SOURCES, "kinds")


def read_kinds():
    """Name -> texts `needs`, `prepare` and `record`."""
    parser = configparser.ConfigParser(interpolation=None, delimiters=("=",))
    parser.read(os.path.join(KINDS, "kinds.ini"), encoding="utf-8")
    return {name: {key: parser[name].get(key, "").replace("\n", " ")
                   for key in ("needs", "prepare", "record")} for name in parser.sections()}


def prepare(kind, directory, seconds):
    """Returns the command; raises programs.Skip."""
    missing = [tool for tool in kind["needs"].split() if not shutil.which(tool)]
    if missing:
        raise programs.Skip(f"no {missing[0]}")
    os.environ.update(K=KINDS, S=str(max(1, round(seconds))))
    begin = f". {KINDS}/prelude.sh; "
    try:
        done = subprocess.run(["bash", "-c", f"{begin}{kind['prepare']}"], cwd=directory, text=True,
                              capture_output=True, timeout=PREPARE_TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        raise programs.Skip("preparing takes too long") from None
    if done.returncode != 0:
        raise programs.Skip(f"cannot be prepared: {done.stderr.strip()[-200:]}")
    return ["bash", "-c", f"cd {directory}; {begin}{kind['record']}"]


def prepare_inputs(directory):
    for name, text in (("lines", lambda: generate.lines(100000)),
                       ("large.c", lambda: generate.c_source(60)),
                       ("large.cc", lambda: generate.cc_source(1))):
        if not os.path.exists(os.path.join(directory, name)):
            with open(os.path.join(directory, name), "w", encoding="utf-8") as file:
                file.write(text())


@functools.cache
def vdso32():
    """A file with the vDSO of 32-bit processes, which this one does not have; None without it."""
    try:
        path = fixture.path("vdso32")
        fixture.run(fixture.build("stack.c", "stack32", "-m32", "-pthread"), path)
    except (unittest.SkipTest, subprocess.CalledProcessError):
        return None
    return path if os.path.exists(path) and os.path.getsize(path) > 0 else None


def choices():
    """Name -> function from directory and seconds to a command."""
    found = {w.name: lambda directory, seconds, w=w: w.prepare(seconds) for w in programs.ALL}
    found.update({name: lambda directory, seconds, kind=kind: prepare(kind, directory, seconds)
                  for name, kind in read_kinds().items()})
    return found


def survey(name, command, engine, args, directory):
    """Records and judges once; returns plain data."""
    found = runner.Run(f"{name.replace(' ', '-')}-{engine}")
    options = ["--engine", engine, "-F", str(args.frequency)]
    path = runner.record(found, os.path.abspath(args.recorder), options, command, directory)
    if path is not None:
        runner.judge_run(found, path, vdso32())
    if found.report is None:
        return {"kind": name, "engine": engine, "error": found.error}
    report = found.report
    if not report["refused"] and not args.keep:
        os.unlink(path)
    return {"kind": name, "engine": engine, "error": None, "judged": report["judged"],
            "complete": report["complete"], "wrong": sum(report["refused"].values()),
            "refused": report["refused"], "incomplete": report["incomplete"],
            "calls_followed": report["calls_followed"], "calls_open": report["calls_open"],
            "through_no_file": report["through_no_file"], "examples": report["examples"]}


def print_result(result):
    title = f"{result['kind']:<16} {result['engine']:<6}"
    if result["error"] is not None:
        print(f"{title} {result['error']}", flush=True)
        return
    judged = max(1, result["judged"])
    print(f"{title} {result['judged']:>8} {100 * result['complete'] / judged:>8.2f} "
          f"{result['wrong']:>6} {result['calls_followed']:>9}", flush=True)
    for reason, count in result["refused"].items():
        print(f"    WRONG {count}: {reason}")
    for example in result["examples"][:WRONG]:
        print(f"    {example['reason']}: time {example['time']}")
        for at, name in enumerate(example["frames"]):
            print(f"      {'>' if at == example['frame'] else ' '} {name}")


def add_up(results):
    """(kind, engine) -> Counter of SUMS, over all recordings that were judged."""
    sums = collections.defaultdict(collections.Counter)
    for result in results:
        if result["error"] is None:
            sums[result["kind"], result["engine"]].update({key: result[key] for key in SUMS})
    return sums


def print_totals(results):
    sums = add_up(results)
    total = collections.Counter()
    for engine in sorted({engine for _, engine in sums}):
        found = collections.Counter()
        for (_, other), counter in sums.items():
            if other == engine:
                found.update(counter)
        total.update(found)
        print(f"{engine}: {found['judged']} stacks, {found['complete']} complete, "
              f"{found['wrong']} wrong")
    print(f"{len({kind for kind, _ in sums})} kinds, {total['judged']} stacks, "
          f"{total['complete']} complete, {total['calls_followed']} calls followed, "
          f"{total['wrong']} wrong")
    return total["wrong"]


def table(results):
    """The lines of a table of Markdown: one for each kind, three columns for each engine."""
    sums = add_up(results)
    engines = sorted({engine for _, engine in sums})
    lines = ["| program |" + "".join(f" {e} stacks | complete % | wrong |" for e in engines),
             "|---|" + "---:|" * 3 * len(engines)]
    for kind in sorted({kind for kind, _ in sums}):
        line = f"| {kind} |"
        for engine in engines:
            found = sums.get((kind, engine))
            line += (f" {found['judged']:,} | {100 * found['complete'] / max(1, found['judged']):.2f}"
                     f" | {found['wrong']} |" if found else " | | |")
        lines.append(line)
    return lines


def read_results(path):
    if path is None or not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def write_results(path, results):
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(results, file, indent=1)
    os.replace(path + ".new", path)


def kind_names(text):
    names = text.split(",")
    unknown = [name for name in names if name not in choices()]
    if unknown:
        raise argparse.ArgumentTypeError(f"no kind {', '.join(unknown)}; "
                                         f"there are {', '.join(choices())}")
    return names


def parse_arguments(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recorder", metavar="LIVE_UNWINDER", nargs="?")
    parser.add_argument("--kind", action="extend", type=kind_names, metavar="NAME,…")
    parser.add_argument("--engine", action="append")
    parser.add_argument("--seconds", type=float, default=3.0, help="of each kind and engine")
    parser.add_argument("--frequency", type=int, default=FREQUENCY)
    parser.add_argument("--keep", metavar="DIRECTORY", help="keep captures and build results here")
    parser.add_argument("--into", metavar="FILE", help="add the results to those in this file")
    parser.add_argument("--least", type=int, metavar="N",
                        help="leave out what has this many stacks in the file")
    parser.add_argument("--minutes", type=float, help="begin no recording after this time")
    parser.add_argument("--table", action="store_true", help="only print the file as a table")
    args = parser.parse_args(argv)
    if (args.recorder is None) != args.table or (args.table and args.into is None):
        parser.error("LIVE_UNWINDER, or --table and --into FILE, must be given")
    return args


def to_record(args, results):
    """Name, function that makes the command, and engine of each recording to be made; first what
    has the fewest stacks."""
    sums = add_up(results)
    wanted = [(name, make, engine) for name, make in choices().items()
              for engine in args.engine or ENGINES
              if (not args.kind or name in args.kind)
              and (args.least is None or sums[name, engine]["judged"] < args.least)]
    return sorted(wanted, key=lambda one: sums[one[0], one[2]]["judged"])


def failures(results):
    return [r for r in results if r["error"] is not None and not r["error"].startswith("SKIP")]


def survey_all(args, directory, earlier):
    """Returns the results of this run."""
    end = None if args.minutes is None else time.monotonic() + 60 * args.minutes
    results = []
    print(f"{'kind':<16} {'engine':<6} {'stacks':>8} {'compl %':>8} {'wrong':>6} {'calls':>9}")
    for name, make, engine in to_record(args, earlier):
        if end is not None and time.monotonic() > end:
            print("The time is over; the same command goes on.")
            break
        try:
            results.append(survey(name, make(directory, args.seconds), engine, args, directory))
        except programs.Skip as reason:
            results.append({"kind": name, "engine": engine, "error": f"SKIP {reason}"})
        print_result(results[-1])
        if args.into:
            write_results(args.into, [r for r in earlier + results if r["error"] is None])
    return results


def main(argv):
    args = parse_arguments(argv)
    earlier = read_results(args.into)
    if args.table:
        print("\n".join(table(earlier)))
        return 0
    with tempfile.TemporaryDirectory(prefix="survey-") as temporary:
        directory = os.path.abspath(args.keep or temporary)
        os.makedirs(directory, exist_ok=True)
        programs.set_directory(directory)
        reason = runner.why_it_cannot_record(os.path.abspath(args.recorder), directory)
        if reason is not None:
            print(f"SKIP: cannot record here: {reason}")
            return runner.SKIP
        prepare_inputs(directory)
        results = survey_all(args, directory, earlier)
    return 1 if print_totals(earlier + results) or failures(results) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
