#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""syscap.py - an independent reader of Sysprof captures.

Used by the judge, by the program tests and by hand ("syscap.py FILE" prints every frame).  It
shares no code with the writer it checks, and reads nothing but the bytes of the file.

Invariant: a frame that breaks the format raises SyscapError with its file offset, with one
exception: the last frame may be cut short, because a capture is append-only and its recorder may be
killed.

    frame   u16 len | i16 cpu | i32 pid | i64 time | u8 type, u8[3] 0 | u32 0 | payload
"""

import struct
import sys
from dataclasses import dataclass, field
from typing import NamedTuple

MAGIC = 0xFDCA975E
HEADER_SIZE = 256
FRAME_SIZE = 24
INDEX_SIZE = 32
INDEX_MAGIC = 0x53504958
SYNTHETIC_BASE = 0xE000000000000000
SYNTHETIC_END = 0xE000000100000000

# PERF_CONTEXT_* words inside an address list; every word from CONTEXT_MAX on is such a marker.
CONTEXT_KERNEL = (1 << 64) - 128
CONTEXT_USER = (1 << 64) - 512
CONTEXT_MAX = (1 << 64) - 4095

TYPES = {1: "TIMESTAMP", 2: "SAMPLE", 3: "MAP", 4: "PROCESS", 5: "FORK", 6: "EXIT", 7: "JITMAP",
         8: "CTRDEF", 9: "CTRSET", 10: "MARK", 11: "METADATA", 12: "LOG", 13: "FILE_CHUNK",
         14: "ALLOCATION", 15: "OVERLAY"}

_FRAME = struct.Struct("<HhiqB3sI")


class SyscapError(Exception):
    """The file breaks the format; the message names the file offset of the frame."""


def is_interpreted(address):
    """True for a function that an interpreter runs, which stands for no native frame."""
    return SYNTHETIC_BASE + 0x10000000 <= address < SYNTHETIC_BASE + 0x20000000


def is_synthetic(address):
    """True for an address that only a JITMAP frame gives a meaning."""
    return SYNTHETIC_BASE <= address < SYNTHETIC_END


class Sample(NamedTuple):
    time: int
    pid: int
    tid: int
    cpu: int
    addresses: tuple

    @property
    def kernel(self):
        """Addresses of the kernel part, leaf first, without markers."""
        return self.split()[0]

    @property
    def user(self):
        """Addresses of the user part, leaf first, without markers."""
        return self.split()[1]

    def split(self):
        """Returns (kernel, user); addresses before any marker are user ones, as in the viewer."""
        kernel, user = [], []
        part = user
        for address in self.addresses:
            if address < CONTEXT_MAX:
                part.append(address)
            elif address == CONTEXT_KERNEL:
                part = kernel
            elif address == CONTEXT_USER:
                part = user
            else:
                part = []
        return kernel, user


class Map(NamedTuple):
    time: int
    pid: int
    start: int
    end: int
    offset: int
    inode: int
    path: str
    build_id: str      # hex digits, "" when the frame has none


class Process(NamedTuple):
    time: int
    pid: int
    cmdline: str


class Fork(NamedTuple):
    time: int
    pid: int
    child: int


class Exit(NamedTuple):
    time: int
    pid: int


class Log(NamedTuple):
    time: int
    pid: int
    severity: int
    domain: str
    message: str


class Mark(NamedTuple):
    time: int
    pid: int
    duration: int
    group: str
    name: str
    message: str


class CounterDef(NamedTuple):
    ident: int
    kind: int
    category: str
    name: str
    description: str


class CounterSet(NamedTuple):
    time: int
    cpu: int
    values: dict       # counter id -> raw 64-bit value


@dataclass
class Capture:
    """Everything in one capture, each list in file order."""
    path: str = ""
    version: int = 0
    capture_time: str = ""
    time: int = 0
    end_time: int = 0
    truncated: bool = False     # the last frame was cut short
    n_frames: int = 0
    samples: list = field(default_factory=list)
    maps: list = field(default_factory=list)
    processes: list = field(default_factory=list)
    forks: list = field(default_factory=list)
    exits: list = field(default_factory=list)
    jitmap: dict = field(default_factory=dict)
    metadata: dict = field(default_factory=dict)
    logs: list = field(default_factory=list)
    marks: list = field(default_factory=list)
    files: dict = field(default_factory=dict)
    open_files: set = field(default_factory=set)    # files whose last chunk never came
    counters: dict = field(default_factory=dict)
    counter_sets: list = field(default_factory=list)
    overlays: list = field(default_factory=list)
    other: list = field(default_factory=list)       # (time, type name, payload)


class _Frame:
    """One frame: its header fields and checked access to its payload."""
    __slots__ = ("offset", "size", "cpu", "pid", "time", "kind", "data")

    def __init__(self, data, offset):
        self.data = data
        self.offset = offset
        (self.size, self.cpu, self.pid, self.time, self.kind, pad,
         pad2) = _FRAME.unpack_from(data, offset)
        if self.size < FRAME_SIZE or self.size % 8 != 0:
            self.fail(f"frame length {self.size} is not a multiple of 8 from {FRAME_SIZE} on")
        if self.kind not in TYPES:
            self.fail(f"unknown frame type {self.kind}")
        if (pad2 != 0 and not self.is_index(pad2)) or pad != b"\0\0\0":
            self.fail("frame padding is not zero")

    def is_index(self, magic):
        """Whether this is an index of Sysprof 51: a timestamp with a magic number."""
        return self.kind == 1 and magic == INDEX_MAGIC and self.size == INDEX_SIZE

    def fail(self, why):
        raise SyscapError(f"frame at {self.offset}: {why}")

    def unpack(self, fmt, at):
        fmt = "<" + fmt
        if at + struct.calcsize(fmt) > self.size:
            self.fail(f"{TYPES[self.kind]} payload is cut at {at}")
        return struct.unpack_from(fmt, self.data, self.offset + at)

    def string(self, at):
        """A NUL-terminated string; returns (text, offset behind its NUL)."""
        begin = self.offset + at
        end = self.data.find(b"\0", begin, self.offset + self.size)
        if end < 0:
            self.fail(f"{TYPES[self.kind]} string at {at} has no end")
        return self.data[begin:end].decode("utf-8", "surrogateescape"), end + 1 - self.offset

    def fixed(self, at, size):
        """A string in a field of fixed size, NUL-terminated inside it."""
        if at + size > self.size:
            self.fail(f"{TYPES[self.kind]} payload is cut at {at}")
        raw = self.data[self.offset + at:self.offset + at + size]
        if b"\0" not in raw:
            self.fail(f"{TYPES[self.kind]} field at {at} has no end")
        return raw.split(b"\0", 1)[0].decode("utf-8", "surrogateescape")

    def need_pid(self):
        if self.pid < 0:
            self.fail(f"{TYPES[self.kind]} with pid {self.pid}")


def _read_sample(capture, frame):
    count, zero, tid = frame.unpack("HHi", 24)
    if zero != 0:
        frame.fail("SAMPLE padding is not zero")
    if count > 1024:
        frame.fail(f"SAMPLE with {count} addresses, the viewer shows at most 1024")
    addresses = frame.unpack(f"{count}Q", 32)
    if frame.pid < 0 and tid > 0:
        frame.fail(f"SAMPLE with pid {frame.pid} and tid {tid}")
    capture.samples.append(Sample(frame.time, frame.pid, tid, frame.cpu, addresses))


def _read_map(capture, frame):
    frame.need_pid()
    start, end, offset, inode = frame.unpack("4Q", 24)
    path, at = frame.string(56)
    build_id = ""
    if at < frame.size and frame.data[frame.offset + at] == ord("@"):
        build_id, at = frame.string(at + 1)
        if len(build_id) % 2 or any(c not in "0123456789abcdef" for c in build_id):
            frame.fail(f"MAP build-id '{build_id}' is not lower-case hex")
        if inode != 0:
            frame.fail("MAP has a build-id and an inode")
    if start >= end:
        frame.fail(f"MAP is empty: {start:#x}..{end:#x}")
    # Where JITMAP frames cannot be had, a mapping of one byte names a synthetic address.
    if is_synthetic(start) and end == start + 1:
        capture.jitmap.setdefault(start, path)
        return
    capture.maps.append(Map(frame.time, frame.pid, start, end, offset, inode, path, build_id))


def _read_process(capture, frame):
    frame.need_pid()
    capture.processes.append(Process(frame.time, frame.pid, frame.string(24)[0]))


def _read_fork(capture, frame):
    capture.forks.append(Fork(frame.time, frame.pid, frame.unpack("i", 24)[0]))


def _read_exit(capture, frame):
    frame.need_pid()
    capture.exits.append(Exit(frame.time, frame.pid))


def _read_jitmap(capture, frame):
    count, = frame.unpack("I", 24)
    at = 28
    for _ in range(count):
        address, = frame.unpack("Q", at)
        name, at = frame.string(at + 8)
        if not is_synthetic(address):
            frame.fail(f"JITMAP address {address:#x} is not synthetic")
        if capture.jitmap.setdefault(address, name) != name:
            frame.fail(f"JITMAP names {address:#x} twice")


def _read_ctrdef(capture, frame):
    count, = frame.unpack("H", 24)
    for i in range(count):
        at = 32 + 128 * i
        word, = frame.unpack("I", at + 116)
        ident, kind = word & 0xffffff, word >> 24
        if ident in capture.counters:
            frame.fail(f"CTRDEF defines counter {ident} twice")
        capture.counters[ident] = CounterDef(ident, kind, frame.fixed(at, 32),
                                             frame.fixed(at + 32, 32), frame.fixed(at + 64, 52))


def _read_ctrset(capture, frame):
    count, = frame.unpack("H", 24)
    values = {}
    for i in range(count):
        group = frame.unpack("8I8Q", 32 + 96 * i)
        for ident, value in zip(group[:8], group[8:]):
            if ident != 0:
                values[ident] = value
    capture.counter_sets.append(CounterSet(frame.time, frame.cpu, values))


def _read_mark(capture, frame):
    duration, = frame.unpack("q", 24)
    capture.marks.append(Mark(frame.time, frame.pid, duration, frame.fixed(32, 24),
                              frame.fixed(56, 40), frame.string(96)[0]))


def _read_metadata(capture, frame):
    capture.metadata[frame.fixed(24, 40)] = frame.string(64)[0]


def _read_log(capture, frame):
    severity, = frame.unpack("H", 24)
    capture.logs.append(Log(frame.time, frame.pid, severity, frame.fixed(32, 32),
                            frame.string(64)[0]))


def _read_file_chunk(capture, frame):
    flags, size = frame.unpack("HH", 24)
    path = frame.fixed(28, 256)
    if 284 + size > frame.size:
        frame.fail(f"FILE_CHUNK of {size} bytes does not fit its frame")
    if path in capture.files and path not in capture.open_files:
        frame.fail(f"FILE_CHUNK after the last one of {path}")
    data = frame.data[frame.offset + 284:frame.offset + 284 + size]
    capture.files.setdefault(path, bytearray()).extend(data)
    capture.open_files.add(path)
    if flags & 1:
        capture.open_files.discard(path)


def _read_overlay(capture, frame):
    layer, = frame.unpack("B", 24)
    source, at = frame.string(32)
    target, _ = frame.string(at)
    capture.overlays.append((frame.pid, layer, source, target))


def _read_other(capture, frame):
    payload = frame.data[frame.offset + FRAME_SIZE:frame.offset + frame.size]
    capture.other.append((frame.time, TYPES[frame.kind], payload))


_READERS = {2: _read_sample, 3: _read_map, 4: _read_process, 5: _read_fork, 6: _read_exit,
            7: _read_jitmap, 8: _read_ctrdef, 9: _read_ctrset, 10: _read_mark,
            11: _read_metadata, 12: _read_log, 13: _read_file_chunk, 15: _read_overlay}


def parse(data, path=""):
    """Parses the bytes of a capture; raises SyscapError."""
    if len(data) < HEADER_SIZE:
        raise SyscapError(f"{len(data)} bytes are no capture: the header alone has {HEADER_SIZE}")
    magic, word = struct.unpack_from("<II", data, 0)
    if magic != MAGIC:
        raise SyscapError(f"magic is {magic:#x}, not {MAGIC:#x}")
    if word & 0xff != 1 or not word & 0x100:
        raise SyscapError(f"version word {word:#x} is not version 1, little endian")
    capture = Capture(path=path, version=word & 0xff)
    capture.capture_time = data[8:72].split(b"\0", 1)[0].decode("utf-8", "replace")
    capture.time, capture.end_time = struct.unpack_from("<qq", data, 72)
    (last_index,) = struct.unpack_from("<Q", data, 88)
    indexes = [0]
    offset = HEADER_SIZE
    while offset < len(data):
        if offset + FRAME_SIZE > len(data):
            capture.truncated = True
            break
        frame = _Frame(data, offset)
        if offset + frame.size > len(data):
            capture.truncated = True
            break
        if frame.kind == 1 and frame.size == INDEX_SIZE:
            if frame.unpack("Q", FRAME_SIZE) != (indexes[-1],):
                frame.fail("an index does not lead to the one before")
            indexes.append(offset)
        _READERS.get(frame.kind, _read_other)(capture, frame)
        capture.n_frames += 1
        offset += frame.size
    if last_index not in indexes:
        raise SyscapError(f"the header names an index at {last_index}, where none is")
    return capture


def read(path):
    """Reads the capture at @path; raises SyscapError or OSError."""
    with open(path, "rb") as file:
        return parse(file.read(), str(path))


def name_of(capture, address):
    """Text for one word of an address list: a marker, a synthetic frame or a number."""
    if address >= CONTEXT_MAX:
        names = {CONTEXT_KERNEL: "-- kernel --", CONTEXT_USER: "-- user --"}
        return names.get(address, f"-- context {address - (1 << 64)} --")
    if is_synthetic(address):
        return capture.jitmap.get(address, f"unnamed synthetic {address:#x}")
    return f"{address:#x}"


def dump(capture, out):
    """Prints a capture as text, one line for each thing in it, by kind, then as in the file."""
    cut = ", last frame cut" if capture.truncated else ""
    print(f"capture {capture.path}: {capture.n_frames} frames, captured {capture.capture_time}, "
          f"time {capture.time}..{capture.end_time}{cut}", file=out)
    for key, text in capture.metadata.items():
        print(f"metadata {key} = {text}", file=out)
    for address, name in capture.jitmap.items():
        print(f"jitmap {address:#x} {name}", file=out)
    for path, data in capture.files.items():
        unfinished = " (unfinished)" if path in capture.open_files else ""
        print(f"file {path} {len(data)} bytes{unfinished}", file=out)
    for process in capture.processes:
        print(f"process {process.time} pid {process.pid} {process.cmdline!r}", file=out)
    for fork in capture.forks:
        print(f"fork {fork.time} pid {fork.pid} child {fork.child}", file=out)
    for gone in capture.exits:
        print(f"exit {gone.time} pid {gone.pid}", file=out)
    for m in capture.maps:
        identity = f"build-id {m.build_id}" if m.build_id else f"inode {m.inode}"
        span = f"{m.start:#x}-{m.end:#x} +{m.offset:#x}"
        print(f"map {m.time} pid {m.pid} {span} {m.path} {identity}", file=out)
    for log in capture.logs:
        print(f"log {log.time} pid {log.pid} {log.domain}: {log.message}", file=out)
    for m in capture.marks:
        print(f"mark {m.time} +{m.duration} {m.group}/{m.name} {m.message}", file=out)
    for c in capture.counters.values():
        print(f"counter {c.ident} {c.category}/{c.name} {c.description}", file=out)
    for values in capture.counter_sets:
        print(f"counters {values.time} cpu {values.cpu} {values.values}", file=out)
    for s in capture.samples:
        words = " ".join(name_of(capture, a) for a in s.addresses)
        print(f"sample {s.time} cpu {s.cpu} pid {s.pid} tid {s.tid} {words}", file=out)


def main(argv):
    if len(argv) != 2 or argv[1].startswith("-"):
        print("usage: syscap.py FILE", file=sys.stderr)
        return 2
    try:
        dump(read(argv[1]), sys.stdout)
    except BrokenPipeError:
        sys.stderr.close()
    except (OSError, SyscapError) as error:
        print(f"syscap: {argv[1]}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
