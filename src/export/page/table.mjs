// SPDX-License-Identifier: LGPL-2.1-or-later
// SPDX-FileCopyrightText: 2026 The live-unwinder authors

// table.mjs - functions by what they have: rows that exist only while they are seen.

import { count, percent, visible } from "./text.mjs";

export const TABLE_ROW = 24;
const COLUMNS = [["self", "Self"], ["total", "Total"], ["name", "Function"], ["module", "Module"]];
const COMPARED = [["change", "± Self"], ["totalChange", "± Total"], ["self", "Self"], ["total", "Total"],
                  ["name", "Function"], ["module", "Module"]];

// Returns the rows of a table, sorted: { fn, self, total, change, totalChange }. Of a comparison,
// self and total are what the second recording has, and changes are shares of a recording.
export function makeTable(tree, totals, sort, passes) {
  const { capture } = tree, rows = [], key = sort.replace(/^-/, ""), sign = sort.startsWith("-") ? -1 : 1;
  const whole = tree.total[0] || 1;
  for (let fn = 0; fn < capture.nFunctions; fn++) {
    if (totals.total[fn] === 0 || capture.kinds[fn] > 4 || (passes && !passes[fn])) continue;
    const row = { fn, self: totals.self[fn], total: totals.total[fn], change: 0, totalChange: 0 };
    if (capture.isComparison) {
      row.self = 2 * totals.self[fn] - totals.oldSelf[fn];
      row.total = 2 * totals.total[fn] - totals.old[fn];
      row.change = (row.self - totals.oldSelf[fn]) / whole;
      row.totalChange = (row.total - totals.old[fn]) / whole;
    }
    rows.push(row);
  }
  const text = key === "module" ? capture.modules : capture.names;
  const compare = {
    self: (a, b) => b.self - a.self || b.total - a.total, total: (a, b) => b.total - a.total || b.self - a.self,
    change: (a, b) => Math.abs(b.change) - Math.abs(a.change), totalChange: (a, b) => Math.abs(b.totalChange) - Math.abs(a.totalChange),
  }[key] || ((a, b) => (text[a.fn] < text[b.fn] ? -1 : text[a.fn] > text[b.fn] ? 1 : 0));
  return rows.sort((a, b) => sign * compare(a, b));
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
    this.rows = [];
    this.chosen = -1;
    container.addEventListener("scroll", () => this.draw());
    container.addEventListener("keydown", (event) => this.#key(event));
  }

  show({ tree, totals, sort, passes, colours, chosen }) {
    this.tree = tree;
    this.colours = colours;
    this.sort = sort;
    this.rows = makeTable(tree, totals, sort, passes);
    this.whole = tree.total[0];
    this.chosen = this.rows.findIndex((row) => row.fn === chosen);
    this.#drawHead();
    this.container.classList.toggle("compared", tree.capture.isComparison);
    this.container.setAttribute("aria-rowcount", this.rows.length + 1);
    this.body.style.height = Math.max(this.rows.length, 1) * TABLE_ROW + "px";
    this.draw();
  }

  #drawHead() {
    this.head.replaceChildren();
    for (const [key, title] of this.tree.capture.isComparison ? COMPARED : COLUMNS) {
      const cell = document.createElement("div"), button = document.createElement("button");
      const isSorted = this.sort.replace(/^-/, "") === key, isReverse = this.sort.startsWith("-");
      cell.className = key;
      cell.setAttribute("role", "columnheader");
      cell.setAttribute("aria-sort", !isSorted ? "none" : isReverse ? "ascending" : "descending");
      button.textContent = title + (isSorted ? (isReverse ? " ▴" : " ▾") : "");
      button.addEventListener("click", () => this.events.sort(isSorted && !isReverse ? `-${key}` : key));
      cell.append(button);
      this.head.append(cell);
    }
  }

  draw() {
    if (!this.tree) return;
    const top = this.container.scrollTop, first = Math.max(Math.floor(top / TABLE_ROW) - 4, 0);
    const last = Math.min(first + Math.ceil(this.container.clientHeight / TABLE_ROW) + 8, this.rows.length);
    this.body.replaceChildren();
    for (let i = first; i < last; i++) this.body.append(this.#row(i));
    if (this.rows.length > 0) return;
    const note = document.createElement("div");
    note.className = "note";
    note.textContent = "No function matches.";
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
    const { capture } = this.tree, { fn, self, total, change, totalChange } = this.rows[i];
    const row = document.createElement("div"), name = document.createElement("bdi"), module = document.createElement("bdi");
    const key = document.createElement("span");
    key.className = "key";
    key.style.background = this.colours.of[fn];
    row.className = "row" + (i === this.chosen ? " chosen" : "");
    row.style.top = i * TABLE_ROW + "px";
    row.setAttribute("role", "row");
    row.setAttribute("aria-rowindex", i + 2);
    row.setAttribute("aria-selected", i === this.chosen);
    name.textContent = visible(capture.names[fn].slice(0, 1000));
    module.textContent = visible(capture.modules[fn].slice(0, 200));
    if (capture.isComparison) row.append(this.#change("change", change), this.#change("totalChange", totalChange));
    row.append(this.#share("self", self), this.#share("total", total), this.#cell("name", key, name), this.#cell("module", module));
    row.title = visible((capture.fullNames[fn] || capture.names[fn]).slice(0, 2000));
    row.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey) this.events.copy(fn);
      else this.choose(i);
    });
    row.addEventListener("dblclick", () => this.events.open(fn));
    return row;
  }

  choose(i) {
    if (i < 0 || i >= this.rows.length) return;
    this.chosen = i;
    const y = i * TABLE_ROW, { container } = this, room = container.clientHeight - 2 * TABLE_ROW;
    if (y < container.scrollTop) container.scrollTop = y;
    else if (y > container.scrollTop + room) container.scrollTop = y - room;
    this.draw();
    this.events.select(this.rows[i].fn);
  }

  #key(event) {
    if (event.target.tagName === "BUTTON" || event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(Math.floor(this.container.clientHeight / TABLE_ROW) - 2, 1), last = this.rows.length - 1;
    const to = { ArrowDown: this.chosen + 1, ArrowUp: Math.max(this.chosen - 1, 0), Home: 0, End: last,
                 PageDown: Math.min(this.chosen + page, last), PageUp: Math.max(this.chosen - page, 0) }[event.key];
    if (event.key === "Enter" && this.chosen >= 0) this.events.open(this.rows[this.chosen].fn);
    else if (event.key === "c" && this.chosen >= 0) this.events.copy(this.rows[this.chosen].fn);
    else if (to !== undefined) this.choose(to);
    else return;
    event.preventDefault();
  }
}
