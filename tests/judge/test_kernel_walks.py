# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""Tests of kernel_walks.py: a program that the verifier refuses must never be a reason to skip."""

import os
import tempfile
import unittest
from pathlib import Path

import kernel_walks

REFUSAL = ("live-unwinder: --engine bpf: the kernel's verifier refused the BPF program: Argument list too long "
           "(the call stack of 8 frames is too deep !)\n")
OTHERS = ("live-unwinder: --engine bpf: cannot load the BPF program: Operation not permitted (libbpf: prog 'take_walk')\n",
          "live-unwinder: --engine bpf: needs CAP_BPF and CAP_PERFMON\n  Run it as root.\n",
          "live-unwinder: --engine bpf: built without libbpf\n", "")


class Reasons(unittest.TestCase):
    def why_not(self, said, status=125):
        """Lets kernel_walks.why_not() ask a recorder that says this."""
        with tempfile.TemporaryDirectory() as directory:
            recorder = os.path.join(directory, "recorder")
            Path(recorder).write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{said}END\nexit {status}\n", encoding="ascii")
            os.chmod(recorder, 0o755)
            return kernel_walks.why_not(recorder)

    def test_a_refusal_is_a_fault(self):
        for call in (kernel_walks.reason_to_skip, self.why_not):
            with self.assertRaisesRegex(AssertionError, "too deep"):
                call(REFUSAL)
        with self.assertRaises(AssertionError):
            kernel_walks.reason_to_skip(REFUSAL.replace(" ", "\n  "))

    def test_what_the_machine_lacks_is_none(self):
        for said in OTHERS:
            self.assertEqual(kernel_walks.reason_to_skip(said), " ".join(said.split()))
            self.assertTrue(self.why_not(said))
        self.assertIn("125", self.why_not(""))

    def test_what_works(self):
        self.assertIsNone(self.why_not("", status=0))

    def test_the_words_are_the_programs(self):
        """In the source of the program, these are the first ones of the message."""
        source = Path(__file__).parents[2] / "src/bpf/refusal.c"
        self.assertIn(f'_ ("{kernel_walks.REFUSED}: %s', source.read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main()
