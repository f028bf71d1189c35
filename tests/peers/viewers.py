#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""viewers.py LIVE_UNWINDER - our outputs in a browser: the flame graph driven by keys and mouse, and
speedscope with our file.

Prints TAP. Needs chromium; speedscope comes from npm, and is skipped where that cannot be reached."""

import base64
import json
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

# Appended to the page: acts as a user does, and writes down the page's texts.
DRIVE = """<pre id="log"></pre><script>
"use strict";
const log = [];
window.onerror = (message) => { log.push(["error", message]); };
const say = (what, text) => log.push([what, text]);
const press = (name) => $("graph").dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true }));
const look_for = (text) => { $("search").value = text; $("search").dispatchEvent(new Event("input")); };
const box = $("graph").getBoundingClientRect();
const point = { clientX: box.left + 20, clientY: box.top + 2 * 19 + 5, bubbles: true };
say("start", $("about").textContent);
press("ArrowDown"); say("down", $("about").textContent);
press("ArrowDown"); press("Enter"); say("zoom", zoom.name);
look_for("all of it, and more"); say("nothing", $("found").textContent);
look_for("/./"); say("everything", $("found").textContent);
press("Escape"); say("escape", String(zoom.id) + $("search").value);
$("graph").dispatchEvent(new MouseEvent("mousemove", point)); say("tip", $("tip").textContent);
$("graph").dispatchEvent(new MouseEvent("click", point)); say("click", String(zoom.depth));
$("reset").click(); say("reset", String(zoom.id));
$("log").textContent = JSON.stringify(log);
</script></body>"""


def browse(directory, url, *options):
    result = subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files",
         "--user-data-dir=" + os.path.join(directory, "browser"), *options, "--dump-dom", url],
        capture_output=True, text=True, check=True, timeout=120)
    return result.stdout


def check_flame_graph(directory, samples):
    with open(os.path.join(directory, "x.html"), encoding="utf-8") as file:
        page = file.read()
    with open(os.path.join(directory, "drive.html"), "w", encoding="utf-8") as out:
        out.write(page.replace("</body>", DRIVE))
    dom = browse(directory, "file://" + os.path.join(directory, "drive.html"))
    text = re.search(r'<pre id="log">(.*?)</pre>', dom, re.DOTALL)[1]
    log = dict(json.loads(text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")))
    print("#", json.dumps(log))
    assert "error" not in log, log
    assert log["start"].startswith(f"all: {samples} samples, 100.00 %"), log
    assert re.match(r"python3.*: \d+ samples, ", log["down"]), log
    assert log["zoom"] not in ("all", ""), log
    assert log["nothing"] == "matched: 0.00 %", log
    assert log["everything"] == "matched: 100.00 %", log
    assert log["escape"] == "0" and log["reset"] == "0" and log["click"] == "2", log
    assert log["tip"], log
    print("ok 1 - the flame graph in chromium", flush=True)


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
        print("ok 2 - speedscope in chromium # SKIP it could not be installed from npm")
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
    print("ok 2 - speedscope in chromium")


def main(argv):
    program = os.path.abspath(argv[1])
    if shutil.which("chromium") is None:
        print("1..0 # SKIP chromium is not installed")
        return 0
    print("1..2")
    with tempfile.TemporaryDirectory(prefix="viewers-") as directory:
        record = subprocess.run([program, "-q", "-o", "x.syscap", "-o", "x.html", "-o",
                                 "x.speedscope.json", "--stats=json", "--", sys.executable, "-c", BUSY],
                                cwd=directory, capture_output=True, text=True, check=True, timeout=120)
        check_flame_graph(directory, json.loads(record.stderr.splitlines()[-1])["samples"])
        check_speedscope(directory)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
