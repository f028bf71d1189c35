# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""replay.py - hands a helper rings that hold records of our own making.

Used by checks.py for what no real machine sends on demand: samples of dying tasks, records of size
zero, guests.  A ring is a memory file with a control page as the kernel fills it; records are few
enough that no ring size makes them wrap.  The records have the attributes of play's events.
"""

import fcntl
import mmap
import os
import struct
import subprocess
import time

SAMPLE, LOST, EXIT, MMAP2 = 9, 2, 4, 10
MMAP_BUILD_ID = 1 << 14         # in misc
KERNEL, USER, GUEST_USER = 1, 2, 5
CONTEXT_KERNEL = (1 << 64) - 128
CONTEXT_USER = (1 << 64) - 512
REGISTERS = 17
DATA_HEAD, DATA_OFFSET = 1024, 1040
FILE_SIZE = 64 << 20
IDENTIFIER = 77


def record(kind, misc, body):
    body += bytes(-len(body) % 8)
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def sample(pid, tid, pc, chain=(), misc=USER, stack=bytes(64), when=None, filled=None):
    """Returns a sample record; registers are 0 except the stack pointer and the pc (words 7 and 8).
    After the stack the kernel says how much of it was filled."""
    registers = [0] * REGISTERS
    registers[7], registers[8] = 0x7ffc00000000, pc
    body = struct.pack("<QQIIQQ", IDENTIFIER, pc, pid & 0xffffffff, tid & 0xffffffff,
                       when or time.monotonic_ns(), len(chain))
    body += struct.pack(f"<{len(chain)}Q", *chain)
    body += struct.pack(f"<Q{REGISTERS}Q", 2, *registers)
    body += struct.pack("<Q", len(stack)) + stack
    body += struct.pack("<Q", len(stack) if filled is None else filled)
    return record(SAMPLE, misc, body)


def mapping_with_build_id(pid, start, build_id, size=20, path=b"/replayed"):
    """A record of an executable mapping that has @build_id in the place of device and inode."""
    body = struct.pack("<IIQQQB3x20sII", pid, pid, start, 0x1000, 0, size, build_id, 5, 0x1002)
    body += path + bytes(8 - len(path) % 8)
    body += struct.pack("<IIQQ", pid, pid, time.monotonic_ns(), IDENTIFIER)
    return record(MMAP2, USER | MMAP_BUILD_ID, body)


def empty():
    """Returns a header with a record size of zero."""
    return struct.pack("<IHH", SAMPLE, USER, 0)


def ring(records):
    """A file descriptor that a helper can map as a ring with @records in it."""
    data = b"".join(records)
    fd = os.memfd_create("ring", os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, FILE_SIZE)
    # A helper need not trust a mapping that could shrink while it reads.
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
    control = bytearray(mmap.PAGESIZE)
    struct.pack_into("<QQQQ", control, DATA_HEAD, len(data), 0, mmap.PAGESIZE, 0)
    os.pwrite(fd, control, 0)
    os.pwrite(fd, data, mmap.PAGESIZE)
    return fd


class Ended:
    """How a replay ended: exit status (negative: signal; None: it had to be killed) and bytes."""

    def __init__(self, status, data, messages):
        self.status, self.data, self.messages = status, data, messages


def run(helper, rings, seconds=1.0, timeout=5.0, numbers=None):
    """Gives @rings (lists of records) to @helper, stops it after @seconds; returns Ended."""
    fds = [ring(records) for records in rings]
    numbers = numbers or range(len(fds))
    event = os.eventfd(0)
    reading, writing = os.pipe()
    child = subprocess.Popen(
        [*helper, "--stack-size=16384", f"--event-fd={event}",
         *[f"--perf-fd={fd}:{n}" for fd, n in zip(fds, numbers)], f"--capture-fd={writing}"],
        pass_fds=[event, writing, *fds], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    os.close(writing)
    os.set_blocking(reading, False)
    try:
        return _attend(child, event, reading, seconds, timeout)
    finally:
        child.stderr.close()
        for fd in [event, reading, *fds]:
            os.close(fd)


def _attend(child, event, reading, seconds, timeout):
    data, stopped = bytearray(), False
    began = time.monotonic()
    while True:
        data += _read(reading)
        now = time.monotonic() - began
        if now > seconds and not stopped:
            os.write(event, struct.pack("=Q", 1234))
            stopped = True
        if child.poll() is not None:
            data += _read(reading)
            return Ended(child.returncode, bytes(data), _messages(child))
        if now > seconds + timeout:
            child.kill()
            child.wait()
            return Ended(None, bytes(data), _messages(child))
        time.sleep(0.01)


def _messages(child):
    os.set_blocking(child.stderr.fileno(), False)
    return (child.stderr.read() or b"").decode("utf-8", "replace")


def _read(fd):
    data = bytearray()
    while True:
        try:
            part = os.read(fd, 1 << 16)
        except BlockingIOError:
            return data
        if not part:
            return data
        data += part
