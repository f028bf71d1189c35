# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""Tests of reach.py: ways from a call to the frame inside of it, and what has no way.

fixtures/reach.S has the calls; its stacks have a leaf, a caller and the root.
"""

import unittest

import capwriter
import elf
import fixture
import frames
import judge
import syscap

YES, OPEN, NO = "leads there", "open", "leads elsewhere"
BASE, SECOND_BASE, ANONYMOUS = 0x40000000, 0x50000000, 0x60000000

# (called, code of the leaf, verdict)
WAYS = (
    ("plain", "plain", YES),
    ("plain", "other", NO),
    ("plain", "call_plain", NO),
    ("tail", "tail", YES),
    ("tail", "other", YES),
    ("tail", "plain", NO),
    ("tail_register", "tail_register", OPEN),
    ("tail_register", "plain", OPEN),
    ("switch", "switch", YES),
    ("switch", "plain", NO),
    ("split", "split_cold", YES),
    ("split", "between", NO),
    ("falls", "fallen_into", YES),
    ("falls", "plain", NO),
    ("ends_in_call", "behind_call", NO),
    ("pushed", "plain", OPEN),
    ("bare", "bare", YES),
    ("bare", "bare_rest", YES),
    ("bare", "bare_other", NO),
    ("bare_register", "plain", OPEN),
    ("bare_to_switch", "switch_case", YES),
    ("bare_to_switch", "plain", NO),
)
SHARED_WAYS = (
    ("exported", "exported", YES),
    ("exported", "plain", NO),
    ("to_plt", "exported", YES),
    ("to_plt", "plain", NO),
    ("to_both", "global", YES),
    ("to_both", "another", YES),
    ("to_both", "plain", NO),
    ("slot", "exported", YES),
    ("slot", "plain", NO),
    ("ifunc", "plain", OPEN),
    ("missing", "plain", OPEN),
)
# From `jumps_on` on, the place to go on at is in a register.
JUMPS_BACK = (
    ("_setjmp", "_setjmp", YES),
    ("_setjmp", "jumps_on", YES),
    ("_setjmp", "jumps", NO),
    ("_setjmp", "plain", NO),
    ("plain", "jumps_on", NO),
    ("split", "jumps_on", NO),
    ("bare", "jumps_on", NO),
)


class Files:
    """fixtures/reach.S mapped at BASE, and perhaps a library next to it."""

    def __init__(self, name, *flags, second=()):
        self.path = fixture.build("reach.S", name, "-nostdlib", *flags)
        self.image = elf.Elf(self.path)
        self.symbols = {s.name: s.ea for s in self.image.symbols}
        self.second = second and elf.Elf(
            fixture.build("reach.S", name + "-second", "-nostdlib", "-DSECOND", *second))

    def writer(self):
        w = capwriter.Writer()
        for image, base in ((self.image, BASE), (self.second, SECOND_BASE)):
            for load in image.exec_loads if image else ():
                start = base + load.ea & -4096
                w.map(start, start + load.mem_size + 8191 & -4096, load.offset & -4096,
                      image.path, image.build_id)
        return w.map(ANONYMOUS, ANONYMOUS + 4096, 0, "")

    def in_second(self, name):
        return SECOND_BASE + next(s.ea for s in self.second.symbols if s.name == name)

    def stack(self, called, leaf):
        size = self.image.fde(self.symbols["call_" + called]).end - self.symbols["call_" + called]
        behind = 6 if called == "slot" and size == 7 else 5
        return [leaf if isinstance(leaf, int) else BASE + self.symbols[leaf],
                BASE + self.symbols["call_" + called] + behind - 1, BASE + self.symbols["_start"] + 1]


class Ways(unittest.TestCase):
    def check(self, files, called, leaf, verdict):
        with self.subTest(files.path.rsplit("/", 1)[-1], called=called, leaf=leaf):
            w = files.writer().sample(files.stack(called, leaf))
            found = judge.Judge(syscap.parse(bytes(w.data)))
            self.assertEqual(dict(found.refused),
                             {frames.OTHER_CALL: 1} if verdict == NO else {}, found.report())
            self.assertEqual(found.calls_followed, int(verdict != OPEN), found.report())

    def test_ways_in_one_file(self):
        for name, flags in (("static", ()), ("static-32", ("-m32",))):
            files = Files(name, "-static", "-no-pie", *flags)
            for way in WAYS:
                self.check(files, *way)

    def test_ways_through_a_plt(self):
        for name, flags in (("lazy", ("-Wl,-z,lazy",)), ("now", ("-Wl,-z,now",)),
                            ("lazy-32", ("-m32", "-Wl,-z,lazy")), ("now-32", ("-m32", "-Wl,-z,now"))):
            bits = [f for f in flags if f == "-m32"]
            files = Files(name, "-shared", "-DSHARED", *flags, second=("-shared", *bits))
            for called, leaf, verdict in SHARED_WAYS:
                leaf = files.in_second("exported") if leaf == "exported" else leaf
                self.check(files, called, leaf, verdict)

    def test_a_jump_back_to_a_frame(self):
        """A longjmp() goes on behind the call of setjmp(), and behind no other call."""
        for name, flags in (("static", ()), ("static-32", ("-m32",))):
            files = Files(name, "-static", "-no-pie", *flags)
            for way in JUMPS_BACK:
                self.check(files, *way)

    def test_a_jump_back_out_of_a_library(self):
        for bits in ((), ("-m32",)):
            files = Files("lazy" + "".join(bits), "-shared", "-DSHARED", "-Wl,-z,lazy", *bits,
                          second=("-shared", *bits))
            self.check(files, "setjmp", files.in_second("setjmp"), YES)
            self.check(files, "setjmp", files.in_second("jumps_there_on"), YES)
            self.check(files, "setjmp", files.in_second("jumps_there"), NO)
            self.check(files, "exported", files.in_second("jumps_there_on"), NO)
            # The file of this longjmp() has another setjmp().
            self.check(files, "setjmp", "jumps_on", NO)

    def test_the_first_of_several_functions_of_a_name_is_not_assumed(self):
        """The loader decides which one wins, so each of them may be meant."""
        files = Files("both", "-shared", "-DSHARED", second=("-shared",))
        self.check(files, "exported", files.in_second("exported"), YES)
        self.check(files, "exported", "other", NO)

    def test_a_function_that_goes_on_in_another_frame(self):
        files = Files("static", "-static", "-no-pie")
        self.check(files, "plain", "_Unwind_Resume", OPEN)

    def test_a_landing_pad_has_no_call_in_front(self):
        """But nothing else goes on there, and nowhere else."""
        for flags in ((), ("-m32",)):
            files = Files("lands" + "".join(flags), "-static", "-no-pie", *flags)
            pad = files.symbols["catches_pad"]
            for leaf, behind, refused in (("_Unwind_Resume", pad, {}),
                                          ("_Unwind_Resume", pad - 1, {frames.NO_CALL: 1}),
                                          ("_Unwind_Resume", pad + 1, {frames.NO_CALL: 1}),
                                          ("plain", pad, {frames.NO_CALL: 1})):
                stack = [BASE + files.symbols[leaf], BASE + behind,
                         BASE + files.symbols["_start"] + 1]
                found = judge.Judge(syscap.parse(bytes(files.writer().sample(stack).data)))
                self.assertEqual(dict(found.refused), refused, found.report())

    def test_code_in_no_file(self):
        files = Files("static", "-static", "-no-pie")
        for called, verdict in (("plain", NO), ("switch", NO), ("tail_register", OPEN),
                                ("bare_register", OPEN), ("bare", NO)):
            self.check(files, called, ANONYMOUS + 5, verdict)

    def test_stripped(self):
        """Without symbols only CFI and jumps tell functions apart."""
        files = Files("static", "-static", "-no-pie")
        stripped = Files("stripped", "-static", "-no-pie", "-s")
        stripped.symbols = files.symbols
        for way in WAYS:
            self.check(stripped, *way)


if __name__ == "__main__":
    fixture.main()
