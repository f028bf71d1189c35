#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""test-install-deps.py INSTALL-DEPS - which packages are said to be missing, with a made-up dpkg."""

import os
import subprocess
import sys
import tempfile
import unittest

SCRIPT = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else None
# Writes down that it was asked, and knows the packages of $INSTALLED.
DPKG = """#!/bin/sh
echo asked >>"$0.log"
printf '%s\\n' "$INSTALLED"
"""


class Missing(unittest.TestCase):
    def ask(self, level, *installed):
        """Returns the names said to be missing, and how often dpkg was asked."""
        with tempfile.TemporaryDirectory(prefix="lu-install-deps-") as directory:
            for name, text in (("dpkg-query", DPKG), ("apt-get", "#!/bin/sh\nexit 99\n")):
                path = os.path.join(directory, name)
                with open(path, "w", encoding="utf-8") as out:
                    out.write(text)
                os.chmod(path, 0o755)
            env = os.environ | {"PATH": f"{directory}:{os.environ['PATH']}", "INSTALLED": "\n".join(installed)}
            done = subprocess.run([SCRIPT, "--check", level], env=env, text=True, check=False,
                                  stdin=subprocess.DEVNULL, capture_output=True)
            with open(os.path.join(directory, "dpkg-query.log"), encoding="utf-8") as log:
                n_asked = len(log.readlines())
        missing = [line.partition(f"missing for '{level}': ")[2].split() for line in done.stderr.splitlines()
                   if f"missing for '{level}'" in line]
        self.assertEqual(done.returncode, 1 if missing else 0, done.stderr)
        return (missing or [[]])[0], n_asked

    def test_dpkg_is_asked_once(self):
        for level in ("build", "all", "survey"):
            missing, n_asked = self.ask(level)
            self.assertGreater(len(missing), 1)
            self.assertEqual(n_asked, 1, level)

    def test_one_of_several_is_enough(self):
        everything, _ = self.ask("build")
        self.assertIn("pkg-config|pkgconf", everything)
        missing, _ = self.ask("build", "installed pkgconf", "installed gcc")
        self.assertEqual(set(everything) - set(missing), {"pkg-config|pkgconf", "gcc"})

    def test_what_was_removed_is_missing(self):
        missing, _ = self.ask("build", "config-files gcc", "not-installed meson", "installed gcc-12")
        self.assertLessEqual({"gcc", "meson"}, set(missing))

    def test_nothing_is_missing(self):
        everything, _ = self.ask("kernels")
        self.assertEqual(self.ask("kernels", *(f"installed {name.split('|')[0]}" for name in everything)), ([], 1))


if __name__ == "__main__":
    unittest.main()
