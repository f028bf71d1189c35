# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""dwarfcfi.py - finds the FDE of an address and follows the rule of its return address.

Used by elf.py only.  It reads .eh_frame (through the search table of .eh_frame_hdr when there is
one) and .debug_frame.  It is no unwinder: it knows whether an address has an FDE, whether that is a
signal frame's, and whether the return address is undefined there, which is how CFI marks the
outermost frame.  Every malformed entry raises CfiError; the caller takes that as "not known".
"""

import bisect
import struct
from typing import NamedTuple

# Return-address rules, as far as they matter here.
UNSET, UNDEFINED, SET, IN_REGISTER = "unset", "undefined", "set", "in a register"

_FIXED = {0x02: ("<H", 2), 0x03: ("<I", 4), 0x04: ("<Q", 8),
          0x0a: ("<h", 2), 0x0b: ("<i", 4), 0x0c: ("<q", 8)}


class CfiError(Exception):
    """The call frame information is malformed or of a kind we do not know."""


class Fde(NamedTuple):
    start: int
    end: int
    signal: bool         # augmentation 'S'
    ra_register: int
    code_align: int
    data_align: int
    pointer_encoding: int
    cie_code: bytes
    code: bytes
    code_va: int         # address of the first byte of code
    lsda: int            # address of the language's data: C++'s landing pads; 0: none


class Cursor:
    """Reads numbers from bytes; @va is the address of the first byte."""

    def __init__(self, data, at=0, va=0, pointer_size=8):
        self.data, self.at, self.va, self.pointer_size = data, at, va, pointer_size

    def fixed(self, fmt, size):
        if self.at + size > len(self.data):
            raise CfiError("entry is cut")
        value, = struct.unpack_from(fmt, self.data, self.at)
        self.at += size
        return value

    def u8(self):
        return self.fixed("<B", 1)

    def u32(self):
        return self.fixed("<I", 4)

    def address(self):
        return self.fixed("<Q", 8) if self.pointer_size == 8 else self.fixed("<I", 4)

    def skip(self, size):
        if size < 0 or self.at + size > len(self.data):
            raise CfiError("entry is cut")
        self.at += size

    def uleb(self):
        value = shift = 0
        while True:
            byte = self.u8()
            value |= (byte & 0x7f) << shift
            shift += 7
            if not byte & 0x80:
                return value

    def sleb(self):
        value = shift = 0
        while True:
            byte = self.u8()
            value |= (byte & 0x7f) << shift
            shift += 7
            if not byte & 0x80:
                return value - (1 << shift) if byte & 0x40 else value

    def encoded(self, encoding, data_base=0):
        """A pointer in a DW_EH_PE encoding; None for 'omit'.  Indirect ones give their slot."""
        if encoding == 0xff:
            return None
        here = self.va + self.at
        form = encoding & 0x0f
        if form == 0x00:
            value = self.address()
        elif form == 0x01:
            value = self.uleb()
        elif form == 0x09:
            value = self.sleb()
        elif form in _FIXED:
            value = self.fixed(*_FIXED[form])
        else:
            raise CfiError(f"pointer encoding {encoding:#x}")
        base = {0x00: 0, 0x10: here, 0x30: data_base}.get(encoding & 0x70)
        if base is None:
            raise CfiError(f"pointer encoding {encoding:#x}")
        return (value + base) & ((1 << 8 * self.pointer_size) - 1)

    def cstring(self):
        end = self.data.find(b"\0", self.at)
        if end < 0:
            raise CfiError("string has no end")
        text = bytes(self.data[self.at:end])
        self.at = end + 1
        return text


class _Cie(NamedTuple):
    signal: bool
    ra_register: int
    code_align: int
    data_align: int
    pointer_encoding: int
    has_size: bool
    lsda_encoding: int
    code: bytes


def landing_pads(data, va, start, pointer_size):
    """The landing pads that the call sites of a function at @start have; @data is at its LSDA.

    (gcc, libstdc++-v3/libsupc++/eh_personality.cc: parse_lsda_header)
    """
    cursor = Cursor(data, 0, va, pointer_size)
    base = cursor.encoded(cursor.u8())
    base = start if base is None else base
    if cursor.u8() != 0xff:
        cursor.uleb()
    encoding = cursor.u8()
    size = cursor.uleb()
    end = cursor.at + size
    pads = set()
    while cursor.at < end:
        cursor.encoded(encoding & 0x0f)
        cursor.encoded(encoding & 0x0f)
        pad = cursor.encoded(encoding & 0x0f)
        cursor.uleb()
        if pad:
            pads.add(base + pad)
    return pads


class Section:
    """One section of CFI: @data its bytes, @va its address, @is_eh .eh_frame or .debug_frame."""

    def __init__(self, data, va, is_eh, pointer_size):
        self.data, self.va, self.is_eh, self.pointer_size = data, va, is_eh, pointer_size
        self._cies = {}
        self._index = None

    def _entry(self, at):
        """Opens the entry at @at; returns (cursor behind its id, id, offset of the id, end)."""
        cursor = Cursor(self.data, at, self.va, self.pointer_size)
        length = cursor.u32()
        if length == 0:
            return None
        wide = length == 0xffffffff
        if wide:
            length = cursor.fixed("<Q", 8)
        end = cursor.at + length
        if end > len(self.data):
            raise CfiError("entry is longer than its section")
        id_at = cursor.at
        ident = cursor.fixed("<Q", 8) if wide and not self.is_eh else cursor.u32()
        if not self.is_eh and ident == (0xffffffffffffffff if wide else 0xffffffff):
            ident = -1
        elif self.is_eh and ident == 0:
            ident = -1
        return cursor, ident, id_at, end

    def _cie(self, at):
        cie = self._cies.get(at)
        if cie is None:
            cie = self._cies[at] = self._parse_cie(at)
        return cie

    def _parse_cie(self, at):
        if not 0 <= at < len(self.data):
            raise CfiError("CIE lies outside its section")
        entry = self._entry(at)
        if entry is None or entry[1] != -1:
            raise CfiError("FDE points to something that is no CIE")
        cursor, _, _, end = entry
        version = cursor.u8()
        if version not in (1, 3, 4):
            raise CfiError(f"CIE version {version}")
        augmentation = cursor.cstring()
        if version == 4:
            cursor.skip(2)
        code_align = cursor.uleb()
        data_align = cursor.sleb()
        ra_register = cursor.u8() if version == 1 else cursor.uleb()
        encoding, signal, lsda_encoding = 0x00, False, 0xff
        if augmentation[:1] == b"z":
            size = cursor.uleb()
            code_at = cursor.at + size
            for letter in augmentation[1:].decode("latin-1"):
                if letter == "R":
                    encoding = cursor.u8()
                elif letter == "L":
                    lsda_encoding = cursor.u8()
                elif letter == "P":
                    cursor.encoded(cursor.u8())
                elif letter == "S":
                    signal = True
                elif letter != "B":
                    break
            cursor.at = code_at
        elif augmentation == b"S":      # .debug_frame has no sizes
            signal = True
        elif augmentation:
            raise CfiError(f"augmentation {augmentation!r}")
        return _Cie(signal, ra_register, code_align, data_align, encoding, augmentation[:1] == b"z",
                    lsda_encoding, bytes(self.data[cursor.at:end]))

    def fde_at(self, at):
        """The FDE at section offset @at; None for a CIE or the terminator."""
        entry = self._entry(at)
        if entry is None or entry[1] == -1:
            return None
        cursor, ident, id_at, end = entry
        cie = self._cie(id_at - ident if self.is_eh else ident)
        start = cursor.encoded(cie.pointer_encoding)
        size = cursor.encoded(cie.pointer_encoding & 0x0f)
        if start is None or size is None:
            raise CfiError("FDE without a range")
        lsda = 0
        if cie.has_size:
            skipped = cursor.uleb()
            code_at = cursor.at + skipped
            lsda = cursor.encoded(cie.lsda_encoding) or 0
            cursor.at = code_at
            cursor.skip(0)
        return Fde(start, start + size, cie.signal, cie.ra_register, cie.code_align,
                   cie.data_align, cie.pointer_encoding, cie.code, bytes(self.data[cursor.at:end]),
                   self.va + cursor.at, lsda)

    def _range_at(self, at):
        """Start and end of the FDE at @at, and the offset of the next entry."""
        entry = self._entry(at)
        if entry is None:
            return None, at + 4
        fde = self.fde_at(at) if entry[1] != -1 else None
        return fde, entry[3]

    def index(self):
        """Sorted [(start, end, offset)] of every FDE; made once, up to the first malformed one."""
        if self._index is None:
            found, at = [], 0
            while at + 4 <= len(self.data):
                try:
                    fde, at_next = self._range_at(at)
                except CfiError:
                    break
                if fde is not None and fde.end > fde.start > 0:
                    found.append((fde.start, fde.end, at))
                at = at_next
            self._index = sorted(found)
        return self._index

    def find(self, va):
        """The FDE that covers @va, by the index; None when there is none."""
        index = self.index()
        i = bisect.bisect_right(index, (va, 1 << 64, 0)) - 1
        if i < 0 or not index[i][0] <= va < index[i][1]:
            return None
        return self.fde_at(index[i][2])


class SearchTable:
    """The binary search table of .eh_frame_hdr; @va is the address of its first byte."""

    def __init__(self, data, va, pointer_size):
        self.data, self.va = data, va
        cursor = Cursor(data, 0, va, pointer_size)
        if cursor.u8() != 1:
            raise CfiError(".eh_frame_hdr version")
        frame_encoding, count_encoding, table_encoding = cursor.u8(), cursor.u8(), cursor.u8()
        self.frame_va = cursor.encoded(frame_encoding, va)
        self.count = cursor.encoded(count_encoding, va) or 0
        self.table_at = cursor.at
        if table_encoding != 0x3b:
            raise CfiError(f".eh_frame_hdr table encoding {table_encoding:#x}")
        if self.table_at + 8 * self.count > len(data):
            raise CfiError(".eh_frame_hdr table is cut")

    def find(self, va):
        """The address of the last FDE that starts at or below @va, or None."""
        low, high = 0, self.count
        while low < high:
            middle = (low + high) // 2
            start, = struct.unpack_from("<i", self.data, self.table_at + 8 * middle)
            if self.va + start <= va:
                low = middle + 1
            else:
                high = middle
        if low == 0:
            return None
        fde, = struct.unpack_from("<i", self.data, self.table_at + 8 * (low - 1) + 4)
        return self.va + fde


# Operands of each opcode below 0x40: u uleb, s sleb, b block, 1 2 4 8 bytes, a encoded address.
_OPERANDS = {0x00: "", 0x01: "a", 0x02: "1", 0x03: "2", 0x04: "4", 0x05: "uu", 0x06: "u", 0x07: "u",
             0x08: "u", 0x09: "uu", 0x0a: "", 0x0b: "", 0x0c: "uu", 0x0d: "u", 0x0e: "u", 0x0f: "b",
             0x10: "ub", 0x11: "us", 0x12: "us", 0x13: "s", 0x14: "uu", 0x15: "us", 0x16: "ub",
             0x1d: "8", 0x2d: "", 0x2e: "u", 0x2f: "uu"}
_SIZES = {"1": ("<B", 1), "2": ("<H", 2), "4": ("<I", 4), "8": ("<Q", 8)}
_SETS_RULE = {0x05, 0x10, 0x11, 0x14, 0x15, 0x16, 0x2f}


def _operands(cursor, opcode, encoding):
    kinds = _OPERANDS.get(opcode)
    if kinds is None:
        raise CfiError(f"call frame opcode {opcode:#x}")
    values = []
    for kind in kinds:
        if kind == "u":
            values.append(cursor.uleb())
        elif kind == "s":
            values.append(cursor.sleb())
        elif kind == "b":
            cursor.skip(cursor.uleb())
        elif kind == "a":
            values.append(cursor.encoded(encoding))
        else:
            values.append(cursor.fixed(*_SIZES[kind]))
    return values


class Row(NamedTuple):
    """The facts of CFI about one address that matter here."""
    return_address: str     # UNSET, UNDEFINED, SET or IN_REGISTER
    cfa: tuple              # (register, offset), or None for an expression


def _cfa_after(opcode, values, cfa, data_align):
    """The CFA behind the opcode; @cfa when the opcode says nothing about it."""
    if opcode == 0x0c:
        return values[0], values[1]
    if opcode == 0x12:
        return values[0], values[1] * data_align
    if opcode == 0x0f:
        return None
    if cfa is not None:
        if opcode == 0x0d:
            return values[0], cfa[1]
        if opcode == 0x0e:
            return cfa[0], values[0]
        if opcode == 0x13:
            return cfa[0], values[0] * data_align
    return cfa


def _rule_after(opcode, register, rule, initial, fde):
    """The rule of the return address behind the opcode."""
    if register != fde.ra_register:
        return rule
    if opcode in _SETS_RULE:
        return SET
    return {0x06: initial, 0x07: UNDEFINED, 0x08: UNSET, 0x09: IN_REGISTER}.get(opcode, rule)


def _run(fde, cursor, location, va, first):
    """Runs opcodes from the row @first on until the row of @va is done; returns that."""
    saved = []
    rule, cfa = first
    while cursor.at < len(cursor.data):
        byte = cursor.u8()
        high, low = byte & 0xc0, byte & 0x3f
        if high == 0x40:
            location += low * fde.code_align
        elif high == 0x80:
            cursor.uleb()
            rule = SET if low == fde.ra_register else rule
        elif high == 0xc0:
            rule = first.return_address if low == fde.ra_register else rule
        else:
            values = _operands(cursor, byte, fde.pointer_encoding)
            if byte == 0x01:
                location = values[0]
            elif byte in (0x02, 0x03, 0x04, 0x1d):
                location += values[0] * fde.code_align
            elif byte == 0x0a:
                saved.append((rule, cfa))
            elif byte == 0x0b:
                if not saved:
                    raise CfiError("restore_state without remember_state")
                rule, cfa = saved.pop()
            else:
                rule = _rule_after(byte, values[0] if values else None, rule,
                                   first.return_address, fde)
                cfa = _cfa_after(byte, values, cfa, fde.data_align)
        if location > va:
            break
    return Row(rule, cfa)


def row_at(fde, va, pointer_size=8):
    """The row of @va inside @fde."""
    first = _run(fde, Cursor(fde.cie_code, 0, 0, pointer_size), fde.start, va, Row(UNSET, None))
    return _run(fde, Cursor(fde.code, 0, fde.code_va, pointer_size), fde.start, va, first)
