#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""measure.py LIVE_UNWINDER [PAGE] - figures of docs/viewers.md: how large the page of a recording with
500,000 different nodes is, how long Chromium takes to open it, and how long its actions take. PAGE:
another page. No test: times depend on the machine."""

import json
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "judge"))
import capwriter  # noqa: E402  (needs the path above)
import chromium  # noqa: E402

NODES, PROCESSES, FILES, FUNCTIONS = 500_000, 40, 12, 6000

# getImageData() waits until everything is drawn.
BEGIN = """const view = app.lower, wait = () => new Promise(requestAnimationFrame);
const steps = [...Array(60).fill((i) => view.zoomBy(1.1, 300 + 8 * i)), ...Array(60).fill(() => view.pan(25)), ...Array(60).fill(() => view.zoomBy(1 / 1.1, 900))];
const drawn = (what) => { what(); view.context.getImageData(0, 0, 1, 1); };
const time = (what) => { const begin = performance.now(); drawn(what); return performance.now() - begin; };
const third = app.capture.head.duration / 3, fn = app.capture.fn[100];"""
# Frames of the screen: how far apart they are.
FRAMES = """(async () => {
const intervals = [];
let last = await wait();
for (const [i, step] of steps.entries()) { step(i % 60); const now = await wait(); intervals.push(now - last); last = now; }
return intervals;
})()"""
ACTIONS = {
    "time_range": "{ from: third, to: 2 * third, zoom: null }", "all_times": "{ from: null, to: null }",
    "program": "{ who: { program: app.timeline.rows[0].label } }", "all_programs": "{ who: null }",
    "callers": "{ view: 'callers' }", "time_order": "{ view: 'time' }", "sandwich": "{ view: 'sandwich' }", "table": "{ view: 'table' }",
    "flame_graph": "{ view: 'flame' }", "heat_map": "{ heat: true }", "without_kernel": "{ kernel: false, heat: false }",
    "threads": "{ kernel: true, byThread: true }", "folds": "{ folds: true, byThread: false }",
    "hide": "{ rules: [{ op: 'hide', fn }], folds: false }", "focus": "{ rules: [{ op: 'focus', fn }] }", "undo": "{ rules: [] }",
}


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


def percentile(numbers, share):
    return sorted(numbers)[min(int(len(numbers) * share), len(numbers) - 1)]


class Page:
    """A page in Chromium. CPU time is that of its thread: a busy machine changes wall time far more."""

    def __init__(self, browser, path):
        self.browser = browser
        browser.look(1400, 900)
        browser.open(path)
        browser.run(BEGIN + "0")
        self.pid = self.find_process()

    def find_process(self):
        """Returns the process that shows the page: memory that the page takes is found there, however busy
        the machine is."""
        pids = self.browser.processes("renderer")
        self.at_open, before = {pid: self.cpu_ms_of(pid) for pid in pids}, {pid: self.memory_of(pid) for pid in pids}
        self.browser.run("(() => { window.marker = new Uint8Array(256 << 20).fill(1); })()")
        found = max(pids, key=lambda pid: self.memory_of(pid) - before[pid])
        self.browser.run("(() => { delete window.marker; })()")
        return found

    @staticmethod
    def memory_of(pid):
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1])

    @staticmethod
    def cpu_ms_of(pid):
        with open(f"/proc/{pid}/task/{pid}/schedstat", encoding="ascii") as file:
            return int(file.read().split()[0]) / 1e6

    def cpu_ms(self):
        return self.cpu_ms_of(self.pid)

    def measure(self, what):
        """Returns wall and CPU time of a piece of script, drawing included."""
        before = self.cpu_ms()
        wall = self.browser.run(f"time(() => {{ {what} }})")
        return wall, self.cpu_ms() - before


def browse(path):
    with chromium.Chromium() as browser:
        page = Page(browser, path)
        log = browser.run("({ nodes: app.tree.n, samples: app.capture.n, opened_ms: performance.getEntriesByType('navigation')[0].loadEventEnd })")
        log["opened_cpu_ms"] = page.at_open[page.pid]
        intervals = browser.run(FRAMES)
        log |= {"frame_interval_median_ms": percentile(intervals, 0.5), "frame_interval_p95_ms": percentile(intervals, 0.95)}
        frames = [page.measure(f"steps[{i}]({i % 60}); view.draw();") for i in range(180)]
        for k, name in enumerate(("frame", "frame_cpu")):
            times = [times[k] for times in frames]
            log |= {f"{name}_median_ms": percentile(times, 0.5), f"{name}_p95_ms": percentile(times, 0.95)}
        browser.run("app.lower.zoomTo(0)")
        for name, patch in ACTIONS.items():
            log[name + "_ms"], log[name + "_cpu_ms"] = page.measure(f"app.update({patch})")
        log["search_ms"], log["search_cpu_ms"] = page.measure("app.search('0x1')")
        return log


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
        figures |= {"page_bytes": os.path.getsize(page), "load_average": os.getloadavg()[0], **browse(page)}
    print(json.dumps({key: round(value, 1) for key, value in figures.items()}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
