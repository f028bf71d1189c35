// SPDX-License-Identifier: LGPL-2.1-or-later
// SPDX-FileCopyrightText: 2026 The live-unwinder authors

// tree.mjs - the samples of a selection as a tree of functions: callers above, the widest callee
// first.
//
// A shape has the nodes of all samples; it is made once for each way of leaving frames out. A tree is
// a shape with what a selection of samples weighs. Nodes are numbered with a node before its callees:
// those of node i begin at i + 1 and end before end[i], so node i and all below it are one range.

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

// Nodes of a tree that is being made: each has a parent and a function, parents come first.
class Children {
  // n: how many nodes there may be, about.
  constructor(n) {
    this.parent = new Int32Array(Math.max(n, 1 << 10));
    this.fn = new Int32Array(this.parent.length);
    this.slots = new Int32Array(1 << 10); // number of a node + 1, by its parent and function
    this.n = this.nFindable = 0;
  }

  #slot(parent, fn) {
    const mask = this.slots.length - 1;
    let at = (Math.imul(parent, 0x9e3779b1) ^ Math.imul(fn, 0x85ebca6b)) >>> 0;
    at = (at ^ (at >>> 15)) & mask;
    for (; this.slots[at] > 0; at = (at + 1) & mask)
      if (this.parent[this.slots[at] - 1] === parent && this.fn[this.slots[at] - 1] === fn) break;
    return at;
  }

  #growSlots() {
    const old = this.slots;
    this.slots = new Int32Array(4 * old.length);
    for (const id of old) if (id > 0) this.slots[this.#slot(this.parent[id - 1], this.fn[id - 1])] = id;
  }

  // Makes room for n more nodes, which may then be put into the arrays.
  reserve(n) {
    if (this.n + n <= this.parent.length) return;
    const copy = (old) => { const bigger = new Int32Array(2 * (this.n + n)); bigger.set(old); return bigger; };
    this.parent = copy(this.parent);
    this.fn = copy(this.fn);
  }

  // Adds a node that get() need not find.
  append(parent, fn) {
    this.reserve(1);
    this.parent[this.n] = parent;
    this.fn[this.n] = fn;
    return this.n++;
  }

  // Returns the node of a function below another one.
  get(parent, fn) {
    if (2 * this.nFindable >= this.slots.length) this.#growSlots();
    const at = this.#slot(parent, fn);
    if (this.slots[at] > 0) return this.slots[at] - 1;
    this.nFindable++;
    return (this.slots[at] = this.append(parent, fn) + 1) - 1;
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

// Decides for the nodes of a recording, whichever thread they are of, which ones go, and which
// become one. options: kernel, folds, rules.
class FrameChoice {
  constructor(capture, options) {
    const { rules = [] } = options, n = capture.parent.length;
    this.capture = capture;
    this.rules = rulesByFunction(capture, rules);
    this.needed = 0; // flags that a stack must have
    if (rules.some(({ op }) => op === "focus")) this.needed |= IN_FOCUS;
    rules.filter(({ op }) => op === "only").forEach((_, i) => { this.needed |= FIRST_ONLY << (i % MAX_ONLY); });
    this.flags = new Uint8Array(n);   // of the stack that ends here
    this.kept = new Int32Array(n);    // the node itself, or the nearest one above that stays
    this.isShared = new Uint8Array(n); // nodes below may be those of several nodes
    // Nodes of two recordings may be one, and those that differ by their line are.
    this.hasChanged = capture.isComparison || capture.line !== null;
    this.isShared[0] = this.hasChanged ? 1 : 0;
    this.#hide(options);
    if (this.hasChanged) this.#join();
    else this.#keepAll();
  }

  #hide({ kernel, folds }) {
    const { capture: { parent, fn, kinds }, rules, flags, kept } = this, needed = this.needed & IN_FOCUS;
    for (let i = 1; i < kept.length; i++) {
      const above = kept[parent[i]], rule = rules[fn[i]], seen = flags[parent[i]] | (rule & 127);
      flags[i] = seen;
      const isHidden = rule & 128 || (!kernel && kinds[fn[i]] === KERNEL) || (needed && !(seen & IN_FOCUS))
        || (folds && above !== 0 && fn[above] === fn[i]);
      kept[i] = isHidden ? above : i;
      if (isHidden) this.hasChanged = this.isShared[above] = 1;
    }
  }

  #keepAll() {
    this.parent = this.capture.parent;
    this.fn = this.capture.fn;
    this.nodeOf = this.kept;
  }

  // Nodes below a node that is shared are found by their function, and are shared themselves.
  #join() {
    const { capture, kept, isShared } = this, n = kept.length, nodes = new Children(n);
    const isJoined = new Uint8Array(n);
    this.nodeOf = new Int32Array(n);
    nodes.append(-1, -1);
    isJoined[0] = isShared[0];
    for (let i = 1; i < n; i++) {
      if (kept[i] !== i) { this.nodeOf[i] = this.nodeOf[kept[i]]; continue; }
      const above = this.nodeOf[kept[capture.parent[i]]], fn = capture.fn[i];
      const node = isJoined[above] ? nodes.get(above, fn) : nodes.append(above, fn);
      if (isJoined[above] || isShared[i]) isJoined[node] = 1;
      this.nodeOf[i] = node;
    }
    this.parent = nodes.parent;
    this.fn = nodes.fn;
  }

  // Returns the node of a stack; -1: it is left out.
  find(leaf) {
    const flags = this.flags[leaf];
    return flags & DROPPED || (flags & this.needed) !== this.needed ? -1 : this.nodeOf[leaf];
  }
}

// Puts the nodes below the programs and threads that have them.
class Builder {
  constructor(capture, options) {
    this.capture = capture;
    this.options = options;
    this.frames = new FrameChoice(capture, options);
    this.children = new Children(capture.parent.length);
    this.mapped = new Int32Array(capture.parent.length);
    this.stamp = new Int32Array(capture.parent.length).fill(-1);
    this.path = new Int32Array(1 << 13);
    this.children.get(-1, capture.all);
  }

  #top(thread) {
    if (this.frames.needed & IN_FOCUS || this.options.groups === false) return 0;
    const { process, fn } = this.capture.threads[thread];
    const program = this.children.get(0, this.capture.processes[process].fn);
    return this.options.byThread ? this.children.get(program, fn) : program;
  }

  // Returns what a node became below a top.
  #map(leaf, top) {
    const { mapped, stamp, children, frames: { parent, fn } } = this;
    let { path } = this, n = 0, node = leaf, id = children.n;
    for (; node !== 0 && stamp[node] !== top; node = parent[node]) {
      if (n === path.length) { path = this.path = new Int32Array(2 * n); node = leaf; n = 0; }
      path[n++] = node;
    }
    let above = node === 0 ? top : mapped[node];
    children.reserve(n);
    const { parent: parents, fn: fns } = children;
    while (n > 0) {
      node = path[--n];
      parents[id] = above;
      fns[id] = fn[node];
      stamp[node] = top;
      mapped[node] = above = id++;
    }
    children.n = id;
    return above;
  }

  // Returns the node of each sample of the recording, -1: left out. Samples of one top come together,
  // so that nodes are mapped once for each top.
  mapSamples() {
    const { n, thread, node, threads } = this.capture, leaf = new Int32Array(n), groups = new Map();
    const groupOf = threads.map(() => null);
    for (let i = 0; i < n; i++) {
      if (groupOf[thread[i]] === null) {
        const top = this.#top(thread[i]);
        if (!groups.has(top)) groups.set(top, []);
        groupOf[thread[i]] = groups.get(top);
      }
      groupOf[thread[i]].push(i);
    }
    for (const [top, members] of groups)
      for (const i of members) {
        const found = this.frames.find(node[i]);
        leaf[i] = found < 0 ? -1 : this.#map(found, top);
      }
    return leaf;
  }
}

// The nodes of a tree, whatever they weigh.
export class Shape {
  // children: nodes in any order that has parents first.
  constructor(capture, { parent, fn, n }) {
    const size = new Int32Array(n).fill(1), next = new Int32Array(n);
    this.capture = capture;
    this.n = n;
    this.fn = new Int32Array(n);
    this.parent = new Int32Array(n).fill(-1);
    this.end = new Int32Array(n);
    this.depth = new Uint16Array(n);
    this.place = new Int32Array(n); // number here by the number there
    for (let i = n - 1; i > 0; i--) size[parent[i]] += size[i];
    for (let i = 0; i < n; i++) {
      const above = i > 0 ? this.place[parent[i]] : -1, at = i > 0 ? next[parent[i]] : 0;
      if (i > 0) next[parent[i]] += size[i];
      next[i] = at + 1;
      this.place[i] = at;
      this.fn[at] = fn[i];
      this.parent[at] = above;
      this.end[at] = at + size[i];
      this.depth[at] = i > 0 ? this.depth[above] + 1 : 0;
    }
  }
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

// Returns the nodes of all stacks of a recording. options: kernel, folds, byThread, groups, rules (see
// above). leafOf has the node of each sample, -1: left out.
export function makeShape(capture, options) {
  const builder = new Builder(capture, options), leafOf = builder.mapSamples(), shape = new Shape(capture, builder.children);
  for (let i = 0; i < leafOf.length; i++) if (leafOf[i] >= 0) leafOf[i] = shape.place[leafOf[i]];
  shape.leafOf = leafOf;
  return shape;
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

export const buildTree = (capture, samples, options) => weigh(makeShape(capture, options), samples, options.value);

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
    if (tree.total[i] === 0) { i = tree.end[i] - 1; continue; }
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

// Returns the tree of what a function calls, from its outermost calls.
export function calleesOf(tree, fn) {
  const children = new Children(0), map = new Int32Array(tree.n).fill(-1);
  for (let i = 0; i < tree.n; i++) {
    const above = i > 0 ? map[tree.parent[i]] : -1;
    if (above >= 0) map[i] = children.get(above, tree.fn[i]);
    else if (tree.fn[i] === fn) map[i] = children.get(-1, fn);
  }
  if (children.n === 0) children.get(-1, fn);
  const shape = new Shape(tree.capture, children);
  const self = new Float64Array(shape.n), old = tree.old ? new Float64Array(shape.n) : null;
  for (let i = 0; i < tree.n; i++) {
    if (map[i] < 0) continue;
    self[shape.place[map[i]]] += tree.self[i];
    if (old) old[shape.place[map[i]]] += tree.oldSelf[i];
  }
  return new Tree(shape, self, old);
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
