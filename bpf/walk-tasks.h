/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* walk-tasks.h - reads which tasks of asyncio await the one that a thread of CPython runs, after
 * its chain of functions (walk-python.h).
 *
 * A task that waits runs nowhere: its functions are coroutines, of which each but the innermost has
 * the next one on its stack. asyncio notes of each task who awaits it. Only if the frame of the
 * coroutine of the thread's task is in the chain is anything of that task believed. The loop over
 * all steps has an end, whatever leads to what. */

#pragma once

#include "walk-python.h"

/* Steps, as products of two loops. */
#define ROUND_AWAITS 16
#define AWAIT_ROUNDS (LU_INTERP_MAX_AWAITS / ROUND_AWAITS)
/* Entries of a set's table, without one more allocation, and the words of each. */
#define SET_ENTRIES     8
#define SET_ENTRY_WORDS 2
/* Where PyAsyncGenASend has its asynchronous generator, after the object's head. */
#define SEND_GENERATOR 16

/* Adds to the chain what is not a function. */
static inline void
note_tasks (struct chain *chain, uint64_t code, uint32_t n)
{
  uint64_t at = chain->record.n_frames;

  if (at >= LU_INTERP_MAX_FRAMES)
    return;
  HOST_BOUND (at, LU_INTERP_MAX_FRAMES - 1);
  chain->frames[at].code = code | LU_INTERP_AWAITS;
  chain->frames[at].check = n;
  chain->frames[at].instr = UINT32_MAX;
  chain->record.n_frames++;
}

/* Notes that memory cannot be read, or is not what it should be: a coroutine of the task, or a
 * task. */
static inline int64_t
note_unreadable (struct chain *chain)
{
  note_tasks (chain, LU_INTERP_UNREADABLE | (chain->marks & LU_INTERP_TASK), 0);
  chain->n_unreadable++;
  return CHAIN_END;
}

/* Returns the only member of the table of a set; 0: it cannot be told. */
static inline uint64_t
find_member (struct chain *chain, uint64_t table)
{
  const uint64_t *entries = (const uint64_t *) chain->code;
  uint64_t member = 0;

  if (read_struct (chain->code, SET_ENTRIES * SET_ENTRY_WORDS * sizeof *entries, table) != 0)
    return 0;
  for (uint64_t i = 0; i < SET_ENTRIES; i++)
    {
      uint64_t key = entries[SET_ENTRY_WORDS * i], hash = entries[SET_ENTRY_WORDS * i + 1];

      /* A member that was taken out leaves one with the hash -1. */
      if (key != 0 && hash != UINT64_MAX)
        member = key;
    }
  return member;
}

/* Sets chain->task to the only member of a set of those that wait. */
HOST_SUBPROGRAM int64_t
python_take_member (walk_ref ref, uint64_t set)
{
  struct chain *chain = host_chain (ref);
  const struct lu_python_layout *layout;
  uint64_t n;

  if (chain == NULL)
    return CHAIN_END;
  layout = &chain->interp.file.python;
  if (read_struct (chain->window, STRUCT_BYTES / 2, set) != 0)
    return note_unreadable (chain);
  n = word_in (chain->window, layout->set_used);
  if (n == 0)
    return CHAIN_END;
  if (n > 1)
    {
      note_tasks (chain, LU_INTERP_NOTE, n < UINT32_MAX ? (uint32_t) n : UINT32_MAX);
      return CHAIN_END;
    }
  n = word_in (chain->window, layout->set_mask);
  chain->task =
      n < SET_ENTRIES ? find_member (chain, word_in (chain->window, layout->set_table)) : 0;
  return chain->task != 0 ? CHAIN_ON : note_unreadable (chain);
}

/* Goes from a task or future to who awaits it, and to its coroutine. */
HOST_SUBPROGRAM int64_t
python_next_task (walk_ref ref)
{
  struct chain *chain = host_chain (ref);
  uint64_t bytes, waiter;

  if (chain == NULL)
    return CHAIN_END;
  chain->marks = LU_INTERP_AWAITS | LU_INTERP_TASK;
  bytes = chain->tasks.bytes;
  if (read_struct (chain->window, bytes, chain->task) != 0)
    return note_unreadable (chain);
  waiter = word_in (chain->window, chain->tasks.awaited_by);
  if (waiter == 0)
    return CHAIN_END;
  if ((half_in (chain->window, chain->tasks.is_set) & 0xff) == 0)
    chain->task = waiter;
  else if (python_take_member (ref, waiter) != CHAIN_ON)
    return CHAIN_END;
  if (read_struct (chain->window, bytes, chain->task) != 0)
    return note_unreadable (chain);
  if ((half_in (chain->window, chain->tasks.is_task) & 0xff) == 0)
    return CHAIN_ON; /* a future, for which others wait */
  chain->awaited = word_in (chain->window, chain->tasks.coroutine);
  return chain->awaited != 0 ? CHAIN_ON : CHAIN_END;
}

/* Returns whether objects of a type have frames as generators. */
static inline int
is_generator (const struct chain *chain, uint64_t type)
{
  const struct lu_python_layout *layout = &chain->interp.file.python;

  return type != 0
         && (type == layout->generator_types[0] || type == layout->generator_types[1]
             || type == layout->generator_types[2]);
}

/* Sets chain->frame to the frame of the coroutine at chain->awaited, if that is one. */
HOST_SUBPROGRAM int64_t
python_next_coroutine (walk_ref ref)
{
  struct chain *chain = host_chain (ref);
  const struct lu_python_layout *layout;
  uint64_t object, type, state;

  if (chain == NULL)
    return CHAIN_END;
  layout = &chain->interp.file.python;
  object = chain->awaited;
  chain->awaited = 0;
  if (read_struct (chain->code, layout->generator_frame, object) != 0)
    return note_unreadable (chain);
  type = word_in (chain->code, layout->object_type) + chain->interp.file.runtime - chain->runtime;
  if (type == layout->send_type)
    chain->awaited = word_in (chain->code, SEND_GENERATOR);
  else if (!is_generator (chain, type))
    /* A coroutine awaits some other object in the end; a task has to begin with one. */
    return (chain->marks & LU_INTERP_TASK) != 0 ? note_unreadable (chain) : CHAIN_ON;
  else
    {
      state = (half_in (chain->code, layout->generator_state) - layout->first_suspended) & 0xff;
      if (state >= layout->n_suspended)
        return CHAIN_END;
      chain->frame = object + layout->generator_frame;
      chain->awaited = state;
    }
  return CHAIN_ON;
}

/* Sets chain->awaited to what the frame in chain->window awaits, unless it yields. */
HOST_SUBPROGRAM int64_t
python_look_at_stack (walk_ref ref)
{
  struct chain *chain = host_chain (ref);
  const struct lu_python_layout *layout;

  if (chain == NULL || chain->awaited == 0)
    return CHAIN_ON;
  layout = &chain->interp.file.python;
  chain->awaited =
      read_pointer (chain, word_in (chain->window, layout->frame_stack) - 8ull * layout->awaited_at)
      & ~7ull;
  chain->marks = LU_INTERP_AWAITS;
  return chain->awaited != 0 ? CHAIN_ON : note_unreadable (chain);
}

/* Takes a step: to the next task, or to the next coroutine of this one. Calls are at most 8 deep,
 * with that of the program, so this and what calls it last must be inline. */
static inline __attribute__ ((always_inline)) int64_t
python_await (host_context ctx, walk_ref ref, struct chain *chain)
{
  int64_t result;

  if (chain->record.n_frames >= LU_INTERP_MAX_FRAMES - 1)
    {
      note_tasks (chain, LU_INTERP_NOTE, 0);
      return CHAIN_END;
    }
  if (chain->awaited == 0)
    return python_next_task (ref);
  chain->frame = 0;
  result = python_next_coroutine (ref);
  if (chain->frame == 0)
    return result;
  python_take_frames (ctx, ref);
  return python_look_at_stack (ref);
}

HOST_SUBPROGRAM int64_t
python_take_waiters (host_context ctx, walk_ref ref)
{
  struct chain *chain = host_chain (ref);
  int64_t result = CHAIN_ON;

  if (chain == NULL)
    return CHAIN_END;
  for (int64_t i = 0; i < ROUND_AWAITS && result == CHAIN_ON; i++)
    result = python_await (ctx, ref, chain);
  return result;
}

/* Adds the coroutines of the tasks that wait to a chain that has that of the running one. */
static inline __attribute__ ((always_inline)) void
python_read_waiters (host_context ctx, walk_ref ref)
{
  struct chain *chain = host_chain (ref);
  int64_t result = CHAIN_ON;
  uint32_t flags;

  if (chain == NULL || (chain->record.flags & LU_INTERP_CHAIN_TASK) == 0)
    return;
  flags = chain->record.flags;
  chain->task_frame = chain->awaited = 0;
  for (int64_t i = 0; i < AWAIT_ROUNDS && result == CHAIN_ON && !is_late (ref); i++)
    result = python_take_waiters (ctx, ref);
  if (result == CHAIN_ON)
    note_tasks (chain, LU_INTERP_NOTE, 0);
  chain->record.flags = flags;
}
