#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""test_store.py LIVE_UNWINDER [-v] [TEST…] - unwind tables on disk, as a user meets them.

A program is recorded twice: the first recording leaves tables, the second one takes them.  The stacks are
the same with tables, with damaged ones, without a store and without tables.  Skips where sampling is not
allowed; the store of the user who runs the test is never touched."""

import os
import pathlib
import re
import stat
import sys
import unittest

import test_cli
from test_cli import Case, is_root, spin, stats_of

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "judge"))
import syscap  # noqa: E402  (needs the path above)


KERNEL = "kernel-functions"


class Store(Case):
    def setUp(self):
        super().setUp()
        self.store = pathlib.Path(self.directory) / "store"
        self.environment = os.environ | {"LIVE_UNWINDER_STORE": str(self.store), "LC_ALL": "C"}

    def record(self, *options, seconds=0.6):
        result = self.run_it("-f", "-o", self.file, "--stats", "json", *options, "--",
                             *spin(seconds), env=self.environment)
        self.assertEqual(result.returncode, 0, result.stderr)
        stats = stats_of(result.stderr)
        self.assertGreater(stats["complete_percent"], 98)
        return stats["tables"], result.stderr

    def tables(self, *arguments, code=0):
        result = self.run_it("tables", *arguments, env=self.environment)
        self.assertEqual(result.returncode, code, result.stderr)
        return result

    def names(self):
        return sorted(path.name for path in self.store.iterdir() if path.name != KERNEL)

    def kernel_names(self):
        """Records a program that spends its time in the kernel, and returns the kernel's functions."""
        result = self.run_it("-f", "-o", self.file, "--", "dd", "if=/dev/urandom", "of=/dev/null",
                             "bs=64k", "count=2000", env=self.environment)
        self.assertEqual(result.returncode, 0, result.stderr)
        text = syscap.read(self.file).files.get("/proc/kallsyms", b"").decode()
        return {line.split()[2] for line in text.splitlines()} - {"_end"}

    def build_own(self):
        self.tables("--build", os.path.realpath(sys.executable))
        (name,) = self.names()
        return self.store / name

    def test_a_recording_fills_the_store_for_the_next(self):
        first, _ = self.record(seconds=1.5)
        self.assertEqual(first["loaded"], 0)
        self.assertGreater(first["single_rules"], 0)
        self.assertEqual(first["built"], first["stored"])
        if first["built"] == 0:
            self.skipTest("the program was not sampled in enough places")
        self.assertEqual(len(self.names()), first["stored"])
        second, _ = self.record()
        self.assertEqual(second["loaded"], first["stored"])
        self.assertLess(second["single_rules"], first["single_rules"])

    def test_directory_and_files_are_private(self):
        path = self.build_own()
        self.assertEqual(stat.S_IMODE(self.store.stat().st_mode), 0o700)
        self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600)

    def test_a_damaged_table_is_compiled_anew(self):
        path = self.build_own()
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
        tables, _ = self.record()
        self.assertEqual((tables["loaded"], tables["refused"]), (0, 1))
        self.tables("--prune", "0")
        self.build_own()
        tables, _ = self.record()
        self.assertEqual((tables["loaded"], tables["refused"]), (1, 0))

    def test_a_link_is_not_followed(self):
        path = self.build_own()
        elsewhere = pathlib.Path(self.directory) / "elsewhere"
        path.rename(elsewhere)
        path.symlink_to(elsewhere)
        tables, _ = self.record()
        self.assertEqual((tables["loaded"], tables["refused"]), (0, 1))

    def test_a_directory_of_others(self):
        self.store.mkdir(mode=0o777)
        self.store.chmod(0o777)
        tables, text = self.record()
        self.assertIn("not kept on disk", text)
        self.assertEqual((tables["loaded"], tables["stored"]), (0, 0))
        self.assertEqual(self.names(), [])
        self.store.chmod(0o700)
        if is_root():
            os.chown(self.store, test_cli.NOBODY, -1)
            _, text = self.record()
            self.assertIn("not kept on disk", text)

    def test_the_doctor_looks_at_it(self):
        self.store.mkdir(mode=0o700)
        text = self.run_it("doctor", env=self.environment).stdout
        self.assertRegex(text, f"ok +unwind tables are kept .*{self.store}")
        self.store.chmod(0o722)
        text = self.run_it("doctor", env=self.environment).stdout
        self.assertRegex(text, f"no +unwind tables are kept .*{self.store}")
        self.assertIn("other users may write", text)

    def test_no_store(self):
        self.build_own()
        for options, variable in ((["--no-store"], str(self.store)), ([], "")):
            self.environment["LIVE_UNWINDER_STORE"] = variable
            tables, text = self.record(*options)
            self.assertEqual((tables["loaded"], tables["stored"]), (0, 0))
            self.assertNotIn("not kept", text)

    def test_no_tables(self):
        self.build_own()
        tables, _ = self.record("--table-memory", "0")
        self.assertEqual(set(tables.values()), {0})

    def test_prune(self):
        self.build_own()
        self.tables("--prune", "100")
        self.assertEqual(len(self.names()), 1)
        self.assertIn("1 table removed", self.tables("--prune", "0").stdout)
        self.assertEqual(self.names(), [])

    def test_kernel_functions_are_kept(self):
        """The next recording takes names from the copy, unless another boot or anybody else made it."""
        names = self.kernel_names()
        copy = self.store / KERNEL
        if not copy.exists():
            self.skipTest("no kernel function was named: " + " ".join(names))
        self.assertEqual(stat.S_IMODE(copy.stat().st_mode), 0o600)
        identity, lines = copy.read_bytes().split(b"\n", 1)
        marked = identity + b"\n" + re.sub(rb"(?m)^(\S+ \S )", rb"\1of_the_copy_", lines)
        copy.write_bytes(marked)
        named = self.kernel_names()
        self.assertTrue(named)
        self.assertTrue(all(name.startswith("of_the_copy_") for name in named), named)
        copy.write_bytes(b"0" + marked[1:] if marked[:1] != b"0" else b"1" + marked[1:])
        self.assertFalse(any(name.startswith("of_the_copy_") for name in self.kernel_names()))
        self.assertEqual(copy.read_bytes().split(b"\n", 1), [identity, lines])
        copy.write_bytes(marked)
        copy.chmod(0o622)
        self.assertFalse(any(name.startswith("of_the_copy_") for name in self.kernel_names()))

    def test_one_bad_file_does_not_stop_the_others(self):
        result = self.tables("--build", "/nonexistent", os.path.realpath(sys.executable), code=125)
        self.assertIn("/nonexistent", result.stderr)
        self.assertEqual(len(self.names()), 1)

    def test_usage(self):
        for arguments in ([], ["--stats"], ["--build"], ["--prune", "1", "x"],
                          ["--stats", "--build", "x"], ["a", "b"]):
            self.assertIn("Usage", self.tables(*arguments, code=125).stderr)


if __name__ == "__main__":
    works, why = test_cli.can_sample()
    if not works:
        print(f"1..0 # SKIP this machine does not let us sample:\n{why}")
        sys.exit(77)
    unittest.main()
