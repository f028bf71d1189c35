// SPDX-License-Identifier: LGPL-2.1-or-later
// SPDX-FileCopyrightText: 2026 The live-unwinder authors

// test-views.mjs DIRECTORY - rows of the timeline and of the table, and colours.

import assert from "node:assert/strict";
import { test } from "node:test";
import { load, record } from "./recording.mjs";

const { titleOfRecording } = await load("header");
const { Capture, isCode } = await load("data");
const { buildTree, functionTotals, selectSamples } = await load("tree");
const { countOverTime, makeRows, stepOf } = await load("timeline");
const { Table } = await load("table");
const { Colours, cssOf, oklch, pixelOf } = await load("colours");
const { Pixels } = await load("pixels");

const MORE = { processes: [[1, "a", "a 1"], [2, "b", "b"], [3, "a", "a 2"]], threads: [[0, 1, 0], [0, 9, "worker"], [1, 2, 0], [2, 3, 0]] };

test("programs unfold to processes, and these to threads", () => {
  const rows = makeRows(new Capture(record([[0, 0, "f"], [1, 1, "f"], [2, 2, "f"], [3, 3, "f"], [4, 3, "f"], [5, 3, "f"]], MORE)));
  assert.deepEqual(rows.map(({ label, detail, n }) => [label, detail, n]), [["a", "2 processes", 5], ["b", "process 2", 1]]);
  assert.deepEqual(rows[0].rows.map(({ label, n }) => [label, n]), [["a 2", 3], ["a 1", 2]]);
  assert.deepEqual(rows[0].rows[1].rows.map(({ label, n }) => [label, n]), [["a", 1], ["worker", 1]]);
  assert.deepEqual(rows[1].rows, []);
});

test("samples over time", () => {
  const capture = new Capture(record([[0, 0, "f"], [49, 0, "f;k_x"], [50, 0, "f"], [100, 0, "f"]]));
  const { user, kernel } = countOverTime(capture, [{ threads: [0] }], 2, 100);
  assert.deepEqual([[...user], [...kernel]], [[1, 2], [1, 0]]);
});

test("steps of an axis are round", () => {
  assert.deepEqual([[10, 10], [11, 10], [1e6, 7], [3e6, 10], [6e7, 12]].map(([span, n]) => stepOf(span, n)), [1, 2, 200000, 500000, 5000000]);
});

function table(data, sort, passes) {
  const capture = new Capture(data), tree = buildTree(capture, selectSamples(capture, {}), { kernel: true });
  const made = new Table(tree, functionTotals(tree), sort, passes), rows = Array.from({ length: made.n }, (_, i) => made.row(i));
  return rows.map((row) => [capture.names[row.fn], row.self, row.total, row.change]);
}

test("a table sorts and filters", () => {
  const data = record([[0, 0, "main;f"], [1, 0, "main;f"], [2, 0, "main;g"]]);
  assert.deepEqual(table(data, "self"), [["f", 2, 2, 0], ["g", 1, 1, 0], ["main", 0, 3, 0]]);
  assert.deepEqual(table(data, "total").map(([name]) => name), ["main", "f", "g"]);
  assert.deepEqual(table(data, "-name").map(([name]) => name), ["main", "g", "f"]);
  assert.deepEqual(table(data, "name", [0, 1, 0, 0, 0]), [["f", 2, 2, 0]]);
});

test("functions of an interpreter are functions as others are", () => {
  const data = record([[0, 0, "main;py_work"], [1, 0, "main;py_work"], [2, 0, "main"]]);
  assert.deepEqual(table(data, "self").map(([name]) => name), ["py_work", "main"]);
  const capture = new Capture(data), colours = new Colours(capture, new Float64Array(capture.nFunctions));
  const [work, program] = ["py_work", "program"].map((name) => capture.names.indexOf(name));
  assert.deepEqual([isCode(capture.kinds[work]), isCode(capture.kinds[program])], [true, false]);
  assert.notEqual(colours.dim(work), colours.dim(program));
});

test("the title is what was recorded", () => {
  const of = (command, ...names) => titleOfRecording({ command, processes: names.map((name) => [1, name, ""]) });
  assert.equal(of("/opt/live-unwinder -o x.html -- /usr/bin/make -C a/b"), "make -C a/b");
  assert.equal(of("/opt/live-unwinder --all -o /tmp/x.html"), "live-unwinder --all -o /tmp/x.html");
  assert.deepEqual([of("", "nginx"), of(undefined, "b"), of("")], ["nginx", "b", "recording"]);
});

test("a table of a comparison tells what changed most", () => {
  const data = record([[0, 0, "f"], [1, 0, "g"]]);
  data.before = record([[0, 0, "f"], [1, 0, "f"], [2, 0, "f"], [3, 0, "f"]]);
  assert.deepEqual(table(data, "change"), [["f", 1, 1, -0.5], ["g", 1, 1, 0.5]]);
});

test("colours", () => {
  assert.deepEqual([oklch(1, 0, 0), oklch(0, 0, 0)], ["#ffffff", "#000000"]);
  assert.equal(oklch(0.628, 0.2577, 29.23), "#ff0000");
  const capture = new Capture(record([[0, 0, "main;f@lib;k_x"]])), colours = new Colours(capture, new Float64Array(capture.nFunctions));
  for (const isDark of [false, true]) {
    colours.setDark(isDark);
    for (let fn = 0; fn < capture.nFunctions; fn++)
      for (const pixel of [colours.of(fn), colours.dim(fn), ...colours.changes]) assert.equal(pixel >>> 24, 255);
    assert.match(colours.css(0), /^#[0-9a-f]{6}$/);
  }
  assert.equal(pixelOf("#0a0b0c"), 0xff0c0b0a);
  assert.equal(cssOf(0xff0c0b0a), "#0a0b0c");
  assert.notEqual(colours.change(1), colours.change(-1));
});

// Returns 5 × 4 pixels of the screen as digits.
function paint(ratio, what) {
  let shown = null;
  const context = { createImageData: (w, h) => ({ data: new Uint8Array(4 * w * h) }), putImageData: (image) => { shown = new Uint32Array(image.data.buffer); } };
  const pixels = new Pixels(context, 2);
  pixels.resize(10, 4, ratio);
  pixels.begin(0);
  what(pixels);
  pixels.finish();
  return Array.from({ length: 4 }, (_, y) => [...shown.subarray(10 * y, 10 * y + 10)].join(""));
}

test("boxes as pixels", () => {
  assert.deepEqual(paint(1, (pixels) => pixels.box(pixels.row(1), 1, 7, 5)), ["0000000000", "0555550000", "0555550000", "0000000000"]);
  assert.deepEqual(paint(2, (pixels) => pixels.box(pixels.row(0), 0, 4, 7)), ["7777770000", "7777770000", "7777770000", "7777770000"]);
  const part = paint(1, (pixels) => { pixels.box(pixels.row(-1), -5, 30, 3); pixels.box(pixels.row(3), 4.2, 4.9, 9); });
  assert.deepEqual(part, ["3333333333", "0000000000", "0000000000", "0000900000"]);
  assert.deepEqual(paint(1, (pixels) => assert.equal(pixels.row(4), -1)), Array(4).fill("0000000000"));
});
