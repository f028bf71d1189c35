// SPDX-License-Identifier: LGPL-2.1-or-later
// SPDX-FileCopyrightText: 2026 The live-unwinder authors

// test-state.mjs DIRECTORY - a view as the end of an address, and back.

import assert from "node:assert/strict";
import { test } from "node:test";
import { load, record } from "./recording.mjs";

const { Capture } = await load("data");
const { fromHash, START, toHash } = await load("state");

const capture = new Capture(record([[0, 0, "main;f@lib & co;g:h@lib"]],
                                   { processes: [[7, "a&b=c", "a"]], threads: [[0, 7, 0], [0, 8, "worker"]] }));
const back = (state) => fromHash("#" + toHash({ ...START, ...state }, capture), capture);
const fn = (name) => capture.names.indexOf(name);

test("nothing is chosen at first", () => {
  assert.equal(toHash(START, capture), "");
  assert.deepEqual(fromHash("", capture), { ...START });
});

for (const [name, state] of Object.entries({
  view: { view: "callers", flip: true, kernel: false, folds: true, byThread: true, heat: true },
  time: { from: 1_500_000, to: 2_000_000 },
  program: { who: { program: "a&b=c" } }, process: { who: { process: 0 } }, thread: { who: { thread: 1 } },
  rules: { rules: [{ op: "focus", fn: fn("f") }, { op: "hide", module: "lib & co" }, { op: "drop", fn: fn("g:h") }] },
  search: { search: "/a|b/ & #" }, sandwich: { view: "sandwich", fn: fn("g:h") }, zoom: { zoom: [0.25, 0.5] },
  table: { view: "table", sort: "-total" }, event: { event: 0, value: true },
})) test(`${name} comes back`, () => assert.deepEqual(back(state), { ...START, ...state }));

test("names of megabytes have short addresses", () => {
  const long = "x".repeat(1 << 20), large = new Capture(record([[0, 0, `main;${long}a@${long};${long}@lib`]]));
  for (const state of [{ fn: 1 }, { fn: 2 }, { rules: [{ op: "hide", module: long }, { op: "only", fn: 1 }] }]) {
    const hash = toHash({ ...START, ...state }, large);
    assert.ok(hash.length < 5000);
    assert.deepEqual(fromHash("#" + hash, large), { ...START, ...state });
  }
});

test("what does not fit is ignored", () => {
  for (const hash of ["view=nonsense", "t=2~1", "t=x", "who=pid:99", "who=pid:7:99", "rule=focus:f:lib:none", "rule=burn:m:lib & co",
                      "rule=focus:m:none", "fn=none", "zoom=1", "zoom=a~b", "event=none", "%%%", "__proto__=1"])
    assert.deepEqual(fromHash(hash, capture), { ...START }, hash);
});
