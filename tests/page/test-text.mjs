// SPDX-License-Identifier: LGPL-2.1-or-later
// SPDX-FileCopyrightText: 2026 The live-unwinder authors

// test-text.mjs DIRECTORY - numbers and names as the page shows them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./recording.mjs";

const { duration, fit, Label, makeMeasure, matcher, percent, plural, visible } = await load("text");
const measure = (text) => text.length;

test("names are cut in the middle and fit", () => {
  assert.equal(fit("short", 10, measure), "short");
  assert.equal(fit("a_rather_long_name", 9, measure), "a_rat…ame");
  assert.equal(fit("abc", 2, measure), "");
  for (let room = 0; room < 30; room++) assert.ok(fit("a_rather_long_name", room, measure).length <= room);
  assert.equal(fit("std::vector<…>::push", 16, measure), "std::vect…::push");
});

test("characters of two halves are not cut apart", () => {
  const text = "😀".repeat(20);
  for (let room = 3; room < 30; room++)
    assert.doesNotMatch(fit(text, room, measure), /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/);
});

test("a name of megabytes is cut at once", () => {
  let measured = 0;
  const cut = fit("x".repeat(4 << 20), 50, (text) => { measured += text.length; return text.length; });
  assert.equal(cut.length, 50);
  assert.ok(measured < 10000, `${measured} characters were measured`);
});

test("a label is cut as fit() cuts, without measuring again", () => {
  for (const name of ["a_rather_long_name", "std::vector<…>::push", "café au lait", "x".repeat(100_000)]) {
    let measured = 0;
    const label = new Label(name, (text) => { measured += text.length; return text.length; }), before = measured;
    for (let room = 0; room < 30; room++) {
      const bare = label.cut(room).replace(/[\u2068\u2069]/g, "");
      assert.ok(bare.length <= room);
      if (!name.includes("…")) assert.equal(bare, fit(name, room, measure));
    }
    if (!name.includes("é")) assert.equal(measured, before);
  }
});

test("widths of characters are added up, but for those beyond ASCII", () => {
  const asked = [];
  const context = { measureText: (text) => { asked.push(text); return { width: 2 * text.length }; } };
  const width = makeMeasure(context);
  assert.deepEqual([width("aab"), width("ab"), width("né")], [6, 4, 4]);
  assert.deepEqual(asked, ["a", "b", "n", "né"]);
});

test("what turns or hides text is spelled out", () => {
  assert.equal(visible("a\u202eb\u001b[31m\u0085\u2066"), "a\\u202eb\\u001b[31m\\u0085\\u2066");
  assert.equal(visible("mañana 中 <script>"), "mañana 中 <script>");
});

test("numbers", () => {
  assert.equal(percent(1, 3), "33.33 %");
  assert.equal(percent(0, 0), "0.00 %");
  assert.equal(plural(1, "sample"), "1 sample");
  assert.equal(plural(2007, "sample"), "2,007 samples");
  assert.deepEqual([12, 1234, 2.5e6, 65e6, 7e8, 4e9].map(duration), ["12 µs", "1.23 ms", "2.50 s", "65.0 s", "11.7 min", "1.1 h"]);
});

test("a search is text or a pattern", () => {
  assert.ok(matcher("MAIN")("_main_"));
  assert.ok(!matcher("/^main/")("_main_"));
  assert.ok(matcher("/^Main/i")("main_"));
  assert.throws(() => matcher("/(/"));
});
