#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""viewers.py LIVE_UNWINDER - our output in speedscope and in KCachegrind's window. tests/page tests our own
page.

Prints TAP. Needs chromium; speedscope comes from npm, and is skipped where that cannot be reached."""

import base64
import os
import re
import shutil
import subprocess
import sys
import tempfile

SPEEDSCOPE = "speedscope@1.25.0"
WINDOW_SECONDS = 120
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


def check_kcachegrind(directory):
    """Its window has the command of a profile that it has read as title, "PROFILE [COMMAND]"."""
    missing = [tool for tool in ("kcachegrind", "Xvfb", "xdotool", "dbus-run-session") if shutil.which(tool) is None]
    if missing:
        print(f"ok 2 - KCachegrind's window # SKIP {missing[0]} is not installed")
        return
    home = os.path.join(directory, "home")
    os.mkdir(home, 0o700)
    read, write = os.pipe()
    environment = {**os.environ, "HOME": home, "XDG_RUNTIME_DIR": home, "QT_QPA_PLATFORM": "xcb"}
    with subprocess.Popen(["Xvfb", "-displayfd", str(write), "-screen", "0", "1400x900x24"], pass_fds=[write], stderr=subprocess.DEVNULL) as server:
        os.close(write)
        with os.fdopen(read) as number:
            environment["DISPLAY"] = ":" + number.readline().strip()
        try:
            title = title_of_kcachegrind(directory, environment)
        finally:
            server.terminate()
    assert title, "no window with the command came"
    print("ok 2 - KCachegrind's window")


def title_of_kcachegrind(directory, environment):
    with subprocess.Popen(["dbus-run-session", "--", "kcachegrind", os.path.join(directory, "x.callgrind")], env=environment,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as window:
        try:
            found = subprocess.run(["xdotool", "search", "--sync", "--onlyvisible", "--name", r"x\.callgrind \[.*python3.*\]"], env=environment,
                                   capture_output=True, text=True, check=False, timeout=WINDOW_SECONDS)
        except subprocess.TimeoutExpired:
            return ""
        finally:
            window.terminate()
    return found.stdout.strip()


def main(argv):
    program = os.path.abspath(argv[1])
    if shutil.which("chromium") is None:
        print("1..0 # SKIP chromium is not installed")
        return 0
    print("1..2")
    with tempfile.TemporaryDirectory(prefix="viewers-") as directory:
        subprocess.run([program, "-q", "-o", "x.syscap", "-o",
                                 "x.speedscope.json", "-o", "x.callgrind", "--", sys.executable, "-c", BUSY],
                                cwd=directory, capture_output=True, text=True, check=True, timeout=120)
        check_speedscope(directory)
        check_kcachegrind(directory)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
