// SPDX-License-Identifier: LGPL-2.1-or-later
// SPDX-FileCopyrightText: 2026 The live-unwinder authors

// state.mjs - what the page shows, as the part of its address after "#", so that a view can be sent
// to somebody.

// "lines" only exists if the recording has lines.
export const VIEWS = ["flame", "time", "callers", "sandwich", "table", "tree", "lines"];
export const TABLES = ["table", "tree", "lines"];

export const START = Object.freeze({
  view: "flame", flip: false, from: null, to: null, who: null, event: -1, value: false, kernel: true,
  folds: false, byThread: false, rules: [], search: "", fn: null, zoom: null, heat: false, sort: "self",
});

const OPS = ["focus", "only", "drop", "hide"];
const FLAGS = { flip: false, kernel: true, folds: false, byThread: false, value: false, heat: false };

// An address has no room for megabytes.
const forAddress = (name) => (name.length > 500 ? `${name.slice(0, 500)}…${name.length}` : name);

// Functions are written by name and module, because their numbers differ between recordings.
const writeFunction = (fn, capture) => `${forAddress(capture.modules[fn])}:${forAddress(capture.names[fn])}`;

function writeRule({ op, fn, module }, capture) {
  return fn === undefined ? `${op}:m:${forAddress(module)}` : `${op}:f:${writeFunction(fn, capture)}`;
}

function findFunction(text, capture) {
  const colon = text.indexOf(":"), module = text.slice(0, colon), name = text.slice(colon + 1);
  const fn = capture.names.findIndex((each, i) => forAddress(each) === name && forAddress(capture.modules[i]) === module);
  return fn < 0 ? null : fn;
}

function readRule(text, capture) {
  const [op, kind] = text.split(":", 2), rest = text.slice(op.length + kind.length + 2);
  if (!OPS.includes(op)) return null;
  if (kind === "m") {
    const found = capture.modules.find((each) => forAddress(each) === rest);
    return found === undefined ? null : { op, module: found };
  }
  const fn = findFunction(rest, capture);
  return fn === null ? null : { op, fn };
}

function writeWho(who, capture) {
  if (who.program !== undefined) return `program:${who.program}`;
  const thread = who.thread === undefined ? null : capture.threads[who.thread];
  const process = capture.processes[thread ? thread.process : who.process];
  return `pid:${process.pid}` + (thread ? `:${thread.tid}` : "");
}

function readWho(text, capture) {
  const [kind, pid, tid] = text.split(":");
  if (kind === "program") return { program: text.slice(8) };
  const process = capture.processes.findIndex((each) => String(each.pid) === pid);
  if (process < 0) return null;
  if (tid === undefined) return { process };
  const thread = capture.threads.findIndex((each) => each.process === process && String(each.tid) === tid);
  return thread < 0 ? null : { thread };
}

const number = (text) => { const value = Number.parseFloat(text); return Number.isFinite(value) ? value : null; };

function pair(text) {
  const both = (text || "").split("~").map(number);
  return both.length === 2 && both[0] !== null && both[1] !== null && both[1] > both[0] ? both : null;
}

// Returns "" for the state in which the page starts.
export function toHash(state, capture, start = START) {
  const words = new URLSearchParams();
  if (state.view !== start.view) words.set("view", state.view);
  for (const flag of Object.keys(FLAGS)) if (state[flag] !== start[flag]) words.set(flag, state[flag] ? 1 : 0);
  if (state.from !== null) words.set("t", `${(state.from / 1e6).toFixed(6)}~${(state.to / 1e6).toFixed(6)}`);
  if (state.who) words.set("who", writeWho(state.who, capture));
  if (state.event >= 0) words.set("event", capture.head.events[state.event][0]);
  for (const rule of state.rules) words.append("rule", writeRule(rule, capture));
  if (state.search) words.set("search", state.search);
  if (state.fn !== null) words.set("fn", writeFunction(state.fn, capture));
  if (state.zoom) words.set("zoom", state.zoom.map((each) => each.toPrecision(9)).join("~"));
  if (state.sort !== start.sort) words.set("sort", state.sort);
  return words.toString();
}

// Ignores what does not fit the recording.
export function fromHash(hash, capture, start = START) {
  const words = new URLSearchParams(hash.replace(/^#/, "")), state = { ...start };
  if (VIEWS.includes(words.get("view"))) state.view = words.get("view");
  for (const flag of Object.keys(FLAGS)) if (words.has(flag)) state[flag] = words.get(flag) === "1";
  const times = pair(words.get("t"));
  if (times) [state.from, state.to] = times.map((each) => each * 1e6);
  if (words.has("who")) state.who = readWho(words.get("who"), capture);
  if (words.has("event")) state.event = capture.head.events.findIndex(([name]) => name === words.get("event"));
  state.rules = words.getAll("rule").map((each) => readRule(each, capture)).filter((rule) => rule !== null);
  state.search = words.get("search") || "";
  if (words.has("fn")) state.fn = findFunction(words.get("fn"), capture);
  state.zoom = pair(words.get("zoom"));
  if (words.has("sort")) state.sort = words.get("sort");
  return state;
}
