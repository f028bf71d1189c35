/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* walk-window.h - reads the stack in windows, since the time of a read hardly depends on its size.
 *
 * A window lies in one page, or in the two pages of what it is read for. So reading a window
 * succeeds exactly if reading that data alone would. */

#pragma once

#include "host.h"

/* Reads the window from the cache line of the address to the end of the page; only the pair at the
 * address if that lies in two pages. Returns 0 if `size` bytes at the address are in the window. */
HOST_SUBPROGRAM int64_t
move_window (walk_ref ref, uint64_t address, uint64_t size)
{
  struct walk *walk = host_walk (ref);
  uint64_t at = address & ~(uint64_t) (LINE_BYTES - 1), bytes = ~address;

  if (walk == NULL)
    return -1;
  HOST_BOUND (bytes, WINDOW_BYTES - 1);
  bytes = (bytes | (LINE_BYTES - 1)) + 1;
  if (address - at + size > bytes)
    {
      at = address;
      bytes = PAIR_BYTES;
    }
  walk->window.at = at;
  walk->window.n_words = walk->window.n_pairs = 0;
  if (host_read_window (walk->window.bytes, (uint32_t) bytes, at) != 0)
    return -1;
  walk->window.n_words = bytes - sizeof (uint64_t) + 1;
  walk->window.n_pairs = bytes - PAIR_BYTES + 1;
  return 0;
}

/* Returns the two words at the address in the window, or NULL if they cannot be read. */
static inline __attribute__ ((always_inline)) const uint64_t *
find_pair (walk_ref ref, struct walk *walk, uint64_t address)
{
  uint64_t offset = address - walk->window.at;

  if (offset >= walk->window.n_pairs)
    {
      if (move_window (ref, address, PAIR_BYTES) != 0)
        return NULL;
      offset = address - walk->window.at;
    }
  HOST_BOUND (offset, WINDOW_BYTES - 1);
  return (const uint64_t *) (walk->window.bytes + offset);
}

/* Sets walk->window.word to the word at the address. Returns 0, or -1 if it cannot be read. */
HOST_SUBPROGRAM int64_t
read_stack (walk_ref ref, uint64_t address)
{
  struct walk *walk = host_walk (ref);
  uint64_t offset;

  if (walk == NULL)
    return -1;
  offset = address - walk->window.at;
  if (offset >= walk->window.n_words)
    {
      walk->window.word = 0;
      if (move_window (ref, address, sizeof walk->window.word) != 0)
        return -1;
      offset = address - walk->window.at;
    }
  HOST_BOUND (offset, WINDOW_BYTES - 1);
  walk->window.word = *(const uint64_t *) (walk->window.bytes + offset);
  return 0;
}
