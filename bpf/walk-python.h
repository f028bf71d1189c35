/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* walk-python.h - reads the functions of a thread that runs CPython, after a walk that has passed
 * code of the interpreter (lu/interp.h).
 *
 * A code object is known by its address and a check word of its fields and texts. They are read
 * each time that a chain has it, because another code object may have taken its place since. */

#pragma once

#include "walk-chain.h"

/* From 3.10 on frames count instructions in units of two bytes. */
#define UNITS_VERSION 0x030a00
/* Instructions of a code object: bytes. */
#define MAX_CODE (16u << 20)
/* Bits of a text's state: its kind, and two above it. */
#define TEXT_STATE   0x1f
#define TEXT_COMPACT (1u << 3)
#define TEXT_ASCII   (1u << 4)

/* The thread */

/* Takes the thread at chain->thread if it is ours. END: it is, or there are no more. */
HOST_SUBPROGRAM int64_t
python_pass_thread (walk_ref ref)
{
  struct chain *chain = host_chain (ref);
  const struct lu_python_layout *layout;

  if (chain == NULL || chain->thread == 0)
    return CHAIN_END;
  layout = &chain->interp.file.python;
  if (read_struct (chain->window, chain->interp.thread_bytes, chain->thread) != 0)
    {
      chain->thread = 0;
      return CHAIN_END;
    }
  if (ARCH_IS_SELF (word_in (chain->window, layout->thread_id), chain->thread_pointer))
    {
      chain->frame = word_in (chain->window, layout->thread_frame);
      return CHAIN_END;
    }
  chain->thread = word_in (chain->window, layout->thread_next);
  if (chain->thread != 0)
    return CHAIN_ON;
  /* The next interpreter's first thread. */
  if (chain->interpreter != 0)
    {
      chain->interpreter = read_pointer (chain, chain->interpreter + layout->interp_next);
      if (chain->interpreter != 0)
        chain->thread = read_pointer (chain, chain->interpreter + layout->interp_threads);
    }
  return CHAIN_ON;
}

HOST_SUBPROGRAM int64_t
python_pass_threads (walk_ref ref)
{
  int64_t result = CHAIN_ON;

  for (int64_t i = 0; i < ROUND_THREADS && result == CHAIN_ON; i++)
    result = python_pass_thread (ref);
  return result;
}

/* Finds the first interpreter and its first thread. FALSE: there is none. */
HOST_SUBPROGRAM int64_t
python_begin (walk_ref ref)
{
  struct chain *chain = host_chain (ref);
  const struct lu_python_layout *layout;
  uint64_t head;

  if (chain == NULL)
    return 0;
  layout = &chain->interp.file.python;
  head = read_pointer (chain, chain->runtime + layout->interpreters_head);
  if (head == 0)
    return 0;
  chain->interpreter = head;
  if (read_pointer (chain, head + layout->interp_next) != 0)
    chain->record.flags = LU_INTERP_CHAIN_SEVERAL;
  chain->thread = read_pointer (chain, head + layout->interp_threads);
  return 1;
}

/* Follows the thread's pointer to its frame. */
static inline void
find_frame (struct chain *chain)
{
  const struct lu_python_layout *layout = &chain->interp.file.python;

  if ((layout->flags & LU_PYTHON_CFRAME) != 0 && chain->frame != 0)
    chain->frame = read_pointer (chain, chain->frame + layout->cframe_frame);
}

/* Names */

struct python_text
{
  uint64_t size;  /* of the text; bytes */
  uint64_t start; /* of the text in the object */
  uint64_t kind;  /* 0: it cannot be read */
};

/* Returns the bits of a text's state from its kind on. They follow the bits for interned texts, of
 * which there are 2, or at least 8 where threads may change them at the same time (3.14); those
 * have values up to 3. */
static inline uint64_t
text_state (uint64_t word)
{
  if ((word >> 2 & TEXT_STATE) != 0)
    return word >> 2 & TEXT_STATE;
  return (word >> 8 & TEXT_STATE) != 0 ? word >> 8 & TEXT_STATE : word >> 16 & TEXT_STATE;
}

/* Decodes a text object's header, which is in chain->text. */
static inline struct python_text
decode_text (const struct chain *chain)
{
  const struct lu_python_layout *layout = &chain->interp.file.python;
  uint64_t state = text_state (half_in (chain->text, layout->text_state));
  struct python_text text = { .size = word_in (chain->text, layout->text_length),
                              .start = layout->text_compact,
                              .kind = state & 7 };

  if ((state & TEXT_ASCII) != 0)
    text.start = layout->text_ascii;
  if ((state & TEXT_COMPACT) == 0 || (text.kind != 1 && text.kind != 2 && text.kind != 4))
    text.kind = 0;
  if (text.size > UINT32_MAX)
    text.size = UINT32_MAX;
  text.size *= text.kind;
  return text;
}

/* Reads the beginning of a text object. It may lie at the end of the memory that is there. */
static inline int64_t
read_text (struct chain *chain, uint64_t address)
{
  uint64_t rest = PAGE_BYTES - (address & (PAGE_BYTES - 1));

  chain->text_bytes = TEXT_BYTES;
  if (host_read_memory (chain->text, TEXT_BYTES, address) == 0)
    return 0;
  if (rest >= TEXT_BYTES)
    return -1;
  chain->text_bytes = rest;
  return read_struct (chain->text, rest, address);
}

/* Returns a hash of a text, 0 if it cannot be read. */
HOST_SUBPROGRAM uint64_t
python_hash_text (walk_ref ref, uint64_t address)
{
  struct chain *chain = host_chain (ref);
  struct python_text text;
  uint64_t hash, n;

  if (chain == NULL || read_text (chain, address) != 0)
    return 0;
  text = decode_text (chain);
  if (text.kind == 0)
    return 0;
  hash = (text.size << 3 ^ text.kind) * LU_BPF_MIX;
  n = text.size < CHECKED_TEXT ? text.size : CHECKED_TEXT;
  if (text.start + n > chain->text_bytes)
    return 0;
  return mix_text (chain, hash, text.start, n);
}

/* Copies a text into an announcement, whose room is `max` bytes, a power of two. */
static inline __attribute__ ((always_inline)) struct lu_interp_text
copy_text (struct chain *chain, uint64_t address, uint8_t *to, uint64_t max)
{
  struct lu_interp_text result = { 0 };
  struct python_text text;
  uint64_t n;

  if (read_text (chain, address) != 0)
    return result;
  text = decode_text (chain);
  if (text.kind == 0)
    return result;
  n = text.size < max ? text.size : max - text.kind;
  HOST_BOUND (n, max - 1);
  if (host_read_memory (to, (uint32_t) n, address + text.start) != 0)
    return result;
  result.size = (uint16_t) n;
  result.kind = (uint8_t) text.kind;
  result.is_cut = n != text.size;
  return result;
}

/* Copies the beginning of a code object's table of lines behind a path of `at` bytes. */
HOST_SUBPROGRAM int64_t
python_copy_lines (walk_ref ref, uint64_t at)
{
  struct chain *chain = host_chain (ref);
  const struct lu_python_layout *layout;
  uint64_t lines, n, is_cut;

  if (chain == NULL)
    return 0;
  layout = &chain->interp.file.python;
  lines = word_in (chain->code, layout->code_lines);
  is_cut = host_read_memory (&chain->word, sizeof chain->word, lines + layout->bytes_size) != 0;
  n = is_cut ? 0 : chain->word;
  if (n >= LU_INTERP_MAX_LINES)
    {
      n = LU_INTERP_MAX_LINES - 1;
      is_cut = 1;
    }
  HOST_BOUND (n, LU_INTERP_MAX_LINES - 1);
  HOST_BOUND (at, LU_INTERP_MAX_PATH - 1);
  if (host_read_memory (chain->path + at, (uint32_t) n, lines + layout->bytes_data) != 0)
    {
      n = 0;
      is_cut = 1;
    }
  chain->function.lines = (struct lu_interp_table){ .size = (uint16_t) n,
                                                    .format = layout->lines,
                                                    .is_cut = (uint8_t) is_cut };
  return 0;
}

/* Prepares the announcement of the function whose code object is in chain->code. */
HOST_SUBPROGRAM int64_t
python_prepare_function (walk_ref ref, uint64_t code, uint32_t check)
{
  struct chain *chain = host_chain (ref);
  const struct lu_python_layout *layout;
  struct lu_interp_function *function;
  uint64_t size;

  if (chain == NULL)
    return 0;
  layout = &chain->interp.file.python;
  function = begin_function (chain, code, check);
  function->first_line = half_in (chain->code, layout->code_firstlineno);
  function->name =
      copy_text (chain, word_in (chain->code, layout->code_name), chain->name, LU_INTERP_MAX_NAME);
  function->path = copy_text (chain, word_in (chain->code, layout->code_filename), chain->path,
                              LU_INTERP_MAX_PATH);
  size = function->path.size;
  HOST_BOUND (size, LU_INTERP_MAX_PATH - 1);
  python_copy_lines (ref, size);
  end_function (chain, size, function->lines.size);
  return 0;
}

/* Code objects */

/* Returns the hash of a path. Functions of one file mostly have the same object. */
static inline uint64_t
hash_path (walk_ref ref, struct chain *chain, uint64_t address)
{
  if (chain->last_path != address)
    {
      chain->last_path_hash = python_hash_text (ref, address);
      chain->last_path = address;
    }
  return chain->last_path_hash;
}

/* Returns the check word of a code object, and prepares its announcement if that is not known. -1:
 * it cannot be read. */
HOST_SUBPROGRAM int64_t
python_look_at_code (walk_ref ref, uint64_t code)
{
  struct chain *chain = host_chain (ref);
  const struct lu_python_layout *layout;
  uint64_t hash, name, path;

  if (chain == NULL || read_struct (chain->code, chain->interp.code_bytes, code) != 0)
    return -1;
  layout = &chain->interp.file.python;
  name = word_in (chain->code, layout->code_name);
  path = word_in (chain->code, layout->code_filename);
  hash = mix (name * LU_BPF_MIX, path);
  hash = mix (hash, half_in (chain->code, layout->code_firstlineno)
                        | (uint64_t) half_in (chain->code, layout->code_flags) << 32);
  hash = mix (hash, half_in (chain->code, layout->code_argcount));
  hash = mix (hash, word_in (chain->code, layout->code_lines));
  hash = mix (hash, python_hash_text (ref, name));
  hash = mix (hash, hash_path (ref, chain, path));
  if (!is_announced (chain, code, hash))
    python_prepare_function (ref, code, (uint32_t) hash);
  return (int64_t) (hash & UINT32_MAX);
}

/* Frames */

/* Returns where the frame's instructions begin, for versions whose frames have a pointer to one. */
static inline uint64_t
find_instructions (struct chain *chain, uint64_t code)
{
  const struct lu_python_layout *layout = &chain->interp.file.python;
  uint64_t copy, copies;

  if (layout->code_copies == 0)
    return code + layout->code_bytes;
  copy = half_in (chain->window, layout->frame_copy);
  if (copy == 0)
    return code + layout->code_bytes;
  copies = read_pointer (chain, code + layout->code_copies);
  return read_pointer (chain, copies + sizeof copies + copy * sizeof copies);
}

/* Returns the byte offset of the frame's instruction. */
static inline uint32_t
find_instr (struct chain *chain, uint64_t code)
{
  const struct lu_python_layout *layout = &chain->interp.file.python;
  uint64_t at = word_in (chain->window, layout->frame_instr);

  if (layout->code_bytes != 0)
    at -= find_instructions (chain, code);
  else if ((int32_t) at >= 0)
    at = (uint64_t) (uint32_t) at << (chain->interp.file.version >= UNITS_VERSION);
  return at < MAX_CODE ? (uint32_t) at : UINT32_MAX;
}

/* Takes the frame at chain->frame. */
HOST_SUBPROGRAM int64_t
python_take_frame (walk_ref ref)
{
  struct chain *chain = host_chain (ref);
  const struct lu_python_layout *layout;
  struct lu_interp_frame *frame;
  struct seen_code *seen;
  uint64_t address, code, entry, at;
  int is_entry;

  if (chain == NULL || chain->frame == 0)
    return CHAIN_END;
  layout = &chain->interp.file.python;
  if (chain->record.n_frames >= LU_INTERP_MAX_FRAMES)
    {
      chain->record.flags |= LU_INTERP_CHAIN_CUT;
      return CHAIN_END;
    }
  if (read_struct (chain->window, chain->interp.frame_bytes, chain->frame) != 0)
    {
      chain->record.flags |= LU_INTERP_CHAIN_BROKEN;
      return CHAIN_END;
    }
  address = chain->frame;
  chain->frame = chain->marks == 0 ? word_in (chain->window, layout->frame_previous) : 0;
  entry = half_in (chain->window, layout->frame_entry) & 0xff;
  if (layout->entry == LU_PYTHON_ENTRY_OWNER && entry == layout->entry_owner)
    {
      end_call (chain);
      return CHAIN_ON;
    }
  is_entry = layout->entry == LU_PYTHON_ENTRY_ALWAYS
             || (layout->entry == LU_PYTHON_ENTRY_FLAG && entry != 0);
  code = word_in (chain->window, layout->frame_code);
  if ((layout->flags & LU_PYTHON_TAGGED) != 0)
    code &= ~7ull;
  at = chain->record.n_frames;
  HOST_BOUND (at, LU_INTERP_MAX_FRAMES - 1);
  frame = &chain->frames[at];
  frame->code = (code & LU_INTERP_CODE_MASK) | (is_entry ? LU_INTERP_ENTRY : 0) | chain->marks;
  if (address == chain->task_frame)
    {
      frame->code |= LU_INTERP_TASK;
      chain->record.flags |= LU_INTERP_CHAIN_TASK;
      chain->task_frame = 0; /* once, also if frames lead back to it */
    }
  frame->instr = find_instr (chain, code);
  seen = seen_at (chain, code);
  if (!is_seen (chain, seen, code))
    note_code (chain, seen, code, python_look_at_code (ref, code));
  tell_code (chain, seen, frame);
  chain->record.n_frames++;
  return CHAIN_ON;
}

HOST_SUBPROGRAM int64_t
python_take_frames (host_context ctx, walk_ref ref)
{
  struct chain *chain = host_chain (ref);
  int64_t result = CHAIN_ON;

  if (chain == NULL)
    return CHAIN_END;
  for (int64_t i = 0; i < ROUND_FRAMES && result == CHAIN_ON; i++)
    {
      result = python_take_frame (ref);
      if (chain->function_size != 0)
        announce_function (ctx, chain);
    }
  return result;
}

/* Finds the thread's frame. FALSE: there is no such thread. */
HOST_SUBPROGRAM int64_t
python_find_frame (walk_ref ref)
{
  struct chain *chain = host_chain (ref);
  int64_t result = CHAIN_ON;

  if (chain == NULL || !python_begin (ref))
    return 0;
  for (int64_t i = 0; i < THREAD_ROUNDS && result == CHAIN_ON; i++)
    result = python_pass_threads (ref);
  if (result == CHAIN_ON || chain->thread == 0)
    return 0;
  find_frame (chain);
  return 1;
}

/* Finds the outermost coroutine of the task that the thread runs. */
HOST_SUBPROGRAM int64_t
python_begin_task (walk_ref ref)
{
  struct chain *chain = host_chain (ref);
  struct walk *walk = host_walk (ref);
  uint64_t index, coroutine, frame;

  if (chain == NULL || walk == NULL)
    return 0;
  frame = chain->interp.file.python.generator_frame;
  chain->tasks = chain->interp.file.tasks;
  if (walk->interp_tasks != 0)
    {
      index = walk->interp_tasks - 1;
      HOST_BOUND (index, LU_INTERP_MAX_FILES - 1);
      chain->tasks = host_shared->interps[index].file.tasks;
    }
  if (chain->tasks.thread_task == 0 || frame == 0)
    return 0;
  chain->task = read_pointer (chain, chain->thread + chain->tasks.thread_task);
  if (chain->task == 0)
    return 0;
  coroutine = read_pointer (chain, chain->task + chain->tasks.coroutine);
  if (coroutine != 0)
    chain->task_frame = coroutine + frame;
  return 0;
}

/* Reads the chain of the thread. Returns the LuCounter of a failure; -1: there is a chain. */
HOST_SUBPROGRAM int64_t
python_read_chain (host_context ctx, walk_ref ref)
{
  struct chain *chain = host_chain (ref);
  int64_t result = CHAIN_ON;

  if (chain == NULL || !python_find_frame (ref))
    return LU_COUNTER_BPF_CHAINS_NO_THREAD;
  python_begin_task (ref);
  for (int64_t i = 0; i < FRAME_ROUNDS && result == CHAIN_ON && !is_late (ref); i++)
    result = python_take_frames (ctx, ref);
  if (result == CHAIN_ON)
    chain->record.flags |= LU_INTERP_CHAIN_CUT;
  return -1;
}
