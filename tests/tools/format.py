#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""format.py [--fix] [ROOT] - is every C file as clang-format would write it?

Versions of clang-format disagree with each other, so the judge is version 14; without it the test
is skipped (exit status 77). --fix rewrites the files instead."""

import os
import re
import shutil
import subprocess
import sys

import tree

VERSION = 14


def find_formatter():
    for name in (f"clang-format-{VERSION}", "clang-format"):
        path = shutil.which(name)
        if not path:
            continue
        said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
        match = re.search(r"version (\d+)\.", said.stdout)
        if match and int(match.group(1)) == VERSION:
            return path
    return None


def main(argv):
    fix = "--fix" in argv
    rest = [arg for arg in argv[1:] if arg != "--fix"]
    root = rest[0] if rest else os.path.join(os.path.dirname(argv[0]), "../..")
    formatter = find_formatter()
    if not formatter:
        print(f"clang-format {VERSION} is not installed")
        return 77
    names = [name for name in tree.files(root) if name.endswith((".c", ".h"))]
    if fix:
        return subprocess.run([formatter, "-i", *names], cwd=root, check=False).returncode
    done = subprocess.run([formatter, "--dry-run", "-Werror", "--ferror-limit=3", *names], cwd=root,
                          check=False)
    repair = "; to repair: tests/tools/format.py --fix" if done.returncode else ""
    print(f"{len(names)} files checked{repair}")
    return 1 if done.returncode else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
