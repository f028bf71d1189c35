/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* walk-touch.h - loads what a walk is going to need, all at once.
 *
 * Between two samples the sampled program has the caches for itself. A walk that comes to one cold
 * cache line after the other waits for each, but loads that do not depend on each other wait
 * together. So a sample begins with loads of what the last one on this CPU has used; their values
 * do not matter. */

#pragma once

#include "host.h"

/* Lines of a walk that are used in most samples, from its beginning, and of its record. */
#define STATE_LINES  16
#define RECORD_LINES 4
/* A window has more, of which most walks of real programs need a part. */
#define WINDOW_LINES 16
/* The counters of finished walks. */
#define COUNTER_LINES 5

#define TOUCH(x) ((void) *(const volatile uint8_t *) &(x))

/* Touches `n` lines from the address on. */
static inline __attribute__ ((always_inline)) void
touch_lines (const void *at, uint32_t n)
{
#pragma unroll
  for (uint32_t i = 0; i < n; i++)
    TOUCH (((const uint8_t *) at)[i * LINE_BYTES]);
}

/* Touches what the program shares with user space. */
static inline void
touch_shared (const struct touched *touched)
{
  const struct lu_bpf_shared *shared = host_shared;
  uint64_t identity = touched->identity, announcer = touched->announcer;

  HOST_BOUND_BY (identity, host_config.n_identities - 1);
  TOUCH (shared->identities[identity]);
  HOST_BOUND (announcer, LU_BPF_N_ANNOUNCED - 1);
  TOUCH (shared->announced[announcer]);
  TOUCH (shared->process_changes);
#pragma unroll
  for (int i = 0; i < N_TOUCHED_PLACES; i++)
    {
      uint64_t slot = touched->modules[i];

      HOST_BOUND (slot, LU_BPF_MAX_MODULES - 1);
      TOUCH (shared->modules[slot]);
      TOUCH (shared->use[slot]);
    }
}

/* Touches mappings of the process that was walked last. */
static inline void
touch_mappings (const struct walk *walk)
{
  const struct entry *entry = host_entry (LU_BPF_ENTRY_OF (walk->process.mappings));

  if (entry == NULL)
    return;
#pragma unroll
  for (int i = 0; i < N_TOUCHED_PLACES; i++)
    {
      uint64_t at = LU_BPF_AT_OF (walk->process.mappings) + walk->touched.mappings[i];

      HOST_BOUND (at, LU_BPF_ENTRY_WORDS - 1);
      TOUCH (entry->words[at]);
    }
}

/* The kernel orders its reads of the clock, so what is loaded after one waits for itself. */
static inline void
touch_walk (const struct walk *walk, uint32_t cpu)
{
  const struct lu_bpf_counters *c = bpf_map_lookup_elem (&counters, &cpu);

  touch_lines (walk, STATE_LINES);
  touch_lines (&walk->record, RECORD_LINES);
  touch_lines (&walk->window, WINDOW_LINES);
#pragma unroll
  for (int i = 0; i < N_TOUCHED_RULES; i++)
    {
      uint64_t place = walk->touched.rules[i];

      HOST_BOUND (place, (1 << REMEMBERED_BITS) - 1);
      TOUCH (walk->remembered.rules[place]);
    }
  touch_shared (&walk->touched);
  touch_mappings (walk);
  if (c != NULL)
    touch_lines (c, COUNTER_LINES);
}
