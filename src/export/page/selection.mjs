// SPDX-License-Identifier: LGPL-2.1-or-later
// SPDX-FileCopyrightText: 2026 The live-unwinder authors

// selection.mjs - the line that says what is selected, with a chip for each choice that takes it back.

import { $, element, named } from "./dom.mjs";
import { duration, percent } from "./text.mjs";

function shareOf({ capture, tree, figures }) {
  let whole = 0;
  for (let i = 0; i < capture.n; i++) whole += tree.amounts[i];
  if (capture.isComparison) return "Boxes: mean of both recordings. Red: more than before, blue: less.";
  if (tree.total[0] === whole) return `All ${figures.amount(whole)}`;
  return `${figures.amount(tree.total[0]).replace(/ samples?$/, "")} of ${figures.amount(whole)}, ${percent(tree.total[0], whole)}`;
}

function nameOf(who, capture) {
  if (who.program !== undefined) return [named(who.program)];
  if (who.process !== undefined) return [named(capture.processes[who.process].name), ` ${capture.processes[who.process].pid}`];
  const thread = capture.threads[who.thread];
  return [named(thread.name), ` ${thread.tid}`];
}

// app: with capture, state, tree, figures and update ().
export function showSelection(app) {
  const { state, capture } = app, chips = [];
  const add = (content, title, patch) => chips.push(element("button", {
    class: "chip", type: "button", title, onclick: () => app.update({ ...patch, zoom: null }) }, ...content, " ×"));
  $("share").textContent = shareOf(app);
  if (state.from !== null) add([`${duration(state.from)} – ${duration(state.to)}`], "Show all times", { from: null, to: null });
  if (state.who) add(nameOf(state.who, capture), "Show all programs", { who: null });
  state.rules.forEach((rule, i) => add(
    [`${rule.op} `, named(rule.fn === undefined ? `module ${rule.module}` : capture.names[rule.fn], 60)], "Remove",
    { rules: state.rules.filter((_, k) => k !== i) }));
  if (state.view === "lines" && state.fn !== null) add(["lines of ", named(capture.names[state.fn], 60)], "Show lines of all functions", { fn: null });
  $("chips").replaceChildren(...chips);
}
