#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""walk.py DIRECTORY - unwinds the recorded samples without any code of the program, and compares.

The stored stacks were made by an engine, and engines could drift together.  This walk has the entries
from the judge's reader (tests/judge), and its own interpreter of their instructions with all
registers; it guesses nothing.  What it finds must be the stored stack: all of one that is complete,
and of others as many frames as it gets.  Output is TAP.
"""

import gzip
import pathlib
import struct
import sys
from typing import NamedTuple

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "judge"))
import dwarfcfi  # noqa: E402  (found through the line above)
import elf  # noqa: E402

BP, SP, PC = 6, 7, 16
PRESERVED = {3, 6, 12, 13, 14, 15}      # System V ABI, AMD64 supplement, 3.2.1
# DWARF numbers of perf's registers (asm/perf_regs.h: ax bx cx dx si di bp sp ip … r8 … r15).
OF_PERF = {0: 0, 1: 3, 2: 2, 3: 1, 4: 4, 5: 5, 6: 6, 7: 7, 8: 16, **{16 + i: 8 + i for i in range(8)}}
ENTRY_SIZE = 0x40
RED_ZONE = 128
MASK = (1 << 64) - 1


class Stop(Exception):
    """The walk cannot go on; the message says why."""


class Row(NamedTuple):
    cfa: tuple       # ("register", number, offset) or ("expression", bytes)
    rules: dict      # register -> ("cfa", n), ("value", n), ("register", n), ("at", b), ("is", b),
                     # ("undefined",) or ("same",)


# Instructions ------------------------------------------------------------------------------------

def signed(cursor, fde):
    return cursor.sleb() * fde.data_align


def unsigned(cursor, fde):
    return cursor.uleb() * fde.data_align


def block(cursor):
    size = cursor.uleb()
    at = cursor.at
    cursor.skip(size)
    return cursor.data[at:at + size]


class Machine:
    """Runs the instructions of one FDE up to an address."""

    def __init__(self, fde, va):
        self.fde, self.va = fde, va
        self.cfa, self.rules, self.saved, self.initial = None, {}, [], {}
        self.run(fde.cie_code)
        self.initial = dict(self.rules)
        self.run(fde.code)

    def row(self):
        return Row(self.cfa, self.rules)

    def run(self, code):
        cursor = dwarfcfi.Cursor(code, 0, 0, 8)
        location = self.fde.start
        while cursor.at < len(code) and location <= self.va:
            byte = cursor.u8()
            high, low = byte & 0xc0, byte & 0x3f
            if high == 0x40:
                location += low * self.fde.code_align
            elif high == 0x80:
                self.rules[low] = ("cfa", unsigned(cursor, self.fde))
            elif high == 0xc0:
                self.restore(low)
            elif byte in (0x02, 0x03, 0x04):
                size = {2: ("<B", 1), 3: ("<H", 2), 4: ("<I", 4)}[byte]
                location += cursor.fixed(*size) * self.fde.code_align
            else:
                self.execute(byte, cursor)

    def restore(self, register):
        self.rules.pop(register, None)
        if register in self.initial:
            self.rules[register] = self.initial[register]

    def execute(self, byte, cursor):
        if byte == 0x00:
            return
        if byte in (0x0a, 0x0b):
            self.state(byte)
        elif byte in (0x0c, 0x0d, 0x0e, 0x0f, 0x12, 0x13):
            self.define_cfa(byte, cursor)
        elif byte == 0x2e:
            cursor.uleb()
        else:
            self.define_rule(byte, cursor)

    def state(self, byte):
        if byte == 0x0a:
            self.saved.append((self.cfa, dict(self.rules)))
        elif self.saved:
            self.cfa, self.rules = self.saved.pop()
        else:
            raise dwarfcfi.CfiError("restore_state without remember_state")

    def define_cfa(self, byte, cursor):
        if byte == 0x0f:
            self.cfa = ("expression", block(cursor))
            return
        _, register, offset = self.cfa if self.cfa else (None, None, None)
        if byte in (0x0c, 0x0d, 0x12):
            register = cursor.uleb()
        if byte in (0x0c, 0x0e):
            offset = cursor.uleb()
        elif byte in (0x12, 0x13):
            offset = signed(cursor, self.fde)
        self.cfa = ("register", register, offset)

    def define_rule(self, byte, cursor):
        register = cursor.uleb()
        if byte == 0x06:
            self.restore(register)
        elif byte in (0x05, 0x11):
            self.rules[register] = ("cfa", (unsigned if byte == 0x05 else signed)(cursor, self.fde))
        elif byte in (0x14, 0x15):
            self.rules[register] = ("value", (unsigned if byte == 0x14 else signed)(cursor, self.fde))
        elif byte in (0x07, 0x08):
            self.rules[register] = ("undefined",) if byte == 0x07 else ("same",)
        elif byte == 0x09:
            self.rules[register] = ("register", cursor.uleb())
        elif byte in (0x10, 0x16):
            self.rules[register] = ("at" if byte == 0x10 else "is", block(cursor))
        else:
            raise dwarfcfi.CfiError(f"call frame opcode {byte:#x}")


# Frames ------------------------------------------------------------------------------------------

class Module(NamedTuple):
    kind: str
    path: str
    image: object     # elf.Elf or None
    rows: dict        # address -> (Row, is a signal frame) or None

    def row(self, va):
        if va not in self.rows:
            fde = self.image.fde(va) if self.image else None
            self.rows[va] = (Machine(fde, va).row(), fde.signal) if fde else None
        return self.rows[va]

    def is_entry(self, va):
        return (self.kind != "vdso" and 0 <= va - self.image.entry < ENTRY_SIZE
                and self.row(self.image.entry) is None)


class Walk:
    """One sample; frames become known as they are found."""

    def __init__(self, maps, registers, stack):
        self.maps, self.registers, self.stack = maps, registers, stack
        self.base = registers[SP]
        self.frames, self.is_complete = [], False
        self.is_exact = True

    def read(self, address):
        at = address - self.base
        if not 0 <= at <= len(self.stack) - 8:
            raise Stop(f"no copy of {address:#x}")
        return struct.unpack_from("<Q", self.stack, at)[0]

    def register(self, number):
        value = self.registers.get(number)
        if value is None:
            raise Stop(f"register {number} is not known")
        return value

    def evaluate(self, code, values):
        cursor = dwarfcfi.Cursor(code, 0, 0, 8)
        while cursor.at < len(code):
            op = cursor.u8()
            if 0x30 <= op <= 0x4f:
                values.append(op - 0x30)
            elif 0x70 <= op <= 0x8f:
                values.append(self.register(op - 0x70) + cursor.sleb() & MASK)
            elif op == 0x06:
                values.append(self.read(values.pop()))
            elif op == 0x23:
                values.append(values.pop() + cursor.uleb() & MASK)
            elif op in (0x1a, 0x22, 0x24, 0x2a):
                right, left = values.pop(), values.pop()
                values.append({0x1a: left & right, 0x22: left + right & MASK,
                               0x24: left << (right & 63) & MASK, 0x2a: int(left >= right)}[op])
            else:
                raise Stop(f"operation {op:#x}")
        return values[-1]

    def value(self, rule, number, cfa):
        """The caller's value of a register."""
        kind = rule[0]
        if kind == "same":
            return self.register(number)
        if kind == "undefined":
            raise Stop("undefined")
        if kind == "register":
            return self.register(rule[1])
        if kind == "value":
            return cfa + rule[1] & MASK
        if kind == "is":
            return self.evaluate(rule[1], [cfa])
        address = cfa + rule[1] & MASK if kind == "cfa" else self.evaluate(rule[1], [cfa])
        # The value that the running frame has popped is in the register again.
        if self.is_exact and 0 < self.registers[SP] - address <= RED_ZONE and number != PC:
            return self.register(number)
        return self.read(address)

    def step(self, row, is_signal):
        """Moves to the caller; raises Stop if it cannot be found."""
        kind = row.cfa[0]
        cfa = self.evaluate(row.cfa[1], []) if kind == "expression" \
            else self.register(row.cfa[1]) + row.cfa[2] & MASK
        last = self.registers[SP]
        if not is_signal and (cfa < last or cfa == last and not self.is_exact):
            raise Stop("the stack does not grow")
        caller = {}
        for number in range(17):
            rule = row.rules.get(number) or (("value", 0) if number == SP else
                                             ("same",) if number in PRESERVED else ("undefined",))
            try:
                caller[number] = self.value(rule, number, cfa)
            except Stop:
                if number in (SP, PC):
                    raise
        self.registers, self.is_exact = caller, is_signal

    def run(self):
        while len(self.frames) < 1024:
            pc = self.registers[PC]
            lookup = pc if self.is_exact else pc - 1
            found = next((m for m in self.maps if m[0] <= lookup < m[1]), None)
            if found is None:
                raise Stop(f"{pc:#x} is in no mapping")
            _, _, bias, index, module = found
            self.frames.append(f"{index}:{pc - bias:x}{'!' if self.is_exact else ''}")
            if module.image is None:
                raise Stop(f"no rules in {module.path}")
            row = module.row(lookup - bias)
            if row is None:
                self.is_complete = module.is_entry(lookup - bias)
                raise Stop("no rule")
            if row[0].rules.get(PC) == ("undefined",):
                self.is_complete = True
                return
            self.step(*row)


# Files -------------------------------------------------------------------------------------------

class Recording:
    """A file in the form of samples.h."""

    def __init__(self, path):
        with gzip.open(path) as file:
            self.data = file.read()
        self.at, self.modules, self.spaces, self.samples = 0, [], [], []
        if self.line() != "live-unwinder samples 1":
            raise ValueError(f"{path}: no recorded samples")
        while self.at < len(self.data):
            self.item(self.line())

    def line(self):
        end = self.data.index(b"\n", self.at)
        text, self.at = self.data[self.at:end].decode(), end + 1
        return text

    def bytes(self, size):
        found = self.data[self.at:self.at + size]
        self.at += size + 1
        return found

    def item(self, line):
        kind, rest = line.split(" ", 1)
        if kind == "module":
            kind, size, path = rest.split(" ", 2)
            image = self.bytes(int(size, 16))
            self.modules.append(Module(kind, path, elf.Elf(image) if image else None, {}))
        elif kind == "call":
            pass            # only frame-pointer steps need calls
        elif kind == "space":
            self.spaces.append([self.mapping(self.line()) for _ in range(int(rest, 16))])
        elif kind == "sample":
            space, _, _, mask, size, *words = (int(word, 16) for word in rest.split())
            registers, bits = {}, [bit for bit in range(64) if mask >> bit & 1]
            for bit, word in zip(bits, words):
                if bit in OF_PERF:
                    registers[OF_PERF[bit]] = word
            self.samples.append((self.spaces[space], registers, self.bytes(size)))

    def mapping(self, line):
        start, end, offset, index = (int(word, 16) for word in line.split())
        module = self.modules[index]
        bias = 0
        if module.image is not None:
            bias = start - (module.image.fo_to_ea(0 if module.kind == "vdso" else offset) or 0)
        return start, end, bias, index, module


def differs(walk, why, stored):
    """Returns why the walk is not the stored stack, or None."""
    state, *frames = stored.split()
    guess = next((i for i, frame in enumerate(frames) if "~" in frame), len(frames))
    if walk.is_complete:
        return None if state == "complete" and walk.frames == frames else "complete here"
    if state == "complete" and guess == len(frames):
        return f"not complete here: {why}"
    return None if walk.frames[:guess] == frames[:len(walk.frames)][:guess] else "other frames"


def compare(path):
    stored = [line for line in path.with_name(path.name.replace(".samples.gz", ".stacks"))
              .read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    recording = Recording(path)
    faults, n_frames = [], 0
    for i, sample in enumerate(recording.samples):
        walk, why = Walk(*sample), ""
        try:
            walk.run()
        except (Stop, dwarfcfi.CfiError) as stop:
            why = str(stop)
        n_frames += len(walk.frames)
        fault = differs(walk, why, stored[i])
        if fault:
            faults.append(f"{i}: {fault}\n#   stored {stored[i]}\n#   here   {' '.join(walk.frames)}")
    return faults, len(recording.samples), n_frames


def main():
    paths = sorted(pathlib.Path(sys.argv[1]).glob("*.samples.gz"))
    failed = 0
    for number, path in enumerate(paths, 1):
        faults, n_samples, n_frames = compare(path)
        for fault in faults[:5]:
            print(f"# {path.name.split('.')[0]} {fault}")
        failed += bool(faults)
        print(f"{'not ok' if faults else 'ok'} {number} - {path.name.split('.')[0]}: "
              f"{len(faults)} of {n_samples} stacks are others, {n_frames} frames")
    print(f"1..{len(paths)}")
    return 1 if failed or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
