// SPDX-License-Identifier: LGPL-2.1-or-later
// SPDX-FileCopyrightText: 2026 The live-unwinder authors

// tree.mjs - the samples of a selection as a tree of functions: callers above, the widest callee
// first. A tree is a shape (shape.mjs), which selections share, with what a selection weighs.

import { leaveOut, makeShape } from "./shape.mjs";

// Returns the numbers of the samples that a selection has. who: null, { program }, { process } or
// { thread }; event: number, -1: all; from, to: microseconds, null: all.
export function selectSamples(capture, { from = null, to = null, who = null, event = -1 }) {
  const chosen = new Int32Array(capture.n);
  const passes = threadsOf(capture, who);
  let n = 0;
  for (let i = 0; i < capture.n; i++) {
    if (!passes[capture.thread[i]] || (event >= 0 && capture.event[i] !== event)) continue;
    if (from !== null && !(capture.time[i] >= from && capture.time[i] < to)) continue;
    chosen[n++] = i;
  }
  return chosen.subarray(0, n);
}

export function threadsOf(capture, who) {
  return Uint8Array.from(capture.threads, (thread, i) => {
    if (!who) return 1;
    if (who.thread !== undefined) return i === who.thread ? 1 : 0;
    if (who.process !== undefined) return thread.process === who.process ? 1 : 0;
    return capture.processes[thread.process].name === who.program ? 1 : 0;
  });
}

// A tree of functions. total and self are what boxes show: samples, or values; of a comparison the
// mean of both recordings, the first one scaled to the second. `old` has the part of the first.
export class Tree {
  // self, oldSelf: what each node has, taken; oldSelf: null without a comparison.
  constructor(shape, self, oldSelf) {
    const { capture, n, fn, parent, end, depth } = shape;
    Object.assign(this, { shape, capture, n, fn, parent, end, depth, self, oldSelf });
    this.total = this.#addUp(self);
    this.old = oldSelf ? this.#addUp(oldSelf) : null;
    this.x = new Float64Array(n);
    // Callees are sorted when they are first visited. 0: not yet, -1: none; the next one.
    this.widest = new Int32Array(n);
    this.next = new Int32Array(n);
    this.maxDepth = 0;
    for (let i = 0; i < n; i++) if (depth[i] > this.maxDepth && this.total[i] > 0) this.maxDepth = depth[i];
  }

  #addUp(self) {
    const total = self.slice(), { parent } = this;
    for (let i = this.n - 1; i > 0; i--) total[parent[i]] += total[i];
    return total;
  }

  #sort(id) {
    const { total, end, next } = this, found = [];
    for (let child = id + 1; child < end[id]; child = end[child]) if (total[child] > 0) found.push(child);
    if (found.length > 1) found.sort((a, b) => total[b] - total[a] || a - b);
    let x = this.x[id];
    for (let i = 0; i < found.length; i++) {
      this.x[found[i]] = x;
      x += total[found[i]];
      next[found[i]] = i + 1 < found.length ? found[i + 1] : -1;
    }
    this.widest[id] = found.length > 0 ? found[0] : -1;
  }

  // Visits the callees of a node that are at least `min` wide and touch [from, to], the widest one
  // first. Returns the x where those begin that were left out, or -1.
  children(id, { min = 0, from = -Infinity, to = Infinity }, visit) {
    for (let child = this.first(id); child >= 0; child = this.next[child]) {
      if (this.total[child] < min) return this.x[child];
      if (this.x[child] >= to) break;
      if (this.x[child] + this.total[child] > from) visit(child);
    }
    return -1;
  }

  // Returns the widest callee, or -1.
  first(id) {
    if (this.widest[id] === 0) this.#sort(id);
    return this.widest[id];
  }

  contains(outer, inner) { return inner >= outer && inner < this.end[outer]; }
}

// Returns the tree of some samples. value: add up values instead of samples.
export function weigh(shape, samples, value = false) {
  const { capture, leafOf, n } = shape, amounts = value && capture.value ? capture.value : capture.weight;
  const self = new Float64Array(n), old = capture.isComparison ? new Float64Array(n) : null;
  for (let k = 0; k < samples.length; k++) {
    const sample = samples[k], leaf = leafOf[sample];
    if (leaf < 0) continue;
    if (old && sample >= capture.firstBefore) old[leaf] += amounts[sample];
    else self[leaf] += amounts[sample];
  }
  if (old) scale(self, old);
  return Object.assign(new Tree(shape, self, old), { samples, amounts });
}

export const buildTree = (capture, samples, options) =>
  weigh(leaveOut(makeShape(capture, options), options), samples, options.value);

function scale(self, old) {
  const sum = (array) => array.reduce((a, b) => a + b, 0);
  const ratio = sum(old) > 0 ? sum(self) / sum(old) : 0;
  for (let i = 0; i < self.length; i++) {
    old[i] *= ratio || 1;
    self[i] = (self[i] + old[i]) / 2;
  }
}

// Returns what each function has in a tree: self, and total, which counts a sample once.
export function functionTotals(tree) {
  const { n, fn, end, total, self, old, oldSelf } = tree, { nFunctions } = tree.capture, ends = new Int32Array(nFunctions); // of the last outermost call
  const totals = { self: new Float64Array(nFunctions), total: new Float64Array(nFunctions),
                   old: new Float64Array(nFunctions), oldSelf: new Float64Array(nFunctions) };
  for (let i = 0; i < n; i++) {
    if (total[i] === 0) { i = end[i] - 1; continue; }
    const own = fn[i];
    totals.self[own] += self[i];
    if (old) totals.oldSelf[own] += oldSelf[i];
    if (i < ends[own]) continue;
    ends[own] = end[i];
    totals.total[own] += total[i];
    if (old) totals.old[own] += old[i];
  }
  return totals;
}

// Returns the same of one function only.
export function totalOf(tree, fn) {
  const sum = { self: 0, total: 0, old: 0 };
  for (let i = 0, end = 0; i < tree.n; i++) {
    if (tree.fn[i] !== fn) continue;
    sum.self += tree.self[i];
    if (i < end) continue;
    end = tree.end[i];
    sum.total += tree.total[i];
    if (tree.old) sum.old += tree.old[i];
  }
  return sum;
}

// Returns what share of a tree has a function of the set in its stacks.
export function coverage(tree, matches) {
  let sum = 0;
  for (let i = 0; i < tree.n;) {
    if (!matches[tree.fn[i]]) { i++; continue; }
    sum += tree.total[i];
    i = tree.end[i];
  }
  return sum;
}
