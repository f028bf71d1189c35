#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""measure.py LIVE_UNWINDER [PAGE] - figures of docs/viewers.md: how large the page of a recording with
500,000 different nodes is, how long Chromium takes to open it, and how long its actions take. PAGE:
another page. No test: times depend on the machine."""

import html
import json
import os
import random
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "judge"))
import capwriter  # noqa: E402  (needs the path above)

NODES, PROCESSES, FILES, FUNCTIONS = 500_000, 40, 12, 6000

# getImageData() waits until everything is drawn.
DRIVER = """<pre id="log"></pre><script>
const log = { nodes: app.tree.n, samples: app.capture.n, load_ms: app.loadTime }, frames = [], view = app.lower;
const time = (what) => { const begin = performance.now(); what(); view.context.getImageData(0, 0, 1, 1); return performance.now() - begin; };
for (let i = 0; i < 60; i++) frames.push(time(() => { view.zoomBy(1.1, 300 + 8 * i); view.draw(); }));
for (let i = 0; i < 60; i++) frames.push(time(() => { view.pan(25); view.draw(); }));
for (let i = 0; i < 60; i++) frames.push(time(() => { view.zoomBy(1 / 1.1, 900); view.draw(); }));
frames.sort((a, b) => a - b);
log.frame_median_ms = frames[frames.length >> 1];
log.frame_p95_ms = frames[Math.floor(frames.length * 0.95)];
const act = (name, patch) => { log[name + "_ms"] = time(() => app.update(patch)); };
const third = app.capture.head.duration / 3;
act("time_range", { from: third, to: 2 * third, zoom: null }); act("all_times", { from: null, to: null });
act("program", { who: { program: app.timeline.rows[0].label } }); act("all_programs", { who: null });
act("callers", { view: "callers" }); act("time_order", { view: "time" }); act("sandwich", { view: "sandwich" });
act("table", { view: "table" }); act("flame_graph", { view: "flame" }); act("heat_map", { heat: true }); act("without_kernel", { kernel: false });
log.search_ms = time(() => app.search("0x1"));
document.getElementById("log").textContent = JSON.stringify(log);
</script></body>"""


def make_capture(path):
    """Writes a recording with random stacks; frames have an address for each function."""
    chance, writer, known, n = random.Random(5), capwriter.Writer(end_time=9000), set(), 0
    for pid in range(PROCESSES):
        writer.process(f"service{pid % FILES} --number {pid}", pid=pid + 1)
        writer.map(0x400000, 0x400000 + FUNCTIONS * 64, 0, f"/none/service{pid % FILES}", pid=pid + 1)
    while len(known) < NODES:
        stack, pid, function = [], chance.randrange(PROCESSES), 0
        node = (pid % FILES,)
        for depth in range(chance.randint(8, 40)):
            function = (function * 31 + chance.choice((1, 1, 2, 2, 3, 5, 7, 11)) + depth) % FUNCTIONS
            stack.append(0x400000 + function * 64 + 5)
            node = hash((node, function))
            known.add(node)
        for _ in range(chance.choice((1, 1, 8))):
            n += 1
            writer.sample(stack[::-1], time=1000 + n * 100_000, pid=pid + 1, tid=pid * 100 + chance.randint(0, 3))
    writer.save(path)


def browse(directory, page):
    with open(page, encoding="utf-8") as file:
        text = file.read()
    with open(os.path.join(directory, "drive.html"), "w", encoding="utf-8") as out:
        out.write(text.replace("</body>", DRIVER))
    result = subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1400,900",
                             "--user-data-dir=" + os.path.join(directory, "browser"), "--dump-dom",
                             "file://" + os.path.join(directory, "drive.html")],
                            capture_output=True, text=True, check=True, timeout=300)
    return json.loads(html.unescape(re.search(r'<pre id="log">(.*?)</pre>', result.stdout, re.DOTALL)[1]))


def main(argv):
    with tempfile.TemporaryDirectory(prefix="measure-") as directory:
        figures = {}
        page = argv[2] if len(argv) > 2 else os.path.join(directory, "x.html")
        if len(argv) <= 2:
            capture, folded = os.path.join(directory, "x.syscap"), os.path.join(directory, "x.folded")
            make_capture(capture)
            for output in (page, folded):
                subprocess.run([argv[1], "convert", capture, output], check=True)
            figures = {"capture_bytes": os.path.getsize(capture), "folded_bytes": os.path.getsize(folded)}
        figures |= {"page_bytes": os.path.getsize(page), "load_average": os.getloadavg()[0], **browse(directory, page)}
    print(json.dumps({key: round(value, 1) for key, value in figures.items()}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
