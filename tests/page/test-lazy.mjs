// SPDX-License-Identifier: LGPL-2.1-or-later
// SPDX-FileCopyrightText: 2026 The live-unwinder authors

// test-lazy.mjs DIRECTORY - callers, and the order of time.

import assert from "node:assert/strict";
import { test } from "node:test";
import { draw, load, record } from "./recording.mjs";

const { Capture } = await load("data");
const { buildTree, selectSamples } = await load("tree");
const { Callers, TimeOrder } = await load("lazy");

function tree(samples, more = {}, options = {}) {
  const capture = new Capture(record(samples, more));
  return buildTree(capture, selectSamples(capture, {}), { kernel: true, ...options });
}

const SAMPLES = [[0, 0, "main;f;g"], [10, 0, "main;f;g"], [20, 0, "main;h"], [30, 0, "main;f;g"], [40, 0, "main;f"]];

test("callers of everything begin at the leaves", () => {
  assert.equal(draw(new Callers(tree(SAMPLES), -1)),
               "all 5\n g 3\n  f 3\n   main 3\n    program 3\n f 1\n  main 1\n   program 1\n h 1\n  main 1\n   program 1\n");
});

test("callers of a function begin at its outermost calls", () => {
  const made = tree([[0, 0, "a;f;f"], [1, 0, "b;f"], [2, 0, "b;f"], [3, 0, "c"]]);
  assert.equal(draw(new Callers(made, made.capture.names.indexOf("f"))), "f 3\n b 2\n  program 2\n a 1\n  program 1\n");
});

test("what is narrow is left out, and told", () => {
  const callers = new Callers(tree(SAMPLES), -1), seen = [];
  const rest = callers.children(0, { min: 2 }, (id) => seen.push(callers.capture.names[callers.fn[id]]));
  assert.deepEqual([seen, rest], [["g"], 3]);
});

test("callers of a comparison have both recordings", () => {
  const data = record([[0, 0, "f;g"]]);
  data.before = record([[0, 0, "h;g"]]);
  const capture = new Capture(data), callers = new Callers(buildTree(capture, selectSamples(capture, {}), { kernel: true }), -1);
  const of = {};
  callers.children(0, {}, (g) => callers.children(g, {}, (id) => { of[capture.names[callers.fn[id]]] = [callers.total[id], callers.old[id]]; }));
  assert.deepEqual(of, { f: [0.5, 0], h: [0.5, 1] });
});

test("time order joins neighbours only", () => {
  const order = new TimeOrder(tree(SAMPLES));
  order.prepare(0);
  assert.equal(draw(order), "all 5\n program 5\n  main 5\n   f 2\n    g 2\n   h 1\n   f 2\n    g 1\n");
});

test("time order keeps threads apart, the busiest first", () => {
  const more = { threads: [[0, 1, 0], [0, 2, "worker"]] };
  const order = new TimeOrder(tree([[0, 0, "f"], [1, 1, "g"], [2, 1, "g"], [3, 0, "f"], [4, 1, "f"]], more));
  order.prepare(0);
  assert.equal(draw(order), "all 5\n program 3\n  g 2\n  f 1\n program 2\n  f 2\n");
  let last = -1;
  order.children(0, {}, (id) => { last = id; });
  assert.equal(order.timeOf(last), 0);
});

test("runs too narrow to be seen are few boxes", () => {
  const samples = Array.from({ length: 10000 }, (_, i) => [i, 0, `f${i % 50}`]), order = new TimeOrder(tree(samples));
  order.prepare(100);
  let n = 0;
  order.children(order.first(0), {}, () => n++);
  assert.equal(n, 100);
  assert.ok(order.prepare(1));
  n = 0;
  order.children(order.first(0), { from: 10, to: 20 }, () => n++);
  assert.equal(n, 10);
});

test("a deep stack", () => {
  const stack = Array.from({ length: 4096 }, () => "f").join(";"), callers = new Callers(tree([[0, 0, stack], [1, 0, stack]]), -1);
  let id = 0, depth = 0;
  for (; (id = callers.first(id)) > 0; depth++) assert.equal(callers.total[id], 2);
  assert.equal(depth, 4097);
});
