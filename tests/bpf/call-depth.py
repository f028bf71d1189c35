#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""call-depth.py - the calls of a BPF program are those that its source asks for, and not too deep.

    call-depth.py OBJECT…
    call-depth.py --self-test COMPILER ARGUMENT…

The kernel refuses a program with more than 8 functions on its stack, which depends on what the compiler
has inlined. No kernel is needed here: each OBJECT is read as it was compiled. A function that is local
to its file was meant to be inlined; one that is called nevertheless would be a call that no other
compiler might make. The self-test compiles programs that have to be refused.
"""

import os
import struct
import subprocess
import sys
import tempfile

MAX_DEPTH = 8   # MAX_CALL_FRAMES of the kernel
CALL, OF_PROGRAM = 0x85, 1
SYMBOLS, RELOCATIONS = 2, 9
SECTION, FUNCTION = 3, 2

DEEP = """
#define NEXT(name, next) __attribute__ ((noinline, weak)) int name (int a) { return next; }
NEXT (f9, a + 1) NEXT (f8, f9 (a) + 1) NEXT (f7, f8 (a) + 1) NEXT (f6, f7 (a) + 1) NEXT (f5, f6 (a) + 1)
NEXT (f4, f5 (a) + 1) NEXT (f3, f4 (a) + 1) NEXT (f2, f3 (a) + 1)
__attribute__ ((section ("perf_event"))) int f1 (int *a) { return LAST (*a); }
"""
LOCAL = """
static __attribute__ ((noinline)) int leaf (int a) { return a * 3; }
__attribute__ ((section ("perf_event"))) int f1 (int *a) { return leaf (*a); }
"""
# (source, arguments, what is said about it)
EXAMPLES = ((DEEP, ["-DLAST=f3"], []),
            (DEEP, ["-DLAST=f2"], ["9 functions: f1 f2 f3 f4 f5 f6 f7 f8 f9"]),
            (LOCAL, [], ["leaf is called, but not by all compilers"]))


class Object:
    """The functions of an ELF file, and which of them each one calls."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        start, = struct.unpack_from("<Q", self.data, 40)
        number, = struct.unpack_from("<H", self.data, 60)
        self.sections = [struct.unpack_from("<IIQQQQIIQQ", self.data, start + 64 * i) for i in range(number)]
        self.symbols = self.read_symbols()
        self.functions = {(section, value): name for name, info, section, value, _ in self.symbols
                          if info & 15 == FUNCTION}
        self.targets = self.read_targets()
        self.calls = {name: self.called_by(section, value, size)
                      for name, info, section, value, size in self.symbols if info & 15 == FUNCTION}

    def read_symbols(self):
        """(name, information, section, value, size) of each symbol."""
        table = next(s for s in self.sections if s[1] == SYMBOLS)
        names = self.sections[table[6]][4]
        found = []
        for at in range(table[4], table[4] + table[5], 24):
            name, info, _, section, value, size = struct.unpack_from("<IBBHQQ", self.data, at)
            end = self.data.index(b"\0", names + name)
            found.append((self.data[names + name:end].decode(), info, section, value, size))
        return found

    def read_targets(self):
        """The symbol of each relocation, by section and offset."""
        found = {}
        for section in self.sections:
            if section[1] == RELOCATIONS:
                for at in range(section[4], section[4] + section[5], 16):
                    offset, info = struct.unpack_from("<QQ", self.data, at)
                    found[section[7], offset] = self.symbols[info >> 32]
        return found

    def called_by(self, section, value, size):
        """The names of the functions that the instructions of one call."""
        start = self.sections[section][4]
        found = set()
        for offset in range(value, value + size, 8):
            code, registers, _, distance = struct.unpack_from("<BBhi", self.data, start + offset)
            if code != CALL or registers >> 4 != OF_PROGRAM:
                continue
            target = section, offset + 8 * (distance + 1)
            if (section, offset) in self.targets:
                _, info, symbol_section, symbol_value, _ = self.targets[section, offset]
                more = 8 * (distance + 1) if info & 15 == SECTION else 0
                target = symbol_section, symbol_value + more
            found.add(self.functions[target])
        return found

    def deepest(self, name, known):
        """The longest list of functions, each of which the one before it calls, from this one on."""
        if name not in known:
            below = [self.deepest(called, known) for called in sorted(self.calls[name])]
            known[name] = [name] + max(below, key=len, default=[])
        return known[name]

    def faults(self):
        known = {}
        longest = max((self.deepest(name, known) for name in self.calls), key=len)
        if len(longest) > MAX_DEPTH:
            yield f"{len(longest)} functions: {' '.join(longest)}"
        called = set().union(*self.calls.values())
        for name, info, *_ in self.symbols:
            if info & 15 == FUNCTION and info >> 4 == 0 and name in called:
                yield f"{name} is called, but not by all compilers"


def test_self(command):
    failed = False
    with tempfile.TemporaryDirectory(prefix="call-depth-") as directory:
        source, compiled = os.path.join(directory, "a.c"), os.path.join(directory, "a.o")
        for text, arguments, expected in EXAMPLES:
            with open(source, "w", encoding="ascii") as file:
                file.write(text)
            subprocess.run([*command, *arguments, "-c", source, "-o", compiled], check=True)
            found = list(Object(compiled).faults())
            if found != expected:
                print(f"{arguments}: {found} instead of {expected}")
                failed = True
    return failed


def main(arguments):
    if arguments[0] == "--self-test":
        return test_self(arguments[1:])
    failed = False
    for path in arguments:
        for fault in Object(path).faults():
            print(f"{path}: {fault}")
            failed = True
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
