#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""check.py - records programs whose stacks are known and compares every sample.

    check.py [--programs DIRECTORY] [--keep DIRECTORY] LIVE_UNWINDER CASE…

Used by meson, one case for each test, and by hand (--list shows the cases; `all` runs every one).
Exits 0 when all is as it must be, 1 with every differing stack printed, 77 when the case cannot run
here.  The table of cases is cases.py; how stacks are named and compared is in stacks.py.
"""

import argparse
import ctypes
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import cases
import stacks

import kernel_walks  # from tests/judge, on the path since stacks

SKIP = 77
TIME_LIMIT = 50
STATES_WITHOUT_STACK = ("[no user context]", "[no user stack in the sample]", "[kernel only]")


class Skip(Exception):
    """The case cannot run here; the message says why."""


def perf_refusal():
    """Why this user cannot sample his own programs, or None: tries to open the simplest event."""
    attr = struct.pack("<IIQQQQQ", 1, 64, 0, 1000000, 1, 0, 1 << 0 | 1 << 5 | 1 << 6) + bytes(16)
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(298, ctypes.c_char_p(attr), 0, -1, -1, 8)
    if fd < 0:
        return f"perf_event_open: {os.strerror(ctypes.get_errno())}"
    os.close(fd)
    return None


def check_needs(case, recorder=None):
    refusal = perf_refusal()
    if refusal:
        raise Skip(refusal)
    for need in case.needs:
        if need == "root" and os.geteuid() != 0:
            raise Skip("needs root")
        if need == "kernel walks":
            refusal = kernel_walks.why_not(recorder)
            if refusal:
                raise Skip(refusal)
        if need == "uprobes" and not os.path.exists("/sys/bus/event_source/devices/uprobe"):
            raise Skip("the kernel has no uprobes")
        if need not in ("root", "kernel walks", "uprobes") and not shutil.which(need):
            raise Skip(f"needs {need}")


def prepare(case, directory, private, programs):
    """The command with its programs in place."""
    command = []
    for word in case.command:
        if (word[0] in "@%" and word[1:] in cases.OPTIONAL
                and not (directory / word[1:]).exists()):
            raise Skip(f"{word[1:]} was not built: such programs cannot be made or run here")
        if word.startswith("@"):
            word = str(directory / word[1:])
        elif word == "%":
            word = str(private)
        elif word.startswith("%"):
            copy = private / word[1:]
            shutil.copy(directory / word[1:], copy)
            programs.add_copy(copy, directory / word[1:])
            word = str(copy)
        command.append(word)
    return command


def record(recorder, case, command, output):
    """Runs the recorder; returns (fault or None, statistics or None)."""
    line = [recorder, "-q", "--stats", "json", "-o", str(output), *case.options, "--", *command]
    run = subprocess.Popen(line, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        _, messages = run.communicate(timeout=TIME_LIMIT)
    except subprocess.TimeoutExpired:
        run.kill()
        run.wait()
        return f"the recorder did not end within {TIME_LIMIT} s", None
    stats = None
    for text in messages.splitlines():
        if text.startswith("{"):
            stats = json.loads(text)
        else:
            print(f"# {text}")
    if run.returncode != 0:
        return f"the recorder ended with {run.returncode}", stats
    return None if stats else "no statistics on standard error", stats


def print_stacks(title, found):
    counted = Counter((bool(s.kernel), stacks.shorten(s.labels)) for s in found)
    for (kernel, text), n in counted.most_common(40):
        print(f"#   {title} {n} x {'kernel, ' if kernel else ''}{text}")


def compare(case, found, programs):
    """Yields what differs; prints the figures and every stack that matches nothing."""
    exact = [stacks.compile_pattern(p)
             for p in case.exact + (case.without_root if os.geteuid() != 0 else [])]
    # A function that has not called the next one yet, or to which it has returned.
    callers = [p[i:] for p in case.exact for i in range(1, len(p) - 1)]
    allowed = [stacks.compile_pattern(p) for p in case.allowed + callers + cases.OUTSIDE]
    user = [s for s in found if s.labels and s.labels[-1] not in STATES_WITHOUT_STACK]
    good, other, wrong, wrong_hot = [], [], [], []
    for s in user:
        if stacks.matches(exact, s.labels):
            good.append(s)
        elif s.labels[0] in case.hot:
            wrong_hot.append(s)
        else:
            (other if stacks.matches(allowed, s.labels) else wrong).append(s)
    print(f"# {len(found)} samples, {len(user)} with a user stack: {len(good)} exact, "
          f"{len(other)} allowed, {len(wrong_hot)} of the hot function wrong, {len(wrong)} others "
          "wrong")
    print_stacks("wrong:", wrong_hot)
    print_stacks("unexpected:", wrong)
    if wrong_hot:
        yield f"{len(wrong_hot)} samples of the hot function have another stack"
    claimed = sum(not s.labels[-1].startswith("[") for s in wrong)
    if claimed:
        yield f"{claimed} samples with an unexpected stack claim to be complete"
    if len(wrong) + len(wrong_hot) > (1 - case.share) * len(user):
        yield f"{len(wrong) + len(wrong_hot)} of {len(user)} samples match no pattern"
    if len(good) < max(case.minimum, 1):
        yield f"only {len(good)} samples match exactly, not {case.minimum}"
    for pattern, least in case.seen:
        n = sum(stacks.matches([stacks.compile_pattern(pattern)], s.labels) for s in user)
        if n < least:
            yield f"only {n} samples match {stacks.shorten(pattern)}, not {least}"
    faults = Counter(filter(None, (stacks.marker_fault(s.addresses) for s in found)))
    yield from (f"{n} samples: {fault}" for fault, n in faults.items())
    fault = case.check(user, programs) if case.check and user else None
    if fault:
        yield fault


def interesting(case, programs):
    """Which mappings make a process one of the case's."""
    names = case.files or tuple(w[1:] for w in case.command if w[0] in "@%" and len(w) > 1)
    images = [programs.by_name(name) for name in names if not name.endswith(".so")]
    return lambda m: any(programs.image_of(m) is image for image in images)


def run_case(name, recorder, directory, keep):
    """Records and compares one case; returns its faults."""
    case = cases.CASES[name]
    check_needs(case, recorder)
    programs = stacks.Programs(directory)
    with tempfile.TemporaryDirectory(prefix="live-unwinder-test-") as temporary:
        private = Path(temporary) / "private"
        private.mkdir()
        output = Path(temporary) / f"{name}.syscap"
        command = prepare(case, directory, private, programs)
        print(f"# {name}: {case.about}")
        fault, stats = record(recorder, case, command, output)
        if fault:
            return [fault]
        if keep:
            shutil.copy(output, keep)
        capture = stacks.syscap.read(output)
        found = stacks.stacks_of(capture, programs, interesting(case, programs))
        faults = list(compare(case, found, programs))
    if faults:
        print(f"# statistics of the recorder: {json.dumps(stats)}")
    return faults


def run_patiently(name, args):
    """A rare instruction in start-up or exit code that no pattern names may be hit in one run; what is
    wrong is hit in each. Both runs are printed."""
    for attempt in range(1 + args.retries):
        if attempt > 0:
            print(f"{name}: once more")
        faults = run_case(name, args.recorder, args.programs.resolve(), args.keep)
        for fault in faults:
            print(f"{name}: {fault}")
        if not faults:
            break
    return faults


def main():
    parser = argparse.ArgumentParser(description="Record programs whose stacks are known.")
    parser.add_argument("--programs", type=Path, default=Path("build/tests/programs"))
    parser.add_argument("--keep", help="directory in which the captures stay")
    parser.add_argument("--retries", type=int, default=0, help="run a case again that failed")
    parser.add_argument("--list", action="store_true", help="show the cases")
    parser.add_argument("recorder", nargs="?")
    parser.add_argument("cases", nargs="*")
    args = parser.parse_args()
    if args.list or not args.recorder or not args.cases:
        for name, case in cases.CASES.items():
            print(f"{name:18} {case.about}")
        return 0 if args.list else 2
    results = Counter()
    names = list(cases.CASES) if args.cases == ["all"] else args.cases
    for name in names:
        try:
            faults = run_patiently(name, args)
        except Skip as reason:
            print(f"{name}: skipped: {reason}")
            results[SKIP] += 1
            continue
        print(f"{name}: {'failed' if faults else 'ok'}")
        results[1 if faults else 0] += 1
    if len(names) > 1:
        print(f"{results[0]} ok, {results[1]} failed, {results[SKIP]} skipped")
    return 1 if results[1] else 0 if results[0] else SKIP


if __name__ == "__main__":
    sys.exit(main())
