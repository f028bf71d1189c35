// SPDX-License-Identifier: LGPL-2.1-or-later
// SPDX-FileCopyrightText: 2026 The live-unwinder authors

// table.mjs - functions by what they have: rows that exist only while they are seen.

import { PROGRAM } from "./data.mjs";
import { Order } from "./order.mjs";
import { count, percent, visible } from "./text.mjs";

export const TABLE_ROW = 24;
const INDENT = 12, MAX_INDENT = 40;
const COLUMNS = [["self", "Self"], ["total", "Total"], ["name", "Function"], ["module", "Module"]];
const LINES = [["self", "Self"], ["total", "Total"], ["name", "Line"], ["module", "Function"]];
const COMPARED = [["change", "± Self"], ["totalChange", "± Total"], ["self", "Self"], ["total", "Total"],
                  ["name", "Function"], ["module", "Module"]];

const TEXTS = ["name", "module"];

// The rows of a table, sorted: row (i) returns { fn, self, total, change, totalChange }. Of a
// comparison, self and total are what the second recording has, and changes are shares of a recording.
export class Table {
  constructor(tree, totals, sort, passes) {
    const { capture } = tree, found = [];
    this.tree = tree;
    this.totals = totals;
    for (let fn = 0; fn < capture.nFunctions; fn++)
      if (totals.total[fn] > 0 && capture.kinds[fn] !== PROGRAM && (!passes || passes[fn])) found.push(fn);
    this.n = found.length;
    this.order = new Order(Int32Array.from(found), this.#comparison(sort.replace(/^-/, ""), sort.startsWith("-") ? -1 : 1));
  }

  row(i) { return this.#rowOf(this.order.at(i)); }

  #rowOf(fn) {
    const { tree, totals } = this, self = totals.self[fn], total = totals.total[fn];
    if (!tree.capture.isComparison) return { fn, self, total, change: 0, totalChange: 0 };
    const whole = tree.total[0] || 1, newSelf = 2 * self - totals.oldSelf[fn], newTotal = 2 * total - totals.old[fn];
    return { fn, self: newSelf, total: newTotal, change: (newSelf - totals.oldSelf[fn]) / whole, totalChange: (newTotal - totals.old[fn]) / whole };
  }

  find(fn) { return this.order.find(fn); }

  // Returns a function that compares two functions by a column. sign: -1: the other way round.
  #comparison(key, sign) {
    const { capture } = this.tree;
    if (TEXTS.includes(key)) {
      const text = key === "module" ? capture.modules : capture.names;
      return (a, b) => sign * (text[a] < text[b] ? -1 : text[a] > text[b] ? 1 : 0) || a - b;
    }
    const { first, second } = this.#keys(key);
    return (a, b) => sign * (first[b] - first[a] || second[b] - second[a]) || a - b;
  }

  // Returns the numbers by which functions are sorted.
  #keys(key) {
    const { totals, tree: { capture } } = this;
    if (!capture.isComparison && key === "self") return { first: totals.self, second: totals.total };
    if (!capture.isComparison && key === "total") return { first: totals.total, second: totals.self };
    const first = new Float64Array(capture.nFunctions), second = new Float64Array(capture.nFunctions);
    for (let fn = 0; fn < capture.nFunctions; fn++) {
      const row = this.#rowOf(fn);
      first[fn] = Math.abs(row[key] || 0);
      second[fn] = key === "self" ? row.total : row.self;
    }
    return { first, second };
  }
}

export class TableView {
  // events: select (fn), open (fn), sort (key), copy (fn).
  constructor(container, events) {
    this.container = container;
    this.events = events;
    this.head = document.createElement("div");
    this.head.className = "head";
    this.head.setAttribute("role", "row");
    this.body = document.createElement("div");
    this.body.className = "spacer";
    this.body.setAttribute("role", "rowgroup");
    container.append(this.head, this.body);
    this.rows = { n: 0 };
    this.chosen = -1;
    container.addEventListener("scroll", () => this.draw());
    container.addEventListener("keydown", (event) => this.#key(event));
  }

  // rows: a Table.
  show({ rows, sort, colours, chosen }) {
    this.tree = rows.tree;
    this.colours = colours;
    this.sort = sort;
    this.rows = rows;
    this.isCompared = rows.tree.capture.isComparison && !rows.isOfLines;
    this.whole = rows.tree.total[0];
    this.chosen = this.rows.find(chosen);
    this.#drawHead();
    this.container.classList.toggle("compared", this.isCompared);
    this.container.classList.toggle("ofLines", rows.isOfLines === true);
    this.container.setAttribute("role", rows.isTree ? "treegrid" : "table");
    this.#measure();
    this.draw();
  }

  #measure() {
    this.container.setAttribute("aria-rowcount", this.rows.n + 1);
    this.body.style.height = Math.max(this.rows.n, 1) * TABLE_ROW + "px";
  }

  // Changes which rows of a tree are unfolded.
  #unfold(change) {
    change(this.rows);
    this.#measure();
    this.draw();
  }

  // Returns the triangle that unfolds a row of a tree.
  #fold(i, { level, isOpen, hasMore }) {
    const fold = document.createElement("span");
    fold.className = "fold";
    fold.textContent = hasMore ? (isOpen ? "▾" : "▸") : "";
    fold.style.marginLeft = Math.min(level, MAX_INDENT) * INDENT + "px";
    fold.addEventListener("click", (event) => {
      event.stopPropagation();
      this.#unfold((rows) => (isOpen ? rows.fold(i) : rows.unfold(i)));
    });
    return fold;
  }

  #drawHead() {
    this.head.replaceChildren();
    for (const [key, title] of this.rows.isOfLines ? LINES : this.isCompared ? COMPARED : COLUMNS) {
      const cell = document.createElement("div"), button = document.createElement("button");
      const isSorted = this.sort.replace(/^-/, "") === key, isReverse = this.sort.startsWith("-");
      cell.className = key;
      cell.setAttribute("role", "columnheader");
      cell.setAttribute("aria-sort", !isSorted ? "none" : isReverse ? "ascending" : "descending");
      button.textContent = title + (isSorted ? (isReverse ? " ▴" : " ▾") : "");
      button.addEventListener("click", () => this.events.sort(isSorted && !isReverse ? `-${key}` : key));
      if (this.rows.isTree) cell.textContent = title; // in the order of calls
      else cell.append(button);
      this.head.append(cell);
    }
  }

  draw() {
    if (!this.tree) return;
    const top = this.container.scrollTop, first = Math.max(Math.floor(top / TABLE_ROW) - 4, 0);
    const last = Math.min(first + Math.ceil(this.container.clientHeight / TABLE_ROW) + 8, this.rows.n);
    this.body.replaceChildren();
    for (let i = first; i < last; i++) this.body.append(this.#row(i));
    if (this.rows.n > 0) return;
    const note = document.createElement("div");
    note.className = "note";
    note.textContent = this.rows.isOfLines ? "No line is known here." : "No function matches.";
    this.body.append(note);
  }

  #cell(key, ...content) {
    const cell = document.createElement("div");
    cell.className = key;
    cell.setAttribute("role", "cell");
    cell.append(...content);
    return cell;
  }

  #share(key, value) {
    const cell = this.#cell(key, percent(value, this.whole)), n = document.createElement("small"), bar = document.createElement("i");
    n.textContent = count(value);
    bar.style.width = `${this.whole > 0 ? 100 * value / this.whole : 0}%`;
    cell.append(n, bar);
    return cell;
  }

  #change(key, change) {
    const cell = this.#cell(key, `${change > 0 ? "+" : ""}${(100 * change).toFixed(2)}`);
    cell.classList.add(change > 0.00005 ? "slower" : change < -0.00005 ? "faster" : "same");
    return cell;
  }

  #row(i) {
    const { capture } = this.tree, { fn, self, total, change, totalChange, ...texts } = this.rows.row(i);
    const row = document.createElement("div"), name = document.createElement("bdi"), module = document.createElement("bdi");
    const key = document.createElement("span");
    key.className = "key";
    key.style.background = this.colours.css(fn);
    row.className = "row" + (i === this.chosen ? " chosen" : "");
    row.style.top = i * TABLE_ROW + "px";
    row.setAttribute("role", "row");
    row.setAttribute("aria-rowindex", i + 2);
    row.setAttribute("aria-selected", i === this.chosen);
    name.textContent = visible((texts.name || capture.names[fn]).slice(0, 1000));
    module.textContent = visible((texts.module || capture.modules[fn]).slice(0, 200));
    if (this.isCompared) row.append(this.#change("change", change), this.#change("totalChange", totalChange));
    row.append(this.#share("self", self), this.#share("total", total), this.#cell("name", ...(this.rows.isTree ? [this.#fold(i, texts)] : []), key, name), this.#cell("module", module));
    if (this.rows.isTree) { row.setAttribute("aria-level", texts.level + 1); if (texts.hasMore) row.setAttribute("aria-expanded", texts.isOpen); }
    row.title = visible((texts.title || capture.fullNames[fn] || capture.names[fn]).slice(0, 2000));
    row.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey) this.events.copy(fn);
      else this.choose(i);
    });
    row.addEventListener("dblclick", () => this.events.open(fn));
    return row;
  }

  choose(i) {
    if (i < 0 || i >= this.rows.n) return;
    this.chosen = i;
    const y = i * TABLE_ROW, { container } = this, room = container.clientHeight - 2 * TABLE_ROW;
    if (y < container.scrollTop) container.scrollTop = y;
    else if (y > container.scrollTop + room) container.scrollTop = y - room;
    this.draw();
    this.events.select(this.rows.row(i).fn);
  }

  // Moves in a tree; returns whether the key does so.
  #treeKey(key) {
    const { rows, chosen } = this, { isOpen, hasMore } = rows.row(chosen);
    if (key === "ArrowRight" && hasMore && !isOpen) this.#unfold(() => rows.unfold(chosen));
    else if (key === "ArrowRight" && hasMore) this.choose(chosen + 1);
    else if (key === "ArrowLeft" && isOpen) this.#unfold(() => rows.fold(chosen));
    else if (key === "ArrowLeft") this.choose(rows.caller(chosen));
    else if (key === "*") this.#unfold(() => rows.unfoldAll(chosen));
    else return false;
    return true;
  }

  #key(event) {
    if (event.target.tagName === "BUTTON" || event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(Math.floor(this.container.clientHeight / TABLE_ROW) - 2, 1), last = this.rows.n - 1;
    const to = { ArrowDown: this.chosen + 1, ArrowUp: Math.max(this.chosen - 1, 0), Home: 0, End: last,
                 PageDown: Math.min(this.chosen + page, last), PageUp: Math.max(this.chosen - page, 0) }[event.key];
    if (this.rows.isTree && this.chosen >= 0 && this.#treeKey(event.key)) { event.preventDefault(); return; }
    if (event.key === "Enter" && this.chosen >= 0) this.events.open(this.rows.row(this.chosen).fn);
    else if (event.key === "c" && this.chosen >= 0) this.events.copy(this.rows.row(this.chosen).fn);
    else if (to !== undefined) this.choose(to);
    else return;
    event.preventDefault();
  }
}
