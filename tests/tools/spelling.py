#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""spelling.py [ROOT] - codespell over every text of the tree (exit status 77 without codespell).

WORDS are identifiers and names that codespell takes for misspellings."""

import os
import shutil
import subprocess
import sys

import tree

# _fo is the suffix of a file offset; \(bu is a bullet in a man page.
WORDS = ["fo", "bu"]


def main(argv):
    root = argv[1] if len(argv) > 1 else os.path.join(os.path.dirname(argv[0]), "../..")
    if not shutil.which("codespell"):
        print("codespell is not installed")
        return 77
    names = [name for name in tree.files(root)
             if not name.startswith(("LICENSES/", "po/")) and tree.text(root, name) is not None]
    command = ["codespell", "--ignore-words-list", ",".join(WORDS), *names]
    done = subprocess.run(command, cwd=root, check=False)
    print(f"{len(names)} files read")
    return 1 if done.returncode else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
