#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""test_hostile.py LIVE_UNWINDER IMPOSTOR [KIND…] - can a process that claims to be an interpreter spoil more than its own stacks?

Records not-python.c, not-asyncio.c or not-ruby.c, which have structures as no interpreter would make them, beside a true Python that knows
its own chains (chains.py). The recorder has to end in time with what it always needs of memory; the true chains have to be
right, and no name may come from the other process or have control characters."""

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "judge")]
import syscap  # noqa: E402  (found through the line above)
import test_python  # noqa: E402
import truth  # noqa: E402

KINDS = ("cycle", "wild", "lies", "flood", "changing")
SECONDS = 3
# A busy machine is slow, but nothing here may take for ever.
LIMIT = 120
MAX_MIB = 500


def faults(capture, times, spoiler):
    counts, wrong = test_python.judge(capture, times)
    print(f"# true chains: {counts}, {len(wrong)} wrong", flush=True)
    # A flood fills rings. A name that is lost is not a wrong one.
    n_unnamed = sum("[python: unreadable]" in found for _, found in wrong)
    wrong = [one for one in wrong if "[python: unreadable]" not in one[1]]
    print(f"# {n_unnamed} with functions whose names were lost")
    yield from (f"expected {chain}, found {found}" for chain, found in wrong[:3])
    if counts["lines"] > 0:
        yield f"{counts['lines']} with wrong lines"
    names = {address: name for address, name in capture.jitmap.items() if truth.FIRST <= address < truth.END}
    for name in names.values():
        if any(ord(character) < 32 or ord(character) == 127 for character in name):
            yield f"a name has control characters: {name!r}"
    n_hostile = 0
    for sample in capture.samples:
        functions = [names.get(address, "") for address in sample.user if truth.FIRST <= address < truth.END]
        if sample.pid == spoiler:
            n_hostile += bool(functions)
        elif any("not_yours" in name for name in functions):
            yield f"process {sample.pid} has a name of process {spoiler}: {functions[:5]}"
    print(f"# {n_hostile} stacks of the other process with functions")


def test(program, impostor, kind, directory):
    capture, log = os.path.join(directory, "x.syscap"), os.path.join(directory, "log")
    script = '"$0" "$1" "$2" & echo $!; "$3" "$4" "$5" "$2"; wait'
    started = time.monotonic()
    run = subprocess.run([program, "--force", "--stats", "json", "-o", capture, "--", "sh", "-c", script, impostor,
                          kind, str(SECONDS), sys.executable, os.path.join(HERE, "chains.py"), log],
                         capture_output=True, text=True, check=False, timeout=LIMIT)
    mib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
    print(f"# {kind}: {time.monotonic() - started:.1f} s, at most {mib} MiB", flush=True)
    if run.returncode != 0:
        return [f"exit status {run.returncode}: {run.stderr.strip()[-300:]}"]
    found = list(faults(syscap.read(capture), truth.read_log(log), int(run.stdout.split()[0])))
    if mib > MAX_MIB:
        found.append(f"{mib} MiB")
    if found:
        print(f"# the recorder: {run.stderr.strip()}")
    return found


def main():
    program, impostor, *kinds = sys.argv[1:]
    reason = truth.why_not(program)
    if reason:
        print(f"1..0 # SKIP {reason}")
        sys.exit(77)
    failed = []
    directory = tempfile.mkdtemp()
    for kind in kinds or KINDS:
        problems = test(program, impostor, kind, directory)
        print(f"{kind}: {'; '.join(problems) or 'right'}", flush=True)
        failed += [f"{kind}: {problem}" for problem in problems]
    shutil.rmtree(directory)
    print("; ".join(failed))  # once more: totals have the last line
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
