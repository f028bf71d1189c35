# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""decode.py - how long an x86 instruction is, and where it goes on.  64 and 32 bits.

Used by reach.py.  It knows nothing else about instructions; the tests compare the lengths with
those of objdump.
"""

from typing import NamedTuple

# How an instruction goes on.  A JUMP never goes on behind itself, a BRANCH may.
NEXT, CALL, JUMP, BRANCH = "next", "call", "jump", "branch"
INDIRECT, RETURN, STOP = "indirect", "return", "stop"

LONGEST = 15

_PREFIXES = frozenset(b"\x66\x67\xf2\xf3\xf0\x2e\x36\x3e\x26\x64\x65")
# Opcodes with a ModRM byte, and with an immediate operand of one byte or of the operand's size.
_MODRM = frozenset([b for b in range(0x40) if b & 7 < 4]
                   + [0x62, 0x63, 0x69, 0x6b, *range(0x80, 0x90), 0xc0, 0xc1, 0xc6, 0xc7,
                      *range(0xd0, 0xd4), *range(0xd8, 0xe0), 0xf6, 0xf7, 0xfe, 0xff])
_BYTE = frozenset([b for b in range(0x40) if b & 7 == 4]
                  + [0x6a, 0x6b, *range(0x70, 0x80), 0x80, 0x82, 0x83, 0xa8, *range(0xb0, 0xb8),
                     0xc0, 0xc1, 0xc6, 0xcd, 0xd4, 0xd5, *range(0xe0, 0xe8), 0xeb])
_FULL = frozenset([b for b in range(0x40) if b & 7 == 5]
                  + [0x68, 0x69, 0x81, 0xa9, *range(0xb8, 0xc0), 0xc7, 0xe8, 0xe9])
_FAR = {0x9a, 0xea}
# Behind 0f: opcodes without a ModRM byte, and those with an immediate byte.
_NO_MODRM_0F = frozenset([5, 6, 7, 8, 9, 0xb, 0xe, *range(0x30, 0x38), 0x77, *range(0x80, 0x90),
                          0xa0, 0xa1, 0xa2, 0xa8, 0xa9, 0xaa, *range(0xc8, 0xd0)])
_BYTE_0F = frozenset([0x0f, 0x70, 0x71, 0x72, 0x73, 0xa4, 0xac, 0xba, 0xc2, 0xc4, 0xc5, 0xc6])
_STOPS = {0xf4, 0xcc}           # hlt, int3
_STOP_0F = 0x0b                 # ud2
_RETURNS = {0xc2, 0xc3, 0xca, 0xcb, 0xcf}


class Instruction(NamedTuple):
    size: int
    way: str
    target: int         # of a JUMP or BRANCH
    slot: int           # what an INDIRECT jump reads through, where a fixed address tells; or None
    base: int           # else the number of the register that @displacement is added to, or None
    displacement: int


class _Cut(Exception):
    """The bytes end inside the instruction, or are none."""


class _Reader:
    def __init__(self, code, at, is_64):
        self.code, self.start, self.at, self.is_64 = code, at, at, is_64
        self.operand_16 = self.address_short = self.wide = False
        self.mod = self.reg = self.rm = self.base = None
        self.displacement = 0
        self.is_relative = False

    def byte(self):
        if self.at >= len(self.code) or self.at - self.start >= LONGEST:
            raise _Cut
        self.at += 1
        return self.code[self.at - 1]

    def number(self, size):
        if self.at + size > len(self.code):
            raise _Cut
        self.at += size
        return int.from_bytes(self.code[self.at - size:self.at], "little", signed=True)

    def prefixes(self):
        """Passes the prefixes; returns the opcode's first byte."""
        byte = self.byte()
        while byte in _PREFIXES:
            self.operand_16 |= byte == 0x66
            self.address_short |= byte == 0x67
            byte = self.byte()
        if self.is_64 and 0x40 <= byte < 0x50:
            self.wide = byte & 8 != 0
            byte = self.byte()
        return byte

    def full(self):
        return 2 if self.operand_16 and not self.wide else 4

    def modrm(self):
        byte = self.byte()
        self.mod, self.reg, self.rm = byte >> 6, byte >> 3 & 7, byte & 7
        if self.mod == 3:
            return
        if self.address_short and not self.is_64:
            self.displacement = self.number(
                {0: 2 if self.rm == 6 else 0, 1: 1, 2: 2}[self.mod])
            return
        base = self.rm
        has_index = base == 4
        if has_index:
            sib = self.byte()
            base = sib & 7
            has_index = sib >> 3 & 7 != 4
        if self.mod == 0 and base == 5:
            self.displacement = self.number(4)
            self.is_relative = self.is_64 and self.rm == 5
            self.base = None if has_index else -1
        else:
            self.displacement = self.number((0, 1, 4)[self.mod])
            self.base = None if has_index else base


def _vector(reader, first):
    """VEX, EVEX and XOP; returns FALSE if the bytes are another instruction."""
    code, at = reader.code, reader.at
    if at >= len(code):
        raise _Cut
    if first == 0x8f:
        if code[at] & 0x1f < 8:
            return False
    elif not reader.is_64 and code[at] >> 6 != 3:
        return False
    map_number = 1
    if first != 0xc5:
        map_number = reader.byte() & (0x07 if first == 0x62 else 0x1f)
        reader.byte()
    if first == 0x62 or first == 0xc5:
        reader.byte()
    opcode = reader.byte()
    if map_number == 1 and opcode == 0x77 and first != 0x62:
        return True
    reader.modrm()
    if map_number in (3, 8) or map_number == 1 and opcode in _BYTE_0F:
        reader.number(1)
    elif map_number == 10:
        reader.number(4)
    return True


def _two_bytes(reader, result):
    opcode = reader.byte()
    if opcode in (0x38, 0x3a):
        reader.byte()
        reader.modrm()
        if opcode == 0x3a:
            reader.number(1)
        return
    if opcode not in _NO_MODRM_0F:
        reader.modrm()
    if opcode in _BYTE_0F:
        reader.number(1)
    if 0x80 <= opcode < 0x90:
        result["way"], result["relative"] = BRANCH, reader.number(4)
    elif opcode == _STOP_0F:
        result["way"] = STOP


def _one_byte(reader, opcode, result):
    if opcode in _FAR and reader.is_64:
        raise _Cut
    if opcode in _MODRM:
        reader.modrm()
    relative = None
    if opcode in _BYTE or opcode == 0xf6 and reader.reg < 2:
        relative = reader.number(1)
    elif opcode in (0xe8, 0xe9) and reader.is_64:
        relative = reader.number(4)
    elif 0xb8 <= opcode < 0xc0 and reader.wide:
        reader.number(8)
    elif opcode in _FULL or opcode == 0xf7 and reader.reg < 2:
        relative = reader.number(reader.full())
    elif 0xa0 <= opcode < 0xa4:
        long, short = (8, 4) if reader.is_64 else (4, 2)
        reader.number(short if reader.address_short else long)
    elif opcode in (0xc2, 0xca):
        reader.number(2)
    elif opcode == 0xc8:
        reader.number(3)
    elif opcode in _FAR:
        reader.number(reader.full() + 2)
    if opcode in (0xe9, 0xeb):
        result["way"], result["relative"] = JUMP, relative
    elif 0x70 <= opcode < 0x80 or 0xe0 <= opcode < 0xe4:
        result["way"], result["relative"] = BRANCH, relative
    elif opcode == 0xe8 or opcode == 0xff and reader.reg in (2, 3):
        result["way"] = CALL
    elif opcode == 0xff and reader.reg in (4, 5):
        result["way"] = INDIRECT
    elif opcode in _RETURNS:
        result["way"] = RETURN
    elif opcode in _STOPS or opcode in _FAR:
        result["way"] = STOP


def instruction(code, at, ea, is_64):
    """The instruction at code[at], which stands at address @ea; None if there is none."""
    reader = _Reader(code, at, is_64)
    result = {"way": NEXT, "relative": 0}
    try:
        opcode = reader.prefixes()
        if opcode == 0x0f:
            _two_bytes(reader, result)
        elif opcode not in (0xc4, 0xc5, 0x62, 0x8f) or not _vector(reader, opcode):
            _one_byte(reader, opcode, result)
    except _Cut:
        return None
    size = reader.at - at
    behind, mask = ea + size, (1 << (64 if is_64 else 32)) - 1
    slot = base = None
    if result["way"] == INDIRECT and reader.mod != 3:
        if reader.is_relative:
            slot = behind + reader.displacement & mask
        elif reader.base == -1:
            slot = reader.displacement & mask
        else:
            base = reader.base
    return Instruction(size, result["way"], behind + result["relative"] & mask, slot, base,
                       reader.displacement)
