// SPDX-License-Identifier: LGPL-2.1-or-later
// SPDX-FileCopyrightText: 2026 The live-unwinder authors

// help.mjs - the list of keys.

import { $, element } from "./dom.mjs";

const KEYS = [
  ["1 – 7", "flame graph, time order, callers, sandwich, table, tree, lines (if the recording has them)"], ["/", "search; Enter or n: next match, N: previous one"],
  ["Arrow keys", "move between a function, its callers and its callees"], ["Enter, click", "zoom to a function"], ["Arrow keys, *", "in the tree: unfold and fold calls; all below a call"],
  ["Backspace", "zoom out to its caller"], ["Home", "show all"], ["+ − or w s", "zoom in and out; also Ctrl and the wheel"],
  ["a d", "move left and right; also by dragging"], ["b", "sandwich: who calls the function, and what it calls"],
  ["f, F", "focus: show only what is below the function, or its module"], ["o", "show only samples with the function"],
  ["x", "leave out samples with the function"], ["h, H", "hide the function, or its module: callers take its place"],
  ["c, Ctrl-click", "copy the name"], ["u", "undo the last choice"], ["y", "copy the address of this view"], ["r", "root at the top or the bottom"],
  ["k", "with or without the kernel"], ["g", "fold recursion"], ["t", "show threads"],
  ["m", "time as a heat map"], ["Escape", "clear the search, then the selection"],
];

export function showHelp() {
  const list = element("dl");
  for (const [key, text] of KEYS) list.append(element("dt", { text: key }), element("dd", { text }));
  $("help").replaceChildren(list, element("button", { type: "button", text: "Close", onclick: () => $("help").close() }));
  $("help").showModal();
}
