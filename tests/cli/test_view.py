#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""test_view.py - names in recordings, and what is made of them: outputs, reports.

    test_view.py LIVE_UNWINDER [-v] [TEST…]

Everything is checked from outside. Tests that need root, the permission to sample or another program
skip with the reason.
"""

import collections
import ctypes
import glob
import gzip
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import unittest

import outputs

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "judge"))
import syscap  # noqa: E402  (needs the path above)

PROGRAM = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else None
HAS_PPROF = os.environ.get("LU_HAS_PPROF", "1") == "1"
COMPILER = os.environ.get("CC", "cc").split()
CLONE_NEWUTS = 0x04000000
# A real name may be as short as "vm", which numbers contain by chance.
MACHINE = "a-secret-machine"

NESTED = """
#include <time.h>
volatile unsigned sink;
#define LEVEL(name, next) __attribute__ ((noinline, noclone)) static void \
  name (unsigned n) { next (n); sink++; }
__attribute__ ((noinline, noclone)) static void
busy_leaf (unsigned n) { for (unsigned i = 0; i < n; i++) sink += i; }
LEVEL (third_level, busy_leaf)
LEVEL (second_level, third_level)
LEVEL (first_level, second_level)
int
main (int argc, char **argv)
{
  struct timespec now;
  long seconds = argc > 1 ? argc : 1;
  do
    {
      first_level (20000);
      clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &now);
    }
  while (now.tv_sec < seconds && !(argc == 1 && now.tv_nsec > 400000000));
}
"""

# The hot loop is in a function that is inlined at two levels.
INLINED = """
#include <time.h>
volatile unsigned sink;
#define INLINED static inline __attribute__ ((always_inline)) void
#define REAL __attribute__ ((noinline, noclone)) void
INLINED inner_part (unsigned n) {
  for (unsigned i = 0; i < n; i++)
    sink += i; /* hot */
}
INLINED middle_part (unsigned n) {
  inner_part (n); /* calls inner */
  sink++;
}
REAL outer_part (unsigned n) {
  middle_part (n); /* calls middle */
  sink++;
}
int main (void) {
  struct timespec now;
  do
    {
      outer_part (20000); /* calls outer */
      clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &now);
    }
  while (now.tv_nsec < 400000000);
}
"""

SCRIPT = """
"use strict";
function level9(n) { let sum = 0; for (let i = 0; i < n; i++) sum += Math.sqrt(i * n); return sum; }
%s
const end = Date.now() + 1500;
let total = 0;
while (Date.now() < end) total += level0(20000);
console.log(total > 0);
""" % "\n".join(f"function level{i}(n) {{ return level{i + 1}(n) + {i}; }}" for i in range(8, -1, -1))


def name_the_machine():
    """Gives the process that is about to be executed a name of the machine of its own."""
    if ctypes.CDLL(None).unshare(CLONE_NEWUTS) == 0:
        socket.sethostname(MACHINE)


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp(prefix="view-")
        cls.addClassCleanup(shutil.rmtree, cls.directory, True)

    def path(self, name):
        return os.path.join(self.directory, name)

    def run_it(self, *arguments, timeout=60, **options):
        return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True,
                              timeout=timeout, cwd=self.directory, stdin=subprocess.DEVNULL,
                              **options)

    def run_well(self, *arguments, **options):
        result = self.run_it(*arguments, **options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def build_nested(self, name="nested"):
        source = self.path(name + ".c")
        with open(source, "w", encoding="utf-8") as out:
            out.write(NESTED)
        program = self.path(name)
        result = subprocess.run([*COMPILER, "-O2", "-o", program, source], check=False,
                                capture_output=True, text=True)
        if result.returncode != 0:
            self.skipTest("no compiler: " + result.stderr)
        return program

    def record(self, file, *arguments, **options):
        """Records, or skips where sampling is not allowed."""
        result = self.run_it("-q", "-f", "-o", self.path(file), *arguments, **options)
        if result.returncode == 125 and os.geteuid() != 0:
            self.skipTest(result.stderr.strip())
        self.assertEqual(result.returncode, 0, result.stderr)
        return self.path(file)

    def functions(self, capture, limit=10000):
        """Returns name -> (self, total), from the text of the report."""
        text = self.run_well("report", "-n", str(limit), capture).stdout
        found = {}
        for line in text.splitlines():
            match = re.match(r"\s*(\d+)\s+[\d.]+ %\s+(\d+)\s+[\d.]+ %  (.*?)\s{2,}\S*$", line)
            if match:
                found[match[3]] = (int(match[1]), int(match[2]))
        return found


class Symbols(Case):
    LEVELS = ("busy_leaf", "third_level", "second_level", "first_level", "main")

    def test_names_outlive_the_program(self):
        program = self.build_nested()
        capture = self.record("a.syscap", "--", program)
        before = self.functions(capture)
        os.unlink(program)
        after = self.functions(capture)
        self.assertEqual(before, after)
        for level in self.LEVELS:
            self.assertIn(level, after)
        self.assertGreater(after["busy_leaf"][0], 100)

    def test_no_symbols(self):
        program = self.build_nested()
        capture = self.record("b.syscap", "--no-symbols", "--", program)
        self.assertIn("busy_leaf", self.functions(capture))
        os.unlink(program)
        self.assertNotIn("busy_leaf", self.functions(capture))

    def test_the_table_in_the_capture(self):
        """Names are sorted and do not overlap, as Sysprof requires; for the kernel and each
        process."""
        capture = self.record("c.syscap", "--", "sh", "-c", f"{self.build_nested()}; ls / >/dev/null")
        data = b"".join(chunk for path, chunk in files_of(capture) if path == "__symbols__")
        records, last = 0, (0, 0)
        while data[records * 32:records * 32 + 32] != bytes(32):
            begin, end = (int.from_bytes(data[records * 32 + i:records * 32 + i + 8], "little")
                          for i in (0, 8))
            pid, name = (int.from_bytes(data[records * 32 + i:records * 32 + i + 4], "little")
                         for i in (16, 20))
            self.assertGreaterEqual((pid, begin), last)
            self.assertLess(begin, end)
            self.assertGreater(data.index(b"\0", name), name)
            last = (pid, end)
            records += 1
        self.assertGreater(records, 5)
        self.assertGreater(len(data), (records + 1) * 32)

    def test_redacted(self):
        """Names stay; arguments, the machine and the kernel's addresses are removed."""
        secret = "a-secret-argument"
        command = ["sh", "-c", f": {secret}; {self.build_nested()} {secret} | cat; ls -lR /proc/self >/dev/null"]
        capture = self.record("e.syscap", "--redact", "--", *command, preexec_fn=name_the_machine)
        with open(capture, "rb") as file:
            content = file.read()
        for text in (secret, MACHINE):
            self.assertNotIn(text.encode(), content)
        found = self.functions(capture)
        for level in self.LEVELS:
            self.assertIn(level, found)
        with open("/proc/kallsyms", encoding="ascii") as file:
            real = {name: int(address, 16) for address, _, name in
                    (line.split()[:3] for line in file)}
        lines = b"".join(chunk for path, chunk in files_of(capture) if path == "/proc/kallsyms")
        self.assertEqual(self.functions(capture).keys() & {"do_syscall_64"},
                         {"do_syscall_64"} if lines else set())
        for line in lines.decode().splitlines():
            address, _, name = line.split()[:3]
            self.assertTrue(name == "_end" or int(address, 16) != real.get(name) or not real[name], line)
        for sample in syscap.read(capture).samples:
            self.assertTrue(all(address < 1 << 63 or address >= 0xffffffff80fff000
                                or address >> 32 == 0xe0000000 for address in sample.addresses))

    @unittest.skipUnless(shutil.which("node"), "node is not installed")
    def test_generated_code(self):
        """Ten nested functions of JavaScript: nearly all stacks have all names and the root."""
        script = self.path("script.js")
        with open(script, "w", encoding="utf-8") as out:
            out.write(SCRIPT)
        file = self.record("d.folded", "--", "node", "--perf-basic-prof",
                           "--interpreted-frames-native-stack", "--no-turbo-inlining",
                           "--max-inlined-bytecode-size=0", script)
        stacks = whole = 0
        with open(file, encoding="utf-8") as lines:
            for stack, count in (line.rsplit(" ", 1) for line in lines):
                if not re.search(r"\blevel9\b", stack):
                    continue
                stacks += int(count)
                if re.search(";_start;.*" + ".*".join(rf"\blevel{i}\b" for i in range(10)), stack):
                    whole += int(count)
        self.assertGreater(stacks, 100)
        self.assertGreaterEqual(whole / stacks, 0.99)


class Completion(Case):
    """Returns bash's completions of a line."""

    FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../data/completions/live-unwinder")

    def complete(self, *words):
        script = ('source "$1"; COMP_WORDS=("${@:2}"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); '
                  'compopt () { :; }; _live_unwinder "$2"; printf "%s\\n" "${COMPREPLY[@]}"')
        result = subprocess.run(["bash", "-c", script, "bash", self.FILE, PROGRAM, *words],
                                capture_output=True, text=True, check=True)
        self.assertEqual(result.stderr, "")
        return result.stdout.split()

    def test_options(self):
        offered = self.complete("--")
        for option in ("--pid", "--output", "--redact", "--no-symbols"):
            self.assertIn(option, offered)
        self.assertEqual(self.complete("--out"), ["--output"])
        self.assertIn("--tree", self.complete("report", "--"))
        self.assertNotIn("--tree", self.complete("--"))
        self.assertEqual(self.complete("convert", "--fo"), ["--fold-recursion", "--force", "--format"])
        self.assertEqual(self.complete("convert", "--re"), ["--redact"])

    def test_words(self):
        self.assertEqual(self.complete("re"), ["report"])
        self.assertEqual(self.complete("convert", "--format", "f"), ["folded", "firefox"])
        self.assertEqual(self.complete("convert", "--format", "sy"), ["syscap"])
        self.assertEqual(self.complete("--stats", "j"), ["json"])
        self.assertIn(str(os.getpid()), self.complete("-p", str(os.getpid())))
        self.assertIn("dwfl", self.complete("--engine", ""))
        self.assertEqual(self.complete("--", "re"), [])
        self.assertEqual(self.complete("--stats", "=", "j"), ["json"])
        self.assertIn("dwfl", self.complete("--engine", "="))

    def test_files(self):
        """Completes recordings, by their endings, where one is read."""
        with tempfile.TemporaryDirectory() as directory:
            for name in ("a.syscap", "b.txt", "perf.data"):
                open(os.path.join(directory, name), "w", encoding="utf-8").close()
            wanted = [os.path.join(directory, name) for name in ("a.syscap", "perf.data")]
            for words in (["report"], ["diff"], ["diff", "x"], ["convert"], ["--input"],
                          ["report", "--tree"]):
                self.assertEqual(self.complete(*words, directory + "/"), wanted, words)
            self.assertEqual(self.complete("report", "--limit", directory + "/"), [])


class Convert(Case):
    """One recording has the same samples and the same hottest function in every format."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.capture = None

    def setUp(self):
        if Convert.capture is None:
            program = self.build_nested()
            names = ["all.folded", "all.html", "all.pb.gz", "all.json.gz", "all.speedscope.json",
                     "all.perf.data", "all.callgrind", "all.pftrace"]
            others = [word for name in names if self.can_write(name) for word in ("-o", name)]
            Convert.capture = self.record("all.syscap", *others, "--", program)
            Convert.functions_of_capture = self.functions(self.capture)
            Convert.samples = len(syscap.read(self.capture).samples)

    def can_write(self, name):
        """A build without protobuf-c has neither pprof nor Perfetto, and treats the names as a capture's."""
        return not name.endswith((".pb.gz", ".pftrace")) or HAS_PPROF

    def convert(self, name):
        self.run_well("convert", "--force", self.capture, self.path("again." + name))
        with open(self.path("again." + name), "rb") as file:
            again = file.read()
        with open(self.path("all." + name), "rb") as file:
            while_recording = file.read()
        return again, while_recording

    def check(self, selves):
        """selves: name -> samples at the leaf."""
        self.assertEqual(sum(selves.values()), self.samples)
        self.assertEqual(max(selves, key=selves.get), "busy_leaf")
        self.assertEqual(selves["busy_leaf"], self.functions_of_capture["busy_leaf"][0])

    def test_folded(self):
        for data in self.convert("folded"):
            selves = collections.Counter()
            for line in data.decode().splitlines():
                stack, count = line.rsplit(" ", 1)
                selves[stack.split(";")[-1]] += int(count)
                if stack.endswith("busy_leaf"):
                    self.assertRegex(stack, "^nested;.*;main;first_level;second_level;third_level;")
            self.check(selves)

    def test_flame_graph(self):
        for data in self.convert("html"):
            text = data.decode()
            self.assertIsNone(re.search(r"@[A-Z]+@|(src|href)\s*=\s*[\"']|https?://", text))
            graph, selves = outputs.page_data(data), collections.Counter()
            for node, count in outputs.page_samples(graph):
                selves[graph["names"][graph["nodes"][2 * node - 1]] if node > 0 else ""] += count
            self.check(selves)
            self.assertEqual(len(graph["samples"]), 3 * graph["n_samples"])
            self.assertEqual(graph["rest"], [])
            for node, parent in enumerate(outputs.page_parents(graph)[1:], 1):
                self.assertLess(parent, node)

    def test_speedscope(self):
        for data in self.convert("speedscope.json"):
            profile = json.loads(data)
            names = [frame["name"] for frame in profile["shared"]["frames"]]
            selves = collections.Counter()
            for thread in profile["profiles"]:
                self.assertEqual(thread["unit"], "nanoseconds")
                self.assertEqual(len(thread["samples"]), len(thread["weights"]))
                self.assertEqual(thread["endValue"], sum(thread["weights"]))
                for stack, weight in zip(thread["samples"], thread["weights"]):
                    selves[names[stack[-1]]] += round(weight * 999 / 1e9)
            self.check(selves)

    def test_firefox(self):
        for data in self.convert("json.gz"):
            profile = json.loads(gzip.decompress(data))
            self.assertEqual(profile["meta"]["preprocessedProfileVersion"], 49)
            selves = collections.Counter()
            for thread in profile["threads"]:
                for table in ("samples", "stackTable", "frameTable", "funcTable", "resourceTable"):
                    for name, column in thread[table].items():
                        if isinstance(column, list):
                            self.assertEqual(len(column), thread[table]["length"], (table, name))
                for number, prefix in enumerate(thread["stackTable"]["prefix"]):
                    self.assertTrue(prefix is None or prefix < number)
                self.assertEqual(thread["samples"]["time"], sorted(thread["samples"]["time"]))
                for stack in thread["samples"]["stack"]:
                    selves[firefox_stack(thread, stack)[0][0]] += 1
            self.check(selves)

    def test_two_events(self):
        """A file of perf with two events keeps both apart."""
        data = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../unit/input/data/two-events.perf")
        wanted = {"cpu-clock": 7, "task-clock": 7}

        def convert(name, source=data):
            self.run_well("convert", "--force", source, self.path("two." + name))
            with open(self.path("two." + name), "rb") as file:
                return file.read()

        def of_folded(source=data):
            found = collections.Counter()
            for line in convert("folded", source).decode().splitlines():
                found[line.split(";")[0]] += int(line.rsplit(" ", 1)[1])
            return found

        self.assertEqual(of_folded(), wanted)
        convert("perf.data")
        self.assertEqual(of_folded(self.path("two.perf.data")), wanted)
        convert("syscap")
        self.run_well("convert", "--redact", self.path("two.syscap"), self.path("redacted.syscap"))
        self.assertEqual(of_folded(self.path("redacted.syscap")), wanted)
        for profile, event in zip(json.loads(convert("speedscope.json"))["profiles"], wanted, strict=True):
            self.assertRegex(profile["name"], f"^perl [(]{event}[)] ")
            self.assertEqual((profile["unit"], sum(profile["weights"])), ("nanoseconds", 7 * 3344481))
        for thread, event in zip(json.loads(gzip.decompress(convert("json.gz")))["threads"], wanted, strict=True):
            self.assertEqual((thread["name"], thread["samples"]["length"]), (f"perl ({event})", 7))
        page = outputs.page_data(convert("html"))
        self.assertEqual([name for name, _, _ in page["events"]], list(wanted))
        self.assertEqual(collections.Counter(page["events_of"]), {0: 7, 1: 7})
        self.assertIn("\nsummary: 7 7\n", convert("callgrind").decode())
        if HAS_PPROF:
            trace = Perfetto(convert("pftrace"))
            self.assertEqual(collections.Counter(trace.events[event] for event, _ in trace.weights), {(name, 1): 7 for name in wanted})
            self.assertEqual({weight for _, weight in trace.weights}, {3344481})
            self.assertEqual(pprof_totals(gzip.decompress(convert("pb.gz"))),
                             {"samples/count": 14, "cpu-clock/nanoseconds": 7 * 3344481,
                              "task-clock/nanoseconds": 7 * 3344481})

    def test_callgrind(self):
        for data in self.convert("callgrind"):
            selves, inclusive = callgrind_costs(data.decode())
            self.check(selves)
            for name in ("nested", "main", "first_level", "second_level"):
                self.assertGreaterEqual(inclusive[name], selves["busy_leaf"] * 0.9, name)
            self.assertEqual(inclusive["nested"], self.samples)

    def test_callgrind_annotate(self):
        """Valgrind's own reader has the same totals."""
        if shutil.which("callgrind_annotate") is None:
            self.skipTest("callgrind_annotate is not installed")
        self.convert("callgrind")
        for option, names in ((), ("busy_leaf",)), (("--inclusive=yes",), ("busy_leaf", "third_level", "nested")):
            result = subprocess.run(["callgrind_annotate", "--threshold=100", *option, self.path("again.callgrind")],
                                    capture_output=True, text=True, check=True, timeout=60)
            costs = {match[2]: int(match[1].replace(",", "")) for match in
                     re.finditer(r"^ *([0-9,]+) +(?:[(][^)]*[)])? *[^:\n]*:(\S+)", result.stdout, re.MULTILINE)}
            self.assertRegex(result.stdout, rf"(?m)^ *{self.samples:,} .*PROGRAM TOTALS")
            for name in names:
                self.assertGreaterEqual(costs[name], self.functions_of_capture["busy_leaf"][0], result.stdout)

    @unittest.skipUnless(HAS_PPROF, "built without protobuf-c")
    def test_perfetto(self):
        """Numbers of fields are those of Perfetto v58, protos/perfetto/trace."""
        for data in self.convert("pftrace"):
            trace = Perfetto(data)
            self.check(collections.Counter(stack[-1] if stack else "" for stack in trace.stacks))
            for stack in trace.stacks:
                if stack and stack[-1] == "busy_leaf":
                    self.assertEqual(stack[-5:], ["main", "first_level", "second_level", "third_level", "busy_leaf"])
            self.assertEqual(trace.times, sorted(trace.times))
            self.assertIn("nested", {process[6].decode() for process in trace.processes})
            self.assertEqual({trace.tasks[task][2] for task in trace.task_of_sample} - {process[1] for process in trace.processes}, set())
            self.assertEqual(trace.events, {1: ("cpu-clock", 1)})
            self.assertTrue(any(path.endswith(b"/nested") for path in trace.paths), trace.paths)

    @unittest.skipUnless(HAS_PPROF, "built without protobuf-c")
    def test_perfetto_counters(self):
        """The counters of a capture are tracks."""
        capture = self.record("counters.syscap", "--duration", "3", "--", self.build_nested(), "4")
        self.run_well("convert", "--force", capture, self.path("counters.pftrace"))
        with open(self.path("counters.pftrace"), "rb") as file:
            trace = Perfetto(file.read())
        self.assertLessEqual({"CPU Percent: Combined", "Memory: Used", "live-unwinder: Lost Samples"}, set(trace.counters.values()))
        busy = [value for track, value in trace.values if trace.counters[track] == "CPU Percent: Combined"]
        self.assertGreater(len(busy), 0)
        self.assertTrue(all(0 <= value <= 100 for value in busy), busy)

    def test_no_counters(self):
        for option, wanted in (("--no-counters", False), ("--quiet", True)):
            capture = self.record("c.syscap", option, "--duration", "2", "--", self.build_nested(), "3")
            with open(capture, "rb") as file:
                self.assertEqual(b"CPU Percent" in file.read(), wanted, option)

    @unittest.skipUnless(HAS_PPROF, "built without pprof")
    def test_pprof(self):
        for data in self.convert("pb.gz"):
            self.check(pprof_selves(gzip.decompress(data)))

    @unittest.skipUnless(HAS_PPROF and shutil.which("go"), "go is not installed, or no pprof in the build")
    def test_pprof_in_go(self):
        self.convert("pb.gz")
        result = subprocess.run(["go", "tool", "pprof", "-raw", self.path("again.pb.gz")],
                                capture_output=True, text=True, check=False, cwd=self.directory,
                                env=os.environ | {"HOME": self.directory})
        self.assertEqual(result.returncode, 0, result.stderr)
        total = sum(int(match[1]) for match in
                    re.finditer(r"^ *(\d+) +\d+: [\d ]+$", result.stdout, re.MULTILINE))
        self.assertEqual(total, self.samples)
        shown = [subprocess.run(["go", "tool", "pprof", *options, "-top", self.path("again.pb.gz")],
                                capture_output=True, text=True, check=False, cwd=self.directory,
                                env=os.environ | {"HOME": self.directory}).stdout for options in ([], ["-sample_index=samples"])]
        self.assertIn("\nType: cpu\n", shown[0])
        top = shown[1]
        self.assertRegex(top, r"flat%[^\n]*\n *" + str(self.functions_of_capture["busy_leaf"][0])
                         + r" [^\n]* busy_leaf\n")

    def test_perf_data_features(self):
        """Readers find the event by its id and name, and show where the recording is from."""
        for data in self.convert("perf.data"):
            offset, size, bits = *struct.unpack_from("<QQ", data, 40), *struct.unpack_from("<Q", data, 72)
            self.assertEqual(struct.unpack_from("<QQQ", data, 216), (232, 8, 1))  # ids of the attr; the id
            numbers, texts = [bit for bit in range(64) if bits >> bit & 1], {}
            for i, bit in enumerate(numbers):
                at, length = struct.unpack_from("<QQ", data, offset + size + 16 * i)
                texts[bit] = data[at:at + length]
            self.assertEqual(numbers, [3, 4, 11, 12])
            self.assertEqual(at + length, len(data))
            self.assertEqual(texts[3][4:], os.uname().nodename.encode() + b"\0")
            self.assertIn(b"\0--\0", re.sub(rb"\0[^\0]\0\0\0", b"\0", texts[11]))  # without sizes of words
            self.assertIn(b"cpu-clock\0", texts[12])

    def test_hotspot(self):
        """The parser of hotspot reads our file."""
        parsers = glob.glob("/usr/lib/*/libexec/hotspot-perfparser") + glob.glob("/usr/lib/*/hotspot-perfparser")
        if not parsers:
            self.skipTest("hotspot is not installed")
        self.convert("perf.data")
        result = subprocess.run([parsers[0], "--input", self.path("all.perf.data"), "--output", self.path("hotspot")],
                                capture_output=True, text=True, check=False, timeout=120)
        self.assertNotIn("Unexpected", result.stderr)
        with open(self.path("hotspot"), "rb") as file:
            parsed = file.read()
        for name in (b"cpu-clock", b"busy_leaf", b"nested"):
            self.assertIn(name, parsed)

    @unittest.skipUnless(shutil.which("perf"), "perf is not installed")
    def test_perf_data_names_the_kernel(self):
        """Without this record perf finds no names of kernel functions."""
        with open("/proc/kallsyms", encoding="utf-8") as file:
            if int(file.readline().split()[0], 16) == 0:
                self.skipTest("the kernel's addresses are hidden")
        for data in self.convert("perf.data"):
            self.assertIn(b"[kernel.kallsyms]_text", data)

    def test_perf_data(self):
        self.convert("perf.data")
        for file in ("again.perf.data", "all.perf.data"):
            result = subprocess.run(["perf", "script", "-i", self.path(file), "-F", "comm,ip,sym"],
                                    capture_output=True, text=True, check=False, cwd=self.directory,
                                    env=os.environ | {"HOME": self.directory})
            if "perf not found for kernel" in result.stderr:
                self.skipTest("perf is not installed for this kernel")
            self.assertEqual(result.returncode, 0, result.stderr)
            stacks = [stack for stack in result.stdout.strip().split("\n\n") if stack]
            leaves = collections.Counter()
            for stack in stacks:
                lines = stack.splitlines()
                leaves[lines[1].split()[1] if len(lines) > 1 else "?"] += 1
                if lines[1:] and lines[1].endswith(" busy_leaf"):
                    self.assertEqual([line.split()[1] for line in lines[1:6]],
                                     list(Symbols.LEVELS))
            self.assertEqual(len(stacks), self.samples)
            self.assertEqual(leaves["busy_leaf"], self.functions_of_capture["busy_leaf"][0])

    @unittest.skipUnless(shutil.which("perf"), "perf is not installed")
    def test_from_perf_data(self):
        """A file of perf record is unwound while it is read."""
        program = self.build_nested("other")
        result = subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-F", "499", "--call-graph",
                                 "dwarf,8192", "-o", self.path("in.data"), program],
                                capture_output=True, text=True, check=False)
        if result.returncode != 0:
            self.skipTest("perf record: " + result.stderr.strip())
        self.run_well("convert", self.path("in.data"), self.path("in.folded"))
        with open(self.path("in.folded"), encoding="utf-8") as file:
            self.assertRegex(file.read(), ";main;first_level;second_level;third_level;busy_leaf ")

    @unittest.skipUnless(shutil.which("perf"), "perf is not installed")
    def test_callchains_of_perf(self):
        """Files of perf are read like captures, whichever kind of stack they have: there are as
        many samples as in perf script's output, and the hottest function is the same."""
        program = self.build_nested("third")
        for number, how in enumerate((["-g"], ["--call-graph", "dwarf,8192"], [])):
            data = self.path(f"chains{number}.data")
            result = subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-F", "499", *how, "-o",
                                     data, program], capture_output=True, text=True, check=False)
            if result.returncode != 0:
                self.skipTest("perf record: " + result.stderr.strip())
            script = subprocess.run(["perf", "script", "-G", "-i", data, "-F", "ip,sym"],
                                    capture_output=True, text=True, check=True, cwd=self.directory,
                                    env=os.environ | {"HOME": self.directory}).stdout
            leaves = collections.Counter(line.split()[-1] for line in script.splitlines())
            report = json.loads(self.run_well("report", "--json", data).stdout)
            selves = {function["name"]: function["self"] for function in report["functions"]}
            self.assertEqual(report["samples"], sum(leaves.values()))
            self.assertEqual(max(selves, key=selves.get), leaves.most_common(1)[0][0])
            self.assertEqual(selves["busy_leaf"], leaves["busy_leaf"])
            # a chain does not say whether it is complete
            self.assertEqual(report["user_stacks"] > 0, "dwarf,8192" in how)
            if "dwarf,8192" in how:
                text = self.run_well("report", "--function", "main", data).stdout
                self.assertIn("first_level", text)
            self.run_well("convert", "--format", "folded", "--force", data, self.path("chains.x"))
            with open(self.path("chains.x"), encoding="utf-8") as file:
                counts = [(line.rsplit(" ", 1)[0].split(";")[-1], int(line.rsplit(" ", 1)[1]))
                          for line in file]
            self.assertEqual(sum(count for _, count in counts), report["samples"])
            self.assertEqual(sum(count for name, count in counts if name == "busy_leaf"),
                             selves["busy_leaf"])
        self.run_well("convert", self.path("chains0.data"), self.path("chains.syscap"))
        self.assertEqual(self.functions(self.path("chains.syscap")),
                         self.functions(self.path("chains0.data")))
        self.assertRegex(self.run_well("diff", self.path("chains0.data"), self.path("chains1.data")).stdout,
                         r"A: \d+ samples, B: \d+ samples")

    def test_redact(self):
        """Everything that --redact removes from a capture is in no format: arguments, the machine,
        and the kernel's addresses."""
        secret = "a-secret-argument"
        program = self.build_nested("fourth")
        capture = self.record("secret.syscap", "--", "sh", "-c",
                              f": {secret}; {program} {secret} | cat; ls -lR /proc/self >/dev/null",
                              preexec_fn=name_the_machine)
        with open(capture, "rb") as file:
            content = file.read()
        self.assertIn(secret.encode(), content)
        if os.geteuid() == 0:
            self.assertIn(MACHINE.encode(), content)
        kernel = {address for sample in syscap.read(capture).samples for address in sample.addresses
                  if 1 << 63 <= address < syscap.CONTEXT_MAX and address >> 32 != 0xe0000000}
        names = self.functions(capture)
        for name in ("r.folded", "r.html", "r.pb.gz", "r.json.gz", "r.speedscope.json", "r.perf.data",
                     "r.syscap"):
            if not self.can_write(name):
                continue
            output = self.path(name)
            self.run_well("convert", "--redact", capture, output)
            with open(output, "rb") as file:
                content = file.read()
            if name.endswith(".gz"):
                content = gzip.decompress(content)
            self.assertIn(b"busy_leaf" if "perf" not in name else b"fourth", content)
            self.assertNotIn(secret.encode(), content)
            self.assertNotIn(MACHINE.encode(), content)
            for address in kernel:
                for text in (address.to_bytes(8, "little"), b"%x" % address, b"%d" % address,
                             varint(address)):
                    self.assertNotIn(text, content, name)
        self.assertEqual(self.functions(self.path("r.syscap")), names)
        with open(capture, "rb") as file:
            piped = subprocess.run([PROGRAM, "convert", "--redact", "--format", "syscap", "-",
                                    self.path("piped.syscap")], stdin=file, check=False)
        self.assertEqual(piped.returncode, 0)
        with open(self.path("piped.syscap"), "rb") as one, open(self.path("r.syscap"), "rb") as two:
            self.assertEqual(one.read(), two.read())
        again = self.path("again.syscap")
        self.run_well("convert", "--redact", self.path("r.syscap"), again)
        self.assertEqual(self.functions(again), names)
        self.assertEqual(self.run_it("convert", capture, self.path("same.syscap")).returncode, 125)

    def test_errors(self):
        for arguments, message in ((("convert",), "Usage"), (("convert", self.capture, "x.unknown"), "folded"),
                                   (("convert", "--format", "nonsense", self.capture, "x"), "nonsense"),
                                   (("convert", "/nonexistent", "x.folded"), "No such file"),
                                   (("convert", "/etc/passwd", "x.folded"), "not a Sysprof capture"),
                                   (("convert", self.capture, "all.folded"), "exists"),
                                   (("-o", "a.syscap", "-o", "b.syscap", "--", "true"), "only one")):
            result = self.run_it(*arguments)
            self.assertEqual(result.returncode, 125, arguments)
            self.assertIn(message, result.stderr)

    def test_to_a_pipe(self):
        result = self.run_well("convert", "--format", "folded", self.capture, "-")
        self.assertEqual(sum(int(line.rsplit(" ", 1)[1]) for line in result.stdout.splitlines()),
                         self.samples)


class Report(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.capture = None

    def setUp(self):
        if Report.capture is None:
            program = self.build_nested()
            # A shell that only starts others is not always sampled.
            count = "i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done"
            Report.capture = self.record("r.syscap", "--", "sh", "-c",
                                         f"{count}; {program}; {program} 2; :")
            Report.all = json.loads(self.report("--json"))

    def report(self, *arguments):
        return self.run_well("report", *arguments, self.capture).stdout

    def shares(self, *arguments):
        return json.loads(self.report("--json", *arguments))

    def test_json(self):
        functions = {function["name"]: function for function in self.all["functions"]}
        selves = [function["self"] for function in self.all["functions"]]
        self.assertEqual(sum(selves), self.all["samples"])
        self.assertEqual(selves, sorted(selves, reverse=True))
        self.assertGreaterEqual(functions["main"]["total"], functions["busy_leaf"]["total"])
        self.assertEqual(sum(thread["samples"] for thread in self.all["threads"]),
                         self.all["samples"])
        self.assertGreaterEqual(self.all["user_stacks"], self.all["complete"])

    def test_filters(self):
        busiest = max(self.all["threads"], key=lambda thread: thread["samples"])
        one = self.shares("--pid", str(busiest["pid"]))
        self.assertEqual(one["samples"], busiest["samples"])
        self.assertEqual([thread["pid"] for thread in one["threads"]], [busiest["pid"]])
        self.assertEqual(self.shares("--tid", str(busiest["tid"]))["samples"], busiest["samples"])
        half = self.all["seconds"] / 2
        self.assertEqual(self.shares("--to", str(half))["samples"]
                         + self.shares("--from", str(half))["samples"], self.all["samples"])
        inside = {function["name"]: function for function in self.all["functions"]}["busy_leaf"]
        self.assertEqual(self.shares("--contains", "busy_leaf")["samples"], inside["total"])
        self.assertLess(self.shares("--process", "sh -c")["samples"], busiest["samples"])
        self.assertGreater(self.shares("--module", "nested")["samples"], inside["total"] - 1)
        self.assertEqual(self.shares("--module", "no such file")["samples"], 0)

    def test_tree(self):
        lines = [line for line in self.report("--tree", "--min", "10").splitlines() if "%" in line][1:]
        depth = {}
        for line in lines:
            match = re.match(r"\s*(\d+) +[\d.]+ % +[\d.]+ %  ( *)(\S+)", line)
            depth.setdefault(match[3], len(match[2]))
        self.assertEqual([depth[name] - depth["main"] for name in reversed(Symbols.LEVELS)],
                         [0, 1, 2, 3, 4])

    def test_callers_and_callees(self):
        text = self.report("--function", "second_level")
        self.assertRegex(text, r"(?s)second_level: total \d+.*Callers\n *\d+ +[\d.]+ %  first_level "
                               r".*Callees\n *\d+ +[\d.]+ %  third_level ")
        self.assertEqual(self.run_it("report", "--function", "nothing", self.capture).returncode, 125)

    def test_threads(self):
        text = self.report("--threads")
        for thread in self.all["threads"]:
            self.assertRegex(text, rf"\b{thread['samples']} +[\d.]+ % +{thread['pid']} +{thread['tid']} ")

    def test_whether_it_was_ended(self):
        """The start of a pipe cannot be rewritten, but the end of a recording is stored there."""
        broken = "did not end properly"
        self.assertNotIn(broken, self.report())
        with open(self.path("whole"), "wb") as file:
            file.write(subprocess.run([PROGRAM, "-q", "-o", "-", "--", "true"], check=True,
                                      stdout=subprocess.PIPE, timeout=60).stdout)
        self.assertNotIn(broken, self.run_well("report", self.path("whole")).stdout)
        with open(self.path("whole"), "rb") as file, open(self.path("cut"), "wb") as cut:
            cut.write(file.read()[:300])
        self.assertIn(broken, self.run_well("report", self.path("cut")).stdout)

    def test_from_standard_input(self):
        with open(self.capture, "rb") as file:
            result = subprocess.run([PROGRAM, "report", "--json", "-"], stdin=file, check=True,
                                    capture_output=True, text=True)
        self.assertEqual(json.loads(result.stdout)["functions"], self.all["functions"])

    def test_diff(self):
        self.assertRegex(self.run_well("diff", "-n", "3", self.capture, self.capture).stdout,
                         r"A: (\d+) samples, B: \1 samples\n(?s:.*)\+0\.00 pp")
        short = self.record("short.syscap", "--", "sh", "-c", ": ; :")
        text = self.run_well("diff", short, self.capture).stdout
        self.assertRegex(text.splitlines()[3] + text.splitlines()[4], "busy_leaf")


class Lines(Case):
    """Source lines and inlined functions of a program where both are known."""

    FILE = "inlined.c"
    LINE = {word: number for number, text in enumerate(INLINED.splitlines(), 1)
            for word in re.findall(r"/\* (.*) \*/", text)}
    DEFINED = {name: number for number, text in enumerate(INLINED.splitlines(), 1)
               for name in re.findall(r"^(?:INLINED|REAL) (\w+)", text)}
    CHAIN = [("inner_part", {LINE["hot"] - 1, LINE["hot"]}), ("middle_part", {LINE["calls inner"]}),
             ("outer_part", {LINE["calls middle"]}), ("main", {LINE["calls outer"]})]

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.capture = None

    def setUp(self):
        if Lines.capture is None:
            with open(self.path(self.FILE), "w", encoding="utf-8") as out:
                out.write(INLINED)
            result = subprocess.run([*COMPILER, "-O2", "-g", "-o", "inlined", self.FILE], check=False,
                                    cwd=self.directory, capture_output=True, text=True)
            if result.returncode != 0:
                self.skipTest("no compiler: " + result.stderr)
            Lines.outputs = [f"live.{end}" for end in ("folded", "json.gz", "speedscope.json")
                             + (("pb.gz",) if HAS_PPROF else ())]
            Lines.capture = self.record("l.syscap", "--lines", "--inlines",
                                        *[word for name in self.outputs for word in ("-o", name)],
                                        "--", self.path("inlined"))
            Lines.hot = json.loads(self.report("--json"))

    def report(self, *arguments, **options):
        return self.run_well("report", *arguments, self.capture, **options).stdout

    def rows(self, *arguments):
        """Returns (name, is inlined, line) -> self, of the program's functions."""
        found = collections.Counter()
        for function in json.loads(self.report("--json", *arguments))["functions"]:
            if function["module"] == "inlined":
                if "line" in function:
                    self.assertEqual(os.path.basename(function["file"]), self.FILE)
                found[function["name"], function.get("inlined", False), function.get("line")] += function["self"]
        return found

    def outer_self(self):
        return next(function["self"] for function in self.hot["functions"]
                    if function["name"] == "outer_part")

    def read(self, name, *options):
        """The file is written while recording if there are no options, and converted otherwise."""
        if options:
            self.run_well("convert", "--force", *options, self.capture, self.path(name))
        with open(self.path(name), "rb") as file:
            data = file.read()
        return gzip.decompress(data) if name.endswith(".gz") else data

    def test_lines_of_functions(self):
        rows = self.rows("--lines")
        lines = {line: count for (name, inlined, line), count in rows.items()
                 if name == "outer_part" and not inlined}
        self.assertEqual(sum(lines.values()), self.outer_self())
        hot = sum(lines.get(line, 0) for line in self.CHAIN[0][1])
        self.assertGreater(hot, 0.95 * self.outer_self())
        self.assertRegex(self.report("--lines"), rf"outer_part {self.FILE}:{self.LINE['hot']} ")

    def test_inlined_functions(self):
        rows = self.rows("--inlines")
        self.assertEqual(set(line for _, _, line in rows), {None})
        self.assertGreater(rows["inner_part", True, None], 0.95 * self.outer_self())
        self.assertEqual(sum(rows[name, name != "outer_part", None] for name in
                             ("inner_part", "middle_part", "outer_part")), self.outer_self())
        tree = self.report("--inlines", "--tree", "--min", "20")
        self.assertRegex(tree, r"(?s) main  .* outer_part  .* middle_part \(inlined\)  .* inner_part \(inlined\)  ")

    def test_lines_of_inlined_functions(self):
        rows = self.rows("--lines", "--inlines")
        self.assertGreater(sum(rows["inner_part", True, line] for line in self.CHAIN[0][1]),
                           0.95 * self.outer_self())
        text = self.report("--lines", "--inlines", "--function", "inner_part")
        self.assertRegex(text, rf"(?s)Callers\n[^\n]*  middle_part \(inlined\) {self.FILE}:{self.LINE['calls inner']} "
                               rf".*Lines by self\n.*/{self.FILE}:{self.LINE['hot']} \(inlined\)\n")

    def test_annotate(self):
        """The source with the shares of its lines; a call that was inlined has those of its callee."""
        text = self.report("--annotate", "inner_part")
        self.assertRegex(text, rf"(?m)^{self.path(self.FILE)}$")
        self.assertNotIn("newer", text)
        for number, line in enumerate(INLINED.splitlines(), 1):
            # Some processors are never interrupted at the instructions of one of these lines.
            share = r" *\d+\.\d\d % +\d+\.\d\d %" if number == self.LINE["hot"] else r"[ .%\d]*"
            if number in self.CHAIN[0][1]:
                self.assertRegex(text, rf"(?m)^{share} +{number}  {re.escape(line)}$")
        self.assertNotIn("while (now", text)  # only what is near
        text = self.report("--annotate", "outer_part")
        share = re.search(r"(?m)^outer_part: total \d+ \((\d+\.\d\d) %\), self ", text)[1]
        self.assertGreaterEqual(float(share), 100 * self.outer_self() / self.hot["samples"] - 0.01)
        call = re.search(rf"(?m)^ +(\d+\.\d\d) % +{self.LINE['calls middle']}  ", text)[1]
        self.assertLessEqual(float(call), float(share))  # a few samples are at lines of its own
        self.assertGreater(float(call), 0.95 * float(share))
        self.assertIn("Functions with", self.report("--annotate", "_PART"))

    def test_annotate_with_another_source(self):
        source = self.path(self.FILE)
        times = os.stat(source)
        try:
            os.utime(source)
            self.assertIn(f"{source}: the file is newer than the program",
                          self.report("--annotate", "inner_part"))
            os.rename(source, source + ".gone")
            text = self.report("--annotate", "inner_part")
            self.assertIn(f"{source}: the file is not here", text)
            self.assertRegex(text, rf"(?m)^ *\d+\.\d\d % +\d+\.\d\d % +{self.LINE['hot']}$")
            os.mkfifo(source)  # nobody waits for it
            self.assertIn(f"{source}: the file is not here", self.report("--annotate", "inner_part"))
            os.unlink(source)
            os.symlink("/proc/self/status", source)
            self.assertIn(f"{source}: the file is not here", self.report("--annotate", "inner_part"))
        finally:
            if os.path.lexists(source):
                os.unlink(source)
            os.rename(source + ".gone", source)
            os.utime(source, ns=(times.st_atime_ns, times.st_mtime_ns))

    @unittest.skipUnless(os.geteuid() == 0, "only root can lend capabilities")
    def test_annotate_uses_no_rights_of_others(self):
        """The program may have capabilities that its user has not; a source may be anybody's file."""
        program = shutil.copy(PROGRAM, self.directory)  # which anybody can reach
        os.chmod(self.directory, 0o755)
        os.chmod(self.capture, 0o644)
        command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                   "--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
        try:
            for mode, note in (0o644, ""), (0o600, ": the file is not here"):
                os.chmod(self.path(self.FILE), mode)
                done = subprocess.run([*command, program, "report", "--annotate", "inner_part", self.capture],
                                      capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertRegex(done.stdout, rf"(?m)^{self.path(self.FILE)}{note}$")
        finally:
            os.chmod(self.path(self.FILE), 0o644)

    def asm(self, *arguments):
        done = self.run_it("report", *arguments, self.capture)
        if "--asm: libZydis" in done.stderr:
            self.skipTest(done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [(*(float(share.strip(" %") or 0) for share in match.group(1, 2)), int(match[3], 16), match[4])
                for match in re.finditer(r"(?m)^([ \d.%]{8}) ([ \d.%]{8}) +([0-9a-f]+)    (\S.*)$", done.stdout)]

    def test_annotate_instructions(self):
        """Shares are those of the function, a call has those of its callee, and objdump knows the addresses."""
        rows = self.asm("--annotate", "outer_part", "--asm")
        inner = self.asm("--annotate", "inner_part", "--asm")
        total = re.search(r"total \d+ \((\d+\.\d\d) %\)", self.report("--annotate", "inner_part"))[1]
        self.assertAlmostEqual(sum(row[0] for row in inner), float(total), delta=2)
        self.assertEqual({row[2:] for row in inner if row[1]}, {row[2:] for row in rows if row[2] in
                                                                {other[2] for other in inner if other[1]}})
        calls = [row for row in self.asm("--annotate", "main", "--asm") if row[1] > 50]
        self.assertEqual([(row[0], row[3].split()[0]) for row in calls], [(0, "call")])
        if shutil.which("objdump"):
            text = subprocess.run(["objdump", "-dw", "-M", "intel", self.path("inlined")], check=True,
                                  capture_output=True, text=True).stdout
            theirs = {int(match[1], 16): match[2] for match in re.finditer(
                r"(?m)^ *([0-9a-f]+):\t[^\t\n]*\t(?:rep )?(\w+)", text)}
            for _, _, address, instruction in rows:
                self.assertIn(address, theirs)
                if theirs[address] in ("add", "call", "cmp", "mov", "ret"):  # others have several names
                    self.assertEqual(instruction.split()[0], theirs[address], hex(address))

    def test_annotate_instructions_where_there_is_no_source(self):
        self.asm("--annotate", "main", "--asm")  # skips where there are none
        source = self.path(self.FILE)
        self.assertNotIn(" address\n", self.report("--annotate", "inner_part"))
        os.rename(source, source + ".gone")
        try:
            text = self.report("--annotate", "inner_part")
        finally:
            os.rename(source + ".gone", source)
        self.assertRegex(text, rf"(?s){source}: the file is not here\n.* line\n.*\n{self.path('inlined')}\n.* address\n")
        done = self.run_it("report", "--asm", self.capture)
        self.assertEqual((done.returncode, done.stdout), (125, ""))
        self.assertIn("--annotate", done.stderr)

    def test_annotate_a_redacted_recording(self):
        hidden = self.path("redacted.syscap")
        self.run_well("convert", "--force", "--redact", self.capture, hidden)
        done = self.run_it("report", "--annotate", "inner_part", hidden)
        self.assertEqual((done.returncode, done.stdout), (125, ""))
        self.assertIn("redacted", done.stderr)

    def test_filters_go_with_lines(self):
        all_of_it = self.rows("--lines", "--inlines", "--contains", "inner_part")
        self.assertEqual(all_of_it, +collections.Counter(
            {key: count for key, count in self.rows("--lines", "--inlines").items()
             if key[0] == "inner_part" or count == 0}))

    def check_stacks(self, stacks):
        """stacks: ([(name, line or None) leaf first], count). The hot function's match the
        source."""
        whole = all_of_it = 0
        for stack, count in stacks:
            names = [name for name, _ in stack]
            if "outer_part" not in names or names[0] not in ("inner_part", "outer_part", "middle_part"):
                continue
            all_of_it += count
            whole += count * (len(stack) > len(self.CHAIN) and all(
                name == wanted and (line is None or line in lines)
                for (name, line), (wanted, lines) in zip(stack, self.CHAIN)))
        self.assertEqual(all_of_it, self.outer_self())
        self.assertGreater(whole, 0.95 * all_of_it)

    def test_folded(self):
        for data in (self.read("live.folded"), self.read("x.folded", "--lines", "--inlines")):
            stacks = []
            for line in data.decode().splitlines():
                stack, count = line.rsplit(" ", 1)
                frames = [re.fullmatch(r"(.*?)(?: (\S+):(\d+))?(_\[.\])?", frame) for frame in stack.split(";")]
                stacks.append(([(frame[1], int(frame[3]) if frame[3] else None) for frame in reversed(frames)],
                               int(count)))
                for frame in frames:
                    if frame[1] in self.DEFINED:
                        self.assertEqual(frame[4] == "_[i]", frame[1] != "outer_part")
            self.check_stacks(stacks)
        only_inlines = self.read("y.folded", "--inlines").decode()
        self.assertIn(";main;outer_part;middle_part_[i];inner_part_[i] ", only_inlines)
        self.assertNotIn(self.FILE, only_inlines)

    def test_flame_graph(self):
        page = outputs.page(self.read("x.html", "--inlines"))
        self.check_stacks([([(page.names[each][0].replace(" (inlined)", ""), None) for each in stack] or [("", None)],
                            count) for stack, count in page.stacks])

    def test_speedscope(self):
        for data in (self.read("live.speedscope.json"), self.read("x.speedscope.json", "--inlines")):
            profile = json.loads(data)
            frames = profile["shared"]["frames"]
            for frame in frames:
                name = frame["name"].replace(" (inlined)", "")
                if name in self.DEFINED:
                    self.assertEqual((os.path.basename(frame["file"]), frame["line"]),
                                     (self.FILE, self.DEFINED[name]))
            self.check_stacks([([(frames[i]["name"].replace(" (inlined)", ""), None) for i in reversed(stack)]
                                or [("", None)], round(weight * 999 / 1e9))
                               for thread in profile["profiles"]
                               for stack, weight in zip(thread["samples"], thread["weights"])])

    def test_firefox(self):
        for data in (self.read("live.json.gz"), self.read("x.json.gz", "--lines")):
            stacks = []
            for thread in json.loads(data)["threads"]:
                for node in thread["samples"]["stack"]:
                    stack = firefox_stack(thread, node)
                    stacks.append(([frame[:2] for frame in stack] or [("", None)], 1))
                    for name, _, depth, file, line in stack:
                        if name in self.DEFINED:
                            self.assertEqual((os.path.basename(file), line), (self.FILE, self.DEFINED[name]))
                            self.assertEqual(depth, {"middle_part": 1, "inner_part": 2}.get(name, 0))
            self.check_stacks(stacks)

    @unittest.skipUnless(HAS_PPROF, "built without pprof")
    def test_pprof(self):
        for data in (self.read("live.pb.gz"), self.read("x.pb.gz", "--lines")):
            strings, functions, locations, stacks = pprof_tables(data)
            for name, file, start in functions.values():
                if strings[name] in self.DEFINED:
                    self.assertEqual((os.path.basename(strings[file]), start),
                                     (self.FILE, self.DEFINED[strings[name]]))
            self.check_stacks([([(strings[functions[function][0]], line) for location in stack
                                 for function, line in locations[location]] or [("", None)], count)
                               for stack, count in stacks])

    @unittest.skipUnless(HAS_PPROF and shutil.which("go"), "go is not installed, or no pprof in the build")
    def test_pprof_in_go(self):
        self.read("x.pb.gz", "--lines")
        top = subprocess.run(["go", "tool", "pprof", "-top", "-lines", self.path("x.pb.gz")], capture_output=True,
                             text=True, check=True, cwd=self.directory, env=os.environ | {"HOME": self.directory}).stdout
        self.assertRegex(top, rf" inner_part \S*/{self.FILE}:{self.LINE['hot']} \(inline\)\n")

    def test_separate_debug_file(self):
        """Lines come from a debug file as well; a file without lines is named with the reason."""
        if shutil.which("objcopy") is None:
            self.skipTest("objcopy is not installed")
        directory = self.path("separate")
        os.makedirs(os.path.join(directory, ".debug"))
        program, debug = os.path.join(directory, "inlined"), os.path.join(directory, ".debug", "inlined.debug")
        subprocess.run(["objcopy", "--only-keep-debug", self.path("inlined"), debug], check=True)
        subprocess.run(["objcopy", "--strip-all", "--add-gnu-debuglink=" + debug, self.path("inlined"), program],
                       check=True)
        capture = self.record("separate.syscap", "--", program)
        text = self.run_well("report", "--lines", capture).stdout
        self.assertRegex(text, rf"outer_part {self.FILE}:{self.LINE['hot']} ")
        os.unlink(debug)
        text = self.run_well("report", "--lines", capture).stdout
        self.assertNotIn(self.FILE, text)
        self.assertRegex(text, r"(?s)Frames without a line, by file\n.*/separate/inlined: no debug information")


def firefox_stack(thread, node):
    """[(function, line, depth, file, where it is defined)], leaf first."""
    stacks, frames, functions = thread["stackTable"], thread["frameTable"], thread["funcTable"]
    strings, stack = thread["stringArray"], []
    while node is not None:
        frame = stacks["frame"][node]
        function = frames["func"][frame]
        file = functions["fileName"][function]
        stack.append((strings[functions["name"][function]], frames["line"][frame], frames["inlineDepth"][frame],
                      None if file is None else strings[file], functions["lineNumber"][function]))
        node = stacks["prefix"][node]
    return stack


def pprof_tables(data):
    """Strings, function -> (name, file, start), location -> [(function, line)], [(locations, count)]."""
    strings, functions, locations, samples = [], {}, {}, []
    for number, value in fields_of(data):
        message = dict(fields_of(value)) if number in (2, 5) else {}
        if number == 6:
            strings.append(value.decode())
        elif number == 5:
            functions[message[1]] = (message[2], message.get(4, 0), message.get(5, 0))
        elif number == 4:
            fields = list(fields_of(value))
            lines = [dict(fields_of(line)) for field, line in fields if field == 4]
            locations[dict(fields)[1]] = [(line[1], line.get(2, 0)) for line in lines]
        elif number == 2:
            samples.append((varints_of(message.get(1, b"")), first_varint(message[2])))
    return strings, functions, locations, samples


def varints_of(data):
    values, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            values.append(value)
            value = shift = 0
    return values


def varint(value):
    text = bytearray()
    while value >= 128:
        text.append(value & 127 | 128)
        value >>= 7
    return bytes(text) + bytes([value])


def fields_of(data):
    """(number, value) of each field of a protobuf message."""
    def varint(at):
        value = shift = 0
        while True:
            value |= (data[at] & 127) << shift
            shift += 7
            at += 1
            if data[at - 1] < 128:
                return value, at
    at = 0
    while at < len(data):
        key, at = varint(at)
        if key & 7 == 0:
            value, at = varint(at)
        elif key & 7 == 1:
            value, at = data[at:at + 8], at + 8
        else:
            assert key & 7 == 2, key
            size, at = varint(at)
            value, at = data[at:at + size], at + size
        yield key >> 3, value


def all_varints(data):
    value = shift = 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value = shift = 0


def first_varint(data):
    return next(all_varints(data), 0)


def callgrind_costs(text):
    """Self and inclusive costs by function; texts of names are given once."""
    names, selves, inclusive = {}, collections.Counter(), collections.Counter()
    current = called = None
    for line in text.splitlines():
        found = re.match(r"(c?fn)=[(](\d+)[)] ?(.*)", line)
        if found:
            names.setdefault(found[2], found[3])
            if found[1] == "fn":
                current, called = names[found[2]], None
            else:
                called = names[found[2]]
        elif re.match(r"\d+ \d+$", line):
            cost = int(line.split()[1])
            inclusive[current] += cost
            selves[current] += 0 if called else cost
            called = None
    return selves, inclusive


class Perfetto:
    """A trace as protos/perfetto/trace of Perfetto v58 describe it: trace_packet.proto, interned_data.proto,
    profiling/stack_sample.proto, profiling/profile_common.proto, track_event/*.proto."""

    def __init__(self, data):
        self.times, self.stacks, self.weights, self.task_of_sample = [], [], [], []
        self.processes, self.threads, self.counters, self.values, self.paths = [], [], {}, [], []
        self.names, self.frames, self.callstacks, self.tasks, self.events = {}, {}, {}, {}, {}
        for number, packet in fields_of(data):
            assert number == 1
            self.read_packet(list(fields_of(packet)))

    def read_packet(self, fields):
        packet = dict(fields)
        assert packet[10] == 1 and packet[13] in (1, 2)
        for number, value in fields_of(packet.get(12, b"")):
            self.learn(number, value)
        if 60 in packet:
            track = dict(fields_of(packet[60]))
            self.processes += [dict(fields_of(track[3]))] if 3 in track else []
            self.threads += [dict(fields_of(track[4]))] if 4 in track else []
            if 8 in track:
                self.counters[track[1]] = track[2].decode()
        if 11 in packet:
            event = dict(fields_of(packet[11]))
            assert event[9] == 4
            self.values.append((event[11], event[30] if 30 in event else struct.unpack("<d", event[44])[0]))
        if 135 in packet:
            sample = dict(fields_of(packet[135]))
            self.times.append(packet[8])
            self.task_of_sample.append(sample[2])
            self.weights.append((sample[10], sample[11]))
            self.stacks.append([self.names[self.frames[frame]] for frame in self.callstacks.get(sample.get(6), [])])

    def learn(self, number, value):
        entry = dict(fields_of(value))
        if number == 5:
            self.names[entry[1]] = entry[2].decode()
        elif number == 6:
            self.frames[entry[1]] = entry[2]
        elif number == 7:
            self.callstacks[entry[1]] = [frame for field, frame in fields_of(value) if field == 2]
        elif number == 17:
            self.paths.append(entry[2])
        elif number == 48:
            self.tasks[entry[1]] = entry
        elif number == 50:
            self.events[entry[1]] = (entry[2].decode(), entry.get(3))


def pprof_selves(data):
    strings, functions, locations, selves = [], {}, {}, collections.Counter()
    fields = list(fields_of(data))
    for number, value in fields:
        if number == 6:
            strings.append(value.decode())
        elif number == 5:
            message = dict(fields_of(value))
            functions[message[1]] = message[2]
        elif number == 4:
            message = dict(fields_of(value))
            locations[message[1]] = dict(fields_of(message[4]))[1]
    assert strings[0] == ""
    for number, value in fields:
        if number == 2:
            message = dict(fields_of(value))
            leaf = locations[first_varint(message[1])] if message.get(1) else None
            name = strings[functions[leaf]] if leaf else "?"
            selves[name] += first_varint(message[2])
    return selves


def pprof_totals(data):
    """The sum of each sample type, by "type/unit"."""
    fields = list(fields_of(data))
    strings = [value.decode() for number, value in fields if number == 6]
    types = [dict(fields_of(value)) for number, value in fields if number == 1]
    totals = [0] * len(types)
    for number, value in fields:
        if number == 2:
            for i, added in enumerate(all_varints(dict(fields_of(value))[2])):
                totals[i] += added
    return {f"{strings[each[1]]}/{strings[each[2]]}": total for each, total in zip(types, totals, strict=True)}


def files_of(path):
    """(path, bytes) of each FILE_CHUNK frame."""
    with open(path, "rb") as file:
        data = file.read()
    at = 256
    while at + 24 <= len(data):
        size = int.from_bytes(data[at:at + 2], "little")
        if data[at + 16] == 13:
            length = int.from_bytes(data[at + 26:at + 28], "little")
            yield data[at + 28:at + 284].split(b"\0")[0].decode(), data[at + 284:at + 284 + length]
        at += size


if __name__ == "__main__":
    unittest.main()
