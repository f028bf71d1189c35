// SPDX-License-Identifier: LGPL-2.1-or-later
// SPDX-FileCopyrightText: 2026 The live-unwinder authors

// test-lines.mjs DIRECTORY - source lines: nodes that differ by their line only are one box, and each
// line has its samples.

import assert from "node:assert/strict";
import { test } from "node:test";
import { column, draw, load, record } from "./recording.mjs";

const { Capture } = await load("data");
const { buildTree, selectSamples } = await load("tree");
const { findLines, LineTable } = await load("lines");

// A function is written "name:line"; the page gets a node for each line.
function recordLines(samples) {
  const data = record(samples), numbers = [], lines = [], names = data.names.map((name) => name.split(":")[0]), unique = [...new Set(names)];
  const bytes = [...Buffer.from(data.nodes, "base64")]; // all numbers are small here
  for (let i = 0; i < bytes.length; i += 2) {
    numbers.push(bytes[i], unique.indexOf(names[bytes[i + 1]]));
    lines.push(Number(data.names[bytes[i + 1]].split(":")[1] || 0));
  }
  const places = unique.flatMap((_, i) => [1, i + 1]);
  return { ...data, names: unique, full_names: unique.map(() => 0), kinds: "0".repeat(unique.length), module_of: column(unique.map(() => 0)),
           modules: [""], files: ["src/main.c"], places: column(places), nodes: column(numbers), lines: column(lines) };
}

const SAMPLES = [[0, 0, "main:5;work:10"], [1, 0, "main:5;work:11"], [2, 0, "main:6;work:11"], [3, 0, "main:6;work:11;work:11"], [4, 0, "main"]];

function tableOf(samples, options = {}, selection = {}) {
  const capture = new Capture(recordLines(samples)), tree = buildTree(capture, selectSamples(capture, selection), { kernel: true });
  const table = new LineTable(tree, findLines(capture), { sort: "self", passes: null, fn: null, ...options });
  return Array.from({ length: table.n }, (_, i) => table.row(i)).map(({ name, self, total }) => [name, self, total]);
}

test("nodes that differ by their line are one box", () => {
  const capture = new Capture(recordLines(SAMPLES));
  assert.equal(draw(buildTree(capture, selectSamples(capture, {}), { kernel: true })),
               "all 5\n program 5\n  main 5\n   work 4\n    work 1\n");
});

test("a line counts once for a sample", () => {
  assert.deepEqual(tableOf(SAMPLES), [["main.c:11", 3, 3], ["main.c:10", 1, 1], ["main.c:5", 0, 2], ["main.c:6", 0, 2]]);
  assert.deepEqual(tableOf(SAMPLES, { sort: "-name" }).map(([name]) => name), ["main.c:11", "main.c:10", "main.c:6", "main.c:5"]);
});

test("lines of one function, and of a selection", () => {
  assert.deepEqual(tableOf(SAMPLES, { fn: 0 }).map(([name]) => name), ["main.c:5", "main.c:6"]);
  assert.deepEqual(tableOf(SAMPLES, {}, { from: 0, to: 2 }), [["main.c:10", 1, 1], ["main.c:11", 1, 1], ["main.c:5", 0, 2]]);
});

test("a recording without lines has none", () => {
  assert.equal(new Capture(record([[0, 0, "f"]])).line, null);
});
