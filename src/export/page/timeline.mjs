// SPDX-License-Identifier: LGPL-2.1-or-later
// SPDX-FileCopyrightText: 2026 The live-unwinder authors

// timeline.mjs - how busy each program was over time, as rows or as a heat map, and the range of
// time that is selected there.

import { KERNEL } from "./data.mjs";
import { threadsOf } from "./tree.mjs";
import { count, duration, plural, visible } from "./text.mjs";

export const LINE = 26;
const MAX_ROWS = 400, BAR = 3, MIN_SAMPLES = 8, HEAT_ROWS = 20, AXIS = 18, MAX_UNFOLDED = 16;
const AXIS_FONT = "11px system-ui, -apple-system, \"Segoe UI\", Roboto, Cantarell, sans-serif";

// Returns the step of an axis, in microseconds, with at most `n` ticks.
export function stepOf(span, n) {
  let step = 1;
  while (span / step > n) {
    const first = step / 10 ** Math.floor(Math.log10(step) + 1e-9);
    step *= first < 1.5 || first > 4 ? 2 : 2.5;
  }
  return step;
}

// Returns the rows of a capture: programs, their processes if there are several, and their threads.
// A row: { who, label, detail, threads, n, rows }. before: rows of the second recording only.
export function makeRows(capture) {
  const nOf = new Float64Array(capture.threads.length), programs = new Map();
  for (let i = 0; i < capture.firstBefore; i++) nOf[capture.thread[i]] += capture.weight[i];
  capture.threads.forEach((thread, id) => {
    if (nOf[id] === 0) return;
    const { name } = capture.processes[thread.process];
    if (!programs.has(name)) programs.set(name, new Map());
    if (!programs.get(name).has(thread.process)) programs.get(name).set(thread.process, []);
    programs.get(name).get(thread.process).push(id);
  });
  const sum = (threads) => threads.reduce((total, id) => total + nOf[id], 0);
  const sorted = (rows) => rows.sort((a, b) => b.n - a.n);
  const threadRows = (threads) => sorted(threads.map((id) => ({
    who: { thread: id }, label: capture.threads[id].name, detail: `thread ${capture.threads[id].tid}`,
    threads: [id], n: nOf[id], rows: [] })));
  const processRow = ([process, threads]) => ({
    who: { process }, label: capture.processes[process].command || capture.processes[process].name,
    detail: `process ${capture.processes[process].pid}`, threads, n: sum(threads),
    rows: threads.length > 1 ? threadRows(threads) : [] });
  return sorted([...programs].map(([name, processes]) => {
    const own = sorted([...processes].map(processRow)), threads = own.flatMap((row) => row.threads);
    const detail = own.length > 1 ? `${count(own.length)} processes` : own[0].detail;
    return { who: { program: name }, label: name, detail, threads, n: sum(threads),
             rows: own.length > 1 ? own : own[0].rows };
  }));
}

export const isSame = (a, b) => JSON.stringify(a) === JSON.stringify(b);

// Counts samples by row and piece of time: user code and the kernel. rows: lists of threads.
export function countOverTime(capture, rows, n, span) {
  const ofThread = capture.threads.map(() => []), user = new Float32Array(rows.length * n), kernel = new Float32Array(rows.length * n);
  rows.forEach((row, i) => row.threads.forEach((thread) => ofThread[thread].push(i)));
  for (let i = 0; i < capture.firstBefore; i++) {
    if (!(capture.time[i] >= 0)) continue;
    const at = Math.min(Math.floor(capture.time[i] / span * n), n - 1);
    const isKernel = capture.node[i] > 0 && capture.kinds[capture.fn[capture.node[i]]] === KERNEL;
    for (const row of ofThread[capture.thread[i]]) (isKernel ? kernel : user)[row * n + at]++;
  }
  return { user, kernel };
}

export class Timeline {
  // events: range (from, to; null, null: all), who (who or null).
  constructor(capture, place, events) {
    this.capture = capture;
    this.place = place;
    this.events = events;
    this.span = Math.max(capture.head.duration, 1) * 1.000001;
    this.rows = makeRows(capture);
    this.open = new Set();
    this.range = null;
    this.who = null;
    this.isHeat = false;
    this.axis = document.createElement("canvas");
    this.axis.className = "axis";
    this.axis.setAttribute("aria-hidden", "true");
    this.list = document.createElement("div");
    this.list.className = "rows";
    this.spacer = document.createElement("div");
    this.spacer.className = "spacer";
    this.canvas = document.createElement("canvas");
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "slider");
    this.canvas.setAttribute("aria-label", "Time range. Arrow keys move it, with Shift they change its end, Escape selects all.");
    this.names = document.createElement("div");
    this.names.className = "names";
    this.spacer.append(this.names, this.canvas);
    this.list.append(this.spacer);
    place.append(this.axis, this.list);
    this.context = this.canvas.getContext("2d");
    this.#listen();
  }

  set({ from, to, who, heat, colours }) {
    const range = from === null ? null : [from, to], isOther = !isSame(who, this.who);
    const isSeen = this.counts && heat === this.isHeat, isCounted = isSeen && !(heat && isOther);
    if (isCounted && !isOther && isSame(range, this.range) && colours.isDark === this.isDark) return;
    Object.assign(this, { range, who, isHeat: heat, isDark: colours.isDark });
    if (!isCounted) { this.layout(); return; }
    if (isOther) this.#drawNames();
    this.draw();
  }

  #visibleRows() {
    const found = [];
    const add = (rows, level) => {
      for (const row of rows) {
        if (found.length >= MAX_ROWS) return;
        found.push({ row, level });
        if (this.open.has(JSON.stringify(row.who))) add(row.rows, level + 1);
      }
    };
    add(this.rows, 0);
    return found;
  }

  layout() {
    this.shown = this.#visibleRows();
    const ratio = window.devicePixelRatio || 1;
    this.gutter = this.names.offsetWidth;
    this.spacer.style.height = (this.isHeat ? 5 : this.shown.length) * LINE + "px";
    this.names.hidden = false;
    this.width = Math.max(this.list.clientWidth - this.gutter, 40);
    this.height = Math.max(this.list.clientHeight, LINE);
    for (const [canvas, height] of [[this.canvas, this.height], [this.axis, AXIS]]) {
      canvas.width = Math.round(this.width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.style.width = this.width + "px";
      canvas.style.height = height + "px";
      canvas.style.marginLeft = this.gutter + "px";
      canvas.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
    }
    this.n = Math.max(Math.floor(Math.min(this.width / BAR, this.#pieces())), 1);
    this.counts = this.isHeat ? this.#countHeat() : countOverTime(this.capture, this.shown.map(({ row }) => row), this.n, this.span);
    this.#drawNames();
    this.draw();
  }

  // Rows

  #drawNames() {
    const focused = this.names.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    this.names.replaceChildren();
    if (this.isHeat) { this.#drawHeatName(); return; }
    this.shown.forEach(({ row, level }, i) => this.names.append(this.#nameOf(row, level, i)));
    if (focused) [...this.names.querySelectorAll("button")].find((each) => each.dataset.key === focused)?.focus();
  }

  #drawHeatName() {
    const text = document.createElement("div");
    text.className = "note";
    text.textContent = `A column is ${duration(this.heat.column)}, a cell ${duration(this.heat.cell)}.`;
    this.names.append(text);
  }

  #nameOf(row, level, i) {
    const line = document.createElement("div"), key = JSON.stringify(row.who), isOpen = this.open.has(key);
    line.className = "name";
    line.style.top = i * LINE + "px";
    line.style.paddingLeft = level * 12 + "px";
    const fold = document.createElement("button");
    fold.className = "fold";
    fold.textContent = row.rows.length > 0 ? (isOpen ? "▾" : "▸") : "";
    fold.disabled = row.rows.length === 0;
    fold.dataset.key = "fold" + key;
    fold.setAttribute("aria-expanded", isOpen);
    fold.setAttribute("aria-label", `Unfold ${visible(row.label)}`);
    fold.addEventListener("click", () => { if (isOpen) this.open.delete(key); else this.#unfold(row); this.layout(); });
    const button = document.createElement("button"), detail = document.createElement("small"), name = document.createElement("bdi");
    name.textContent = visible(row.label.slice(0, 200));
    detail.textContent = row.detail;
    button.className = "who";
    button.dataset.key = key;
    button.setAttribute("aria-pressed", isSame(this.who, row.who));
    button.title = `${visible(row.label.slice(0, 1000))}, ${row.detail}: ${count(row.n)} samples. Click to show only these.`;
    button.append(name, detail);
    button.addEventListener("click", () => this.events.who(isSame(this.who, row.who) ? null : row.who));
    line.append(fold, button);
    return line;
  }

  // Unfolds a row, and those below it if they are few.
  #unfold(row) {
    const few = row.rows.reduce((n, { rows }) => n + 1 + rows.length, 0) <= MAX_UNFOLDED;
    for (const each of few ? [row, ...row.rows] : [row]) if (each.rows.length > 0) this.open.add(JSON.stringify(each.who));
  }

  // A piece of time with fewer samples than these would show their grain, not how busy a CPU was.
  #pieces() {
    const { interval } = this.capture.head;
    return interval > 0 ? this.span * 1e3 / interval / MIN_SAMPLES : Infinity;
  }

  // CPUs that a number of samples in one piece of time stands for; null: not known.
  #cpus(samples) {
    const { interval } = this.capture.head;
    return interval > 0 ? samples * interval / 1e3 / (this.span / this.n) : null;
  }

  #scale() {
    const { user, kernel } = this.counts;
    let most = 0;
    for (let i = 0; i < user.length; i++) most = Math.max(most, user[i] + kernel[i]);
    const one = this.#cpus(1);
    return one === null ? most || 1 : Math.max(most, 1 / one);
  }

  draw() {
    this.context.clearRect(0, 0, this.width, this.height);
    if (this.isHeat) this.#drawHeat();
    else this.#drawRows();
    this.#drawRange();
    this.#drawAxis();
    const [from, to] = this.range || [0, this.span];
    this.canvas.setAttribute("aria-valuetext", `${duration(from)} to ${duration(to)}`);
    this.canvas.setAttribute("aria-valuenow", Math.round(from / 1e3));
  }

  #drawRows() {
    const { context, counts, n } = this, top = this.list.scrollTop, scale = (LINE - 5) / this.#scale(), step = this.width / n;
    const style = getComputedStyle(this.place);
    const user = style.getPropertyValue("--busy"), kernel = style.getPropertyValue("--busy-kernel"), line = style.getPropertyValue("--line");
    for (let i = Math.floor(top / LINE); i < this.shown.length && i * LINE < top + this.height; i++) {
      const bottom = (i + 1) * LINE - top - 1;
      context.fillStyle = line;
      context.fillRect(0, bottom, this.width, 1);
      for (let k = 0; k < n; k++) {
        const inKernel = counts.kernel[i * n + k] * scale, inUser = counts.user[i * n + k] * scale;
        if (inUser > 0) { context.fillStyle = user; context.fillRect(k * step, bottom - inUser, step - 0.5, inUser); }
        if (inKernel > 0) { context.fillStyle = kernel; context.fillRect(k * step, bottom - inUser - inKernel, step - 0.5, inKernel); }
      }
    }
  }

  #drawRange() {
    if (!this.range) return;
    const { context } = this, [left, right] = this.range.map((time) => time / this.span * this.width);
    const style = getComputedStyle(this.place);
    if (!this.isHeat) {
      context.fillStyle = style.getPropertyValue("--shade");
      context.fillRect(0, 0, left, this.height);
      context.fillRect(right, 0, this.width - right, this.height);
      context.fillStyle = style.getPropertyValue("--accent");
      context.fillRect(left - 1, 0, 2, this.height);
      context.fillRect(right - 1, 0, 2, this.height);
    }
  }

  #drawAxis() {
    const context = this.axis.getContext("2d"), style = getComputedStyle(this.place);
    const span = this.isHeat ? this.heat.column * this.heat.n : this.span, step = stepOf(span, this.width / 80);
    context.clearRect(0, 0, this.width, AXIS);
    context.font = AXIS_FONT;
    context.fillStyle = style.getPropertyValue("--quiet");
    for (let time = 0; time < span; time += step) {
      const x = time / span * this.width, text = time === 0 ? "0" : `${+(time / 1e6).toPrecision(6)} s`;
      context.fillRect(x, AXIS - 5, 1, 5);
      if (x + context.measureText(text).width + 4 < this.width) context.fillText(text, x + 4, AXIS - 6);
    }
  }

  // Heat map: a column for each piece of time, from its beginning at the top.

  #countHeat() {
    const column = Math.max(stepOf(this.span, Math.min(this.width / 8, 120)), HEAT_ROWS), n = Math.ceil(this.span / column);
    const cells = new Float32Array(n * HEAT_ROWS), passes = threadsOf(this.capture, this.who);
    for (let i = 0; i < this.capture.firstBefore; i++)
      if (this.capture.time[i] >= 0 && passes[this.capture.thread[i]])
        cells[Math.min(Math.floor(this.capture.time[i] / column * HEAT_ROWS), cells.length - 1)]++;
    this.heat = { column, cell: column / HEAT_ROWS, n, cells, most: cells.reduce((a, b) => Math.max(a, b), 1) };
    return this.heat;
  }

  #drawHeat() {
    const { context, heat } = this, w = this.width / heat.n, h = this.height / HEAT_ROWS, style = getComputedStyle(this.place);
    context.fillStyle = style.getPropertyValue("--busy");
    const accent = style.getPropertyValue("--accent");
    for (let i = 0; i < heat.cells.length; i++) {
      const x = Math.floor(i / HEAT_ROWS) * w, y = i % HEAT_ROWS * h, time = i * heat.cell;
      const isIn = !this.range || (time + heat.cell > this.range[0] && time < this.range[1]);
      context.globalAlpha = (heat.cells[i] > 0 ? 0.12 + 0.88 * heat.cells[i] / heat.most : 0.03) * (isIn ? 1 : 0.35);
      context.fillStyle = isIn && this.range ? accent : style.getPropertyValue("--busy");
      context.fillRect(x, y, w - 0.5, h - 0.5);
    }
    context.globalAlpha = 1;
  }

  // Input

  // Returns the time at a place of the window, and the length of what is there.
  #timeAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = Math.min(Math.max((event.clientX - box.left) / this.width, 0), 1);
    if (!this.isHeat) return { time: x * this.span, length: 0 };
    const y = Math.min(Math.max((event.clientY - box.top) / this.height, 0), 0.999);
    const column = Math.min(Math.floor(x * this.heat.n), this.heat.n - 1);
    return { time: (column + Math.floor(y * HEAT_ROWS) / HEAT_ROWS) * this.heat.column, length: this.heat.cell };
  }

  #press(event) {
    if (event.button !== 0) return;
    const start = this.#timeAt(event), x = event.clientX;
    let isDrag = false;
    this.canvas.setPointerCapture(event.pointerId);
    const move = (next) => {
      isDrag ||= Math.abs(next.clientX - x) > 3 || this.isHeat;
      if (!isDrag) return;
      const end = this.#timeAt(next);
      this.range = [Math.min(start.time, end.time), Math.max(start.time + start.length, end.time + end.length)];
      this.draw();
    };
    const up = (last) => {
      this.canvas.removeEventListener("pointermove", move);
      if (this.isHeat) move(last);
      if (isDrag) this.events.range(...this.range);
      else this.events.range(null, null);
    };
    this.canvas.addEventListener("pointermove", move);
    this.canvas.addEventListener("pointerup", up, { once: true });
  }

  #key(event) {
    const step = this.span / 50, by = { ArrowLeft: -step, ArrowRight: step }[event.key];
    if (event.key === "Escape") { this.events.range(null, null); return; }
    if (by === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    let [from, to] = this.range || [0, step * 5];
    if (this.range) { to += by; if (!event.shiftKey) from += by; }
    from = Math.max(from, 0);
    to = Math.min(Math.max(to, from + step / 10), this.span);
    this.events.range(Math.min(from, to - step / 10), to);
  }

  #listen() {
    this.canvas.addEventListener("pointerdown", (event) => this.#press(event));
    this.canvas.addEventListener("keydown", (event) => this.#key(event));
    this.list.addEventListener("scroll", () => this.draw());
    this.canvas.addEventListener("pointermove", (event) => {
      const { time } = this.#timeAt(event);
      if (this.isHeat) { this.canvas.title = duration(time); return; }
      const at = Math.min(Math.floor(time / this.span * this.n), this.n - 1);
      const i = Math.floor((event.offsetY + this.list.scrollTop) / LINE);
      const samples = i < this.shown.length ? this.counts.user[i * this.n + at] + this.counts.kernel[i * this.n + at] : 0;
      const cpus = this.#cpus(samples);
      this.canvas.title = `${duration(time)}: ${plural(samples, "sample")}${cpus === null ? "" : `, ${cpus.toFixed(2)} CPUs`}`;
    });
  }
}
