/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* interp.h - what the BPF program and user space share about interpreters: where an interpreter's
 * structures lie in a file, and the records of the functions that it runs.
 *
 * User space recognises an interpreter when it opens its file, and publishes a layout with the
 * file's module. When a walk passes code of such a file, the program reads the thread's chain of
 * functions at the moment of the sample, while the thread stands still, and emits a record of it
 * before the sample's stack. A function that is met for the first time is announced before that,
 * with its names as they are in memory then. Everything that is read is the sampled process's word.
 */

#pragma once

#include <stdint.h>

/* The languages whose functions can be read. */
enum lu_interp_language
{
  LU_INTERP_NONE,
  LU_INTERP_PYTHON, /* CPython 3.6 and later */
  LU_INTERP_RUBY,   /* CRuby 2.7 and later */
  LU_INTERP_TASKS,  /* only lu_interp_file.tasks: CPython's module _asyncio, in a file of its own */
  LU_N_INTERP_LANGUAGES,
};

/* How a frame of CPython says that it is the first one of a call of its evaluation function, so
 * that the frames further out belong to another frame of the native stack. */
enum lu_python_entry
{
  LU_PYTHON_ENTRY_ALWAYS, /* each frame has a call of its own (before 3.11) */
  LU_PYTHON_ENTRY_FLAG,   /* the byte at `entry` is not 0 (3.11) */
  LU_PYTHON_ENTRY_OWNER,  /* the byte at `entry` is entry_owner: a frame between, of no function
                             (3.12) */
};

enum lu_python_layout_flags
{
  /* The thread's `frame` is a pointer to a structure (_PyCFrame) that has the current frame at
   * cframe_frame (3.11, 3.12). */
  LU_PYTHON_CFRAME = 1 << 0,
  /* The frame's pointer to its code has tags in its lowest bits (3.14). */
  LU_PYTHON_TAGGED = 1 << 1,
};

/* How a code object's table says which line an instruction is of (src/interp/python-lines.h). */
enum lu_python_lines
{
  LU_PYTHON_LINES_DELTAS,    /* co_lnotab (before 3.10) */
  LU_PYTHON_LINES_RANGES,    /* co_linetable of 3.10 */
  LU_PYTHON_LINES_LOCATIONS, /* co_linetable since 3.11 */
};

/* Offsets in bytes. Structures are those of CPython's headers, as of the file's version; from 3.13
 * on they are what the file itself says in _Py_DebugOffsets. */
struct lu_python_layout
{
  uint16_t interpreters_head; /* in _PyRuntime */
  uint16_t interp_next, interp_threads;
  uint16_t thread_next, thread_id, thread_frame; /* PyThreadState; thread_id: pthread_self() */
  uint16_t cframe_frame;
  /* PyFrameObject, _PyInterpreterFrame */
  uint16_t frame_code, frame_previous, frame_instr, frame_entry;
  uint16_t code_filename, code_name; /* code_name: co_qualname where there is one, else co_name */
  uint16_t code_firstlineno, code_argcount, code_flags;
  uint16_t code_lines; /* co_lnotab, co_linetable */
  uint16_t code_bytes; /* where the instructions begin in the code object; 0: frame_instr
                          is an int, an index or offset (before 3.11) */
  /* PyASCIIObject, PyCompactUnicodeObject */
  uint16_t text_length, text_state, text_ascii, text_compact;
  uint16_t bytes_size, bytes_data; /* PyBytesObject */
  /* Builds without the GIL copy the instructions for each thread: where the frame has the number of
   * its copy, and the code object the pointer to all copies. 0: there is only one. */
  uint16_t frame_copy, code_copies;
  /* For the coroutines of tasks that wait (3.14 and later); generator_frame 0: they are not known.
   */
  uint16_t object_type;                   /* PyObject */
  uint16_t generator_frame;               /* PyGenObject: its frame is in it */
  uint16_t generator_state;               /* one byte */
  uint16_t frame_stack;                   /* the frame's pointer to the end of its stack */
  uint16_t set_used, set_table, set_mask; /* PySetObject */
  uint8_t first_suspended, n_suspended;   /* states of a generator: the first is that of one that
                                             yields, the others await what is on its stack, */
  uint8_t awaited_at;                     /* this many words before the end of the stack */
  uint8_t entry;                          /* enum lu_python_entry */
  uint8_t entry_owner;
  uint8_t lines;  /* enum lu_python_lines */
  uint16_t flags; /* enum lu_python_layout_flags */
  /* ELF addresses of the types that have a generator_frame: PyCoro_Type, PyGen_Type,
   * PyAsyncGen_Type; and of _PyAsyncGenASend_Type, whose objects point to an asynchronous
   * generator, and await what it awaits. 0: not known. */
  uint64_t generator_types[3], send_type;
};

/* Where asyncio has its tasks, as CPython's module _asyncio says in its section .AsyncioDebug (3.14
 * and later). All zeros: not known. */
struct lu_python_tasks
{
  uint16_t thread_task; /* PyThreadState: the task that runs */
  /* TaskObj, and futures up to `is_set`. `awaited_by` is who waits for it: a task or future, or, if
   * the byte `is_set` is not 0, a set of these. */
  uint16_t awaited_by, is_task, is_set, coroutine;
  uint16_t bytes; /* that have to be read of a task */
};

/* Where a thread's execution context is. */
enum lu_ruby_context
{
  LU_RUBY_CONTEXT_VARIABLE, /* `runtime` is a pointer to that of the thread that runs (2.7) */
  LU_RUBY_CONTEXT_MODULE,   /* `runtime` is a TLS index, of a block with the pointer */
  LU_RUBY_CONTEXT_THREAD,   /* the pointer is near the thread pointer: an executable */
};

/* Offsets that differ between versions of Ruby; those that never changed are in the program. */
struct lu_ruby_layout
{
  int32_t context_at;            /* in the TLS block, or from the thread pointer on */
  uint16_t context_thread;       /* rb_execution_context_t; with CONTEXT_VARIABLE */
  uint16_t thread_id;            /* rb_thread_t: pthread_self(); with CONTEXT_VARIABLE */
  uint16_t frame_size;           /* rb_control_frame_t */
  uint8_t context;               /* enum lu_ruby_context */
  uint8_t has_short_strings;     /* strings inside their objects have no word for their length */
  uint8_t has_tagged_first_line; /* it is a Fixnum, not an int */
};

/* The interpreter of a file. All zeros: none. */
struct lu_interp_file
{
  uint32_t language; /* enum lu_interp_language */
  uint32_t version;  /* 0x030d00: 3.13.0 */
  uint64_t runtime;  /* ELF address: _PyRuntime; Ruby: see enum lu_ruby_context */
  struct lu_python_tasks tasks;
  union
  {
    struct lu_python_layout python;
    struct lu_ruby_layout ruby;
  };
};

/* Files with an interpreter that are published at a time. */
#define LU_INTERP_MAX_FILES 64

/* Functions of a chain; what is further out is left out, and the record says so. */
#define LU_INTERP_MAX_FRAMES 2048
/* Steps from a task or coroutine to the next one that are followed, of those that wait. */
#define LU_INTERP_MAX_AWAITS 256
/* Bytes of text of each of a function's two names. */
#define LU_INTERP_MAX_NAME 256
#define LU_INTERP_MAX_PATH 512
/* Bytes of a function's table of lines. A power of two, as these. */
#define LU_INTERP_MAX_LINES 16384

/* One function of a chain. `code` has these bits set; a user address has at most 57. */
struct lu_interp_frame
{
  uint64_t code;  /* address of the code object */
  uint32_t check; /* lu_interp_function.check of its announcement */
  uint32_t instr; /* byte offset in the code's instructions of the one that runs; ~0: unknown */
};

/* The function is the outermost one of its call of the evaluation function. */
#define LU_INTERP_ENTRY (1ull << 63)
/* Its code object could not be read. */
#define LU_INTERP_UNREADABLE (1ull << 62)
/* It does not run: a task awaits in it that the task that runs, or one before it, ends. These come
 * after all functions that run: the tasks one after the other, each from its outermost coroutine
 * on, inwards. */
#define LU_INTERP_AWAITS (1ull << 61)
/* The outermost coroutine of a task. Among those that run, only that of the task that runs has it.
 */
#define LU_INTERP_TASK (1ull << 60)
/* With AWAITS: it is no function. `check` is how many tasks wait here; 0: there are more than are
 * followed. */
#define LU_INTERP_NOTE      (1ull << 59)
#define LU_INTERP_CODE_MASK ((1ull << 57) - 1)

/* Raw data of a sample of an output event, as struct lu_bpf_record: the functions of a thread, in
 * the order of its frames, leaf first. It belongs to the next stack or copy of its CPU if pid and
 * tid are those. */
#define LU_INTERP_CHAIN_VERSION (2u << 30 | 1)

enum lu_interp_chain_flags
{
  LU_INTERP_CHAIN_CUT = 1 << 0, /* more than LU_INTERP_MAX_FRAMES */
  LU_INTERP_CHAIN_BROKEN =
      1 << 1, /* a frame could not be read: the last one here is not the outermost */
  /* The innermost call of the evaluation function runs no function any more: the thread's current
   * frame is one between (LU_PYTHON_ENTRY_OWNER), while the function that has returned is cleared.
   */
  LU_INTERP_CHAIN_NO_LEAF = 1 << 2,
  /* The process has several interpreters (interp_next is not 0), so that the frames of the native
   * stack may belong to chains of more than one. */
  LU_INTERP_CHAIN_SEVERAL = 1 << 3,
  /* A function has LU_INTERP_TASK. */
  LU_INTERP_CHAIN_TASK = 1 << 4,
};

/* `frames`: the functions that run, then those that await (LU_INTERP_AWAITS). */
struct lu_interp_chain
{
  uint32_t version; /* LU_INTERP_CHAIN_VERSION */
  uint32_t language;
  uint32_t pid, tid;
  uint64_t time;
  uint32_t flags; /* enum lu_interp_chain_flags */
  uint32_t n_frames;
  struct lu_interp_frame frames[];
};

_Static_assert(sizeof (struct lu_interp_chain) == 32, "frames are aligned");

/* How the text of a name is stored: bytes of each character, PyUnicode_KIND; 1 is Latin-1 (its
 * lower half is ASCII). Or LU_INTERP_UTF8. */
#define LU_INTERP_UTF8 3
struct lu_interp_text
{
  uint16_t size; /* bytes that are here */
  uint8_t kind;  /* 1, 2, 4, LU_INTERP_UTF8; 0: could not be read */
  uint8_t is_cut;
};

/* A function's table of lines. One that could not be read is cut at the beginning. */
struct lu_interp_table
{
  uint16_t size;  /* bytes that are here */
  uint8_t format; /* enum lu_python_lines; Ruby: none is sent */
  uint8_t is_cut;
};

/* Raw data of a sample of an output event: a function that is met for the first time in its process
 * (or again, after its announcement was forgotten). */
#define LU_INTERP_FUNCTION_VERSION (2u << 30 | 2)

struct lu_interp_function
{
  uint32_t version; /* LU_INTERP_FUNCTION_VERSION */
  uint32_t language;
  uint32_t pid, tid;
  uint64_t code;
  uint32_t
      check; /* of all that follows; tells functions apart whose code objects had one address */
  uint32_t first_line;
  struct lu_interp_text name, path;
  struct lu_interp_table lines;
  uint32_t zero;
  uint8_t text[]; /* the name, padded to LU_INTERP_MAX_NAME, then the path, then the lines */
};

_Static_assert(sizeof (struct lu_interp_function) == 48, "no holes");
