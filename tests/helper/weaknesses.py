#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""weaknesses.py - does a helper avoid what is wrong with the one that Sysprof 48 ships?

    weaknesses.py [--list] [--shipped] [--tries N] BUILD HELPER-COMMAND [CHECK…]

Used by meson, one check for each test, and by hand; BUILD is the build directory, the checks are in
checks.py.  With --shipped the helper is expected to fail every check that is not common: that is
how the checks themselves are tested.  Exit status 0 good, 1 faults, 77 nothing could run here.
"""

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import captures
import checks
import compare
import replay

import check as programs_check  # from tests/programs, whose path checks.py has added
import stacks

SKIP = 77


class Result(dict):
    """The output of play, with the capture and the samples of the workload."""

    def __init__(self, values, path):
        super().__init__(values)
        self.stream = captures.read(path)
        self.tree = captures.Tree(self["tree"])

    def samples(self):
        return (s for s in self.stream.capture.samples if self.tree.has(s))

    def raw_samples(self):
        return (s for s in self.stream.raw if self.tree.has(s))


class Bench:
    """One helper under test and what the checks need around it."""

    def __init__(self, build, helper, directory):
        self.build, self.helper, self.directory = Path(build).resolve(), helper, Path(directory)
        self.quick = False
        self._ends_replays = None

    def program(self, name):
        for directory in ("tests/helper", "tests/programs"):
            path = self.build / directory / name
            if path.exists():
                return str(path)
        raise checks.Skip(f"{name} was not built")

    def deep(self):
        return self.program("deep")

    def python_workload(self, seconds):
        return [checks.tool("python3"),
                os.path.join(checks.HERE, "..", "workloads", "interpreter.py"), str(seconds)]

    def outcome(self, command, *options, helper=None):
        """Returns play's output without reading the capture."""
        return compare.play(str(self.build / "tests/helper/play"), helper or self.helper, command,
                            str(self.directory / "capture.syscap"), options)

    def play(self, command, *options, helper=None):
        path = self.directory / "capture.syscap"
        values = self.outcome(command, *options, helper=helper)
        if values["messages"].strip():
            print("# " + values["messages"].strip().replace("\n", "\n# "))
        return Result(values, path)

    def replay(self, rings, **options):
        return replay.run(self.helper, rings, **options)

    def bad_end(self, ended):
        """Yields the faults of how a replay ended. A ring in a file is always readable, so a helper
        that never polls its other descriptors does not end; this reason alone is no fault."""
        if ended.status is None and not self.ends_replays():
            return
        if ended.status != 0:
            yield f"ended with {ended.status}: {ended.messages[-200:]}"

    def ends_replays(self):
        if self._ends_replays is None:
            self._ends_replays = self.replay([[]]).status is not None
        return self._ends_replays

    def help(self):
        return subprocess.run([*self.helper, "--help-all"], capture_output=True, text=True,
                              check=False).stdout

    def known(self, case, options):
        """Yields the faults of a case of tests/programs/cases.py."""
        programs_check.check_needs(case)
        directory = self.build / "tests/helper"
        if not all((directory / w[1:]).exists() for w in case.command if w[0] in "@%"):
            directory = self.build / "tests/programs"
        programs = stacks.Programs(directory)
        private = Path(tempfile.mkdtemp(dir=self.directory))
        command = programs_check.prepare(case, directory, private, programs)
        size = [f"--stack-size={o}" for o in case.options if o.isdigit()]
        # Only a copy of the stack shows these; another helper has no engines.
        helper = list(self.helper)
        if "--engine" in case.options and "--engine" in self.help():
            helper.append("--engine=" + case.options[case.options.index("--engine") + 1])
        result = self.play(command, *size, *options, helper=helper)
        found = stacks.stacks_of(result.stream.capture, programs,
                                 programs_check.interesting(case, programs))
        yield from programs_check.compare(case, found, programs)


def run(bench, name):
    """Runs one check; returns its faults, or raises Skip."""
    try:
        return list(checks.CHECKS[name].run(bench))
    except programs_check.Skip as reason:
        raise checks.Skip(str(reason)) from reason
    except RuntimeError as error:
        if str(error).startswith("SKIP"):
            raise checks.Skip(str(error)[5:]) from error
        return [str(error)]
    except captures.syscap.SyscapError as error:
        return [f"capture: {error}"]


def report(name, args, faults):
    """Prints one line of TAP; returns True when it is as expected."""
    check = checks.CHECKS[name]
    good = bool(faults) or check.common if args.shipped else not faults
    for fault in faults:
        print(f"# {name}: {fault}")
    verb = "fails it, as expected" if args.shipped and faults else ""
    print(f"{'ok' if good else 'not ok'} - {name}: {check.about}{' # ' + verb if verb else ''}",
          flush=True)
    return good


def run_all(args, directory):
    bench = Bench(args.build, args.helper, directory)
    failed = ran = 0
    for name in args.check or checks.CHECKS:
        try:
            for _ in range(args.tries):
                faults = run(bench, name)
                if bool(faults) == args.shipped:
                    break
        except checks.Skip as reason:
            print(f"ok - {name} # SKIP {reason}", flush=True)
            continue
        ran += 1
        failed += not report(name, args, faults)
    return failed, ran


def parse_arguments(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shipped", action="store_true", help="the helper is Sysprof's own")
    parser.add_argument("--tries", type=int, default=1, help="again, when other than expected")
    parser.add_argument("build")
    parser.add_argument("helper", type=shlex.split)
    parser.add_argument("check", nargs="*", choices=[*checks.CHECKS, []])
    return parser.parse_args(argv)


def main(argv):
    if argv[:1] == ["--list"]:
        print("\n".join(f"{name}\t{c.about}" for name, c in checks.CHECKS.items()))
        return 0
    args = parse_arguments(argv)
    if os.geteuid() != 0:
        print("SKIP: needs root, as the helper of sysprofd has")
        return SKIP
    with tempfile.TemporaryDirectory(prefix="helper-checks-") as directory:
        failed, ran = run_all(args, directory)
    print(f"# {ran} checks, {failed} not as expected")
    return SKIP if ran == 0 else 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
