#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""steps.py [--cross FILE] [--engine NAME] [--least N] LIVE_UNWINDER [PROGRAM] - compares stacks of a program of
aarch64 with its calls, instruction by instruction.

qemu's user emulation runs a static program (steps.c, built in several ways, or PROGRAM) and stops behind
each instruction (gdb's remote protocol).  Calls and returns make a list of return addresses, which needs
no unwind information.  From main() on, registers and stack at each instruction become a sample of a
perf.data file, which LIVE_UNWINDER unwinds on this machine.  A complete stack must be that list; any other
must be its beginning.  Prints TAP; exit status 77 without compiler, C library or emulator."""

import argparse
import configparser
import os
import re
import socket
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE), str(HERE.parent / "judge")]

import elf  # noqa: E402
import run  # noqa: E402
import syscap  # noqa: E402

SKIPPED = 77
# Addresses are fixed, so that the file's segments are the mappings.
FLAGS = ["-std=gnu11", "-static", "-fno-pie", "-no-pie", "-fasynchronous-unwind-tables"]
BUILDS = {
    "optimized": ["-O2"],
    "not optimized": ["-O0"],
    "small": ["-Os", "-fomit-frame-pointer"],
    "signed return addresses": ["-O2", "-mbranch-protection=standard"],
}
COPIED = 16384          # bytes of the stack
PART = 1024             # of memory that are read at a time
ABOVE = 1024            # bytes above the frame of main(), in which its callers are
# Entries of a procedure linkage table have no unwind information in a static program, nor has the end of longjmp().
COMPLETE_PERCENT = 97.0
LIMIT = 300             # seconds, of one command
PID = 1
N_REGISTERS = 33        # x0 to x30, sp, pc
LINK, SP, PC = 30, 31, 32
# perf_event.h
MMAP2, COMM, SAMPLE = 10, 3, 9
IP, TID, TIME, REGS_USER, STACK_USER = 1, 2, 4, 1 << 12, 1 << 13
IN_USER_MODE = 2
BR_X30 = 0xd61f03c0
SAMPLE_ID_ALL = 1 << 18
HEADER_ARCH = 6


class Skip(Exception):
    """The message says why."""


def is_call(word):
    """BL, BLR, and BLR with authentication."""
    return word >> 26 == 0x25 or word & 0xfffffc1f == 0xd63f0000 or word & 0xfefff800 == 0xd63f0800


def is_return(word):
    """RET, RETAA and RETAB."""
    return word & 0xfffffc1f == 0xd65f0000 or word in (0xd65f0bff, 0xd65f0fff)


class Stub:
    """The emulator's end of gdb's remote protocol."""

    def __init__(self, path, process):
        self._socket = socket.socket(socket.AF_UNIX)
        for _ in range(100):
            try:
                self._socket.connect(str(path))
                break
            except OSError:
                if process.poll() is not None:
                    raise Skip("the emulator does not start") from None
                time.sleep(0.05)
        self._data = b""

    def ask(self, command):
        """Returns the answer, or "" at the end of the program."""
        data = command.encode()
        self._socket.sendall(b"$%s#%02x" % (data, sum(data) & 0xff))
        while (end := self._data.find(b"#")) < 0 or len(self._data) < end + 3:
            more = self._socket.recv(65536)
            if not more:
                return ""
            self._data += more
        answer, self._data = self._data[:end], self._data[end + 3:]
        self._socket.sendall(b"+")
        return answer.lstrip(b"+").removeprefix(b"$").decode()

    def registers(self):
        answer = self.ask("g")
        return struct.unpack(f"<{N_REGISTERS}Q", bytes.fromhex(answer[:16 * N_REGISTERS]))

    def read(self, address, size):
        """An answer has a limit."""
        return b"".join(bytes.fromhex(self.ask(f"m{address + at:x},{min(size - at, PART):x}"))
                        for at in range(0, size, PART))

    def step(self):
        """FALSE: the program has ended."""
        return self.ask("s").startswith("T")

    def run_to(self, address):
        if self.ask(f"Z0,{address:x},4") != "OK" or not self.ask("c").startswith("T"):
            raise Skip(f"the emulator does not stop at {address:#x}")
        self.ask(f"z0,{address:x},4")


class Calls:
    """The return addresses of a program's calls, innermost last, with the stack pointer at each call.  It begins
    at the first instruction of a function; what has called that one's caller is not known."""

    def __init__(self, registers):
        self.list = [(registers[LINK], registers[SP])]

    def note(self, word, before, after):
        """An instruction was executed."""
        if is_call(word):
            self.list.append((before[PC] + 4, before[SP]))
        elif is_return(word) and self.list[-1][0] == after[PC]:
            self.list.pop()
        elif word == BR_X30:    # the end of longjmp()
            while self.list and self.list[-1][1] <= after[SP]:
                self.list.pop()

    def stack(self, pc):
        return [pc, *(address for address, _ in reversed(self.list))]


class PerfData:
    """A perf.data file with samples of registers and stack."""

    def __init__(self):
        self._records = []
        self._n = 0

    def _add(self, kind, misc, body):
        if kind != SAMPLE:
            body += struct.pack("<IIQ", PID, PID, self._n)
        self._records.append(struct.pack("<IHH", kind, misc, 8 + len(body)) + body)
        self._n += 1

    @staticmethod
    def _text(text):
        data = text.encode() + b"\0"
        return data + bytes(-len(data) % 8)

    def add_file(self, path, segments):
        info = os.stat(path)
        self._add(COMM, IN_USER_MODE, struct.pack("<II", PID, PID) + self._text("steps"))
        for address, size, offset in segments:
            self._add(MMAP2, IN_USER_MODE,
                      struct.pack("<IIQQQIIQQII", PID, PID, address, size, offset, os.major(info.st_dev),
                                  os.minor(info.st_dev), info.st_ino, 0, 5, 2) + self._text(str(path)))

    def add_sample(self, registers, stack):
        """Returns the sample's time."""
        at = self._n
        body = struct.pack("<QIIQQ", registers[PC], PID, PID, at, 2) + struct.pack(f"<{N_REGISTERS}Q", *registers)
        stack += bytes(-len(stack) % 8)
        self._add(SAMPLE, IN_USER_MODE, body + struct.pack("<Q", len(stack)) + stack + struct.pack("<Q", len(stack)))
        return at

    def write(self, path):
        attribute = struct.pack("<IIQQQQQIIQQQQIiQIHH", 1, 112, 0, 1000000, IP | TID | TIME | REGS_USER | STACK_USER,
                                0, SAMPLE_ID_ALL, 0, 0, 0, 0, 0, (1 << N_REGISTERS) - 1, COPIED, 0, 0, 0, 0, 0)
        attribute += struct.pack("<QQ", 0, 0)
        data = b"".join(self._records)
        begin = 104 + len(attribute)
        name = b"aarch64\0"
        features = bytearray(32)
        features[HEADER_ARCH // 8] |= 1 << HEADER_ARCH % 8
        header = b"PERFILE2" + struct.pack("<QQQQQQQQ", 104, len(attribute), 104, len(attribute), begin, len(data),
                                           0, 0) + bytes(features)
        table = begin + len(data)
        with open(path, "wb") as file:
            file.write(header + attribute + data + struct.pack("<QQ", table + 16, 4 + len(name))
                       + struct.pack("<I", len(name)) + name)


def code_segments(path):
    """Address, size and place in the file of what is executable, as the kernel maps it."""
    data = Path(path).read_bytes()
    offset, size, n = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
    for i in range(n):
        kind, flags, place, address, _, length = struct.unpack_from("<IIQQQQ", data, offset + i * size)
        if kind == 1 and flags & 1:
            down = address & 0xfff
            yield address - down, (down + length + 0xfff) & ~0xfff, place - down


def follow(stub, begin, sample):
    """Executes the function at @begin; calls sample(registers, stack, calls) before each instruction."""
    stub.run_to(begin)
    registers, words = stub.registers(), {}
    calls, top = Calls(registers), registers[SP] + ABOVE
    while calls.list:
        pc = registers[PC]
        sample(registers, stub.read(registers[SP], min(top - registers[SP], COPIED)), calls.stack(pc))
        if pc not in words:
            words[pc] = int.from_bytes(stub.read(pc, 4), "little")
        if not stub.step():
            return
        before, registers = registers, stub.registers()
        calls.note(words[pc], before, registers)


def record(emulator, program, directory):
    """Returns a perf.data file and what its samples must be: time -> addresses."""
    path = directory / "gdb"
    path.unlink(missing_ok=True)
    begin = next(s.ea for s in elf.Elf(program).symbols if s.name == "main")
    data, expected = PerfData(), {}
    data.add_file(program, code_segments(program))

    def sample(registers, stack, calls):
        expected[data.add_sample(registers, stack)] = calls

    with subprocess.Popen([*emulator, "-g", str(path), str(program)], stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL) as process:
        try:
            follow(Stub(path, process), begin, sample)
        finally:
            process.kill()
    data.write(directory / "perf.data")
    return directory / "perf.data", expected


def unwind(recorder, engine, file, directory):
    out = directory / "out.syscap"
    subprocess.run([recorder, "-q", "-f", "--engine", engine, "--input", str(file), "-o", str(out)], check=True,
                   timeout=LIMIT, env={**os.environ, "LIVE_UNWINDER_STORE": ""})
    return syscap.read(out)


def compare(capture, expected):
    """Returns samples, complete ones, wrong ones, and a text about the first wrong one.  Above main() all
    complete stacks must be the same."""
    n = complete = wrong = 0
    first, above = "", None
    for sample in capture.samples:
        found = [a for a in sample.addresses if a < syscap.CONTEXT_MAX]
        has_ended = bool(found) and syscap.is_synthetic(found[-1])
        found = found[:-1] if has_ended else found
        calls = expected[sample.time]
        rest = found[len(calls):]
        n += 1
        complete += not has_ended
        above = above or rest
        if not all(a in (b, b - 1) for a, b in zip(found, calls)) \
                or (rest != above if not has_ended else rest != above[:len(rest)]):
            wrong += 1
            first = first or f"{[hex(a) for a in found]} is not {[hex(a) for a in calls]}"
    return n, complete, wrong, first


def check(args, emulator, program, directory):
    """Prints the figures of one program; returns its faults."""
    file, expected = record(emulator, program, directory)
    n, complete, wrong, first = compare(unwind(args.recorder, args.engine, file, directory), expected)
    percent = 100 * complete / max(n, 1)
    print(f"# {len(expected)} instructions, {n} stacks, {percent:.2f} % complete, {wrong} wrong")
    if wrong:
        yield first
    if n != len(expected) or n < args.least:
        yield f"{n} stacks of {len(expected)} instructions"
    if percent < COMPLETE_PERCENT:
        yield f"{percent:.2f} % complete"


def compiler_of(cross_file):
    """Debian's gcc: at every instruction, unlike clang's, its unwind information holds."""
    if not cross_file.exists():
        raise Skip(f"no {cross_file} (tools/cross)")
    properties = configparser.ConfigParser()
    properties.read(cross_file)
    return re.findall("'([^']+)'", properties["properties"]["programs_cc"])


def builds(compiler, directory):
    """The program in its builds: title -> path."""
    for number, (title, flags) in enumerate(BUILDS.items()):
        program = directory / f"steps-{number}"
        subprocess.run([*compiler, *FLAGS, *flags, "-o", program, HERE / "steps.c"], check=True)
        yield title, program


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cross", type=Path, default=HERE.parent.parent / "_build/cross/aarch64/cross.ini",
                        help="the file that tools/cross made")
    parser.add_argument("--engine", default="table")
    parser.add_argument("--least", type=int, default=1000, help="stacks of each program")
    parser.add_argument("recorder")
    parser.add_argument("program", nargs="?")
    args = parser.parse_args()
    emulator, failed, number = run.emulator(), 0, 0
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        try:
            if not emulator:
                raise Skip("no emulator for aarch64")
            for title, program in ([(args.program, args.program)] if args.program
                                   else builds(compiler_of(args.cross), directory)):
                faults = list(check(args, emulator, program, directory))
                number, failed = number + 1, failed + bool(faults)
                print("".join(f"# {fault}\n" for fault in faults)
                      + f"{'not ok' if faults else 'ok'} {number} - {title}", flush=True)
        except Skip as reason:
            print(f"1..0 # SKIP {reason}")
            return SKIPPED
    print(f"1..{number}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
