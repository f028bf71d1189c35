#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""viewers.py LIVE_UNWINDER - our output in speedscope. tests/page tests our own page.

Prints TAP. Needs chromium; speedscope comes from npm, and is skipped where that cannot be reached."""

import base64
import os
import re
import shutil
import subprocess
import sys
import tempfile

SPEEDSCOPE = "speedscope@1.25.0"
NPM_SECONDS = 40        # npm takes about one second where it works
BUSY = ("import json, time\nend = time.process_time() + 1\n"
        "while time.process_time() < end: json.dumps([list(range(50))] * 50)\n")

def browse(directory, url, *options):
    result = subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files",
         "--user-data-dir=" + os.path.join(directory, "browser"), *options, "--dump-dom", url],
        capture_output=True, text=True, check=True, timeout=120)
    return result.stdout


def install_speedscope(directory):
    """Tells whether npm can be reached."""
    npm = shutil.which("npm")
    if npm is None:
        return False
    try:
        return subprocess.run([npm, "install", "--silent", "--fetch-retries=0", "--prefix", directory, SPEEDSCOPE],
                              stdout=subprocess.DEVNULL, check=False, timeout=NPM_SECONDS).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def check_speedscope(directory):
    if not install_speedscope(directory):
        print("ok 1 - speedscope in chromium # SKIP it could not be installed from npm")
        return
    index = os.path.join(directory, "node_modules/speedscope/dist/release/index.html")
    with open(os.path.join(directory, "x.speedscope.json"), "rb") as file:
        content = base64.b64encode(file.read()).decode()
    script = os.path.join(directory, "profile.js")
    with open(script, "w", encoding="ascii") as out:
        out.write(f'speedscope.loadFileFromBase64("x.speedscope.json", "{content}")')
    dom = browse(directory, f"file://{index}#localProfilePath={script}", "--virtual-time-budget=15000")
    text = re.sub(r"<style.*?</style>|<[^>]*>", " ", dom, flags=re.DOTALL)
    assert re.search(r"python3\S* \(\d+/\d+\)", text), text[-1000:]
    assert "went wrong" not in text, text[-1000:]
    print("ok 1 - speedscope in chromium")


def main(argv):
    program = os.path.abspath(argv[1])
    if shutil.which("chromium") is None:
        print("1..0 # SKIP chromium is not installed")
        return 0
    print("1..1")
    with tempfile.TemporaryDirectory(prefix="viewers-") as directory:
        subprocess.run([program, "-q", "-o", "x.syscap", "-o",
                                 "x.speedscope.json", "--", sys.executable, "-c", BUSY],
                                cwd=directory, capture_output=True, text=True, check=True, timeout=120)
        check_speedscope(directory)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
