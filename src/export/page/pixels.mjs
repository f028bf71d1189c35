// SPDX-License-Identifier: LGPL-2.1-or-later
// SPDX-FileCopyrightText: 2026 The live-unwinder authors

// pixels.mjs - boxes in rows, as pixels in memory: a row costs the same however many boxes it has.
//
// Boxes are written into the first line of their row only; finish() repeats these lines. Filling each
// box by the canvas was slower: 20,000 calls a frame.

export class Pixels {
  // rowHeight: what is filled of a row, in pixels of CSS, as are all other lengths.
  constructor(context, rowHeight) {
    this.context = context;
    this.rowHeight = rowHeight;
  }

  // width, height: pixels of the screen.
  resize(width, height, ratio) {
    this.width = width;
    this.height = height;
    this.ratio = ratio;
    this.image = this.context.createImageData(width, height);
    this.data = new Uint32Array(this.image.data.buffer);
  }

  begin(back) {
    this.back = back;
    this.data.fill(back);
    this.rows = new Map(); // lines by the first one
  }

  // Returns where the first line of a row at `y` begins; -1: it is not seen.
  row(y) {
    const top = Math.max(Math.round(y * this.ratio), 0);
    const bottom = Math.min(Math.round((y + this.rowHeight) * this.ratio), this.height);
    if (top >= bottom) return -1;
    this.rows.set(top, bottom - top);
    return top * this.width;
  }

  // Fills a box of a row, with a gap at its right end. A very narrow box has none.
  box(row, left, right, colour, gap = 1) {
    const from = Math.max(Math.round(left * this.ratio), 0);
    const wanted = Math.round(right * this.ratio), room = wanted - from;
    const isNarrow = room <= 3 * this.ratio, end = isNarrow ? wanted : wanted - Math.round(gap * this.ratio);
    const to = Math.min(Math.max(end, from + 1), this.width);
    if (to - from > 16) { this.data.fill(colour, row + from, row + to); return; }
    for (let i = row + from; i < row + to; i++) this.data[i] = colour;
    if (isNarrow && room > 1 && wanted <= this.width) this.data[row + to - 1] = mix(colour, this.back);
  }

  finish() {
    const { data, width } = this;
    for (const [top, lines] of this.rows)
      for (let i = 1; i < lines; i++) data.copyWithin((top + i) * width, top * width, (top + 1) * width);
    this.context.putImageData(this.image, 0, 0);
  }
}

// Returns the mean of two pixels.
const mix = (a, b) => (((a & 0xfefefefe) >>> 1) + ((b & 0xfefefefe) >>> 1) | 0xff000000) >>> 0;
