// SPDX-License-Identifier: LGPL-2.1-or-later
// SPDX-FileCopyrightText: 2026 The live-unwinder authors

// graph.mjs - draws a graph of boxes on a canvas that is as large as what one sees of it, however
// deep the graph is.

import { fit, isolated, makeMeasure, visible } from "./text.mjs";

export const ROW = 19;
const FONT = "12px system-ui, -apple-system, \"Segoe UI\", Roboto, Cantarell, sans-serif";
// Pixels: narrower boxes are not drawn one by one; boxes with less room have no label.
const MIN_BOX = 1, MIN_LABEL = 22, PADDING = 5;
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
    this.graph = null;
    this.chosen = 0;
    this.flip = false; // root at the bottom
    this.matches = null;
    this.from = 0;
    this.span = 1;
    this.rows = []; // by depth: left, width and number of each box
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
    const ratio = window.devicePixelRatio || 1;
    this.width = Math.max(this.container.clientWidth, 10);
    this.height = Math.max(this.container.clientHeight, ROW);
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.canvas.style.width = this.width + "px";
    this.canvas.style.height = this.height + "px";
    this.ratio = ratio;
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.context.font = FONT;
    this.context.textBaseline = "middle";
    this.context.fontKerning = "none";
    this.context.direction = "ltr";
    const rows = this.graph ? this.graph.maxDepth + 1 : 1;
    this.contentHeight = Math.max(rows * ROW, this.height);
    this.spacer.style.height = this.contentHeight + "px";
  }

  // Top of a row, from the top of the canvas.
  #top(depth) {
    const y = this.flip ? this.contentHeight - (depth + 1) * ROW : depth * ROW;
    return y - this.scrolled;
  }

  #left(x) { return (x - this.from) / this.span * this.width; }

  draw() {
    if (!this.graph) return;
    const { context, graph } = this, min = this.span / this.width * MIN_BOX;
    const begin = performance.now();
    this.scrolled = this.container.scrollTop;
    if (graph.prepare && graph.prepare(min)) this.chosen = 0;
    context.fillStyle = this.colours.back;
    context.fillRect(0, 0, this.width, this.height);
    for (const row of this.rows) row.length = 0;
    this.texts = [];
    const range = { min, from: this.from, to: this.from + this.span }, stack = [0];
    const last = Math.ceil((this.flip ? this.contentHeight - this.scrolled : this.scrolled + this.height) / ROW);
    while (stack.length > 0) {
      const id = stack.pop();
      this.#box(id);
      if (graph.depth[id] + 1 > last) continue;
      const rest = graph.children(id, range, (child) => stack.push(child));
      if (rest >= 0) this.#rest(id, rest);
    }
    context.fillStyle = this.colours.text;
    for (const [text, x, y] of this.texts) context.fillText(text, x, y);
    this.#mark(this.chosen);
    this.drawTime = performance.now() - begin;
  }

  // Several movements between two frames of the screen are drawn once.
  #drawSoon() {
    cancelAnimationFrame(this.request);
    this.request = requestAnimationFrame(() => this.draw());
  }

  #colour(id) {
    const { graph, colours, matches } = this, fn = graph.fn[id];
    if (matches) return matches[fn] ? colours.match : colours.dim[fn];
    return this.colourOf ? this.colourOf(graph, id) : colours.of[fn];
  }

  #box(id) {
    const { graph, context } = this, depth = graph.depth[id], y = this.#top(depth);
    if (y < -ROW || y > this.height) return;
    const left = this.#left(graph.x[id]), right = this.#left(graph.x[id] + graph.total[id]);
    const x = Math.max(left, -1), w = Math.min(right, this.width + 1) - x;
    while (this.rows.length <= depth) this.rows.push([]);
    this.rows[depth].push(x, w, id);
    context.fillStyle = this.#colour(id);
    context.fillRect(x, y, Math.max(w - (w > 3 ? 1 : 0.25), MIN_BOX), ROW - 1);
    if (w < MIN_LABEL) return;
    const start = Math.max(x, 0), room = Math.min(x + w, this.width) - start - 2 * PADDING;
    const text = this.#label(graph.fn[id], room);
    if (text) this.texts.push([text, start + PADDING, y + ROW / 2]);
  }

  // Draws boxes that are too narrow as one stripe.
  #rest(id, from) {
    const { graph, context } = this, y = this.#top(graph.depth[id] + 1);
    const x = this.#left(from), w = this.#left(graph.x[id] + graph.total[id] - graph.self[id]) - x;
    if (w < 0.3 || y < -ROW || y > this.height) return;
    context.fillStyle = this.colours.faint;
    context.fillRect(x, y, w, ROW - 1);
  }

  // Labels that fit whole are remembered with their width.
  #label(fn, room) {
    let known = this.labels.get(fn);
    if (!known) {
      const text = visible(this.graph.capture.names[fn].slice(0, 4000));
      known = { text, whole: text.length < 400 ? this.measure(isolated(text)) : Infinity };
      this.labels.set(fn, known);
    }
    if (known.whole <= room) return isolated(known.text);
    const cut = fit(known.text, room, this.measure);
    return cut && isolated(cut);
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
    const depth = Math.floor((this.flip ? this.contentHeight - y : y) / ROW), row = this.rows[depth] || [];
    for (let i = 0; i < row.length; i += 3)
      if (x >= row[i] && x < row[i] + Math.max(row[i + 1], MIN_BOX)) return row[i + 2];
    return -1;
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
    container.addEventListener("scroll", () => { this.#hover(-1); this.draw(); });
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
