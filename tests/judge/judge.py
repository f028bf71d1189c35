#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""judge.py - judges how many stacks of a capture are complete, trusting nothing the recorder says.

Run by hand, by tests/workloads/run.py and by the tests.  It reads the capture and the ELF files
that its MAP frames name.  A user stack is complete when

  - it carries no synthetic root frame, by which the recorder itself says that it is not,
  - every address lies inside an executable mapping that was valid at the time of the sample,
  - every return address stands behind a call instruction; a frame interrupted by a signal (its
    inner neighbour is a signal frame) and the signal frame itself need none; nor does a landing pad
    (as the tables of its function tell) below a function of libgcc that jumps to one,
  - the call in front of a return address leads to the frame inside of it, where the call tells its
    target: through PLT entries, tail calls and thunks (reach.py),
  - code in no file (a JIT's), of which nothing can be read, is called by code in no file too, or
    from a file by a call that can lead there; such stacks are counted,
  - the outermost frame is in the function at the ELF entry point, or where CFI says that the return
    address is undefined, or in a call that ends a function that nobody calls directly, or, in Go programs, in a function where Go's run-time ends its tracebacks
    (their CFI says nothing there); the last are counted.

Samples that the recorder calls impossible (EXCLUDED) are left out of the percentage, and counted.
Exit status: 0 good, 1 fewer complete stacks than asked for, 2 the capture cannot be judged.
"""

import argparse
import collections
import json
import sys

import frames
import reach
import spaces
import syscap

EXCLUDED = {"[no user context]", "[no user stack in the sample]", "[kernel only]", "[lost]"}
KERNEL_PART_ONLY = "(kernel part only)"
LEFT_OUT = "frames left out"

COMPLETE = "complete"
NO_MAPPING = "address outside every executable mapping"
NO_ROOT = "outermost frame is no root"
SYNTHETIC_INSIDE = "synthetic frame in mid-stack"
SYNTHETIC_ONLY = "no real frame"
UNNAMED = "synthetic frame without a name"

MAX_EXAMPLES = 10


class Stack:
    """One user stack on its way through the judgement."""
    __slots__ = ("sample", "addresses", "claimed", "fault", "fault_at", "root", "go_root",
                 "anonymous")

    def __init__(self, sample, addresses, claimed):
        self.sample, self.addresses, self.claimed = sample, addresses, claimed
        self.fault, self.fault_at, self.root, self.go_root = None, -1, False, False
        self.anonymous = 0              # frames in no file


class Judge:
    """Goes once through the samples of @capture in order of time and counts."""

    def __init__(self, capture, keep=lambda sample: True, vdso32=None):
        self.capture = capture
        self.modules = frames.Modules(vdso32)
        self.spaces = spaces.Spaces(capture.maps, self.modules.is_program)
        self.callees = reach.Callees(self.modules)
        self.calls_followed = self.calls_open = 0
        self.found = {}                 # (pid, generation, address, how) -> Frame or None
        self.samples = self.with_user = self.complete = 0
        self.shortened = 0              # stacks with frames left out in the middle
        self.go_roots = 0               # complete stacks that end where only Go says so
        self.anonymous = 0              # complete stacks that pass code in no file
        self.leaf_unmapped = 0
        self.rooted_but_incomplete = 0  # the recorder says incomplete, we see a root
        self.excluded = collections.Counter()
        self.incomplete = collections.Counter()
        self.incomplete_at = collections.Counter()
        self.refused = collections.Counter()
        self.examples = []
        for sample in sorted(capture.samples, key=lambda s: s.time):
            if keep(sample):
                self._sample(sample)

    def _sample(self, sample):
        self.samples += 1
        self.spaces.advance(sample.time)
        # Recordings with --native-frames keep all native frames beside these.
        addresses = [a for a in sample.user if not syscap.is_interpreted(a)]
        if not addresses:
            self.excluded[KERNEL_PART_ONLY] += 1
            return
        self.with_user += 1
        claimed = COMPLETE
        if syscap.is_synthetic(addresses[-1]):
            claimed = self.capture.jitmap.get(addresses.pop(), UNNAMED)
        stack = Stack(sample, addresses, claimed)
        if claimed in EXCLUDED:
            self.excluded[claimed] += 1
            return
        self._walk(stack)
        self._count(stack)

    def _frame(self, pid, address, how):
        space = self.spaces.of(pid)
        key = pid, space.generation, address, how
        if key not in self.found:
            mapping = space.find(address)
            self.found[key] = mapping and self.modules.frame(mapping, address, how)
        return self.found[key]

    def _walk(self, stack):
        """Judges the frames from the leaf outwards; the first fault stays."""
        how = frames.EXACT
        frame, inner = None, None       # inner: the address of a neighbour that was called
        for at, address in enumerate(stack.addresses):
            if syscap.is_synthetic(address):
                self._synthetic(stack, at, address)
                how, frame, inner = frames.RETURN, None, None
                continue
            frame = self._frame(stack.sample.pid, address, how)
            if frame is None:
                self.leaf_unmapped += at == 0
                self._fault(stack, at, NO_MAPPING)
                how, inner = frames.RETURN, None
                continue
            if frame.fault == frames.NO_CALL and inner is not None and self.callees.lands(
                    self.spaces.of(stack.sample.pid), address, inner):
                pass
            elif frame.fault is not None:
                self._fault(stack, at, frame.fault)
            elif inner is not None and not frame.signal and not self._leads(stack, address, inner):
                self._fault(stack, at, frames.OTHER_CALL)
            stack.anonymous += frame.anonymous
            inner = None if frame.signal else address
            how = frames.EXACT if frame.signal else frames.RETURN
        stack.root = frame is not None and frame.root
        stack.go_root = frame is not None and frame.go_root
        if not stack.addresses:
            self._fault(stack, 0, SYNTHETIC_ONLY)
        elif not stack.root:
            self._fault(stack, len(stack.addresses) - 1, NO_ROOT)

    def _leads(self, stack, outer, inner):
        pid = stack.sample.pid
        answer = self.callees.leads(pid, self.spaces.of(pid), outer, inner)
        self.calls_followed += answer is not None
        self.calls_open += answer is None
        return answer is not False

    def _synthetic(self, stack, at, address):
        name = self.capture.jitmap.get(address)
        if name is not None and LEFT_OUT in name and 0 < at < len(stack.addresses) - 1:
            self.shortened += 1
        else:
            self._fault(stack, at, SYNTHETIC_INSIDE if name else UNNAMED)

    @staticmethod
    def _fault(stack, at, why):
        if stack.fault is None:
            stack.fault, stack.fault_at = why, at

    def _count(self, stack):
        if stack.claimed != COMPLETE:
            self.incomplete[stack.claimed] += 1
            self.incomplete_at[stack.claimed, self._where(stack)] += 1
            self.rooted_but_incomplete += stack.root and stack.fault is None
        elif stack.fault is not None:
            self.refused[stack.fault] += 1
            if len(self.examples) < MAX_EXAMPLES:
                self.examples.append(self._example(stack))
        else:
            self.complete += 1
            self.anonymous += stack.anonymous > 0
            self.go_roots += stack.go_root

    def _where(self, stack):
        """Module and function of the outermost real frame."""
        names = self._names(stack.sample.pid, stack.addresses[-1:])
        return names[0] if names else "(nothing)"

    def _names(self, pid, addresses):
        names = []
        for address in addresses:
            if syscap.is_synthetic(address):
                names.append(syscap.name_of(self.capture, address))
                continue
            frame = self._frame(pid, address, frames.EXACT)
            names.append(frame.name if frame else f"{address:#x}")
        return names

    def _example(self, stack):
        return {"pid": stack.sample.pid, "tid": stack.sample.tid, "time": stack.sample.time,
                "reason": stack.fault, "frame": stack.fault_at,
                "frames": self._names(stack.sample.pid, stack.addresses)}

    @property
    def judged(self):
        return self.samples - sum(self.excluded.values())

    @property
    def percent(self):
        return 100.0 * self.complete / self.judged if self.judged else 0.0

    def claimed_percent(self):
        """The percentage that the capture claims for itself."""
        claimed = self.complete + sum(self.refused.values())
        return 100.0 * claimed / self.judged if self.judged else 0.0

    def leaf_unmapped_percent(self):
        return 100.0 * self.leaf_unmapped / self.with_user if self.with_user else 0.0

    def report(self):
        """All results as plain data."""
        top = collections.defaultdict(list)
        for (state, where), count in self.incomplete_at.most_common():
            if len(top[state]) < 3:
                top[state].append([where, count])
        return {"samples": self.samples, "with_user_part": self.with_user,
                "excluded": dict(self.excluded), "judged": self.judged,
                "complete": self.complete, "complete_percent": round(self.percent, 3),
                "claimed_percent": round(self.claimed_percent(), 3),
                "refused": dict(self.refused), "incomplete": dict(self.incomplete),
                "incomplete_at": dict(top), "shortened": self.shortened,
                "calls_followed": self.calls_followed, "calls_open": self.calls_open,
                "go_roots": self.go_roots, "through_no_file": self.anonymous,
                "rooted_but_incomplete": self.rooted_but_incomplete,
                "leaf_unmapped_percent": round(self.leaf_unmapped_percent(), 3),
                "examples": self.examples}


def print_report(report, out):
    print(f"samples                {report['samples']}", file=out)
    print(f"with a user part       {report['with_user_part']}", file=out)
    for state, count in sorted(report["excluded"].items()):
        print(f"excluded               {count}  {state}", file=out)
    print(f"judged                 {report['judged']}", file=out)
    print(f"complete               {report['complete']}  {report['complete_percent']:.2f} %",
          file=out)
    for reason, count in sorted(report["refused"].items()):
        print(f"claimed, but refused   {count}  {reason}", file=out)
    for state, count in sorted(report["incomplete"].items()):
        print(f"claimed incomplete     {count}  {state}", file=out)
        for where, times in report["incomplete_at"][state]:
            print(f"                       {times} after {where}", file=out)
    if report["go_roots"]:
        print(f"  of them at Go's roots {report['go_roots']}", file=out)
    if report["through_no_file"]:
        print(f"  of them through code in no file {report['through_no_file']}", file=out)
    print(f"calls followed         {report['calls_followed']}, open {report['calls_open']}",
          file=out)
    print(f"shortened in the middle {report['shortened']}", file=out)
    print(f"called incomplete at a root {report['rooted_but_incomplete']}", file=out)
    print(f"leaf outside every map {report['leaf_unmapped_percent']:.2f} %", file=out)
    for example in report["examples"]:
        print(f"refused: {example['reason']}: pid {example['pid']} tid {example['tid']} "
              f"time {example['time']}", file=out)
        for at, name in enumerate(example["frames"]):
            print(f"  {'>' if at == example['frame'] else ' '} {name}", file=out)


def command_filter(capture, comm, cmdline):
    """A function sample -> bool that keeps samples of processes by name at the sample's time."""
    by_pid = collections.defaultdict(list)
    for process in sorted(capture.processes, key=lambda p: p.time):
        by_pid[process.pid].append(process)

    def keep(sample):
        named = by_pid.get(sample.pid, [])
        if not named:
            return False
        text = next((p.cmdline for p in reversed(named) if p.time <= sample.time), named[0].cmdline)
        base = text.split(" ", 1)[0].rsplit("/", 1)[-1]
        return (comm is None or comm in base) and (cmdline is None or cmdline in text)

    return keep


def parse_arguments(argv):
    parser = argparse.ArgumentParser(description="Judge how many stacks of a capture are complete.")
    parser.add_argument("capture")
    parser.add_argument("--comm", help="only processes whose program name contains this")
    parser.add_argument("--cmdline", help="only processes whose command line contains this")
    parser.add_argument("--pid", type=int, help="only this process")
    parser.add_argument("--vdso32", help="file with the vDSO of 32-bit processes")
    parser.add_argument("--min-complete", type=float, metavar="PERCENT")
    parser.add_argument("--max-excluded", type=float, metavar="PERCENT")
    parser.add_argument("--min-samples", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(argv)


def judge_file(path, comm=None, cmdline=None, pid=None, vdso32=None):
    """Judges the capture at @path; raises syscap.SyscapError or OSError."""
    capture = syscap.read(path)
    named = command_filter(capture, comm, cmdline) if comm or cmdline else None

    def keep(sample):
        return (pid is None or sample.pid == pid) and (named is None or named(sample))

    return Judge(capture, keep, vdso32)


def main(argv):
    args = parse_arguments(argv)
    try:
        judge = judge_file(args.capture, args.comm, args.cmdline, args.pid, args.vdso32)
    except (OSError, syscap.SyscapError) as error:
        print(f"judge: {args.capture}: {error}", file=sys.stderr)
        return 2
    report = judge.report()
    if args.json:
        print(json.dumps(report))
    else:
        print_report(report, sys.stdout)
    excluded = judge.samples - judge.judged
    if judge.judged < args.min_samples:
        print(f"judge: only {judge.judged} samples to judge", file=sys.stderr)
        return 1
    if args.max_excluded is not None and 100.0 * excluded > args.max_excluded * judge.samples:
        print(f"judge: {excluded} of {judge.samples} samples are excluded", file=sys.stderr)
        return 1
    if args.min_complete is not None and judge.percent < args.min_complete:
        print(f"judge: {judge.percent:.2f} % complete is below {args.min_complete} %",
              file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
