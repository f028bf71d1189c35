// SPDX-License-Identifier: LGPL-2.1-or-later
// SPDX-FileCopyrightText: 2026 The live-unwinder authors

// graph.mjs - draws a graph of boxes on a canvas that is as large as what one sees of it, however
// deep the graph is.

import { Pixels } from "./pixels.mjs";
import { Label, makeMeasure } from "./text.mjs";

export const ROW = 19;
const FONT = "12px system-ui, -apple-system, \"Segoe UI\", Roboto, Cantarell, sans-serif";
// Pixels: narrower boxes are not drawn one by one; boxes with less room have no label.
const MIN_BOX = 1, MIN_LABEL = 34, PADDING = 5;
const ZOOM_STEP = 1.25, MAX_ZOOM = 1e7;

const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

export class GraphView {
  // events: select (id), hover (id or -1, event), copy (id), zoom (), leave ().
  constructor(container, events) {
    this.container = container;
    this.events = events;
    this.canvas = document.createElement("canvas");
    this.spacer = document.createElement("div");
    this.spacer.className = "spacer";
    this.spacer.append(this.canvas);
    this.outline = document.createElement("div");
    this.outline.className = "outline";
    this.container.append(this.spacer, this.outline);
    this.context = this.canvas.getContext("2d", { alpha: false });
    this.context.font = FONT;
    this.measure = makeMeasure(this.context);
    this.pixels = new Pixels(this.context, ROW - 1);
    this.graph = null;
    this.chosen = 0;
    this.flip = false; // root at the bottom
    this.matches = null;
    this.from = 0;
    this.span = 1;
    this.labels = new Map();
    this.#listen();
  }

  // Shows another graph. zoom: [from, span] of it, null: all. Keeps the chosen box if it is there.
  show(graph, { colours, zoom = null, flip = false, colourOf = null }) {
    this.graph = graph;
    this.colours = colours;
    this.colourOf = colourOf;
    this.flip = flip;
    this.chosen = 0;
    this.from = 0;
    this.span = graph.total[0] || 1;
    if (zoom) [this.from, this.span] = zoom;
    this.#clampZoom();
    this.resize();
    this.container.scrollTop = flip ? this.container.scrollHeight : 0;
    this.draw();
  }

  resize() {
    const ratio = window.devicePixelRatio || 1, { width, height } = this;
    this.width = Math.max(this.container.clientWidth, 10);
    this.height = Math.max(this.container.clientHeight, ROW);
    const rows = this.graph ? this.graph.maxDepth + 1 : 1;
    this.contentHeight = Math.max(rows * ROW, this.height);
    this.spacer.style.height = this.contentHeight + "px";
    if (this.width !== width || this.height !== height || ratio !== this.pixels.ratio) this.#resizeCanvas(ratio);
  }

  #resizeCanvas(ratio) {
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.canvas.style.width = this.width + "px";
    this.canvas.style.height = this.height + "px";
    this.pixels.resize(this.canvas.width, this.canvas.height, ratio);
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.context.font = FONT;
    this.context.textBaseline = "middle";
    this.context.fontKerning = "none";
    this.context.direction = "ltr";
  }

  // Top of a row, from the top of the canvas.
  #top(depth) {
    const y = this.flip ? this.contentHeight - (depth + 1) * ROW : depth * ROW;
    return y - this.scrolled;
  }

  #left(x) { return (x - this.from) / this.span * this.width; }

  draw() {
    if (!this.graph) return;
    const { context, graph, pixels } = this, begin = performance.now();
    cancelAnimationFrame(this.request);
    this.request = 0;
    this.min = this.span / this.width * MIN_BOX;
    this.scrolled = this.container.scrollTop;
    if (graph.prepare && graph.prepare(this.min)) this.chosen = 0;
    this.texts = [];
    this.rows = [];
    pixels.begin(this.colours.back);
    this.#boxes();
    pixels.finish();
    context.fillStyle = this.colours.text;
    for (const [text, x, y] of this.texts) context.fillText(text, x, y);
    this.#mark(this.chosen);
    this.drawTime = performance.now() - begin;
  }

  #boxes() {
    const { graph, min } = this, range = { min, from: this.from, to: this.from + this.span }, stack = [0];
    const last = Math.ceil((this.flip ? this.contentHeight - this.scrolled : this.scrolled + this.height) / ROW);
    const push = (child) => stack.push(child);
    while (stack.length > 0) {
      const id = stack.pop();
      this.#box(id);
      if (graph.depth[id] + 1 > last) continue;
      const rest = graph.children(id, range, push);
      if (rest >= 0) this.#rest(id, rest);
    }
  }

  // Several movements between two frames of the screen are drawn once.
  #drawSoon() { this.request ||= requestAnimationFrame(() => this.draw()); }

  #colour(id) {
    const { graph, colours, matches } = this, fn = graph.fn[id];
    if (matches) return matches[fn] ? colours.match : colours.dim(fn);
    return this.colourOf ? this.colourOf(graph, id) : colours.of(fn);
  }

  // Returns the place of a row's pixels, or -1 if it is not seen.
  #row(depth) {
    if (this.rows[depth] === undefined) this.rows[depth] = this.pixels.row(this.#top(depth));
    return this.rows[depth];
  }

  #box(id) {
    const { graph } = this, depth = graph.depth[id], row = this.#row(depth);
    if (row < 0) return;
    const left = Math.max(this.#left(graph.x[id]), 0), right = Math.min(this.#left(graph.x[id] + graph.total[id]), this.width + 1);
    this.pixels.box(row, left, right, this.#colour(id));
    if (right - left < MIN_LABEL) return;
    const text = this.#label(graph.fn[id], Math.min(right, this.width) - left - 2 * PADDING);
    if (text) this.texts.push([text, Math.round(left) + PADDING, this.#top(depth) + ROW / 2]);
  }

  // Draws boxes that are too narrow as one stripe.
  #rest(id, from) {
    const { graph } = this, row = this.#row(graph.depth[id] + 1);
    const left = this.#left(from), right = this.#left(graph.x[id] + graph.total[id] - graph.self[id]);
    if (row >= 0 && right - left >= 0.3) this.pixels.box(row, left, Math.min(right, this.width), this.colours.faint, 0);
  }

  // Names are measured once.
  #label(fn, room) {
    let label = this.labels.get(fn);
    if (!label) {
      label = new Label(this.graph.capture.names[fn], this.measure);
      this.labels.set(fn, label);
    }
    return label.cut(room);
  }

  #mark(id) {
    const { graph, context } = this, y = this.#top(graph.depth[id]);
    const x = Math.max(this.#left(graph.x[id]), 0);
    const w = Math.min(this.#left(graph.x[id] + graph.total[id]), this.width) - x;
    if (id === 0 || w <= 0) return;
    context.strokeStyle = this.colours.text;
    context.lineWidth = 2;
    context.strokeRect(x + 1, y + 1, Math.max(w - 3, 1), ROW - 3);
  }

  // Boxes

  // Returns the box at a place of the window, or -1.
  at(clientX, clientY) {
    if (!this.graph) return -1;
    const box = this.canvas.getBoundingClientRect(), x = clientX - box.left;
    const y = clientY - box.top + this.container.scrollTop;
    const depth = Math.floor((this.flip ? this.contentHeight - y : y) / ROW), place = this.from + x / this.width * this.span;
    const range = { min: this.min, from: place, to: place + this.min };
    let id = 0, found = 0;
    for (; found >= 0 && this.graph.depth[id] < depth; id = found) {
      found = -1;
      this.graph.children(id, range, (child) => { if (found < 0) found = child; });
      if (found < 0) return -1;
    }
    return depth >= 0 && x >= 0 && x < this.width ? id : -1;
  }

  #hover(id) {
    const style = this.outline.style;
    style.display = id < 0 ? "none" : "block";
    if (id < 0) return;
    const x = Math.max(this.#left(this.graph.x[id]), 0);
    const right = Math.min(this.#left(this.graph.x[id] + this.graph.total[id]), this.width);
    style.transform = `translate(${x}px, ${this.#top(this.graph.depth[id]) + this.container.scrollTop}px)`;
    style.width = Math.max(right - x - 1, 1) + "px";
  }

  choose(id) {
    this.chosen = id;
    this.#scrollTo(id);
    this.draw();
    this.events.select(id);
  }

  #scrollTo(id) {
    this.scrolled = this.container.scrollTop;
    const y = this.#top(this.graph.depth[id]), margin = Math.min(3 * ROW, this.height / 3);
    if (y < margin) this.container.scrollTop += y - margin;
    else if (y > this.height - margin - ROW) this.container.scrollTop += y - (this.height - margin - ROW);
    const left = this.graph.x[id], right = left + this.graph.total[id];
    if (right <= this.from || left >= this.from + this.span) {
      this.from = left - this.span / 2 + this.graph.total[id] / 2;
      this.#clampZoom();
    }
  }

  zoomTo(id) {
    this.from = this.graph.x[id];
    this.span = this.graph.total[id] || 1;
    this.choose(id);
    this.events.zoom();
  }

  get zoom() {
    return this.graph && this.span < this.graph.total[0] ? [this.from, this.from + this.span] : null;
  }

  #clampZoom() {
    const whole = this.graph.total[0] || 1;
    this.span = clamp(this.span, whole / MAX_ZOOM, whole);
    this.from = clamp(this.from, 0, whole - this.span);
  }

  // factor: above 1 comes closer; at: pixels from the left.
  zoomBy(factor, at = this.width / 2) {
    const x = this.from + at / this.width * this.span;
    this.span /= factor;
    this.span = Math.min(this.span, this.graph.total[0]);
    this.from = x - at / this.width * this.span;
    this.#clampZoom();
    this.#hover(-1);
    this.#drawSoon();
    this.events.zoom();
  }

  pan(pixels) {
    this.from += pixels / this.width * this.span;
    this.#clampZoom();
    this.#hover(-1);
    this.#drawSoon();
    this.events.zoom();
  }

  // Shows the box that is chosen around itself, or its caller.
  zoomOut() {
    const { graph } = this;
    let id = this.chosen;
    while (id > 0 && graph.total[id] <= this.span * 1.0001) id = graph.parent[id];
    this.zoomTo(id);
  }

  // Steps through the boxes that match, in the order of drawing. Returns how many there are.
  step(direction) {
    const found = this.#matching();
    if (found.length === 0) return { at: 0, of: 0 };
    const at = found.indexOf(this.chosen);
    const next = at < 0 ? (direction > 0 ? 0 : found.length - 1) : (at + direction + found.length) % found.length;
    const id = found[next];
    if (this.graph.total[id] / this.span * this.width < MIN_LABEL) {
      this.span = this.graph.total[id] * 3;
      this.from = this.graph.x[id] - this.graph.total[id];
      this.#clampZoom();
    }
    this.choose(id);
    return { at: next + 1, of: found.length };
  }

  #matching() {
    const found = [], { graph, matches } = this;
    if (!matches) return found;
    const min = (graph.total[0] || 1) / 1e5, stack = [0];
    while (stack.length > 0 && found.length < 10000) {
      const id = stack.pop(), below = [];
      if (matches[graph.fn[id]]) found.push(id);
      graph.children(id, { min }, (child) => below.push(child));
      stack.push(...below.reverse());
    }
    return found;
  }

  // Input

  #sibling(step) {
    const { graph, chosen } = this, all = [];
    if (chosen === 0) return;
    graph.children(graph.parent[chosen], {}, (child) => all.push(child));
    this.choose(all[clamp(all.indexOf(chosen) + step, 0, all.length - 1)]);
  }

  #key(event) {
    const { graph } = this, isDown = event.key === (this.flip ? "ArrowUp" : "ArrowDown");
    const move = () => { const to = isDown ? graph.first(this.chosen) : graph.parent[this.chosen]; if (to >= 0) this.choose(to); };
    const keys = {
      ArrowDown: move, ArrowUp: move, ArrowLeft: () => this.#sibling(-1), ArrowRight: () => this.#sibling(1),
      Enter: () => this.zoomTo(this.chosen), Backspace: () => this.zoomOut(), Home: () => this.zoomTo(0),
      "+": () => this.zoomBy(ZOOM_STEP), "=": () => this.zoomBy(ZOOM_STEP), "-": () => this.zoomBy(1 / ZOOM_STEP),
      w: () => this.zoomBy(ZOOM_STEP), s: () => this.zoomBy(1 / ZOOM_STEP),
      a: () => this.pan(-this.width / 8), d: () => this.pan(this.width / 8),
      c: () => this.events.copy(this.chosen),
    };
    if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    keys[event.key]();
  }

  #wheel(event) {
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      this.zoomBy(2 ** (-event.deltaY / 240), event.clientX - this.canvas.getBoundingClientRect().left);
    } else if (event.deltaX !== 0 || event.shiftKey) {
      event.preventDefault();
      this.pan(event.deltaX || event.deltaY);
    }
  }

  // A press that moves pans; one that does not chooses.
  #press(event) {
    if (event.button !== 0 || event.pointerType === "touch") return;
    let last = event.clientX, moved = 0;
    const move = (next) => {
      moved += Math.abs(next.clientX - last);
      if (moved > 4) { this.pan(last - next.clientX); this.isPanning = true; }
      last = next.clientX;
    };
    const up = () => {
      window.removeEventListener("pointermove", move);
      window.removeEventListener("pointerup", up);
      setTimeout(() => { this.isPanning = false; });
    };
    window.addEventListener("pointermove", move);
    window.addEventListener("pointerup", up);
  }

  #click(event) {
    const id = this.at(event.clientX, event.clientY);
    if (id < 0 || this.isPanning) return;
    this.container.focus({ preventScroll: true });
    if (event.ctrlKey || event.metaKey) { this.events.copy(id); return; }
    this.#hover(-1);
    this.zoomTo(id);
  }

  #listen() {
    const { container } = this;
    container.addEventListener("scroll", () => { this.#hover(-1); this.#drawSoon(); });
    container.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    container.addEventListener("pointerdown", (event) => this.#press(event));
    container.addEventListener("click", (event) => this.#click(event));
    container.addEventListener("keydown", (event) => this.#key(event));
    container.addEventListener("mousemove", (event) => {
      const id = this.at(event.clientX, event.clientY);
      this.#hover(id);
      this.events.hover(id, event);
    });
    container.addEventListener("mouseleave", () => { this.#hover(-1); this.events.leave(); });
  }
}
