#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""Tests of tests/vm: above all that a guest which gave less than it must is never taken for good.
No kernel is booted and nothing is downloaded."""

import gzip
import importlib.machinery
import importlib.util
import io
import json
import os
import sys
import tarfile
import tempfile
import unittest
import unittest.mock
from contextlib import redirect_stdout
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
loader = importlib.machinery.SourceFileLoader("vm_run", str(HERE / "run"))
run = importlib.util.module_from_spec(importlib.util.spec_from_loader("vm_run", loader))
loader.exec_module(run)
guest, kernels = run.guest, run.kernels

STATS = {"samples": 600, "complete_percent": 99.0, "lost": {"samples": 0, "exact": True},
         "throttled": 0, "cpu": {"us_per_sample": 1000.0},
         "kernel_walks": {"active": True, "percent": 90.0, "reason": "Linux 6.1", "reasons": {"walked": 500}}}
SUMMARY = "32 samples\nLost: 0 (0.00 %); throttled: 0 times\n"
SUMMARY_OLD = "Lost: 3 at least, this kernel has no exact count (1.00 %); throttled: 0 times\n"


def entries(compressed):
    """Name -> (mode, contents) of a cpio archive."""
    data, at, found = gzip.decompress(compressed), 0, {}
    while True:
        fields = [int(data[i:i + 8], 16) for i in range(at + 6, at + 110, 8)]
        assert data[at:at + 6] == b"070701", at
        name = data[at + 110:at + 110 + fields[11] - 1].decode()
        start = at + 110 + fields[11]
        start += -start % 4
        if name == "TRAILER!!!":
            return found
        found[name] = fields[1], data[start:start + fields[6]]
        at = start + fields[6]
        at += -at % 4


class Archive(unittest.TestCase):
    def test_links_on_the_way_are_kept(self):
        with tempfile.TemporaryDirectory() as directory:
            directory = Path(os.path.realpath(directory))
            (directory / "real").mkdir()
            (directory / "real/file-2").write_bytes(b"12345")
            (directory / "real/file").symlink_to("file-2")
            (directory / "link").symlink_to("real")
            archive = guest.Archive()
            archive.add_host_file(directory / "link/file")
            archive.add_host_file(directory / "real/file")
            found = entries(archive.finish())
        base = str(directory).lstrip("/")
        self.assertEqual(found[f"{base}/link"], (0o120777, b"real"))
        self.assertEqual(found[f"{base}/real/file"], (0o120777, b"file-2"))
        self.assertEqual(found[f"{base}/real/file-2"], (0o100755, b"12345"))
        self.assertEqual(found[base][0], 0o40755)
        self.assertEqual(len(found), len(Path(base).parts) + 4)

    def test_libraries(self):
        found = guest.libraries_of(Path(sys.executable))
        self.assertTrue(any("ld-linux" in name for name in found), found)


class Kernels(unittest.TestCase):
    def test_newest(self):
        names = ["linux-image-5.10.0-9-amd64", "linux-image-5.10.0-30-amd64", "linux-image-amd64",
                 "linux-image-5.10.0-31-rt-amd64", "linux-image-5.10.0-31-cloud-amd64",
                 "linux-image-5.10.0-31-amd64-dbg", "linux-image-6.1.0-0.deb11.52-amd64",
                 "linux-image-7.2.9+deb13-amd64", "linux-image-7.2.12+deb13-amd64",
                 "linux-binary-7.2.12+deb13-amd64", "linux-image-7.10.1+deb13-amd64-unsigned"]
        for version, want in (("5.10.", names[1]), ("6.1.", names[6]), ("", names[9])):
            self.assertEqual(kernels.newest(names, version), want)
        with self.assertRaises(kernels.NoKernel):
            kernels.newest(names, "6.12.")

    def test_a_failing_command_says_why(self):
        with self.assertRaisesRegex(kernels.NoKernel, "sh: gone"):
            kernels.run("sh", "-c", "echo gone >&2; exit 3")

    def test_lost_counter(self):
        for release, version, want in (
                ("5.10.0-28-amd64", "#1 SMP Debian 5.10.203-1 (2023-12-01)", False),
                ("5.10.0-46-amd64", "#1 SMP Debian 5.10.262-1 (2026-09-01)", True),
                ("5.19.17", "#1 SMP", False), ("6.1.0-56-amd64", "#1", True), ("7.2.12", "", True)):
            self.assertEqual(run.has_lost_counter(release, version), want, release)


class Guest(unittest.TestCase):
    def boot(self, *emulator, time_limit=20):
        with tempfile.TemporaryDirectory() as directory:
            old, guest.QEMU = guest.QEMU, []
            try:
                return guest.run("kernel", "initramfs", Path(directory), time_limit,
                                 guest.X86_64._replace(qemu=list(emulator)), cpus=())
            finally:
                guest.QEMU = old

    def test_failures(self):
        for emulator, said in ((("sh", "-c", "echo no machine >&2; exit 2"), "2: no machine"),
                               (("true",), "no whole results")):
            with self.assertRaisesRegex(guest.GuestError, said):
                self.boot(*emulator)
        with self.assertRaisesRegex(guest.GuestError, "not done after"):
            self.boot("sh", "-c", "exec sleep 60", time_limit=0.1)

    def test_results(self):
        # The arguments are -kernel K -initrd I -append A -serial CONSOLE -serial RESULTS.
        script = ('cd "$(dirname "${10#file:}")"; echo 6.1 >release; '
                  'tar -czf "${10#file:}" ./release')
        self.assertEqual(self.boot("sh", "-c", script, "sh"), {"release": b"6.1\n"})
        with self.assertRaisesRegex(guest.GuestError, "no whole results"):
            self.boot("sh", "-c", script + '; truncate -s -20 "${10#file:}"', "sh")


class Faults(unittest.TestCase):
    def results(self, **changes):
        """The output of a guest without faults, except that its captures have no samples."""
        found = {"release": b"6.1.0-56-amd64\n", "version": b"#1 SMP Debian 6.1.192-2\n"}
        for name in run.CASES:
            found[f"{name}.log"] = json.dumps(STATS).encode()
            found[f"{name}.status"] = b"0\n"
        found[f"{run.TEXT}.log"], found[f"{run.TEXT}.status"] = SUMMARY.encode(), b"0\n"
        found[f"{run.NAMESPACE}.tap"] = json.dumps(STATS).encode()
        found[f"{run.NAMESPACE}.syscap"] = b"some"
        found.update(changes)
        return found

    def faults(self, results, stack_faults=(), only=()):
        old, run.faults_of_stacks = run.faults_of_stacks, lambda *_: stack_faults
        try:
            with redirect_stdout(io.StringIO()):
                return list(run.faults_of(results, None, None, only))
        finally:
            run.faults_of_stacks = old

    def assert_faults(self, said, name, text):
        faults = self.faults(self.results(**{name: text.encode()}))
        self.assertEqual(len(faults), 1, faults)
        self.assertRegex(faults[0], said)

    def test_good(self):
        self.assertEqual(self.faults(self.results()), [])

    def test_bad_figures(self):
        less = json.dumps({**STATS, "complete_percent": 96.9})
        vague = json.dumps({**STATS, "lost": {"samples": 0, "exact": False}})
        self.assert_faults("chain: 96.90 % complete", "chain.log", less)
        self.assert_faults("chain: lost.exact is False", "chain.log", vague)
        self.assert_faults("chain: no statistics", "chain.log", "killed\n")
        self.assert_faults("chain: the recorder ended with 125", "chain.status", "125\n")
        self.assert_faults("text: the summary says", "text.log", SUMMARY_OLD)
        self.assert_faults("text: 0 lines", "text.log", "nothing\n")

    def test_doctor(self):
        said = """\
  ok     perf events can be opened (kernel.perf_event_paranoid is 2)
  ok     rings of 4096 KiB per CPU (4096 KiB wanted)
  ok     sample ourselves: 198 samples, 198 with registers and stack
  ok     captures can be written to this directory
  ok     kernel symbols: functions of the kernel have names
  ok     exact count of lost samples: otherwise the figure is a lower bound
  ok     stacks are unwound in the kernel: deep ones are whole (Linux 6.1; 15704 instructions verified)
"""
        def faults(text, status=b"0\n"):
            return self.faults(self.results(**{f"{run.DOCTOR}.tap": text.encode(), f"{run.DOCTOR}.status": status}))

        self.assertEqual(faults(said), [])
        self.assertEqual(faults(said, b"1\n"), ["doctor: ended with 1"])
        for old, new in (("198 with", "0 with"), ("ok     exact", "no     exact"), ("Linux 6.1;", "Linux 6.12;"),
                         ("ok     rings", "FAILED rings"), ("198 samples, 198", "0 samples, 0")):
            self.assertEqual(len(faults(said.replace(old, new))), 1, old)
        self.assertEqual(len(faults("")), 7)

    def test_helper(self):
        """The client tells of the helper and of the capture; only the last process of the case counts, whose files are
        read."""
        said = {"samples": 600, "lost": 0, "fault": None, "last_log": "600 samples", "exit": 0, "signal": 0,
                "killed": False}
        judged = []

        def faults(**changes):
            text = json.dumps({**said, **changes})
            with tempfile.TemporaryDirectory() as directory, \
                 unittest.mock.patch.object(run.captures, "read", lambda path: captures.Stream(capture)), \
                 unittest.mock.patch.object(run, "faults_of_capture", lambda *words: judged.append(words) or ()), \
                 redirect_stdout(io.StringIO()):
                results = {f"{run.HELPER}.tap": text.encode(), f"{run.HELPER}.syscap": b"some"}
                return list(run.faults_of_helper(results, programs, Path(directory)))

        captures, capture = run.captures, run.stacks.syscap.Capture()
        images = {"chain": object(), "other": object()}
        programs = unittest.mock.Mock(by_name=images.get, image_of=lambda m: images[m.path])
        capture.maps = [run.stacks.syscap.Map(time, pid, 0, 1, 0, 0, path, "")
                        for time, pid, path in ((10, 1, "chain"), (30, 2, "chain"), (20, 3, "chain"), (40, 4, "other"))]
        capture.samples = [run.stacks.syscap.Sample(50, pid, pid, 0, ()) for pid in (1, 2, 3, 4, 2)]
        self.assertEqual(faults(exit=0), [])
        name, kept, _, share = judged[0]
        self.assertEqual((name, [s.pid for s in kept.samples], share), (run.HELPER_CASE, [2, 2], run.HELPER_SHARE))
        self.assertEqual(faults(exit=1), ["exit 1, signal 0, killed False"])
        self.assertEqual(faults(killed=True), ["exit 0, signal 0, killed True"])
        self.assertEqual(faults(fault="frame of 3 bytes at 8"), ["the capture: frame of 3 bytes at 8"])
        capture.maps = []
        judged.clear()
        self.assertEqual(faults(exit=0), [])
        self.assertEqual(judged[0][1].samples, [])
        with redirect_stdout(io.StringIO()):
            self.assertEqual(list(run.faults_of_helper({}, programs, None)), ["no result of the client: "])

    def test_helper_may_run_again(self):
        """A fault of helper mode is one of that case, which may run again alone."""
        results = self.results(**{f"{run.HELPER}.tap": b"", f"{run.HELPER}.status": b"1\n"})
        faults = self.faults(results)
        self.assertEqual(faults, ["helper: no result of the client: "])
        self.assertEqual(run.only_of({run.case_of(fault) for fault in faults}, results), (run.HELPER,))

    def test_deep_stacks(self):
        """A copy holds none of them, so the samples before the tables are made are not complete."""
        deep = {f"{name}.status": b"0" for name in (*run.SIGNED, *run.WALKED)}
        deep.update({f"{name}.log": json.dumps(STATS).encode() for name in (*run.SIGNED, *run.WALKED)})
        few = json.dumps({**STATS, "complete_percent": 60.0}).encode()
        self.assertEqual(self.faults(self.results(**deep)), [])
        self.assertEqual(self.faults(self.results(**{**deep, "recursion-400-kernel.log": few})), [])
        self.assertEqual(len(self.faults(self.results(**{**deep, "signal-stack-kernel.log": few}))), 1)
        case = run.known_case("recursion-400-kernel")
        self.assertEqual(case.options[:2], ["-s", "8192"])
        self.assertEqual([least for _, least in case.seen], [40])

    def test_deepest_stacks(self):
        """They are recorded alone, in a machine of their own."""
        results = {**self.results(), f"{run.DEEPEST}.status": b"0\n", f"{run.DEEPEST}.log": json.dumps(STATS).encode()}
        self.assertEqual(self.faults(results, only=(run.DEEPEST,)), [])
        self.assertNotIn(run.DEEPEST, run.commands(Path("/nowhere")))
        results[f"{run.DEEPEST}.status"] = b"1\n"
        self.assertEqual(len(self.faults(results, only=(run.DEEPEST,))), 1)

    def test_nothing_walked(self):
        walks = {**STATS["kernel_walks"], "reasons": {"no-process": 600}}
        copied = json.dumps({**STATS, "kernel_walks": walks}).encode()
        results = self.results(**{f"{name}.log": copied for name in run.CASES})
        self.assertEqual(self.faults(results), [])
        results[f"{run.NAMESPACE}.tap"] = copied
        self.assertEqual(self.faults(results), ["nothing was walked in the kernel"])

    def test_old_kernel(self):
        faults = self.faults(self.results(release=b"5.10.0-9-amd64", version=b"Debian 5.10.70-1"))
        self.assertEqual(len(faults), len(run.CASES) + 2, faults)

    def test_nothing_recorded(self):
        results = self.results()
        for name in run.CASES:
            del results[f"{name}.status"]
        del results[f"{run.NAMESPACE}.syscap"]
        self.assertEqual(len(self.faults(results)), len(run.CASES) + 1)

    def test_wrong_stacks(self):
        faults = self.faults(self.results(), ["wrong"])
        self.assertEqual(faults, [f"{name}: wrong" for name in (*run.CASES, run.NAMESPACE)])

    def test_no_capture(self):
        with tempfile.TemporaryDirectory() as directory:
            faults = list(run.faults_of_stacks("chain", b"", None, Path(directory)))
        self.assertEqual(len(faults), 1)
        self.assertRegex(faults[0], "the capture: ")


WHOLE = {"release": b"6.1"}


class Patience(unittest.TestCase):
    """Two runs of a kernel, and what is made of them."""

    def setUp(self):
        self.asked = []

    def faults(self, *runs):
        runs = list(runs)
        with redirect_stdout(io.StringIO()), unittest.mock.patch.object(
                run, "test_kernel", lambda *arguments: (self.asked.append(arguments[-2]), runs.pop(0))[1]):
            faults = run.test_patiently(None, None, None, None, None, float("inf"))
        self.assertEqual(runs, [])
        return faults

    def test_no_fault(self):
        self.assertEqual(self.faults(([], WHOLE)), [])

    def test_the_second_run_is_good(self):
        self.assertEqual(self.faults((["fork: few"], WHOLE), ([], WHOLE)), [])

    def test_twice(self):
        self.assertEqual(self.faults((["fork: few"], WHOLE), (["fork: wrong"], WHOLE)), ["fork: wrong"])

    def test_each_once(self):
        self.assertEqual(self.faults((["fork: few"], WHOLE), (["chain: few"], WHOLE)), [])

    def test_one_of_them_twice(self):
        self.assertEqual(self.faults((["fork: few"], WHOLE), (["chain: few", "fork: few"], WHOLE)),
                         ["fork: few"])

    def test_a_machine_that_broke_down_says_nothing(self):
        self.assertEqual(self.faults((["panic"], None), (["fork: few"], WHOLE), (["fork: few"], WHOLE)),
                         ["fork: few"])
        self.assertEqual(self.faults((["fork: few"], WHOLE), (["panic"], None), ([], WHOLE)), [])

    def test_breaking_down_is_never_good(self):
        self.assertEqual(self.faults(*[(["panic"], None)] * 3), ["panic"])
        self.assertEqual(self.faults((["fork: few"], WHOLE), (["panic"], None), (["panic"], None)),
                         ["panic"])

    def test_only_cases_with_faults_run_again(self):
        self.faults((["fork: few", "bpf: ended with 1"], WHOLE), ([], WHOLE))
        self.assertEqual(self.asked, [(), ("bpf", "fork")])

    def test_a_fault_of_the_machine_runs_everything_again(self):
        self.faults((["fork: few", "nothing was walked in the kernel"], WHOLE), ([], WHOLE))
        self.assertEqual(self.asked, [(), ()])
        self.asked = []
        self.faults((["panic"], None), ([], WHOLE))
        self.assertEqual(self.asked, [(), ()])

    def test_results_of_both_runs(self):
        """Cases that ran again have only the new results, and no others are judged."""
        earlier = {"release": b"6.1", "version": b"", "fork.status": b"1", "fork.log": b"old", "chain.status": b"0",
                   "bpf.status": b"0", "bpf.tap": b"ok"}
        seen = {}
        with tempfile.TemporaryDirectory() as directory, redirect_stdout(io.StringIO()), \
                unittest.mock.patch.object(run, "faults_of", lambda results, *rest: seen.update(results) or [rest[-1]]), \
                unittest.mock.patch.object(run.guest, "run", lambda *_, only: {"release": b"6.1", "fork.status": b"0"}):
            faults, results = run.test_kernel(None, None, None, Path(directory), None, ("fork",), earlier)
        self.assertEqual(faults, [("fork",)])
        self.assertEqual(results, {**{name: data for name, data in earlier.items() if name != "fork.log"},
                                   "fork.status": b"0"})
        self.assertEqual(seen, results)

    def test_no_result_of_a_case_that_ran_again(self):
        with redirect_stdout(io.StringIO()):
            faults = list(run.faults_of({"release": b"6.1", "version": b""}, None, None, ("bpf", "fork")))
        self.assertEqual(faults, ["fork: the recorder ended with none", "bpf: ended with none"])


if __name__ == "__main__":
    unittest.main()
