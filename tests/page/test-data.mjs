// SPDX-License-Identifier: LGPL-2.1-or-later
// SPDX-FileCopyrightText: 2026 The live-unwinder authors

// test-data.mjs DIRECTORY - the page reads what a recording has.

import assert from "node:assert/strict";
import { test } from "node:test";
import { column, load, record } from "./recording.mjs";

const { Capture, KERNEL, PROGRAM, STATE } = await load("data");

test("samples, nodes and names", () => {
  const capture = new Capture(record([[0, 0, "main;f"], [1500, 0, "main"], [3_000_000, 0, "main;f;k_read"]]));
  assert.deepEqual([...capture.time], [0, 1500, 3_000_000]);
  assert.deepEqual([...capture.parent], [0, 0, 1, 2]);
  assert.deepEqual([...capture.node].map((node) => capture.names[capture.fn[node]]), ["f", "main", "k_read"]);
  assert.equal(capture.kinds[capture.names.indexOf("k_read")], KERNEL);
  assert.equal(capture.kinds[capture.all], PROGRAM);
  assert.deepEqual([...capture.value], [1e6, 1e6, 1e6]);
});

test("samples without a time count", () => {
  const capture = new Capture(record([[5, 0, "main"], [null, 0, "main;f", 70000]]));
  assert.equal(capture.n, 2);
  assert.ok(Number.isNaN(capture.time[1]));
  assert.deepEqual([...capture.weight], [1, 70000]);
});

test("functions of one name in one recording are two", () => {
  const data = record([[0, 0, "f;g"]], {});
  data.names = ["f", "f"];
  assert.equal(new Set(new Capture(data).fn.subarray(1)).size, 2);
});

test("the same function of two recordings is one", () => {
  const data = record([[0, 0, "main;f@lib"]]);
  data.before = record([[0, 0, "other;f@lib"], [1, 0, "other"]]);
  const capture = new Capture(data);
  assert.equal(capture.firstBefore, 1);
  assert.equal(capture.fn[2], capture.fn[4]);
  assert.equal(capture.parent[4], 3);
  assert.equal(capture.thread[1], 1);
});

test("weights of samples", () => {
  const data = record([[0, 0, "f"], [1, 0, "g"]], { weights: column([5, 7000]), events: [["x", "count", 0]] });
  assert.deepEqual([...new Capture(data).value], [5, 7000]);
});

test("how a stack ended", () => {
  const capture = new Capture(record([[0, 0, "main"], [1, 0, "(truncated stack copy);f"], [2, 0, "k_thread"], [3, 0, ""]]));
  const { keys, of } = capture.states();
  assert.deepEqual([...capture.node].map((node) => keys[of[node]]),
                   ["complete", "truncated-copy", "kernel-only", "no-user-context"]);
  assert.equal(capture.kinds[1], STATE);
});

test("nothing", () => {
  const capture = new Capture(record([], { threads: [], processes: [] }));
  assert.equal(capture.n, 0);
});
