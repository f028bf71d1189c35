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


# Presses every control once; `check` has what it did, and what it should have done.
CONTROLS = """
const checks = {}, check = (what, found, expected) => { checks[what] = [found, expected]; };
const pressed = new Set(), keys = new Set(), label = (each) => each.dataset.key || each.id || `${each.className} ${each.textContent || each.title}`;
document.addEventListener("click", (event) => { const at = event.target.closest("button"); if (at) pressed.add(label(at)); }, true);
document.addEventListener("keydown", (event) => keys.add(event.key), true);
const seen = new Set(), watch = () => { for (const each of document.querySelectorAll("button")) if (!each.disabled) seen.add(label(each)); };
new MutationObserver(watch).observe(document.body, { childList: true, subtree: true, attributes: true });
watch();
const key = (name, place, more = {}) => (place || document.body).dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true, ...more }));
const graph = $("lower"), names = () => [...$("timeline").querySelectorAll(".who")].map((each) => each.textContent);
const click = (name) => mouse(app.lower, "click", find(app.lower, name)), samples = () => text("share").split(" ")[0];

// Header.
$("states").querySelector("summary").click(); check("legend", [$("states").open, text("legend").startsWith("complete100.00 %")], [true, true]);
key("Escape"); check("legend closed", $("states").open, false);

// Views: buttons, arrows, numbers.
for (const [i, view] of app.views.entries()) { $("views").children[i].click(); check("tab " + view, app.state.view, view); }
key("ArrowLeft", $("views").children[5]); check("tab to the left", app.state.view, "table");
key("ArrowRight", $("views").children[4]); key("ArrowRight", $("views").children[5]); check("tab round", app.state.view, "flame");
for (let i = 6; i >= 1; i--) { key(String(i)); check("key " + i, app.state.view, app.views[i - 1]); }

// Options: each button and its key.
for (const [name, letter] of [["flip", "r"], ["kernel", "k"], ["folds", "g"], ["byThread", "t"], ["heat", "m"]]) {
  const before = app.state[name], one = document.querySelector(`#options [data-key=${name}]`);
  one.click(); check("button " + name, [app.state[name], one.getAttribute("aria-pressed")], [!before, String(!before)]);
  key(letter); check("key " + letter, app.state[name], before);
}
button("options", "Keys"); check("help", $("help").open, true);
const listed = [...$("help").querySelectorAll("dt")].map((each) => each.textContent);
button("help", "Close"); check("help closed", $("help").open, false);
button("options", "Copy link"); check("Copy link", app.copied, location.href); app.copied = ""; key("y"); check("key y", app.copied, location.href);
key("?"); check("key ?", $("help").open, true); $("help").close();

// Timeline: processes of a program, one of them, one program, a range by keys and in the heat map.
check("rows", names().length, 2);
$("timeline").querySelector(".fold").click(); check("unfolded", names().length, 4);
$("timeline").querySelectorAll(".who")[2].click(); check("process", [samples(), location.hash.startsWith("#who=pid%3A3")], ["30", true]);
$("timeline").querySelectorAll(".who")[2].click(); check("all processes", text("share"), "All 100 samples");
$("timeline").querySelectorAll(".who")[1].click(); check("other process", samples(), "60");
$("timeline").querySelectorAll(".who")[0].click(); check("program", samples(), "90");
$("timeline").querySelectorAll(".who")[3].click(); check("other program", samples(), "10");
$("timeline").querySelectorAll(".who")[3].click();
$("timeline").querySelector(".fold").click(); check("folded", names().length, 2);
const canvas = app.timeline.canvas; canvas.setPointerCapture = () => {};
key("ArrowRight", canvas); const [from, to] = [app.state.from, app.state.to];
key("ArrowRight", canvas, { shiftKey: true }); check("longer", [app.state.from === from, app.state.to > to], [true, true]);
key("ArrowLeft", canvas, { shiftKey: true }); check("shorter", app.state.to, to);
button("chips", ""); check("all times", app.state.from, null);
key("m"); const box = canvas.getBoundingClientRect(), at = (x, y) => ({ clientX: box.left + x * box.width, clientY: box.top + y * box.height, pointerId: 1, button: 0, bubbles: true });
canvas.dispatchEvent(new PointerEvent("pointerdown", at(0.1, 0.1))); canvas.dispatchEvent(new PointerEvent("pointerup", at(0.1, 0.6)));
check("in the heat map", app.state.from !== null && app.state.to - app.state.from < app.timeline.heat.column, true);
key("Escape", canvas); key("m"); check("out of it", app.state.from, null);

// Graph: zoom and pan by keys, wheel and pointer; moves; copies.
const zoomed = () => Math.round(1000 * app.lower.span / app.lower.graph.total[0]);
for (const [closer, wider] of [["+", "-"], ["=", "-"], ["w", "s"]]) { key(closer, graph); check("key " + closer, zoomed(), 800); key(wider, graph); check("key " + wider, zoomed(), 1000); }
key("+", graph); const left = app.lower.from; key("d", graph); check("key d", app.lower.from > left, true); key("a", graph); check("key a", Math.abs(app.lower.from - left) < 1e-6, true);
graph.dispatchEvent(new WheelEvent("wheel", { deltaY: 50, shiftKey: true, bubbles: true, cancelable: true })); check("wheel pans", app.lower.from > left, true);
key("Home", graph); check("key Home", zoomed(), 1000);
graph.dispatchEvent(new WheelEvent("wheel", { deltaY: -240, ctrlKey: true, clientX: 300, bubbles: true, cancelable: true })); check("wheel zooms", zoomed(), 500);
const before = app.lower.from;
graph.dispatchEvent(new PointerEvent("pointerdown", { clientX: 500, clientY: 500, button: 0, bubbles: true }));
for (const x of [480, 400]) window.dispatchEvent(new PointerEvent("pointermove", { clientX: x, clientY: 500 }));
window.dispatchEvent(new PointerEvent("pointerup", {})); check("pointer pans", app.lower.from > before, true); app.lower.isPanning = false;
key("Home", graph); click("read"); check("click", app.lower.span, 60);
key("Backspace", graph); check("Backspace", app.lower.span > 60, true);
key("Home", graph); key("ArrowDown", graph); key("ArrowDown", graph); const way = app.lower.chosen;
key("ArrowDown", graph); key("ArrowRight", graph); check("ArrowRight", app.lower.graph.parent[app.lower.chosen], way);
key("ArrowLeft", graph); key("Enter", graph); check("Enter", app.lower.span, 60);
key("ArrowUp", graph); check("ArrowUp", app.lower.chosen, way);
click("read"); key("c", graph); check("key c", app.copied, "read+0x100");
mouse(app.lower, "click", find(app.lower, "parse"), { ctrlKey: true }); check("Ctrl-click", app.copied, "parse+0x100");
key("Home", graph);

// Actions with a function: buttons, keys; undo, chips, Escape.
const act = { Focus: ["f", "focus read+0x100 ×"], Only: ["o", "only read+0x100 ×"], Drop: ["x", "drop read+0x100 ×"], Hide: ["h", "hide read+0x100 ×"], "Hide module": ["H", "hide module read ×"] };
const one = (name) => [...$("actions").children].find((each) => each.textContent === name);
for (const [name, [letter, chip]] of Object.entries(act)) {
  click("read"); one(name).click(); check("button " + name, text("chips"), chip);
  $("chips").firstChild.click(); check("chip " + name, text("chips"), "");
  click("read"); key(letter, graph); check("key " + letter, text("chips"), chip); key("u"); check("key u " + letter, text("chips"), "");
}
click("read"); key("F", graph); check("key F", text("chips"), "focus module read ×"); key("Escape"); check("Escape", text("chips"), "");
click("read"); one("Copy").click(); check("Copy", app.copied, "read+0x100");
click("read"); one("Sandwich").click(); check("Sandwich", [app.state.view, text("middle").split(" ")[0]], ["sandwich", "read+0x100"]); key("1");
click("sort"); key("b", graph); check("key b", text("middle").split(" ")[0], "sort+0x100"); key("1");

// Search.
key("/"); check("key /", document.activeElement.id, "search"); look("sort");
key("Enter", $("search")); check("Enter in the search", text("found"), "1 of 2 · 30.00 %");
key("Enter", $("search"), { shiftKey: true }); check("Shift-Enter", text("found"), "2 of 2 · 30.00 %");
$("next").click(); check("next", text("found"), "1 of 2 · 30.00 %"); $("previous").click(); check("previous", text("found"), "2 of 2 · 30.00 %");
key("n"); check("key n", text("found"), "1 of 2 · 30.00 %"); key("N"); check("key N", text("found"), "2 of 2 · 30.00 %");
$("search").blur(); key("Escape"); check("Escape clears it", $("search").value, "");

// Table: each column both ways, rows by keys and pointer.
key("5"); const table = $("table"), column = (name) => [...table.querySelectorAll(".row ." + name)].map((each) => each.textContent), head = (i) => table.querySelectorAll(".head button")[i];
for (let i = 0; i < 4; i++) { head(i).click(); const once = app.state.sort, way = column("name").join(); head(i).click(); check("column " + i, [app.state.sort === once, column("name").join() === way], [false, false]); }
head(0).click(); if (app.state.sort !== "self") head(0).click();
key("Home", table); check("Home", app.table.chosen, 0); key("End", table); check("End", app.table.chosen, app.table.rows.n - 1);
key("PageUp", table); check("PageUp", app.table.chosen, 0); key("PageDown", table); check("PageDown", app.table.chosen, app.table.rows.n - 1);
key("ArrowUp", table); check("ArrowUp in it", app.table.chosen, app.table.rows.n - 2); key("ArrowDown", table); check("ArrowDown in it", app.table.chosen, app.table.rows.n - 1);
key("Home", table); key("c", table); check("c in it", app.copied, "parse+0x100");
table.querySelectorAll(".row")[1].dispatchEvent(new MouseEvent("click", { bubbles: true, ctrlKey: true })); check("Ctrl-click in it", app.copied, "sort+0x100");
table.querySelector(".row").dispatchEvent(new MouseEvent("dblclick", { bubbles: true })); check("double click", [app.state.view, text("middle").split(" ")[0]], ["sandwich", "parse+0x100"]);
key("5"); key("Home", table); key("Enter", table); check("Enter in it", app.state.view, "sandwich");

// Tree of calls: unfolded to the busiest, by pointer and keys.
key("6"); check("tree", column("name"), ["▾all", "▾program1", "▾main+0x100", "▾read+0x100", "parse+0x100", "▸sort+0x100", "▸program2"]);
table.querySelectorAll(".row .fold")[5].click(); check("unfolded call", column("name")[6], "sort+0x100"); table.querySelectorAll(".row .fold")[5].click(); check("folded call", column("name").length, 7);
table.querySelectorAll(".row")[6].click(); key("ArrowRight", table); check("unfolded by key", column("name").length, 8); key("ArrowRight", table); key("*", table); check("all below", column("name").slice(7), ["▾start+0x100", "wait+0x100"]);
key("ArrowLeft", table); key("ArrowLeft", table); check("to the caller", app.table.chosen, 6); key("ArrowLeft", table); check("folded by key", column("name").length, 7);

// A link that is opened in this window.
key("1"); history.replaceState(null, "", "#view=table&search=wait"); window.dispatchEvent(new HashChangeEvent("hashchange")); check("link", [app.state.view, $("search").value, column("name").length], ["table", "wait", 1]);
watch();
say("checks", checks);
say("buttons", [...seen].filter((each) => !pressed.has(each)));
const spelled = listed.flatMap((each) => each.replace(/^Arrow keys, [*]$/, "*").replace(/, (Ctrl-)?click|^Enter, click$/, "").replace("Arrow keys", "ArrowUp, ArrowDown, ArrowLeft, ArrowRight").replace(/(\\d) – \\d/, "1, 2, 3, 4, 5, 6").split(/, | or | /)).map((each) => (each === "−" ? "-" : each));
say("keys", spelled.filter((each) => each && !keys.has(each)));
"""


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
        """samples: (pid, seconds, names, outermost first), perhaps with a thread at the end."""
        writer, places = capwriter.Writer(end_time=9000), {}
        for pid in sorted({pid for pid, *_ in samples}):
            writer.process(names.get(f"p{pid}", f"program{pid}"), pid=pid)
        for pid, seconds, stack, *tid in samples:
            addresses = []
            for function in reversed(stack):
                if (pid, function) not in places:
                    places[pid, function] = 0x10000 * (len(places) + 1)
                    writer.map(places[pid, function], places[pid, function] + 0x1000, 0, "/none/" + function, pid=pid)
                addresses.append(places[pid, function] + 0x101 - (not addresses))
            writer.sample(addresses, time=int(seconds * SECOND) + 1000, pid=pid, tid=tid[0] if tid else pid)
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

    def test_controls(self):
        """Every button and every key of the list of keys. The page's own list says which ones there are."""
        samples = [(1, i / 100, ["main", "read", "parse"]) for i in range(60)] + [(3, 0.6 + i / 100, ["main", "sort", "sort"]) for i in range(30)]
        samples += [(2, 0.3 + i / 100, ["start", "wait"]) for i in range(10)]
        capture = self.capture("controls.syscap", sorted(samples, key=lambda sample: sample[1]), p3="program1")
        log = self.drive(self.convert(capture), CONTROLS)
        self.assertEqual(log["buttons"], [], "not pressed")
        self.assertEqual(log["keys"], [], "not pressed")
        wrong = {what: both for what, both in log["checks"].items() if both[0] != both[1]}
        self.assertEqual(wrong, {}, "what was found, and what was expected")

    def test_three_clicks(self):
        """Questions of somebody who sees the page for the first time."""
        samples = [(pid, i / 100, ["main", f"work{tid}"], tid) for i in range(80) for pid, tid in ((1, 1), (1, 11), (2, 2), (3, 3))]
        log = self.drive(self.convert(self.capture("clicks.syscap", samples, p3="program1")), """
  const rows = () => [...$("timeline").querySelectorAll(".who")].map((each) => each.textContent), who = (name) => [...$("timeline").querySelectorAll(".who")].find((each) => each.textContent.includes(name));
  $("timeline").querySelector(".fold").click(); say("rows", rows()); who("thread 11").click(); say("thread", labels(app.lower));
  who("process 3").click(); say("process", labels(app.lower));
  mouse(app.lower, "click", find(app.lower, "work3")); button("actions", "Sandwich"); say("sandwich", [labels(app.upper), labels(app.lower)]);
  button("options", "Copy link"); say("link", app.copied === location.href && app.copied.includes("#view=sandwich"));
""")
        self.assertEqual(log["rows"], ["program12 processes", "program1process 1", "program1thread 1", "program1thread 11", "program1process 3", "program2process 2"])
        self.assertEqual(log["thread"], ["all", "program1", "main+0x100", "work11+0x100"])
        self.assertEqual(log["process"], ["all", "program1", "main+0x100", "work3+0x100"])
        self.assertEqual(log["sandwich"], [["work3+0x100", "main+0x100", "program1"], ["work3+0x100"]])
        self.assertTrue(log["link"])

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
  press("7"); say("rows", {rows}); say("head", text("table").slice(0, 40));
  $("table").querySelector(".row").click(); press("l", $("table")); say("chips", text("chips")); say("own", {rows});
  button("chips", "lines of"); say("all", {rows}.length); say("hash", location.hash);
""")
        self.assertRegex(log["rows"][0][0], r"^spin\.c:[67]$")
        self.assertEqual(log["rows"][0][1], "main")
        self.assertRegex(log["head"], "^Self.*Total.*Line")
        self.assertEqual((log["chips"], {name for _, name in log["own"]}), ("lines of main ×", {"main"}))
        self.assertGreaterEqual(log["all"], len(log["own"]))
        self.assertIn("view=lines", log["hash"])
        log = self.drive(self.convert(self.path("lines.syscap")), 'press("7"); say("view", app.state.view); say("tabs", $("views").children.length);',
                         fragment="#view=lines")
        self.assertEqual(log, {"view": "flame", "tabs": 6})

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
  for (const key of "123456") { press(key); for (const view of [app.upper, app.lower]) if (view.graph) view.choose(view.graph.first(0) < 0 ? 0 : view.graph.first(0)); }
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
  for (const key of "123456") { press(key); for (const view of [app.upper, app.lower]) if (view.graph) view.choose(view.graph.first(0) < 0 ? 0 : view.graph.first(0)); }
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
        log = self.drive(page, 'for (const key of "123456") press(key); say("share", text("share"));')
        self.assertEqual(log["share"], "All 0 samples")


if __name__ == "__main__":
    if shutil.which("chromium") is None:
        print("chromium is not installed")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
