// SPDX-License-Identifier: LGPL-2.1-or-later
// SPDX-FileCopyrightText: 2026 The live-unwinder authors

// lazy.mjs - graphs whose nodes are made when they are first seen: callers, and stacks in the order
// of time. They answer as Tree does (tree.mjs).

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

// The frames that a node of callers stands for: nodes of the tree, and how much of each.
class Frames {
  constructor() { this.nodes = []; this.amounts = []; this.old = []; }

  add(node, amount, old) {
    const last = this.nodes.length - 1;
    if (last >= 0 && this.nodes[last] === node) {
      this.amounts[last] += amount;
      this.old[last] += old;
      return;
    }
    this.nodes.push(node);
    this.amounts.push(amount);
    this.old.push(old);
  }

  get total() { return this.amounts.reduce((a, b) => a + b, 0); }
  get oldTotal() { return this.old.reduce((a, b) => a + b, 0); }
}

// The callers of a function, from its outermost calls, or of every function that has samples of its
// own (fn: -1).
export class Callers extends Growing {
  constructor(tree, fn) {
    super(tree, fn < 0 ? tree.capture.all : fn);
    this.frames = [new Frames()];
    this.isInverted = fn < 0;
    for (let i = 0; i < tree.n; i++) {
      if (fn < 0) { if (tree.self[i] > 0) this.frames[0].add(i, tree.self[i], tree.old ? tree.oldSelf[i] : 0); continue; }
      if (tree.fn[i] !== fn) continue;
      this.frames[0].add(i, tree.total[i], tree.old ? tree.old[i] : 0);
      i = tree.end[i] - 1;
    }
    this.total[0] = this.frames[0].total;
    if (this.old) this.old[0] = this.frames[0].oldTotal;
  }

  #group(id) {
    const groups = new Map(), frames = this.frames[id], steps = id === 0 && this.isInverted ? 0 : 1;
    for (let k = 0; k < frames.nodes.length; k++) {
      const node = steps === 0 ? frames.nodes[k] : this.tree.parent[frames.nodes[k]];
      if (node <= 0) { this.self[id] += frames.amounts[k]; continue; }
      const fn = this.tree.fn[node];
      if (!groups.has(fn)) groups.set(fn, new Frames());
      groups.get(fn).add(node, frames.amounts[k], frames.old[k]);
    }
    return [...groups].map(([fn, members]) => ({ fn, members, total: members.total }))
      .sort((a, b) => b.total - a.total || a.fn - b.fn);
  }

  #expand(id) {
    let x = this.x[id];
    this.lists[id] = this.#group(id).map(({ fn, members, total }) => {
      const child = this.add(id, fn, x, total);
      if (this.old) this.old.push(members.oldTotal);
      this.frames[child] = members;
      x += total;
      return child;
    });
    this.frames[id] = null;
  }

  children(id, { min = 0, from = -Infinity, to = Infinity }, visit) {
    if (this.lists[id] === null) this.#expand(id);
    for (const child of this.lists[id]) {
      if (this.total[child] < min) return this.x[child];
      if (this.x[child] >= to) break;
      if (this.x[child] + this.total[child] > from) visit(child);
    }
    return -1;
  }
}

// Stacks in the order of time, one thread after the other. A node is a run of samples one after the
// other with the same frame; runs that are too narrow to be seen are one box.
export class TimeOrder extends Growing {
  constructor(tree) {
    super(tree, tree.capture.all);
    const { thread } = tree.capture, n = tree.samples.length, counts = new Map();
    let kept = Int32Array.from({ length: n }, (_, k) => k).filter((k) => tree.leaf[k] >= 0);
    for (const k of kept) counts.set(thread[tree.samples[k]], (counts.get(thread[tree.samples[k]]) || 0) + 1);
    const rank = new Map([...counts].sort((a, b) => b[1] - a[1]).map(([id], i) => [id, i]));
    kept = this.#byThread(kept, rank);
    this.leaf = kept.map((k) => tree.leaf[k]);
    this.sample = kept.map((k) => tree.samples[k]);
    this.edge = new Float64Array(kept.length + 1);
    for (let k = 0; k < kept.length; k++) this.edge[k + 1] = this.edge[k] + tree.amounts[this.sample[k]];
    this.min = -1;
    this.#restart(0);
  }

  // Sorts by rank of the thread; samples of a thread keep their order.
  #byThread(kept, rank) {
    const { thread } = this.capture, lists = Array.from(rank, () => []);
    for (const k of kept) lists[rank.get(thread[this.tree.samples[k]])].push(k);
    const sorted = new Int32Array(kept.length);
    let at = 0;
    for (const list of lists) { sorted.set(list, at); at += list.length; }
    return sorted;
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
