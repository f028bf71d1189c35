// SPDX-License-Identifier: LGPL-2.1-or-later
// SPDX-FileCopyrightText: 2026 The live-unwinder authors

// test-order.mjs DIRECTORY - rows are in order, whichever are asked for.

import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./recording.mjs";

const { Order } = await load("order");

// Returns n numbers that look random, some of them often.
function numbers(n) {
  const found = [];
  for (let i = 0, seed = 7; i < n; i++) { seed = (Math.imul(seed, 1103515245) + 12345) >>> 0; found.push(seed >>> 8 & (i % 3 ? 0xff : 0xffff)); }
  return found;
}

function orderOf(keys) {
  const compare = (a, b) => keys[b] - keys[a] || a - b, right = [...keys.keys()].sort(compare);
  return { order: new Order(Int32Array.from(keys.keys()), compare), right };
}

test("in order from the first one", () => {
  for (const n of [0, 1, 2, 255, 256, 257, 5000]) {
    const { order, right } = orderOf(numbers(n));
    assert.deepEqual(right.map((_, i) => order.at(i)), right);
    assert.equal(order.at(n), undefined);
  }
});

test("in order wherever one begins", () => {
  for (const places of [[4999, 0], [300, 700, 10], [255, 256], [2500]]) {
    const { order, right } = orderOf(numbers(5000));
    for (const place of places) assert.equal(order.at(place), right[place]);
  }
});

test("orders that are there already, and equal keys", () => {
  for (const keys of [[...Array(3000).keys()], [...Array(3000).keys()].reverse(), Array(3000).fill(1)]) {
    const { order, right } = orderOf(keys);
    assert.deepEqual([0, 10, 2999].map((i) => order.at(i)), [0, 10, 2999].map((i) => right[i]));
  }
});

test("the place of a row is known before it is sorted", () => {
  const { order, right } = orderOf(numbers(3000));
  assert.equal(order.find(right[2000]), 2000);
  assert.equal(order.find(right[0]), 0);
  assert.equal(order.find(99999), -1);
  assert.equal(order.at(2000), right[2000]);
});

test("only what is seen is sorted", () => {
  let n = 0;
  const order = new Order(Int32Array.from(Array(100000).keys()), (a, b) => { n++; return (a * 7919) % 100003 - (b * 7919) % 100003; });
  order.at(0);
  assert.ok(n < 600000, String(n));
});
