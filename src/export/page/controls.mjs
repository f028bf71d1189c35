// SPDX-License-Identifier: LGPL-2.1-or-later
// SPDX-FileCopyrightText: 2026 The live-unwinder authors

// controls.mjs - the buttons for views and options, the list of events, and what can be done with a
// function.

import { $, element } from "./dom.mjs";
import { showHelp } from "./help.mjs";
import { visible } from "./text.mjs";

const TITLES = { flame: "Flame graph", time: "Time order", callers: "Callers", sandwich: "Sandwich", table: "Table", tree: "Tree", lines: "Lines" };
const TOGGLES = [["flip", "Root below", "Draw the root at the bottom (r)"], ["kernel", "Kernel", "Show functions of the kernel (k)"],
                 ["folds", "Fold recursion", "Show a function and its calls of itself as one (g)"],
                 ["byThread", "Threads", "Show threads below their program (t)"], ["heat", "Heat map", "Show time as a heat map (m)"]];
const ACTIONS = [["Sandwich", "b", "Who calls it, and what it calls"], ["Focus", "f", "Show only what is below it"],
                 ["Only", "o", "Show only samples with it"], ["Drop", "x", "Leave out samples with it"],
                 ["Hide", "h", "Its callers take its place"], ["Hide module", "H", "The callers of the module take its place"],
                 ["Copy", "c", "Copy its name"]];

export const titleOf = (view) => TITLES[view];

export class Controls {
  // app: with capture, views, state, update () and act ().
  constructor(app) {
    this.app = app;
    this.#makeViews();
    for (const [key, text, title] of TOGGLES)
      $("options").append(element("button", { type: "button", text, title, "data-key": key, onclick: () => app.update({ [key]: !app.state[key] }) }));
    this.#makeEvents();
    $("options").append(element("button", { type: "button", text: "Copy link", title: "Copy the address of this view, to send it (y)", onclick: () => app.copyLink() }));
    $("options").append(element("button", { type: "button", text: "Keys", title: "What the keys do (?)", onclick: showHelp }));
    for (const [text, key, title] of app.capture.line ? [...ACTIONS, ["Lines", "l", "Its source lines"]] : ACTIONS)
      $("actions").append(element("button", { type: "button", text, title: `${title} (${key})`, onclick: () => app.act(key) }));
  }

  #makeViews() {
    this.app.views.forEach((view, i) => $("views").append(element("button", {
      type: "button", role: "tab", text: TITLES[view], title: `${TITLES[view]} (${i + 1})`, "data-view": view,
      onclick: () => this.app.update({ view, zoom: null }) })));
    $("views").addEventListener("keydown", (event) => {
      const { views } = this.app, step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step) return;
      const to = (views.indexOf(this.app.state.view) + step + views.length) % views.length;
      this.app.update({ view: views[to], zoom: null });
      $("views").children[to].focus();
    });
  }

  // The list of things to count: samples of all events, or of one; or what they stand for.
  #makeEvents() {
    const { capture } = this.app, { events, weights } = capture.head, list = element("select", { "aria-label": "What is counted" });
    if (events.length === 1 && !weights) return;
    const add = (text, event, value) => list.append(element("option", { text, value: `${event} ${value}` }));
    if (events.length > 1) add("samples of all events", -1, 0);
    events.forEach(([name, unit], i) => {
      add(`samples of ${visible(name)}`, i, 0);
      if (capture.value) add(`${visible(unit)} of ${visible(name)}`, i, 1);
    });
    list.addEventListener("change", () => {
      const [event, value] = list.value.split(" ").map(Number);
      this.app.update({ event, value: value === 1, zoom: null });
    });
    $("options").append(list);
    this.events = list;
  }

  draw() {
    const { state } = this.app;
    for (const button of $("views").children) {
      button.setAttribute("aria-selected", button.dataset.view === state.view);
      button.tabIndex = button.dataset.view === state.view ? 0 : -1;
    }
    for (const button of $("options").querySelectorAll("[data-key]")) button.setAttribute("aria-pressed", state[button.dataset.key]);
    if (this.events) this.events.value = `${state.event} ${state.value ? 1 : 0}`;
  }
}
