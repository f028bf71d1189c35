// SPDX-License-Identifier: LGPL-2.1-or-later
// SPDX-FileCopyrightText: 2026 The live-unwinder authors

// text.mjs - numbers and names as the page shows them.

const ISOLATE = "\u2068", END_ISOLATE = "\u2069", ELLIPSIS = "…";
// The most characters of a name that are ever measured, from both of its ends.
const MAX_MEASURED = 300;

export const percent = (part, whole) => (whole > 0 ? (100 * part / whole).toFixed(2) : "0.00") + " %";

export const count = (number) => Math.round(number).toLocaleString("en");

// us: microseconds.
export function duration(us) {
  if (us < 1000) return `${us.toFixed(0)} µs`;
  if (us < 1e6) return `${(us / 1e3).toPrecision(3)} ms`;
  if (us < 600e6) return `${(us / 1e6).toFixed(us < 10e6 ? 2 : 1)} s`;
  return us < 36e8 ? `${(us / 60e6).toFixed(1)} min` : `${(us / 36e8).toFixed(1)} h`;
}

export const plural = (number, one) => `${count(number)} ${one}${Math.round(number) === 1 ? "" : "s"}`;

const code = (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;

// Returns the name with control characters and those that turn the direction of text spelled out.
export const visible = (name) =>
  name.replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g, code);

// A name between others: its direction does not reach beyond it.
export const isolated = (name) => ISOLATE + name + END_ISOLATE;

// Returns a function that tells the width of a text, which adds up the characters that it knows.
export function makeMeasure(context) {
  const widths = new Float32Array(128).fill(-1);

  function widthOf(c) {
    if (widths[c] < 0) widths[c] = context.measureText(String.fromCharCode(c)).width;
    return widths[c];
  }

  return (text) => {
    let sum = 0;
    for (let i = 0; i < text.length; i++) {
      const c = text.charCodeAt(i);
      if (c >= 128 || c < 32) return context.measureText(text).width;
      sum += widthOf(c);
    }
    return sum;
  };
}

const isInsideCharacter = (text, at) => {
  const c = text.charCodeAt(at);
  return c >= 0xdc00 && c <= 0xdfff;
};

const headOf = (keep) => Math.ceil(keep * 0.6);

function shorten(text, keep) {
  let head = headOf(keep), tail = text.length - (keep - head);
  if (isInsideCharacter(text, head)) head--;
  if (isInsideCharacter(text, tail)) tail++;
  return text.slice(0, head).replace(/…$/, "") + ELLIPSIS + text.slice(tail).replace(/^…/, "");
}

const limited = (text) => (text.length > 2 * MAX_MEASURED ? shorten(text, 2 * MAX_MEASURED) : text);

// Returns the text, or as much of both of its ends as fits, or "".
export function fit(text, room, measure) {
  const short = limited(text);
  if (short === text && measure(text) <= room) return text;
  let low = 0, high = Math.min(text.length - 1, 2 * MAX_MEASURED);
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (measure(shorten(text, middle)) <= room) low = middle;
    else high = middle - 1;
  }
  return low < 3 ? "" : shorten(text, low);
}

// A name that is drawn in many boxes: it is measured once, and cut at once to any room.
export class Label {
  constructor(name, measure) {
    const text = visible(limited(name));
    this.isWhole = name.length <= 2 * MAX_MEASURED && text.length <= 2 * MAX_MEASURED;
    this.text = limited(text);
    this.measure = measure;
    this.width = measure(this.text);
    this.isPlain = /^[ -~…]*$/.test(this.text);
    this.last = { keep: 0, text: "" };
    if (!this.isPlain) return;
    this.ellipsis = measure(ELLIPSIS);
    this.edges = new Float32Array(this.text.length + 1);
    for (let i = 0; i < this.text.length; i++) this.edges[i + 1] = this.edges[i] + measure(this.text[i]);
  }

  // Returns the text, or as much of both of its ends as fits, or "".
  cut(room) {
    if (this.width <= room && this.isWhole) return this.isPlain ? this.text : isolated(this.text);
    if (!this.isPlain) { const text = fit(this.text, room, this.measure); return text && isolated(text); }
    const { edges } = this, n = this.text.length;
    let low = 0, high = n - 1;
    while (low < high) {
      const keep = (low + high + 1) >> 1, head = headOf(keep);
      if (edges[head] + this.ellipsis + edges[n] - edges[n - keep + head] <= room) low = keep;
      else high = keep - 1;
    }
    if (low < 3) return "";
    if (this.last.keep !== low) this.last = { keep: low, text: shorten(this.text, low) };
    return this.last.text;
  }
}

// Returns a function that tests names: text in upper or lower case, or /pattern/. Throws if the
// pattern is none.
export function matcher(text) {
  const pattern = /^\/(.+)\/(i?)$/.exec(text);
  if (pattern) {
    const regexp = new RegExp(pattern[1], pattern[2]);
    return (name) => regexp.test(name);
  }
  const lower = text.toLowerCase();
  return (name) => name.toLowerCase().includes(lower);
}
