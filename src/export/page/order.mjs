// SPDX-License-Identifier: LGPL-2.1-or-later
// SPDX-FileCopyrightText: 2026 The live-unwinder authors

// order.mjs - rows in order, of which only those are sorted that somebody has seen.

const FIRST = 256, MAX_ROUNDS = 64;

export class Order {
  // ids: typed array, taken; compare (a, b) is never 0 for different ones.
  constructor(ids, compare) {
    this.ids = ids;
    this.n = ids.length;
    this.compare = compare;
    this.nSorted = 0;
  }

  // Returns the id at a place.
  at(i) {
    if (i >= this.nSorted && i < this.n) this.#sort(Math.min(Math.max(FIRST, 2 * this.nSorted, i + 1), this.n));
    return this.ids[i];
  }

  // Returns the place of an id, or -1.
  find(id) {
    if (!this.ids.includes(id)) return -1;
    let place = 0;
    for (const other of this.ids) if (this.compare(other, id) < 0) place++;
    return place;
  }

  #sort(n) {
    this.#select(this.nSorted, n);
    this.ids.subarray(this.nSorted, n).sort(this.compare);
    this.nSorted = n;
  }

  // Puts those ids before place n that belong there, by halves of what is left (quickselect). An order
  // that makes this slow is sorted as a whole.
  #select(begin, n) {
    let low = begin, high = this.n - 1;
    for (let round = 0; low < high && n <= high; round++) {
      if (round === MAX_ROUNDS) { this.ids.subarray(low).sort(this.compare); return; }
      const middle = this.#split(low, high);
      if (middle < n) low = middle + 1;
      else high = middle;
    }
  }

  // Returns the last place of a lower part, whose ids come before those of the upper part.
  #split(low, high) {
    const { ids, compare } = this, pivot = ids[(low + high) >> 1];
    let i = low - 1, j = high + 1;
    for (;;) {
      do i++; while (compare(ids[i], pivot) < 0);
      do j--; while (compare(ids[j], pivot) > 0);
      if (i >= j) return j;
      const id = ids[i];
      ids[i] = ids[j];
      ids[j] = id;
    }
  }
}
