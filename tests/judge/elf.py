# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""elf.py - one ELF file as the judge sees it: segments, symbols, build-id and CFI questions.

Used by the judge and the program tests.  Little-endian 32-bit and 64-bit files, and the vDSO from
memory.  Names as in the C code: an `ea` is an address inside the ELF file (p_vaddr space), an
`offset` counts from the start of the file.

Invariant: nothing here trusts the file beyond its bytes; whatever is malformed raises ElfError when
the file is opened and means "not known" when a question is asked later.
"""

import bisect
import mmap
import struct
import zlib
from typing import NamedTuple

import dwarfcfi
import gotable

PT_LOAD, PT_DYNAMIC, PT_INTERP, PT_NOTE, PT_GNU_EH_FRAME = 1, 2, 3, 4, 0x6474e550
DT_FLAGS_1, DF_1_PIE = 0x6ffffffb, 0x08000000
PF_X = 1
SHF_COMPRESSED = 0x800
PAGE = 4096


class ElfError(Exception):
    """The file is not an ELF file we can read."""


class Segment(NamedTuple):
    kind: int
    flags: int
    offset: int
    ea: int
    file_size: int
    mem_size: int


class Section(NamedTuple):
    name: str
    kind: int
    flags: int
    ea: int
    offset: int
    size: int
    link: int


class Symbol(NamedTuple):
    ea: int
    size: int
    name: str
    kind: int       # STT_*: 0 none, 1 object, 2 function, 10 ifunc
    section: int


class FrameInfo(NamedTuple):
    """The facts of CFI about one address."""
    has_fde: bool
    signal: bool
    ra_undefined: bool
    start: int
    end: int
    is_entered: bool    # the return address is on top of the stack, as behind a call
    ra_in_register: bool


NO_FRAME = FrameInfo(False, False, False, 0, 0, False, False)
# Relocations that fill a slot with the address of a symbol, by machine.
SLOT_RELOCATIONS = {3: (6, 7), 62: (6, 7)}      # GLOB_DAT, JUMP_SLOT
CALL = b"\xe8"
STACK_POINTER = {3: 4, 62: 7}                   # numbers of DWARF


class Elf:
    """@source is a path, or bytes for an image that is in no file."""

    def __init__(self, source):
        if isinstance(source, (bytes, bytearray)):
            self.path, self.data = "(memory)", bytes(source)
        else:
            self.path = str(source)
            with open(source, "rb") as file:
                try:
                    self.data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
                except ValueError as error:
                    raise ElfError(f"{source}: {error}") from error
        try:
            self._read_header()
        except struct.error as error:
            raise ElfError(f"{self.path}: headers are cut") from error
        self._sections = self._symbols = self._symbol_starts = self._cfi = None
        self._exports = self._slots = self._call_targets = None
        self._frame_infos = {}

    def _read_header(self):
        data = self.data
        if data[:4] != b"\x7fELF" or data[4:6] not in (b"\1\1", b"\2\1"):
            raise ElfError(f"{self.path}: no little-endian ELF file")
        self.is_64 = data[4] == 2
        self.pointer_size = 8 if self.is_64 else 4
        fmt = "<HHIQQQIHHHHHH" if self.is_64 else "<HHIIIIIHHHHHH"
        (self.kind, self.machine, _, self.entry, phoff, self._shoff, _, _, phentsize, phnum,
         self._shentsize, self._shnum, self._shstrndx) = struct.unpack_from(fmt, data, 16)
        self.segments = []
        for i in range(phnum):
            at = phoff + i * phentsize
            if self.is_64:
                kind, flags, offset, ea, _, fsz, msz, _ = struct.unpack_from("<IIQQQQQQ", data, at)
            else:
                kind, offset, ea, _, fsz, msz, flags, _ = struct.unpack_from("<IIIIIIII", data, at)
            self.segments.append(Segment(kind, flags, offset, ea, fsz, msz))
        self.exec_loads = [s for s in self.segments if s.kind == PT_LOAD and s.flags & PF_X]

    # Address spaces -----------------------------------------------------------------------------

    def load_of_fo(self, offset):
        """The executable LOAD that covers @offset: exactly, else with its page rounding."""
        for s in self.exec_loads:
            if s.offset <= offset < s.offset + s.file_size:
                return s
        for s in self.exec_loads:
            if s.offset & -PAGE <= offset < (s.offset + s.file_size + PAGE - 1) & -PAGE:
                return s
        return None

    def fo_to_ea(self, offset):
        """Address of file offset @offset through an executable LOAD, or None."""
        s = self.load_of_fo(offset)
        return None if s is None else offset - s.offset + s.ea

    def is_exec_ea(self, ea):
        return any(s.ea <= ea < s.ea + s.mem_size for s in self.exec_loads)

    def call_targets(self):
        """Where bytes that look like direct calls (of x86) lead."""
        if self._call_targets is None:
            self._call_targets = set()
            for s in self.exec_loads:
                code = self.data[s.offset:s.offset + s.file_size]
                at = code.find(CALL)
                while 0 <= at <= len(code) - 5:
                    distance, = struct.unpack_from("<i", code, at + 1)
                    self._call_targets.add(s.ea + at + 5 + distance)
                    at = code.find(CALL, at + 1)
        return self._call_targets

    def bytes_at(self, ea, size):
        """@size bytes of the image at @ea, or None when no LOAD has them all in its file part."""
        for s in self.segments:
            if s.kind == PT_LOAD and s.ea <= ea and ea + size <= s.ea + s.file_size:
                at = s.offset + ea - s.ea
                return self.data[at:at + size]
        return None

    # Sections and symbols -----------------------------------------------------------------------

    @property
    def sections(self):
        if self._sections is None:
            try:
                self._sections = self._read_sections()
            except (struct.error, IndexError, ValueError):
                self._sections = []
        return self._sections

    def _read_sections(self):
        raw = []
        fmt = "<IIQQQQIIQQ" if self.is_64 else "<IIIIIIIIII"
        for i in range(self._shnum if self._shoff else 0):
            raw.append(struct.unpack_from(fmt, self.data, self._shoff + i * self._shentsize))
        if not raw:
            return []
        names_at = raw[self._shstrndx][4]
        found = []
        for name, kind, flags, ea, offset, size, link, _, _, _ in raw:
            name = self._cstring(names_at + name)
            found.append(Section(name, kind, flags, ea, offset, size, link))
        return found

    def _cstring(self, at):
        end = self.data.find(b"\0", at)
        return self.data[at:end].decode("utf-8", "replace") if end >= 0 else ""

    def section(self, name):
        return next((s for s in self.sections if s.name == name), None)

    def section_data(self, section):
        """Contents of @section, decompressed; None when it has none or they are malformed."""
        if section.kind == 8 or section.offset + section.size > len(self.data):
            return None
        data = self.data[section.offset:section.offset + section.size]
        if section.flags & SHF_COMPRESSED:
            head = 24 if self.is_64 else 12
            kind, = struct.unpack_from("<I", data, 0)
            if kind != 1:
                return None
            try:
                data = zlib.decompress(data[head:])
            except zlib.error:
                return None
        elif section.name.startswith(".zdebug") and data[:4] == b"ZLIB":
            try:
                data = zlib.decompress(data[12:])
            except zlib.error:
                return None
        return data

    @property
    def symbols(self):
        """Symbols with an address, by address: .symtab and .dynsym together, and a stripped Go
        program's functions."""
        if self._symbols is None:
            found = set()
            for table in self.sections:
                if table.kind in (2, 11) and table.link < len(self.sections):
                    found.update(self._read_symbols(table, self.sections[table.link]))
            if all(table.kind != 2 for table in self.sections):
                found.update(self._go_symbols())
            self._symbols = sorted(found)
            self._symbol_starts = [s.ea for s in self._symbols]
        return self._symbols

    def _go_symbols(self):
        table = next((s for s in self.sections if s.name in gotable.SECTIONS), None)
        table = table or (self.section(".go.buildinfo") and self.section(".data.rel.ro"))
        data = self.section_data(table) if table else None
        at = gotable.find(data) if data else None
        if at is None:
            return
        text = self.section(".text")
        text = self._relocated(table.ea + at + 24) or (text.ea if text else 0)
        try:
            for start, end, name in gotable.functions(data[at:], text):
                yield Symbol(start, end - start, name, 2, 1)
        except (struct.error, ValueError):
            return

    def _relocated(self, ea):
        """Returns what the loader writes at @ea in a position-independent program, or None."""
        for table in self.sections:
            data = (self.section_data(table) or b"") if table.kind == 4 and table.flags & 2 else b""
            for at, _, value in struct.iter_unpack("<QQq", data[:len(data) // 24 * 24]):
                if at == ea:
                    return value
        return None

    def _read_symbols(self, table, strings, has_undefined=False):
        step = 24 if self.is_64 else 16
        fmt = "<IBBHQQ" if self.is_64 else "<IIIBBH"
        data = self.section_data(table) or b""
        for values in struct.iter_unpack(fmt, data[:len(data) // step * step]):
            if self.is_64:
                name, info, _, section, ea, size = values
            else:
                name, ea, size, info, _, section = values
            kind = info & 0xf
            is_undefined = section == 0 and not (has_undefined and ea != 0 and kind == 2)
            if is_undefined or section >= 0xff00 or kind not in (0, 1, 2, 10):
                continue
            yield Symbol(ea, size, self._cstring(strings.offset + name), kind, section)

    @property
    def exports(self):
        """Functions that other files can call: name -> [Symbol].  Some are not defined here: code
        that is not position-independent takes their addresses, so their entry in its procedure
        linkage table is their address in all files."""
        if self._exports is None:
            self._exports = {}
            for table in self.sections:
                if table.kind == 11 and table.link < len(self.sections):
                    for symbol in self._read_symbols(table, self.sections[table.link], True):
                        self._exports.setdefault(symbol.name, []).append(symbol)
        return self._exports

    @property
    def slots(self):
        """Slots that the loader fills with the address of a symbol: address -> name."""
        if self._slots is None:
            self._slots = {}
            for table in self.sections:
                if table.kind in (4, 9) and table.flags & 2 and table.link < len(self.sections):
                    self._slots.update(self._read_slots(table, self.sections[table.link]))
        return self._slots

    def _read_slots(self, table, symbols):
        data, entries = self.section_data(table) or b"", self.section_data(symbols) or b""
        if symbols.link >= len(self.sections):
            return
        strings, kinds = self.sections[symbols.link], SLOT_RELOCATIONS.get(self.machine, ())
        fmt = ("<QQq" if self.is_64 else "<IIi") if table.kind == 4 else (
            "<QQ" if self.is_64 else "<II")
        step, symbol_size = struct.calcsize(fmt), 24 if self.is_64 else 16
        for values in struct.iter_unpack(fmt, data[:len(data) // step * step]):
            kind = values[1] & (0xffffffff if self.is_64 else 0xff)
            at = (values[1] >> (32 if self.is_64 else 8)) * symbol_size
            if kind in kinds and at and at + symbol_size <= len(entries):
                name, = struct.unpack_from("<I", entries, at)
                yield values[0], self._cstring(strings.offset + name)

    def symbol_at(self, ea):
        """The function symbol that covers @ea, else the nearest unsized one below; or None."""
        symbols = self.symbols
        i = bisect.bisect_right(self._symbol_starts, ea) - 1
        unsized = None
        for s in reversed(symbols[max(0, i - 64):i + 1]):
            if s.kind in (2, 10) and s.ea <= ea < s.ea + s.size:
                return s
            if s.size == 0 and s.kind in (0, 2) and s.name and unsized is None:
                unsized = s
        return unsized

    def entry_range(self):
        """(start, end) of the function at the entry point: to the next symbol, at most 256 bytes.

        A stripped file's next symbol says nothing, so its range is 80 bytes at most.
        """
        limit = self.entry + (0x100 if self.section(".symtab") else 0x50)
        symbols = self.symbols
        i = bisect.bisect_right(self._symbol_starts, self.entry)
        following = (s.ea for s in symbols[i:] if self.is_exec_ea(s.ea))
        return self.entry, min(limit, next(following, limit))

    @property
    def is_program(self):
        """True when the kernel can start this file at its entry point: a program or the loader."""
        return (self.kind == 2 or any(s.kind == PT_INTERP for s in self.segments)
                or self._dynamic_flags_1() & DF_1_PIE != 0
                or self.path.rsplit("/", 1)[-1].startswith("ld"))

    def _dynamic_flags_1(self):
        step = 2 * self.pointer_size
        for s in self.segments:
            if s.kind == PT_DYNAMIC:
                data = self.data[s.offset:s.offset + s.file_size]
                fmt = "<QQ" if self.is_64 else "<II"
                for tag, value in struct.iter_unpack(fmt, data[:len(data) // step * step]):
                    if tag == DT_FLAGS_1:
                        return value
        return 0

    @property
    def build_id(self):
        """The GNU build-id as hex digits, or ""."""
        for s in self.segments:
            if s.kind != PT_NOTE:
                continue
            at, end = s.offset, min(s.offset + s.file_size, len(self.data))
            while at + 12 <= end:
                name_size, size, kind = struct.unpack_from("<III", self.data, at)
                data_at = at + 12 + (name_size + 3 & ~3)
                if kind == 3 and self.data[at + 12:at + 16] == b"GNU\0" and name_size == 4:
                    return self.data[data_at:data_at + size].hex()
                at = data_at + (size + 3 & ~3)
        return ""

    # Call frame information ---------------------------------------------------------------------

    def frame_info(self, ea):
        """Returns the facts of CFI about address @ea; NO_FRAME when it has none."""
        info = self._frame_infos.get(ea)
        if info is None:
            info = self._frame_infos[ea] = self._frame_info(ea)
        return info

    def fde(self, ea):
        """The FDE that covers @ea, or None."""
        for find in self._finders():
            try:
                fde = find(ea)
            except dwarfcfi.CfiError:
                continue
            if fde is not None and fde.start <= ea < fde.end:
                return fde
        return None

    def is_landing_pad(self, ea):
        """Whether the code at @ea catches exceptions of its function, or cleans up after them."""
        fde = self.fde(ea)
        return fde is not None and fde.lsda != 0 and ea in self._landing_pads(fde.start, fde.lsda)

    def landing_pads(self):
        """All landing pads of functions with an FDE in .eh_frame."""
        named = self.section(".eh_frame")
        data = self.section_data(named) if named else None
        if data is None:
            return set()
        frames = dwarfcfi.Section(data, named.ea, True, self.pointer_size)
        fdes = (frames.fde_at(at) for _, _, at in frames.index())
        return {pad for fde in fdes if fde.lsda != 0
                for pad in self._landing_pads(fde.start, fde.lsda)}

    def _landing_pads(self, start, lsda):
        load = next((s for s in self.segments
                     if s.kind == PT_LOAD and s.ea <= lsda < s.ea + s.file_size), None)
        if load is None:
            return ()
        data = self.data[load.offset + lsda - load.ea:load.offset + load.file_size]
        try:
            return dwarfcfi.landing_pads(data, lsda, start, self.pointer_size)
        except dwarfcfi.CfiError:
            return ()

    def _frame_info(self, ea):
        for find in self._finders():
            try:
                fde = find(ea)
                if fde is None or not fde.start <= ea < fde.end:
                    continue
                row = dwarfcfi.row_at(fde, ea, self.pointer_size)
            except dwarfcfi.CfiError:
                continue
            entered = row.cfa == (STACK_POINTER.get(self.machine), self.pointer_size)
            return FrameInfo(True, fde.signal, row.return_address == dwarfcfi.UNDEFINED, fde.start,
                             fde.end, entered, row.return_address == dwarfcfi.IN_REGISTER)
        return NO_FRAME

    def _finders(self):
        """Functions ea -> FDE or None, best first; opened once."""
        if self._cfi is None:
            finders = [self._open_eh_frame(), self._open_debug_frame()]
            self._cfi = [f for f in finders if f is not None]
        return self._cfi

    def _open_eh_frame(self):
        header = next((s for s in self.segments if s.kind == PT_GNU_EH_FRAME), None)
        try:
            table = dwarfcfi.SearchTable(self.data[header.offset:header.offset + header.file_size],
                                         header.ea, self.pointer_size) if header else None
        except dwarfcfi.CfiError:
            table = None
        named = self.section(".eh_frame")
        if table is not None:
            # The section's bytes run to the end of its LOAD; offsets are relative to its start.
            frames = self._cfi_section_from(table.frame_va)
            if frames is not None:
                return lambda ea: self._find_by_table(table, frames, ea)
        if named is not None and (data := self.section_data(named)) is not None:
            return dwarfcfi.Section(data, named.ea, True, self.pointer_size).find
        return None

    def _cfi_section_from(self, ea):
        for s in self.segments:
            if s.kind == PT_LOAD and s.ea <= ea < s.ea + s.file_size:
                # Some linkers put FDEs before the address .eh_frame_hdr gives: take the whole LOAD.
                data = self.data[s.offset:s.offset + s.file_size]
                return dwarfcfi.Section(data, s.ea, True, self.pointer_size)
        return None

    @staticmethod
    def _find_by_table(table, frames, ea):
        fde_ea = table.find(ea)
        if fde_ea is None or not frames.va <= fde_ea < frames.va + len(frames.data):
            return None
        return frames.fde_at(fde_ea - frames.va)

    def _open_debug_frame(self):
        section = self.section(".debug_frame") or self.section(".zdebug_frame")
        data = self.section_data(section) if section else None
        if not data:
            return None
        return dwarfcfi.Section(data, 0, False, self.pointer_size).find


def running_vdso():
    """The 64-bit vDSO of the running kernel, read from our own memory, or None."""
    with open("/proc/self/maps", encoding="ascii", errors="replace") as maps:
        for line in maps:
            if line.rstrip().endswith("[vdso]"):
                start, end = (int(x, 16) for x in line.split()[0].split("-"))
                with open("/proc/self/mem", "rb") as memory:
                    memory.seek(start)
                    return Elf(memory.read(end - start))
    return None
