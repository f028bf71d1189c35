#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""test-read-capture.py READER LIVE_UNWINDER DEMO - our captures, read by Sysprof's own reader.

READER is read-capture.c, linked to upstream's static library. First it is shown captures written by
hand, good and bad: it must count the good ones right and refuse each bad one. Then a real recording
of DEMO: every number must be the one that tests/judge/syscap.py, which shares no code with either
side, counts. Speaks TAP. The recording is skipped where perf_event_open is not allowed."""

import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../judge"))
import capwriter  # noqa: E402
import syscap     # noqa: E402

EXIT_REFUSED = 125      # live-unwinder could not record


def ask_reader(reader, path):
    done = subprocess.run([reader, path], capture_output=True, text=True, check=False, timeout=60)
    seen = json.loads(done.stdout) if done.stdout else {}
    return done.returncode, seen, done.stderr.strip()


def expected(path):
    """Returns the numbers that read-capture prints, from the independent reader."""
    capture = syscap.read(path)
    xor = 0
    for sample in capture.samples:
        for address in sample.addresses:
            xor ^= address
    return {"samples": len(capture.samples), "maps": len(capture.maps),
            "processes": len(capture.processes), "forks": len(capture.forks),
            "exits": len(capture.exits), "logs": len(capture.logs),
            "addresses": sum(len(s.addresses) for s in capture.samples), "address_xor": xor,
            "build_ids": sum(bool(m.build_id) for m in capture.maps),
            "named": len(capture.jitmap), "start": capture.time}


def reported(seen):
    types = seen["types"]
    return {"samples": types[2], "maps": types[3], "processes": types[4], "forks": types[5],
            "exits": types[6], "logs": types[12]} | {key: seen[key] for key in (
                "addresses", "address_xor", "build_ids", "named", "start")}


def good_capture():
    writer = capwriter.Writer(time=1000, end_time=9000)
    writer.process("demo --fast").map(0x1000, 0x2000, 0, "/bin/demo", build_id="ab" * 20)
    writer.map(0x3000, 0x4000, 0, "/lib/plain", inode=7)
    writer.jitmap({capwriter.SYNTHETIC + 1: "[truncated stack copy]"})
    writer.sample([0x1004, 0x1100], kernel=[0xffffffff81000000])
    writer.sample([0x1008, capwriter.SYNTHETIC + 1], time=3000)
    writer.metadata("live-unwinder.stats", "{}")
    return writer


# Each change of the good capture, and a word of the complaint that it must cause.
BAD = {
    "a sample too deep for the viewer": (lambda w: w.sample([0x1004] * 1024), "1025 addresses"),
    "an empty sample": (lambda w: w.words([]), "0 addresses"),
    "a map without a process": (lambda w: w.map(1, 2, 0, "/x", pid=-1), "crashes the viewer"),
    "a map with build-id and inode": (
        lambda w: w.map(1, 2, 0, "/x", build_id="ab" * 20, inode=3), "and inode"),
    "a map of no length": (lambda w: w.map(2, 2, 0, "/x"), "ends before it starts"),
    "a name for a real address": (lambda w: w.jitmap({0x1000: "x"}), "JIT map"),
    "a frame type of newer versions": (lambda w: w.frame(16, bytes(8)), "stops there"),
    "a sample before the beginning": (lambda w: w.sample([1], time=5), "before the start"),
}


class Tap:
    def __init__(self):
        self.count = self.failed = 0

    def say(self, good, name, why=""):
        self.count += 1
        self.failed += not good
        print(f"{'ok' if good else 'not ok'} {self.count} {name}")
        if why and not good:
            print("\n".join("# " + line for line in why.splitlines()))

    def skip(self, name, why):
        self.count += 1
        print(f"ok {self.count} {name} # SKIP {' '.join(why.split())}")


def test_by_hand(tap, reader, directory):
    path = good_capture().save(os.path.join(directory, "good.syscap"))
    status, seen, said = ask_reader(reader, path)
    good = status == 0 and reported(seen) == expected(path) and seen["last"] == 3000
    tap.say(good, "a capture written by hand is read", f"{said}\n{seen}\n{expected(path)}")
    for name, (spoil, complaint) in BAD.items():
        writer = good_capture()
        spoil(writer)
        path = writer.save(os.path.join(directory, "bad.syscap"))
        status, _, said = ask_reader(reader, path)
        tap.say(status == 1 and complaint in said, f"{name} is refused", f"{status}: {said}")


def check_recording(path, status, seen, said):
    """Returns everything that is wrong with a real capture, as text."""
    problems = []
    if status != 0:
        problems.append(f"upstream's reader: {said}")
        return problems
    want = expected(path)
    if reported(seen) != want:
        problems.append(f"upstream's reader sees {reported(seen)}, ours {want}")
    capture = syscap.read(path)
    if capture.truncated or capture.open_files:
        problems.append(f"cut short: {capture.truncated}, files without end: {capture.open_files}")
    if len(capture.samples) < 300:
        problems.append(f"only {len(capture.samples)} samples of a second of CPU time")
    for kind in ("maps", "processes", "build_ids", "named"):
        if want[kind] == 0:
            problems.append(f"no {kind} in the capture")
    if seen["end"] - seen["start"] > 60e9 or seen["last"] < capture.samples[-1].time:
        problems.append(f"times: {seen['start']} {seen['last']} {seen['end']}")
    return problems


def test_recording(tap, reader, recorder, demo, directory):
    path = os.path.join(directory, "demo.syscap")
    name = "a recording is read as we meant it"
    if not os.path.exists(recorder):
        tap.skip(name, "live-unwinder was not built")
        return
    done = subprocess.run([recorder, "-q", "-o", path, "--", demo, "1"], capture_output=True,
                          text=True, check=False, timeout=60, stdin=subprocess.DEVNULL)
    if done.returncode == EXIT_REFUSED and "perf_event" in done.stderr:
        tap.skip(name, done.stderr.strip() or "recording is not possible here")
        return
    if done.returncode != 0:
        tap.say(False, name, f"live-unwinder: status {done.returncode}: {done.stderr}")
        return
    problems = check_recording(path, *ask_reader(reader, path))
    tap.say(not problems, name, "\n".join(problems))
    test_cut(tap, reader, path, directory)


def test_cut(tap, reader, path, directory):
    """The recorder may be killed at any moment: the file so far must be readable."""
    with open(path, "rb") as stream:
        data = stream.read()
    cut_path = os.path.join(directory, "cut.syscap")
    bad = []
    for part in (0.3, 0.6, 0.999):
        with open(cut_path, "wb") as out:
            out.write(data[:int(len(data) * part)])
        status, seen, said = ask_reader(reader, cut_path)
        if status != 0 or reported(seen)["samples"] != expected(cut_path)["samples"]:
            bad.append(f"cut at {part}: {status} {said}")
    tap.say(not bad, "a recording cut short is read up to the cut", "\n".join(bad))


def main(argv):
    reader, recorder, demo = argv[1:4]
    tap = Tap()
    with tempfile.TemporaryDirectory() as directory:
        test_by_hand(tap, reader, directory)
        test_recording(tap, reader, recorder, demo, directory)
    print(f"1..{tap.count}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
