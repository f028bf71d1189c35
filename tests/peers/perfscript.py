# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""perfscript.py - reads the stacks that `perf script` prints.

Used by perf-script.py.  perf prints a kernel frame by its address and a user frame by its offset in
the mapped file (since 6.4 beside the file's name, and the address in front), so a frame here is
(file, offset); the addresses of callers are return addresses minus one, as in our captures.  A user
address in no mapping is (None, address).  perf marks the end of a walk that failed by a last address
of -1, which is no frame.
"""

import re
import subprocess
from typing import NamedTuple

_HEAD = re.compile(r"^\s*(-?\d+)/(-?\d+)\s+(\d+)\.(\d{9}):")
_FRAME = re.compile(r"^\s+([0-9a-f]+)\s.*\(([^()]*(?:\([^()]*\)[^()]*)*)\)\s*$")
_OFFSET = re.compile(r"^(.*)\+0x([0-9a-f]+)$")
KERNEL_FROM = 1 << 63
NO_ADDRESS = (1 << 64) - 1


class Sample(NamedTuple):
    pid: int
    tid: int
    time: int           # ns
    kernel: list        # addresses, leaf first
    user: list          # (file or None, offset or address), leaf first


def parse(lines):
    """Yields the samples in the order of the output."""
    sample = None
    for line in lines:
        line = line.rstrip("\n")
        head = _HEAD.match(line)
        if head:
            if sample is not None:
                yield sample
            pid, tid, seconds, nanoseconds = map(int, head.groups())
            sample = Sample(pid, tid, seconds * 10**9 + nanoseconds, [], [])
        elif line.strip() and sample is not None:
            _add_frame(sample, line)
    if sample is not None:
        yield sample


def _add_frame(sample, line):
    frame = _FRAME.match(line)
    if frame is None:
        raise ValueError(f"no frame of perf script: {line!r}")
    value, where = int(frame[1], 16), frame[2]
    offset = _OFFSET.match(where)
    if offset is not None:
        where = offset[1]
        value = value if value >= KERNEL_FROM else int(offset[2], 16)
    if where == "[unknown]":
        if value != NO_ADDRESS and not value >= KERNEL_FROM:
            sample.user.append((None, value))
    elif value >= KERNEL_FROM:
        sample.kernel.append(value)
    else:
        sample.user.append((where, value))


def _version():
    said = subprocess.run(["perf", "--version"], capture_output=True, text=True, check=False)
    match = re.search(r"(\d+)\.(\d+)", said.stdout)
    return tuple(map(int, match.groups())) if match else (0, 0)


def samples(path):
    """All samples of a perf.data file, unwound by perf."""
    fields = "pid,tid,time,ip,sym,dso" + (",dsoff" if _version() >= (6, 4) else "")
    command = ["perf", "script", "-i", path, "--ns", "--no-inline", "--max-stack", "2048",
               "-F", fields]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True, errors="replace") as process:
        yield from parse(process.stdout)
    if process.returncode != 0:
        raise OSError(f"perf script: exit status {process.returncode}")
