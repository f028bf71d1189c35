# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""symbols.py - programs with tables of symbols that nobody would make."""

import os
import struct

SHT_SYMTAB, SHT_STRTAB = 2, 3


def symbol(name, value, size):
    return struct.pack('<IBBHQQ', name, 0x12, 0, 1, value, size)


class Program:
    """A copy of a program whose table of symbols is replaced."""

    def __init__(self, source, path):
        with open(source, 'rb') as file:
            self.data = bytearray(file.read())
        self.path = path
        (self.shoff,) = struct.unpack_from('<Q', self.data, 40)
        self.n_sections, self.names_index = struct.unpack_from('<HH', self.data, 60)
        self.sections = [list(struct.unpack_from('<IIQQQQIIQQ', self.data, self.shoff + 64 * i))
                         for i in range(self.n_sections)]

    def write(self, symbols, names, sparse=0):
        """sparse: bytes of zeros behind the symbols that belong to them."""
        header = self.sections[self.names_index]
        section_names = bytes(self.data[header[4]:header[4] + header[5]])
        at = len(self.data) + 4096
        header[4], header[5] = at, len(section_names) + 16
        table = at + 4096
        symbols_at = table + 64 * (self.n_sections + 2) + 4096
        names_at = symbols_at + len(symbols) + sparse
        length = len(section_names)
        added = [[length, SHT_SYMTAB, 0, 0, symbols_at, len(symbols) + sparse,
                  self.n_sections + 1, 0, 8, 24],
                 [length + 8, SHT_STRTAB, 0, 0, names_at, len(names), 0, 0, 1, 0]]
        struct.pack_into('<Q', self.data, 40, table)
        struct.pack_into('<H', self.data, 60, self.n_sections + 2)
        with open(self.path, 'wb') as file:
            file.write(self.data)
            for offset, data in ((at, section_names + b'.symtab\0.strtab\0'),
                                 (table, b''.join(struct.pack('<IIQQQQIIQQ', *section)
                                                  for section in self.sections + added)),
                                 (symbols_at, symbols), (names_at, names)):
                file.seek(offset)
                file.write(data)
        os.chmod(self.path, 0o755)
