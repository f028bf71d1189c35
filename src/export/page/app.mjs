// SPDX-License-Identifier: LGPL-2.1-or-later
// SPDX-FileCopyrightText: 2026 The live-unwinder authors

// app.mjs - the page: what is selected, which views show it, and the keys.

import { Capture, STATE } from "./data.mjs";
import { buildTree, calleesOf, coverage, functionTotals, selectSamples } from "./tree.mjs";
import { Callers, TimeOrder } from "./lazy.mjs";
import { fromHash, START, toHash, VIEWS } from "./state.mjs";
import { Colours } from "./colours.mjs";
import { GraphView } from "./graph.mjs";
import { Timeline } from "./timeline.mjs";
import { TableView } from "./table.mjs";
import { count, duration, isolated, matcher, percent, plural, visible } from "./text.mjs";

const TITLES = { flame: "Flame graph", time: "Time order", callers: "Callers", sandwich: "Sandwich", table: "Table" };
const MEANINGS = {
  "complete": "the stack was followed to the start of its thread",
  "truncated-copy": "the kernel copied only a part of the stack",
  "depth-limit": "the stack has more frames than --max-depth allows",
  "other-stack": "the code runs on a signal stack or a coroutine's",
  "no-unwind-info": "the code has no unwind information",
  "jit": "the code was made while the program ran, and keeps no frame pointer",
  "unsupported-rule": "the unwind information says what live-unwinder cannot follow",
  "bad-return-address": "a return address is none; the stack may be damaged",
  "no-mapping": "an address is in no file that the process had mapped",
  "file-gone": "the file with the code was gone or changed",
  "unreadable-memory": "a part of the stack could not be read",
  "unsupported-abi": "the process is of a kind that is not supported",
  "no-user-context": "there are no user registers: a thread of the kernel, or one that was exiting",
  "no-user-stack": "the sample came without a part of the stack",
  "kernel-only": "only the kernel's part was recorded",
  "stale-mapping": "the mappings changed while the stack was followed",
  "over-budget": "the stack took too long to follow",
  "lost": "the sample was lost",
};
const STATE_COLOURS = { "complete": "var(--good)", "kernel-only": "var(--busy-kernel)", "no-user-context": "var(--busy-kernel)" };
const KEYS = [
  ["1 – 5", "flame graph, time order, callers, sandwich, table"], ["/", "search; Enter or n: next match, N: previous one"],
  ["Arrow keys", "move between a function, its callers and its callees"], ["Enter, click", "zoom to a function"],
  ["Backspace", "zoom out to its caller"], ["Home", "show all"], ["+ − or w s", "zoom in and out; also Ctrl and the wheel"],
  ["a d", "move left and right; also by dragging"], ["b", "sandwich: who calls the function, and what it calls"],
  ["f, F", "focus: show only what is below the function, or its module"], ["o", "show only samples with the function"],
  ["x", "leave out samples with the function"], ["h, H", "hide the function, or its module: callers take its place"],
  ["c, Ctrl-click", "copy the name"], ["u", "undo the last choice"], ["r", "root at the top or the bottom"],
  ["k", "with or without the kernel"], ["g", "fold recursion"], ["t", "show threads"], ["Escape", "clear the search, then the selection"],
];

// Selections of which the page keeps what it made, so that one can go back at once.
const REMEMBERED = 4;

const $ = (id) => document.getElementById(id);

function element(tag, { text, ...attributes } = {}, ...children) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

// Returns what was recorded, without the words of live-unwinder itself.
function commandOf({ command, processes }) {
  const dashes = command ? command.indexOf(" -- ") : -1;
  if (dashes >= 0) return command.slice(dashes + 4);
  return command || (processes.length > 0 ? processes[0][1] : "recording");
}

const named = (text, limit = 400) => element("bdi", { text: visible(text.length > limit ? text.slice(0, limit) + "…" : text) });

export class App {
  constructor(data) {
    this.capture = new Capture(data);
    this.start = { ...START, byThread: data.by_thread === 1, folds: data.folds === 1,
                   sort: this.capture.isComparison ? "change" : "self" };
    this.dark = window.matchMedia("(prefers-color-scheme: dark)");
    this.state = fromHash(location.hash, this.capture, this.start);
    this.past = [];
    this.made = {};
    this.chosen = { fn: null, view: null, id: 0 };
    this.#makeColours();
    this.#makeHeader();
    this.#makeViews();
    this.#makeControls();
    this.#listen();
    this.render();
  }

  #makeColours() {
    const weights = new Float64Array(this.capture.nFunctions), { capture } = this;
    for (let i = 0; i < capture.n; i++) if (capture.node[i] > 0) weights[capture.fn[capture.node[i]]] += capture.weight[i];
    this.colours = new Colours(capture, weights);
    this.colours.setDark(this.dark.matches);
  }

  // Header

  #makeHeader() {
    const { capture } = this, { head } = capture;
    const title = commandOf(head);
    $("command").textContent = visible(title.slice(0, 500));
    $("command").title = visible(title.slice(0, 4000));
    document.title = `${visible(title.slice(0, 80))} – live-unwinder`;
    const facts = [head.host, head.time && head.time.replace("T", " ").replace(/\.\d+|Z$/g, ""),
                   head.events.map(([name]) => name).join(", "),
                   capture.isComparison && `compared with ${commandOf(capture.before)}, ${count(capture.before.n_samples)} samples`];
    $("facts").append(...facts.filter(Boolean).flatMap((fact, i) => (i > 0 ? [" · ", named(fact)] : [named(fact)])));
    $("facts").title = $("facts").textContent;
    const complete = head.n_user > 0 ? percent(head.n_complete, head.n_user) : "–";
    const figures = [["samples", count(head.n_samples)], ["recorded", duration(head.duration)],
                     ["CPU time", head.interval > 0 ? duration(head.n_samples * head.interval / 1e3) : "–"],
                     ["complete", complete], ["lost", head.lost === undefined ? "–" : count(head.lost)]];
    for (const [name, value] of figures) $("figures").append(element("div", {}, element("dt", { text: name }), element("dd", { text: value })));
  }

  #countStates() {
    const { capture, samples } = this, { keys, of } = capture.states(), sums = new Float64Array(keys.length);
    let whole = 0;
    for (const i of samples) {
      if (i >= capture.firstBefore) continue;
      sums[of[capture.node[i]]] += capture.weight[i];
      whole += capture.weight[i];
    }
    const found = keys.map((key, i) => ({ key, n: sums[i] })).filter(({ n }) => n > 0);
    return { found: found.sort((a, b) => b.n - a.n), whole };
  }

  #drawStates() {
    const { found, whole } = this.#countStates(), { states } = this.capture.head;
    const colour = (key, i) => STATE_COLOURS[key] || `hsl(${(8 + 24 * i) % 360} 62% 55%)`;
    $("bar").replaceChildren(...found.map(({ key, n }, i) => {
      const part = element("i", { title: `${states[key][0]}: ${percent(n, whole)}` });
      part.style.background = colour(key, i);
      part.style.flexGrow = n;
      return part;
    }));
    $("bar").parentElement.setAttribute("aria-label", "How the stacks ended: " + found.map(({ key, n }) => `${states[key][0]} ${percent(n, whole)}`).join(", "));
    $("legend").replaceChildren(...found.flatMap(({ key, n }, i) => {
      const box = element("span", { class: "key" });
      box.style.background = colour(key, i);
      const excluded = states[key][1] ? "; not counted in “complete”" : "";
      return [box, element("span", { text: states[key][0] }), element("span", { class: "number", text: `${percent(n, whole)}` }),
              element("small", { text: (MEANINGS[key] || "") + excluded })];
    }));
  }

  // Controls

  #makeViews() {
    const events = (view) => ({
      select: (id) => this.#choose(view(), id),
      hover: (id, event) => this.#tip(view(), id, event),
      leave: () => { $("tip").style.visibility = "hidden"; },
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

  #toggle(key, text, title) {
    const button = element("button", { type: "button", text, title, "data-key": key, onclick: () => this.update({ [key]: !this.state[key] }) });
    $("options").append(button);
  }

  #makeControls() {
    VIEWS.forEach((view, i) => $("views").append(element("button", {
      type: "button", role: "tab", text: TITLES[view], title: `${TITLES[view]} (${i + 1})`, "data-view": view,
      onclick: () => this.update({ view, zoom: null }) })));
    this.#toggle("flip", "Root below", "Draw the root at the bottom (r)");
    this.#toggle("kernel", "Kernel", "Show functions of the kernel (k)");
    this.#toggle("folds", "Fold recursion", "Show a function and its calls of itself as one (g)");
    this.#toggle("byThread", "Threads", "Show threads below their program (t)");
    this.#toggle("heat", "Heat map", "Show time as a heat map");
    this.#makeEvents();
    $("options").append(element("button", { type: "button", text: "Keys", title: "What the keys do (?)", onclick: () => this.#help() }));
    const actions = [["Sandwich", "b", "Who calls it, and what it calls"], ["Focus", "f", "Show only what is below it"],
                     ["Only", "o", "Show only samples with it"], ["Drop", "x", "Leave out samples with it"],
                     ["Hide", "h", "Its callers take its place"], ["Hide module", "H", "The callers of the module take its place"],
                     ["Copy", "c", "Copy its name"]];
    for (const [text, key, title] of actions)
      $("actions").append(element("button", { type: "button", text, title: `${title} (${key})`, onclick: () => this.act(key) }));
  }

  // The list of things to count: samples of all events, or of one; or what they stand for.
  #makeEvents() {
    const { events } = this.capture.head, list = element("select", { "aria-label": "What is counted" });
    if (events.length === 1 && !this.capture.head.weights) return;
    const add = (text, event, value) => list.append(element("option", { text, value: `${event} ${value}` }));
    if (events.length > 1) add("samples of all events", -1, 0);
    events.forEach(([name, unit], i) => {
      add(`samples of ${visible(name)}`, i, 0);
      if (this.capture.value) add(`${visible(unit)} of ${visible(name)}`, i, 1);
    });
    list.addEventListener("change", () => {
      const [event, value] = list.value.split(" ").map(Number);
      this.update({ event, value: value === 1, zoom: null });
    });
    $("options").append(list);
    this.eventList = list;
  }

  #help() {
    const list = element("dl");
    for (const [key, text] of KEYS) list.append(element("dt", { text: key }), element("dd", { text }));
    $("help").replaceChildren(list, element("button", { type: "button", text: "Close", onclick: () => $("help").close() }));
    $("help").showModal();
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
    const selection = JSON.stringify([from, to, who, event]);
    this.samples = this.#remember("samples", selection, () => selectSamples(capture, state));
    this.treeKey = JSON.stringify([selection, kernel, folds, byThread, rules, value]);
    this.tree = this.#remember("tree", this.treeKey, () =>
      buildTree(capture, this.samples, { kernel, folds, byThread, rules, value, groups: this.#hasGroups() }));
    this.totals = this.#remember("totals", this.treeKey, () => functionTotals(this.tree));
  }

  // Programs of recordings that share none would only split the graph.
  #hasGroups() {
    if (!this.capture.isComparison) return true;
    const names = (head) => new Set(head.processes.map(([, name]) => name));
    const old = names(this.capture.before);
    return [...names(this.capture.head)].some((name) => old.has(name));
  }

  render() {
    this.#compute();
    this.#drawControls();
    this.#drawStates();
    $("timeline").querySelector(".rows").classList.toggle("heat", this.state.heat);
    this.timeline.set({ ...this.state, colours: this.colours });
    this.#match();
    this.#drawViews();
    this.#drawSelection();
    this.#drawFound();
    this.#about(this.chosen.fn ?? this.state.fn);
  }

  #drawControls() {
    for (const button of $("views").children) {
      button.setAttribute("aria-selected", button.dataset.view === this.state.view);
      button.tabIndex = button.dataset.view === this.state.view ? 0 : -1;
    }
    for (const button of $("options").querySelectorAll("[data-key]")) button.setAttribute("aria-pressed", this.state[button.dataset.key]);
    if (this.eventList) this.eventList.value = `${this.state.event} ${this.state.value ? 1 : 0}`;
    if ($("search").value !== this.state.search) $("search").value = this.state.search;
  }

  #graphOf(view) {
    const { tree, treeKey, state } = this;
    if (view === "time") return this.#remember("time", treeKey, () => new TimeOrder(tree));
    if (view === "callers") return this.#remember("callers", treeKey, () => new Callers(tree, -1));
    if (view === "callersOf") return this.#remember("callersOf", treeKey + state.fn, () => new Callers(tree, state.fn));
    if (view === "calleesOf") return this.#remember("calleesOf", treeKey + state.fn, () => calleesOf(tree, state.fn));
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
    for (let fn = 1; fn < self.length; fn++) if (self[fn] > self[best] && this.capture.kinds[fn] < STATE) best = fn;
    return best;
  }

  #drawViews() {
    const { state } = this, { view } = state, isSandwich = view === "sandwich", isGraph = view !== "table";
    if (isSandwich && state.fn === null) state.fn = this.#busiest();
    document.querySelector("main").classList.toggle("beside", isSandwich);
    $("table").hidden = isGraph && !isSandwich;
    $("graphs").hidden = !isGraph;
    $("upper").hidden = $("middle").hidden = !isSandwich;
    const shown = { colours: this.colours, colourOf: this.#colourOf() };
    if (isSandwich) this.#drawSandwich(shown);
    else if (isGraph) this.#drawGraph(view, shown);
    if (view === "table" || isSandwich)
      this.table.show({ tree: this.tree, totals: this.totals, sort: state.sort, passes: this.matches, colours: this.colours,
                        chosen: isSandwich ? state.fn : this.chosen.fn });
  }

  // Shows a graph, unless it is shown already: zoom and place stay then.
  #show(view, graph, options) {
    view.matches = this.matches;
    view.colours = this.colours;
    if (view.graph === graph && view.flip === options.flip) view.draw();
    else view.show(graph, options);
  }

  #drawGraph(view, shown) {
    const graph = this.#graphOf(view), whole = graph.total[0];
    const zoom = this.state.zoom && [this.state.zoom[0] * whole, (this.state.zoom[1] - this.state.zoom[0]) * whole];
    this.#show(this.lower, graph, { ...shown, flip: this.state.flip, zoom });
    $("lower").setAttribute("aria-label", `${TITLES[view]}. Arrow keys move, Enter zooms, Backspace zooms out, question mark lists all keys.`);
  }

  #drawSandwich(shown) {
    const { capture, state } = this, total = this.totals.total[state.fn];
    $("middle").replaceChildren(element("b", {}, named(capture.names[state.fn])), ` · ${this.#numbers(total, this.totals.self[state.fn])} · callers above, callees below`);
    this.#show(this.upper, this.#graphOf("callersOf"), { ...shown, flip: true });
    this.#show(this.lower, this.#graphOf("calleesOf"), { ...shown, flip: false });
    $("lower").setAttribute("aria-label", "Callees");
  }

  // Selection

  #chip(text, title, patch) {
    return element("button", { class: "chip", type: "button", title, onclick: () => this.update({ ...patch, zoom: null }) },
                   typeof text === "string" ? text : "", ...(typeof text === "string" ? [] : text), " ×");
  }

  #whoText() {
    const { who } = this.state, { capture } = this;
    if (who.program !== undefined) return [named(who.program)];
    if (who.process !== undefined) return [named(capture.processes[who.process].name), ` ${capture.processes[who.process].pid}`];
    const thread = capture.threads[who.thread];
    return [named(thread.name), ` ${thread.tid}`];
  }

  #drawSelection() {
    const { state, capture, tree } = this, chips = [];
    let whole = 0;
    for (let i = 0; i < capture.n; i++) whole += tree.amounts[i];
    const shown = capture.isComparison ? whole / 2 : tree.total[0];
    $("share").textContent = capture.isComparison ? "Boxes: mean of both recordings. Red: more than before, blue: less."
      : shown === whole ? `All ${this.#amount(whole)}` : `${this.#amount(shown).replace(/ samples?$/, "")} of ${this.#amount(whole)}, ${percent(shown, whole)}`;
    if (state.from !== null) chips.push(this.#chip(`${duration(state.from)} – ${duration(state.to)}`, "Show all times", { from: null, to: null }));
    if (state.who) chips.push(this.#chip(this.#whoText(), "Show all programs", { who: null }));
    state.rules.forEach((rule, i) => chips.push(this.#chip(
      [`${rule.op} `, named(rule.fn === undefined ? `module ${rule.module}` : capture.names[rule.fn], 60)], "Remove",
      { rules: state.rules.filter((_, k) => k !== i) })));
    $("chips").replaceChildren(...chips);
  }

  #amount(amount) {
    if (!this.state.value) return plural(amount, "sample");
    const [, unit] = this.capture.head.events[Math.max(this.state.event, 0)];
    return unit === "nanoseconds" ? duration(amount / 1e3) : `${count(amount)} ${visible(unit)}`;
  }

  #numbers(total, self) {
    const whole = this.tree.total[0], { interval } = this.capture.head;
    const time = interval > 0 && !this.state.value && this.capture.head.events.length === 1 ? `, ${duration(total * interval / 1e3)}` : "";
    return `${percent(total, whole)} (${this.#amount(total)}${time})${self > 0 ? `, self ${percent(self, whole)}` : ""}`;
  }

  // Returns the numbers of a box, or of a function, of both recordings if there are two.
  #describe(total, self, old) {
    if (!this.capture.isComparison) return this.#numbers(total, self);
    const whole = this.tree.total[0], now = 2 * total - old, change = 100 * (now - old) / whole;
    return `${percent(old, whole)} → ${percent(now, whole)} (${change > 0 ? "+" : ""}${change.toFixed(2)} points)`;
  }

  #choose(view, id) {
    const { graph } = view;
    this.chosen = { fn: graph.fn[id], view, id };
    this.#about(graph.fn[id], this.#describe(graph.total[id], graph.self[id], graph.old ? graph.old[id] : 0));
  }

  #about(fn, numbers) {
    const { capture, totals } = this, isFunction = fn !== null && fn !== undefined && capture.kinds[fn] < STATE;
    if (fn === null || fn === undefined) fn = capture.all;
    this.chosen = { ...this.chosen, fn };
    for (const button of $("actions").children) button.disabled = !isFunction;
    const box = element("span", { class: "key" }), place = capture.places[fn];
    box.style.background = this.colours.of[fn];
    const line = element("div", { title: visible((capture.fullNames[fn] || capture.names[fn]).slice(0, 4000)) }, box, " ",
                         element("b", {}, named(capture.names[fn])));
    if (capture.modules[fn]) line.append(" ", named(capture.modules[fn], 100));
    if (place) line.append(" · ", named(place, 200));
    const of = fn === capture.all ? this.#numbers(this.tree.total[0], 0) : this.#describe(totals.total[fn], totals.self[fn], totals.old[fn]);
    const text = numbers && fn !== capture.all ? `here ${numbers}; everywhere ${of}` : of;
    $("about").replaceChildren(line, element("div", { class: "numbers", text }));
  }

  #tip(view, id, event) {
    const tip = $("tip"), { graph } = view, { capture } = this;
    if (id < 0) { tip.style.visibility = "hidden"; return; }
    const fn = graph.fn[id], numbers = this.#describe(graph.total[id], graph.self[id], graph.old ? graph.old[id] : 0);
    tip.replaceChildren(element("div", {}, element("b", {}, named(capture.fullNames[fn] || capture.names[fn], 600))),
                        element("div", { class: "numbers" }, ...(capture.modules[fn] ? [named(capture.modules[fn], 100), " · "] : []), numbers));
    const at = graph.timeOf ? graph.timeOf(id) : NaN;
    if (at >= 0) tip.append(element("div", { class: "numbers", text: `from ${duration(at)}` }));
    const x = Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 6);
    const below = event.clientY + 20, isBelow = below + tip.offsetHeight < window.innerHeight - 4;
    tip.style.transform = `translate(${Math.max(x, 4)}px, ${isBelow ? below : Math.max(event.clientY - tip.offsetHeight - 12, 4)}px)`;
    tip.style.visibility = "visible";
  }

  // Search

  #match() {
    const { capture, state } = this, key = state.search;
    this.searchError = "";
    this.matches = this.#remember("matches", key, () => {
      if (!key) return null;
      try {
        const test = matcher(key);
        return Uint8Array.from(capture.names, (name, fn) =>
          (test(name) || test(capture.modules[fn]) || test(capture.fullNames[fn]) ? 1 : 0));
      } catch (error) {
        this.searchError = error.message;
        return null;
      }
    });
  }

  #drawFound(step) {
    $("previous").disabled = $("next").disabled = !this.matches;
    if (!this.matches) { $("found").textContent = this.searchError; return; }
    const share = percent(coverage(this.tree, this.matches), this.tree.total[0]);
    $("found").textContent = step ? `${step.at} of ${step.of} · ${share}` : `matched: ${share}`;
  }

  step(direction) {
    if (!this.matches) return;
    if (this.state.view === "table") { this.table.choose(this.table.chosen + direction); return; }
    this.#drawFound(this.lower.step(direction));
  }

  search(text) {
    this.state = { ...this.state, search: text };
    this.#writeHash();
    this.#match();
    if (this.state.view === "table" || this.state.view === "sandwich")
      this.table.show({ tree: this.tree, totals: this.totals, sort: this.state.sort, passes: this.matches, colours: this.colours, chosen: this.chosen.fn });
    for (const view of [this.lower, this.upper]) { view.matches = this.matches; if (!view.container.hidden) view.draw(); }
    this.#drawFound();
  }

  // Actions

  act(key) {
    const { fn } = this.chosen, { capture } = this, { rules } = this.state;
    if (fn === null || capture.kinds[fn] >= STATE) return;
    const add = (rule) => this.update({ rules: [...rules, rule], zoom: null });
    const actions = {
      b: () => this.update({ view: "sandwich", fn, zoom: null }), c: () => this.copy(fn),
      f: () => add({ op: "focus", fn }), o: () => add({ op: "only", fn }), x: () => add({ op: "drop", fn }), h: () => add({ op: "hide", fn }),
      F: () => add({ op: "focus", module: capture.modules[fn] }), H: () => add({ op: "hide", module: capture.modules[fn] }),
    };
    if (actions[key]) actions[key]();
  }

  async copy(fn) {
    const text = this.capture.fullNames[fn] || this.capture.names[fn];
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
    this.copied = text;
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
    const keys = { "/": () => $("search").focus(), "?": () => this.#help(), n: () => this.step(1), N: () => this.step(-1), u: () => this.undo(),
                   r: flip("flip"), k: flip("kernel"), g: flip("folds"), t: flip("byThread") };
    VIEWS.forEach((view, i) => { keys[i + 1] = () => this.update({ view, zoom: null }); });
    for (const key of "bfoxhFH") keys[key] = () => this.act(key);
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
    $("search").addEventListener("input", (event) => this.search(event.target.value));
    $("search").addEventListener("keydown", (event) => { if (event.key === "Enter") this.step(event.shiftKey ? -1 : 1); });
    $("next").addEventListener("click", () => this.step(1));
    $("previous").addEventListener("click", () => this.step(-1));
    $("views").addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key], at = VIEWS.indexOf(this.state.view);
      if (!step) return;
      this.update({ view: VIEWS[(at + step + VIEWS.length) % VIEWS.length], zoom: null });
      $("views").children[VIEWS.indexOf(this.state.view)].focus();
    });
    window.addEventListener("resize", () => this.#resize());
    window.addEventListener("hashchange", () => {
      if (location.hash.slice(1) !== this.hash) this.update(fromHash(location.hash, this.capture, this.start));
    });
    this.dark.addEventListener("change", () => { this.colours.setDark(this.dark.matches); this.render(); this.timeline.layout(); });
  }
}

if (typeof document !== "undefined") {
  const begin = performance.now();
  window.app = new App(JSON.parse($("data").textContent));
  window.app.loadTime = performance.now() - begin;
}
