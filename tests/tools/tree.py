# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""tree.py - the files of a source tree, for the tests of this directory.

With git: what is in the repository or would be added to it. Without (a tarball, a bare machine):
everything below the root except build directories and caches. Paths are relative, with slashes."""

import os
import subprocess

SKIPPED_DIRECTORIES = {".git", "__pycache__"}


def from_git(root):
    command = ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        done = subprocess.run(command, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    names = done.stdout.decode("utf-8", "surrogateescape").split("\0")
    return [name for name in names if name and os.path.isfile(os.path.join(root, name))]


def is_skipped(directory, name):
    if name in SKIPPED_DIRECTORIES or name.startswith(("build", "_build")) and directory == ".":
        return True
    return False


def walk(root):
    found = []
    for directory, directories, files in os.walk(root):
        relative = os.path.relpath(directory, root)
        directories[:] = [name for name in directories if not is_skipped(relative, name)]
        for name in files:
            if not name.endswith((".syscap", ".o", ".pyc")):
                found.append(os.path.normpath(os.path.join(relative, name)))
    return found


def files(root):
    """All files of the tree, sorted."""
    listed = from_git(root) if os.path.exists(os.path.join(root, ".git")) else None
    return sorted(walk(root) if listed is None else listed)


def text(root, name):
    """The text of a file; None if it is no text."""
    with open(os.path.join(root, name), "rb") as stream:
        data = stream.read()
    if b"\0" in data:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None
