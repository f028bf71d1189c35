/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* walk-chain.h - what the readers of all languages use: fields of structures, the record of a
 * chain, and announcements of functions (lu/interp.h).
 *
 * The thread stands still, but all that is read is its process's word, and other threads may change
 * it meanwhile. So every read may fail, every pointer may lead anywhere in the process, and all
 * loops are bounded. A structure is read at once, up to the last of its fields: a read takes the
 * same time for 16 bytes as for hundreds. */

#pragma once

#include "walk-look.h"

/* Threads and frames that are looked at, as products of two loops: the verifier follows each
 * iteration of a loop separately. */
#define ROUND_THREADS 64
#define THREAD_ROUNDS 64
#define ROUND_FRAMES  64
#define FRAME_ROUNDS  (2 * LU_INTERP_MAX_FRAMES / ROUND_FRAMES) /* half of them may be between */
/* Announcements of one chain: bytes. Those of further functions are made with the next chains, so
 * that a hostile process cannot fill the ring with each of its samples. */
#define MAX_ANNOUNCED (128u << 10)

enum chain_next
{
  CHAIN_ON,
  CHAIN_END,
};

/* Fields */

/* Returns the field of a structure that was read. */
static inline uint64_t
word_in (const uint8_t *structure, uint64_t offset)
{
  HOST_BOUND (offset, STRUCT_BYTES - 1);
  return *(const uint64_t *) (structure + offset);
}

static inline uint32_t
half_in (const uint8_t *structure, uint64_t offset)
{
  HOST_BOUND (offset, STRUCT_BYTES - 1);
  return *(const uint32_t *) (structure + offset);
}

/* Returns the pointer at an address; 0 if it cannot be read. */
static inline uint64_t
read_pointer (struct chain *chain, uint64_t address)
{
  chain->word = 0;
  host_read_memory (&chain->word, sizeof chain->word, address);
  return chain->word;
}

/* Reads the first bytes of a structure. */
static inline int64_t
read_struct (uint8_t *to, uint64_t size, uint64_t address)
{
  HOST_BOUND (size, STRUCT_BYTES - 1);
  return host_read_memory (to, (uint32_t) size, address);
}

/* Hashes */

static inline uint64_t
mix (uint64_t hash, uint64_t word)
{
  hash = (hash ^ word) * LU_BPF_MIX;
  return hash ^ hash >> 32;
}

/* Mixes the text at an offset of chain->text into a hash, up to CHECKED_TEXT bytes. */
static inline __attribute__ ((always_inline)) uint64_t
mix_text (struct chain *chain, uint64_t hash, uint64_t start, uint64_t n)
{
  uint64_t rest;

  HOST_BOUND (start, STRUCT_BYTES - 1);
  HOST_FORGET (chain, n);
  for (uint64_t i = 0; i < CHECKED_TEXT / 8 && i < n >> 3; i++)
    {
      hash = (hash ^ *(const uint64_t *) (chain->text + start + 8 * i)) * LU_BPF_MIX;
      hash ^= hash >> 29;
    }
  rest = n & (CHECKED_TEXT - 8);
  n = 8 * (n & 7);
  hash ^= *(const uint64_t *) (chain->text + start + rest) & ((1ull << n) - 1);
  hash *= LU_BPF_MIX;
  return (hash ^ hash >> 32) | 1;
}

/* Functions */

/* Returns whether a code object with that hash was announced in this process; notes what has to be
 * announced if not. */
static inline int
is_announced (struct chain *chain, uint64_t code, uint64_t hash)
{
  uint64_t *announced = host_shared->announced_functions;
  uint64_t key = mix (mix (chain->process, code), hash & UINT32_MAX) | 1;
  uint64_t at = key >> 32;

  HOST_NEAR (announced);
  HOST_BOUND (at, LU_BPF_N_ANNOUNCED_FUNCTIONS - 1);
  if (announced[at] == key || chain->announced_bytes >= MAX_ANNOUNCED)
    return 1;
  chain->function_key = key;
  return 0;
}

/* Begins the announcement of a function. */
static inline struct lu_interp_function *
begin_function (struct chain *chain, uint64_t code, uint32_t check)
{
  struct lu_interp_function *function = &chain->function;

  function->version = LU_INTERP_FUNCTION_VERSION;
  function->language = chain->record.language;
  function->pid = chain->record.pid;
  function->tid = chain->record.tid;
  function->code = code;
  function->check = check;
  return function;
}

/* Ends it: the path is in its place, and the lines behind it. */
static inline void
end_function (struct chain *chain, uint64_t path_size, uint64_t lines_size)
{
  chain->function_size = sizeof chain->function_head + LU_INTERP_MAX_NAME + path_size + lines_size;
}

/* Returns the place for what is known of a code object in this chain. */
static inline struct seen_code *
seen_at (struct chain *chain, uint64_t code)
{
  uint64_t at = code >> 4;

  HOST_BOUND (at, N_SEEN_CODE - 1);
  return &chain->seen[at];
}

static inline int
is_seen (const struct chain *chain, const struct seen_code *seen, uint64_t code)
{
  return seen->code == code && seen->chain == chain->n_chains;
}

/* check: -1 if the code object could not be read. */
static inline void
note_code (const struct chain *chain, struct seen_code *seen, uint64_t code, int64_t check)
{
  seen->unreadable = (uint32_t) negative_bit ((uint64_t) check);
  seen->check = (uint32_t) check;
  seen->code = code;
  seen->chain = chain->n_chains;
}

/* Sets what a frame says of its code object, which stays the same while a frame refers to it. */
static inline void
tell_code (struct chain *chain, const struct seen_code *seen, struct lu_interp_frame *frame)
{
  frame->check = seen->check;
  frame->code |= (uint64_t) seen->unreadable * LU_INTERP_UNREADABLE;
  chain->n_unreadable += seen->unreadable;
}

/* Announces the function that was met for the first time, before the chain that has it. */
static inline void
announce_function (host_context ctx, struct chain *chain)
{
  uint64_t *announced = host_shared->announced_functions;
  uint64_t size = chain->function_size, key = chain->function_key, at = key >> 32;

  HOST_NEAR (announced);
  chain->function_size = 0;
  if (size > sizeof chain->function_head + LU_INTERP_MAX_NAME + sizeof chain->path)
    return;
  HOST_BOUND (at, LU_BPF_N_ANNOUNCED_FUNCTIONS - 1);
  if (host_output (ctx, chain->function_head, size) != 0)
    return;
  announced[at] = key;
  chain->announced_bytes += size;
  chain->n_functions++;
}

/* Chains */

/* Prepares the record of the chain. Returns the language of the interpreter. */
HOST_SUBPROGRAM int64_t
chain_begin (walk_ref ref)
{
  struct chain *chain = host_chain (ref);
  struct walk *walk = host_walk (ref);
  struct lu_interp_chain *record;
  uint64_t index;

  if (chain == NULL || walk == NULL)
    return LU_INTERP_NONE;
  index = walk->interp - 1;
  HOST_BOUND (index, LU_INTERP_MAX_FILES - 1);
  chain->interp = host_shared->interps[index];
  chain->n_functions = chain->n_unreadable = chain->function_size = 0;
  chain->announced_bytes = 0;
  chain->n_chains++;
  chain->last_path = chain->frame = chain->marks = chain->task_frame = 0;
  chain->process = host_process_hash ();
  chain->thread_pointer = host_thread_pointer ();
  chain->runtime = chain->interp.file.runtime + walk->interp_bias;
  record = &chain->record;
  record->version = LU_INTERP_CHAIN_VERSION;
  record->language = chain->interp.file.language;
  record->pid = walk->record.pid;
  record->tid = walk->record.tid;
  record->time = walk->start_ns;
  record->flags = record->n_frames = 0;
  return record->language;
}

/* The last function was the outermost one of its call. */
static inline void
end_call (struct chain *chain)
{
  uint64_t last = chain->record.n_frames - 1;

  if (chain->record.n_frames == 0)
    {
      chain->record.flags |= LU_INTERP_CHAIN_NO_LEAF;
      return;
    }
  HOST_BOUND (last, LU_INTERP_MAX_FRAMES - 1);
  chain->frames[last].code |= LU_INTERP_ENTRY;
}

/* Returns whether the walk and the chain have taken too long. */
HOST_SUBPROGRAM int64_t
is_late (walk_ref ref)
{
  const struct walk *walk = host_walk (ref);

  return walk == NULL
         || (host_config.budget_ns != 0 && host_clock () - walk->start_ns > host_config.budget_ns);
}

/* Emits the chain. Returns the LuCounter of the outcome. */
HOST_SUBPROGRAM int64_t
emit_chain (host_context ctx, walk_ref ref)
{
  struct chain *chain = host_chain (ref);
  uint64_t n;

  if (chain == NULL)
    return LU_COUNTER_BPF_CHAINS_EMPTY;
  n = chain->record.n_frames;
  if (n > LU_INTERP_MAX_FRAMES || (n | chain->record.flags) == 0)
    return LU_COUNTER_BPF_CHAINS_EMPTY;
  return host_output (ctx, chain->record_head,
                      sizeof chain->record_head + n * sizeof chain->frames[0])
                 == 0
             ? LU_COUNTER_BPF_CHAINS
             : LU_COUNTER_BPF_CHAINS_LOST;
}
