/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* walk-ruby.h - reads the functions of a thread that runs CRuby, after a walk that has passed code
 * of the interpreter (lu/interp.h).
 *
 * A thread's execution context has a stack of control frames, which grows down. Frames of functions
 * in C have a frame of their own in the native stack and are left out here. A method, block or file
 * is known by the address of its instruction sequence (iseq) and a check word of its names, which
 * are read each time that a chain has it. */

#pragma once

#include "walk-chain.h"

/* Offsets in bytes, the same in 2.7 to 3.4 (vm_core.h, include/ruby). */
#define EC_STACK       0 /* rb_execution_context_t */
#define EC_STACK_WORDS 8
#define EC_FRAME       16
#define EC_BYTES       24
#define FRAME_PC       0 /* rb_control_frame_t */
#define FRAME_ISEQ     16
#define FRAME_EP       32
#define ISEQ_BODY      16 /* rb_iseq_t */
#define BODY_PATH      64 /* rb_iseq_constant_body, its location */
#define BODY_LABEL     80
#define BODY_LINE      88
#define BODY_BYTES     96
#define STRING_LENGTH  16 /* struct RString */
#define STRING_POINTER 24
#define STRING_BYTES   32
#define ARRAY_FIRST    16 /* struct RArray, with its elements inside */

/* The first word of an object (ruby/internal/value_type.h, fl_type.h). */
#define TYPE_MASK          0x1f
#define TYPE_STRING        5
#define TYPE_ARRAY         7
#define STRING_IS_OUTSIDE  (1u << 13)
#define ARRAY_IS_INSIDE    (1u << 13)
#define SHORT_LENGTH_SHIFT 14
#define SHORT_LENGTH_MASK  0x1f

/* The first word of a frame's environment. A dummy is the outermost frame of a thread, which stands
 * for the binding of the top level and is never run. */
#define ENV_FINISH     0x20 /* the outermost one of a call of rb_vm_exec() */
#define ENV_C_FRAME    0x80 /* of a function in C */
#define ENV_TYPE       0x7fff0001
#define ENV_TYPE_DUMMY 0x79990001

/* glibc: the array of the blocks of thread-local variables, 16 bytes for each file, is the second
 * word of the thread (dl-tls.h and tls.h of the C library). */
#define DTV_AT         8
#define DTV_ENTRY_SIZE 16

/* The thread */

/* Returns the address of the pointer to the thread's execution context. */
static inline uint64_t
find_context_pointer (struct chain *chain)
{
  const struct lu_ruby_layout *layout = &chain->interp.file.ruby;
  uint64_t at = chain->runtime, blocks, module;

  if (layout->context == LU_RUBY_CONTEXT_THREAD)
    return chain->thread_pointer + (uint64_t) (int64_t) layout->context_at;
  if (layout->context == LU_RUBY_CONTEXT_VARIABLE)
    return at;
  module = read_pointer (chain, at);
  at = read_pointer (chain, at + sizeof at) + (uint64_t) (int64_t) layout->context_at;
  blocks = read_pointer (chain, chain->thread_pointer + DTV_AT);
  return at + read_pointer (chain, blocks + module * DTV_ENTRY_SIZE);
}

/* Finds the thread's control frames. FALSE: it has none. */
HOST_SUBPROGRAM int64_t
ruby_find_frames (walk_ref ref)
{
  struct chain *chain = host_chain (ref);
  const struct lu_ruby_layout *layout;
  uint64_t context, thread, stack;

  if (chain == NULL)
    return 0;
  layout = &chain->interp.file.ruby;
  context = read_pointer (chain, find_context_pointer (chain));
  if (context == 0 || read_struct (chain->window, EC_BYTES, context) != 0)
    return 0;
  stack = word_in (chain->window, EC_STACK);
  chain->end = stack + word_in (chain->window, EC_STACK_WORDS) * sizeof (uint64_t);
  chain->frame = word_in (chain->window, EC_FRAME);
  if (layout->context == LU_RUBY_CONTEXT_VARIABLE)
    {
      thread = read_pointer (chain, context + layout->context_thread);
      if (read_pointer (chain, thread + layout->thread_id) != chain->thread_pointer)
        return 0;
    }
  return chain->frame >= stack && chain->frame < chain->end;
}

/* Names */

struct ruby_text
{
  uint64_t size, at; /* bytes and address; an address of 0: it is no string */
};

/* Reads where the text of a string is. */
static inline struct ruby_text
find_text (struct chain *chain, uint64_t string)
{
  const struct lu_ruby_layout *layout = &chain->interp.file.ruby;
  struct ruby_text text = { 0 };
  uint64_t flags;

  if (read_struct (chain->text, STRING_BYTES, string) != 0)
    return text;
  flags = word_in (chain->text, 0);
  if ((flags & TYPE_MASK) != TYPE_STRING)
    return text;
  text.size = word_in (chain->text, STRING_LENGTH);
  text.at = string + STRING_POINTER;
  if ((flags & STRING_IS_OUTSIDE) != 0)
    text.at = word_in (chain->text, STRING_POINTER);
  else if (layout->has_short_strings)
    {
      text.size = flags >> SHORT_LENGTH_SHIFT & SHORT_LENGTH_MASK;
      text.at = string + STRING_LENGTH;
    }
  return text;
}

/* Returns a hash of a string, 0 if it cannot be read. */
HOST_SUBPROGRAM uint64_t
ruby_hash_text (walk_ref ref, uint64_t string)
{
  struct chain *chain = host_chain (ref);
  struct ruby_text text;
  uint64_t n;

  if (chain == NULL)
    return 0;
  text = find_text (chain, string);
  n = text.size < CHECKED_TEXT ? text.size : CHECKED_TEXT;
  if (text.at == 0 || read_struct (chain->text, n, text.at) != 0)
    return 0;
  return mix_text (chain, text.size * LU_BPF_MIX, 0, n);
}

/* Copies a string into an announcement, whose room is `max` bytes, a power of two. */
static inline __attribute__ ((always_inline)) struct lu_interp_text
copy_string (struct chain *chain, uint64_t string, uint8_t *to, uint64_t max)
{
  struct lu_interp_text result = { 0 };
  struct ruby_text text = find_text (chain, string);
  uint64_t n = text.size < max ? text.size : max - 1;

  HOST_BOUND (n, max - 1);
  if (text.at == 0 || host_read_memory (to, (uint32_t) n, text.at) != 0)
    return result;
  result.size = (uint16_t) n;
  result.kind = LU_INTERP_UTF8;
  result.is_cut = n != text.size;
  return result;
}

/* Returns the string with the path: the object itself, or the first one of an array. */
static inline uint64_t
find_path (struct chain *chain)
{
  uint64_t path = word_in (chain->code, BODY_PATH), flags = read_pointer (chain, path);

  if ((flags & TYPE_MASK) != TYPE_ARRAY)
    return path;
  return (flags & ARRAY_IS_INSIDE) != 0 ? read_pointer (chain, path + ARRAY_FIRST) : 0;
}

/* Prepares the announcement of the function whose iseq's body is in chain->code. */
HOST_SUBPROGRAM int64_t
ruby_prepare_function (walk_ref ref, uint64_t code, uint32_t check)
{
  struct chain *chain = host_chain (ref);
  struct lu_interp_function *function;
  uint64_t size;

  if (chain == NULL)
    return 0;
  function = begin_function (chain, code, check);
  function->first_line =
      half_in (chain->code, BODY_LINE) >> (chain->interp.file.ruby.has_tagged_first_line != 0);
  function->name =
      copy_string (chain, word_in (chain->code, BODY_LABEL), chain->name, LU_INTERP_MAX_NAME);
  function->path = copy_string (chain, find_path (chain), chain->path, LU_INTERP_MAX_PATH);
  function->lines = (struct lu_interp_table){ .is_cut = 1 };
  size = function->path.size;
  HOST_BOUND (size, LU_INTERP_MAX_PATH - 1);
  end_function (chain, size, 0);
  return 0;
}

/* Frames */

/* Returns the check word of an iseq, and prepares its announcement if that is not known. -1: it
 * cannot be read. */
HOST_SUBPROGRAM int64_t
ruby_look_at_code (walk_ref ref, uint64_t code)
{
  struct chain *chain = host_chain (ref);
  uint64_t hash, label, path;

  if (chain == NULL
      || read_struct (chain->code, BODY_BYTES, read_pointer (chain, code + ISEQ_BODY)) != 0)
    return -1;
  label = word_in (chain->code, BODY_LABEL);
  path = find_path (chain);
  hash = mix (label * LU_BPF_MIX, path);
  hash = mix (hash, half_in (chain->code, BODY_LINE));
  hash = mix (hash, ruby_hash_text (ref, label));
  if (chain->last_path != path)
    {
      chain->last_path_hash = ruby_hash_text (ref, path);
      chain->last_path = path;
    }
  hash = mix (hash, chain->last_path_hash);
  if (!is_announced (chain, code, hash))
    ruby_prepare_function (ref, code, (uint32_t) hash);
  return (int64_t) (hash & UINT32_MAX);
}

/* Takes the control frame at chain->frame. */
HOST_SUBPROGRAM int64_t
ruby_take_frame (walk_ref ref)
{
  struct chain *chain = host_chain (ref);
  struct lu_interp_frame *frame;
  struct seen_code *seen;
  uint64_t code, flags, at;

  if (chain == NULL || chain->frame >= chain->end)
    return CHAIN_END;
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
  chain->frame += chain->interp.frame_bytes;
  code = word_in (chain->window, FRAME_ISEQ);
  if (code == 0 || word_in (chain->window, FRAME_PC) == 0)
    return CHAIN_ON;
  flags = read_pointer (chain, word_in (chain->window, FRAME_EP));
  if ((flags & ENV_C_FRAME) != 0 || (flags & ENV_TYPE) == ENV_TYPE_DUMMY)
    return CHAIN_ON;
  at = chain->record.n_frames;
  HOST_BOUND (at, LU_INTERP_MAX_FRAMES - 1);
  frame = &chain->frames[at];
  frame->code = (code & LU_INTERP_CODE_MASK) | ((flags & ENV_FINISH) != 0 ? LU_INTERP_ENTRY : 0);
  frame->instr = UINT32_MAX;
  seen = seen_at (chain, code);
  if (!is_seen (chain, seen, code))
    note_code (chain, seen, code, ruby_look_at_code (ref, code));
  tell_code (chain, seen, frame);
  chain->record.n_frames++;
  return CHAIN_ON;
}

HOST_SUBPROGRAM int64_t
ruby_take_frames (host_context ctx, walk_ref ref)
{
  struct chain *chain = host_chain (ref);
  int64_t result = CHAIN_ON;

  if (chain == NULL)
    return CHAIN_END;
  for (int64_t i = 0; i < ROUND_FRAMES && result == CHAIN_ON; i++)
    {
      result = ruby_take_frame (ref);
      if (chain->function_size != 0)
        announce_function (ctx, chain);
    }
  return result;
}

/* Reads the chain of the thread. Returns the LuCounter of a failure; -1: there is a chain. */
HOST_SUBPROGRAM int64_t
ruby_read_chain (host_context ctx, walk_ref ref)
{
  struct chain *chain = host_chain (ref);
  int64_t result = CHAIN_ON;

  if (chain == NULL || !ruby_find_frames (ref))
    return LU_COUNTER_BPF_CHAINS_NO_THREAD;
  for (int64_t i = 0; i < FRAME_ROUNDS && result == CHAIN_ON && !is_late (ref); i++)
    result = ruby_take_frames (ctx, ref);
  if (result == CHAIN_ON)
    chain->record.flags |= LU_INTERP_CHAIN_CUT;
  return -1;
}
