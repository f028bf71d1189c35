#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""test_outputs.py - all outputs show the same functions, on every machine, and each has a name.

    test_outputs.py LIVE_UNWINDER [-v] [TEST…]

Everything is checked from outside: functions against the judge's own reader of FDEs, outputs against
each other.
"""

import collections
import ctypes
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import outputs
from test_names import COMPILER, GENERATED, HAS_PPROF, PROGRAM, SHORT, Recorded

import elf  # from the judge, whose directory test_names added

SUFFIXES = ["folded", "html", "json.gz", "speedscope.json"] + ["pb.gz"] * HAS_PPROF
REPORTS = [["--json"], ["--tree", "--min", "0"], ["--threads"], ["--processes"], ["-n", "100000"]]
CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x00020000, 0x4000, 0x40000
DEBUG_FILES = "/usr/lib/debug"

# Programs of Debian, each busy for some tenths of a second. None of them may be a build of our own.
COMMANDS = {
    "/usr/bin/bash": "-c 'for ((i = 0; i < 60000; i++)); do [[ $i =~ 9 ]] && x+=$i; done'",
    "/usr/bin/dash": "-c 'i=0; while [ $i -lt 150000 ]; do i=$((i + 1)); done'",
    "/usr/bin/ls": "-lR /usr/lib /usr/share/doc",
    "/usr/bin/perl": "-e 'for (1 .. 400000) { $h{$_ % 999} .= sprintf \"%x\", $_ } sort keys %h'",
    "/usr/bin/python3": "-c 'import json; [json.loads(json.dumps(list(range(99)))) for i in range(9000)]'",
    "/usr/bin/sort": "-r /tmp/lines",
    "/usr/bin/sqlite3": ":memory: 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 300000) "
                        "SELECT sum(i * i % 7), max(hex(i)) FROM n'",
    "/usr/bin/xz": "-9 -k -c /usr/bin/bash",
}


def hide_debug_files():
    """Makes this machine one without debug packages for the process that is about to be executed."""
    libc = ctypes.CDLL(None)
    if os.path.isdir(DEBUG_FILES) and (
            libc.unshare(CLONE_NEWNS) != 0 or libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None) != 0
            or libc.mount(b"none", DEBUG_FILES.encode(), b"tmpfs", 0, None) != 0):
        os._exit(77)


class Shared(Recorded):
    """The steps that both classes below take with a recording."""

    def well(self, *arguments):
        result = self.run_it(*arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def rows(self, capture, *options):
        """Returns the rows of the report, and its states, as functions are in the other outputs."""
        report = json.loads(self.well("report", "--json", *options, capture))
        return (collections.Counter((row["name"], row["module"], row["self"], row["total"])
                                    for row in report["functions"]),
                sum(report["incomplete"].values()))

    def converted(self, capture, suffix, *options):
        self.well("convert", "-f", *options, capture, "converted." + suffix)
        with open(self.path("converted." + suffix), "rb") as file:
            return file.read()

    def check_profile(self, rows, n_states, profile):
        """Functions and their shares are those of the report, which lists states apart."""
        interpreted = {name for name, module, *_ in rows if module == "[interpreted]"}
        shares = collections.Counter()
        for (name, module, *counts), n in profile.shares().items():
            # The module of a function that an interpreter runs is the file of its source.
            shares[(name, "[interpreted]" if name in interpreted else module, *counts)] += n
        states = {share: n for share, n in shares.items() if share[0].startswith("[") and not share[1]}
        self.assertEqual(shares - collections.Counter(states), rows)
        self.assertEqual(sum(share[3] * n for share, n in states.items()), n_states)


class Debian(Shared):
    """Programs of Debian where no debug package is installed."""

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp(prefix="outputs-")
        cls.addClassCleanup(shutil.rmtree, cls.directory, True)
        if not os.path.exists("/etc/debian_version"):
            raise unittest.SkipTest("this is no Debian, whose programs have no symbols but those they export")
        if subprocess.run(["true"], preexec_fn=hide_debug_files, check=False).returncode != 0:
            raise unittest.SkipTest("no right to hide the debug files of this machine")
        with open(cls.path("lines"), "w", encoding="utf-8") as out:
            out.writelines(f"{i * 7919 % 200003}\n" for i in range(200000))
        lines = [f"{program} {words} >/dev/null".replace("/tmp/lines", cls.path("lines"))
                 for program, words in COMMANDS.items() if os.access(program, os.X_OK)]
        if len(lines) < 4:
            raise unittest.SkipTest(f"only {len(lines)} of the programs are installed")
        with open(cls.path("commands"), "w", encoding="utf-8") as out:
            out.write("\n".join(lines) + "\n")
        cls.capture = cls.path("debian.syscap")
        done = cls().run_it("-q", "-f", "-o", cls.capture, "--", "/bin/sh", cls.path("commands"))
        if done.returncode == 125 and os.geteuid() != 0:
            raise unittest.SkipTest(done.stderr.strip())
        assert done.returncode == 0, done.stderr

    def run_it(self, *arguments):
        environment = {key: value for key, value in os.environ.items() if key != "DEBUGINFOD_URLS"}
        return super().run_it(*arguments, env=environment, preexec_fn=hide_debug_files)

    def test_every_function_has_a_name(self):
        for suffix in SUFFIXES:
            data = self.converted(self.capture, suffix)
            data = outputs.gzip.decompress(data) if suffix.endswith("gz") else data
            self.assertNotIn(b"(no symbol)", data, suffix)
        for options in REPORTS:
            self.assertNotIn("(no symbol)", self.well("report", *options, self.capture), options)
        self.assertNotIn("(no symbol)", self.well("diff", self.capture, self.capture))
        with open(self.capture, "rb") as file:
            self.assertNotIn(b"(no symbol)", file.read())

    def test_every_function_has_a_name_in_sysprof(self):
        """Without a symbol in the capture Sysprof would show "In File …" or nothing."""
        self.assertFalse(None in outputs.sysprof(self.capture).names)

    @unittest.skipUnless(HAS_PPROF, "built without pprof")
    def test_rows_are_functions(self):
        """No row has code of two FDEs, unless one symbol covers both; and a row without a symbol has
        the start of its FDE for a name."""
        profile = outputs.pprof(self.converted(self.capture, "pb.gz"))
        self.check_profile(*self.rows(self.capture), profile)
        files, n_places = {}, 0
        for function, places in profile.places.items():
            name, module = profile.names[function]
            for path in {place.path for place in places if os.path.isfile(place.path)}:
                file = files.setdefault(path, elf.Elf(path))
                here = [file.fo_to_ea(place.offset) for place in places if place.path == path]
                n_places += self.check_row(file, here, name, module)
        self.assertGreater(n_places, 30)
        self.assertGreater(len(files), 4)

    def check_row(self, file, addresses, name, module):
        name = name.removesuffix(" [tail call]")  # named as the function is where it has a frame
        fdes = {address: file.fde(address) for address in addresses}
        starts = {address if fde is None else fde.start for address, fde in fdes.items()}
        if name.startswith(module + "+0x"):
            self.assertEqual({f"{module}+{start:#x}" for start in starts}, {name})
            return 1
        symbols = {file.symbol_at(address) for address in addresses}
        self.assertTrue(len(starts) == 1 or len({symbol and symbol.ea for symbol in symbols}) == 1,
                        f"{name} of {module}: {sorted(map(hex, starts))}")
        return 0


class Elsewhere(Shared):
    """A capture is read in an empty directory, in which nothing of the recorded machine exists. Only
    functions that ended with a tail call are not there, because code tells of them."""

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp(prefix="outputs-")
        cls.addClassCleanup(shutil.rmtree, cls.directory, True)
        compiler = os.environ.get("CXX", "g++").split()
        with open(cls.path("short.cc"), "w", encoding="utf-8") as out:
            out.write(SHORT)
        if os.geteuid() != 0 or shutil.which("ldd") is None or shutil.which(compiler[0]) is None:
            raise unittest.SkipTest("chroot needs root; ldd and a compiler of C++ have to be there")
        built = subprocess.run([*compiler, "-O2", "-o", cls.path("short"), cls.path("short.cc")],
                               check=False, capture_output=True, text=True)
        if built.returncode != 0:
            raise unittest.SkipTest(built.stderr)
        with open(cls.path("generated.c"), "w", encoding="utf-8") as out:
            out.write(GENERATED)
        built = subprocess.run([*COMPILER, "-O2", "-o", cls.path("generated"), cls.path("generated.c")],
                               check=False, capture_output=True, text=True)
        if built.returncode != 0:
            raise unittest.SkipTest(built.stderr)
        cls.root = cls.path("root")
        cls.command = cls.copy_program()

    @classmethod
    def copy_program(cls):
        """Copies the program and its libraries to where no recorded file is."""
        os.makedirs(cls.root + "/lu")
        os.makedirs(cls.root + "/tmp")
        shutil.copy(PROGRAM, cls.root + "/lu/program")
        libraries = subprocess.run(["ldd", PROGRAM], capture_output=True, text=True, check=True).stdout
        loader = None
        for word in libraries.split():
            if word.startswith("/"):
                shutil.copy(word, cls.root + "/lu")
                loader = os.path.basename(word) if "ld-" in word else loader
        return ["/lu/" + loader, "--library-path", "/lu", "/lu/program"]

    def there(self, *arguments):
        done = subprocess.run([*self.command, *arguments], capture_output=True, timeout=60, check=False,
                              preexec_fn=lambda: (os.chroot(self.root), os.chdir("/tmp")))
        if b"cannot execute" in done.stderr or b"error while loading" in done.stderr:
            self.skipTest(done.stderr.decode())
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def setUp(self):
        self.capture = self.record(
            "here.syscap", "--", "sh", "-c", f"{self.path('short')}; {self.path('generated')}; ls -lR /usr/bin >/dev/null; "
            "i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done")
        shutil.copy(self.capture, self.root + "/tmp/here.syscap")

    def converted_there(self, suffix, *options):
        self.there("convert", "-f", *options, "here.syscap", "there." + suffix)
        with open(self.root + "/tmp/there." + suffix, "rb") as file:
            return file.read()

    def test_same_as_here(self):
        for options in REPORTS:
            here, there = (re.split(r'\nFrames without a symbol, by file\n|,"missing_debug_files"', text)[0] # depends on the machine
                           for text in (self.well("report", *options, "--no-tail-calls", "here.syscap"),
                                        self.there("report", *options, "here.syscap").decode()))
            self.assertEqual(here, there, options)
        for suffix in SUFFIXES:
            self.assertEqual(self.converted(self.capture, suffix, "--no-tail-calls"), self.converted_there(suffix),
                             suffix)

    def test_same_in_all_outputs(self):
        """Report, page and profile of pprof agree on functions and shares, and with Sysprof on names,
        which are whole there."""
        report = json.loads(self.there("report", "--json", "here.syscap"))
        self.assertLessEqual({"short", "[generated]"}, {row["module"] for row in report["functions"]})
        rows = self.rows(self.capture, "--no-tail-calls")
        self.check_profile(*rows, outputs.page(self.converted_there("html")))
        if HAS_PPROF:
            self.check_profile(*rows, outputs.pprof(self.converted_there("pb.gz")))
        self.check_sysprof(json.loads(self.there("report", "--json", "--full-names", "here.syscap")))

    def check_sysprof(self, report):
        """Functions of one name are one for Sysprof."""
        selves, totals, n = collections.Counter(), {}, collections.Counter(report["incomplete"].keys())
        for row in report["functions"]:
            selves[row["name"]] += row["self"]
            totals[row["name"]] = row["total"]
            n[row["name"]] += 1
        for name, _, count, total in outputs.sysprof(self.capture).shares():
            if name.startswith("[") and name not in n:
                continue
            self.assertEqual(selves.pop(name), count, name)
            if n[name] == 1:
                self.assertEqual(totals[name], total, name)
        self.assertEqual(selves, {})


if __name__ == "__main__":
    unittest.main()
