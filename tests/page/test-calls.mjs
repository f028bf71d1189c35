// SPDX-License-Identifier: LGPL-2.1-or-later
// SPDX-FileCopyrightText: 2026 The live-unwinder authors

// test-calls.mjs DIRECTORY - the tree of calls that unfolds.

import assert from "node:assert/strict";
import { test } from "node:test";
import { load, record } from "./recording.mjs";

const { Capture } = await load("data");
const { buildTree, selectSamples } = await load("tree");
const { CallRows } = await load("calls");

function rowsOf(data) {
  const capture = new Capture(data);
  return new CallRows(buildTree(capture, selectSamples(capture, {}), { kernel: true }));
}

// Returns rows as "name total", indented, with "+" where more unfolds.
const text = (rows) => Array.from({ length: rows.n }, (_, i) => rows.row(i)).map(({ fn, total, level, isOpen, hasMore }) =>
  `${" ".repeat(level)}${rows.tree.capture.names[fn]} ${total}${hasMore && !isOpen ? "+" : ""}`);

const SAMPLES = [[0, 0, "main;f;g"], [1, 0, "main;f;g"], [2, 0, "main;h;x"], [3, 0, "main;f"], [4, 0, "k_read"]];

test("unfolded to the busiest calls at first", () => {
  assert.deepEqual(text(rowsOf(record(SAMPLES))), ["all 5", " program 5", "  main 4", "   f 3", "    g 2", "   h 1+", "  k_read 1"]);
  assert.deepEqual(text(rowsOf(record([[0, 0, "a;x"], [1, 0, "b"], [2, 0, "c"]]))), ["all 3", " program 3", "  a 1+", "  b 1", "  c 1"]);
  assert.equal(rowsOf(record([[0, 0, Array(4000).fill("f").join(";")]])).n, 61);
});

test("folds with all that is below", () => {
  const rows = rowsOf(record(SAMPLES));
  rows.fold(2);
  assert.deepEqual(text(rows), ["all 5", " program 5", "  main 4+", "  k_read 1"]);
  rows.unfold(2);
  assert.deepEqual(text(rows), ["all 5", " program 5", "  main 4", "   f 3+", "   h 1+", "  k_read 1"]);
  rows.unfold(2);
  rows.unfoldAll(2);
  assert.deepEqual(text(rows), ["all 5", " program 5", "  main 4", "   f 3", "    g 2", "   h 1", "    x 1", "  k_read 1"]);
  assert.deepEqual([rows.caller(6), rows.caller(2), rows.caller(0), rows.find(rows.row(5).fn), rows.find(-5)], [5, 1, 0, 5, -1]);
});

test("a comparison tells what each call has now, and its change", () => {
  const data = record([[0, 0, "f"], [1, 0, "g"]]);
  data.before = record([[0, 0, "f"], [1, 0, "f"]]);
  const rows = rowsOf(data), of = (name) => rows.row(rows.find(rows.tree.capture.names.indexOf(name)));
  assert.deepEqual([of("f").total, of("f").totalChange, of("g").total, of("g").totalChange], [1, -0.5, 1, 0.5]);
});

test("nothing", () => {
  assert.deepEqual(text(rowsOf(record([], { threads: [], processes: [] }))), ["all 0"]);
});
