# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""captures.py - reads what a helper sent, ours or Sysprof's own, into the judge's form.

Used by the scripts of this directory.  The judge's reader (tests/judge/syscap.py) is strict and knows
only our standalone captures.  What is different in a helper's stream is made equal here, and every
difference that matters is counted on the way, in Stream:

  - bytes that Sysprof's own writer leaves uninitialised become zero, file chunks are dropped,
  - frames that make Sysprof's viewer crash (negative pids) are dropped and counted,
  - stacks whose user marker is missing are split where kernel addresses end, and counted,
  - user return addresses become "minus one" unless the capture's metadata says that they are,
  - mappings of addresses that no program has name the end states of stacks.
"""

import os
import re
import struct
import sys
from dataclasses import dataclass, field

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "judge"))
import judge  # noqa: E402  (needs the path above)
import syscap  # noqa: E402

SAMPLE, MAP, PROCESS, FORK, EXIT, FILE_CHUNK = 2, 3, 4, 5, 6, 13
SAFE_TYPES = {2, 3, 4, 5, 6, 10, 11, 12, 13}
CONVENTION = "live-unwinder.address-convention"
MINUS_ONE = "return-address-minus-1"
KERNEL_HALF = 1 << 63


@dataclass
class Stream:
    """A capture in the judge's form, and the changes that this took."""
    capture: syscap.Capture = None
    raw: list = field(default_factory=list)     # samples as sent, in the order of capture.samples
    types: dict = field(default_factory=dict)   # frames of each type
    negative_pids: int = 0
    too_long: int = 0                           # samples that the viewer ignores
    without_marker: int = 0                     # samples with both parts and no marker between
    file_bytes: int = 0                         # in file chunks


def _frames(data):
    """Yields (offset, size, type, pid); stops where the muxer would get out of step."""
    offset = syscap.HEADER_SIZE
    while offset + syscap.FRAME_SIZE <= len(data):
        size, _cpu, pid, _time, kind = struct.unpack_from("<HhiqB", data, offset)
        if size < syscap.FRAME_SIZE or offset + size > len(data):
            return
        yield offset, size, kind, pid
        offset += size


def _clean_map(frame):
    """Zeroes everything after the path that is not a build-id."""
    end = frame.find(b"\0", 56) + 1
    inode = int.from_bytes(frame[48:56], "little")
    if inode or not re.match(rb"@([0-9a-f]{2}){8,}\0", frame[end:]):
        frame[end:] = bytes(len(frame) - end)


def _clean(data, stream):
    """The bytes that the strict reader accepts."""
    kept = [data[:syscap.HEADER_SIZE]]
    for offset, size, kind, pid in _frames(data):
        stream.types[kind] = stream.types.get(kind, 0) + 1
        if kind == FILE_CHUNK:
            stream.file_bytes += size
            continue
        if pid < 0 and kind in (SAMPLE, MAP, PROCESS, EXIT):
            stream.negative_pids += 1
            continue
        frame = bytearray(data[offset:offset + size])
        frame[17:24] = bytes(7)
        if kind == SAMPLE:
            if struct.unpack_from("<H", frame, 24)[0] > 1024:
                stream.too_long += 1
                continue
            frame[26:28] = bytes(2)
        elif kind == MAP:
            _clean_map(frame)
        kept.append(frame)
    return b"".join(kept)


def _parts(sample, stream):
    """(kernel, user) of @sample; a stack without its user marker is split by the addresses."""
    kernel, user = sample.split()
    outside = [a for a in kernel if a < KERNEL_HALF]
    if outside:
        stream.without_marker += 1
        user = outside + user
        kernel = [a for a in kernel if a >= KERNEL_HALF]
    return kernel, user


def _normal(sample, minus_one, stream):
    kernel, user = _parts(sample, stream)
    if not minus_one:
        user = user[:1] + [a if syscap.is_synthetic(a) else a - 1 for a in user[1:]]
    words = [syscap.CONTEXT_KERNEL, *kernel] if kernel else []
    words += [syscap.CONTEXT_USER, *user] if user else []
    return sample._replace(addresses=tuple(words))


def _name_end_states(capture):
    """Pseudo-mappings of helper mode become the names that standalone captures have."""
    for m in capture.maps:
        if syscap.is_synthetic(m.start):
            for address in range(m.start, min(m.end, m.start + 4096)):
                capture.jitmap.setdefault(address, m.path)
    capture.maps = [m for m in capture.maps if not syscap.is_synthetic(m.start)]


def parse(data):
    """Bytes of a helper's stream -> Stream."""
    stream = Stream()
    capture = syscap.parse(_clean(data, stream))
    stream.capture, stream.raw = capture, capture.samples
    minus_one = capture.metadata.get(CONVENTION) == MINUS_ONE
    capture.samples = [_normal(s, minus_one, stream) for s in stream.raw]
    _name_end_states(capture)
    return stream


def read(path):
    with open(path, "rb") as file:
        return parse(file.read())


class Tree:
    """Tells which samples belong to the workload, by the fork records of play."""

    def __init__(self, members):
        self._members = {}
        for pid, born, died in members:
            self._members.setdefault(pid, []).append((born, died or 1 << 63))

    def has(self, sample):
        # The last sample may be taken after the record of the exit.
        return any(born <= sample.time <= died + 1000000
                   for born, died in self._members.get(sample.pid, ()))

    def __len__(self):
        return sum(len(lives) for lives in self._members.values())


def outside_percent(stream, tree):
    """Percentage of user addresses of @tree that lie in no mapping of their process."""
    import spaces
    capture = stream.capture
    maps = spaces.Spaces(capture.maps)
    n = outside = 0
    for sample in sorted(capture.samples, key=lambda s: s.time):
        if not tree.has(sample):
            continue
        maps.advance(sample.time)
        space = maps.of(sample.pid)
        for address in sample.user:
            if not syscap.is_synthetic(address):
                n += 1
                outside += space.find(address) is None
    return 100.0 * outside / n if n else 0.0


def judged(stream, tree):
    """The judge's report on the samples of @tree."""
    return judge.Judge(stream.capture, tree.has).report()
