// SPDX-License-Identifier: LGPL-2.1-or-later
// SPDX-FileCopyrightText: 2026 The live-unwinder authors

// shape.mjs - the nodes of all samples, as a tree of functions below programs and threads, and the
// same tree with frames left out. What the nodes weigh is in tree.mjs.
//
// Nodes are numbered with a node before its callees: those of node i begin at i + 1 and end before
// end[i], so node i and all below it are one range.

import { KERNEL, preorder, PROGRAM } from "./data.mjs";

const IN_FOCUS = 1, DROPPED = 2, FIRST_ONLY = 4, MAX_ONLY = 5, HIDDEN = 128;

// Nodes that are found by their parent and function; parents come first.
class Children {
  // n: how many there may be at most.
  constructor(n) {
    this.parent = new Int32Array(n);
    this.fn = new Int32Array(n);
    this.slots = new Int32Array(1 << 10); // number of a node + 1, by its parent and function
    this.n = 0;
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

  get(parent, fn) {
    if (2 * this.n >= this.slots.length) this.#growSlots();
    const at = this.#slot(parent, fn);
    if (this.slots[at] > 0) return this.slots[at] - 1;
    this.parent[this.n] = parent;
    this.fn[this.n] = fn;
    return (this.slots[at] = ++this.n) - 1;
  }
}

// A rule is { op, fn } or { op, module }: "focus" makes stacks begin at the first frame that it
// names, "only" keeps samples with such a frame, "drop" removes them, "hide" removes the frames.
function rulesByFunction(capture, rules) {
  const of = new Uint8Array(capture.nFunctions), only = rules.filter((rule) => rule.op === "only");
  const bits = { focus: IN_FOCUS, drop: DROPPED, hide: HIDDEN };
  for (const rule of rules) {
    const bit = rule.op === "only" ? FIRST_ONLY << (only.indexOf(rule) % MAX_ONLY) : bits[rule.op];
    if (rule.fn !== undefined) { of[rule.fn] |= bit; continue; }
    for (let fn = 0; fn < of.length; fn++)
      if (capture.modules[fn] === rule.module && capture.kinds[fn] !== PROGRAM) of[fn] |= bit;
  }
  return of;
}

// Which frames of a shape are hidden, and which stacks are left out. options: kernel, folds, rules.
class FrameChoice {
  constructor(shape, options) {
    const { rules = [] } = options, { n, capture } = shape;
    this.shape = shape;
    this.rules = rulesByFunction(capture, rules);
    this.needed = 0; // flags that a stack must have
    if (rules.some(({ op }) => op === "focus")) this.needed |= IN_FOCUS;
    rules.filter(({ op }) => op === "only").forEach((_, i) => { this.needed |= FIRST_ONLY << (i % MAX_ONLY); });
    this.keepsAll = this.needed === 0 && !rules.some(({ op }) => op === "drop");
    this.flags = new Uint8Array(n);          // of the stack that ends here, and HIDDEN of this frame
    this.nBefore = new Int32Array(n + 1);    // hidden frames before this one
    this.#hide(options);
  }

  get nHidden() { return this.nBefore[this.shape.n]; }

  #hide({ kernel = true, folds }) {
    const { shape: { n, parent, fn, capture: { kinds } }, rules, flags, nBefore } = this, needed = this.needed & IN_FOCUS;
    const shown = folds ? fn.slice() : fn; // the function of the nearest frame, from here up, that stays
    let nHidden = 0;
    nBefore[1] = 0;
    for (let i = 1; i < n; i++) {
      const own = fn[i], seen = (flags[parent[i]] | rules[own]) & ~HIDDEN;
      const isHidden = rules[own] & HIDDEN || (!kernel && kinds[own] === KERNEL) || (needed && !(seen & IN_FOCUS))
        || (folds && shown[parent[i]] === own && kinds[own] !== PROGRAM);
      flags[i] = seen;
      if (isHidden) {
        flags[i] |= HIDDEN;
        if (folds) shown[i] = shown[parent[i]];
        nHidden++;
      }
      nBefore[i + 1] = nHidden;
    }
  }

  isHidden(node) { return (this.flags[node] & HIDDEN) !== 0; }

  // Tells whether a node or one below it is hidden.
  hasHidden(node) { return this.nBefore[this.shape.end[node]] > this.nBefore[node]; }

  // Tells whether a stack stays. leaf: -1: it was left out before.
  keeps(leaf) { return leaf >= 0 && !(this.flags[leaf] & DROPPED) && (this.flags[leaf] & this.needed) === this.needed; }
}

// Makes a shape without the hidden frames of another one: callees of a hidden frame become those of
// its caller, where callees with the same function become one.
class Reducer {
  constructor(frames) {
    const { shape } = frames;
    this.frames = frames;
    this.from = shape;
    this.n = 0;
    for (const array of ["fn", "parent", "end"]) this[array] = new Int32Array(shape.n);
    this.depth = new Uint16Array(shape.n);
    this.place = new Int32Array(shape.n);
    this.groupOf = new Int32Array(shape.capture.nFunctions).fill(-1);
  }

  // Puts the nodes of a tree without hidden frames below a node.
  #copy(root, above) {
    const { from, fn, parent, end, depth, place } = this, by = this.n - root, last = from.end[root];
    const deeper = depth[above] + 1 - from.depth[root];
    for (let i = root; i < last; i++) {
      const at = i + by;
      fn[at] = from.fn[i];
      parent[at] = from.parent[i] + by;
      end[at] = from.end[i] + by;
      depth[at] = from.depth[i] + deeper;
      place[i] = at;
    }
    parent[root + by] = above;
    this.n = last + by;
  }

  // Returns the callees of nodes that are one node, as lists of those with the same function.
  #group(nodes, id) {
    const { from, frames, groupOf, place } = this, groups = [];
    for (const node of nodes)
      for (let child = node + 1; child < from.end[node];) {
        if (frames.isHidden(child)) { place[child++] = id; continue; } // its callees follow
        const fn = from.fn[child];
        if (groupOf[fn] < 0) groupOf[fn] = groups.push([child]) - 1;
        else groups[groupOf[fn]].push(child);
        child = from.end[child];
      }
    for (const [first] of groups) groupOf[from.fn[first]] = -1;
    return groups;
  }

  #add(nodes, above) {
    const { from, place } = this, id = this.n++;
    this.fn[id] = from.fn[nodes[0]];
    this.parent[id] = above;
    this.depth[id] = above < 0 ? 0 : this.depth[above] + 1;
    for (const node of nodes) place[node] = id;
    return id;
  }

  run() {
    const { frames } = this, stack = [{ nodes: [0], above: -1, id: -1 }];
    while (stack.length > 0) {
      const { nodes, above, id } = stack.pop();
      if (id >= 0) { this.end[id] = this.n; continue; }
      if (nodes.length === 1 && above >= 0 && !frames.hasHidden(nodes[0])) { this.#copy(nodes[0], above); continue; }
      const made = this.#add(nodes, above), groups = this.#group(nodes, made);
      stack.push({ nodes, above, id: made });
      for (let i = groups.length - 1; i >= 0; i--) stack.push({ nodes: groups[i], above: made, id: -1 });
    }
    const { from: { capture }, n, fn, parent, end, depth } = this;
    return { capture, n, fn, parent, end, depth };
  }
}

// Puts the nodes of a recording below the programs and threads that have them. Stacks of each of these
// come in the order of their nodes, and nodes are made in that order.
class Builder {
  constructor(capture, { byThread = false, groups = true }) {
    const n = capture.parent.length + 1024;
    this.capture = capture;
    this.byThread = byThread;
    this.hasPrograms = groups;
    this.n = 0;
    this.fn = new Int32Array(n);
    this.parent = new Int32Array(n);
    this.depth = new Uint16Array(n);
    this.mapped = new Int32Array(capture.parent.length); // the last node that a node of the recording became
    this.top = new Int32Array(capture.parent.length).fill(-1); // and below which program or thread
    this.path = new Int32Array(1 << 13);
  }

  #reserve(n) {
    if (this.n + n <= this.fn.length) return;
    for (const key of ["fn", "parent", "depth"]) {
      const old = this[key], bigger = new old.constructor(2 * (this.n + n));
      bigger.set(old);
      this[key] = bigger;
    }
  }

  #append(parent, fn) {
    this.#reserve(1);
    this.fn[this.n] = fn;
    this.parent[this.n] = parent;
    this.depth[this.n] = parent < 0 ? 0 : this.depth[parent] + 1;
    return this.n++;
  }

  // Makes what a node and its callers become below a top, as far as they are not there yet.
  #map(leaf, top) {
    const { mapped, top: topOf, capture } = this;
    let { path } = this, n = 0, node = leaf, id = this.n;
    for (; node !== 0 && topOf[node] !== top; node = capture.parent[node]) {
      if (n === path.length) { path = this.path = new Int32Array(2 * n); node = leaf; n = 0; }
      path[n++] = node;
    }
    let above = node === 0 ? top : mapped[node];
    this.#reserve(n);
    const { fn, parent, depth } = this;
    while (n > 0) {
      node = path[--n];
      fn[id] = capture.fn[node];
      parent[id] = above;
      depth[id] = depth[above] + 1;
      topOf[node] = top;
      mapped[node] = above = id++;
    }
    this.n = id;
  }

  // Returns the samples of each thread, or of all threads that are shown as one, by program.
  #group() {
    const { threads, processes, thread, n } = this.capture, programs = new Map();
    const lists = threads.map(({ process, fn }) => {
      const program = this.hasPrograms ? processes[process].fn : -1, own = this.byThread && this.hasPrograms ? fn : -1;
      if (!programs.has(program)) programs.set(program, new Map());
      if (!programs.get(program).has(own)) programs.get(program).set(own, []);
      return programs.get(program).get(own);
    });
    for (let i = 0; i < n; i++) lists[thread[i]].push(i);
    return programs;
  }

  #addStacks(samples, top, leafOf) {
    const { node } = this.capture;
    for (const leaf of Int32Array.from(samples, (sample) => node[sample]).sort()) this.#map(leaf, top);
    for (const sample of samples) leafOf[sample] = node[sample] === 0 ? top : this.mapped[node[sample]];
  }

  run() {
    const { capture } = this, leafOf = new Int32Array(capture.n);
    this.#append(-1, capture.all);
    for (const [program, threads] of this.#group()) {
      const used = [...threads].filter(([, samples]) => samples.length > 0), above = program < 0 || used.length === 0 ? 0 : this.#append(0, program);
      for (const [fn, samples] of used) this.#addStacks(samples, fn < 0 ? above : this.#append(above, fn), leafOf);
    }
    const { n, fn, parent, depth } = this;
    return { capture, n, fn, parent, depth, end: endsOf(parent, n), leafOf };
  }
}

// Returns where the nodes below each node end.
function endsOf(parent, n) {
  const end = new Int32Array(n);
  for (let i = n - 1; i >= 0; i--) {
    if (end[i] === 0) end[i] = i + 1;
    if (i > 0 && end[parent[i]] === 0) end[parent[i]] = end[i]; // the last callee comes first
  }
  return end;
}

// Returns a shape in which nodes of one caller with the same function are one.
function join({ capture, n, parent, fn, leafOf }) {
  const nodes = new Children(n), nodeOf = new Int32Array(n);
  for (let i = 0; i < n; i++) nodeOf[i] = nodes.get(i > 0 ? nodeOf[parent[i]] : -1, fn[i]);
  const { place, size } = preorder(nodes.parent, nodes.n), made = { capture, n: nodes.n, leafOf: leafOf.map((leaf) => place[nodeOf[leaf]]) };
  for (const key of ["fn", "parent", "end"]) made[key] = new Int32Array(nodes.n);
  made.depth = new Uint16Array(nodes.n);
  for (let i = 0; i < nodes.n; i++) {
    const at = place[i], above = i > 0 ? place[nodes.parent[i]] : -1;
    made.fn[at] = nodes.fn[i];
    made.parent[at] = above;
    made.end[at] = at + size[i];
    made.depth[at] = i > 0 ? made.depth[above] + 1 : 0;
  }
  return made;
}

// Returns the nodes of all stacks of a recording. options: byThread, groups (false: without programs).
// leafOf has the node of each sample.
export function makeShape(capture, options = {}) {
  const shape = new Builder(capture, options).run();
  // Nodes of two recordings may be one, and those that differ by their line are.
  return capture.isComparison || capture.line !== null ? join(shape) : shape;
}

// Returns a shape without some frames, or the shape itself if it has none of them. options: kernel,
// folds, rules (see above). leafOf has -1 for a sample that is left out.
export function leaveOut(shape, options) {
  const frames = new FrameChoice(shape, options), { leafOf } = shape;
  if (frames.nHidden === 0)
    return frames.keepsAll ? shape : { ...shape, leafOf: leafOf.map((leaf) => (frames.keeps(leaf) ? leaf : -1)) };
  const reducer = new Reducer(frames), made = reducer.run();
  made.leafOf = leafOf.map((leaf) => (frames.keeps(leaf) ? reducer.place[leaf] : -1));
  return made;
}
