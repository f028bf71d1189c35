#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors

"""Files that are made to confuse or to hold up the search for names.

usage: test_names.py LIVE-UNWINDER COMPILER [unittest arguments]
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

LIVE_UNWINDER, COMPILER = sys.argv[1:3]
HERE = os.path.dirname(os.path.abspath(__file__))

IN_NAMESPACE = 'mount -t tmpfs none "$1" && cp "$2" "$1/program" && exec "$1/program"'


def build(directory, function, build_id, *flags):
    path = os.path.join(directory, function)
    subprocess.run([COMPILER, '-O1', '-g0', f'-DFUNCTION={function}', f'-Wl,--build-id={build_id}',
                    *flags, '-o', path, os.path.join(HERE, 'spin.c')], check=True)
    return path


def in_namespace():
    """Runs the rest of this program in a mount namespace of its own."""
    if os.geteuid() != 0 or 'LU_IN_NAMESPACE' in os.environ:
        return
    if subprocess.run(['unshare', '--mount', 'true'], capture_output=True).returncode == 0:
        os.environ['LU_IN_NAMESPACE'] = '1'
        os.execvp('unshare', ['unshare', '--mount', sys.executable, *sys.argv])


class Files(unittest.TestCase):
    """Processes run different files of one path and inode, each in its mount namespace; a third
    file of this path and inode is in ours."""

    def setUp(self):
        if 'LU_IN_NAMESPACE' not in os.environ:
            self.skipTest('mount namespaces need root')
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        self.mount = os.path.join(self.directory, 'mount')
        os.mkdir(self.mount)
        self.addCleanup(subprocess.run, ['umount', self.mount])
        subprocess.run(['mount', '-t', 'tmpfs', 'none', self.mount], check=True)
        self.capture = os.path.join(self.directory, 'out.syscap')

    def start(self, program):
        process = subprocess.Popen(['unshare', '--mount', 'sh', '-c', IN_NAMESPACE, 'sh',
                                    self.mount, program])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        deadline = time.monotonic() + 10
        while os.readlink(f'/proc/{process.pid}/exe') != f'{self.mount}/program':
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        return process

    def record(self, build_id, *options, ours=()):
        """Returns the processes, which run on."""
        programs = [build(self.directory, name, build_id) for name in ('first', 'second')]
        subprocess.run(['cp', build(self.directory, 'ours', build_id, *ours),
                        f'{self.mount}/program'], check=True)
        processes = [self.start(program) for program in programs[:2]]
        self.record_pids(processes, *options)
        return processes

    def record_pids(self, processes, *options):
        subprocess.run([LIVE_UNWINDER, '-q', '-d', '2', '-o', self.capture, '-f', '--pid',
                        ','.join(str(process.pid) for process in processes), *options], check=True)

    def samples_by_function(self):
        folded = os.path.join(self.directory, 'out.folded')
        subprocess.run([LIVE_UNWINDER, 'convert', '-f', self.capture, folded], check=True)
        counts = {}
        with open(folded, encoding='utf-8') as lines:
            for line in lines:
                stack, n = line.rsplit(' ', 1)
                leaf = [frame for frame in stack.split(';') if not frame.endswith('_[k]')][-1]
                counts[leaf] = counts.get(leaf, 0) + int(n)
        return counts

    def assert_both(self, counts):
        self.assertNotIn('ours', counts)
        self.assertGreater(counts.get('first', 0), 0, counts)
        self.assertGreater(counts.get('second', 0), 0, counts)

    def test_names_in_capture(self):
        for build_id in ('none', '0x1234567890abcdef'):
            with self.subTest(build_id=build_id):
                self.record(build_id)
                self.assert_both(self.samples_by_function())

    def record_roots(self, build_id):
        """A chroot and the host have different programs of one path, and both run."""
        root = os.path.join(self.directory, 'root')
        os.makedirs(root + self.mount, exist_ok=True)
        processes = []
        for place, name in (('/', 'first'), (root, 'second')):
            path = f'{place}{self.mount}/program'
            shutil.copy(build(self.directory, name, build_id, '-static'), path)
            processes.append(subprocess.Popen(['chroot', place, f'{self.mount}/program']))
            self.addCleanup(processes[-1].wait)
            self.addCleanup(processes[-1].kill)
        self.record_pids(processes)
        for process in processes:
            process.kill()
            process.wait()

    def test_in_another_root(self):
        """A report without names in the capture may not find the file of the other root any more."""
        for build_id in ('none', '0x1234567890abcdef'):
            with self.subTest(build_id=build_id):
                self.record_roots(build_id)
                self.assert_both(self.samples_by_function())

    def test_no_names_of_another_file(self):
        """A report opens files by path; without a build-id, inode and device tell them apart."""
        processes = self.record('none', '--no-symbols')
        self.assertNotIn('ours', self.samples_by_function())
        self.assert_no_names(processes)

    def assert_no_names(self, processes):
        for process in processes:
            process.kill()
            process.wait()
        counts = self.samples_by_function()
        self.assertFalse({'first', 'second', 'ours'} & counts.keys(), counts)

    def test_no_names_of_a_forged_file(self):
        """Neither does a report believe another file that has the build-id."""
        processes = self.record('0x1234567890abcdef', '--no-symbols', ours=['-DOTHER'])
        self.assertNotIn('ours', self.samples_by_function())
        self.assert_no_names(processes)

    def test_names_of_the_unstripped_file(self):
        """Where a stripped program was recorded, the whole one names it, also on another machine."""
        program = build(self.directory, 'first', '0x1234567890abcdef')
        path = f'{self.mount}/program'
        subprocess.run(['strip', '-o', path, program], check=True)
        process = subprocess.Popen([path])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.record_pids([process], '--no-symbols')
        os.unlink(path)
        shutil.copy(program, path)
        self.assertGreater(self.samples_by_function().get('first', 0), 0)
        os.unlink(path)
        shutil.copy(build(self.directory, 'ours', '0x1234567890abcdef', '-DOTHER'), path)
        self.assertNotIn('ours', self.samples_by_function())


if __name__ == '__main__':
    in_namespace()
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
