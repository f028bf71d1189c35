// SPDX-License-Identifier: LGPL-2.1-or-later
// SPDX-FileCopyrightText: 2026 The live-unwinder authors

// about.mjs - what the page says about a function or a box: the line at the bottom and the tip at the
// pointer.

import { isCode } from "./data.mjs";
import { $, element, named } from "./dom.mjs";
import { count, duration, percent, plural, visible } from "./text.mjs";
import { totalOf } from "./tree.mjs";

// Amounts of a tree as text.
export class Figures {
  constructor(tree, { value, event }) {
    this.tree = tree;
    this.head = tree.capture.head;
    this.isValue = value;
    this.unit = this.head.events.length > 0 ? this.head.events[Math.max(event, 0)][1] : "";
  }

  amount(amount) {
    if (!this.isValue) return plural(amount, "sample");
    return this.unit === "nanoseconds" ? duration(amount / 1e3) : `${count(amount)} ${visible(this.unit)}`;
  }

  of(total, self) {
    const { interval, events } = this.head;
    const time = interval > 0 && !this.isValue && events.length === 1 ? `, ${duration(total * interval / 1e3)}` : "";
    return `${percent(total, this.tree.total[0])} (${this.amount(total)}${time})${self > 0 ? `, self ${percent(self, this.tree.total[0])}` : ""}`;
  }

  // Returns the numbers of a box, or of a function, of both recordings if there are two.
  describe(total, self, old) {
    if (!this.tree.capture.isComparison) return this.of(total, self);
    const whole = this.tree.total[0], now = 2 * total - old, change = 100 * (now - old) / whole;
    return `${percent(old, whole)} → ${percent(now, whole)} (${change > 0 ? "+" : ""}${change.toFixed(2)} points)`;
  }

  describeBox(graph, id) { return this.describe(graph.total[id], graph.self[id], graph.old ? graph.old[id] : 0); }
}

// Shows a function in the line at the bottom. here: numbers of one of its boxes.
export function showFunction({ capture, tree, figures, colours }, fn, here) {
  const line = element("div", { title: visible((capture.fullNames[fn] || capture.names[fn]).slice(0, 4000)) });
  const box = element("span", { class: "key" }), place = capture.places[fn];
  box.style.background = colours.css(fn);
  line.append(box, " ", element("b", {}, named(capture.names[fn])));
  if (capture.modules[fn]) line.append(" ", named(capture.modules[fn], 100));
  if (place) line.append(" · ", named(place, 200));
  const of = totalOf(tree, fn), all = fn === capture.all ? figures.of(tree.total[0], 0) : figures.describe(of.total, of.self, of.old);
  const text = here && fn !== capture.all ? `here ${here}; everywhere ${all}` : all;
  for (const button of $("actions").children) button.disabled = !isCode(capture.kinds[fn]);
  $("about").replaceChildren(line, element("div", { class: "numbers", text }));
}

export function hideTip() { $("tip").style.visibility = "hidden"; }

// Shows the tip of a box at the pointer.
export function showTip({ capture, figures }, graph, id, event) {
  const tip = $("tip"), fn = graph.fn[id];
  tip.replaceChildren(element("div", {}, element("b", {}, named(capture.fullNames[fn] || capture.names[fn], 600))),
                      element("div", { class: "numbers" }, ...(capture.modules[fn] ? [named(capture.modules[fn], 100), " · "] : []), figures.describeBox(graph, id)));
  const at = graph.timeOf ? graph.timeOf(id) : NaN;
  if (at >= 0) tip.append(element("div", { class: "numbers", text: `from ${duration(at)}` }));
  const x = Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 6);
  const below = event.clientY + 20, isBelow = below + tip.offsetHeight < window.innerHeight - 4;
  tip.style.transform = `translate(${Math.max(x, 4)}px, ${isBelow ? below : Math.max(event.clientY - tip.offsetHeight - 12, 4)}px)`;
  tip.style.visibility = "visible";
}
