#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""without-lines.py OBJECT OUTPUT - a BPF object that does not say which line an instruction is of.

The kernel checks these places at each load, and moves all of them with each instruction that it
puts in. Compilers have no option for it. Used by the build.
"""

import struct
import sys
from pathlib import Path

BTF_MAGIC = 0xeb9f


def offset_of(elf, wanted):
    """Where the section is (ELF64, little-endian)."""
    table, = struct.unpack_from("<Q", elf, 0x28)
    size, number, names = struct.unpack_from("<HHH", elf, 0x3a)
    headers = [struct.unpack_from("<IIQQQ", elf, table + i * size) for i in range(number)]
    for name, _, _, _, offset in headers:
        at = headers[names][4] + name
        if elf[at:elf.index(0, at)] == wanted:
            return offset
    sys.exit(f"without-lines.py: no section {wanted.decode()}")


def main(source, output):
    elf = bytearray(Path(source).read_bytes())
    at = offset_of(elf, b".BTF.ext")
    if struct.unpack_from("<H", elf, at)[0] != BTF_MAGIC:
        sys.exit("without-lines.py: .BTF.ext is of no known kind")
    # struct btf_ext_header: line_info_len
    struct.pack_into("<I", elf, at + 20, 0)
    Path(output).write_bytes(elf)


if __name__ == "__main__":
    main(*sys.argv[1:])
