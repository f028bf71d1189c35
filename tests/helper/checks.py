# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""checks.py - requirements for a helper, most of which Sysprof 48's own helper does not meet.

weaknesses.py runs them. Each entry of CHECKS has a sentence and a function. The function gets a Bench,
runs the helper under test with play or replay, and yields a message for each fault. A requirement that
Sysprof's helper also meets is marked `common`.
"""

import os
import re
import shutil
import sys
from dataclasses import dataclass, replace
from typing import Callable

import captures
import replay

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "programs"))
import cases  # noqa: E402  (needs the path above)
import stacks  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
START = cases.START
STOP_MS = 150           # 100 for the helper, the rest for a busy machine
MAX_UNREAD_S = 0.1      # 0.05 for the helper, the rest for a busy machine
MAX_RSS_KIB = 48 * 1024
PC = 0x400010           # of replayed samples; outside of all mappings


class Skip(Exception):
    """The check cannot run here; the message says why."""


@dataclass(frozen=True)
class Check:
    about: str
    run: Callable               # (Bench) -> iterator of faults
    common: bool = False        # the shipped helper may pass
    by_hand: bool = False       # its figures need a quiet machine


def tool(name):
    found = shutil.which(name, path="/usr/bin:/bin:/usr/sbin:/sbin")
    if not found:
        raise Skip(f"no {name}")
    return found


def python(code):
    return [tool("python3"), "-c", code]


def short_processes(count):
    return [tool("bash"), "-c", f"for ((i = 0; i < {count}; i++)); do {tool('true')}; done"]


def most_descriptors():
    return 32 + 4 * os.cpu_count()


def known(name, *options):
    """Makes a check that a program of tests/programs or of this directory has the right stacks."""
    case = CASES.get(name) or cases.CASES[name]
    return lambda bench: bench.known(case, list(options))


# Programs of this directory, in the form of tests/programs/cases.py.
CASES = {
    "brief-fork": cases.Case(
        "children of 2 ms that never call exec", ["@brief-fork"],
        [["hot", "child", "main", *START]],
        allowed=[["child?", "main", *START]], minimum=250, check=cases.processes_differ(150)),
    "junk-chain": cases.Case(
        "a long chain of wrong frames on the frame pointer", ["@junk-chain"],
        [["hot", "a", "main", *START]]),
    "late-map": cases.Case(
        "a child works on while its parent maps something", ["@late-map"],
        [["hot", "parent", "main", *START], ["hot", "child", "main", *START]],
        allowed=[["child?", "main", *START]], minimum=1000, check=cases.processes_differ(2),
        seen=[(["hot", "child", "main", *START], 500)]),
    "brief-vdso": cases.Case(
        "children of 2 ms in the vDSO", ["@brief-vdso"],
        [["VDSO|LIBC|PLT*", "read_clock", "child", "main", *START]], hot=("read_clock",),
        allowed=[["LDSO+", "read_clock", "child", "main", *START],
                 ["child?", "main", *START]], minimum=250,
        seen=[(["VDSO+", "LIBC*", "read_clock", "child", "main", *START], 100)]),
    "chain-debug-frame": replace(
        cases.CASES["chain"],
        about="a program whose unwind information is .debug_frame",
        command=["@chain-debug-frame"]),
    "remap": cases.Case(
        "executable mappings come and go", ["@remap", "600"],
        [["hot", "map_again", "main", *START]],
        allowed=[["LIBC|PLT*", "map_again", "main", *START]], share=0.98),
    "reuse-pid": cases.Case(
        "a pid used again by another program at the same addresses",
        [sys.executable, os.path.join(HERE, "reuse-pid.py"), "@exec-b", "0", "::", "@exec-a", "0"],
        [[f"hot_{x}", f"middle_{x}", f"outer_{x}", "main", *START] for x in "ab"],
        # Before the exec the pid's new owner is the interpreter.
        allowed=[["ANY*", os.path.basename(os.path.realpath(sys.executable)) + ":_start"]],
        hot=("hot_a", "hot_b"), share=0.95, minimum=100, files=("exec-a", "exec-b"),
        seen=[([f"hot_{x}", "ANY*"], 50) for x in "ab"], needs=("root",)),
}


# Weaknesses 1, 3, 5, 12 … are the numbers of the list in the documentation of the helper mode.

def marker_stays(bench):
    result = bench.play([bench.program("kernel")])
    both = faulty = 0
    for sample in result.raw_samples():
        both += any(a >= captures.KERNEL_HALF for a in sample.addresses[1:2]) and any(
            a < captures.KERNEL_HALF for a in sample.addresses)
        faulty += stacks.marker_fault(sample.addresses) is not None
    if both < 50:
        yield f"only {both} samples of kernel mode with user frames"
    if faulty:
        yield f"{faulty} samples have no marker between kernel and user frames"


def nothing_outside(bench):
    result = bench.play(bench.python_workload(2))
    percent = captures.outside_percent(result.stream, result.tree)
    if percent > 0:
        yield f"{percent:.2f} % of the user addresses lie in no mapping"


def says_truncated(bench):
    result = bench.play([bench.program("recursion"), "400"], "--stack-size=8192")
    names = {result.stream.capture.jitmap.get(s.user[-1]) for s in result.samples() if s.user}
    if cases.TRUNCATED not in names:
        yield f"no stack ends in {cases.TRUNCATED}"
    report = captures.judged(result.stream, result.tree)
    if report["refused"]:
        yield f"stacks that claim to be complete: {report['refused']}"


def dying_tasks(bench):
    ended = bench.replay([[replay.sample(pid, pid, PC, [replay.CONTEXT_USER, PC])
                           for pid in (-1, os.getpid())]])
    yield from bench.bad_end(ended)
    stream = captures.parse(ended.data)
    if stream.negative_pids:
        yield f"{stream.negative_pids} frames with a pid that makes the viewer crash"
    if not stream.capture.samples:
        yield "the sample of another task is missing"


def record_without_size(bench):
    good = replay.sample(os.getpid(), os.getpid(), PC, [replay.CONTEXT_USER, PC])
    ended = bench.replay([[good, replay.empty()]])
    yield from bench.bad_end(ended)
    if len(ended.data) > 16 << 20:
        yield f"wrote {len(ended.data)} bytes"


def sizes_that_disagree(bench):
    """A copy of a stack says three times how large it is."""
    pid, stack = os.getpid(), bytes(64)
    records = [replay.sample(pid, pid, PC, [replay.CONTEXT_USER, PC], stack=stack, filled=n)
               for n in (0, 64, 72, 1 << 20, 1 << 63, (1 << 64) - 8)]
    records += [replay.sample(pid, pid, PC, [replay.CONTEXT_USER, PC], stack=bytes(n))
                for n in (1, 7, 20, 63)]
    ended = bench.replay([records])
    yield from bench.bad_end(ended)
    # The other sizes cannot come from the kernel.
    if len(captures.parse(ended.data).capture.samples) < 2:
        yield "the good samples are missing"


def build_ids_are_no_danger(bench):
    """No client asks for build-ids in records of mappings, but a record may have one."""
    pid = os.getpid()
    records = [replay.mapping_with_build_id(pid, 0x400000, bytes(range(n)) + bytes(20 - n))
               for n in (0, 1, 19, 20) for _ in range(50)]
    ended = bench.replay([[*records, replay.sample(pid, pid, PC, [replay.CONTEXT_USER, PC])]])
    yield from bench.bad_end(ended)
    stale = [m for m in captures.parse(ended.data).capture.maps if m.path == "/replayed"]
    if any(m.build_id and len(m.build_id) != 20 for m in stale):
        yield "a build-id was sent with bytes behind its end"


def cheap_samples(bench):
    result = bench.play([bench.deep(), "150", "2"], "--alone")
    n = len(result.stream.capture.samples)
    cost = 1e6 * result["cpu_during"] / max(1, n)
    if cost > 25:
        yield f"{cost:.1f} µs of CPU for each stack of 150 calls"


def guests_are_not_kernel(bench):
    ended = bench.replay([[replay.sample(os.getpid(), os.getpid(), PC, misc=misc)
                           for misc in (replay.USER, replay.GUEST_USER)]])
    for sample in captures.parse(ended.data).raw:
        if captures.syscap.CONTEXT_KERNEL in sample.addresses:
            yield "a user sample of a guest was given to the kernel"
    yield from bench.bad_end(ended)


def flat_descriptors(bench):
    result = bench.play(short_processes(1500))
    if result["fds"] > most_descriptors():
        yield f"{result['fds']} descriptors, not {most_descriptors()}"
    if result["rss_anon_kib"] > MAX_RSS_KIB:
        yield f"{result['rss_anon_kib']} KiB of anonymous memory"


def flat_memory(bench):
    one = f"{tool('python3')} -c 'sum(range(400000))'"
    result = bench.play([tool("sh"), "-c", f"for i in $(seq 150); do {one} & {one}; done; wait"])
    if result["rss_anon_kib"] > MAX_RSS_KIB:
        yield f"{result['rss_anon_kib']} KiB of anonymous memory"
    if result["fds"] > most_descriptors():
        yield f"{result['fds']} descriptors, not {most_descriptors()}"


def cheap_mappings(bench):
    result = bench.play([bench.program("remap"), "1500"])
    n = len(result.stream.capture.samples)
    cost = 1e6 * result["cpu_during"] / max(1, n)
    if cost > 40:
        yield f"{cost:.1f} µs of CPU for each sample while mappings come and go"


def no_loss_with_large_copies(bench):
    result = bench.play([bench.deep(), "20", "1.5", "6"], "--stack-size=61440")
    if result["lost"]:
        yield f"{result['lost']} samples lost, {result['samples']} delivered"


def no_loss_at_4_khz(bench):
    result = bench.play([bench.deep(), "20", "1.5", "4"], "--frequency=4000")
    if result["lost"]:
        yield f"{result['lost']} samples lost, {result['samples']} delivered"


def no_loss_at_a_stopped_reader(bench):
    result = bench.play([bench.deep(), "20", "1.5", "4"], "--stall=2000")
    yield from delivered(result)


def no_loss_before_the_reader_runs(bench):
    result = bench.play([bench.deep(), "20", "0.7", "2"], "--settle=200", "--unread=1000")
    yield from delivered(result)


def no_loss_at_a_slow_reader(bench):
    result = bench.play([bench.deep(), "20", "30", "4"], "--seconds=2", "--pace=300000",
                        "--tail=3000")
    yield from delivered(result)


def delivered(result, least=97.0):
    n = sum(1 for _ in result.samples())
    share = 100.0 * n / (result["frequency"] * result["workload"]["cpu"])
    if result["lost"]:
        yield f"{result['lost']} samples lost"
    if share < least:
        yield f"{share:.1f} % of the workload's samples were delivered"


def full_command_lines(bench):
    word = "an-argument-of-more-than-fifteen-characters"
    result = bench.play(python("import sys, time\nwhile time.process_time() < .3: pass") + [word])
    named = [p.cmdline for p in sorted(result.stream.capture.processes, key=lambda p: p.time)
             if p.pid == result["workload"]["pid"]]
    if not named or word not in named[-1]:
        yield f"the process is named {named[-1:]}"


def own_samples_are_left_out(bench):
    result = bench.play(short_processes(600))
    own = sum(s.pid == result["pid"] for s in result.stream.capture.samples)
    if own:
        yield f"{own} samples of the helper itself"


def counts_at_the_end(bench):
    result = bench.play([bench.deep(), "20", "1"])
    logs = [log.message for log in result.stream.capture.logs]
    summary = [m for m in logs if "samples" in m and "lost" in m and re.search(r"\d", m)]
    if not summary:
        yield f"no line with the number of samples and what was lost; logs: {logs[-3:]}"


def stops(how, *options):
    def run(bench):
        result = bench.play([bench.deep(), "20", "1", "2"], f"--stop={how}", *options)
        if result["killed"]:
            yield "did not end"
        elif result["signal"]:
            yield f"ended by signal {result['signal']}"
        elif result["exit"] != 0:
            yield f"ended with status {result['exit']}"
        if result["stop_ms"] > STOP_MS:
            yield f"took {result['stop_ms']:.0f} ms to end"
    return run


def held_page_holds_up_nothing(bench):
    """The part missing from a copy of the stack may be a page that was never touched."""
    result = bench.play([bench.program("held-page")], "--stop=running", "--seconds=1.5")
    if result["workload"]["status"] == 77:
        raise Skip("no userfaultfd")
    samples = sum(1 for _ in result.samples())
    wanted = max(100, 0.6 * result["frequency"] * result["workload"]["cpu"])
    if samples < wanted:
        yield f"{samples} samples came, not {wanted:.0f}"
    if result["killed"] or result["exit"] != 0 or result["stop_ms"] > STOP_MS:
        yield f"exit {result['exit']} after {result['stop_ms']:.0f} ms"


def the_last_samples_come_in_time(bench):
    """Data that the client has not read when it stops is lost: much of a short recording."""
    missing = []
    for tenths in range(4, 17, 2):
        result = bench.play([bench.deep(), "20", "30"], "--stop=running", f"--seconds={tenths / 10}")
        last = max((s.time for s in result.samples()), default=result["workload"]["began"])
        missing.append((result["workload"]["ended"] - last) / 1e9)
    mean = sum(missing) / len(missing)
    if mean > MAX_UNREAD_S:
        yield f"the last {mean:.2f} s of recordings are missing: {[f'{m:.2f}' for m in missing]}"


def early_end_is_no_error(bench):
    """The client may disappear at any moment of the helper's set-up."""
    for settle in range(0, 60, 6):
        result = bench.outcome([tool("true")], f"--settle={settle}", "--stop=killed")
        if result["killed"] or result["signal"] or result["exit"] != 0:
            yield f"gone after {settle} ms: exit {result['exit']}, signal {result['signal']}"


def short_processes_are_unwound(bench):
    result = bench.play(short_processes(800))
    report = captures.judged(result.stream, result.tree)
    if report["complete_percent"] < 98:
        yield f"{report['complete_percent']:.2f} % of the stacks are complete"


def kernel_threads_are_nothing(bench):
    """Nothing is sent about processes that were never sampled."""
    result = bench.play([bench.deep(), "20", "0.3"])
    sampled = {s.pid for s in result.stream.capture.samples}
    n = len({p.pid for p in result.stream.capture.processes} - sampled)
    if n:
        yield f"{n} processes were sent that have no sample"
    if result.stream.file_bytes > 1 << 20:
        yield f"{result.stream.file_bytes} bytes of files that the client has already"


def help_is_about_this_program(bench):
    text = bench.help()
    if "sysprof-translate" in text:
        yield "the help text is another program's"
    for option in ("--perf-fd", "--capture-fd", "--event-fd", "--kallsyms", "--stack-size"):
        if option not in text:
            yield f"the help text does not know {option}"


def digestible(bench):
    result = bench.play(short_processes(200) if bench.quick else bench.python_workload(1))
    if result["fault"]:
        yield f"the client's muxer would stop: {result['fault']}"
    wrong = sorted(set(result.stream.types) - captures.SAFE_TYPES)
    if wrong:
        yield f"frames of types {wrong}, which the client cannot pass on"
    if result.stream.too_long:
        yield f"{result.stream.too_long} samples that the viewer ignores"


def other_captures(kind):
    def run(bench):
        result = bench.play([bench.deep(), "20", "0.5"], f"--capture={kind}")
        if result["exit"] != 0 or sum(1 for _ in result.samples()) < 400:
            yield f"exit {result['exit']}, {sum(1 for _ in result.samples())} samples"
    return run


def sparse_cpus(bench):
    numbers = ",".join(str(7 + 64 * i) for i in range(os.cpu_count()))
    result = bench.play([bench.deep(), "20", "0.7", "4"], f"--cpu-numbers={numbers}")
    yield from delivered(result)
    used = {s.cpu for s in result.samples()}
    if not used <= {int(n) for n in numbers.split(",")}:
        yield f"samples are given to CPUs {sorted(used)}"


def a_cpu_comes(bench):
    """A CPU comes online that the helper did not see at its start: code that ran there must still
    be found. Only the helper's view is changed."""
    if os.cpu_count() < 2:
        raise Skip("one CPU")
    online = bench.directory / "online"
    online.write_text("0\n", encoding="ascii")
    helper = [tool("unshare"), "--mount", tool("sh"), "-c",
              'mount --bind "$0" /sys/devices/system/cpu/online && exec "$@"', str(online),
              *bench.helper]
    taskset = tool("taskset")
    workload = [taskset, "-c", "0", tool("sh"), "-c", f"""
                echo 0-{os.cpu_count() - 1} > {online}
                {taskset} -c 1 {bench.deep()} 20 4 & p=$!
                sleep 0.2
                {taskset} -p -c 0 $p >/dev/null
                wait"""]
    result = bench.play(workload, helper=helper)
    end = result["workload"]["ended"]
    late = [s for s in result.samples() if s.time > end - 2 * 10**9]
    whole = sum(not captures.syscap.is_synthetic(s.user[-1]) and len(s.user) > 20
                for s in late if s.user)
    if whole < 500 or whole < 0.97 * len(late):
        yield f"{whole} of {len(late)} stacks are whole two seconds later"


def sixty_four_rings(bench):
    copies = 64 // os.cpu_count()
    numbers = ",".join(str(3 * i + 1) for i in range(copies * os.cpu_count()))
    result = bench.play([bench.deep(), "20", "1", "4"], f"--copies={copies}",
                        f"--cpu-numbers={numbers}")
    # Each event begins with a whole period, which is 32 times as long.
    yield from delivered(result, 95.0)
    report = captures.judged(result.stream, result.tree)
    if report["complete_percent"] < 99:
        yield f"{report['complete_percent']:.2f} % of the stacks are complete"


# Not here: 11 (tests/aarch64 is for other machines), 23 (bytes read beyond an end are seen by fuzzers
# and sanitizers, not from outside) and 32 (a static variable, likewise).
def tables_are_kept(bench):
    store = bench.directory / "store"
    store.mkdir(mode=0o700)
    helper = [tool("env"), f"LIVE_UNWINDER_STORE={store}", *bench.helper]
    for _ in range(2):
        bench.outcome(bench.python_workload(1), helper=helper)
    if not any(path.suffix == ".table" for path in store.iterdir()):
        yield "the store is empty"


CHECKS = {
    "01-marker": Check("kernel-mode samples keep the marker before their user frames",
                       marker_stays),
    "02-junk-chain": Check("a longer chain of frame pointers does not win", known("junk-chain")),
    "02-outside": Check("no user address outside every mapping", nothing_outside, common=True),
    "03-deep": Check("400 calls are whole", known("recursion-400")),
    "04-compat": Check("32-bit tasks are unwound", known("chain-32")),
    "05-no-aslr": Check("a clipped copy of the stack is used", known("no-aslr")),
    "06-sizes": Check("sizes that disagree do no harm", sizes_that_disagree, common=True),
    "07-dying": Check("samples of dying tasks do no harm", dying_tasks),
    "08-short": Check("processes that have ended are unwound", known("short-lived")),
    "08-commands": Check("a loop of short commands is complete", short_processes_are_unwound),
    "09-exec": Check("exec changes the mappings at once", known("exec"), common=True),
    "09-pid": Check("a pid used again has the mappings of its new owner", known("reuse-pid"),
                    common=True),
    "10-fork": Check("children that never call exec are unwound", known("brief-fork")),
    "10-late-map": Check("children are unwound after their parents have mapped something",
                         known("late-map"), common=True),
    "12-descriptors": Check("descriptors do not grow with processes", flat_descriptors),
    "13-mappings": Check("each new mapping does not cost the process", cheap_mappings),
    "13-remap": Check("stacks stay whole while mappings come and go", known("remap"), common=True),
    "14-memory": Check("memory does not grow with processes", flat_memory),
    "15-copies": Check("nothing is lost with 60 KiB copies", no_loss_with_large_copies),
    "15-rate": Check("nothing is lost at 4 kHz", no_loss_at_4_khz),
    "16-stopped": Check("a stopped reader costs no sample", no_loss_at_a_stopped_reader),
    "16-slow": Check("a slow reader costs no sample", no_loss_at_a_slow_reader),
    "16-held": Check("a page that nobody ever gets holds up nothing",
                     held_page_holds_up_nothing, common=True),
    "17-start": Check("nothing blocks before the reader runs", no_loss_before_the_reader_runs),
    "17-dump": Check("only what was sampled is described", kernel_threads_are_nothing),
    "18-names": Check("processes have their full command lines", full_command_lines),
    "19-own": Check("own samples are left out", own_samples_are_left_out),
    "20-counts": Check("the capture says what was lost", counts_at_the_end),
    "21-blocked": Check("stops within 100 ms while the pipe is blocked",
                        stops("blocked", "--stall=5000", "--stack-size=16384")),
    "21-client": Check("stops in the client's way without an error",
                       stops("client", "--pace=50000")),
    "21-last": Check("a client that stops has all but the last moment",
                     the_last_samples_come_in_time, common=True),
    "21-killed": Check("the client's end is no error", stops("killed")),
    "21-early": Check("a client that is gone at once is no error", early_end_is_no_error),
    "22-build-id": Check("build-ids of any length are copied as they are",
                         build_ids_are_no_danger, common=True),
    "24-debug-frame": Check("a file with .debug_frame alone is unwound",
                            known("chain-debug-frame"), common=True),
    "25-says": Check("a stack that was cut says so", says_truncated),
    "25-altstack": Check("a signal stack is named as the end", known("signal-stack")),
    "26-deleted": Check("a deleted executable is unwound and named", known("deleted")),
    "26-replaced": Check("a replaced executable is not mistaken", known("replaced"), common=True),
    "27-vdso": Check("the vDSO of processes that have ended is unwound", known("brief-vdso")),
    "28-empty": Check("a record without size does not make it run away", record_without_size),
    "29-leader": Check("threads outlive their leader", known("leader-gone"), common=True),
    "30-guest": Check("modes are compared, not bits", guests_are_not_kernel),
    "31-cost": Check("a stack costs little", cheap_samples, by_hand=True),
    "33-help": Check("the help text is right", help_is_about_this_program),
    "client-digests": Check("only what the client can digest is sent", digestible, common=True),
    "keeps-tables": Check("what was compiled once is there the next time", tables_are_kept,
                          common=True),
    "capture-file": Check("a regular file as capture", other_captures("file"), common=True),
    "capture-socket": Check("a socket as capture", other_captures("socket"), common=True),
    "cpus-sparse": Check("CPU numbers need not be dense", sparse_cpus, common=True),
    "cpus-come": Check("what a new CPU executes is found", a_cpu_comes, common=True),
    "cpus-64": Check("64 rings behave as two do", sixty_four_rings, common=True),
}
