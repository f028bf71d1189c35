#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""test_helper.py [PLAY] - tests the tools of this directory, before they judge anybody's helper."""

import os
import re
import struct
import sys
import unittest

import captures
import checks
import compare
import replay

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "judge"))
import capwriter  # noqa: E402  (needs the path above)
import syscap  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
KERNEL, USER = capwriter.CONTEXT_KERNEL, capwriter.CONTEXT_USER
PLAY = sys.argv.pop(1) if len(sys.argv) > 1 else None


def addresses_of(writer):
    return [s.addresses for s in captures.parse(bytes(writer.data)).capture.samples]


class Captures(unittest.TestCase):
    def test_return_addresses(self):
        plain = capwriter.Writer().words([USER, 0x1010, 0x2020, 0x3030])
        self.assertEqual(addresses_of(plain), [(USER, 0x1010, 0x201f, 0x302f)])
        ours = capwriter.Writer().metadata(captures.CONVENTION, captures.MINUS_ONE)
        ours.words([USER, 0x1010, 0x2020])
        self.assertEqual(addresses_of(ours), [(USER, 0x1010, 0x2020)])

    def test_missing_marker(self):
        writer = capwriter.Writer().words([KERNEL, 1 << 63, 0x1010, 0x2020])
        stream = captures.parse(bytes(writer.data))
        self.assertEqual(stream.without_marker, 1)
        self.assertEqual(stream.capture.samples[0].addresses,
                         (KERNEL, 1 << 63, USER, 0x1010, 0x201f))
        self.assertEqual(stream.raw[0].addresses, (KERNEL, 1 << 63, 0x1010, 0x2020))

    def test_uninitialised_bytes(self):
        writer = capwriter.Writer().words([USER, 1]).map(0x1000, 0x2000, 0, "/a")
        data = bytearray(writer.data)
        data[256 + 17:256 + 24] = b"garbage"
        data[256 + 26:256 + 28] = b"xx"
        data[-2:] = b"@7"
        capture = captures.parse(bytes(data)).capture
        self.assertEqual(len(capture.samples), 1)
        self.assertEqual(capture.maps[0].build_id, "")

    def test_build_id_stays(self):
        writer = capwriter.Writer().map(0x1000, 0x2000, 0, "/a", "0123456789abcdef")
        self.assertEqual(captures.parse(bytes(writer.data)).capture.maps[0].build_id,
                         "0123456789abcdef")

    def test_what_harms_the_viewer(self):
        writer = capwriter.Writer().words([USER, 1], pid=-1).process("x", pid=-1)
        writer.words([USER] + [1] * 1024).words([USER, 1])
        stream = captures.parse(bytes(writer.data))
        self.assertEqual((stream.negative_pids, stream.too_long), (2, 1))
        self.assertEqual(len(stream.capture.samples), 1)

    def test_end_states(self):
        at = capwriter.SYNTHETIC + 1
        writer = capwriter.Writer().map(at, at + 1, 0, "[depth limit]").words([USER, 0x10, at])
        capture = captures.parse(bytes(writer.data)).capture
        self.assertEqual(capture.jitmap, {at: "[depth limit]"})
        self.assertEqual(capture.maps, [])
        self.assertEqual(capture.samples[0].addresses, (USER, 0x10, at))

    def test_outside(self):
        writer = capwriter.Writer().map(0x1000, 0x2000, 0, "/a")
        writer.words([USER, 0x1001, 0x1801, 0x5001])
        stream = captures.parse(bytes(writer.data))
        for pid, percent in ((1, 100 / 3), (2, 0)):
            tree = captures.Tree([(pid, 0, 0)])
            self.assertAlmostEqual(captures.outside_percent(stream, tree), percent)

    def test_tree(self):
        tree = captures.Tree([(5, 1000, 2000), (5, 9000000, 0)])
        at = {t: tree.has(syscap.Sample(t, 5, 5, 0, ())) for t in (999, 1500, 8000000, 9000001)}
        self.assertEqual(at, {999: False, 1500: True, 8000000: False, 9000001: True})


class Table(unittest.TestCase):
    def test_every_check_is_a_test(self):
        with open(os.path.join(HERE, "meson.build"), encoding="utf-8") as file:
            listed = re.search(r"helper_checks = \[(.*?)\]", file.read(), re.DOTALL).group(1)
        self.assertEqual(re.findall("'([^']*)'", listed), [n for n, c in checks.CHECKS.items() if not c.by_hand])


class Replay(unittest.TestCase):
    def test_record_size(self):
        record = replay.sample(1, 1, 0x1000, [replay.CONTEXT_USER, 0x1000])
        kind, misc, size = struct.unpack_from("<IHH", record)
        self.assertEqual((kind, misc, size), (replay.SAMPLE, replay.USER, len(record)))
        self.assertEqual(len(record) % 8, 0)

    def test_helper(self):
        ended = replay.run([sys.executable, os.path.join(HERE, "fake-helper.py")], [[], []],
                           seconds=0.5, numbers=[3, 70])
        # The fake helper checks its environment; only play sets it as sysprofd does.
        self.assertEqual(ended.status, 4, ended.messages)
        self.assertEqual([s.cpu for s in captures.parse(ended.data).capture.samples], [3, 70])


@unittest.skipUnless(PLAY and os.geteuid() == 0, "needs root and the program play")
class Play(unittest.TestCase):
    def play(self, *options, words=()):
        try:
            fake = [sys.executable, os.path.join(HERE, "fake-helper.py"), *words]
            return compare.play(PLAY, fake, ["true"], "/dev/null", ["--settle=100", *options])
        except RuntimeError as error:
            if str(error).startswith("SKIP"):
                self.skipTest(str(error)[5:])
            raise

    def test_command_line(self):
        result = self.play("--kallsyms")
        self.assertEqual((result["exit"], result["killed"], result["fault"]), (0, False, None))
        self.assertEqual(result["samples"], result["events"])
        self.assertEqual(result["last_log"],
                         "--capture-fd --event-fd --kallsyms --perf-fd --stack-size")

    def test_workload(self):
        result = self.play()
        self.assertEqual(result["workload"]["status"], 0)
        self.assertEqual(result["tree"][0][0], result["workload"]["pid"])
        self.assertGreater(result["fds"], 4)
        self.assertGreater(result["rss_anon_kib"], 1000)

    def test_many_events(self):
        result = self.play("--copies=3")
        self.assertEqual((result["events"] % 3, result["samples"]), (0, result["events"]))

    def test_full_pipe(self):
        result = self.play("--stop=client", "--unread=20000", words=["long"])
        self.assertFalse(result["killed"])
        self.assertNotEqual(result["exit"], 0)


if __name__ == "__main__":
    unittest.main()
