// SPDX-License-Identifier: LGPL-2.1-or-later
// SPDX-FileCopyrightText: 2026 The live-unwinder authors

// finder.mjs - the search: which functions match, what share of the samples has one, and steps
// through them.

import { $ } from "./dom.mjs";
import { matcher, percent } from "./text.mjs";
import { coverage } from "./tree.mjs";

export class Finder {
  // events: search (text), step (direction).
  constructor(capture, events) {
    this.capture = capture;
    this.matches = null; // by function, or null
    this.words = null;
    this.error = "";
    $("search").addEventListener("input", (event) => events.search(event.target.value));
    $("search").addEventListener("keydown", (event) => { if (event.key === "Enter") events.step(event.shiftKey ? -1 : 1); });
    $("next").addEventListener("click", () => events.step(1));
    $("previous").addEventListener("click", () => events.step(-1));
  }

  // Finds the functions that match by name or module.
  find(words) {
    if ($("search").value !== words) $("search").value = words;
    if (words === this.words) return;
    this.words = words;
    this.error = "";
    this.matches = null;
    if (!words) return;
    try {
      const test = matcher(words), { names, modules, fullNames } = this.capture, isModule = new Map();
      const testModule = (module) => { if (!isModule.has(module)) isModule.set(module, test(module)); return isModule.get(module); };
      this.matches = Uint8Array.from(names, (name, fn) => (test(name) || testModule(modules[fn]) || (fullNames[fn] && test(fullNames[fn])) ? 1 : 0));
    } catch (error) {
      this.error = error.message;
    }
  }

  // Says what was found. step: { at, of } of the box that a step reached.
  draw(tree, step) {
    $("previous").disabled = $("next").disabled = !this.matches;
    if (!this.matches) { $("found").textContent = this.error; return; }
    const share = percent(coverage(tree, this.matches), tree.total[0]);
    $("found").textContent = step ? `${step.at} of ${step.of} · ${share}` : `matched: ${share}`;
  }
}
