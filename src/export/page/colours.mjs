// SPDX-License-Identifier: LGPL-2.1-or-later
// SPDX-FileCopyrightText: 2026 The live-unwinder authors

// colours.mjs - a hue for each module, lighter and darker ones for its functions; calm ones for the
// kernel and programs, and for a comparison blue (less than before) to red (more).

import { GENERATED, INTERPRETED, KERNEL, NOWHERE, PROGRAM, STATE, USER } from "./data.mjs";

// In the order of how much of the recording a module has.
const HUES = [62, 145, 300, 95, 190, 345, 120, 270, 40, 215];
const FIXED = { [KERNEL]: [250, 0.045], [GENERATED]: [165, 0.1], [NOWHERE]: [0, 0], [STATE]: [20, 0.13], [PROGRAM]: [80, 0.012] };
const STEPS = 24;

const channel = (linear) => {
  const value = linear <= 0.0031308 ? 12.92 * linear : 1.055 * linear ** (1 / 2.4) - 0.055;
  return Math.round(255 * Math.min(Math.max(value, 0), 1));
};

// Returns "#rrggbb" of a colour of OKLCH, in which equal lightness looks equal. Matrices: Björn
// Ottosson, "A perceptual color space for image processing" (2020).
export function oklch(lightness, chroma, hue) {
  const a = chroma * Math.cos(hue * Math.PI / 180), b = chroma * Math.sin(hue * Math.PI / 180);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const rgb = [4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
               -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
               -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s];
  return "#" + rgb.map((linear) => channel(linear).toString(16).padStart(2, "0")).join("");
}

// Returns the pixel (4 bytes: red, green, blue, opacity) of "#rrggbb".
export function pixelOf(colour) {
  const rgb = Number.parseInt(colour.slice(1), 16);
  return (0xff000000 | (rgb & 255) << 16 | rgb & 0xff00 | rgb >> 16) >>> 0;
}

// Returns the "#rrggbb" of a pixel.
export const cssOf = (pixel) =>
  "#" + ((pixel & 255) << 16 | pixel & 0xff00 | pixel >> 16 & 255).toString(16).padStart(6, "0");

function hashOf(text) {
  let hash = 7;
  for (let i = 0; i < Math.min(text.length, 100); i++) hash = (Math.imul(hash, 31) + text.charCodeAt(i)) | 0;
  return (hash >>> 0) % 1000 / 1000;
}

export class Colours {
  // weights: how much of the recording each function has.
  constructor(capture, weights) {
    const modules = new Map();
    for (let fn = 0; fn < capture.nFunctions; fn++)
      if (capture.kinds[fn] === USER || capture.kinds[fn] === INTERPRETED) modules.set(capture.modules[fn], (modules.get(capture.modules[fn]) || 0) + weights[fn]);
    this.capture = capture;
    this.hues = new Map([...modules].sort((a, b) => b[1] - a[1]).map(([module], i) => [module, HUES[i % HUES.length]]));
    this.setDark(false);
  }

  setDark(isDark) {
    const { nFunctions } = this.capture;
    this.isDark = isDark;
    this.text = isDark ? "#f4f1ea" : "#211d18";
    this.back = pixelOf(isDark ? "#1b1a18" : "#fbfaf8"); // --back of page.css
    this.match = pixelOf(isDark ? "#c026d3" : "#f0abfc");
    this.faint = pixelOf(isDark ? "#3a3733" : "#e4e0d8");
    this.pixels = new Uint32Array(nFunctions); // 0: not made yet
    const light = isDark ? 0.36 : 0.9;
    this.dims = [pixelOf(oklch(light, 0.012, 70)), pixelOf(oklch(light, 0.012, 250))];
    this.changes = Uint32Array.from({ length: 2 * STEPS + 1 }, (_, i) => pixelOf(this.#change((i - STEPS) / STEPS)));
  }

  // Returns the colour of a function as a pixel; css() as text.
  of(fn) {
    const { capture } = this;
    if (this.pixels[fn] === 0) this.pixels[fn] = pixelOf(this.#colour(capture.kinds[fn], capture.modules[fn], capture.names[fn]));
    return this.pixels[fn];
  }

  css(fn) { return cssOf(this.of(fn)); }

  // Returns the colour of a function that a search did not find, as a pixel.
  dim(fn) { return this.dims[FIXED[this.capture.kinds[fn]] ? 1 : 0]; }

  #colour(kind, module, name) {
    const turn = hashOf(name) - 0.5;
    const [hue, chroma] = FIXED[kind] || [this.hues.get(module) || 0, 0.1];
    const isCalm = kind === PROGRAM;
    const light = this.isDark ? (isCalm ? 0.4 : 0.48) : (isCalm ? 0.88 : 0.83);
    return oklch(light + (isCalm ? 0 : turn * 0.075), chroma * (this.isDark ? 0.9 : 1), hue + turn * 14);
  }

  #change(share) {
    const size = Math.abs(share);
    const light = this.isDark ? 0.4 + 0.14 * size : 0.91 - 0.22 * size;
    return oklch(light, 0.01 + 0.15 * size, share === 0 ? 80 : share > 0 ? 25 : 250);
  }

  // Returns the colour of a box as a pixel. share: its change, -1 (all of it is gone) to 1 (all of it
  // is new).
  change(share) { return this.changes[Math.round(Math.min(Math.max(share, -1), 1) * STEPS) + STEPS]; }
}
