/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* chain.h - the chain of a thread's functions while it is read (walk-languages.h), and its records.
 */

#pragma once

#include "lu/interp.h"
#include "walk.h"

/* Bytes that are read of a structure, at most: offsets of fields are below this. */
#define STRUCT_BYTES LU_BPF_STRUCT_BYTES
/* The check covers this many bytes of each name, besides its length. */
#define CHECKED_TEXT 128
/* Bytes that are read of a text object. */
#define TEXT_BYTES (LU_BPF_TEXT_HEADER + CHECKED_TEXT)
/* Code objects that a chain remembers. A power of two. */
#define N_SEEN_CODE 64

struct seen_code
{
  uint64_t code;
  uint64_t chain; /* number of the chain that it was seen in */
  uint32_t check;
  uint32_t unreadable; /* 1 or 0 */
};

/* A chain under way. */
struct chain
{
  struct lu_bpf_interp interp; /* a copy of the file's */
  uint64_t thread_pointer;     /* what the thread's state has as its id */
  uint64_t runtime;            /* address of what the file's `runtime` names */
  uint64_t interpreter, thread, frame;
  struct lu_python_tasks tasks;
  uint64_t task, task_frame; /* the task that runs, and the frame of its outermost coroutine; then
                                the last task whose waiters are looked for */
  uint64_t awaited;          /* what a coroutine awaits; 0: nothing that is known */
  uint64_t marks;            /* bits of struct lu_interp_frame.code, for frames that do not run */
  uint64_t end;              /* of a stack of frames (Ruby) */
  uint64_t process;          /* hash of the process and its last exec */
  uint64_t n_chains;         /* numbers the chains of this CPU */
  uint64_t last_path, last_path_hash;
  uint64_t text_bytes;    /* that were read of a text object */
  uint64_t function_size; /* bytes of an announcement that has to be made; 0: none */
  uint64_t function_key;
  uint64_t n_functions, n_unreadable; /* announced, not readable */
  uint64_t announced_bytes;           /* of announcements for this chain */

  uint64_t word;                    /* read by read_pointer() */
  uint64_t forgotten;               /* for HOST_FORGET() */
  uint8_t window[STRUCT_BYTES + 8]; /* of a thread or frame; a mask bounds an offset */
  uint8_t code[STRUCT_BYTES + 8];
  uint8_t text[STRUCT_BYTES + CHECKED_TEXT + 8];
  struct seen_code seen[N_SEEN_CODE];

  union
  {
    struct lu_interp_function function;
    struct
    {
      uint64_t function_head[sizeof (struct lu_interp_function) / 8];
      uint8_t name[LU_INTERP_MAX_NAME];
      uint8_t path[LU_INTERP_MAX_PATH + LU_INTERP_MAX_LINES]; /* the lines follow the path */
    };
  };
  union
  {
    struct lu_interp_chain record;
    struct
    {
      uint64_t record_head[sizeof (struct lu_interp_chain) / 8];
      struct lu_interp_frame frames[LU_INTERP_MAX_FRAMES];
    };
  };
};
