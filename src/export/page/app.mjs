// SPDX-License-Identifier: LGPL-2.1-or-later
// SPDX-FileCopyrightText: 2026 The live-unwinder authors

// app.mjs - the page: what is selected, which views show it, and the keys.

import { Figures, hideTip, showFunction, showTip } from "./about.mjs";
import { Capture, isCode } from "./data.mjs";
import { leaveOut, makeShape } from "./shape.mjs";
import { functionTotals, selectSamples, totalOf, weigh } from "./tree.mjs";
import { Callees, Callers, TimeOrder } from "./lazy.mjs";
import { findLines, LineTable } from "./lines.mjs";
import { CallRows } from "./calls.mjs";
import { fromHash, START, TABLES, toHash, VIEWS } from "./state.mjs";
import { Colours } from "./colours.mjs";
import { Controls, titleOf } from "./controls.mjs";
import { $, element, named } from "./dom.mjs";
import { Finder } from "./finder.mjs";
import { GraphView } from "./graph.mjs";
import { Header } from "./header.mjs";
import { showHelp } from "./help.mjs";
import { showSelection } from "./selection.mjs";
import { Timeline } from "./timeline.mjs";
import { Table, TableView } from "./table.mjs";
import { isolated, visible } from "./text.mjs";

// Selections of which the page keeps what it made, so that one can go back at once.
const REMEMBERED = 4;

export class App {
  constructor(data) {
    this.capture = new Capture(data);
    this.start = { ...START, byThread: data.by_thread === 1, folds: data.folds === 1,
                   sort: this.capture.isComparison ? "change" : "self" };
    this.dark = window.matchMedia("(prefers-color-scheme: dark)");
    this.views = VIEWS.filter((view) => view !== "lines" || this.capture.line !== null);
    this.state = this.#read();
    this.past = [];
    this.made = {};
    this.chosen = { fn: null, view: null, id: 0 };
    this.#makeColours();
    this.header = new Header(this.capture);
    this.#makeViews();
    this.controls = new Controls(this);
    this.finder = new Finder(this.capture, { search: (text) => this.search(text), step: (direction) => this.step(direction) });
    this.#listen();
    this.render();
  }

  #makeColours() {
    const weights = new Float64Array(this.capture.nFunctions), { capture } = this;
    for (let i = 0; i < capture.n; i++) if (capture.node[i] > 0) weights[capture.fn[capture.node[i]]] += capture.weight[i];
    this.colours = new Colours(capture, weights);
    this.colours.setDark(this.dark.matches);
  }

  #makeViews() {
    const events = (view) => ({
      select: (id) => this.#choose(view(), id),
      hover: (id, event) => { if (id < 0) hideTip(); else showTip(this, view().graph, id, event); },
      leave: hideTip,
      copy: (id) => this.copy(view().graph.fn[id]),
      zoom: () => this.#keepZoom(),
    });
    this.lower = new GraphView($("lower"), events(() => this.lower));
    this.upper = new GraphView($("upper"), events(() => this.upper));
    this.table = new TableView($("table"), {
      select: (fn) => { if (this.state.view === "sandwich") this.update({ fn }); this.#about(fn); },
      open: (fn) => this.update({ view: "sandwich", fn }),
      sort: (sort) => this.update({ sort }),
      copy: (fn) => this.copy(fn),
    });
    this.timeline = new Timeline(this.capture, $("timeline"), {
      range: (from, to) => this.update({ from, to, zoom: null }),
      who: (who) => this.update({ who, zoom: null }),
    });
  }

  // State

  // Changes what is shown. Every change can be undone, and is part of the address.
  update(patch, isUndo = false) {
    if (!isUndo) this.past.push(this.state);
    if (this.past.length > 200) this.past.shift();
    this.state = { ...this.state, ...patch };
    this.#writeHash();
    this.render();
  }

  undo() {
    const last = this.past.pop();
    if (last) this.update(last, true);
  }

  #read() {
    const state = fromHash(location.hash, this.capture, this.start);
    return this.views.includes(state.view) ? state : { ...state, view: this.start.view };
  }

  #writeHash() {
    this.hash = toHash(this.state, this.capture, this.start);
    try {
      history.replaceState(null, "", this.hash ? `#${this.hash}` : location.pathname + location.search);
    } catch {
      location.hash = this.hash;
    }
  }

  #keepZoom() {
    clearTimeout(this.zoomTimer);
    this.zoomTimer = setTimeout(() => {
      const { zoom } = this.lower, whole = this.lower.graph.total[0];
      this.state = { ...this.state, zoom: zoom && zoom.map((each) => each / whole) };
      this.#writeHash();
    }, 150);
  }

  // Returns a value that depends on `key`: one of the last few, or a new one.
  #remember(what, key, make) {
    const known = (this.made[what] ||= new Map()), value = known.has(key) ? known.get(key) : make();
    known.delete(key);
    known.set(key, value);
    if (known.size > REMEMBERED) known.delete(known.keys().next().value);
    return value;
  }

  #compute() {
    const { capture, state } = this, { from, to, who, event, kernel, folds, byThread, rules, value } = state;
    const selection = JSON.stringify([from, to, who, event]), frames = JSON.stringify([kernel, folds, byThread, rules]);
    this.samples = this.#remember("samples", selection, () => selectSamples(capture, state));
    this.treeKey = JSON.stringify([selection, frames, value]);
    this.tree = this.#remember("tree", this.treeKey, () => weigh(this.#remember("shape", frames, () => this.#makeShape()), this.samples, value));
    this.figures = new Figures(this.tree, state);
  }

  #makeShape() {
    const { byThread } = this.state, groups = this.#hasGroups();
    return leaveOut(this.#remember("whole", byThread, () => makeShape(this.capture, { byThread, groups })), this.state);
  }

  // Totals of all functions, which are only asked for where a view shows all of them.
  get totals() { return this.#remember("totals", this.treeKey, () => functionTotals(this.tree)); }

  // Programs of recordings that share none would only split the graph.
  #hasGroups() {
    if (!this.capture.isComparison) return true;
    const names = (head) => new Set(head.processes.map(([, name]) => name));
    const old = names(this.capture.before);
    return [...names(this.capture.head)].some((name) => old.has(name));
  }

  render() {
    this.#compute();
    this.controls.draw();
    this.header.draw(this.samples);
    $("timeline").querySelector(".rows").classList.toggle("heat", this.state.heat);
    this.timeline.set({ ...this.state, colours: this.colours });
    this.finder.find(this.state.search);
    this.#drawViews();
    showSelection(this);
    this.finder.draw(this.tree);
    this.#about(this.chosen.fn ?? this.state.fn);
  }

  // Views

  #graphOf(view) {
    const { tree, treeKey, state } = this;
    if (view === "time") return this.#remember("time", treeKey, () => new TimeOrder(tree));
    if (view === "callers") return this.#remember("callers", treeKey, () => new Callers(tree, -1));
    if (view === "callersOf") return this.#remember("callersOf", treeKey + state.fn, () => new Callers(tree, state.fn));
    if (view === "calleesOf") return this.#remember("calleesOf", treeKey + state.fn, () => new Callees(tree, state.fn));
    return tree;
  }

  #colourOf() {
    if (!this.capture.isComparison) return null;
    return (graph, id) => {
      const total = 2 * graph.total[id], old = graph.old[id];
      return this.colours.change(total > 0 ? (total - 2 * old) / total : 0);
    };
  }

  #busiest() {
    const { self } = this.totals;
    let best = 0;
    for (let fn = 1; fn < self.length; fn++) if (self[fn] > self[best] && isCode(this.capture.kinds[fn])) best = fn;
    return best;
  }

  #drawViews() {
    const { state } = this, { view } = state, isSandwich = view === "sandwich", isGraph = !TABLES.includes(view);
    if (isSandwich && state.fn === null) state.fn = this.#busiest();
    document.querySelector("main").classList.toggle("beside", isSandwich);
    $("table").hidden = isGraph && !isSandwich;
    $("graphs").hidden = !isGraph;
    $("upper").hidden = $("middle").hidden = !isSandwich;
    const shown = { colours: this.colours, colourOf: this.#colourOf() };
    if (isSandwich) this.#drawSandwich(shown);
    else if (isGraph) this.#drawGraph(view, shown);
    if (!isGraph || isSandwich) this.#showTable();
  }

  #makeTable() {
    const { tree, finder: { matches }, state: { sort, view, fn } } = this;
    if (view === "tree") return this.#remember("calls", this.treeKey, () => new CallRows(tree));
    if (view !== "lines") return new Table(tree, this.totals, sort, matches);
    const lines = this.#remember("lines", "", () => findLines(this.capture));
    return new LineTable(tree, lines, { sort, passes: matches, fn });
  }

  #showTable() {
    const { colours, state } = this, { sort, search, view, fn } = state, isLines = view === "lines", of = TABLES.includes(view) ? view : "table";
    const rows = this.#remember("table", JSON.stringify([this.treeKey, sort, search, isLines && fn, of]), () => this.#makeTable());
    this.table.show({ rows, sort, colours, chosen: view === "sandwich" ? fn : this.chosen.fn });
  }

  // Shows a graph, unless it is shown already: zoom and place stay then.
  #show(view, graph, options) {
    view.matches = this.finder.matches;
    view.colours = this.colours;
    if (view.graph === graph && view.flip === options.flip) view.draw();
    else view.show(graph, options);
  }

  #drawGraph(view, shown) {
    const graph = this.#graphOf(view), whole = graph.total[0];
    const zoom = this.state.zoom && [this.state.zoom[0] * whole, (this.state.zoom[1] - this.state.zoom[0]) * whole];
    this.#show(this.lower, graph, { ...shown, flip: this.state.flip, zoom });
    $("lower").setAttribute("aria-label", `${titleOf(view)}. Arrow keys move, Enter zooms, Backspace zooms out, question mark lists all keys.`);
  }

  #drawSandwich(shown) {
    const { capture, state } = this, { total, self } = totalOf(this.tree, state.fn);
    $("middle").replaceChildren(element("b", {}, named(capture.names[state.fn])), ` · ${this.figures.of(total, self)} · callers above, callees below`);
    this.#show(this.upper, this.#graphOf("callersOf"), { ...shown, flip: true });
    this.#show(this.lower, this.#graphOf("calleesOf"), { ...shown, flip: false });
    $("lower").setAttribute("aria-label", "Callees");
  }

  // Functions

  #choose(view, id) {
    this.chosen = { fn: view.graph.fn[id], view, id };
    this.#about(this.chosen.fn, this.figures.describeBox(view.graph, id));
  }

  #about(fn, here) {
    this.chosen = { ...this.chosen, fn: fn ?? this.capture.all };
    showFunction(this, this.chosen.fn, here);
  }

  // Search

  step(direction) {
    if (!this.finder.matches) return;
    if ($("graphs").hidden) { this.table.choose(this.table.chosen + direction); return; }
    this.finder.draw(this.tree, this.lower.step(direction));
  }

  search(text) {
    this.state = { ...this.state, search: text };
    this.#writeHash();
    this.finder.find(text);
    if (!$("table").hidden) this.#showTable();
    for (const view of [this.lower, this.upper]) { view.matches = this.finder.matches; if (!view.container.hidden) view.draw(); }
    this.finder.draw(this.tree);
  }

  // Actions

  act(key) {
    const { fn } = this.chosen, { capture } = this, { rules } = this.state;
    if (fn === null || !isCode(capture.kinds[fn])) return;
    const add = (rule) => this.update({ rules: [...rules, rule], zoom: null });
    const actions = {
      b: () => this.update({ view: "sandwich", fn, zoom: null }), l: () => this.update({ view: "lines", fn, zoom: null }), c: () => this.copy(fn),
      f: () => add({ op: "focus", fn }), o: () => add({ op: "only", fn }), x: () => add({ op: "drop", fn }), h: () => add({ op: "hide", fn }),
      F: () => add({ op: "focus", module: capture.modules[fn] }), H: () => add({ op: "hide", module: capture.modules[fn] }),
    };
    if (actions[key]) actions[key]();
  }

  copy(fn) { return this.copyText(this.capture.fullNames[fn] || this.capture.names[fn]); }

  // Copies the address, which has everything that is selected.
  copyLink() { return this.copyText(location.href); }

  async copyText(text) {
    this.copied = text;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = element("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    $("share").textContent = `Copied ${isolated(visible(text.slice(0, 100)))}`;
  }

  #escape() {
    const { state } = this;
    if ($("states").open) $("states").open = false;
    else if (state.search) { $("search").value = ""; this.search(""); }
    else if (state.from !== null || state.who || state.rules.length > 0 || state.zoom)
      { this.update({ from: null, to: null, who: null, rules: [], zoom: null }); if (this.lower.graph) this.lower.zoomTo(0); }
    $("lower").focus({ preventScroll: true });
  }

  #key(event) {
    const isTyping = ["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName) || $("help").open;
    if (event.key === "Escape" && !$("help").open && event.target !== this.timeline.canvas) this.#escape();
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const { state } = this, flip = (key) => () => this.update({ [key]: !state[key] });
    const keys = { "/": () => $("search").focus(), "?": showHelp, n: () => this.step(1), N: () => this.step(-1), u: () => this.undo(), y: () => this.copyLink(),
                   r: flip("flip"), m: flip("heat"), k: flip("kernel"), g: flip("folds"), t: flip("byThread") };
    this.views.forEach((view, i) => { keys[i + 1] = () => this.update({ view, zoom: null }); });
    for (const key of this.capture.line ? "bfoxhFHl" : "bfoxhFH") keys[key] = () => this.act(key);
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  }

  #resize() {
    this.timeline.layout();
    for (const view of [this.lower, this.upper]) if (view.graph && !view.container.hidden) { view.resize(); view.draw(); }
    this.table.draw();
  }

  #listen() {
    document.addEventListener("keydown", (event) => this.#key(event));
    window.addEventListener("resize", () => this.#resize());
    window.addEventListener("hashchange", () => {
      if (location.hash.slice(1) !== this.hash) this.update(this.#read());
    });
    this.dark.addEventListener("change", () => { this.colours.setDark(this.dark.matches); this.render(); this.timeline.layout(); });
  }
}

if (typeof document !== "undefined") {
  const begin = performance.now();
  window.app = new App(JSON.parse($("data").textContent));
  window.app.loadTime = performance.now() - begin;
}
