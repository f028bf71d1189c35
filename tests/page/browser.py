#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The live-unwinder authors
"""browser.py LIVE_UNWINDER - the page in Chromium: every control driven by script, deep stacks, hostile
names, a comparison. Skipped (exit status 77) without chromium."""

import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "judge"))
import capwriter  # noqa: E402  (needs the path above)

PROGRAM = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else None
DEPTH = 4090
EVIL = "</script><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">\u202egnp.exe\u2066"
SECOND = 1_000_000_000

# Acts as a user does, and writes down what the page says. FUNCTIONS of the page are not used but for
# reading: `app` is the page.
DRIVER = """<pre id="log"></pre><script>
"use strict";
const log = {};
window.addEventListener("error", (event) => { log.error = event.message; });
const say = (what, value) => { log[what] = value; };
const text = (id) => $(id).textContent.replace(/[\\u2068\\u2069]/g, "");
const press = (key, place = document.activeElement) =>
  place.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
const button = (place, name) => [...$(place).querySelectorAll("button")].find((each) => each.textContent.startsWith(name)).click();
const look = (words) => { $("search").value = words; $("search").dispatchEvent(new Event("input", { bubbles: true })); };
const mouse = (view, type, id, more = {}) => {
  const box = view.canvas.getBoundingClientRect(), { graph } = view;
  const y = view.flip ? view.contentHeight - (graph.depth[id] + 0.5) * 19 : (graph.depth[id] + 0.5) * 19;
  view.container.dispatchEvent(new MouseEvent(type, { bubbles: true, clientX: box.left + (graph.x[id] - view.from) / view.span * view.width + 3,
                                                      clientY: box.top + y - view.container.scrollTop, ...more }));
};
const find = (view, name, from = 0) => {
  const { graph } = view, stack = [from];
  while (stack.length > 0) {
    const id = stack.pop();
    if (graph.capture.names[graph.fn[id]].startsWith(name)) return id;
    graph.children(id, {}, (child) => stack.push(child));
  }
  return -1;
};
const labels = (view) => view.texts.map(([label]) => label.replace(/[\\u2068\\u2069]/g, ""));
try {
BODY
} catch (error) { log.error = String(error) + error.stack; }
$("log").textContent = JSON.stringify(log);
</script></body>"""


class Pages(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="page-")
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def path(self, name):
        return os.path.join(self.directory, name)

    def run_it(self, *arguments):
        result = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=False, timeout=120)
        self.assertEqual(result.returncode, 0, result.stderr)

    def capture(self, name, samples, **names):
        """samples: (pid, seconds, names, outermost first)."""
        writer, places = capwriter.Writer(end_time=9000), {}
        for pid in sorted({pid for pid, _, _ in samples}):
            writer.process(names.get(f"p{pid}", f"program{pid}"), pid=pid)
        for pid, seconds, stack in samples:
            addresses = []
            for function in reversed(stack):
                if (pid, function) not in places:
                    places[pid, function] = 0x10000 * (len(places) + 1)
                    writer.map(places[pid, function], places[pid, function] + 0x1000, 0, "/none/" + function, pid=pid)
                addresses.append(places[pid, function] + 0x101 - (not addresses))
            writer.sample(addresses, time=int(seconds * SECOND) + 1000, pid=pid)
        return writer.save(self.path(name))

    def drive(self, page, body, *options, fragment=""):
        """Returns what the script of the page said."""
        with open(page, encoding="utf-8") as file:
            text = file.read()
        with open(self.path("drive.html"), "w", encoding="utf-8") as out:
            out.write(text.replace("</body>", DRIVER.replace("BODY", body)))
        result = subprocess.run(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1400,900",
             "--user-data-dir=" + self.path("browser"), *options, "--dump-dom",
             f"file://{self.path('drive.html')}{fragment}"],
            capture_output=True, text=True, check=False, timeout=240)
        found = re.search(r'<pre id="log">(.*?)</pre>', result.stdout, re.DOTALL)
        self.assertIsNotNone(found, result.stderr[-2000:])
        log = json.loads(html.unescape(found[1]) or "{}")
        self.assertNotIn("error", log, log)
        return log

    def convert(self, capture, *options):
        page = capture + ".html"
        self.run_it("convert", "--force", *options, capture, page)
        return page

    def usual(self):
        samples = [(1, i / 100, ["main", "read", "parse"]) for i in range(60)]
        samples += [(1, 0.6 + i / 100, ["main", "sort", "sort", "compare"]) for i in range(30)]
        samples += [(2, 0.3 + i / 100, ["start", "wait"]) for i in range(10)]
        return self.capture("usual.syscap", sorted(samples, key=lambda sample: sample[1]))

    def test_views(self):
        log = self.drive(self.convert(self.usual()), """
  say("share", text("share")); say("title", document.title);
  say("figures", text("figures")); say("labels", labels(app.lower));
  mouse(app.lower, "mousemove", find(app.lower, "sort")); say("tip", text("tip"));
  mouse(app.lower, "click", find(app.lower, "sort")); say("zoomed", text("about")); say("wide", app.lower.span);
  press("ArrowDown", $("lower")); press("ArrowDown", $("lower")); say("down", text("about"));
  press("Backspace", $("lower")); press("Home", $("lower")); say("all", app.lower.zoom);
  press("2"); say("time", labels(app.lower));
  press("3"); say("callers", labels(app.lower));
  press("4"); say("sandwich", [text("middle"), labels(app.upper), labels(app.lower)]);
  press("5"); say("table", [...$("table").querySelectorAll(".row .name")].map((each) => each.textContent));
  const cells = [...$("table").querySelectorAll(".row > div")].map((cell) => cell.getBoundingClientRect());
  say("overlaps", cells.filter((cell, i) => i > 0 && cell.top === cells[i - 1].top && cell.left < cells[i - 1].right - 0.5).length);
  say("bent", cells.filter((cell, i) => i > 0 && cell.top !== cells[i - 1].top && cell.left > 0.5).length);
  button("table", "Total"); say("by_total", [...$("table").querySelectorAll(".row .name")].map((each) => each.textContent)[0]);
  press("ArrowDown", $("table")); press("Enter", $("table")); say("opened", [app.state.view, text("middle")]);
  press("1"); say("hash", location.hash);
""")
        self.assertEqual(log["share"], "All 100 samples")
        self.assertEqual(log["title"], "program1 – live-unwinder")
        self.assertTrue(log["figures"].startswith("samples100"), log)
        for name in ("all", "program1", "program2", "parse+0x100", "compare+0x100"):
            self.assertIn(name, log["labels"])
        self.assertRegex(log["tip"], r"^sort\+0x100sort · 30\.00 % \(30 samples")
        self.assertRegex(log["zoomed"], r"sort\+0x100 sorthere 30\.00 %")
        self.assertEqual(log["wide"], 30)
        self.assertRegex(log["down"], r"compare\+0x100 compare")
        self.assertIsNone(log["all"])
        self.assertIn("parse+0x100", log["time"])
        self.assertEqual(log["callers"][0], "all")
        self.assertRegex(log["sandwich"][0], r"^parse\+0x100 · 60\.00 %")
        self.assertIn("main+0x100", log["sandwich"][1])
        self.assertEqual(log["sandwich"][2], ["parse+0x100"])
        self.assertEqual(log["table"][:2], ["parse+0x100", "compare+0x100"])
        self.assertEqual((log["overlaps"], log["bent"]), (0, 0))
        self.assertEqual(log["by_total"], "main+0x100")
        self.assertEqual(log["opened"][0], "sandwich")
        self.assertIn("fn=", log["hash"])

    def test_selection(self):
        log = self.drive(self.convert(self.usual()), """
  const canvas = app.timeline.canvas, box = canvas.getBoundingClientRect(), at = (share) => ({ clientX: box.left + share * box.width, clientY: box.top + 5, pointerId: 1, button: 0, bubbles: true });
  canvas.setPointerCapture = () => {};
  canvas.dispatchEvent(new PointerEvent("pointerdown", at(0.75))); canvas.dispatchEvent(new PointerEvent("pointermove", at(1)));
  canvas.dispatchEvent(new PointerEvent("pointerup", at(1)));
  say("dragged", [text("share"), labels(app.lower)]);
  press("ArrowLeft", canvas); say("moved", canvas.getAttribute("aria-valuetext"));
  press("Escape", canvas); say("all_times", text("share"));
  $("timeline").querySelectorAll(".who")[1].click(); say("program", [text("share"), text("chips"), location.hash]);
  button("chips", "program2"); say("all_programs", text("share"));
  mouse(app.lower, "click", find(app.lower, "sort")); press("f", $("lower")); say("focus", [text("share"), labels(app.lower)]);
  press("u"); say("undone", text("share"));
  mouse(app.lower, "click", find(app.lower, "sort")); press("x", $("lower")); say("drop", [text("share"), text("chips")]);
  press("Escape"); say("escaped", [text("share"), location.hash]);
  press("g"); say("folded", labels(app.lower).filter((each) => each.startsWith("sort")).length);
  press("r"); say("below", app.lower.flip);
  button("options", "Heat map"); say("heat", app.timeline.heat.most);
  look("sort"); say("found", text("found")); press("n"); say("next", text("found")); press("N"); say("previous", text("found"));
  look("/^par|wait/"); say("pattern", text("found")); look("/(/"); say("wrong", text("found"));
  look("nothing at all"); say("nothing", text("found"));
""")
        self.assertEqual(log["dragged"][0], "23 of 100 samples, 23.00 %", log)
        self.assertNotIn("parse+0x100", log["dragged"][1])
        self.assertEqual(log["moved"], "650 ms to 872 ms")
        self.assertEqual(log["all_times"], "All 100 samples")
        self.assertEqual(log["program"], ["10 of 100 samples, 10.00 %", "program2 ×", "#who=program%3Aprogram2"])
        self.assertEqual(log["all_programs"], "All 100 samples")
        self.assertEqual(log["focus"], ["30 of 100 samples, 30.00 %", ["all", "sort+0x100", "sort+0x100", "compare+0x100"]])
        self.assertEqual(log["undone"], "All 100 samples")
        self.assertEqual(log["drop"], ["70 of 100 samples, 70.00 %", "drop sort+0x100 ×"])
        self.assertEqual(log["escaped"], ["All 100 samples", ""])
        self.assertEqual(log["folded"], 1)
        self.assertTrue(log["below"])
        self.assertGreater(log["heat"], 0)
        self.assertEqual(log["found"], "matched: 30.00 %")
        self.assertEqual(log["next"], "1 of 1 · 30.00 %")
        self.assertEqual(log["pattern"], "matched: 70.00 %")
        self.assertIn("Invalid", log["wrong"])
        self.assertEqual(log["nothing"], "matched: 0.00 %")

    def test_lines(self):
        """Lines of a program with debug information; a page without lines has no such view."""
        if shutil.which("cc") is None:
            self.skipTest("no compiler")
        with open(self.path("spin.c"), "w", encoding="utf-8") as out:
            out.write("#include <time.h>\nvolatile int n;\nint main (void)\n{\n  while (clock () < 300000)\n    for (int i = 0; i < 100000; i++)\n      n += i;\n}\n")
        subprocess.run(["cc", "-g", "-O1", "-o", self.path("spin"), self.path("spin.c")], check=True)
        result = subprocess.run([PROGRAM, "-q", "-o", self.path("lines.syscap"), "--", self.path("spin")], capture_output=True, text=True, check=False)
        if result.returncode == 125:
            self.skipTest(result.stderr)
        rows = '[...$("table").querySelectorAll(".row")].map((row) => [row.querySelector(".name").textContent, row.querySelector(".module").textContent])'
        log = self.drive(self.convert(self.path("lines.syscap"), "--lines"), f"""
  press("6"); say("rows", {rows}); say("head", text("table").slice(0, 40));
  $("table").querySelector(".row").click(); press("l", $("table")); say("chips", text("chips")); say("own", {rows});
  button("chips", "lines of"); say("all", {rows}.length); say("hash", location.hash);
""")
        self.assertRegex(log["rows"][0][0], r"^spin\.c:[67]$")
        self.assertEqual(log["rows"][0][1], "main")
        self.assertRegex(log["head"], "^Self.*Total.*Line")
        self.assertEqual((log["chips"], {name for _, name in log["own"]}), ("lines of main ×", {"main"}))
        self.assertGreaterEqual(log["all"], len(log["own"]))
        self.assertIn("view=lines", log["hash"])
        log = self.drive(self.convert(self.path("lines.syscap")), 'press("6"); say("view", app.state.view); say("tabs", $("views").children.length);',
                         fragment="#view=lines")
        self.assertEqual(log, {"view": "flame", "tabs": 5})

    def test_address(self):
        """A view that was sent to somebody."""
        log = self.drive(self.convert(self.usual()), """
  say("share", text("share")); say("view", app.state.view); say("rows", $("table").querySelectorAll(".row").length);
""", fragment="#view=table&who=program%3Aprogram1&rule=only%3Am%3Asort")
        self.assertEqual(log, {"share": "30 of 100 samples, 30.00 %", "view": "table", "rows": 3})

    def test_depth(self):
        """The leaf of a deep stack is there, sharp at two device pixels each."""
        stack = [f"f{i}" for i in range(DEPTH)]
        page = self.convert(self.capture("deep.syscap", [(1, 0, stack), (1, 1, stack[:-1])]))
        log = self.drive(page, f"""
  say("depth", app.lower.graph.maxDepth); say("ratio", app.lower.canvas.width / app.lower.width);
  app.lower.choose(find(app.lower, "f{DEPTH - 1}+")); say("labels", labels(app.lower));
  say("height", app.lower.canvas.height <= 2 * innerHeight);
  press("r"); app.lower.choose(find(app.lower, "f{DEPTH - 1}+")); say("below", labels(app.lower));
  press("3"); say("callers", labels(app.lower)[1]);
""", "--force-device-scale-factor=2")
        self.assertEqual((log["depth"], log["ratio"], log["height"]), (DEPTH + 1, 2, True))
        for place in ("labels", "below"):
            self.assertIn(f"f{DEPTH - 1}+0x100", log[place])
        self.assertRegex(log["callers"], r"^f40\d\d")

    def test_hostile_names(self):
        stack = ["main", "</script><script>alert(1)<", "x" * 200_000][:2]
        capture = self.capture("evil.syscap", [(1, 0, [*stack, EVIL.replace("/", "")]), (1, 1, ["\x1b[31m\x07"])], p1=EVIL)
        log = self.drive(self.convert(capture), """
  say("title", document.title); say("images", document.images.length); say("labels", labels(app.lower));
  for (const key of "12345") { press(key); for (const view of [app.upper, app.lower]) if (view.graph) view.choose(view.graph.first(0) < 0 ? 0 : view.graph.first(0)); }
  press("1"); mouse(app.lower, "mousemove", app.lower.graph.first(0)); say("tip", text("tip")); say("scripts", document.scripts.length);
""")
        self.assertTrue(log["title"].endswith("– live-unwinder"), log)
        self.assertEqual((log["images"], log["scripts"]), (0, 3))
        for text in (*log["labels"], log["tip"], log["title"]):
            self.assertNotRegex(text, "[\u202a-\u202e\u2066\u0000-\u001f]")

    def test_name_of_megabytes(self):
        page = self.convert(self.capture("long.syscap", [(1, 0, ["main", "leaf"])]))
        with open(page, encoding="utf-8") as file:
            text = file.read()
        with open(page, "w", encoding="utf-8") as out:
            out.write(text.replace('"leaf+0x100"', '"' + "<b>\u05d0x" * (1 << 20) + '"'))
        log = self.drive(page, """
  const begin = performance.now();
  for (const key of "12345") { press(key); for (const view of [app.upper, app.lower]) if (view.graph) view.choose(view.graph.first(0) < 0 ? 0 : view.graph.first(0)); }
  press("1"); const leaf = find(app.lower, "<b>"); mouse(app.lower, "mousemove", leaf); mouse(app.lower, "click", leaf);
  say("time", performance.now() - begin); say("bold", document.querySelectorAll("#tip b b, #about b b").length);
  say("longest", Math.max(...labels(app.lower).map((each) => each.length))); say("tip", text("tip").length); say("title", document.title.length);
""")
        self.assertLess(log["time"], 60000)
        self.assertEqual(log["bold"], 0)
        for what in ("longest", "tip"):
            self.assertLess(log[what], 1000, log)

    def test_comparison(self):
        old = self.capture("old.syscap", [(1, i, ["main", "kept"]) for i in range(6)] + [(1, 6, ["main", "gone"])] * 2)
        new = self.capture("new.syscap", [(1, i, ["main", "kept"]) for i in range(6)] + [(1, 6, ["main", "new"])] * 6)
        page = self.path("diff.html")
        self.run_it("diff", "--output", page, old, new)
        log = self.drive(page, """
  say("facts", text("facts")); say("labels", labels(app.lower)); say("width", app.lower.graph.total[find(app.lower, "gone")]);
  mouse(app.lower, "mousemove", find(app.lower, "kept")); say("tip", text("tip"));
  say("colours", ["kept", "gone", "new"].map((name) => app.lower.colourOf(app.lower.graph, find(app.lower, name)) === app.colours.change(name === "kept" ? -1 / 5 : name === "gone" ? -1 : 1)));
  press("5"); say("table", [...$("table").querySelectorAll(".row")].map((row) => [row.querySelector(".name").textContent, row.querySelector(".change").textContent]));
  press("3"); say("callers", labels(app.lower).length > 3);
""")
        self.assertIn("compared with ", log["facts"])
        self.assertLessEqual({"kept+0x100", "gone+0x100", "new+0x100"}, set(log["labels"]))
        self.assertEqual(log["width"], 12 * (0.25 + 0) / 2)
        self.assertRegex(log["tip"], r"75\.00 % → 50\.00 % [(]-25\.00 points[)]")
        self.assertEqual(log["colours"], [True, True, True])
        self.assertEqual(log["table"], [["new+0x100", "+50.00"], ["kept+0x100", "-25.00"], ["gone+0x100", "-25.00"], ["main+0x100", "0.00"]])
        self.assertTrue(log["callers"])
        result = subprocess.run([PROGRAM, "diff", "--output", page, old, new], capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(result.returncode, 125)
        self.assertIn("diff.html", result.stderr)

    def test_events_and_nothing(self):
        data = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../unit/input/data/two-events.perf")
        self.run_it("convert", data, self.path("two.html"))
        log = self.drive(self.path("two.html"), """
  const list = document.querySelector("#options select");
  say("events", [...list.options].map((each) => each.text)); say("share", text("share"));
  list.value = "1 1"; list.dispatchEvent(new Event("change")); say("one", text("share"));
""")
        self.assertEqual(log["events"][0], "samples of all events")
        self.assertEqual(log["share"], "All 14 samples")
        self.assertRegex(log["one"], r"^23\.4 ms of ")
        page = self.convert(capwriter.Writer(end_time=9000).save(self.path("none.syscap")))
        log = self.drive(page, 'for (const key of "12345") press(key); say("share", text("share"));')
        self.assertEqual(log["share"], "All 0 samples")


if __name__ == "__main__":
    if shutil.which("chromium") is None:
        print("chromium is not installed")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
