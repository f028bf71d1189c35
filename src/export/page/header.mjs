// SPDX-License-Identifier: LGPL-2.1-or-later
// SPDX-FileCopyrightText: 2026 The live-unwinder authors

// header.mjs - what was recorded, and how its stacks ended.

import { $, element, named } from "./dom.mjs";
import { count, duration, percent, visible } from "./text.mjs";

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

// Returns what was recorded, without the words of live-unwinder itself.
function commandOf({ command, processes }) {
  const dashes = command ? command.indexOf(" -- ") : -1;
  if (dashes >= 0) return command.slice(dashes + 4);
  return command || (processes.length > 0 ? processes[0][1] : "recording");
}

// Returns the same without the directory of the program.
export const titleOfRecording = (data) => commandOf(data).replace(/^\S*\//, "");

export class Header {
  constructor(capture) {
    this.capture = capture;
    this.#makeTitle();
    this.#makeFigures();
  }

  #makeTitle() {
    const { capture } = this, { head } = capture;
    const title = titleOfRecording(head);
    $("command").textContent = visible(title.slice(0, 500));
    $("command").title = visible((head.command || title).slice(0, 4000));
    document.title = `${visible(title.slice(0, 80))} – live-unwinder`;
    const facts = [head.host, head.time && head.time.replace("T", " ").replace(/\.\d+|Z$/g, ""),
                   head.events.map(([name]) => name).join(", "),
                   capture.isComparison && `compared with ${commandOf(capture.before)}, ${count(capture.before.n_samples)} samples`];
    $("facts").append(...facts.filter(Boolean).flatMap((fact, i) => (i > 0 ? [" · ", named(fact)] : [named(fact)])));
    $("facts").title = $("facts").textContent;
  }

  #makeFigures() {
    const { head } = this.capture;
    const complete = head.n_user > 0 ? percent(head.n_complete, head.n_user) : "–";
    const figures = [["samples", count(head.n_samples)], ["recorded", duration(head.duration)],
                     ["CPU time", head.interval > 0 ? duration(head.n_samples * head.interval / 1e3) : "–"],
                     ["complete", complete], ["lost", head.lost === undefined ? "–" : count(head.lost)]];
    for (const [name, value] of figures) $("figures").append(element("div", {}, element("dt", { text: name }), element("dd", { text: value })));
  }

  #countStates(samples) {
    const { capture } = this, { keys, of } = capture.states(), sums = new Float64Array(keys.length);
    let whole = 0;
    for (const i of samples) {
      if (i >= capture.firstBefore) continue;
      sums[of[capture.node[i]]] += capture.weight[i];
      whole += capture.weight[i];
    }
    const found = keys.map((key, i) => ({ key, n: sums[i] })).filter(({ n }) => n > 0);
    return { found: found.sort((a, b) => b.n - a.n), whole };
  }

  // Draws how the stacks of some samples ended.
  draw(samples) {
    if (samples === this.samples) return;
    this.samples = samples;
    const { found, whole } = this.#countStates(samples), { states } = this.capture.head;
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
}
