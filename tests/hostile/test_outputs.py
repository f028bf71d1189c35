#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors

"""Root records into a directory in which another user has put traps.

usage: test_outputs.py LIVE-UNWINDER [unittest arguments]
"""

import contextlib
import os
import subprocess
import sys
import tempfile
import time
import unittest

LIVE_UNWINDER = sys.argv[1]
NOBODY = 65534
TIMEOUT = 20  # seconds
PERIODS = 12  # seconds for which names of --rotate are foreseen


@contextlib.contextmanager
def as_nobody():
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


class Outputs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if os.geteuid() != 0:
            raise unittest.SkipTest('needs root, and another user')

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        os.chmod(self.directory, 0o1777)
        self.readers = []
        self.environment = {key: value for key, value in os.environ.items()
                            if not key.startswith('SUDO_')}

    def path(self, name):
        return os.path.join(self.directory, name)

    def fifo(self, name):
        """Makes a FIFO whose reader is the other user."""
        with as_nobody():
            os.mkfifo(self.path(name), 0o600)
            self.readers.append(os.open(self.path(name), os.O_RDONLY | os.O_NONBLOCK))
        self.addCleanup(os.close, self.readers[-1])
        return self.path(name)

    def run_program(self, *arguments):
        return subprocess.run([LIVE_UNWINDER, *arguments], capture_output=True, text=True,
                              timeout=TIMEOUT, env=self.environment)

    def record(self, *outputs, options=()):
        places = [word for output in outputs for word in ('--output', output)]
        return self.run_program(*places, *options, '--', 'sleep', '0.1')

    def assert_unread(self):
        for reader in self.readers:
            self.assertEqual(os.read(reader, 1), b'')

    def assert_refused(self, done, text):
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(text, done.stderr)
        self.assert_unread()

    def test_fifo(self):
        for name in ('x.syscap', 'x.folded', 'x.pb.gz'):
            self.fifo(name)
            for options in ((), ('--force',)):
                with self.subTest(name=name, options=options):
                    self.assert_refused(self.record(self.path(name), options=options),
                                        'another user')

    def test_one_of_several(self):
        fifo = self.fifo('x.folded')
        self.assert_refused(self.record(self.path('x.syscap'), fifo), 'another user')
        self.assertFalse(os.path.exists(self.path('x.syscap')))

    def test_links(self):
        """They lead to a FIFO, to a file that root has, and to one that root would make."""
        fifo = self.fifo('fifo')
        with open(self.path('precious'), 'w', encoding='utf-8') as file:
            file.write('precious')
        for target in (fifo, self.path('precious'), self.path('new')):
            with as_nobody():
                os.symlink(target, self.path('x.syscap'))
            with self.subTest(target=target):
                self.assert_refused(self.record(self.path('x.syscap'), options=('--force',)),
                                    'symbolic link')
            os.unlink(self.path('x.syscap'))
        self.assertFalse(os.path.exists(self.path('new')))
        with open(self.path('precious'), encoding='utf-8') as file:
            self.assertEqual(file.read(), 'precious')

    def test_hard_link(self):
        """Both names are of a file that the other user can read."""
        with as_nobody():
            with open(self.path('theirs'), 'w', encoding='utf-8'):
                pass
            os.link(self.path('theirs'), self.path('x.syscap'))
        self.assert_refused(self.record(self.path('x.syscap'), options=('--force',)),
                            'another user')
        self.assertEqual(os.path.getsize(self.path('theirs')), 0)

    def test_names_of_periods(self):
        now = time.time()
        for second in range(PERIODS):
            date = time.strftime('%Y%m%dT%H%M%SZ', time.gmtime(now + second))
            self.fifo(f'x-{date}.syscap')
        done = self.record(self.path('x.syscap'), options=('--rotate', '1'))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_unread()
        made = [name for name in os.listdir(self.directory) if os.path.isfile(self.path(name))]
        self.assertTrue(made)
        for name in made:
            self.assertRegex(name, '-2.syscap$')
            self.assertEqual(os.stat(self.path(name)).st_mode & 0o777, 0o600)

    def test_convert(self):
        self.assertEqual(self.record(self.path('x.syscap')).returncode, 0)
        for name in ('y.folded', 'y.perf.data'):
            fifo = self.fifo(name)
            with self.subTest(name=name):
                self.assert_refused(self.run_program('convert', '--force', self.path('x.syscap'),
                                                     fifo), 'another user')


if __name__ == '__main__':
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
