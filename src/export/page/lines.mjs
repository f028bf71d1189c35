// SPDX-License-Identifier: LGPL-2.1-or-later
// SPDX-FileCopyrightText: 2026 The live-unwinder authors

// lines.mjs - what the source lines of functions have, where the recording has lines. A sample counts
// once for a line, however often its stack has it.

import { Order } from "./order.mjs";

// Returns the lines of a recording: of each node the number of its line (-1: not known), and function
// and line by number.
export function findLines(capture) {
  const ids = new Map(), fns = [], lines = [], ofNode = new Int32Array(capture.parent.length).fill(-1);
  for (let node = 1; node < ofNode.length; node++) {
    const line = capture.line[node], fn = capture.fn[node];
    if (line === 0) continue;
    const key = fn * 0x400000 + Math.min(line, 0x3fffff);
    if (!ids.has(key)) {
      ids.set(key, fns.push(fn) - 1);
      lines.push(line);
    }
    ofNode[node] = ids.get(key);
  }
  return { ofNode, fns: Int32Array.from(fns), lines: Int32Array.from(lines) };
}

// The rows of a table of lines, as Table (table.mjs) has functions.
export class LineTable {
  // lines: what findLines() returned; fn: only of this function, null: of all.
  constructor(tree, lines, { sort, passes, fn }) {
    const n = lines.fns.length;
    this.isOfLines = true;
    this.tree = tree;
    this.lines = lines;
    this.self = new Float64Array(n);
    this.total = new Float64Array(n);
    this.#addUp();
    const isShown = (id) => this.total[id] > 0 && (fn === null || lines.fns[id] === fn) && (!passes || passes[lines.fns[id]]);
    this.order = new Order(Int32Array.from(lines.fns.keys()).filter(isShown), this.#comparison(sort.replace(/^-/, ""), sort.startsWith("-") ? -1 : 1));
    this.n = this.order.n;
  }

  #addUp() {
    const { capture, samples, amounts, shape } = this.tree, { ofNode } = this.lines, last = new Int32Array(this.self.length).fill(-1);
    for (const sample of samples) {
      if (shape.leafOf[sample] < 0) continue;
      const leaf = capture.node[sample];
      if (ofNode[leaf] >= 0) this.self[ofNode[leaf]] += amounts[sample];
      for (let node = leaf; node !== 0; node = capture.parent[node]) {
        const id = ofNode[node];
        if (id < 0 || last[id] === sample) continue;
        last[id] = sample;
        this.total[id] += amounts[sample];
      }
    }
  }

  // Returns a function that compares two lines by a column. sign: -1: the other way round.
  #comparison(key, sign) {
    const { self, total, lines: { fns, lines }, tree: { capture: { names, places } } } = this;
    const byText = (text) => (a, b) => (text(a) < text(b) ? -1 : text(a) > text(b) ? 1 : 0) || lines[a] - lines[b];
    const compare = { total: (a, b) => total[b] - total[a] || self[b] - self[a], name: byText((id) => fileOf(places[fns[id]])),
                      module: byText((id) => names[fns[id]]) }[key] || ((a, b) => self[b] - self[a] || total[b] - total[a]);
    return (a, b) => sign * compare(a, b) || a - b;
  }

  row(i) {
    const id = this.order.at(i), fn = this.lines.fns[id], { capture } = this.tree, file = fileOf(capture.places[fn]);
    return { fn, self: this.self[id], total: this.total[id], change: 0, totalChange: 0,
             name: `${file.slice(file.lastIndexOf("/") + 1) || capture.modules[fn]}:${this.lines.lines[id]}`,
             module: capture.names[fn], title: `${file}:${this.lines.lines[id]}` };
  }

  // Returns the place of the first line of a function, or -1.
  find(fn) {
    const { order, lines: { fns } } = this;
    let first = -1;
    for (const id of order.ids) if (fns[id] === fn && (first < 0 || order.compare(id, first) < 0)) first = id;
    return first < 0 ? -1 : order.find(first);
  }
}

// Returns the file of a place, "FILE:LINE".
const fileOf = (place) => place.replace(/:\d+$/, "");
