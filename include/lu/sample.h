/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* sample.h - a borrowed view of one sample: what an engine needs to unwind it.
 *
 * All pointers point into a ring, a scratch buffer or a queue slot and are valid only during the
 * call that receives the sample. The bytes are hostile: sizes were checked by the decoder, values
 * were not. */

#pragma once

#include <stdint.h>

/* Values of the abi word of a sample's registers (enum perf_sample_regs_abi, perf_event.h). */
enum
{
  LU_ABI_NONE = 0,
  LU_ABI_32 = 1,
  LU_ABI_64 = 2,
};

typedef struct
{
  uint16_t abi;          /* LU_ABI_*: of the task, not of the kernel */
  uint16_t machine;      /* EM_* (elf.h) of the machine that recorded it; 0: this one */
  uint32_t n_words;      /* bits set in mask; 0 when abi is LU_ABI_NONE */
  uint64_t mask;         /* perf register mask (attr.sample_regs_user) */
  const uint64_t *words; /* in bit order of mask, 8-aligned; borrowed */
} LuRegs;

/* Units of weights. */
#define LU_UNIT_TIME  "nanoseconds"
#define LU_UNIT_COUNT "count"

/* A recording has at most this many events; samples of further ones belong to the first. */
#define LU_MAX_EVENTS 64

/* One of the events that a source samples. Strings are borrowed. */
typedef struct
{
  const char *name; /* "cycles", "cpu-clock", … */
  const char *unit; /* of the weights */
  uint64_t weight;  /* of every sample; 0: unknown, or different for each sample */
  uint8_t varies;   /* each sample has a weight of its own */
} LuEventInfo;

/* Returns what a sample of the event stands for; own: the weight of the sample itself. */
static inline uint64_t
lu_event_weight (const LuEventInfo *event, uint64_t own)
{
  return event->varies ? own : event->weight;
}

/* Returns an event that is sampled `frequency` times a second, so that each sample stands for the
 * same time. 0 Hz: unknown. */
static inline LuEventInfo
lu_event_of_frequency (const char *name, double frequency)
{
  int is_known = frequency >= 0.001 && frequency <= 1e9;

  return (LuEventInfo){ .name = name,
                        .unit = LU_UNIT_TIME,
                        .weight = is_known ? (uint64_t) (1e9 / frequency + 0.5) : 0 };
}

typedef struct
{
  uint64_t ip;
  uint64_t weight;           /* the period as recorded, see LuEventInfo.varies; 0: not recorded */
  uint64_t event_id;         /* PERF_SAMPLE_IDENTIFIER; 0 if not recorded */
  uint32_t event;            /* index of the event among those of the source */
  const uint64_t *callchain; /* from the kernel, with markers; 8-aligned; borrowed */
  uint32_t n_callchain;
  uint8_t cpumode;     /* PERF_RECORD_MISC_CPUMODE: 1 kernel, 2 user, 3 hypervisor, 4, 5 guest */
  uint8_t is_chain;    /* nothing to unwind was asked for: the callchain is the whole stack */
  uint32_t n_branches; /* the calls that the CPU remembers (LBR), leaf first; 0: not recorded */
  const uint64_t *branches; /* from, to and flags of each; 8-aligned; borrowed */
  LuRegs regs;
  const uint8_t *stack; /* bytes at the user stack pointer, upward; 8-aligned; borrowed */
  uint32_t stack_asked; /* size of the copy in the record (may be less than requested) */
  uint32_t stack_size;  /* of these, valid bytes: min (dyn_size, stack_asked) */
} LuSample;
