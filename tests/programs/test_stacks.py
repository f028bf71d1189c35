# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""Tests of the program checks themselves: what they must accept, and above all refuse.

The recorder is replaced by one that writes captures by hand.  PROGRAMS names the directory of `chain`.
"""

import contextlib
import io
import os
import re
import unittest
from pathlib import Path
from unittest import mock

import cases
import check
import stacks

import capwriter  # from tests/judge, on the path since stacks

KERNEL, USER = stacks.syscap.CONTEXT_KERNEL, stacks.syscap.CONTEXT_USER
BASE = 0x555500000000
TRUNCATED = stacks.syscap.SYNTHETIC_BASE + 1


class Patterns(unittest.TestCase):
    def matches(self, pattern, text):
        return stacks.matches([stacks.compile_pattern(pattern)], text.split())

    def test_every_frame_counts(self):
        pattern = ["hot", "a", "main"]
        self.assertTrue(self.matches(pattern, "hot a main"))
        for text in ("a main", "hot main", "hot a", "hot a a main", "hot a main _start", "",
                     "xhot a main", "hot a mainx", "hot b main"):
            self.assertFalse(self.matches(pattern, text), text)

    def test_quantifiers(self):
        self.assertTrue(self.matches(["r{3}", "m"], "r r r m"))
        self.assertFalse(self.matches(["r{3}", "m"], "r r m"))
        self.assertFalse(self.matches(["r{3}", "m"], "r r r r m"))
        self.assertTrue(self.matches(["r{2,}", "m"], "r r r m"))
        self.assertTrue(self.matches(["a?", "b|c", "d*"], "c d d"))
        self.assertFalse(self.matches(["a?", "b|c", "d*"], "a a c"))

    def test_classes(self):
        self.assertTrue(self.matches(["LIBC", "PLT", "VDSO", "LDSO", "ANON"],
                                     "libc:exit PLT vdso:0x1 ldso:? anon://anon"))
        self.assertTrue(self.matches(["LIBC"], "__libc_start_main_impl"))
        for text in ("libcx:exit", "main", "[x]", "PLTx"):
            self.assertFalse(self.matches(["LIBC|PLT|VDSO"], text), text)

    def test_a_state_matches_only_itself(self):
        labels = ["hot", "[truncated stack copy]"]
        self.assertTrue(stacks.matches([stacks.compile_pattern(labels)], labels))
        for pattern in (["hot", "ANY"], ["hot"], ["hot", "[other stack]"]):
            self.assertFalse(stacks.matches([stacks.compile_pattern(pattern)], labels))

    def test_markers(self):
        for good in ([], [KERNEL, 1 << 63], [USER, 1], [KERNEL, 1 << 63, USER, 1, TRUNCATED]):
            self.assertIsNone(stacks.marker_fault(good))
        for bad in ([1, USER, 1], [USER, 1, KERNEL, 1 << 63], [KERNEL, 1], [USER, 1 << 63],
                    [USER, USER], [KERNEL, 1 << 63, (1 << 64) - 640]):
            self.assertIsNotNone(stacks.marker_fault(bad), bad)


class Table(unittest.TestCase):
    def test_meson_runs_every_case(self):
        text = Path(__file__).with_name("meson.build").read_text(encoding="utf-8")
        listed = re.search(r"known_cases = \[(.*?)\]", text, re.S).group(1)
        self.assertEqual(re.findall(r"'([^']+)'", listed), sorted(cases.CASES))

    def test_every_pattern_compiles(self):
        for case in cases.CASES.values():
            for pattern in (case.exact + case.allowed + case.without_root
                            + [p for p, _ in case.seen]):
                stacks.compile_pattern(pattern)


@unittest.skipUnless("PROGRAMS" in os.environ, "PROGRAMS is not set")
class WholeCase(unittest.TestCase):
    """`chain` through check.run_case, recorded by hand."""

    def setUp(self):
        self.directory = Path(os.environ["PROGRAMS"])
        image = stacks.Programs(self.directory).by_name("chain")
        self.image = image
        self.load = image.exec_loads[0]
        self.at = {s.name: self.va(s.ea) for s in image.symbols}
        self.end = {s.name: self.va(s.ea + s.size) for s in image.symbols}
        self.good = [self.at[n] + 4 for n in ("hot", "c", "b", "a", "main")]

    def va(self, ea):
        return ea - self.load.ea + self.load.offset + BASE

    def run_with(self, stacks_and_counts, status=None, maps=True):
        """Faults of `chain` when its capture holds these stacks, each so many times."""
        def record(_recorder, _case, _command, output):
            w = capwriter.Writer().jitmap({TRUNCATED: "[truncated stack copy]"})
            libc = next(m.split() for m in open("/proc/self/maps", encoding="utf-8")
                        if "r-xp" in m and "libc.so" in m)
            if maps:
                w.map(BASE, BASE + 0x100000, 0, str(self.directory / "chain"), self.image.build_id)
                w.map(BASE - 0x100000, BASE, int(libc[2], 16), libc[5], inode=int(libc[4]))
            for addresses, count in stacks_and_counts:
                for _ in range(count):
                    w.words(addresses)
            w.save(output)
            return status, {}
        with mock.patch.object(check, "record", record), \
                mock.patch.object(check, "check_needs", lambda case, recorder: None), \
                contextlib.redirect_stdout(io.StringIO()):
            return check.run_case("chain", "recorder", self.directory, None)

    def stack(self, *addresses):
        return [USER, *addresses, BASE - 0x100000 + 0x100, self.at["_start"] + 4]

    def test_right_stacks_pass(self):
        self.assertEqual(self.run_with([(self.stack(*self.good), 400)]), [])

    def test_one_wrong_stack_of_the_hot_function_fails(self):
        hot, c, b, a, main = self.good
        for wrong in ((hot, b, a, main), (hot, c, b, a), (hot, c, b, a, main, main),
                      (hot, c, c, b, a, main), (hot, self.end["c"], b, a, main),
                      (hot, c, 0x1234, b, a, main)):
            faults = self.run_with([(self.stack(*self.good), 999), (self.stack(*wrong), 1)])
            self.assertTrue(faults, [hex(x) for x in wrong])

    def test_incomplete_stacks_fail(self):
        for wrong in ([USER, *self.good], [USER, *self.good, TRUNCATED], [USER, self.good[0]]):
            self.assertTrue(self.run_with([(self.stack(*self.good), 999), (wrong, 1)]))

    def test_lost_marker_fails(self):
        kernel = [KERNEL, (1 << 63) + 5]
        good = self.stack(*self.good)
        self.assertEqual(self.run_with([(good, 400), (kernel + good, 5), (kernel, 5)]), [])
        self.assertTrue(self.run_with([(good, 400), (kernel + good[1:], 1)]))

    def test_unexpected_stacks_fail_above_their_share(self):
        other = [USER, self.good[2], self.good[4], TRUNCATED]
        self.assertEqual(self.run_with([(self.stack(*self.good), 995), (other, 5)]), [])
        self.assertTrue(self.run_with([(self.stack(*self.good), 980), (other, 20)]))

    def test_one_unexpected_stack_that_claims_to_be_complete_fails(self):
        other = self.stack(self.good[2], self.good[4])
        self.assertTrue(self.run_with([(self.stack(*self.good), 999), (other, 1)]))

    def test_too_few_samples_fail(self):
        self.assertTrue(self.run_with([]))
        self.assertTrue(self.run_with([(self.stack(*self.good), 199)]))
        self.assertTrue(self.run_with([(self.stack(*self.good), 400)], maps=False))

    def test_a_failed_recorder_fails(self):
        self.assertTrue(self.run_with([(self.stack(*self.good), 400)], status="it ended with 1"))


if __name__ == "__main__":
    unittest.main()
