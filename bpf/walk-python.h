/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* walk-python.h - reads the functions of a thread that runs CPython, after a walk that has passed
 * code of the interpreter (lu/interp.h).
 *
 * The thread stands still, but all that is read is its process's word, and other threads may change
 * it meanwhile. So every read may fail, every pointer may lead anywhere in the process, and all
 * loops are bounded. A structure is read at once, up to the last of its fields: a read takes the
 * same time for 16 bytes as for hundreds.
 *
 * A code object is known by its address and a check word of its fields and texts. They are read
 * each time that a chain has it, because another code object may have taken its place since. */

#pragma once

#include "walk-look.h"

/* Threads and frames that are looked at, as products of two loops: the verifier follows each
 * iteration of a loop separately. */
#define ROUND_THREADS 64
#define THREAD_ROUNDS 64
#define ROUND_FRAMES  64
#define FRAME_ROUNDS  (2 * LU_INTERP_MAX_FRAMES / ROUND_FRAMES) /* half of them may be between */
/* From 3.10 on frames count instructions in units of two bytes. */
#define UNITS_VERSION 0x030a00
/* Instructions of a code object: bytes. */
#define MAX_CODE (16u << 20)
/* Announcements of one chain: bytes. Those of further functions are made with the next chains, so
 * that a hostile process cannot fill the ring with each of its samples. */
#define MAX_ANNOUNCED (128u << 10)
/* Bits of a text's state: its kind, and two above it. */
#define TEXT_STATE   0x1f
#define TEXT_COMPACT (1u << 3)
#define TEXT_ASCII   (1u << 4)

enum python_next
{
  PYTHON_ON,
  PYTHON_END,
};

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
read_pointer (struct python *python, uint64_t address)
{
  python->word = 0;
  host_read_memory (&python->word, sizeof python->word, address);
  return python->word;
}

/* Reads the first bytes of a structure. */
static inline int64_t
read_struct (uint8_t *to, uint64_t size, uint64_t address)
{
  HOST_BOUND (size, STRUCT_BYTES - 1);
  return host_read_memory (to, (uint32_t) size, address);
}

/* The thread */

/* Takes the thread at python->thread if it is ours. END: it is, or there are no more. */
HOST_SUBPROGRAM int64_t
python_pass_thread (walk_ref ref)
{
  struct python *python = host_python (ref);
  const struct lu_python_layout *layout;

  if (python == NULL || python->thread == 0)
    return PYTHON_END;
  layout = &python->interp.file.python;
  if (read_struct (python->window, python->interp.thread_bytes, python->thread) != 0)
    {
      python->thread = 0;
      return PYTHON_END;
    }
  if (ARCH_IS_SELF (word_in (python->window, layout->thread_id), python->thread_pointer))
    {
      python->frame = word_in (python->window, layout->thread_frame);
      return PYTHON_END;
    }
  python->thread = word_in (python->window, layout->thread_next);
  if (python->thread != 0)
    return PYTHON_ON;
  /* The next interpreter's first thread. */
  if (python->interpreter != 0)
    {
      python->interpreter = read_pointer (python, python->interpreter + layout->interp_next);
      if (python->interpreter != 0)
        python->thread = read_pointer (python, python->interpreter + layout->interp_threads);
    }
  return PYTHON_ON;
}

HOST_SUBPROGRAM int64_t
python_pass_threads (walk_ref ref)
{
  int64_t result = PYTHON_ON;

  for (int64_t i = 0; i < ROUND_THREADS && result == PYTHON_ON; i++)
    result = python_pass_thread (ref);
  return result;
}

/* Finds the first interpreter, and prepares the chain's record. FALSE: nothing can be read. */
HOST_SUBPROGRAM int64_t
python_begin (walk_ref ref)
{
  struct python *python = host_python (ref);
  struct walk *walk = host_walk (ref);
  const struct lu_python_layout *layout;
  struct lu_interp_chain *chain;
  uint64_t index, head;

  if (python == NULL || walk == NULL)
    return 0;
  index = walk->interp - 1;
  HOST_BOUND (index, LU_INTERP_MAX_FILES - 1);
  python->interp = host_shared->interps[index];
  python->n_functions = python->n_unreadable = python->function_size = 0;
  python->announced_bytes = 0;
  if (python->interp.file.language != LU_INTERP_PYTHON)
    return 0;
  layout = &python->interp.file.python;
  python->n_chains++;
  python->last_path = python->frame = 0;
  python->process = host_process_hash ();
  python->thread_pointer = host_thread_pointer ();
  chain = &python->chain;
  chain->version = LU_INTERP_CHAIN_VERSION;
  chain->language = LU_INTERP_PYTHON;
  chain->pid = walk->record.pid;
  chain->tid = walk->record.tid;
  chain->time = walk->start_ns;
  chain->flags = chain->n_frames = 0;
  head = read_pointer (python,
                       python->interp.file.runtime + walk->interp_bias + layout->interpreters_head);
  if (head == 0)
    return 0;
  python->interpreter = head;
  if (read_pointer (python, head + layout->interp_next) != 0)
    chain->flags = LU_INTERP_CHAIN_SEVERAL;
  python->thread = read_pointer (python, head + layout->interp_threads);
  return 1;
}

/* Follows the thread's pointer to its frame. */
static inline void
find_frame (struct python *python)
{
  const struct lu_python_layout *layout = &python->interp.file.python;

  if ((layout->flags & LU_PYTHON_CFRAME) != 0 && python->frame != 0)
    python->frame = read_pointer (python, python->frame + layout->cframe_frame);
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

/* Decodes a text object's header, which is in python->text. */
static inline struct python_text
decode_text (const struct python *python)
{
  const struct lu_python_layout *layout = &python->interp.file.python;
  uint64_t state = text_state (half_in (python->text, layout->text_state));
  struct python_text text = { .size = word_in (python->text, layout->text_length),
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
read_text (struct python *python, uint64_t address)
{
  uint64_t rest = PAGE_BYTES - (address & (PAGE_BYTES - 1));

  python->text_bytes = TEXT_BYTES;
  if (host_read_memory (python->text, TEXT_BYTES, address) == 0)
    return 0;
  if (rest >= TEXT_BYTES)
    return -1;
  python->text_bytes = rest;
  return read_struct (python->text, rest, address);
}

/* Returns a hash of a text, 0 if it cannot be read. */
HOST_SUBPROGRAM uint64_t
python_hash_text (walk_ref ref, uint64_t address)
{
  struct python *python = host_python (ref);
  struct python_text text;
  uint64_t hash, n, rest;

  if (python == NULL || read_text (python, address) != 0)
    return 0;
  text = decode_text (python);
  if (text.kind == 0)
    return 0;
  hash = (text.size << 3 ^ text.kind) * LU_BPF_MIX;
  n = text.size < CHECKED_TEXT ? text.size : CHECKED_TEXT;
  if (text.start + n > python->text_bytes)
    return 0;
  HOST_BOUND (text.start, STRUCT_BYTES - 1);
  HOST_FORGET (python, n);
  for (uint64_t i = 0; i < CHECKED_TEXT / 8 && i < n >> 3; i++)
    {
      hash = (hash ^ *(const uint64_t *) (python->text + text.start + 8 * i)) * LU_BPF_MIX;
      hash ^= hash >> 29;
    }
  rest = n & (CHECKED_TEXT - 8);
  n = 8 * (n & 7);
  hash ^= *(const uint64_t *) (python->text + text.start + rest) & ((1ull << n) - 1);
  hash *= LU_BPF_MIX;
  return (hash ^ hash >> 32) | 1;
}

/* Copies a text into an announcement, whose room is `max` bytes, a power of two. */
static inline __attribute__ ((always_inline)) struct lu_interp_text
copy_text (struct python *python, uint64_t address, uint8_t *to, uint64_t max)
{
  struct lu_interp_text result = { 0 };
  struct python_text text;
  uint64_t n;

  if (read_text (python, address) != 0)
    return result;
  text = decode_text (python);
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
  struct python *python = host_python (ref);
  const struct lu_python_layout *layout;
  uint64_t lines, n, is_cut;

  if (python == NULL)
    return 0;
  layout = &python->interp.file.python;
  lines = word_in (python->code, layout->code_lines);
  is_cut = host_read_memory (&python->word, sizeof python->word, lines + layout->bytes_size) != 0;
  n = is_cut ? 0 : python->word;
  if (n >= LU_INTERP_MAX_LINES)
    {
      n = LU_INTERP_MAX_LINES - 1;
      is_cut = 1;
    }
  HOST_BOUND (n, LU_INTERP_MAX_LINES - 1);
  HOST_BOUND (at, LU_INTERP_MAX_PATH - 1);
  if (host_read_memory (python->path + at, (uint32_t) n, lines + layout->bytes_data) != 0)
    {
      n = 0;
      is_cut = 1;
    }
  python->function.lines = (struct lu_interp_table){ .size = (uint16_t) n,
                                                     .format = layout->lines,
                                                     .is_cut = (uint8_t) is_cut };
  return 0;
}

/* Prepares the announcement of the function whose code object is in python->code. */
HOST_SUBPROGRAM int64_t
python_prepare_function (walk_ref ref, uint64_t code, uint32_t check)
{
  struct python *python = host_python (ref);
  const struct lu_python_layout *layout;
  struct lu_interp_function *function;
  uint64_t size;

  if (python == NULL)
    return 0;
  layout = &python->interp.file.python;
  function = &python->function;
  function->version = LU_INTERP_FUNCTION_VERSION;
  function->language = LU_INTERP_PYTHON;
  function->pid = python->chain.pid;
  function->tid = python->chain.tid;
  function->code = code;
  function->check = check;
  function->first_line = half_in (python->code, layout->code_firstlineno);
  function->name = copy_text (python, word_in (python->code, layout->code_name), python->name,
                              LU_INTERP_MAX_NAME);
  function->path = copy_text (python, word_in (python->code, layout->code_filename), python->path,
                              LU_INTERP_MAX_PATH);
  size = function->path.size;
  HOST_BOUND (size, LU_INTERP_MAX_PATH - 1);
  python_copy_lines (ref, size);
  python->function_size =
      sizeof python->function_head + LU_INTERP_MAX_NAME + size + function->lines.size;
  return 0;
}

/* Code objects */

static inline uint64_t
mix (uint64_t hash, uint64_t word)
{
  hash = (hash ^ word) * LU_BPF_MIX;
  return hash ^ hash >> 32;
}

/* Returns the hash of a path. Functions of one file mostly have the same object. */
static inline uint64_t
hash_path (walk_ref ref, struct python *python, uint64_t address)
{
  if (python->last_path != address)
    {
      python->last_path_hash = python_hash_text (ref, address);
      python->last_path = address;
    }
  return python->last_path_hash;
}

/* Returns the check word of a code object, and prepares its announcement if that is not known. -1:
 * it cannot be read. */
HOST_SUBPROGRAM int64_t
python_look_at_code (walk_ref ref, uint64_t code)
{
  struct python *python = host_python (ref);
  const struct lu_python_layout *layout;
  uint64_t *announced = host_shared->announced_functions;
  uint64_t hash, name, path, key, at;

  HOST_NEAR (announced);
  if (python == NULL || read_struct (python->code, python->interp.code_bytes, code) != 0)
    return -1;
  layout = &python->interp.file.python;
  name = word_in (python->code, layout->code_name);
  path = word_in (python->code, layout->code_filename);
  hash = mix (name * LU_BPF_MIX, path);
  hash = mix (hash, half_in (python->code, layout->code_firstlineno)
                        | (uint64_t) half_in (python->code, layout->code_flags) << 32);
  hash = mix (hash, half_in (python->code, layout->code_argcount));
  hash = mix (hash, word_in (python->code, layout->code_lines));
  hash = mix (hash, python_hash_text (ref, name));
  hash = mix (hash, hash_path (ref, python, path));
  key = mix (mix (python->process, code), hash & UINT32_MAX) | 1;
  at = key >> 32;
  HOST_BOUND (at, LU_BPF_N_ANNOUNCED_FUNCTIONS - 1);
  if (announced[at] != key && python->announced_bytes < MAX_ANNOUNCED)
    {
      python->function_key = key;
      python_prepare_function (ref, code, (uint32_t) hash);
    }
  return (int64_t) (hash & UINT32_MAX);
}

/* Sets what a frame says of its code object, which stays the same while a frame refers to it. */
static inline void
take_code (walk_ref ref, struct python *python, uint64_t code, struct lu_interp_frame *frame)
{
  uint64_t at = code >> 4;
  struct seen_code *seen;
  int64_t check;

  HOST_BOUND (at, N_SEEN_CODE - 1);
  seen = &python->seen[at];
  if (seen->code != code || seen->chain != python->n_chains)
    {
      check = python_look_at_code (ref, code);
      seen->unreadable = (uint32_t) negative_bit ((uint64_t) check);
      seen->check = (uint32_t) check;
      seen->code = code;
      seen->chain = python->n_chains;
    }
  frame->check = seen->check;
  frame->code |= (uint64_t) seen->unreadable * LU_INTERP_UNREADABLE;
  python->n_unreadable += seen->unreadable;
}

/* Frames */

/* Returns where the frame's instructions begin, for versions whose frames have a pointer to one. */
static inline uint64_t
find_instructions (struct python *python, uint64_t code)
{
  const struct lu_python_layout *layout = &python->interp.file.python;
  uint64_t copy, copies;

  if (layout->code_copies == 0)
    return code + layout->code_bytes;
  copy = half_in (python->window, layout->frame_copy);
  if (copy == 0)
    return code + layout->code_bytes;
  copies = read_pointer (python, code + layout->code_copies);
  return read_pointer (python, copies + sizeof copies + copy * sizeof copies);
}

/* Returns the byte offset of the frame's instruction. */
static inline uint32_t
find_instr (struct python *python, uint64_t code)
{
  const struct lu_python_layout *layout = &python->interp.file.python;
  uint64_t at = word_in (python->window, layout->frame_instr);

  if (layout->code_bytes != 0)
    at -= find_instructions (python, code);
  else if ((int32_t) at >= 0)
    at = (uint64_t) (uint32_t) at << (python->interp.file.version >= UNITS_VERSION);
  return at < MAX_CODE ? (uint32_t) at : UINT32_MAX;
}

/* The last function was the outermost one of its call. */
static inline void
end_call (struct python *python)
{
  uint64_t last = python->chain.n_frames - 1;

  if (python->chain.n_frames == 0)
    {
      python->chain.flags |= LU_INTERP_CHAIN_NO_LEAF;
      return;
    }
  HOST_BOUND (last, LU_INTERP_MAX_FRAMES - 1);
  python->frames[last].code |= LU_INTERP_ENTRY;
}

/* Takes the frame at python->frame. */
HOST_SUBPROGRAM int64_t
python_take_frame (walk_ref ref)
{
  struct python *python = host_python (ref);
  const struct lu_python_layout *layout;
  struct lu_interp_frame *frame;
  uint64_t code, entry, at;
  int is_entry;

  if (python == NULL || python->frame == 0)
    return PYTHON_END;
  layout = &python->interp.file.python;
  if (python->chain.n_frames >= LU_INTERP_MAX_FRAMES)
    {
      python->chain.flags |= LU_INTERP_CHAIN_CUT;
      return PYTHON_END;
    }
  if (read_struct (python->window, python->interp.frame_bytes, python->frame) != 0)
    {
      python->chain.flags |= LU_INTERP_CHAIN_BROKEN;
      return PYTHON_END;
    }
  python->frame = word_in (python->window, layout->frame_previous);
  entry = half_in (python->window, layout->frame_entry) & 0xff;
  if (layout->entry == LU_PYTHON_ENTRY_OWNER && entry == layout->entry_owner)
    {
      end_call (python);
      return PYTHON_ON;
    }
  is_entry = layout->entry == LU_PYTHON_ENTRY_ALWAYS
             || (layout->entry == LU_PYTHON_ENTRY_FLAG && entry != 0);
  code = word_in (python->window, layout->frame_code);
  if ((layout->flags & LU_PYTHON_TAGGED) != 0)
    code &= ~7ull;
  at = python->chain.n_frames;
  HOST_BOUND (at, LU_INTERP_MAX_FRAMES - 1);
  frame = &python->frames[at];
  frame->code = (code & LU_INTERP_CODE_MASK) | (is_entry ? LU_INTERP_ENTRY : 0);
  frame->instr = find_instr (python, code);
  take_code (ref, python, code, frame);
  python->chain.n_frames++;
  return PYTHON_ON;
}

/* Announces the function that was met for the first time, before the chain that has it. */
static inline void
announce_function (host_context ctx, struct python *python)
{
  uint64_t *announced = host_shared->announced_functions;
  uint64_t size = python->function_size, key = python->function_key, at = key >> 32;

  HOST_NEAR (announced);
  python->function_size = 0;
  if (size > sizeof python->function_head + LU_INTERP_MAX_NAME + sizeof python->path)
    return;
  HOST_BOUND (at, LU_BPF_N_ANNOUNCED_FUNCTIONS - 1);
  if (host_output (ctx, python->function_head, size) != 0)
    return;
  announced[at] = key;
  python->announced_bytes += size;
  python->n_functions++;
}

HOST_SUBPROGRAM int64_t
python_take_frames (host_context ctx, walk_ref ref)
{
  struct python *python = host_python (ref);
  int64_t result = PYTHON_ON;

  if (python == NULL)
    return PYTHON_END;
  for (int64_t i = 0; i < ROUND_FRAMES && result == PYTHON_ON; i++)
    {
      result = python_take_frame (ref);
      if (python->function_size != 0)
        announce_function (ctx, python);
    }
  return result;
}

/* Finds the thread's frame. FALSE: there is no such thread. */
HOST_SUBPROGRAM int64_t
python_find_frame (walk_ref ref)
{
  struct python *python = host_python (ref);
  int64_t result = PYTHON_ON;

  if (python == NULL || !python_begin (ref))
    return 0;
  for (int64_t i = 0; i < THREAD_ROUNDS && result == PYTHON_ON; i++)
    result = python_pass_threads (ref);
  if (result == PYTHON_ON || python->thread == 0)
    return 0;
  find_frame (python);
  return 1;
}

/* Returns whether the walk and the chain have taken too long. */
HOST_SUBPROGRAM int64_t
is_late (walk_ref ref)
{
  const struct walk *walk = host_walk (ref);

  return walk == NULL
         || (host_config.budget_ns != 0 && host_clock () - walk->start_ns > host_config.budget_ns);
}

/* Reads the chain of the thread and emits it. Returns the LuCounter of the outcome. */
HOST_SUBPROGRAM int64_t
python_tell_chain (host_context ctx, walk_ref ref)
{
  struct python *python = host_python (ref);
  int64_t result = PYTHON_ON;
  uint64_t n;

  if (python == NULL || !python_find_frame (ref))
    return LU_COUNTER_BPF_CHAINS_NO_THREAD;
  for (int64_t i = 0; i < FRAME_ROUNDS && result == PYTHON_ON && !is_late (ref); i++)
    result = python_take_frames (ctx, ref);
  if (result == PYTHON_ON)
    python->chain.flags |= LU_INTERP_CHAIN_CUT;
  n = python->chain.n_frames;
  if (n > LU_INTERP_MAX_FRAMES || (n | python->chain.flags) == 0)
    return LU_COUNTER_BPF_CHAINS_EMPTY;
  return host_output (ctx, python->chain_head,
                      sizeof python->chain_head + n * sizeof python->frames[0])
                 == 0
             ? LU_COUNTER_BPF_CHAINS
             : LU_COUNTER_BPF_CHAINS_LOST;
}
