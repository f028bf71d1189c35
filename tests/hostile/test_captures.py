#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors

"""Recordings with the deepest stacks and with names that are commands of a terminal.

usage: test_captures.py LIVE-UNWINDER [unittest arguments]
"""

import gzip
import os
import resource
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'judge'))
import capwriter  # noqa: E402  (needs the path above)

LIVE_UNWINDER = sys.argv[1]
TIMEOUT = 60  # seconds
SMALL_STACK = 256 << 10
DEPTH = 8150  # a frame of a capture holds no more addresses
FORMATS = ['folded', 'html', 'json.gz', 'pb.gz', 'perf.data', 'speedscope.json', 'callgrind', 'pftrace']
REPORTS = [[], ['--json'], ['--tree', '--min', '0'], ['--threads'], ['--lines', '--inlines']]
EVIL = 'a\x1b[2Jb\x07c\u009b2Jd\u0085e\u202ef\x7fg'


def limit_stack():
    resource.setrlimit(resource.RLIMIT_STACK, (SMALL_STACK, SMALL_STACK))


def is_safe(text):
    return not any(ord(c) < 0x20 and c not in '\n\t' or 0x7f <= ord(c) < 0xa0 for c in text)


class Captures(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def path(self, name):
        return os.path.join(self.directory, name)

    def run_program(self, *arguments):
        done = subprocess.run([LIVE_UNWINDER, *arguments], capture_output=True, timeout=TIMEOUT,
                              preexec_fn=limit_stack)
        self.assertEqual(done.returncode, 0, (arguments, done.stderr[-500:]))
        return done.stdout.decode()

    def convert(self, source, suffix):
        output = self.path('out.' + suffix)
        self.run_program('convert', '--force', source, output)
        return output

    def deep(self):
        writer = capwriter.Writer(end_time=9000).process('deep')
        addresses = [0x1000 * (i + 1) + 8 for i in range(DEPTH)]
        for i, address in enumerate(addresses):
            writer.map(address - 8, address + 0xff8, 0, f'/nonexistent/f{i}')
        for shorter in range(3):
            writer.sample(addresses[shorter:], time=2000 + shorter)
        return writer.save(self.path('deep.syscap'))

    def test_depth(self):
        """A small stack of ours is enough for any stack of a sample."""
        capture = self.deep()
        for options in [*REPORTS, ['--function', 'f1+0x7'],
                        ['--annotate', 'f1+0x7']]:
            with self.subTest(options=options):
                self.run_program('report', *options, capture)
        tree = self.run_program('report', '--tree', '--min', '0', capture)
        # The leaves of the two shorter stacks are other addresses than the calls there.
        self.assertEqual(sum('[f' in line for line in tree.splitlines()), DEPTH + 2)
        for suffix in FORMATS:
            with self.subTest(suffix=suffix):
                self.convert(capture, suffix)
        self.run_program('diff', capture, capture)
        self.run_program('convert', '--redact', capture, self.path('redacted.syscap'))

    def test_depth_from_perf_data(self):
        capture = self.convert(self.deep(), 'perf.data')
        self.run_program('report', capture)
        self.run_program('convert', capture, self.path('again.syscap'))

    def test_terminal_commands(self):
        writer = capwriter.Writer(end_time=9000).process(EVIL)
        writer.map(0x1000, 0x2000, 0, '/nonexistent/' + EVIL).jitmap({0x5000: EVIL})
        writer.map(0xe000000000000300, 0xe000000000000301, 0, f'[{EVIL}]')
        for time in range(2000, 2010):
            writer.sample([0x1100, 0x5000, 0xe000000000000300], time=time)
        capture = writer.save(self.path('evil.syscap'))
        for options in [*REPORTS, ['--function', EVIL + '+0x100'],
                        ['--annotate', EVIL + '+0x100']]:
            with self.subTest(options=options):
                text = self.run_program('report', *options, capture)
                self.assertTrue(is_safe(text), repr(text))
        self.assertTrue(is_safe(self.run_program('diff', capture, capture)))
        for suffix in ('folded', 'html', 'json.gz', 'speedscope.json', 'callgrind'):
            with self.subTest(suffix=suffix):
                with open(self.convert(capture, suffix), 'rb') as file:
                    data = file.read()
                text = (gzip.decompress(data) if suffix.endswith('gz') else data).decode()
                self.assertTrue(is_safe(text))

    def test_markup_and_lines(self):
        """Names that look like parts of a format are names there."""
        evil = 'x\n\nfn=(7) taken\n1 999\ncalls=5 0\n1 999;taken 7\n</script>"\\u0000'
        writer = capwriter.Writer(end_time=9000).process(evil)
        writer.map(0x1000, 0x2000, 0, '/nonexistent/' + evil).jitmap({0x5000: evil})
        for time in range(2000, 2010):
            writer.sample([0x1100, 0x5000], time=time)
        capture = writer.save(self.path('lines.syscap'))
        with open(self.convert(capture, 'callgrind'), encoding='utf-8') as file:
            lines = file.read().splitlines()
        self.assertIn('summary: 10', lines)
        self.assertEqual([line for line in lines if '999' in line and not line.startswith(('cmd:', 'fn=', 'cfn=', 'ob=', 'cob='))], [])
        self.assertEqual(sorted(line for line in lines if line[0:1].isdigit()), ['0 10'] * 3)  # two calls, and the innermost function
        with open(self.convert(capture, 'folded'), encoding='utf-8') as file:
            lines = file.read().splitlines()
        self.assertEqual((len(lines), lines[0].rsplit(' ', 1)[1]), (1, '10'))
        with open(self.convert(capture, 'html'), encoding='utf-8') as file:
            self.assertEqual(file.read().count('</script>'), 2)


if __name__ == '__main__':
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
