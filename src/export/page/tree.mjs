// SPDX-License-Identifier: LGPL-2.1-or-later
// SPDX-FileCopyrightText: 2026 The live-unwinder authors

// tree.mjs - the samples of a selection as a tree of functions: callers above, the widest callee
// first.
//
// Nodes are numbered in the order in which they are drawn, a node before its callees: the callees
// of node i begin at i + 1 and end before end[i], so node i and all below it are one range.

import { KERNEL } from "./data.mjs";

const IN_FOCUS = 1, DROPPED = 2, FIRST_ONLY = 4, MAX_ONLY = 5;

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

// Children by parent and function.
class Children {
  constructor() {
    this.parent = new Int32Array(1 << 12);
    this.fn = new Int32Array(1 << 12);
    this.slots = new Int32Array(1 << 13).fill(-1);
    this.n = 0;
  }

  #slot(parent, fn) {
    const mask = this.slots.length - 1;
    let at = (Math.imul(parent, 0x9e3779b1) ^ Math.imul(fn, 0x85ebca6b)) >>> 0;
    at = (at ^ (at >>> 15)) & mask;
    for (; this.slots[at] >= 0; at = (at + 1) & mask)
      if (this.parent[this.slots[at]] === parent && this.fn[this.slots[at]] === fn) break;
    return at;
  }

  #grow() {
    const copy = (old) => { const bigger = new Int32Array(2 * old.length); bigger.set(old); return bigger; };
    this.parent = copy(this.parent);
    this.fn = copy(this.fn);
    this.slots = new Int32Array(2 * this.slots.length).fill(-1);
    for (let i = 0; i < this.n; i++) this.slots[this.#slot(this.parent[i], this.fn[i])] = i;
  }

  get(parent, fn) {
    const at = this.#slot(parent, fn);
    if (this.slots[at] >= 0) return this.slots[at];
    const id = this.n++;
    this.parent[id] = parent;
    this.fn[id] = fn;
    this.slots[at] = id;
    if (this.n === this.parent.length) this.#grow();
    return id;
  }
}

// A rule is { op, fn } or { op, module }: "focus" makes stacks begin at the first frame that it
// names, "only" keeps samples with such a frame, "drop" removes them, "hide" removes the frames.
function rulesByFunction(capture, rules) {
  const of = new Uint8Array(capture.nFunctions), only = rules.filter((rule) => rule.op === "only");
  const bits = { focus: IN_FOCUS, drop: DROPPED, hide: 128 };
  for (const rule of rules) {
    const bit = rule.op === "only" ? FIRST_ONLY << (only.indexOf(rule) % MAX_ONLY) : bits[rule.op];
    for (let fn = 0; fn < of.length; fn++)
      if (rule.fn !== undefined ? fn === rule.fn : capture.modules[fn] === rule.module) of[fn] |= bit;
  }
  return of;
}

class Builder {
  constructor(capture, options) {
    this.capture = capture;
    this.options = options;
    this.children = new Children();
    this.rules = rulesByFunction(capture, options.rules || []);
    this.needed = 0;
    for (const { op } of options.rules || []) this.needed |= op === "focus" ? IN_FOCUS : 0;
    (options.rules || []).filter(({ op }) => op === "only")
      .forEach((_, i) => { this.needed |= FIRST_ONLY << (i % MAX_ONLY); });
    this.mapped = new Int32Array(capture.parent.length);
    this.flags = new Uint8Array(capture.parent.length);
    this.stamp = new Int32Array(capture.parent.length).fill(-1);
    this.path = new Int32Array(1 << 13);
    this.children.get(-1, capture.all);
  }

  #top(thread) {
    if (this.needed & IN_FOCUS || this.options.groups === false) return 0;
    const { process, fn } = this.capture.threads[thread];
    const program = this.children.get(0, this.capture.processes[process].fn);
    return this.options.byThread ? this.children.get(program, fn) : program;
  }

  // Adds one frame below what its caller became.
  #step(node, above, flags) {
    const fn = this.capture.fn[node], rule = this.rules[fn], seen = flags | (rule & 127);
    this.flags[node] = seen;
    const isHidden = rule & 128 || (!this.options.kernel && this.capture.kinds[fn] === KERNEL)
      || (this.needed & IN_FOCUS && !(seen & IN_FOCUS))
      || (this.options.folds && above !== 0 && this.children.fn[above] === fn);
    this.mapped[node] = isHidden ? above : this.children.get(above, fn);
  }

  // Returns what a node became below a top; -1: the sample is left out.
  #map(leaf, top, group) {
    let n = 0, node = leaf;
    for (; node !== 0 && this.stamp[node] !== group; node = this.capture.parent[node]) {
      if (n === this.path.length) { const old = this.path; this.path = new Int32Array(2 * n); this.path.set(old); }
      this.path[n++] = node;
    }
    let above = node === 0 ? top : this.mapped[node], flags = node === 0 ? 0 : this.flags[node];
    while (n > 0) {
      node = this.path[--n];
      this.stamp[node] = group;
      this.#step(node, above, flags);
      above = this.mapped[node];
      flags = this.flags[node];
    }
    return flags & DROPPED || (flags & this.needed) !== this.needed ? -1 : above;
  }

  // Returns the node of each sample; samples of one top come together, so that nodes are mapped
  // once for each top.
  mapSamples(samples) {
    const leaf = new Int32Array(samples.length), tops = this.capture.threads.map(() => -1), groups = new Map();
    for (let k = 0; k < samples.length; k++) {
      const thread = this.capture.thread[samples[k]];
      if (tops[thread] < 0) tops[thread] = this.#top(thread);
      if (!groups.has(tops[thread])) groups.set(tops[thread], []);
      groups.get(tops[thread]).push(k);
    }
    for (const [top, members] of groups)
      for (const k of members) leaf[k] = this.#map(this.capture.node[samples[k]], top, top);
    return leaf;
  }
}

function sortByTotal(nodes, begin, end, total) {
  if (end - begin > 16) {
    nodes.subarray(begin, end).sort((a, b) => total[b] - total[a] || a - b);
    return;
  }
  for (let i = begin + 1; i < end; i++) {
    const node = nodes[i];
    let to = i;
    for (; to > begin && total[nodes[to - 1]] < total[node]; to--) nodes[to] = nodes[to - 1];
    nodes[to] = node;
  }
}

// Returns the new number of each node in the order of drawing, by `total`.
function order(parent, total, n) {
  const first = new Int32Array(n + 1), children = new Int32Array(n), place = new Int32Array(n);
  for (let i = 1; i < n; i++) first[parent[i] + 1]++;
  for (let i = 0; i < n; i++) first[i + 1] += first[i];
  const at = first.slice();
  for (let i = 1; i < n; i++) children[at[parent[i]]++] = i;
  for (let i = 0; i < n; i++) if (first[i + 1] - first[i] > 1) sortByTotal(children, first[i], first[i + 1], total);
  const stack = [0];
  for (let next = 0; stack.length > 0;) {
    const node = stack.pop();
    place[node] = next++;
    for (let k = first[node + 1] - 1; k >= first[node]; k--) stack.push(children[k]);
  }
  return place;
}

const isBefore = (capture, sample) => sample >= capture.firstBefore;

// A tree of functions. total and self are what boxes show: samples, or values; of a comparison the
// mean of both recordings, the first one scaled to the second. `old` has the part of the first.
export class Tree {
  constructor(capture, n) {
    this.capture = capture;
    this.n = n;
    this.fn = new Int32Array(n);
    this.parent = new Int32Array(n).fill(-1);
    this.end = new Int32Array(n);
    this.depth = new Uint16Array(n);
    this.self = new Float64Array(n);
    this.total = new Float64Array(n);
    this.old = capture.isComparison ? new Float64Array(n) : null;
    this.oldSelf = capture.isComparison ? new Float64Array(n) : null;
    this.x = new Float64Array(n);
    this.maxDepth = 0;
  }

  // Visits the callees of a node that are at least `min` wide and touch [from, to]. Returns the x
  // where those begin that were left out, or -1.
  children(id, { min = 0, from = -Infinity, to = Infinity }, visit) {
    for (let child = id + 1; child < this.end[id]; child = this.end[child]) {
      if (this.total[child] < min) return this.total[child] > 0 ? this.x[child] : -1;
      if (this.x[child] >= to || this.total[child] === 0) break;
      if (this.x[child] + this.total[child] > from) visit(child);
    }
    return -1;
  }

  first(id) { return this.end[id] > id + 1 && this.total[id + 1] > 0 ? id + 1 : -1; }

  contains(outer, inner) { return inner >= outer && inner < this.end[outer]; }
}

function addUp(tree, parent, self, n) {
  const total = self.slice();
  for (let i = n - 1; i > 0; i--) total[parent[i]] += total[i];
  return total;
}

// Places nodes: from the builder's numbers to the order of drawing.
function arrange(tree, children, self, old, n) {
  const total = addUp(tree, children.parent, self, n), place = order(children.parent, total, n);
  const oldTotal = old ? addUp(tree, children.parent, old, n) : null;
  for (let i = 0; i < n; i++) {
    const to = place[i];
    tree.fn[to] = children.fn[i];
    tree.parent[to] = i > 0 ? place[children.parent[i]] : -1;
    tree.self[to] = self[i];
    tree.total[to] = total[i];
    if (old) { tree.old[to] = oldTotal[i]; tree.oldSelf[to] = old[i]; }
  }
  for (let i = 1; i < n; i++) {
    tree.depth[i] = tree.depth[tree.parent[i]] + 1;
    if (tree.total[i] > 0) tree.maxDepth = Math.max(tree.maxDepth, tree.depth[i]);
  }
  const used = new Float64Array(n);
  for (let i = 1; i < n; i++) {
    const p = tree.parent[i];
    tree.x[i] = tree.x[p] + used[p];
    used[p] += tree.total[i];
  }
  for (let i = n - 1; i >= 0; i--) {
    tree.end[i] = Math.max(tree.end[i], i + 1);
    if (i > 0) tree.end[tree.parent[i]] = Math.max(tree.end[tree.parent[i]], tree.end[i]);
  }
  return place;
}

// Makes the tree of samples. options: kernel, folds, byThread, groups, rules (see above); value:
// add up values instead of samples. tree.leaf has the node of each sample, -1: left out.
export function buildTree(capture, samples, options) {
  const builder = new Builder(capture, options), leaf = builder.mapSamples(samples), n = builder.children.n;
  const amounts = options.value && capture.value ? capture.value : capture.weight;
  const self = new Float64Array(n), old = capture.isComparison ? new Float64Array(n) : null;
  for (let k = 0; k < samples.length; k++) {
    if (leaf[k] < 0) continue;
    if (old && isBefore(capture, samples[k])) old[leaf[k]] += amounts[samples[k]];
    else self[leaf[k]] += amounts[samples[k]];
  }
  if (old) scale(self, old);
  const tree = new Tree(capture, n), place = arrange(tree, builder.children, self, old, n);
  for (let k = 0; k < leaf.length; k++) if (leaf[k] >= 0) leaf[k] = place[leaf[k]];
  tree.leaf = leaf;
  tree.samples = samples;
  tree.amounts = amounts;
  return tree;
}

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
  const n = tree.capture.nFunctions, active = new Int32Array(n), stack = [];
  const totals = { self: new Float64Array(n), total: new Float64Array(n),
                   old: new Float64Array(n), oldSelf: new Float64Array(n) };
  for (let i = 0; i < tree.n; i++) {
    while (stack.length > 0 && tree.end[stack[stack.length - 1]] <= i) active[tree.fn[stack.pop()]]--;
    const fn = tree.fn[i];
    totals.self[fn] += tree.self[i];
    if (tree.old) totals.oldSelf[fn] += tree.oldSelf[i];
    if (active[fn]++ === 0) {
      totals.total[fn] += tree.total[i];
      if (tree.old) totals.old[fn] += tree.old[i];
    }
    stack.push(i);
  }
  return totals;
}

// Returns the tree of what a function calls, from its outermost calls.
export function calleesOf(tree, fn) {
  const children = new Children(), map = new Int32Array(tree.n).fill(-1);
  for (let i = 0; i < tree.n; i++) {
    const above = i > 0 ? map[tree.parent[i]] : -1;
    if (above >= 0) map[i] = children.get(above, tree.fn[i]);
    else if (tree.fn[i] === fn) map[i] = children.get(-1, fn);
  }
  if (children.n === 0) children.get(-1, fn);
  const self = new Float64Array(children.n), old = tree.old ? new Float64Array(children.n) : null;
  for (let i = 0; i < tree.n; i++) {
    if (map[i] < 0) continue;
    self[map[i]] += tree.self[i];
    if (old) old[map[i]] += tree.oldSelf[i];
  }
  const callees = new Tree(tree.capture, children.n);
  arrange(callees, children, self, old, children.n);
  return callees;
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
