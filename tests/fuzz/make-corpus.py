#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""make-corpus.py - regenerates the corpora of the fuzz targets.

Perf records come from the recorded files of the unit tests: from each file, at most two of each
combination of type and flags. The layout of its event precedes each record, as fuzz-record.c expects.
Captures come from the writer in the judge's tests. This file contains everything else: lines of
/proc/PID/maps, /proc/kallsyms and the files with the machine's counters in every form that the kernel
prints, call frame information with one entry for each kind of instruction, and rules with a stack to unwind.
"""

import collections
import pathlib
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
DATA = HERE.parent / "unit" / "input" / "data"
sys.path.insert(0, str(HERE.parent / "judge"))
import capwriter  # noqa: E402  (found through the line above)

# Files of one machine, read twice: stat, meminfo, net/dev, diskstats, a CPU's highest and current frequency.
COUNTERS = {
    "usual": (
        "cpu  100 0 0 100 0 0 0 0 0 0\ncpu0 100 0 0 0 0 0 0 0 0 0\ncpu1 0 0 0 100 0 0 0 0 0 0\nintr 5\n",
        "MemTotal:       16304812 kB\nMemFree: 100 kB\nMemAvailable:  400 kB\nSwapTotal: 0 kB\n",
        "Inter-|   Receive\n face |bytes\n    lo:    7 1 0 0 0 0 0 0    9 1 0\n  eth0: 1000 1 0 0 0 0 0 0 500 1 0\n",
        "   8       0 sda 10 0 0 0 20 0 0 0\n 259       0 nvme0n1p1 1 2 3 4 5 6 7 8\n", "4000000\n", "1000000\n",
        "cpu  130 0 0 170 0 0 0 0 0 0\ncpu0 125 0 0 25 0 0 0 0 0 0\ncpu2 5 0 0 125 20 0 0 0 0 0\nintr 5\n",
        "MemTotal:       16304812 kB\nMemAvailable: 99999999999 kB\n", "  eth0:2000 1 0 0 0 0 0 0 400 1 0\nveth1: 1 0 0 0 0 0 0 0 1\n",
        "   8       0 sda 13 0 0 0 20 0 0 0\n", "4000000\n", "9000000\n"),
    "rounded": ("cpu  446744073709551615 1 1 1 1 100 0 0\n", "", "", "", "", ""),
    "broken": (
        "cpu\ncpu 1 2 3\ncpu99999999999999999999 1 2 3 4 5 6 7 8\n", "MemTotal\nMemTotal: kB\n:\nMemFree: -1 kB",
        ":\na:b\nx: 18446744073709551615 0 0 0 0 0 0 0 18446744073709551616\n" + "long" * 20 + ": 1 0 0 0 0 0 0 0 1",
        "8 0\n8 0 \n 1 2 x 18446744073709551615 1 1 1 99999999999999999999", "nan", "inf",
        "cpu 0 0 0 0 0 0 0 0\ncpu 18446744073709551615 18446744073709551615 1 1 1 1 1 1", "MemTotal: 99999999999999999999 kB\nMemAvailable: 1", "",
        "", "1", "-5"),
}

SAMPLE = 9
FIRST_OWN = 64
PER_KIND = 2

MAPS = {
    "usual": """\
559a4d3f2000-559a4d3f4000 r--p 00000000 fe:00 1835051                    /usr/bin/cat
559a4d3f4000-559a4d3f9000 r-xp 00002000 fe:00 1835051                    /usr/bin/cat
559a4f0c7000-559a4f0e8000 rw-p 00000000 00:00 0                          [heap]
7f1c5a26e000-7f1c5a290000 rw-p 00000000 00:00 0 
7ffd3b5e6000-7ffd3b607000 rw-p 00000000 00:00 0                          [stack]
7ffd3b7a5000-7ffd3b7a9000 r--p 00000000 00:00 0                          [vvar]
7ffd3b7a9000-7ffd3b7ab000 r-xp 00000000 00:00 0                          [vdso]
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
""",
    "paths": """\
7f0000000000-7f0000001000 r-xp 00000000 08:01 12                         /tmp/with blank/and  two
7f0000001000-7f0000002000 r-xp 00000000 08:01 13                         /tmp/line\\012end
7f0000002000-7f0000003000 r-xp 00000000 08:01 14                         /tmp/back\\134slash
7f0000003000-7f0000004000 r-xp 00000000 08:01 15                         /tmp/gone (deleted)
7f0000004000-7f0000005000 rwxs 00000000 00:01 1026                       /memfd:jit (deleted)
7f0000005000-7f0000006000 rwxp 00000000 00:00 0                          [anon:code]
7f0000006000-7f0000007000 r-xp 00000000 08:01 16                         /tmp/\\9 \\400 \\
""",
    "broken": """\
7f0000000000-7f0000000000 r-xp 00000000 08:01 12                         /empty
7f0000002000-7f0000001000 r-xp 00000000 08:01 12                         /backwards
fffffffffffffffff-1 r-xp 0 0:0 0
7f0000000000 r-xp
7f0000000000-7f0000001000 rwx
7f0000000000-7f0000001000 ---- 0 ffffffff:ffffffff 18446744073709551616

7f0000000000-7f0000001000 r-xp 00000000 08:01 12                         /no end of line""",
}

KALLSYMS = {
    "usual": """\
0000000000000000 A fixed_percpu_data
ffffffff81000000 T _stext
ffffffff81000000 T _text
ffffffff81000100 t do_work
ffffffff81000180 d some_data
ffffffff81000200 W weak_one
ffffffffc0002000 t in_module\t[xfs]
ffffffffc0001000 t bpf_prog_6deef7357e7b4530\t[bpf]
""",
    "hidden": "0000000000000000 T _stext\n0000000000000000 t do_work\n",
    "broken": """\
ffffffffffffffffff T too_long
ffffffff81000000 T
ffffffff81000000  T two_blanks
ffffffff81000010 T name with blanks and\ttabs
g T no_number
fffffffffffffff0 t near_the_end
ffffffffffffffff T the_end
ffffffff81000020 t no_newline""",
}


def events(data):
    """Returns [(attr words for the fuzzer)] and {id: index} of a file with a header."""
    entry, offset, size = struct.unpack_from("<3Q", data, 16)
    layouts, by_id = [], {}
    for at in range(offset, offset + size, entry):
        attr = data[at:at + 136].ljust(136, b"\0")
        flags, = struct.unpack_from("<Q", attr, 40)
        layouts.append(struct.pack("<6Q", *struct.unpack_from("<2Q", attr, 24),
                                   *struct.unpack_from("<2Q", attr, 72),
                                   struct.unpack_from("<Q", attr, 96)[0], flags >> 18 & 1))
        ids_at, ids_size = struct.unpack_from("<2Q", data, at + entry - 16)
        for id_at in range(ids_at, ids_at + ids_size, 8):
            by_id[struct.unpack_from("<Q", data, id_at)[0]] = len(layouts) - 1
    return layouts, by_id


def records(data):
    at, = struct.unpack_from("<Q", data, 40)
    size, = struct.unpack_from("<Q", data, 48)
    end = at + size if size else len(data)
    while at + 8 <= end:
        kind, misc, length = struct.unpack_from("<IHH", data, at)
        yield kind, misc, data[at:at + length]
        at += length


def write_records(directory):
    for path in sorted(DATA.glob("*.perf")):
        data = path.read_bytes()
        if struct.unpack_from("<Q", data, 8)[0] != 104 or path.stem == "compressed":
            continue
        layouts, by_id = events(data)
        seen = collections.Counter()
        for kind, misc, record in records(data):
            seen[kind, misc] += 1
            if kind >= FIRST_OWN or seen[kind, misc] > PER_KIND:
                continue
            layout = 0
            if kind == SAMPLE:      # if PERF_SAMPLE_IDENTIFIER is set
                layout = by_id.get(struct.unpack_from("<Q", record, 8)[0], 0)
            name = f"{path.stem}-{kind}-{misc:x}-{seen[kind, misc]}"
            (directory / name).write_bytes(layouts[layout] + record)


def write_captures(directory):
    whole = capwriter.Writer(end_time=9000)
    whole.jitmap({capwriter.SYNTHETIC + 1: "[truncated stack copy]"})
    whole.metadata("live-unwinder.thread", "7 8 a\033").metadata("live-unwinder.stats", '{"lost":{"samples":3}}').process("demo --x", pid=7)
    whole.map(0x1000, 0x5000, 0, "/bin/demo", build_id="00ff00ff", pid=7)
    whole.map(0x2000, 0x3000, 0x1000, "/lib/libdemo.so", inode=12, time=3000, pid=7)
    whole.map(0x800, 0x9000, 0, "//anon", time=4000, pid=7)
    whole.sample((0x1100, 0x2222, capwriter.SYNTHETIC + 1), kernel=(0xffffffff81000100,), pid=7)
    whole.frame(5, struct.pack("<i", 8), pid=7).frame(6, b"", pid=8)
    whole.frame(12, struct.pack("<H6x32s", 16, b"demo") + b"a line\0", pid=-1)
    text = KALLSYMS["usual"].encode()
    whole.frame(13, struct.pack("<BxH256s", 1, len(text), b"/proc/kallsyms") + text, pid=-1)
    whole.frame(14, bytes(24)).frame(200, bytes(8))
    whole.save(directory / "whole")
    seconds = capwriter.Writer()
    for i in range(40):
        time = 5000 + i * 1000000
        seconds.map(0x1000, 0x5000, 0, f"/bin/demo{i % 5}", time=time, pid=7 + i % 3)
        seconds.metadata("live-unwinder.thread", f"{7 + i % 3} 8 a{i}")
        seconds.sample((0x1100 + i % 7, 0x2222), time=time, pid=7 + i % 3)
        if i % 10 == 9:
            seconds.frame(6, b"", time=time, pid=7)
    seconds.save(directory / "seconds")
    (directory / "cut").write_bytes(whole.data[:-5])
    (directory / "header-only").write_bytes(whole.data[:256])
    (directory / "wrong-length").write_bytes(whole.data[:256] + b"\x19\0" + whole.data[258:])
    (directory / "short-sample").write_bytes(whole.data[:256] + capwriter.Writer().frame(
        2, struct.pack("<HHi", 999, 0, 7)).data[256:])
    (directory / "many-names").write_bytes(whole.data[:256] + capwriter.Writer().frame(
        7, struct.pack("<I", 0xffffffff) + bytes(300)).data[256:])
    (directory / "no-nul").write_bytes(whole.data[:256] + capwriter.Writer().frame(
        4, b"x" * 8).data[256:])


CFI_SECTION = 0x20000
CFI_PROGRAMS = {
    "cfa": "410e10 0c0610 0d07 0e20 4112067e 137c 410c0a00",
    "expressions": "0f0b7708 80003f1a3b2a332422 41 0f03767806 0d070e30 41 1006027670 160676 00",
    "registers": "8602 8303 0506 02 11067e 2f0602 c6 0606 0806 0706 090610 140602 150602",
    "signal": "0f0477a00106 100603 77f800 10030377800110070377a00110100377a801",
    "location": "0210 031000 0400010000 41 0e10 1d1000000000000000 0e18 2e10 41",
    "state": "0a 0e10 0a 0e18 8602 41 0b 41 0b 41",
    "aarch64": "2d 41 0e20 9d04 9e03 41 0d1d 2d 2c",
}


def cfi_entry(ident, body):
    body += bytes(-len(body) % 4)
    return struct.pack("<II", len(body) + 4, ident) + body


def cfi_section(is_eh_frame, column, program):
    """A CIE and two FDEs with 4-byte pointers, or 8-byte ones in .debug_frame."""
    initial = bytes([0x0c, 31, 0]) if column == 30 else bytes([0x0c, 7, 8, 0x90, 1])
    out = cfi_entry(0, b"\1zR\0\1\x78" + bytes([column, 1, 0x1b]) + initial) if is_eh_frame \
        else cfi_entry(0xffffffff, b"\1\0\1\x78" + bytes([column]) + initial)
    for start in (0x21000, 0x23000):
        if is_eh_frame:
            at = CFI_SECTION + len(out) + 8
            head = struct.pack("<iIB", start - at, 0x200, 0)
        else:
            head = struct.pack("<QQ", start, 0x200)
        out += cfi_entry(len(out) + 4 if is_eh_frame else 0, head + program)
    return out


def write_cfi(directory):
    for name, program in CFI_PROGRAMS.items():
        is_aarch64 = name == "aarch64"
        for is_eh_frame in (True, False):
            data = bytes([is_aarch64 | (not is_eh_frame) << 1, 0, 0])
            data += cfi_section(is_eh_frame, 30 if is_aarch64 else 16, bytes.fromhex(program))
            (directory / f"{name}-{'eh' if is_eh_frame else 'debug'}").write_bytes(data)


def write_opcodes(directory):
    for name, program in CFI_PROGRAMS.items():
        is_aarch64 = name == "aarch64"
        initial = bytes([0x0c, 31, 0]) if is_aarch64 else bytes([0x0c, 7, 8, 0x90, 1])
        for choices in (0, 2):
            data = bytes([is_aarch64 | choices, 1, len(initial)]) + initial
            (directory / f"{name}-{choices}").write_bytes(data + bytes.fromhex(program))


def write_step(directory):
    stack = 0x7000
    rules = [(8, 0, 0, 0, -1, 1, 0, 0, 0), (16, 0, -2, -3, -1, 2, 0x11, 0, 0),
             (0, 160, 15, 16, 21, 5, 0x22, 1, 3), (8, 11, 0, 0, -1, 4, 0, 0, 0),
             (0, 10, 0, 0, -1, 7, 0, 0, 0), (0, 0, 0, 0, 0, 1, 0, 3, 0)]
    for first in range(len(rules)):
        regs = struct.pack("<7QBB6x", first, stack, stack + 0x40, stack + 0x80, 0x1234, 0,
                           2 ** 64 - 1, 7, first % 3)
        data = regs + bytes([len(rules) - 1])
        data += b"".join(struct.pack("<i4h4B", *rule) for rule in rules)
        data += b"".join(struct.pack("<Q", stack + 8 * i if i % 3 else i % len(rules))
                         for i in range(128))
        (directory / f"first-{first}").write_bytes(data)


def write_store(directory):
    """Stored tables; the target corrects the checksum."""
    faults = 13
    rules = [(0,) * 9, (0, 0, 0, 0, 0, 8, 0, 0, 0), (8, 0, 0, 0, -1, 1, 0, 0, 0),
             (16, 0, -2, -3, -1, 2, 0x11, 0, 0), (8, 11, 0, 0, -1, 4, 0, 0, 0)]
    tables = {
        "empty": (0, [], rules[:2]),
        "one-page": (0x400000, [[(0x10, 2), (0x11, 3), (0x80, 4), (0xfff, 0)]], rules),
        "pages": (0x7f0000, [[(0x800, 2)], [], [(0x2000, 3), (0x2004, 1), (0x2008, 0)], [(0x3ffe, 4)]],
                  rules),
    }
    for name, (base, pages, made) in tables.items():
        rows = [low | rule << 16 for page in pages for low, rule in page]
        index = [sum(map(len, pages[:i])) for i in range(len(pages) + 1)]
        block = struct.pack(f"<{len(index) + 1 + len(rows)}I", *index, 0, *rows)
        block += bytes(-len(block) % 16) + b"".join(struct.pack("<i4h4B", *rule) for rule in made)
        head = b"LU-TABLE" + struct.pack("<II", 2, 256) + bytes(3 * 32)
        head += struct.pack("<Q4I4Q2I", base, len(pages), len(rows), len(made), 0, 0x1000, 16, 8, 4,
                            3, faults) + bytes(4 * faults)
        (directory / name).write_bytes(head + bytes(256 - len(head)) + block)
        (directory / f"{name}-cut").write_bytes((head + bytes(256 - len(head)) + block)[:-16])


def eh_frame(vaddr, functions):
    """A CIE and an FDE for each function: (start, size)."""
    cie = struct.pack("<IB", 0, 1) + b"zR\0\1\x78\x10\1\x1b" + b"\x0c\7\x08\x90\1\0\0"
    data = struct.pack("<I", len(cie)) + cie
    for start, size in functions:
        at = len(data)
        data += struct.pack("<IIiI4s", 16, at + 4, start - (vaddr + at + 8), size, b"")
    return data + bytes(4)


SMALL = [(b"outer", 0x12, 0x200, 0x80), (b"inner", 2, 0x210, 0x10), (b"alias", 0x22, 0x290, 8),
         (b"__alias", 0x12, 0x290, 8), (b"label", 0, 0x2a0, 0)]

# Two units with a static function of one name, whose cold parts are elsewhere; a cold part of a
# global function that has two names, and cold parts without a function.
COLD = [(b"a.c", 4, 0, 0), (b"init", 2, 0x200, 0x10), (b"init.cold", 2, 0x220, 8),
        (b"whole.cold", 2, 0x240, 8), (b"odd.cold", 2, 0x248, 8),
        (b"b.c", 4, 0, 0), (b"init", 2, 0x210, 0x10), (b"init.cold.1", 2, 0x228, 8),
        (b"c.c", 4, 0, 0), (b"init.cold", 2, 0x250, 8),
        (b"whole", 0x12, 0x230, 0x10), (b"whole_too", 0x12, 0x230, 0x10)]


def elf_file(functions):
    """A program of these symbols (name, info, address, size) and one entry of a PLT, at file offsets
    = addresses. 0x280 is the start of a function that only has an FDE."""
    strings = b"\0" + b"".join(name + b"\0" for name, *_ in functions) + b"callee@V1\0"
    names = (b"\0.text\0.symtab\0.strtab\0.dynsym\0.dynstr\0.rela.plt\0.plt\0.shstrtab\0"
             b".eh_frame\0")
    at = {name: 0x200 + i * 0x100 for i, name in enumerate(
        (".text", ".symtab", ".strtab", ".dynsym", ".dynstr", ".rela.plt", ".plt", ".shstrtab",
         ".eh_frame"))}
    at[".symtab"] = 0xb00  # it may be longer

    def symbol(name, info, value, size, section=1):
        return struct.pack("<IBBHQQ", strings.index(b"\0" + name + b"\0") + 1 if name else 0, info, 0,
                           section if name else 0, value, size)

    none = symbol(b"", 0, 0, 0)
    parts = {
        ".text": b"\x90" * 0x100,
        ".symtab": none + b"".join(symbol(*function) for function in functions),
        ".strtab": strings,
        ".dynsym": none + symbol(b"callee@V1", 0x12, 0, 0, 0),
        ".dynstr": strings,
        ".rela.plt": struct.pack("<QQq", 0xa00, 1 << 32 | 7, 0),
        ".plt": b"\xff\x25" + struct.pack("<i", 0xa00 - (at[".plt"] + 6)) + b"\x90" * 10,
        ".shstrtab": names,
        ".eh_frame": eh_frame(at[".eh_frame"], [(0x200, 0x80), (0x280, 0xc), (0x290, 8)]),
    }
    headers = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 3, 62, 1, 0, 64, 0xd00, 0, 64, 56,
                          2, 64, 10, 8)
    headers += struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, 0xb00, 0xb00, 0x1000)
    headers += struct.pack("<IIQQQQQQ", 4, 4, 0xb0, 0xb0, 0, 0x18, 0x18, 4)
    data = bytearray(0xd00)
    data[:len(headers)] = headers
    data[0xb0:0xc8] = struct.pack("<III4s8s", 4, 8, 3, b"GNU", bytes(range(8)))
    sections = bytes(64)
    for name, content in parts.items():
        data[at[name]:at[name] + len(content)] = content
        sections += struct.pack("<IIQQQQIIQQ", names.index(name.encode() + b"\0"), 1,
                                6, at[name], at[name], len(content), 0, 0, 8, 0)
    return bytes(data) + sections


GO_TEXT = 0x400400
GO_FUNCTIONS = [(b"main.main", 0, b"\2\4\x30\x20\x2f\4\0", 0), (b"runtime.goexit", 0x40, b"\2\x10\0", 1),
                (b"main.pushes", 0x50, b"\2\1\x10\3\x20\x20\x1f\1\x0f\1\0", 0),
                (b"runtime.nanotime1", 0x80, b"\2\4\x30\x20\0", 6),
                (b"runtime.systemstack_switch", 0xc0, b"\2\x10\0", 4)]


def go_table(magic):
    """.gopclntab of GO_FUNCTIONS in one of its forms; see Go's debug/gosym/pclntab.go."""
    is_old, is_short = magic == 0xfffffffb, magic in (0xfffffff0, 0xfffffff1)
    place, count = ("<II" if is_short else "<QQ"), len(GO_FUNCTIONS)
    entry_size = {0xfffffffb: 40, 0xfffffffa: 44, 0xfffffff0: 40, 0xfffffff1: 44}[magic]
    head = 72 if is_short else 16 if is_old else 64
    functions_size = (2 * count + 1) * struct.calcsize(place) // 2 + count * entry_size
    names, depths = b"", b"\0"
    name_at, depth_at = [], []
    for name, _, depth, _ in GO_FUNCTIONS:
        name_at.append(len(names))
        depth_at.append(len(depths))
        names += name + b"\0"
        depths += depth
    parts = head + functions_size if is_old else head
    functions_at = head if is_old else head + len(names) + len(depths)
    base = 0 if is_old else functions_at
    places, entries = b"", b""
    first = functions_at - base + functions_size - count * entry_size
    origin = 0 if is_short else GO_TEXT
    for i, (_, start, _, flags) in enumerate(GO_FUNCTIONS):
        places += struct.pack(place, origin + start, first + i * entry_size)
        entries += struct.pack("<I" if is_short else "<Q", origin + start)
        entries += struct.pack("<IIIIIII", name_at[i] + (parts if is_old else 0), 0, 0,
                               depth_at[i] + (parts + len(names) if is_old else 0), 0, 0, 0)
        entries += bytes(4 * (not is_old) + 4 * (magic == 0xfffffff1)) + bytes((0, flags, 0, 0))
    places += struct.pack(place[:2], origin + 0xd0)
    table = struct.pack("<IIQ", magic, 0x08010000, count)
    if is_old:
        return table + places + entries + names + depths
    table += bytes(8) + (struct.pack("<Q", GO_TEXT) if is_short else b"")
    table += struct.pack("<QQQQQ", head, 0, 0, head + len(names), functions_at)
    return table + names + depths + places + entries


def go_file(magic, has_sections):
    """A program with such a table, at file offset = address - 0x400000."""
    table, names = go_table(magic), b"\0.gopclntab\0.shstrtab\0"
    at = 0xc40
    end = at + len(table) + len(names)
    headers = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 2, 62, 1, 0, 64,
                          end if has_sections else 0, 0, 64, 56, 2, 64, 3 if has_sections else 0,
                          2 if has_sections else 0)
    headers += struct.pack("<IIQQQQQQ", 1, 5, 0, 0x400000, 0, 0xc00, 0xc00, 1)
    headers += struct.pack("<IIQQQQQQ", 1, 4, 0xc00, 0x400c00, 0, end - 0xc00, end - 0xc00, 1)
    data = headers.ljust(at, b"\xcc") + table + names
    if not has_sections:
        return data
    data += bytes(64)
    data += struct.pack("<IIQQQQIIQQ", 1, 1, 2, 0x400000 + at, at, len(table), 0, 0, 32, 0)
    return data + struct.pack("<IIQQQQIIQQ", 12, 3, 0, 0, at + len(table), len(names), 0, 0, 1, 0)


def write_go(directory):
    for magic in (0xfffffffb, 0xfffffffa, 0xfffffff0, 0xfffffff1):
        (directory / f"{magic:x}").write_bytes(go_file(magic, True))
    (directory / "without-sections").write_bytes(go_file(0xfffffff1, False))
    # Code of runtime.systemstack and runtime.asmcgocall.
    (directory / "sched").write_bytes(bytes.fromhex(
        "64488b0425f8ffffff488b5830488b13483b83c0000000488b5a384889dcffd7c3"))
    (directory / "slots").write_bytes(bytes.fromhex(
        "4889e2ffd0488b7c2430488b7708482b742428") + bytes(24))


def write_jit(directory):
    (directory / "perf-map").write_text("1000 100 outer\n1040 20 inner\n0x2000 0x10 with space\n")
    head = struct.pack("<IIIIIIQQ", 0x4A695444, 1, 40, 62, 0, 7, 0, 0)
    load = struct.pack("<IIQIIQQQQ", 0, 16 + 40 + 2 + 4, 100, 7, 7, 0x1000, 0x1000, 64, 1) + b"f\0code"
    move = struct.pack("<IIQIIQQQQQ", 1, 16 + 48, 200, 7, 7, 0x3000, 0x1000, 0x3000, 64, 1)
    (directory / "jitdump").write_bytes(head + load + move)


def write_jumps(directory):
    """Code with jumps of all kinds, and how many of them are wanted less 1."""
    kinds = ("e9fa0f0000", "0f84fa0f0000", "eb00", "ff25fa0f0000", "ffe0", "ff6018", "ff24c500000001", "4863048248 01d0 ffe0")
    usual = b"".join(bytes.fromhex(kind) for kind in kinds)
    (directory / "usual").write_bytes(usual + b"\xff")
    (directory / "first").write_bytes(usual + b"\0")
    (directory / "cut").write_bytes(usual[:-3] + b"\xff")
    (directory / "no-code").write_bytes(usual[:11] + b"\x06" + usual + b"\xff")


def write_leaf_end(directory):
    """The offset of a leaf, and code: mov %ecx; test; je; a loop; ret."""
    code = bytes.fromhex("89f9 85c9 7406 ffc9 8907 75fa c3")
    (directory / "start").write_bytes(b"\0\0" + code)
    (directory / "in-loop").write_bytes(b"\x08\0" + code)
    (directory / "no-return").write_bytes(b"\x06\0" + code[:-1])
    (directory / "pushes").write_bytes(b"\0\0" + b"\x53" + code)
    (directory / "outside").write_bytes(b"\xff\x1f" + code)


def linked_file():
    """A library that calls "other" through .plt and by a word, and defines "mine", twice "both" and "chosen"."""
    names = b"\0other\0mine\0both\0chosen\0"
    symbols = [(0, 0, 0, 0, 0, 0), (1, 0x12, 0, 0, 0, 0), (7, 0x12, 0, 1, 0x1100, 16), (12, 0x12, 0, 1, 0x1110, 16),
               (12, 0x12, 0, 1, 0x1120, 16), (17, 0x1a, 0, 1, 0x1130, 16)]
    dynsym = b"".join(struct.pack("<IBBHQQ", *symbol) for symbol in symbols)
    plt = bytes.fromhex("ff25") + struct.pack("<i", 0x2000 - 0x1006) + b"\x68\0\0\0\0\xe9\xe0\xff\xff\xff"
    parts = [(".plt", 1, 6, 0x1000, plt.ljust(0x140, b"\x90")), (".dynsym", 11, 2, 0x200, dynsym),
             (".dynstr", 3, 2, 0x400, names), (".rela.plt", 4, 2, 0x500, struct.pack("<QQq", 0x2000, 1 << 32 | 7, 0)),
             (".rela.dyn", 4, 2, 0x600, struct.pack("<QQq", 0x2008, 1 << 32 | 6, 0))]
    return parts


def write_linkage(directory):
    parts = linked_file()
    section_names = b"\0" + b"".join(name.encode() + b"\0" for name, *_ in parts) + b".shstrtab\0"
    headers, body, sections = 64 + 56, b"", bytes(64)
    for name, kind, flags, address, data in [*parts, (".shstrtab", 3, 0, 0, section_names)]:
        at = headers + len(body)
        link = 3 if kind == 11 else 2 if kind == 4 else 0
        sections += struct.pack("<IIQQQQIIQQ", section_names.index(name.encode() + b"\0"), kind, flags, address, at,
                                len(data), link, 0, 8, 24 if kind in (4, 11) else 0)
        body += data
    start = b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, headers + len(body), 0, 64, 56, 1,
                                                    64, len(parts) + 2, len(parts) + 1)
    start += struct.pack("<IIQQQQQQ", 1, 5, headers, 0x1000, 0, 0x140, 0x140, 8)
    (directory / "usual").write_bytes(start + body + sections)
    (directory / "cut").write_bytes((start + body + sections)[:-100])


def write_line_answers(directory):
    """The answers of dwarf-lines.h: texts, an address with two levels, one of which is mangled, the
    end."""
    texts = b"".join(struct.pack("<II", 1, len(text)) + text
                     for text in (b"_ZN1n5innerEi", b"/a/../b.c", b"outer", b"rel/c.h", b"\xff"))
    answer = struct.pack("<III10I", 2, 0, 2, 1, 4, 3, 4, 7, 3, 2, 10, 2, 12)
    odd = struct.pack("<III5I", 2, 6, 1, 5, 99, 0, 0, 1)
    end = struct.pack("<II", 3, 1)
    (directory / "usual").write_bytes(texts + answer + odd + end)
    (directory / "cut").write_bytes(texts + answer[:-6])
    (directory / "no-dwarf").write_bytes(struct.pack("<II", 3, 0))
    (directory / "wrong-number").write_bytes(texts + struct.pack("<III5I", 2, 7, 1, 1, 1, 1, 1, 1) + end)


def write_instructions(directory):
    """The answers of instructions.h: three in a row, and an address that does not follow."""
    usual = b"".join(struct.pack("<QII", address, size, len(text)) + text for address, size, text in (
        (0x1000, 1, b"push rbp"), (0x1001, 3, b"mov rbp, rsp"), (0x1004, 12, b"odd \xff text")))
    (directory / "usual").write_bytes(usual)
    (directory / "cut").write_bytes(usual[:-3])
    (directory / "elsewhere").write_bytes(usual + struct.pack("<QII", 0x2000, 1, 3) + b"nop")
    (directory / "too-long").write_bytes(struct.pack("<QII", 0x1000, 16, 3) + b"nop")


def write_walked(directory):
    """Records of the BPF program: raw data of an output event (bpf.h, interp.h)."""
    identifier, tid, time, cpu, raw = 1 << 16, 1 << 1, 1 << 2, 1 << 7, 1 << 10
    layout = struct.pack("<6Q", identifier | tid | time | cpu | raw, 0, 0, 0, 0, 1 | 4)
    pcs = struct.pack("<4Q", 0xffffffff81000010, 0x401000, 0x401100 | 1 << 63, 0x401200 | 3 << 62)
    walked = struct.pack("<IIIIQQIIHHIQQ", 3, 0, 10, 11, 1000, 77, 1, 900, 1, 3, 0,
                         0xffffffff81000010, 0x7ffc00001000) + pcs + bytes(4)
    text = b"true\0--of\0two words\0"
    arguments = struct.pack("<II", 1 << 31 | 3, len(text)) + text + bytes(-(len(text) + 4) % 8)
    chain = struct.pack("<IIIIQIIQIIQII", 2 << 30 | 1, 1, 10, 11, 1000, 0, 2,
                        0x7f0000001000, 77, 20, 0x7f0000002000 | 1 << 63, 78, 40) + bytes(4)
    function = struct.pack("<IIIIQIIHBBHBBHBBI", 2 << 30 | 2, 1, 10, 11, 0x7f0000001000, 77, 12, 4, 1, 0,
                           8, 1, 0, 4, 0, 0, 0) + b"leaf".ljust(256, b"\0") + b"/srv/a.p\2\1\4\1"
    for name, raw_data in (("walked", walked), ("arguments", arguments), ("chain", chain),
                           ("function", function)):
        body = struct.pack("<QIIQIII", 5, 10, 11, 1000, 3, 0, len(raw_data)) + raw_data
        (directory / name).write_bytes(
            layout + struct.pack("<IHH", SAMPLE, 0, 8 + len(body)) + body)


def python_file(version, has_cold):
    """A small ELF file that looks like CPython: its symbols, and a search table with a moved part."""
    names = b"\0_PyRuntime\0Py_Version\0_PyEval_EvalFrameDefault\0"
    code, cold, runtime, table = 0x1000, 0x1400, 0xa00, 0xe00
    symbols = struct.pack("<IBBHQQIBBHQQIBBHQQ", 1, 0x11, 0, 1, runtime, 8, 12, 0x11, 0, 1, 0x9f0, 4,
                          23, 0x12, 0, 1, code, 0x200)
    sections = b"\0.dynsym\0.dynstr\0.shstrtab\0"
    headers = [bytes(64)] + [struct.pack("<IIQQQQIIQQ", name, kind, 0, 0, at, size, 0, 0, 1, 0) for name, kind, at, size
                             in ((1, 11, 0x200, len(symbols)), (9, 3, 0x300, len(names)), (17, 3, 0x100, len(sections)))]
    file = bytearray(0x1500)
    file[:64] = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 3, 62, 1, 0, 64, 0x400, 0, 64, 56, 2, 64, 4, 3)
    file[64:176] = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, len(file), len(file), 4096) \
        + struct.pack("<IIQQQQQQ", 0x6474e550, 4, table, table, table, 28, 28, 4)
    for at, data in ((0x100, sections), (0x200, symbols), (0x300, names), (0x400, b"".join(headers)),
                     (0x9f0, struct.pack("<I", version)),
                     (runtime, b"xdebugpy" + struct.pack("<95Q", version, *range(94)))):
        file[at:at + len(data)] = data
    if has_cold:
        file[table:table + 28] = struct.pack("<IiIiiii", 0x3b031b01, 0x2c, 2, code - table, 0x60, cold - table, 0x80)
        file[table + 0x80:table + 0x90] = struct.pack("<IIiI", 12, 4, cold - table - 0x88, 0x80)
        for i in range(12):
            file[code + 6 * i:code + 6 * i + 6] = struct.pack("<HI", 0x840f, cold + 8 + i - (code + 6 * i + 6))
    return bytes(file)


def asyncio_file(words):
    """A small ELF file with the section in which CPython's module _asyncio says where tasks have their fields."""
    sections, data = b"\0.AsyncioDebug\0.shstrtab\0", struct.pack(f"<{len(words)}Q", *words)
    headers = [bytes(64)] + [struct.pack("<IIQQQQIIQQ", name, kind, 0, 0, at, size, 0, 0, 1, 0) for name, kind, at, size
                             in ((1, 1, 0x200, len(data)), (15, 3, 0x100, len(sections)))]
    file = bytearray(0x500)
    file[:64] = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 3, 62, 1, 0, 64, 0x400, 0, 64, 56, 1, 64, 3, 2)
    file[64:120] = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, len(file), len(file), 4096)
    for at, part in ((0x100, sections), (0x200, data), (0x400, b"".join(headers))):
        file[at:at + len(part)] = part
    return bytes(file)


def ruby_file(version, receiver):
    """A small ELF file that looks like a stripped libruby: a table of 160 words into one function, which another one
    calls, and rb_current_receiver() with that code."""
    names = b"\0ruby_version\0rb_current_receiver\0"
    text, core, execute, words, hdr, at = 0x2000, 0x2100, 0x2400, 0x3000, 0xe00, 0x9f0
    symbols = struct.pack("<IBBHQQIBBHQQ", 1, 0x11, 0, 1, at, 6, 14, 0x12, 0, 1, text, 64)
    sections = b"\0.dynsym\0.dynstr\0.shstrtab\0.rela.dyn\0.text\0"
    rela = b"".join(struct.pack("<QQQ", words + 8 * i, 8, core + 4 + i) for i in range(160))
    headers = [bytes(64)] + [struct.pack("<IIQQQQIIQQ", name, kind, 0, where, where, size, 0, 0, 1, 0)
                             for name, kind, where, size in (
                                 (1, 11, 0x200, len(symbols)), (9, 3, 0x300, len(names)), (17, 3, 0x100, len(sections)),
                                 (27, 4, 0x1000, len(rela)), (37, 1, text, 0x600))]
    file = bytearray(0x3600)
    file[:64] = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 3, 62, 1, 0, 64, 0x400, 0, 64, 56, 2, 64, 6, 3)
    file[64:176] = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, len(file), len(file), 4096) \
        + struct.pack("<IIQQQQQQ", 0x6474e550, 4, hdr, hdr, hdr, 36, 36, 4)
    table = struct.pack("<IiI", 0x3b031b01, 0x2c, 3)
    for i, (start, size) in enumerate(((text, 64), (core, 0x200), (execute, 0x180))):
        fde = hdr + 0x80 + 16 * i
        table += struct.pack("<ii", start - hdr, fde - hdr)
        file[fde:fde + 16] = struct.pack("<IIiI", 12, 4, start - fde - 8, size)
    for where, data in ((0x100, sections), (0x200, symbols), (0x300, names), (0x400, b"".join(headers)), (hdr, table),
                        (at, version), (text, receiver), (0x1000, rela),
                        (execute + 0x40, b"\xe8" + struct.pack("<i", core - execute - 0x45))):
        file[where:where + len(data)] = data
    return bytes(file)


# endbr64; sub $8,%rsp; lea 0x1000(%rip),%rdi; call; mov 0x10(%rax),%rax
BY_MODULE = bytes.fromhex("f30f1efa4883ec08488d3d00100000e800000000488b4010")
# mov %fs:-16,%rax
BY_THREAD = bytes.fromhex("64488b0425f0ffffff")


def main():
    for name in ("cfi", "counters", "elf-symbols", "go-table", "instructions", "interp", "jit-names", "jumps", "kallsyms",
                 "kallsyms-copy", "leaf-end", "line-answers", "linkage",
                 "opcodes", "perf-data", "proc-maps", "record", "step", "store", "syscap-reader"):
        (HERE / "corpus" / name).mkdir(parents=True, exist_ok=True)
    write_records(HERE / "corpus" / "record")
    write_walked(HERE / "corpus" / "record")
    for name, text in MAPS.items():
        (HERE / "corpus" / "proc-maps" / name).write_text(text)
    for name, text in KALLSYMS.items():
        (HERE / "corpus" / "kallsyms" / name).write_text(text)
        (HERE / "corpus" / "kallsyms-copy" / name).write_text(text)
    lines = [f"{0xffffffff81000000 + 128 * i:016x} t function_{i}\n" for i in range(400)]
    (HERE / "corpus" / "kallsyms-copy" / "several-pieces").write_text("".join(lines))
    (HERE / "corpus" / "kallsyms-copy" / "backwards").write_text("".join(reversed(lines)))
    for name, texts in COUNTERS.items():
        (HERE / "corpus" / "counters" / name).write_text("\0".join(texts))
    write_captures(HERE / "corpus" / "syscap-reader")
    write_cfi(HERE / "corpus" / "cfi")
    write_opcodes(HERE / "corpus" / "opcodes")
    write_step(HERE / "corpus" / "step")
    write_store(HERE / "corpus" / "store")
    (HERE / "corpus" / "elf-symbols" / "small").write_bytes(elf_file(SMALL))
    (HERE / "corpus" / "elf-symbols" / "cold").write_bytes(elf_file(COLD))
    for version in (0x030700f0, 0x030b00f0, 0x030d00f0, 0x030f00f0, 0x031100f0):
        (HERE / "corpus" / "interp" / f"{version:x}").write_bytes(python_file(version, version != 0x030700f0))
    for name, version, receiver in (("ruby-module", b"3.3.8", BY_MODULE), ("ruby-thread", b"3.4.11", BY_THREAD),
                                    ("ruby-unknown", b"3.2.1", BY_MODULE)):
        (HERE / "corpus" / "interp" / name).write_bytes(ruby_file(version, receiver))
    # As in CPython 3.14; with fields outside of the task; with one word less.
    words = [168, 136, 96, 108, 109, 128, 152, 225864, 10880, 936, 864, 872, 880]
    for name, changed in (("asyncio", words), ("asyncio-outside", [100] + words[1:]), ("asyncio-short", words[:-1])):
        (HERE / "corpus" / "interp" / name).write_bytes(asyncio_file(changed))
    write_go(HERE / "corpus" / "go-table")
    write_jit(HERE / "corpus" / "jit-names")
    write_instructions(HERE / "corpus" / "instructions")
    write_jumps(HERE / "corpus" / "jumps")
    write_leaf_end(HERE / "corpus" / "leaf-end")
    write_linkage(HERE / "corpus" / "linkage")
    write_line_answers(HERE / "corpus" / "line-answers")
    (HERE / "corpus" / "perf-data" / "pipe-without-records").write_bytes(
        b"PERFILE2" + struct.pack("<Q", 16))


if __name__ == "__main__":
    main()
