#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""Programs whose names would take very long, or very much memory, to read.

usage: test_naming.py LIVE-UNWINDER COMPILER [unittest arguments]

They are recorded as any other program; test-naming.c has more such files, for the part that reads
them.
"""

import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from symbols import Program, symbol

LIVE_UNWINDER, COMPILER = os.path.abspath(sys.argv[1]), sys.argv[2]
HERE = os.path.dirname(os.path.abspath(__file__))
RECORD_SECONDS = 1
END_SECONDS = 45        # names may take 30 s in total
STOP_SECONDS = 1.5      # a second after a signal, and what a busy machine adds
MAX_KIB = 256 << 10
LONG_NAME = 65535

# Runs code at an address that is the same in each process, after a line has come.
GENERATED = """
import ctypes, sys
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + 3 * [ctypes.c_int] + [ctypes.c_long]
address = libc.mmap(0x10000000, 4096, 7, 0x32, -1, 0)
ctypes.memmove(address, b"\\xeb\\xfe", 2)
print("ready", flush=True)
sys.stdin.readline()
ctypes.CFUNCTYPE(None)(address)()
"""


def peak_kib(pid):
    """Returns the peak of a process that was not waited for; 0 if it has ended."""
    with open(f'/proc/{pid}/status', encoding='ascii') as file:
        return max([int(line.split()[1]) for line in file if line.startswith('VmHWM')], default=0)


@unittest.skipUnless(platform.machine() == 'x86_64', 'the programs are for x86-64')
class Naming(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        self.capture = os.path.join(self.directory, 'out.syscap')
        self.program = os.path.join(self.directory, 'hostile')

    def make(self, symbols, names, sparse=0):
        spin = os.path.join(self.directory, 'spin')
        subprocess.run([COMPILER, '-O1', '-g0', '-s', '-DFUNCTION=spin', '-o', spin,
                        os.path.join(HERE, 'spin.c')], check=True)
        Program(spin, self.program).write(symbols, names, sparse)

    def start(self, *command, **options):
        process = subprocess.Popen(command, **options)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def record(self, *pids):
        if os.path.exists(self.capture):
            os.unlink(self.capture)
        recorder = subprocess.Popen([LIVE_UNWINDER, '--stats', 'json', '-f', '-o', self.capture,
                                     '--pid', ','.join(map(str, pids))],
                                    stderr=subprocess.PIPE, text=True)
        self.addCleanup(recorder.stderr.close)
        self.addCleanup(recorder.kill)
        deadline = time.monotonic() + END_SECONDS
        while not os.path.exists(self.capture) or os.path.getsize(self.capture) == 0:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
        time.sleep(RECORD_SECONDS)
        return recorder

    def wait(self, recorder, seconds):
        """Returns what the recorder said and the peak of its memory in KiB."""
        deadline = time.monotonic() + seconds
        peak = 0
        while recorder.poll() is None:
            self.assertLess(time.monotonic(), deadline, 'it does not end')
            peak = max(peak, peak_kib(recorder.pid))
            time.sleep(0.01)
        return recorder.stderr.read(), peak

    def check_recording(self, *pids):
        """Once to the end, and once with a signal while names are looked for."""
        recorder = self.record(*pids)
        recorder.send_signal(signal.SIGINT)
        began = time.monotonic()
        said, peak = self.wait(recorder, END_SECONDS)
        print(f'{self.id()}: {time.monotonic() - began:.2f} s, {peak >> 10} MiB', file=sys.stderr)
        self.assertEqual(recorder.returncode, 0, said)
        stats = json.loads([line for line in said.splitlines() if line.startswith('{')][-1])
        self.assertGreater(stats['samples'], 50)
        self.assertLess(peak, MAX_KIB)
        self.check_capture()

        recorder = self.record(*pids)
        for pause in (0.1, 0.1):
            recorder.send_signal(signal.SIGINT)
            time.sleep(pause)
        said, peak = self.wait(recorder, STOP_SECONDS)
        self.assertIn(recorder.returncode, (0, 128 + signal.SIGINT), said)
        self.assertLess(peak, MAX_KIB)
        self.check_capture()

    def check_capture(self):
        report = subprocess.run([LIVE_UNWINDER, 'report', self.capture], capture_output=True,
                                timeout=END_SECONDS)
        self.assertEqual(report.returncode, 0, report.stderr)
        self.assertGreater(len(report.stdout), 100)

    def test_sparse_symbols(self):
        """15 GiB of symbols that take no room on the disk."""
        self.make(b'', bytes(4096), 15 << 30)
        self.check_recording(self.start(self.program).pid)

    def test_long_aliases(self):
        """300 names of 64 KiB for everything."""
        names = b'\0' + b''.join(f'n{i}_'.encode().ljust(LONG_NAME, b'a') + b'\0'
                                 for i in range(300))
        self.make(b''.join(symbol(1 + i * (LONG_NAME + 1), 0, 1 << 40) for i in range(300)), names)
        self.check_recording(self.start(self.program).pid)

    def test_overlapping_names(self):
        """25 MB, in which a million symbols have a name of up to 64 KiB each."""
        n = 1 << 20
        names = b'\0' + (b'a' * LONG_NAME + b'\0') * 16
        symbols = b''.join(symbol(1 + i % (len(names) - 1), i % 4096, 1 << 20) for i in range(n))
        self.make(symbols, names)
        self.check_recording(self.start(self.program).pid)

    def test_linked_perf_maps(self):
        """One map of 100 MB with the names of 20 processes."""
        lines = ''.join(f'{0x10000000 + i * 16:x} 10 {i:x}_{"x" * 80}\n' for i in range(1 << 20))
        big = os.path.join('/tmp', f'perf-hostile-{os.getpid()}')
        with open(big, 'w', encoding='ascii') as file:
            file.write(lines)
        self.addCleanup(os.unlink, big)
        processes = [self.start(sys.executable, '-S', '-E', '-c', GENERATED, stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, text=True) for _ in range(20)]
        for process in processes:
            self.assertEqual(process.stdout.readline(), 'ready\n')
            perf_map = Path(f'/tmp/perf-{process.pid}.map')
            perf_map.unlink(missing_ok=True)  # of a process that had this id before
            perf_map.hardlink_to(big)
            self.addCleanup(perf_map.unlink)
            process.stdin.write('\n')
            process.stdin.flush()
        self.check_recording(*(process.pid for process in processes))


if __name__ == '__main__':
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
