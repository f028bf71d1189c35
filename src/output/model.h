/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* model.h - a recording in memory: what reports and all formats but captures and perf.data are made
 * from.
 *
 * Takes the frames of a capture one by one, from a file or while they are recorded. Stacks are
 * shared: a stack is a node of one tree, root first, and samples are counted per thread and node;
 * with LU_MODEL_TIMES each sample is kept besides. So the memory of a long recording follows the
 * number of different stacks. Addresses get names at the end, all at once (model-names.h). Frames
 * of a file are kept by file and offset, so that processes share them. One thread; any bytes are
 * fine. */

#pragma once

#include "base/id-table.h"
#include "lu/status.h"
#include "output/syscap-reader.h"
#include "symbolize/debuginfod.h"

#include <glib.h>

typedef enum
{
  LU_CODE_USER, /* in a file */
  LU_CODE_KERNEL,
  LU_CODE_GENERATED, /* in memory without a file */
  LU_CODE_NOWHERE,   /* in no mapping */
  LU_CODE_STATE,     /* no code: how a stack ended, or what was left out */
} LuCodeKind;

typedef struct
{
  char *path;            /* owned */
  const char *base_name; /* behind the last slash; of path */
  char *build_id;        /* hexadecimal, owned; NULL: unknown */
  guint64 inode;         /* 0: unknown */
  gint32 pid;            /* one process that has it mapped, and where */
  guint64 start, end, file_offset;
  gboolean is_generated;
  const char *without_names; /* why frames of it have none; NULL: all have. After lu_model_name() */
  const char
      *without_lines; /* likewise; NULL also where nobody asked. After lu_model_add_lines() */
} LuModelModule;

typedef struct
{
  LuCodeKind kind;
  guint32 module;      /* number; G_MAXUINT32: none */
  guint64 file_offset; /* of the byte, in the module */
  guint64 address;     /* as the first process that was seen there has it */
  gint32 pid;          /* that process */
  gint64 time;         /* of that sample */
  guint32 function;    /* number; filled in with the names */
  guint32 line;        /* of the code; 0: not known. These three are filled in with the lines */
  const char *file;    /* as the compiler named it, owned by the model; NULL: not known */
  guint32 outer;       /* of what was inlined: the number of the frame with the code; else 0 */
  gboolean is_inlined;
} LuModelFrame;

typedef struct
{
  const char *name;   /* a text in parentheses where there is no symbol; owned by the model */
  const char *module; /* base name of the file, "kernel", "[module]", "" */
  LuCodeKind kind;
  gboolean has_name;      /* there is a symbol */
  gboolean is_inlined;    /* into others; where it is called it is another function, so to say */
  const char *defined_in; /* file, owned by the model; NULL: not known */
  guint32 defined_at;     /* line; 0: not known */
  const char *file; /* of the one line that this is, after lu_model_split_lines(); else NULL */
  guint32 line;
} LuModelFunction;

typedef struct
{
  gint32 pid;
  char *command_line; /* owned; never NULL */
  char *name;         /* short, owned: the program */
  gint64 end;         /* ns; 0: it did not exit */
} LuModelProcess;

typedef struct
{
  gint32 pid, tid;
  guint32 process;    /* number */
  gint64 begin, last; /* ns, of its samples */
} LuModelThread;

/* Of a sample, with LU_MODEL_TIMES. */
typedef struct
{
  gint64 time;
  guint32 thread, node;
  gint32 cpu;
} LuModelSample;

/* What a model has no more room for is counted below this address, whose name says so: where a
 * stack leaves the tree, or at the root. */
#define LU_MODEL_REST      (LU_SYNTHETIC_BASE + 0xfffffff)
#define LU_MODEL_REST_NAME "[further stacks]"

typedef enum
{
  LU_MODEL_TIMES = 1 << 0,
} LuModelFlags;

/* A node is a frame below a chain of callers: number `parent` in front of it, 0: it is a root. */
typedef struct
{
  guint32 parent, frame;
} LuModelNode;

typedef struct
{
  LuModelFlags flags;
  GPtrArray *modules;    /* of LuModelModule, owned */
  GArray *frames;        /* of LuModelFrame */
  GPtrArray *processes;  /* of LuModelProcess, owned */
  GArray *threads;       /* of LuModelThread */
  GArray *samples;       /* of LuModelSample */
  GArray *functions;     /* of LuModelFunction, once there are names */
  guint32 n_code_frames; /* once there are lines: frames behind these were inlined into them */
  LuIdTable *nodes;      /* node n is number n - 1 */
  LuIdTable *counted;    /* (thread, node) */
  GArray *counts;        /* of guint64, for each of these */
  GHashTable *metadata;  /* key -> text */
  gint64 time, end_time; /* of the header; ns */
  char capture_time[65]; /* of the header */
  gint64 begin, last;    /* ns: first and last sample */
  guint64 n_samples;
  guint64 n_user;            /* with a user stack, complete or not, without the excluded ones */
  guint64 n_complete;        /* of these, without a state at the root */
  gboolean has_kernel_names; /* known once there are names */
  guint64 n_left_out;        /* samples counted below LU_MODEL_REST, because the model was full */
  gboolean is_cut, is_finished; /* see syscap-reader.h; only of files */

  /* what gives names */
  GHashTable *state_names; /* synthetic address -> char* */
  GString *kallsyms;
  GByteArray *symbols;  /* __symbols__ */
  GHashTable *jitdumps; /* pid -> path */
  GStringChunk *texts;
  LuDebuginfod *debuginfod; /* borrowed; for names that are not found here; NULL: none */

  /* while frames come */
  GHashTable *pids;      /* pid -> what is mapped */
  GHashTable *module_of; /* mapping name -> number + 1 */
  LuIdTable *frame_ids, *address_ids, *thread_ids;
  GArray *frame_of_address;
  GQueue exited; /* of pids */
  guint32 epoch;
  guint32 sweep;            /* of pids */
  guint32 rest_frame;       /* of LU_MODEL_REST; G_MAXUINT32: not needed yet */
  gboolean is_minus_1;      /* return addresses are stored minus 1 */
  gboolean has_chains_only; /* nobody knows which stacks are complete */
} LuModel;

LuModel *lu_model_new (LuModelFlags flags);
void lu_model_free (LuModel *self);

void lu_model_begin (LuModel *self, const LuSyscapHeader *header);
void lu_model_take (LuModel *self, const LuSyscapRecord *record);
/* No more frames come. */
void lu_model_end (LuModel *self);
/* All of these with a capture file. */
LuModel *lu_model_load (const char *path, LuModelFlags flags, GError **error);

/* node: from 1. */
LuModelNode lu_model_node (const LuModel *self, guint32 node);
const LuModelFrame *lu_model_frame (const LuModel *self, guint32 frame);
/* After lu_model_name(). */
const LuModelFunction *lu_model_function_of (const LuModel *self, guint32 node);
const LuModelThread *lu_model_thread (const LuModel *self, guint32 thread);
const LuModelProcess *lu_model_process_of (const LuModel *self, guint32 thread);
/* How a function is shown: its name, and "(inlined)", file and line if these tell it from others.
 * Owned by the caller. */
char *lu_model_function_text (const LuModelFunction *function);
/* A metadata text, or NULL. */
const char *lu_model_metadata (const LuModel *self, const char *key);
/* Nanoseconds that a sample stands for; 0 where the capture does not say. */
guint64 lu_model_period (const LuModel *self);
/* Nodes from the root to `node`, which replace what is in `path` (of guint32). */
void lu_model_path (const LuModel *self, guint32 node, GArray *path);

static inline gboolean
lu_model_is_synthetic (guint64 address)
{
  return (address >> 32) == 0xE0000000u;
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuModel, lu_model_free)
