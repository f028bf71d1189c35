// SPDX-License-Identifier: LGPL-2.1-or-later
// SPDX-FileCopyrightText: 2026 The live-unwinder authors

// dom.mjs - making elements of the page.

import { visible } from "./text.mjs";

export const $ = (id) => document.getElementById(id);

// Attributes that begin with "on" are listeners.
export function element(tag, { text, ...attributes } = {}, ...children) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

// A name from the recording, of which at most `limit` characters are shown.
export const named = (text, limit = 400) => element("bdi", { text: visible(text.length > limit ? text.slice(0, limit) + "…" : text) });
