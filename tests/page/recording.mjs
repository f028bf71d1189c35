// SPDX-License-Identifier: LGPL-2.1-or-later
// SPDX-FileCopyrightText: 2026 The live-unwinder authors

// recording.mjs - recordings as the page gets them, made of stacks.

import { pathToFileURL } from "node:url";

// Returns a module of the page; its directory is the first argument of each test.
export const load = (name) => import(pathToFileURL(`${process.argv[2]}/${name}.mjs`).href);

function column(numbers) {
  const bytes = [];
  for (let number of numbers) {
    for (; number >= 128; number = Math.floor(number / 128)) bytes.push(number % 128 + 128);
    bytes.push(number);
  }
  return Buffer.from(bytes).toString("base64");
}

export const STATES = { "complete": ["complete", 0], "truncated-copy": ["truncated stack copy", 0],
                        "no-user-context": ["no user context", 1], "kernel-only": ["kernel only", 1] };

// samples: [time, thread, "root;…;leaf", count]; no time: it was not kept. Functions that begin with
// "k_" are the kernel's, "py_" an interpreter's, those in parentheses are states; "name@module" has a module.
export function record(samples, { threads = [[0, 1, 0]], processes = [[1, "program", "program -x"]], ...more } = {}) {
  const functions = new Map(), nodes = new Map(), table = [];
  const fnOf = (name) => { if (!functions.has(name)) functions.set(name, functions.size); return functions.get(name); };
  const nodeOf = (stack) => {
    let node = 0;
    for (const name of stack === "" ? [] : stack.split(";")) {
      const key = `${node};${name}`;
      if (!nodes.has(key)) {
        nodes.set(key, nodes.size + 1);
        table.push(node === 0 ? 0 : nodes.size - node, fnOf(name));
      }
      node = nodes.get(key);
    }
    return node;
  };
  const timed = samples.filter(([time]) => time !== null), rest = samples.filter(([time]) => time === null);
  let last = 0;
  const rows = timed.flatMap(([time, thread, stack]) => { const row = [time - last, thread, nodeOf(stack)]; last = time; return row; });
  const restRows = rest.flatMap(([, thread, stack, count]) => [thread, nodeOf(stack), 0, count]);
  const names = [...functions.keys()], moduleOf = names.map((name) => name.split("@")[1] || "");
  const modules = [...new Set(moduleOf)];
  return {
    n_samples: timed.length, n_user: timed.length, n_complete: timed.length, duration: last, interval: 1000000, lost: 0,
    by_thread: 0, folds: 0, time: "2026-11-25T12:00:00Z", command: "program -x", host: "host",
    events: [["cpu-clock", "nanoseconds", 1000000]], states: STATES, processes, threads,
    names: names.map((name) => name.split("@")[0]), full_names: names.map(() => 0),
    kinds: names.map((name) => (name.startsWith("k_") ? 1 : name.startsWith("(") ? 4 : name.startsWith("py_") ? 5 : 0)).join(""),
    modules, module_of: column(moduleOf.map((module) => modules.indexOf(module))),
    nodes: column(table), samples: column(rows), events_of: "", weights: "", rest: column(restRows), ...more,
  };
}

export { column };

// Returns a tree as "name total self" lines, indented by depth.
export function draw(graph, id = 0, indent = "") {
  const name = graph.capture.names[graph.fn[id]], below = [];
  graph.children(id, {}, (child) => below.push(draw(graph, child, indent + " ")));
  return `${indent}${name} ${graph.total[id]}\n${below.join("")}`;
}
