#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""test_tail_calls.py - functions that ended with a tail call are shown, and no others.

    test_tail_calls.py LIVE_UNWINDER [-v] [TEST…]

Programs are compiled, and a capture is written by hand: a stack for each call, whose innermost
frame is in a function that the called one may have gone on in.
"""

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "judge"))
import capwriter  # noqa: E402
import elf  # noqa: E402

PROGRAM = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else None
COMPILER = os.environ.get("CC", "cc").split()
HAS_PPROF = ["pprof"] if os.environ.get("LU_HAS_PPROF", "1") == "1" else []
BASE, LIBRARY_BASE = 0x555500000000, 0x7f0000000000

COMMON = """
#define N __attribute__ ((noinline, noclone))
#ifdef __cplusplus
extern "C" {
#endif
extern volatile long sink;
void lib_leaf (long n); void lib_tail (long n); void lib_chosen (long n); void lib_chooses (long n);
#ifdef __cplusplus
}
#endif
"""

LIBRARY = COMMON + """
volatile long sink;
N void lib_leaf (long n) { for (long i = 0; i < n; i++) sink += i; }
N void lib_tail (long n) { sink += 2; lib_leaf (n + 1); }
static N void lib_fast (long n) { for (long i = 0; i < n; i++) sink -= i; }
static void (*choose (void)) (long) { return lib_fast; }
void lib_chosen (long n) __attribute__ ((ifunc ("choose")));
static void lib_own (long n) __attribute__ ((ifunc ("choose")));
N void lib_chooses (long n) { sink += 3; lib_own (n + 1); }
"""

SOURCE = COMMON + """
N void leaf (long n) { for (long i = 0; i < n; i++) sink += i; }
N void one (long n) { sink += 1; leaf (n); }
static N void two_b (long n) { sink += 2; leaf (n); }
N void two_a (long n) { sink += 3; two_b (n + 1); }
static N void three_b (long n) { sink += 21; two_a (n); }
N void three_a (long n) { sink += 22; three_b (n); }
static N void either_b (long n) { sink += 4; leaf (n); }
static N void either_c (long n) { sink += 5; leaf (n + 7); }
N void either_a (long n) { sink += 6; if (sink & 1) either_b (n + 1); else either_c (n); }
N void to_library (long n) { sink += 7; lib_leaf (n + 1); }
void (*volatile pointer) (long) = one;
N void by_pointer (long n) { sink += 8; pointer (n); }
static N void maybe_b (long n) { sink += 9; if (sink & 2) pointer (n); else leaf (n); }
N void maybe_a (long n) { sink += 10; maybe_b (n); }
static void (*const table[]) (long) = { one, two_a, leaf, to_library };
N void by_table (long n) { sink += 36; table[n & 3] (n); }
static N void through_b (long n) { sink += 32; pointer (n); }
N void through_a (long n) { sink += 33; through_b (n); }
static N void parting_b (long n) { sink += 34; either_a (n); }
N void parting_a (long n) { sink += 35; parting_b (n); }
__attribute__ ((noinline, noclone, aligned (64))) static void only_b (long n) { for (long i = 0; i < n; i++) sink ^= i; }
N void only_a (long n) { sink += 31; only_b (n + 2); }
N void other (long n) { sink += 11; for (long i = 0; i < n; i++) sink -= i; }
void __leaf (long n) __attribute__ ((alias ("leaf")));
__attribute__ ((cold, noreturn)) N void fail (void) { for (;;) sink++; }
N void parted (long n) { sink += 12; if (__builtin_expect (n == 77, 0)) { sink = 1; fail (); } sink++; }
N long switched (long n) {
  switch (n) { case 1: sink += 5; return 1; case 2: return sink * 3; case 3: sink = 0; return 2; case 4: return sink / 7;
    case 5: sink ^= 9; return 4; case 6: return sink << 2; case 7: sink -= 4; return 9; default: return 0; } }
N void again (long n) { sink++; if (n > 0) again (n - 1); leaf (n); sink++; }
#define CALL(name) N void call_##name (long n) { name (n); sink++; }
CALL (leaf) CALL (one) CALL (two_a) CALL (three_a) CALL (either_a) CALL (to_library) CALL (by_pointer) CALL (maybe_a)
CALL (by_table) CALL (through_a) CALL (parting_a)
CALL (other) CALL (only_a) CALL (__leaf) CALL (parted) CALL (switched) CALL (again) CALL (lib_tail) CALL (lib_leaf) CALL (lib_chosen) CALL (lib_chooses)
N void call_pointer (long n) { pointer (n); sink++; }
int main (int argc, char **argv)
{
  call_leaf (1); call_one (argc); call_two_a (argc); call_three_a (argc); call_either_a (argc); call_to_library (argc);
  call_by_pointer (argc); call_maybe_a (argc); call_by_table (argc); call_through_a (argc); call_parting_a (argc); call_other (argc); call_only_a (argc); call___leaf (argc); call_parted (argc); call_switched (argc);
  call_again (argc); call_lib_tail (argc); call_lib_leaf (argc); call_lib_chosen (argc); call_lib_chooses (argc); call_pointer (argc);
  two_b (argc); three_b (argc); either_b (argc); either_c (argc); maybe_b (argc); through_b (argc); parting_b (argc);
  return (int) sink;
}
"""

CLASSES = COMMON + """
namespace shapes
{
struct Box { long width; N void grow (long n); N void fill (long n); };
N void Box::fill (long n) { for (long i = 0; i < n; i++) sink += width; }
N void Box::grow (long n) { width += n; fill (n + 1); }
}
extern "C" N void call_grow (shapes::Box *box, long n) { box->grow (n); sink++; }
int main (int argc, char **argv)
{
  shapes::Box box = { argc };
  call_grow (&box, argc);
  return (int) sink;
}
"""

# The part of a function is the first code, at the start of a section that is aligned more than what is before it.
PARTS = COMMON + """
N void parted (long n) { sink += 12; if (__builtin_expect (n == 77, 0)) { sink = 1; __builtin_trap (); } sink++; }
N __attribute__ ((aligned (4096))) void call_parted (long n) { parted (n); sink++; }
int main (int argc, char **argv) { call_parted (argc); return (int) sink; }
"""

# The function that is called, where the stack's innermost frame is, and what is shown between.
CASES = [
    ("leaf", "leaf", []),
    ("one", "leaf", ["one"]),
    ("two_a", "leaf", ["two_a", "two_b"]),
    ("two_a", "two_b", ["two_a"]),
    ("three_a", "leaf", ["three_a", "three_b", "two_a", "two_b"]),
    ("either_a", "leaf", ["either_a"]),
    ("either_a", "either_c", ["either_a"]),
    ("to_library", "lib_leaf", ["to_library"]),
    ("lib_tail", "lib_leaf", ["lib_tail"]),
    ("lib_chooses", "lib_fast", ["lib_chooses"]),
    ("by_pointer", "leaf", ["by_pointer"]),
    ("maybe_a", "leaf", ["maybe_a", "maybe_b"]),
    ("by_table", "leaf", ["by_table"]),
    ("through_a", "leaf", ["through_a", "through_b"]),
    ("parting_a", "leaf", ["parting_a", "parting_b", "either_a"]),
    ("only_a", "only_b", ["only_a"]),
    # Nothing is known, or nothing is missing.
    ("pointer", "leaf", []),
    ("other", "leaf", []),
    ("switched", "leaf", []),
    ("__leaf", "leaf", []),
    ("again", "again", []),
    ("lib_leaf", "lib_leaf", []),
    ("lib_chosen", "lib_fast", []),
]


class File:
    """A program or library that was compiled, and where a process has it."""

    def __init__(self, path, base, symbols=None):
        self.path, self.base = path, base
        self.elf = elf.Elf(path)
        self.symbols = symbols or {symbol.name: symbol for symbol in self.elf.symbols if symbol.size}

    def address(self, function, offset=1):
        return self.base + self.symbols[function].ea + offset

    def code(self, function):
        symbol = self.symbols[function]
        return self.elf.bytes_at(symbol.ea, symbol.size), symbol.ea

    def return_address(self, function):
        """The address after the one call of a function."""
        code, at = self.code(function)
        targets = {i + 5: at + i + 5 + int.from_bytes(code[i + 1:i + 5], "little", signed=True)
                   for i in range(len(code) - 4) if code[i] == 0xe8}
        found = [i for i, target in targets.items() if self.elf.is_exec_ea(target)]
        found += [i + 6 for i in range(len(code) - 5) if code[i:i + 2] == b"\xff\x15"]
        found += [i + 2 for i in range(len(code) - 1) if code[i] == 0xff and code[i + 1] in range(0xd0, 0xd8)]
        assert len(found) == 1, (function, code.hex())
        return self.base + at + found[0]

    def map(self, writer, pid):
        for segment in self.elf.exec_loads:
            writer.map(self.base + segment.ea, self.base + segment.ea + segment.mem_size, segment.offset, self.path,
                       self.elf.build_id, pid=pid)


@unittest.skipIf(platform.machine() != "x86_64", "instructions of x86-64 only are decoded")
class TailCalls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp(prefix="tail-")
        cls.addClassCleanup(shutil.rmtree, cls.directory, True)
        with open(PROGRAM, "rb") as program:
            if b"libZydis" not in program.read():
                raise unittest.SkipTest("built without Zydis")
        cls.library = File(cls.build("liblib.so", LIBRARY, "-fPIC", "-shared"), LIBRARY_BASE)

    @classmethod
    def build(cls, name, text, *flags, suffix="c"):
        source, path = os.path.join(cls.directory, f"{name}.{suffix}"), os.path.join(cls.directory, name)
        with open(source, "w", encoding="ascii") as out:
            out.write(text)
        compiler = COMPILER if suffix == "c" else os.environ.get("CXX", "c++").split()
        try:
            done = subprocess.run([*compiler, "-O2", "-fno-ipa-icf", "-fno-reorder-functions", "-w", "-Wl,--build-id",
                                   "-o", path, source, *flags], check=False)
        except FileNotFoundError as error:
            raise unittest.SkipTest(f"no {compiler[0]}") from error
        if done.returncode:
            raise unittest.SkipTest(f"{compiler[0]} cannot build {name}")
        return path

    def program(self, name, *flags):
        return File(self.build(name, SOURCE, *flags, self.library.path), BASE)

    def write(self, stacks, *files, metadata=()):
        """A capture with the stacks, of a process each."""
        writer = capwriter.Writer()
        for key, text in metadata:
            writer.metadata(key, text)
        for pid, stack in enumerate(stacks, 1):
            writer.process(f"case{pid}", pid=pid)
            for file in files:
                file.map(writer, pid)
            writer.sample(stack, pid=pid)
        return writer.save(os.path.join(self.directory, "x.syscap"))

    def run_well(self, *arguments):
        done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=60, check=False,
                              cwd=self.directory, env=dict(os.environ, LC_ALL="C.UTF-8", DEBUGINFOD_URLS=""))
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def folded(self, capture, *arguments):
        """The functions of each stack, from the root."""
        text = self.run_well("convert", "--format", "folded", *arguments, capture, "-")
        lines = (line.rsplit(" ", 1)[0].split(";") for line in text.splitlines())
        return {words[0]: words[1:] for words in lines}

    def stacks_of(self, program, cases):
        where = {name: file for file in (self.library, program) for name in file.symbols}
        return [[where[leaf].address(leaf), program.return_address("call_" + called)] for called, leaf, _ in cases]

    def check_cases(self, program, cases=tuple(CASES)):
        found = self.folded(self.write(self.stacks_of(program, cases), program, self.library))
        for pid, (called, leaf, chain) in enumerate(cases, 1):
            with self.subTest(called=called, leaf=leaf):
                expected = ["call_" + called, *(f"{name} [tail call]" for name in chain), leaf]
                self.assertEqual(found[f"case{pid}"], expected)

    def test_program(self):
        self.check_cases(self.program("program"))

    def test_program_at_a_fixed_address(self):
        program = self.program("fixed", "-no-pie", "-fno-pie")
        program.base = 0
        self.check_cases(program)

    def test_calls_through_the_global_offset_table(self):
        self.check_cases(self.program("direct", "-fno-plt"))

    def test_library_without_immediate_binding(self):
        self.check_cases(self.program("lazy", "-Wl,-z,lazy"))

    def test_part_that_the_compiler_moved_away(self):
        program = self.program("parts")
        if "parted.cold" not in program.symbols:
            self.skipTest("this compiler moves nothing away")
        stack = [program.address("parted.cold", 0), program.return_address("call_parted")]
        self.assertEqual(self.folded(self.write([stack], program)), {"case1": ["call_parted", "parted"]})
        self.strip(program)
        found = self.folded(self.write([stack], program))["case1"]
        self.assertEqual(len(found), 2, found)

    def test_part_at_the_start(self):
        program = File(self.build("start", PARTS, "-freorder-functions", self.library.path), BASE)
        text = next(section for section in program.elf.sections if section.name == ".text")
        if "parted.cold" not in program.symbols or program.symbols["parted.cold"].ea != text.ea:
            self.skipTest("this compiler or linker has other code first")
        stack = [program.address("parted.cold", 0), program.return_address("call_parted")]
        self.strip(program)
        self.assertEqual(len(self.folded(self.write([stack], program))["case1"]), 2)

    def strip(self, file):
        subprocess.run(["strip", file.path], check=True)
        file.elf = elf.Elf(file.path)

    def test_stripped_program(self):
        program = self.program("stripped")
        stacks = self.stacks_of(program, CASES)
        self.strip(program)
        found = self.folded(self.write(stacks, program, self.library))
        for pid, (called, leaf, chain) in enumerate(CASES, 1):
            places = [f"stripped+{program.symbols[name].ea:#x} [tail call]" if name in program.symbols
                      else f"{name} [tail call]" for name in chain]
            with self.subTest(called=called, leaf=leaf):
                self.assertEqual(found[f"case{pid}"][1:-1], places)

    def test_class(self):
        program = File(self.build("classes", CLASSES, self.library.path, suffix="cc"), BASE)
        stack = [program.address("_ZN6shapes3Box4fillEl"), program.return_address("call_grow")]
        self.assertEqual(self.folded(self.write([stack], program))["case1"],
                         ["call_grow", "shapes::Box::grow [tail call]", "shapes::Box::fill"])

    def test_another_file_in_its_place(self):
        program = self.program("changed")
        capture = self.write(self.stacks_of(program, CASES[1:2]), program)
        self.program("changed", "-DCHANGED", "-g0", "-Wl,--build-id=0x1234")
        self.assertEqual(len(self.folded(capture)["case1"]), 2)
        os.unlink(program.path)
        self.assertEqual(len(self.folded(capture)["case1"]), 2)

    def test_callchains(self):
        """Frame pointers lose callers in another way."""
        program = self.program("chains")
        capture = self.write(self.stacks_of(program, CASES[1:2]), program, metadata=[("live-unwinder.callchains", "x")])
        self.assertEqual(self.folded(capture)["case1"], ["call_one", "leaf"])

    def test_option(self):
        program = self.program("option")
        capture = self.write(self.stacks_of(program, CASES[1:2]), program)
        self.assertEqual(self.folded(capture, "--no-tail-calls")["case1"], ["call_one", "leaf"])
        self.assertIn("one [tail call]", self.run_well("report", "--tree", capture))
        self.assertNotIn("[tail call]", self.run_well("report", "--tree", "--no-tail-calls", capture))
        self.assertIn("one [tail call]", self.run_well("diff", "--tree", "--min", "0", capture, capture))

    def test_totals(self):
        """The function's own totals stay what they are."""
        program = self.program("totals")
        stacks = self.stacks_of(program, CASES[1:2])
        stacks.append([program.address("leaf"), program.address("one", 5), program.return_address("call_one")])
        capture = self.write(stacks, program)
        totals = {each["name"]: (each["self"], each["total"])
                  for each in json.loads(self.run_well("report", "--json", capture))["functions"]}
        self.assertEqual(totals["one"], (0, 1))
        self.assertEqual(totals["one [tail call]"], (0, 1))
        self.assertEqual(totals["leaf"], (2, 2))

    def test_lines(self):
        program = self.program("lines", "-g")
        capture = self.write(self.stacks_of(program, CASES[1:3]), program)
        jump = next(i for i, line in enumerate(SOURCE.splitlines(), 1) if "N void one" in line)
        text = self.run_well("report", "--tree", "--lines", "--min", "0", capture)
        self.assertIn(f"one [tail call] lines.c:{jump}", text)

    def test_all_formats(self):
        program = self.program("formats")
        capture = self.write(self.stacks_of(program, CASES[1:2]), program)
        for name in ("html", "speedscope", "firefox", "callgrind", "perfetto", *HAS_PPROF):
            out = os.path.join(self.directory, f"out.{name}")
            self.run_well("convert", "--format", name, capture, out)
            with open(out, "rb") as file:
                data = file.read()
            if data[:2] == b"\x1f\x8b":
                data = subprocess.run(["gzip", "-dc"], input=data, stdout=subprocess.PIPE, check=True).stdout
            with self.subTest(format=name):
                self.assertIn(b"one [tail call]", data)


if __name__ == "__main__":
    unittest.main()
