#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""helper-link.py [ROOT] - what each value of the option sysprof_helper installs in libexecdir.

Nothing is compiled: what would be installed from the build directory is put there as empty files."""

import json
import os
import shutil
import subprocess
import sys
import tempfile

LINKS = {"no": [], "beside": ["sysprof-unwinders/live-unwinder"], "instead": ["sysprof-live-unwinder"]}


def meson(*words):
    done = subprocess.run(["meson", *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stdout + done.stderr)
    return done.stdout


def installed(build, root):
    """Returns path -> target of the links below libexecdir."""
    for path in json.loads(meson("introspect", "--installed", build)):
        if path.startswith(build + "/"):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "ab"):
                pass
    meson("install", "-C", build, "--no-rebuild", "--quiet", "--destdir", root)
    libexec = root + "/usr/libexec"
    return {os.path.relpath(os.path.join(where, name), libexec): os.readlink(os.path.join(where, name))
            for where, _, names in os.walk(libexec) for name in names}


def main(argv):
    source = argv[1] if len(argv) > 1 else os.path.join(os.path.dirname(argv[0]), "../..")
    if shutil.which("meson") is None:
        print("meson is not installed")
        return 77
    work = tempfile.mkdtemp(prefix="helper-link-")
    try:
        for value, links in LINKS.items():
            build = os.path.join(work, value)
            meson("setup", build, os.path.abspath(source), "--prefix=/usr", "--libexecdir=libexec", "--auto-features=disabled",
                  "-Dsysprof_helper=" + value)
            found = installed(build, os.path.join(work, value + "-root"))
            if found != {link: "/usr/bin/live-unwinder" for link in links}:
                print(f"-Dsysprof_helper={value} installs {found}")
                return 1
    finally:
        shutil.rmtree(work)
    print(f"{len(LINKS)} values of the option were installed")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
