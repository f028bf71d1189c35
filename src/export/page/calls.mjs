// SPDX-License-Identifier: LGPL-2.1-or-later
// SPDX-FileCopyrightText: 2026 The live-unwinder authors

// calls.mjs - the tree of calls as rows of a table that unfold.

const OPEN_SHARE = 0.5, MAX_OPENED = 60, MAX_CALLS = 20000;

// The rows that are unfolded, as Table (table.mjs) has functions. At first they are those that lead to the
// busiest calls.
export class CallRows {
  constructor(tree) {
    this.isTree = true;
    this.tree = tree;
    this.ids = [0];
    this.open = new Set();
    for (let i = 0; i < MAX_OPENED && this.hasMore(i); i++) {
      this.unfold(i);
      if (tree.total[this.ids[i + 1]] < OPEN_SHARE * tree.total[this.ids[i]]) break;
    }
  }

  get n() { return this.ids.length; }

  hasMore(i) { return this.tree.first(this.ids[i]) >= 0; }

  row(i) {
    const { tree, open } = this, id = this.ids[i], { total, self, old, oldSelf } = tree;
    const row = { fn: tree.fn[id], level: tree.depth[id], isOpen: open.has(id), hasMore: this.hasMore(i) };
    if (!old) return { ...row, self: self[id], total: total[id], change: 0, totalChange: 0 };
    const whole = total[0] || 1, newSelf = 2 * self[id] - oldSelf[id], newTotal = 2 * total[id] - old[id];
    return { ...row, self: newSelf, total: newTotal, change: (newSelf - oldSelf[id]) / whole, totalChange: (newTotal - old[id]) / whole };
  }

  // Returns the first row of a function, or -1.
  find(fn) { return this.ids.findIndex((id) => this.tree.fn[id] === fn); }

  unfold(i) {
    const id = this.ids[i], below = [];
    if (this.open.has(id) || this.n > MAX_CALLS) return;
    this.tree.children(id, {}, (child) => below.push(child));
    this.open.add(id);
    this.ids = this.ids.slice(0, i + 1).concat(below, this.ids.slice(i + 1));
  }

  // Unfolds all that is below a row, as far as the rows do not become too many.
  unfoldAll(i) {
    for (let k = i; k < this.n && (k === i || this.tree.contains(this.ids[i], this.ids[k])) && this.n <= MAX_CALLS; k++)
      if (this.hasMore(k)) this.unfold(k);
  }

  fold(i) {
    const id = this.ids[i], { tree } = this;
    if (!this.open.has(id)) return;
    const isBelow = (other) => other !== id && tree.contains(id, other);
    for (const other of [...this.open]) if (other === id || isBelow(other)) this.open.delete(other);
    this.ids = this.ids.filter((other) => !isBelow(other));
  }

  // Returns the row of the caller, or of the row itself.
  caller(i) { return Math.max(this.ids.indexOf(this.tree.parent[this.ids[i]]), 0); }
}
