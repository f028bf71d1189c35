#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""test_names.py - functions in reports and formats: those without a symbol, and those of one name.

    test_names.py LIVE_UNWINDER [-v] [TEST…]

Everything is checked from outside; what is right comes from the judge's own reader of FDEs.
"""

import collections
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "judge"))
import elf  # noqa: E402  (needs the path above)
import syscap  # noqa: E402

PROGRAM = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else None
HAS_PPROF = os.environ.get("LU_HAS_PPROF", "1") == "1"
COMPILER = os.environ.get("CC", "cc").split()

MAIN = """
#include <time.h>
volatile unsigned sink;
void first (void), second (void);
int
main (void)
{
  struct timespec now;
  do
    {
      first ();
      second ();
      clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &now);
    }
  while (now.tv_nsec < 400000000);
}
"""

# Each file has a function "init" of its own; the second one takes longer.
PART = """
extern volatile unsigned sink;
__attribute__ ((noinline, noclone)) static void
init (unsigned n) { for (unsigned i = 0; i < n; i++) sink += i; }
void NAME (void) { init (COUNT); sink++; }
"""


class Recorded(unittest.TestCase):
    """A directory with programs, and what is recorded of them."""

    @classmethod
    def path(cls, name):
        return os.path.join(cls.directory, name)

    def run_it(self, *arguments, **options):
        return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=60,
                              cwd=self.directory, stdin=subprocess.DEVNULL, check=False, **options)

    def record(self, file, *arguments):
        result = self.run_it("-q", "-f", "-o", file, *arguments)
        if result.returncode == 125 and os.geteuid() != 0:
            self.skipTest(result.stderr.strip())
        self.assertEqual(result.returncode, 0, result.stderr)
        return self.path(file)


class Names(Recorded):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp(prefix="names-")
        cls.addClassCleanup(shutil.rmtree, cls.directory, True)
        parts = [("main.c", MAIN), ("first.c", PART.replace("NAME", "first").replace("COUNT", "4000")),
                 ("second.c", PART.replace("NAME", "second").replace("COUNT", "16000"))]
        for name, text in parts:
            with open(cls.path(name), "w", encoding="utf-8") as out:
                out.write(text)
        built = subprocess.run([*COMPILER, "-O2", "-o", cls.path("whole"),
                                *(cls.path(name) for name, _ in parts)], check=False,
                               capture_output=True, text=True)
        if built.returncode != 0 or shutil.which("strip") is None:
            raise unittest.SkipTest("no compiler or no strip: " + built.stderr)
        subprocess.run(["strip", "-o", cls.path("stripped"), cls.path("whole")], check=True)

    def rows(self, capture, module):
        """Returns [(name, self)] of the functions of a file, from the report."""
        result = self.run_it("report", "--json", capture)
        self.assertEqual(result.returncode, 0, result.stderr)
        return [(row["name"], row["self"]) for row in json.loads(result.stdout)["functions"]
                if row["module"] == module]

    def leaves(self, capture, name):
        """Returns the ELF addresses of the innermost user code in a file, and how often each was
        hit by samples without kernel frames."""
        read = syscap.read(capture)
        file = elf.Elf(self.path(name))
        found = collections.Counter()
        for sample in read.samples:
            for place in read.maps:
                if (sample.user and not sample.kernel and place.path.endswith("/" + name)
                        and place.pid == sample.pid and place.start <= sample.user[0] < place.end):
                    found[file.fo_to_ea(sample.user[0] - place.start + place.offset)] += 1
                    break
        return file, found

    def test_rows_are_functions(self):
        """Each row of a stripped program is one FDE, with all samples there, and has its start for a
        name. Only entries of the PLT have names of their own."""
        capture = self.record("rows.syscap", "--", self.path("stripped"))
        file, leaves = self.leaves(capture, "stripped")
        expected = collections.Counter()
        for address, count in leaves.items():
            if any(s.name.startswith(".plt") and s.ea <= address < s.ea + s.size
                   for s in file.sections):
                continue
            fde = file.fde(address)
            expected[f"stripped+{address if fde is None else fde.start:#x}"] += count
        self.assertGreaterEqual(len(expected), 2)
        self.assertGreater(sum(expected.values()), 20)
        rows = self.rows(capture, "stripped")
        self.assertEqual({name: n for name, n in rows if n > 0 and not name.endswith("@plt")},
                         dict(expected))
        self.assertEqual(len({name for name, _ in rows}), len(rows))

    def test_a_name_twice(self):
        """Two static functions of one name are two rows, also in a capture without its program."""
        capture = self.record("twice.syscap", "--", self.path("whole"))
        file, leaves = self.leaves(capture, "whole")
        expected = collections.Counter()
        for address, count in leaves.items():
            symbol = file.symbol_at(address)
            if symbol is not None and symbol.name == "init":
                expected[symbol.ea] += count
        self.assertEqual(len(expected), 2)
        for is_there in (True, False):
            rows = [n for name, n in self.rows(capture, "whole") if name == "init"]
            self.assertEqual(sorted(rows), sorted(expected.values()))
            if is_there:
                os.rename(self.path("whole"), self.path("moved"))
                self.addCleanup(os.rename, self.path("moved"), self.path("whole"))

    def test_as_an_argument(self):
        """The name of a place is one of a function."""
        capture = self.record("argument.syscap", "--", self.path("stripped"))
        name, hits = max(self.rows(capture, "stripped"), key=lambda row: row[1])
        result = self.run_it("report", "--function", name, capture)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(f"{name}: total ", result.stdout)
        result = self.run_it("report", "--json", "--contains", name, capture)
        self.assertGreaterEqual(json.loads(result.stdout)["samples"], hits)

    def test_a_part_of_a_name(self):
        """An exact name wins; a part of one name will do; several are listed with their shares."""
        capture = self.record("part.syscap", "--", self.path("whole"))

        def function(text):
            result = self.run_it("report", "--function", text, capture)
            self.assertEqual(result.returncode, 0, result.stderr)
            return result.stdout

        self.assertIn("\nmain: total ", function("main"))  # not __libc_start_main
        self.assertIn("\nsecond: total ", function("ECON"))
        text = function("S")
        self.assertIn("\nFunctions with \"S\" in their names\n", text)
        for name in ("_start", "first", "second"):
            self.assertRegex(text, rf"(?m)^ +\d+ +[\d.]+ % +\d+ +[\d.]+ %  {name} ")
        self.assertNotIn("\nCallers\n", text)
        self.assertEqual(self.run_it("report", "--function", "nothing", capture).returncode, 125)

    def test_formats(self):
        """Places name the functions in all formats that have names, as text of their own."""
        suffixes = ["folded", "html", "json.gz", "speedscope.json"] + ["pb.gz"] * HAS_PPROF
        outputs = [word for suffix in suffixes for word in ("-o", "out." + suffix)]
        capture = self.record("formats.syscap", *outputs, "--", self.path("stripped"))
        names = [name for name, n in self.rows(capture, "stripped") if n > 0]
        for suffix in suffixes:
            with open(self.path("out." + suffix), "rb") as file:
                data = file.read()
            data = gzip.decompress(data) if suffix.endswith("gz") else data
            self.assertNotIn(b"(no symbol)", data, suffix)
            for name in names:
                self.assertIn(name.encode(), data, suffix)
        self.assertNotIn("(no symbol)", self.run_it("report", "--tree", "--min", "0", capture).stdout)

    def test_what_stays_private(self):
        """--no-symbols leaves places out of the capture; --redact keeps them, as it keeps paths."""
        for option, has_table in (("--no-symbols", False), ("--redact", True)):
            capture = self.record("private.syscap", option, "--", self.path("stripped"))
            table = syscap.read(capture).files.get("__symbols__", b"")
            self.assertEqual(b"stripped+0x" in table, has_table, option)
            names = self.rows(capture, "stripped")
            self.assertTrue(any(n > 10 for _, n in names), names)

    def test_collect(self):
        """The files of a recording, by build-id."""
        capture = self.record("collect.syscap", "--", self.path("whole"))
        result = self.run_it("debuginfo", "collect", capture, "tree")
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(self.path("whole"), "rb") as file:
            program = file.read()
        build_id = elf.Elf(self.path("whole")).build_id
        if isinstance(build_id, bytes):
            build_id = build_id.hex()
        copy = self.path(f"tree/.build-id/{build_id[:2]}/{build_id[2:]}")
        with open(copy, "rb") as file:
            self.assertEqual(file.read(), program)
        found = os.listdir(self.path("tree/.build-id"))
        self.assertEqual([name for name in found if not os.listdir(self.path("tree/.build-id/" + name))], [])
        self.assertEqual(self.run_it("debuginfo", "collect", capture, "tree").returncode, 0)

        self.assertEqual(self.run_it("debuginfo", "collect", "nothing", "tree").returncode, 125)
        self.assertEqual(self.run_it("debuginfo", "collect", capture).returncode, 125)
        self.assertEqual(self.run_it("debuginfo", "collect", capture, capture).returncode, 125)


SHORT = """
#include <algorithm>
#include <ctime>
#include <vector>
volatile unsigned sink;
__attribute__ ((noinline)) void spin (int n) { for (int i = 0; i < n; i++) sink += i; }
__attribute__ ((noinline)) void spin (double n) { for (int i = 0; i < n; i++) sink += 2 * i; }
template <typename T> __attribute__ ((noinline)) unsigned
sum (const std::vector<T> &all) { unsigned n = 0; for (T one : all) { sink += one; n += one; } return n; }
__attribute__ ((noinline, optimize ("O0"))) void nest (int depth) { if (depth > 0) nest (depth - 1); else spin (40000); }
int
main ()
{
  timespec now;
  std::vector<int> all (20000, 1);
  do
    {
      spin (20000);
      spin (20000.0);
      nest (6);
      sink += sum (all);
      clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &now);
    }
  while (now.tv_nsec < 600000000);
}
"""
FULL = {"spin(int)", "spin(double)", "unsigned int sum<int>(std::vector<int, std::allocator<int> > const&)"}


class ShortNames(Recorded):
    """Names of C++ are short where they are shown; recordings have the full ones."""

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp(prefix="names-")
        cls.addClassCleanup(shutil.rmtree, cls.directory, True)
        compiler = os.environ.get("CXX", "g++").split()
        with open(cls.path("short.cc"), "w", encoding="utf-8") as out:
            out.write(SHORT)
        if shutil.which(compiler[0]) is None:
            raise unittest.SkipTest("no compiler of C++")
        built = subprocess.run([*compiler, "-O2", "-o", cls.path("short"), cls.path("short.cc")],
                               check=False, capture_output=True, text=True)
        if built.returncode != 0:
            raise unittest.SkipTest(built.stderr)

    def setUp(self):
        self.capture = self.record("short.syscap", "--", self.path("short"))

    def report(self, *arguments):
        result = self.run_it("report", *arguments, self.capture)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def test_rows(self):
        rows = [row for row in json.loads(self.report("--json"))["functions"]
                if row["module"] == "short"]
        if not any("full_name" in row for row in rows):
            self.skipTest("built without a demangler")
        self.assertEqual(sorted(row["name"] for row in rows if row["name"] in ("spin", "sum<int>")),
                         ["spin", "spin", "sum<int>"])
        self.assertEqual({row.get("full_name") for row in rows} & FULL, FULL)
        whole = json.loads(self.report("--json", "--full-names"))["functions"]
        self.assertEqual({row["name"] for row in whole} & FULL, FULL)

        text = self.report("--function", "spin")
        self.assertIn("spin(int)", text)
        self.assertIn("spin(double)", text)
        self.assertIn("Callers", self.report("--function", "spin(double)"))
        self.assertNotIn("nest", self.report("--function", "spin(double)"))

        tree = self.report("--tree", "--fold-recursion", "--min", "0.1")
        self.assertEqual(tree.count("nest ×7"), 1, tree)
        self.assertEqual(tree.count("nest"), 1, tree)

    def test_formats(self):
        if "spin(int)" in self.report():
            self.skipTest("built without a demangler")
        for arguments, name in ([], ";spin "), (["--full-names"], ";spin(int) "):
            result = self.run_it("convert", "-f", *arguments, self.capture, "short.folded")
            self.assertEqual(result.returncode, 0, result.stderr)
            with open(self.path("short.folded"), encoding="utf-8") as file:
                self.assertIn(name, file.read())
        self.record("direct.folded", "--full-names", "--", self.path("short"))
        with open(self.path("direct.folded"), encoding="utf-8") as file:
            self.assertIn(";spin(int) ", file.read())
        result = self.run_it("convert", "-f", self.capture, "short.html")
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(self.path("short.html"), encoding="utf-8") as file:
            page = file.read()
        self.assertIn('"spin"', page)
        self.assertIn('"spin(int)"', page)
        changes = self.run_it("diff", "--json", self.capture, self.capture)
        self.assertEqual({row.get("full_name") for row in json.loads(changes.stdout)["functions"]} & FULL,
                         FULL)


GENERATED = """
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
__attribute__ ((noinline)) static void spin (volatile unsigned *n) { while (*n > 0) --*n; }
int
main (int argc, char **argv)
{
  struct timespec now;
  char name[64];
  void *code = mmap (NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memcpy (code, (void *) spin, 256);
  __builtin___clear_cache ((char *) code, (char *) code + 256);
  if (argc > 1)
    {
      snprintf (name, sizeof name, "/tmp/perf-%d.map", getpid ());
      FILE *map = fopen (name, "w");
      fprintf (map, "%lx 100 spin\\n", (unsigned long) code);
      fclose (map);
    }
  do
    {
      volatile unsigned n = 100000;
      ((void (*) (volatile unsigned *)) code) (&n);
      clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &now);
    }
  while (now.tv_nsec < 400000000);
  printf ("%d\\n", getpid ());
}
"""
INTERPRETER = """
#include <stdio.h>
#include <time.h>
#include <unistd.h>
void
_PyEval_EvalFrameDefault (void)
{
  while (clock () < CLOCKS_PER_SEC * 4 / 10)
    ;
}
int
main (void)
{
  _PyEval_EvalFrameDefault ();
  printf ("%d\\n", getpid ());
}
"""


class Hints(Recorded):
    """A report says how a runtime can be made to name its functions, if that is needed, and so does the
    summary where code is generated."""

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp(prefix="names-")
        cls.addClassCleanup(shutil.rmtree, cls.directory, True)
        for program, text in (("java", GENERATED), ("python3.12", INTERPRETER)):
            with open(cls.path("source.c"), "w", encoding="utf-8") as out:
                out.write(text)
            built = subprocess.run([*COMPILER, "-O2", "-fno-inline", "-o", cls.path(program),
                                    cls.path("source.c")], check=False, capture_output=True, text=True)
            if built.returncode != 0:
                raise unittest.SkipTest(built.stderr)
        shutil.copy(cls.path("java"), cls.path("other"))
        shutil.copy(cls.path("java"), cls.path("postgres"))
        shutil.copy(cls.path("python3.12"), cls.path("python3.11"))

    def first_lines(self, program, *arguments):
        result = self.run_it("-f", "-o", "hint.syscap", "--", self.path(program), *arguments)
        if result.returncode == 125 and os.geteuid() != 0:
            self.skipTest(result.stderr.strip())
        self.assertEqual(result.returncode, 0, result.stderr)
        pid = result.stdout.strip()
        self.addCleanup(lambda: os.path.exists(f"/tmp/perf-{pid}.map") and os.remove(f"/tmp/perf-{pid}.map"))
        report = self.run_it("report", "hint.syscap")
        self.assertEqual(report.returncode, 0, report.stderr)
        if not program.startswith("python"):
            self.assertEqual("lack names" in result.stderr, "lack names" in report.stdout, result.stderr)
        return pid, report.stdout

    def test_hints(self):
        pid, text = self.first_lines("java")
        self.assertRegex(text, rf"java: .*-XX:\+PreserveFramePointer.* jcmd {pid} Compiler.perfmap\n")
        self.assertNotIn("lack names", self.first_lines("java", "named")[1])
        self.assertIn("postgres: set jit_profiling_support = on", self.first_lines("postgres")[1])
        self.assertNotIn("lack names", self.first_lines("other")[1])

    def test_hints_for_python(self):
        self.assertIn("python3.12: record as root", self.first_lines("python3.12")[1])
        self.assertIn("python3.11: record as root", self.first_lines("python3.11")[1])


# Threads that name themselves twice, not at all, and one that is made by a thread with a name of its
# own, which no terminal should see as it is.
THREADS = """
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <time.h>
volatile unsigned sink;
static pthread_barrier_t all;
static volatile int may_end;
static void burn (void) {
  struct timespec now;
  do
    {
      for (unsigned i = 0; i < 20000; i++)
        sink += i;
      clock_gettime (CLOCK_THREAD_CPUTIME_ID, &now);
    }
  while (!may_end || (now.tv_sec == 0 && now.tv_nsec < 200000000));
}
static void *plain (void *unused) {
  pthread_barrier_wait (&all);
  burn ();
  return NULL;
}
static void *renamed (void *name) {
  pthread_setname_np (pthread_self (), "draft");
  pthread_setname_np (pthread_self (), name);
  return plain (NULL);
}
static void *parent (void *name) {
  pthread_t child;
  pthread_setname_np (pthread_self (), name);
  pthread_create (&child, NULL, plain, NULL);
  pthread_join (child, NULL);
  return NULL;
}
int main (void) {
  pthread_t threads[3];
  pthread_barrier_init (&all, NULL, 4);
  pthread_create (&threads[0], NULL, renamed, "reader");
  pthread_create (&threads[1], NULL, plain, NULL);
  pthread_create (&threads[2], NULL, parent, "red\\033[31m;\\377");
  puts ("ready");
  fflush (stdout);
  getchar ();
  pthread_barrier_wait (&all);
  getchar ();
  may_end = 1;
  for (int i = 0; i < 3; i++)
    pthread_join (threads[i], NULL);
}
"""


class Threads(Recorded):
    """Threads have their names everywhere."""

    NAMES = ["reader", "red?[31m;", "threads"]

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp(prefix="names-")
        cls.addClassCleanup(shutil.rmtree, cls.directory, True)
        with open(cls.path("threads.c"), "w", encoding="utf-8") as out:
            out.write(THREADS)
        subprocess.run([*COMPILER, "-O2", "-pthread", "-o", cls.path("threads"), cls.path("threads.c")],
                       check=True)

    def names(self, capture):
        result = self.run_it("report", "--json", capture)
        self.assertEqual(result.returncode, 0, result.stderr)
        return sorted({thread["name"].rstrip("?\ufffd") for thread in json.loads(result.stdout)["threads"]
                       if thread["samples"] >= 40})

    def convert(self, name, *options):
        result = self.run_it("convert", "-f", *options, "threads.syscap", name)
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(self.path(name), "rb") as file:
            return file.read()

    def test_new_threads(self):
        capture = self.record("threads.syscap", "--", self.path("threads"))
        self.assertEqual(self.names(capture), self.NAMES)
        table = self.run_it("report", "--threads", capture).stdout
        self.assertRegex(table, r"% +\d+ +\d+  reader +\S*/threads\n")
        self.assertRegex(self.run_it("report", "--threads", "--tree", capture).stdout, "%   reader\n")

        folded = self.convert("t.folded", "--threads").decode()
        self.assertIn("threads;reader;", folded)
        self.assertRegex(folded, r"threads;red\?\[31m:.;")
        self.assertNotIn("reader", self.convert("t.folded").decode())
        self.assertIn(b'"reader"', self.convert("t.html", "--threads"))
        self.assertIn(b'"name":"threads: reader (', self.convert("t.speedscope.json"))
        fox = json.loads(gzip.decompress(self.convert("t.json.gz")))
        self.assertIn(("reader", "threads"), {(t["name"], t["processName"]) for t in fox["threads"]})
        if HAS_PPROF:
            self.assertIn(b"reader", gzip.decompress(self.convert("t.pb.gz")))

        self.convert("t.perf.data")
        self.assertEqual(self.names("t.perf.data"), self.NAMES)
        self.convert("redacted.syscap", "--redact")
        self.assertEqual(self.names("redacted.syscap"), ["threads"])
        self.record("redacted.syscap", "--redact", "--", self.path("threads"))
        self.assertEqual(self.names("redacted.syscap"), ["threads"])

    def has_both(self, capture):
        with open(capture, "rb") as file:
            contents = file.read()
        return b" reader\0" in contents and b" red?[31m;" in contents

    def record_running(self, target):
        """Lets the target go on when it is recorded, and end when all names are in the capture: a
        thread is asked for its name when it is sampled, and may have ended by then."""
        capture = self.path("old.syscap")
        with subprocess.Popen([PROGRAM, "-q", "-o", capture, "-p", str(target.pid)], text=True,
                              stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as recorder:
            while recorder.poll() is None and not (os.path.exists(capture) and os.path.getsize(capture) >= 256):
                time.sleep(0.01)
            target.stdin.write("\n")
            target.stdin.flush()
            end = time.monotonic() + 60
            while recorder.poll() is None and time.monotonic() < end and not self.has_both(capture):
                time.sleep(0.1)
            target.communicate("\n", timeout=60)
            error = recorder.communicate(timeout=60)[1]
        if recorder.returncode == 125 and os.geteuid() != 0:
            self.skipTest(error)
        self.assertEqual(recorder.returncode, 0, error)

    def test_running_threads(self):
        with subprocess.Popen([self.path("threads")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True) as target:
            try:
                self.assertEqual(target.stdout.readline(), "ready\n")
                self.record_running(target)
            finally:
                target.kill()
        self.assertEqual(self.names("old.syscap"), self.NAMES)


class MissingDebugFiles(Recorded):
    """The report says how to get names for a program of the system."""

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp(prefix="names-")
        cls.addClassCleanup(shutil.rmtree, cls.directory, True)
        with open(cls.path("lines"), "w", encoding="utf-8") as out:
            out.writelines(f"{i * 7919 % 1000003}\n" for i in range(400000))

    def report(self, program):
        capture = self.record("sort.syscap", "--", program, self.path("lines"), "-o", "/dev/null")
        advice = json.loads(self.run_it("report", "--json", capture).stdout)["missing_debug_files"]
        return advice, self.run_it("report", capture).stdout

    def test_package(self):
        program = shutil.which("sort")
        owner = subprocess.run(["dpkg", "-S", program], capture_output=True, text=True, check=False) \
            if shutil.which("dpkg") else None
        if owner is None or owner.returncode != 0 or os.path.islink(program):
            self.skipTest("sort belongs to no package of dpkg")
        if not elf.Elf(program).build_id or self.has_names(program):
            self.skipTest("sort has names, or no build-id")
        package = owner.stdout.split(":")[0] + "-dbgsym"
        advice, text = self.report(program)
        self.assertIn(os.path.realpath(program), [file["file"] for file in advice["files"]])
        self.assertRegex(advice["command"], f"^apt install (.* )?{package}( |$)")
        self.assertIn("This gives them names: " + advice["command"], text)

        # A program of no package, which can be had nowhere.
        shutil.copy(program, self.path("sort"))
        advice, text = self.report(self.path("sort"))
        self.assertNotIn(self.path("sort"), [file["file"] for file in advice["files"]])

    def has_names(self, program):
        capture = self.record("names.syscap", "--", program, self.path("lines"), "-o", "/dev/null")
        names = json.loads(self.run_it("report", "--json", capture).stdout)["functions"]
        return not any(row["name"].startswith("sort+0x") for row in names)


if __name__ == "__main__":
    unittest.main()
