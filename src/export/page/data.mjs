// SPDX-License-Identifier: LGPL-2.1-or-later
// SPDX-FileCopyrightText: 2026 The live-unwinder authors

// data.mjs - a recording as src/export/page.c wrote it, in typed arrays.

// Kinds of functions: those of LuCodeKind, and programs and threads, which only the page has.
export const USER = 0, KERNEL = 1, GENERATED = 2, NOWHERE = 3, STATE = 4, INTERPRETED = 5, PROGRAM = 6;

// Tells whether a function is code: no state and no program.
export const isCode = (kind) => kind < STATE || kind === INTERPRETED;

function decode(base64) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
  const text = atob(base64), bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

// Reads varints of base64.
class Column {
  constructor(base64) {
    this.bytes = decode(base64 || "");
    this.at = 0;
  }

  get isAtEnd() { return this.at >= this.bytes.length; }

  // How many numbers are in the column.
  get size() {
    let n = 0;
    for (let i = 0; i < this.bytes.length; i++) if (this.bytes[i] < 128) n++;
    return n;
  }

  next() {
    let byte = this.bytes[this.at++], value = byte & 127;
    if (byte < 128) return value;
    for (let scale = 128; byte >= 128; scale *= 128) {
      byte = this.bytes[this.at++];
      value += (byte & 127) * scale;
    }
    return value;
  }
}

// Appends the functions, threads, nodes and samples of one recording.
class Loader {
  constructor() {
    this.names = [];
    this.fullNames = [];
    this.modules = [];
    this.kinds = [];
    this.places = [];
    this.processes = [];
    this.threads = [];
    this.known = new Map();
  }

  #append(name, module, kind, fullName, place) {
    this.fullNames.push(fullName || "");
    this.modules.push(module);
    this.kinds.push(kind);
    this.places.push(place);
    return this.names.push(name) - 1;
  }

  // Returns the function with this name, which may be that of another recording.
  addFunction(name, module, kind, fullName, place) {
    const key = `${kind}\0${module}\0${name}`;
    if (!this.known.has(key)) this.known.set(key, this.#append(name, module, kind, fullName, place));
    return this.known.get(key);
  }

  // Returns the number of each function of the data. Functions of one recording stay apart even
  // if they have the same name; those of a second one are found by name. isAlone: there is no second.
  addFunctions(data, isFirst, isAlone) {
    const moduleOf = new Column(data.module_of), places = new Column(data.places);
    return Int32Array.from(data.names, (name, i) => {
      const module = data.modules[moduleOf.next()], kind = data.kinds.charCodeAt(i) - 48;
      const file = data.places ? places.next() : 0, line = data.places ? places.next() : 0;
      const place = file > 0 ? data.files[file - 1] + (line > 0 ? ":" + line : "") : "";
      if (isAlone) return this.#append(name, module, kind, data.full_names[i], place);
      if (isFirst) this.known.delete(`${kind}\0${module}\0${name}`);
      return this.addFunction(name, module, kind, data.full_names[i], place);
    });
  }

  addThreads(data) {
    const first = this.processes.length;
    for (const [pid, name, command] of data.processes)
      this.processes.push({ pid, name, command, fn: this.addFunction(name, "", PROGRAM) });
    for (const [process, tid, name] of data.threads) {
      const owner = this.processes[first + process];
      this.threads.push({ process: first + process, tid, name: name || owner.name,
                          fn: this.addFunction(name || owner.name, "", PROGRAM) });
    }
  }
}

// Returns the columns of a recording and how many nodes and samples they have.
function columnsOf(data) {
  const nodes = new Column(data.nodes), samples = new Column(data.samples), rest = new Column(data.rest);
  return { nodes, samples, rest, lines: new Column(data.lines), nNodes: nodes.size / 2, nSamples: samples.size / 3 + rest.size / 4 };
}

// Returns where each node stands if all nodes below one follow it at once, and how many those are, with
// the node itself. parent: of nodes in any order that has parents first; the first one is the root.
export function preorder(parent, n) {
  const size = new Int32Array(n).fill(1), next = new Int32Array(n), place = new Int32Array(n);
  for (let i = n - 1; i > 0; i--) size[parent[i]] += size[i];
  next[0] = 1;
  for (let i = 1; i < n; i++) {
    const above = parent[i], at = next[above];
    next[above] = at + size[i];
    next[i] = at + 1;
    place[i] = at;
  }
  return { place, size };
}

export class Capture {
  constructor(data) {
    const loader = new Loader(), parts = data.before ? [data, data.before] : [data];
    const columns = parts.map(columnsOf);
    const sum = (key) => columns.reduce((total, each) => total + each[key], 0);
    const n = sum("nSamples"), nNodes = sum("nNodes");

    this.head = data;
    this.before = data.before || null;
    this.parent = new Int32Array(1 + nNodes);
    this.fn = new Int32Array(1 + nNodes).fill(-1);
    this.line = parts.some((part) => part.lines) ? new Int32Array(1 + nNodes) : null; // 0: not known
    this.n = n;
    this.time = new Float64Array(n).fill(NaN); // microseconds; NaN: not kept
    this.thread = new Int32Array(n);
    this.node = new Int32Array(n);
    this.event = new Uint8Array(n);
    this.weight = new Float64Array(n).fill(1); // samples
    this.value = null;                         // in the unit of the event, if it is known
    this.nodesUsed = 1;
    this.samplesUsed = 0;
    this.firstBefore = n;
    parts.forEach((part, i) => {
      if (i > 0) this.firstBefore = this.samplesUsed;
      this.#add(loader, part, columns[i], i === 0);
    });
    this.#order();
    Object.assign(this, { names: loader.names, fullNames: loader.fullNames, modules: loader.modules,
                          places: loader.places, processes: loader.processes, threads: loader.threads });
    this.all = loader.addFunction("all", "", PROGRAM);
    this.kinds = Uint8Array.from(loader.kinds);
    this.nFunctions = this.names.length;
    this.isComparison = this.before !== null;
    this.#addValues(data.events, parts);
  }

  // Puts nodes before those below them, so that a part of the tree is one range.
  #order() {
    const n = this.nodesUsed, { place } = preorder(this.parent, n), { parent, fn, line, node } = this;
    this.parent = new Int32Array(n);
    this.fn = new Int32Array(n);
    if (line) this.line = new Int32Array(n);
    for (let i = 0; i < n; i++) {
      const at = place[i];
      this.parent[at] = place[parent[i]];
      this.fn[at] = fn[i];
      if (line) this.line[at] = line[i];
    }
    for (let i = 0; i < node.length; i++) node[i] = place[node[i]];
  }

  #add(loader, data, { nodes, samples, rest, lines }, isFirst) {
    const functions = loader.addFunctions(data, isFirst, !this.before), firstThread = loader.threads.length;
    const firstNode = this.nodesUsed - 1;
    for (; !nodes.isAtEnd; this.nodesUsed++) {
      const back = nodes.next();
      this.parent[this.nodesUsed] = back === 0 ? 0 : this.nodesUsed - back;
      this.fn[this.nodesUsed] = functions[nodes.next()];
      if (!lines.isAtEnd) this.line[this.nodesUsed] = lines.next();
    }
    loader.addThreads(data);
    const place = (node) => (node === 0 ? 0 : node + firstNode);
    this.#addSamples(samples, new Column(data.events_of), firstThread, place);
    this.#addRest(rest, firstThread, place);
  }

  #addSamples(samples, events, firstThread, place) {
    for (let time = 0; !samples.isAtEnd; this.samplesUsed++) {
      time += samples.next();
      this.time[this.samplesUsed] = time;
      this.thread[this.samplesUsed] = firstThread + samples.next();
      this.node[this.samplesUsed] = place(samples.next());
      if (!events.isAtEnd) this.event[this.samplesUsed] = events.next();
    }
  }

  #addRest(rest, firstThread, place) {
    for (; !rest.isAtEnd; this.samplesUsed++) {
      this.thread[this.samplesUsed] = firstThread + rest.next();
      this.node[this.samplesUsed] = place(rest.next());
      this.event[this.samplesUsed] = rest.next();
      this.weight[this.samplesUsed] = rest.next();
    }
  }

  // Values are what samples stand for: of their own, or that of their event.
  #addValues(events, parts) {
    if (!parts.some((part) => part.weights) && !events.some(([, , weight]) => weight > 0)) return;
    this.value = new Float64Array(this.n);
    for (let i = 0; i < this.n; i++)
      this.value[i] = this.weight[i] * (events[this.event[i]] ? events[this.event[i]][2] : 0);
    if (parts.length > 1 || !parts[0].weights) return;
    const weights = new Column(parts[0].weights);
    for (let i = 0; !weights.isAtEnd; i++) this.value[i] = weights.next();
  }

  // Returns the key of the state in which the stack of a node ended: "complete", one of
  // head.states, or "kernel-only".
  stateOf(node) {
    let root = node;
    while (this.parent[root] !== 0) root = this.parent[root];
    if (node === 0) return "no-user-context";
    if (this.kinds[this.fn[root]] === KERNEL) return "kernel-only";
    if (this.kinds[this.fn[root]] !== STATE) return "complete";
    const title = this.names[this.fn[root]].replace(/^[[(]|[\])]$/g, "");
    const found = Object.entries(this.head.states).find(([, [text]]) => text === title);
    return found ? found[0] : "complete";
  }

  // Returns what the states of all nodes are, as numbers into a list of keys.
  states() {
    if (this.stateOfNode) return this.stateOfNode;
    const keys = Object.keys(this.head.states), of = new Uint8Array(this.parent.length);
    of[0] = keys.indexOf("no-user-context");
    for (let i = 1; i < of.length; i++)
      of[i] = this.parent[i] === 0 ? keys.indexOf(this.stateOf(i)) : of[this.parent[i]];
    this.stateOfNode = { keys, of };
    return this.stateOfNode;
  }
}
