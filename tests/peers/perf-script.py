#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""perf-script.py LIVE_UNWINDER [PROGRAM...] - compares our stacks with those of `perf script`.

Records real programs with `perf record --call-graph dwarf`, reads the file with `live-unwinder --input`,
and compares our stack of each sample with perf's. Our stack must begin with all of perf's frames, and any
further frame must pass the judge's checks (tests/judge). A difference is accepted only if the mapped files
prove a reason for it; the test lists these samples and limits how many there may be. Nearly all of them are
in short programs that a shell starts: where perf finds no rules it follows the frame pointer, which yields
wrong frames and skips callers, mostly in the dynamic linker. How large a part of a short program that is
depends on the machine, so a program that starts many has a limit of its own. Prints TAP.

  same      the same frames as perf
  longer    perf's frames and more, each of them checked
  differs   other frames than perf's, for one of REASONS
  wrong     anything else: the test fails
"""

import collections
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "judge")]
import frames           # noqa: E402
import perfscript       # noqa: E402
import reach            # noqa: E402
import spaces           # noqa: E402
import syscap           # noqa: E402

SAME, LONGER, WRONG = "same", "longer", "wrong"
PERF_UNCHECKED = "perf's frame does not pass the judge, ours does"
PERF_BEYOND = "perf goes on where we stopped, with frames that do not pass the judge"
PERF_LEAVES_OUT = "perf leaves out frames that pass the judge and then goes on as ours"
PERF_NO_ROOT = "perf's stack ends in no outermost function, ours does and passes the judge"
REASONS = (PERF_UNCHECKED, PERF_BEYOND, PERF_LEAVES_OUT, PERF_NO_ROOT)
MAX_DIFFERENT = 1.0     # percent of all samples
MAX_IN_SHORT = 40.0     # percent of the samples of a program in STARTS_SHORT
STARTS_SHORT = {"sh"}   # these start many short programs
MIN_SAMPLES = 50
MAX_EXAMPLES = int(os.environ.get("LU_PEERS_EXAMPLES", "3"))

PYTHON = """
import json, re
def deep(n): return n if n == 0 else 1 + deep(n - 1)
for i in range(400):
    json.loads(json.dumps([{"a": i, "b": [str(i)] * 20}] * 100))
    re.sub("(a|b)+c", "x", "abababc" * 500)
    deep(200); sorted(range(5000), key=lambda v: -v)
"""
PERL = "for $i (1..150) { my %h = map { $_ => length $_ } 1..5000; @s = sort { $h{$a} <=> $h{$b} } keys %h; }"
SHELL = """
i=0
while [ $i -lt 40 ]; do
  perl -e 'for (1..60000) { $s{$_ % 999} .= "x" } print keys %s' | sort | uniq -c >/dev/null
  i=$((i + 1))
done
"""
SIGNALS = r"""
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>
static volatile unsigned ticks, sum;
__attribute__ ((noinline)) static void work (unsigned n)
{
  struct timespec now;
  for (unsigned i = 0; i < n; i++)
    {
      sum += i;
      if (i % 16 == 0)
        clock_gettime (CLOCK_MONOTONIC, &now);
    }
}
static void on_tick (int signal) { ticks++; work (40000); }
static void *thread (void *data) { while (ticks < 1200) work (1000); return NULL; }
int main (void)
{
  struct sigaction action = { .sa_handler = on_tick };
  struct itimerval every = { { 0, 1000 }, { 0, 1000 } };
  pthread_t other;
  sigaction (SIGPROF, &action, NULL);
  setitimer (ITIMER_PROF, &every, NULL);
  pthread_create (&other, NULL, thread, NULL);
  thread (NULL);
  return pthread_join (other, NULL);
}
"""
RECURSION = r"""
#include <stdlib.h>
#include <string.h>
static unsigned sum;
static int compare (const void *a, const void *b) { return *(const int *) a - *(const int *) b; }
__attribute__ ((noinline)) static void fill (int *v, int n) { while (n-- > 0) v[n] = rand (); }
__attribute__ ((noinline)) static int recurse (int depth, int *v, int n)
{
  volatile char room[64 + 0];
  memset ((char *) room, depth, sizeof room);
  if (depth > 0)
    return recurse (depth - 1, v, n) + room[depth % 64];
  fill (v, n);
  qsort (v, n, sizeof *v, compare);
  return v[n / 2];
}
int main (void)
{
  static int v[20000];
  for (int i = 0; i < 500; i++)
    sum += recurse (i % 60, v, 20000);
  return sum == 42;
}
"""


def large_c_source():
    """Keeps cc1 busy for a second or two."""
    text = ["#include <stdio.h>"]
    for i in range(400):
        text.append(f"int f{i} (int *v, int n) {{ int s = {i}; for (int k = 0; k < n; k++)"
                    f" {{ if (v[k] % {i + 2}) s += v[k] * {i}; else s ^= v[n - k - 1]; switch (s & 7)"
                    f" {{ case 0: s++; break; case 3: s -= v[0]; break; case 5: s <<= 1; }} }}"
                    " return s; }")
    return "\n".join(text) + "\n"


def programs(directory):
    """name -> (command, bytes of stack), or a reason why it cannot run."""
    def tool(name, *arguments, stack=16384):
        path = shutil.which(name)
        return ([path, *arguments], stack) if path else f"no {name}"

    (directory / "large.c").write_text(large_c_source())
    (directory / "words").write_text("".join(f"{i * 7919 % 10000019:08}\n" for i in range(700000)))
    def built(name, source):
        (directory / f"{name}.c").write_text(source)
        compiler = os.environ.get("CC", "cc").split()
        done = subprocess.run([*compiler, "-O2", "-pthread", "-o", name, f"{name}.c"], cwd=directory,
                              check=False, capture_output=True)
        return ([str(directory / name)], 16384) if done.returncode == 0 else "no C compiler"

    return {
        "python3": tool("python3", "-c", PYTHON, stack=32768),
        "sort": tool("sort", "--parallel=1", "-o", "/dev/null", str(directory / "words")),
        "perl": tool("perl", "-e", PERL),
        "recursion": built("recursion", RECURSION),
        "signals": built("signals", SIGNALS),
        "gcc": tool("gcc", "-O2", "-c", "-o", "/dev/null", str(directory / "large.c"), stack=32768),
        "sh": tool("sh", "-c", SHELL),
    }


class Comparison:
    """Ours and perf's stacks of one recording, sample by sample."""

    def __init__(self, capture, perf_samples):
        self.modules = frames.Modules()
        self.callees = reach.Callees(self.modules)
        self.spaces = spaces.Spaces(capture.maps)
        self.capture = capture
        self.counts = collections.Counter()
        self.examples = collections.defaultdict(list)
        self.kernel_differs = self.missing = self.frames = self.beyond = 0
        ours = {(s.pid, s.tid, s.time): s for s in capture.samples}
        for theirs in sorted(perf_samples, key=lambda s: s.time):
            sample = ours.pop((theirs.pid, theirs.tid, theirs.time), None)
            if sample is None:
                self.missing += 1
                continue
            self._compare(sample, theirs)
        self.surplus = len(ours)

    def _compare(self, sample, theirs):
        self.spaces.advance(sample.time)
        kernel, user = sample.split()
        if user and syscap.is_synthetic(user[-1]):
            user = user[:-1]
        self.kernel_differs += kernel != theirs.kernel
        placed = [self._place(sample.pid, address) for address in user]
        self.frames += len(placed)
        common = 0
        while (common < min(len(placed), len(theirs.user))
               and placed[common] == theirs.user[common]):
            common += 1
        verdict = self._verdict(sample, user, theirs, common)
        self.counts[verdict] += 1
        if verdict not in (SAME, LONGER) and len(self.examples[verdict]) < MAX_EXAMPLES:
            self.examples[verdict].append((sample, placed, theirs.user, common))

    def _verdict(self, sample, user, theirs, common):
        if common == len(theirs.user):
            if common == len(user):
                return SAME
            self.beyond += len(user) - common
            return LONGER if self._passes(sample.pid, user, common) else WRONG
        if self._leaves_out(sample.pid, user, theirs.user, common):
            return PERF_LEAVES_OUT
        addresses = [self._address(sample.pid, frame) for frame in theirs.user]
        if self._passes(sample.pid, addresses, common):
            is_proved = (self._has_root(sample.pid, user) and not self._has_root(sample.pid, addresses)
                         and self._passes(sample.pid, user, common))
            return PERF_NO_ROOT if is_proved else WRONG
        if common == len(user):
            return PERF_BEYOND
        return PERF_UNCHECKED if self._passes(sample.pid, user, common) else WRONG

    def _passes(self, pid, addresses, first):
        """Tells whether the judge accepts the frames from @first on, and the calls between them."""
        space, how = self.spaces.of(pid), frames.EXACT
        inner = None                    # the address of a neighbour that was called
        for at, address in enumerate(addresses):
            mapping = space.find(address) if address is not None else None
            frame = mapping and self.modules.frame(mapping, address, how)
            if at >= first:
                if frame is None or frame.fault is not None:
                    return False
                if inner is not None and not frame.signal and self.callees.leads(pid, space, address, inner) is False:
                    return False
            how = frames.EXACT if frame and frame.signal else frames.RETURN
            inner = None if frame is None or frame.signal else address
        return True

    def _has_root(self, pid, addresses):
        """Tells whether nothing can be further out than the last of the callers."""
        if len(addresses) < 2 or addresses[-1] is None:
            return False
        mapping = self.spaces.of(pid).find(addresses[-1])
        return mapping is not None and self.modules.frame(mapping, addresses[-1], frames.RETURN).root

    def _leaves_out(self, pid, user, theirs, common):
        """Tells whether the rest of perf's frames come later in ours, and all of ours are good."""
        placed = [self._place(pid, address) for address in user[common:]]
        rest = iter(placed)
        return all(frame in rest for frame in theirs[common:]) and self._passes(pid, user, common)

    def _place(self, pid, address):
        """(file, offset) as perf prints it."""
        mapping = self.spaces.of(pid).find(address)
        if mapping is None:
            return None, address
        return mapping.path, address - mapping.start + mapping.offset

    def _address(self, pid, frame):
        """The inverse of the function above; None if no executable mapping contains it."""
        path, offset = frame
        if path is None:
            return offset
        space = self.spaces.of(pid)
        for start, end, mapping in space.maps:
            address = offset - mapping.offset + mapping.start
            if mapping.path == path and start <= address < end:
                return address
        return None

    def _end(self, sample):
        last = sample.user[-1] if sample.user else 0
        return syscap.name_of(self.capture, last) if syscap.is_synthetic(last) else "complete"

    @property
    def compared(self):
        return sum(self.counts.values())

    @property
    def is_good(self):
        return (self.compared >= MIN_SAMPLES and self.counts[WRONG] == 0 and self.missing == 0
                and self.surplus == 0 and self.kernel_differs == 0)

    @property
    def different(self):
        return sum(self.counts[reason] for reason in REASONS)

    def print(self, out):
        print(f"# {self.compared} samples, {self.frames} user frames, {self.beyond} of them beyond "
              f"perf's; only in perf's output {self.missing}, only in ours {self.surplus}; kernel "
              f"frames differ in {self.kernel_differs}", file=out)
        for verdict, count in self.counts.most_common():
            print(f"# {count:7} {verdict}", file=out)
        for verdict, examples in self.examples.items():
            for sample, ours, theirs, common in examples:
                print(f"# {verdict}: pid {sample.pid} time {sample.time}, after {common} equal "
                      "frames", file=out)
                print(f"#   ours ends: {self._end(sample)}", file=out)
                for title, stack in (("ours", ours), ("perf", theirs)):
                    rest = [f"{path}+{at:#x}" for path, at in stack[max(0, common - 1):common + 3]]
                    print(f"#   {title} ({len(stack)}): {' < '.join(rest)}", file=out)


def record(command, stack, path):
    """None, or why perf cannot record."""
    done = subprocess.run(
        ["perf", "record", "-q", "-N", "-e", "cpu-clock", "-F", "499", "--call-graph",
         f"dwarf,{stack}", "-o", path, "--", *command],
        capture_output=True, text=True, check=False, timeout=120)
    if os.path.exists(path) and os.path.getsize(path) > 0:
        return None
    return f"perf record: {done.stderr.strip() or done.returncode}"


def compare(recorder, command, stack, directory):
    """Returns a Comparison, or the text of the error."""
    data, capture = str(directory / "perf.data"), str(directory / "out.syscap")
    why = record(command, stack, data)
    if why is not None:
        return why
    subprocess.run([recorder, "--input", data, "-o", capture, "--force", "--quiet"], check=True,
                   timeout=300)
    return Comparison(syscap.read(capture), perfscript.samples(data))


def compare_patiently(*arguments):
    """Real errors appear in each recording, so it records once more if the first one has too many
    strange samples."""
    result = compare(*arguments)
    if isinstance(result, str) or result.is_good:
        return result
    print("# once more, because of:")
    result.print(sys.stdout)
    return compare(*arguments)


def main(argv):
    if len(argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    if shutil.which("perf") is None:
        print("1..0 # SKIP no perf")
        return 0
    failed = 0
    compared, different = collections.Counter(), collections.Counter()  # by whether programs are short
    with tempfile.TemporaryDirectory(prefix="lu-perf-script-") as name:
        directory = pathlib.Path(name)
        todo = {key: value for key, value in programs(directory).items()
                if not argv[2:] or key in argv[2:]}
        print(f"1..{len(todo) + 2}")
        for number, (program, how) in enumerate(todo.items(), 1):
            result = how if isinstance(how, str) else compare_patiently(argv[1], *how, directory)
            if isinstance(result, str):
                print(f"ok {number} - {program} # SKIP {result}", flush=True)
                continue
            failed += not result.is_good
            compared[program in STARTS_SHORT] += result.compared
            different[program in STARTS_SHORT] += result.different
            print(f"{'ok' if result.is_good else 'not ok'} {number} - {program}")
            result.print(sys.stdout)
            sys.stdout.flush()
    for number, (short, limit) in enumerate([(False, MAX_DIFFERENT), (True, MAX_IN_SHORT)], len(todo) + 1):
        few = 100 * different[short] <= limit * compared[short]
        failed += not few
        print(f"{'ok' if few else 'not ok'} {number} - {different[short]} of {compared[short]} samples differ"
              f"{' where many short programs start' if short else ''}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
