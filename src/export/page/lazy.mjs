// SPDX-License-Identifier: LGPL-2.1-or-later
// SPDX-FileCopyrightText: 2026 The live-unwinder authors

// lazy.mjs - graphs whose nodes are made when they are first seen: callers, callees, and stacks in the
// order of time. They answer as Tree does (tree.mjs).

import { Order } from "./order.mjs";

class Growing {
  constructor(tree, fn) {
    this.capture = tree.capture;
    this.tree = tree;
    this.maxDepth = tree.maxDepth + 1;
    this.clear(fn);
  }

  clear(fn) {
    this.fn = [fn];
    this.parent = [-1];
    this.depth = [0];
    this.x = [0];
    this.self = [0];
    this.total = [0];
    this.old = this.tree.old ? [0] : null;
    this.lists = [null];
  }

  add(parent, fn, x, total) {
    this.parent.push(parent);
    this.fn.push(fn);
    this.depth.push(this.depth[parent] + 1);
    this.x.push(x);
    this.self.push(0);
    this.total.push(total);
    this.lists.push(null);
    return this.fn.length - 1;
  }

  first(id) {
    let found = -1;
    this.children(id, {}, (child) => { if (found < 0) found = child; });
    return found;
  }

  contains(outer, inner) {
    while (inner > outer) inner = this.parent[inner];
    return inner === outer;
  }
}

// Boxes that each stand for a group of nodes, made of groups () in the order of their width. Boxes that are
// too narrow to be seen are not made.
class Grouped extends Growing {
  #open(id) {
    const groups = this.groups(id), ids = Int32Array.from(groups.keys());
    this.group[id] = null;
    this.lists[id] = { groups, made: [], x: this.x[id],
                       order: new Order(ids, (a, b) => groups[b].total - groups[a].total || groups[a].fn - groups[b].fn) };
  }

  #make(id, list, group) {
    const child = this.add(id, group.fn, list.x, group.total);
    if (this.old) this.old.push(group.old);
    this.group[child] = group;
    list.made.push(child);
    list.x += group.total;
  }

  children(id, { min = 0, from = -Infinity, to = Infinity }, visit) {
    if (this.lists[id] === null) this.#open(id);
    const list = this.lists[id], { made, order } = list;
    for (let i = 0; i < order.n; i++) {
      if (i === made.length) {
        const group = list.groups[order.at(i)];
        if (group.total < min) return list.x;
        this.#make(id, list, group);
      }
      const child = made[i];
      if (this.total[child] < min) return this.x[child];
      if (this.x[child] >= to) break;
      if (this.x[child] + this.total[child] > from) visit(child);
    }
    return -1;
  }

  // Returns the widest one, or -1.
  first(id) {
    if (this.lists[id] === null) this.#open(id);
    const list = this.lists[id];
    if (list.order.n > 0 && list.made.length === 0) this.#make(id, list, list.groups[list.order.at(0)]);
    return list.order.n > 0 ? list.made[0] : -1;
  }
}

// Frames: nodes of the tree, and how much of each; those of several callers, one after the other.
class FrameList {
  constructor(n, isComparison) {
    this.nodes = new Int32Array(n);
    this.amounts = new Float64Array(n);
    this.old = isComparison ? new Float64Array(n) : null;
    this.n = 0;
  }

  // begin: where those of this caller begin; a node that comes again is added to the one before.
  put(at, begin, node, amount, old) {
    const isNew = at === begin || this.nodes[at - 1] !== node, place = isNew ? at : at - 1;
    this.nodes[place] = node;
    this.amounts[place] += amount;
    if (this.old) this.old[place] += old;
    return place + 1;
  }
}

const sumOf = (array, begin, end) => {
  let sum = 0;
  for (let i = begin; i < end; i++) sum += array[i];
  return sum;
};

const sumAt = (array, places) => places.reduce((sum, place) => sum + array[place], 0);

// The callers of a function, from its outermost calls, or of every function that has samples of its
// own (fn: -1).
export class Callers extends Grouped {
  constructor(tree, fn) {
    super(tree, fn < 0 ? tree.capture.all : fn);
    const { self, oldSelf, total, old } = tree, list = new FrameList(tree.n, old !== null);
    this.isInverted = fn < 0;
    for (let i = 0; i < tree.n; i++) {
      if (fn < 0) { if (self[i] > 0) list.n = list.put(list.n, 0, i, self[i], old ? oldSelf[i] : 0); continue; }
      if (tree.fn[i] !== fn || total[i] === 0) continue;
      list.n = list.put(list.n, 0, i, total[i], old ? old[i] : 0);
      i = tree.end[i] - 1;
    }
    this.group = [{ list, begin: 0, end: list.n }]; // of each box, until its callers are known
    this.groupOf = new Int32Array(tree.capture.nFunctions).fill(-1);
    this.total[0] = sumOf(list.amounts, 0, list.n);
    if (this.old) this.old[0] = sumOf(list.old, 0, list.n);
  }

  // Returns the callers of a box with how many frames each has at most, in the order of the frames.
  #countCallers({ list, begin, end }, isSelf) {
    const { groupOf, tree } = this, groups = [];
    for (let k = begin; k < end; k++) {
      const node = isSelf ? list.nodes[k] : tree.parent[list.nodes[k]], fn = node > 0 ? tree.fn[node] : -1;
      if (fn < 0) continue;
      if (groupOf[fn] < 0) groupOf[fn] = groups.push({ fn, n: 0, begin: 0, end: 0 }) - 1;
      groups[groupOf[fn]].n++;
    }
    for (let i = 0, sum = 0; i < groups.length; sum += groups[i++].n) groups[i].begin = groups[i].end = sum;
    return groups;
  }

  groups(id) {
    const { groupOf, tree } = this, { list, begin, end } = this.group[id], isSelf = id === 0 && this.isInverted;
    const groups = this.#countCallers(this.group[id], isSelf), above = new FrameList(end - begin, this.old !== null);
    for (let k = begin; k < end; k++) {
      const node = isSelf ? list.nodes[k] : tree.parent[list.nodes[k]];
      if (node <= 0) { this.self[id] += list.amounts[k]; continue; }
      const group = groups[groupOf[tree.fn[node]]];
      group.end = above.put(group.end, group.begin, node, list.amounts[k], this.old ? list.old[k] : 0);
    }
    for (const group of groups) {
      groupOf[group.fn] = -1;
      group.list = above;
      group.total = sumOf(above.amounts, group.begin, group.end);
      if (this.old) group.old = sumOf(above.old, group.begin, group.end);
    }
    return groups;
  }
}

// Callees of a function, from its outermost calls. A box stands for several nodes of the tree.
export class Callees extends Grouped {
  constructor(tree, fn) {
    super(tree, fn);
    const { n, end, depth, total } = tree, nodes = [];
    this.maxDepth = 0;
    for (let i = 0; i < n; i++) {
      if (tree.fn[i] !== fn || total[i] === 0) continue;
      nodes.push(i);
      for (const top = depth[i], last = end[i]; i < last; i++)
        if (depth[i] - top > this.maxDepth && total[i] > 0) this.maxDepth = depth[i] - top;
      i--;
    }
    this.group = [{ nodes }]; // of each box, until its callees are known
    this.total[0] = sumAt(total, nodes);
    if (this.old) this.old[0] = sumAt(tree.old, nodes);
  }

  groups(id) {
    const { tree } = this, groups = new Map();
    for (const node of this.group[id].nodes) {
      this.self[id] += tree.self[node];
      for (let child = node + 1; child < tree.end[node]; child = tree.end[child]) {
        if (tree.total[child] === 0) continue;
        const fn = tree.fn[child];
        if (!groups.has(fn)) groups.set(fn, { fn, total: 0, old: 0, nodes: [] });
        const group = groups.get(fn);
        group.nodes.push(child);
        group.total += tree.total[child];
        if (tree.old) group.old += tree.old[child];
      }
    }
    return [...groups.values()];
  }
}

// Stacks in the order of time, one thread after the other. A node is a run of samples one after the
// other with the same frame; runs that are too narrow to be seen are one box.
export class TimeOrder extends Growing {
  constructor(tree) {
    super(tree, tree.capture.all);
    const kept = this.#byThread(), { leafOf } = tree.shape;
    this.sample = kept;
    this.leaf = kept.map((sample) => leafOf[sample]);
    this.edge = new Float64Array(kept.length + 1);
    for (let k = 0; k < kept.length; k++) this.edge[k + 1] = this.edge[k] + tree.amounts[this.sample[k]];
    this.min = -1;
    this.#restart(0);
  }

  // Returns the samples that the tree has, those of the busiest thread first, in the order of time.
  #byThread() {
    const { capture, samples, shape } = this.tree, counts = new Int32Array(capture.threads.length), at = new Int32Array(counts.length);
    let n = 0;
    for (const sample of samples) if (shape.leafOf[sample] >= 0) { counts[capture.thread[sample]]++; n++; }
    const sorted = [...counts.keys()].sort((a, b) => counts[b] - counts[a]), found = new Int32Array(n);
    sorted.reduce((sum, thread) => { at[thread] = sum; return sum + counts[thread]; }, 0);
    for (const sample of samples) if (shape.leafOf[sample] >= 0) found[at[capture.thread[sample]]++] = sample;
    return found;
  }

  #restart(min) {
    this.clear(this.capture.all);
    this.runs = [{ begin: 0, end: this.leaf.length, node: 0 }];
    this.total[0] = this.edge[this.leaf.length];
    this.min = min;
  }

  // To be called before boxes narrower than this are left out; returns whether all nodes are new.
  prepare(min) {
    if (min === this.min) return false;
    this.#restart(min);
    return true;
  }

  #find(x, begin, end) {
    while (begin < end) {
      const middle = (begin + end) >> 1;
      if (this.edge[middle + 1] <= x) begin = middle + 1;
      else end = middle;
    }
    return begin;
  }

  // Returns the callee of a node of the tree in the stack that ends at `leaf`; -1: it ends here.
  #callee(node, leaf) {
    const { tree } = this;
    if (leaf === node) return -1;
    if (leaf < tree.end[node + 1]) return node + 1;
    while (tree.depth[leaf] > tree.depth[node] + 1) leaf = tree.parent[leaf];
    return leaf;
  }

  #expand(id) {
    const { begin, end, node } = this.runs[id], { tree } = this, list = [];
    for (let k = begin; k < end;) {
      const callee = this.#callee(node, this.leaf[k]), start = k;
      if (callee < 0) {
        while (k < end && this.leaf[k] === node) k++;
        this.self[id] += this.edge[k] - this.edge[start];
        continue;
      }
      const { thread } = this.capture, own = thread[this.sample[k]];
      while (k < end && this.leaf[k] >= callee && this.leaf[k] < tree.end[callee]
             && (node !== 0 || thread[this.sample[k]] === own)) k++;
      const isNarrow = this.edge[k] - this.edge[start] < this.min;
      if (isNarrow) k = Math.max(k, this.#find(this.edge[start] + this.min, start, end));
      const child = this.add(id, tree.fn[callee], this.edge[start], this.edge[k] - this.edge[start]);
      this.runs[child] = { begin: start, end: isNarrow ? start : k, node: callee };
      list.push(child);
    }
    this.lists[id] = list;
  }

  children(id, { from = -Infinity, to = Infinity }, visit) {
    if (this.lists[id] === null) this.#expand(id);
    const list = this.lists[id];
    let low = 0, high = list.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.x[list[middle]] + this.total[list[middle]] <= from) low = middle + 1;
      else high = middle;
    }
    for (; low < list.length && this.x[list[low]] < to; low++) visit(list[low]);
    return -1;
  }

  // Returns when a node began, in microseconds; NaN: not known.
  timeOf(id) { return this.capture.time[this.sample[this.runs[id].begin]]; }
}
