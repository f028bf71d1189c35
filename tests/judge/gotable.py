# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""gotable.py - the functions of a Go program, from its .gopclntab, which a stripped one has too.

Used by elf.py where there are no symbols.  The table is that of Go 1.16 and later; see Go's
debug/gosym/pclntab.go.
"""

import struct

# Magic number -> whether addresses count from the start of the text, in 4 bytes.
FORMS = {0xfffffffa: False, 0xfffffff0: True, 0xfffffff1: True}
SECTIONS = ".gopclntab", ".data.rel.ro.gopclntab"
ALIGN = 32


def find(data):
    """Returns where a table begins in the bytes of a section, or None."""
    for magic in FORMS:
        at = data.find(struct.pack("<IHBB", magic, 0, 1, 8))
        if at >= 0 and at % ALIGN == 0:
            return at
    return None


def functions(data, text):
    """Yields (start, end, name); @text is where the text starts, unless the table says so."""
    magic, = struct.unpack_from("<I", data)
    if magic not in FORMS:
        return
    is_short = FORMS[magic]
    words = struct.unpack_from("<8Q", data, 8)
    count, (names, *_, table) = words[0], words[3:8] if is_short else words[2:7]
    text = (words[2] or text) if is_short else 0
    place, entry = ("<II", "<Ii") if is_short else ("<QQ", "<Qi")
    step = struct.calcsize(place)
    for i in range(count):
        start, at = struct.unpack_from(place, data, table + i * step)
        end, = struct.unpack_from(place[:2], data, table + (i + 1) * step)
        name = names + struct.unpack_from(entry, data, table + at)[1]
        yield text + start, text + end, data[name:data.index(b"\0", name)].decode(errors="replace")
