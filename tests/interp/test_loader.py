#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""test_loader.py LIVE_UNWINDER - does the summary say so if the BPF program for interpreters cannot be loaded?

The process that would load it is killed before the first Python runs. Everything else has to go on."""

import glob
import os
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import truth  # noqa: E402  (found through the line above)

BURN = "import time\nend = time.process_time() + 0.5\nwhile time.process_time() < end: pass"
PATIENCE = 20


def loader_of(pid):
    """The child of the recorder that loads, or None."""
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path, encoding="ascii", errors="replace") as stat:
                number, rest = stat.read().split(" (", 1)
        except OSError:
            continue
        name, rest = rest.rsplit(") ", 1)
        if name == "lu-interp" and int(rest.split()[1]) == pid:
            return int(number)
    return None


def main():
    reason = truth.why_not(sys.argv[1])
    if reason:
        print(f"skipped: {reason}")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as directory:
        marker = os.path.join(directory, "go")
        script = 'while [ ! -e "$1" ]; do sleep 0.05; done; "$LU_PROGRAM" -c "$2"'
        # An argument with "python" would have it load at once.
        environment = {**os.environ, "LU_PROGRAM": sys.executable}
        with subprocess.Popen([sys.argv[1], "-o", os.path.join(directory, "x.syscap"), "--", "sh", "-c", script, "sh",
                               marker, BURN], stderr=subprocess.PIPE, text=True, env=environment) as recorder:
            deadline = time.monotonic() + PATIENCE
            loader = None
            while loader is None and time.monotonic() < deadline:
                loader = loader_of(recorder.pid)
                time.sleep(0.02)
            if loader is not None:
                os.kill(loader, signal.SIGKILL)
            with open(marker, "w", encoding="ascii"):
                pass
            said = recorder.communicate(timeout=100)[1]
    print(said)
    if loader is None or recorder.returncode != 0 or "BPF program that reads them could not be loaded" not in said:
        print(f"the loader is {loader}, exit status {recorder.returncode}")
        sys.exit(1)


if __name__ == "__main__":
    main()
