// SPDX-License-Identifier: LGPL-2.1-or-later
// SPDX-FileCopyrightText: 2026 The live-unwinder authors

// test-tree.mjs DIRECTORY - samples as trees, and what is selected of them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { draw, load, record } from "./recording.mjs";

const { Capture } = await load("data");
const { Callees } = await load("lazy");
const { leaveOut, makeShape } = await load("shape");
const { buildTree, coverage, functionTotals, selectSamples, weigh } = await load("tree");

const ALL = { kernel: true };
const TWO = { processes: [[1, "a", "a 1"], [2, "b", "b"], [3, "a", "a 2"]], threads: [[0, 1, 0], [0, 9, "worker"], [1, 2, 0], [2, 3, 0]] };

function tree(samples, options = {}, more = {}, selection = {}) {
  const capture = new Capture(record(samples, more));
  return buildTree(capture, selectSamples(capture, selection), { ...ALL, ...options });
}

const fnOf = (made, name) => made.capture.names.indexOf(name);
// Returns names and places of the boxes in the order of drawing.
function places(made, id = 0) {
  const found = [[made.capture.names[made.fn[id]], made.x[id]]];
  made.children(id, {}, (child) => found.push(...places(made, child)));
  return found;
}

const rule = (samples, op, name) => {
  const capture = new Capture(record(samples));
  return draw(buildTree(capture, selectSamples(capture, {}), { ...ALL, rules: [{ op, fn: capture.names.indexOf(name) }] }));
};

const SAMPLES = [[0, 0, "main;f;g"], [10, 0, "main;h"], [20, 0, "main;h"], [30, 0, "main;f;g"], [40, 0, "main;f;k_read"], [50, 0, "main;h;g"]];

test("the widest callee is first", () => {
  assert.equal(draw(tree(SAMPLES)), "all 6\n program 6\n  main 6\n   f 3\n    g 2\n    k_read 1\n   h 3\n    g 1\n");
  const made = tree([[0, 0, "f;x"], [1, 0, "g;y"], [2, 0, "g;y"]]);
  assert.deepEqual(places(made), [["all", 0], ["program", 0], ["g", 0], ["y", 0], ["f", 2], ["x", 2]]);
  assert.deepEqual(made.end[0], 6);
  for (let i = 1; i < made.n; i++) assert.ok(made.parent[i] < i && made.end[i] > i && made.end[i] <= made.end[made.parent[i]]);
});

test("without the kernel, with recursion folded", () => {
  assert.match(draw(tree(SAMPLES, { kernel: false })), / {3}f 3\n {4}g 2\n {3}h/);
  assert.equal(draw(tree([[0, 0, "f;f;f;g"], [1, 0, "f;g"]], { folds: true })), "all 2\n program 2\n  f 2\n   g 2\n");
});

test("processes and threads", () => {
  const samples = [[0, 0, "f"], [1, 1, "f"], [2, 2, "f"], [3, 3, "f"]];
  assert.equal(draw(tree(samples, {}, TWO)), "all 4\n a 3\n  f 3\n b 1\n  f 1\n");
  assert.equal(draw(tree(samples, { byThread: true }, TWO)), "all 4\n a 3\n  a 2\n   f 2\n  worker 1\n   f 1\n b 1\n  b 1\n   f 1\n");
  assert.equal(tree(samples, {}, TWO, { who: { program: "a" } }).total[0], 3);
  assert.equal(tree(samples, {}, TWO, { who: { process: 2 } }).total[0], 1);
  assert.equal(tree(samples, {}, TWO, { who: { thread: 1 } }).total[0], 1);
});

test("a range of time leaves out what has no time", () => {
  const samples = [...SAMPLES, [null, 0, "main;late", 5]];
  assert.equal(tree(samples).total[0], 11);
  assert.equal(tree(samples, {}, {}, { from: 10, to: 40 }).total[0], 3);
});

test("focus, only, drop and hide", () => {
  assert.equal(rule(SAMPLES, "focus", "f"), "all 3\n f 3\n  g 2\n  k_read 1\n");
  assert.equal(rule(SAMPLES, "only", "g"), "all 3\n program 3\n  main 3\n   f 2\n    g 2\n   h 1\n    g 1\n");
  assert.equal(rule(SAMPLES, "drop", "g"), "all 3\n program 3\n  main 3\n   h 2\n   f 1\n    k_read 1\n");
  assert.equal(rule(SAMPLES, "hide", "f"), "all 6\n program 6\n  main 6\n   h 3\n    g 1\n   g 2\n   k_read 1\n");
});

test("rules about a module, and several of them", () => {
  const samples = [[0, 0, "main;f@lib;g@lib"], [1, 0, "main;h"]];
  assert.equal(draw(tree(samples, { rules: [{ op: "hide", module: "lib" }] })), "all 2\n program 2\n  main 2\n   h 1\n");
  assert.equal(draw(tree(samples, { rules: [{ op: "only", module: "lib" }, { op: "focus", module: "lib" }] })), "all 1\n f 1\n  g 1\n");
});

test("self and total count a sample once", () => {
  const made = tree([[0, 0, "f;g;f"], [1, 0, "f"], [2, 0, "g"]]), totals = functionTotals(made);
  assert.deepEqual([totals.self[fnOf(made, "f")], totals.total[fnOf(made, "f")]], [2, 2]);
  assert.deepEqual([totals.self[fnOf(made, "g")], totals.total[fnOf(made, "g")]], [1, 2]);
  const matches = new Uint8Array(made.capture.nFunctions);
  matches[fnOf(made, "g")] = 1;
  assert.equal(coverage(made, matches), 2);
});

test("callees of a function from its outermost calls", () => {
  const made = tree([[0, 0, "a;f;g"], [1, 0, "b;f;f;h"], [2, 0, "c"]]);
  assert.equal(draw(new Callees(made, fnOf(made, "f"))), "f 2\n f 1\n  h 1\n g 1\n");
  assert.equal(draw(new Callees(made, fnOf(made, "all"))).split("\n")[0], "all 3");
});

test("two recordings of different length are compared by shares", () => {
  const data = record([[0, 0, "f"], [1, 0, "f"], [2, 0, "f"], [3, 0, "g"]]);
  data.before = record([[0, 0, "f"], [1, 0, "h"]]);
  const capture = new Capture(data), made = buildTree(capture, selectSamples(capture, {}), ALL), totals = functionTotals(made);
  const of = (name) => { const fn = fnOf(made, name); return [totals.old[fn], 2 * totals.total[fn] - totals.old[fn]]; };
  assert.deepEqual([of("f"), of("g"), of("h"), of("all")], [[2, 3], [0, 1], [2, 0], [4, 4]]);
});

test("deep stacks and many nodes", () => {
  const deep = Array.from({ length: 4096 }, (_, i) => `f${i}`).join(";");
  const made = tree([[0, 0, deep]]);
  assert.equal(made.maxDepth, 4097);
  assert.equal(made.end[0], 4098);
  assert.equal(tree([[0, 0, deep + ";" + deep + ";" + deep]]).maxDepth, 3 * 4096 + 1);
  assert.equal(tree(Array.from({ length: 20000 }, (_, i) => [i, 0, `r${i % 7};s${i}`])).n, 20009);
});

test("selections share a shape, and each has its own order", () => {
  const capture = new Capture(record([[0, 0, "main;f;g"], [10, 0, "main;f"], [20, 0, "main;h"]])), shape = makeShape(capture, ALL);
  const of = (selection) => draw(weigh(shape, selectSamples(capture, selection)));
  assert.equal(of({}), "all 3\n program 3\n  main 3\n   f 2\n    g 1\n   h 1\n");
  assert.equal(of({ from: 5, to: 30 }), "all 2\n program 2\n  main 2\n   f 1\n   h 1\n");
  assert.equal(of({ from: 15, to: 30 }), "all 1\n program 1\n  main 1\n   h 1\n");
  assert.equal(weigh(shape, selectSamples(capture, { from: 15, to: 30 })).maxDepth, 3);
});

test("hidden frames join what is below them", () => {
  const samples = [[0, 0, "a;x;b;c"], [1, 0, "a;b;c"], [2, 0, "a;b;d"], [3, 0, "a;x;b;d"]];
  assert.equal(rule(samples, "hide", "x"), "all 4\n program 4\n  a 4\n   b 4\n    c 2\n    d 2\n");
  assert.equal(draw(tree([[0, 0, "f;g;f;f;h"], [1, 0, "f;g;f;h"]], { folds: true })), "all 2\n program 2\n  f 2\n   g 2\n    f 2\n     h 2\n");
});

// Returns a tree as text in an order that does not depend on numbers.
const sorted = (made, id = 0) => {
  const below = [];
  made.children(id, {}, (child) => below.push(sorted(made, child)));
  return `${made.capture.names[made.fn[id]]} ${made.total[id]} ${made.self[id]} (${below.sort().join(" ")})`;
};

test("leaving frames out is as if they had not been recorded", () => {
  let seed = 3;
  const chance = (n) => { seed = (Math.imul(seed, 1103515245) + 12345) >>> 0; return (seed >>> 8) % n; };
  for (let round = 0; round < 60; round++) {
    const stacks = Array.from({ length: 30 }, () => Array.from({ length: chance(8) }, () => ["a", "b", "c", "k_x"][chance(4)]));
    const folded = (stack) => stack.filter((name, i) => i === 0 || name !== stack[i - 1]);
    const as = (change, options) => {
      const samples = (list) => list.map((stack, i) => [i, i % 4, stack.join(";")]), byThread = round % 2 === 1;
      const capture = new Capture(record(samples(stacks), TWO)), all = selectSamples(capture, {});
      const rules = (options.rules || []).map(({ op, name }) => ({ op, fn: capture.names.indexOf(name) }));
      const made = weigh(leaveOut(makeShape(capture, { byThread }), { kernel: true, ...options, rules }), all);
      assert.equal(sorted(made), sorted(tree(samples(stacks.map(change)), { byThread }, TWO)));
      for (let i = 1; i < made.n; i++) {
        assert.ok(made.parent[i] < i && made.end[i] > i && made.end[i] <= made.end[made.parent[i]]);
        assert.equal(made.depth[i], made.depth[made.parent[i]] + 1);
      }
    };
    as((stack) => stack, {});
    as((stack) => stack.filter((name) => name !== "k_x"), { kernel: false });
    as((stack) => stack.filter((name) => name !== "a"), { rules: [{ op: "hide", name: "a" }] });
    as((stack) => stack.filter((name) => name !== "b" && name !== "k_x"), { kernel: false, rules: [{ op: "hide", name: "b" }] });
    as(folded, { folds: true });
    as((stack) => folded(stack.filter((name) => name !== "c")), { folds: true, rules: [{ op: "hide", name: "c" }] });
  }
});

test("a module without a name hides no program", () => {
  assert.equal(draw(tree([[0, 0, "f;g@lib"]], { rules: [{ op: "hide", module: "" }] })), "all 1\n program 1\n  g 1\n");
});

test("nothing", () => {
  assert.equal(draw(tree([], {}, { threads: [], processes: [] })), "all 0\n");
});
