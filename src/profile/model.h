/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* model.h - a recording in memory, from which reports and all formats except captures and perf.data
 * are made.
 *
 * A model takes the frames of a capture one by one, from a file or while they are recorded. Stacks
 * are nodes of one tree, which starts at the roots, and samples are counted by thread and node;
 * with LU_MODEL_TIMES each sample is kept as well. Otherwise memory grows with the number of
 * distinct stacks, not with time. All addresses get their names at the end (lu_model_name()).
 * Frames in a file are identified by file and offset, so that processes share them. One thread; any
 * bytes are fine.
 */

#pragma once

#include "base/id-table.h"
#include "lu/status.h"
#include "capture/syscap-events.h"
#include "capture/syscap-hits.h"
#include "capture/syscap-reader.h"
#include "symbolize/namer.h"

typedef enum
{
  LU_CODE_USER, /* in a file */
  LU_CODE_KERNEL,
  LU_CODE_GENERATED, /* in memory without a file */
  LU_CODE_NOWHERE,   /* outside every mapping */
  LU_CODE_STATE,     /* no code: the end state of a stack, or the marker of frames left out */
  LU_CODE_FUNCTION,  /* a function that an interpreter runs */
} LuCodeKind;

typedef struct
{
  LuFileId *id;          /* referenced */
  LuNameFile mapped;     /* the mapping of the first process that had the file */
  guint64 file_offset;   /* where that mapping begins in the file */
  char *path;            /* UTF-8, to be displayed; owned */
  const char *base_name; /* part of path after the last slash */
  gboolean is_generated;
  /* Why some frames have no name or no line, untranslated; NULL: all have, or nobody asked. Valid
   * after lu_model_name() and lu_model_add_lines(). */
  const char *without_names, *without_lines;
} LuModelModule;

typedef struct
{
  LuCodeKind kind;
  guint32 module;      /* number; G_MAXUINT32: none */
  guint64 file_offset; /* offset of the byte in the module */
  guint64 address;     /* in the first process that was sampled there */
  gint32 pid;          /* that process */
  gint64 time;         /* of its sample; ns */
  guint32 function;    /* number; valid once there are names */
  guint64 offset;      /* bytes from the start of the function; 0: unknown, or no names yet */
  /* Valid once there are lines: */
  guint32 line;     /* of the code; 0: not known */
  const char *file; /* as the compiler named it, owned by the model; NULL: not known */
  guint32 outer;    /* of an inlined frame: number of the frame with the code; otherwise 0 */
  gboolean is_inlined;
} LuModelFrame;

typedef struct
{
  const char *name; /* a place in a file, or a text in parentheses, if there is no symbol; owned
                       by the model */
  const char *full_name; /* before it was shortened (short-name.h); otherwise the same */
  const char *module;    /* base name of the file, "kernel", "[module]", "" */
  LuCodeKind kind;
  gboolean has_name;     /* the name is a symbol */
  gboolean is_inlined;   /* into another function; not inlined, it is a separate function */
  gboolean is_tail_call; /* it ended with a tail call, as its names say; where it has a frame, it is
                            a separate function */
  const char *defined_in; /* file, owned by the model; NULL: not known */
  guint32 defined_at;     /* line; 0: not known */
  const char *file;       /* after lu_model_split_lines(): file of its one line; otherwise NULL */
  guint32 line;
} LuModelFunction;

typedef struct
{
  gint32 pid;
  LuLabels labels; /* texts are owned, valid UTF-8 and never NULL */
  char *name;      /* lu_labels_program(), or a text if there are no labels; owned */
  gint64 end;      /* ns; 0: it did not exit */
} LuModelProcess;

typedef struct
{
  gint32 pid, tid;
  guint32 process;    /* number */
  gint64 begin, last; /* ns, of its samples */
  const char *name;   /* its process's, unless it has one of its own; valid once all frames are
                         taken; owned by the model */
} LuModelThread;

/* A sample, kept with LU_MODEL_TIMES or LU_MODEL_SOME_TIMES. */
typedef struct
{
  gint64 time;
  guint64 weight; /* of its own; 0 if that of its event is the same for all */
  guint32 thread, node;
  gint16 cpu;
  guint16 event;
} LuModelSample;

/* A counter of the machine, and its values in the order of time; with LU_MODEL_TIMES. */
typedef struct
{
  guint32 id; /* in the capture */
  gboolean is_real;
  char *category, *name; /* valid UTF-8, owned */
} LuModelCounter;

typedef struct
{
  gint64 time;
  guint32 counter; /* index */
  guint64 bits;    /* of a double if the counter is real, else of a gint64 */
} LuModelValue;

/* Values that are kept at most: 24 MB. */
#define LU_MODEL_MAX_VALUES (1u << 20)

/* All samples of one event with the same stack in the same thread. */
typedef struct
{
  guint32 event, thread, node;
  guint64 n;      /* samples */
  guint64 weight; /* sum of what they stand for, in the unit of the event; 0: unknown */
} LuModelCount;

/* The address of a frame that stands for everything a full model has no room for. It is a child of
 * the node where a stack leaves the tree, or a root. */
#define LU_MODEL_REST      (LU_SYNTHETIC_BASE + 0xfffffff)
#define LU_MODEL_REST_NAME "[further stacks]"

/* With LU_MODEL_SOME_TIMES at most this many samples are kept, in 64 MB, so that a recording may go
 * on for weeks. Three quarters of an hour of one busy CPU. */
#define LU_MODEL_MAX_TIMES (2u << 20)

/* Samples, and their own weights (see LuModelSample) added up. */
typedef struct
{
  guint64 n, weight;
} LuModelSum;

typedef enum
{
  LU_MODEL_TIMES = 1 << 0,
  LU_MODEL_FULL_NAMES = 1 << 1,     /* do not shorten names */
  LU_MODEL_FOLD_RECURSION = 1 << 2, /* call trees have one node for a function and its calls of
                                       itself */
  LU_MODEL_THREADS = 1 << 3,    /* call trees have nodes for the names of threads, below programs */
  LU_MODEL_SOME_TIMES = 1 << 4, /* keep the first LU_MODEL_MAX_TIMES samples as well */
  LU_MODEL_NO_TAIL_CALLS = 1 << 5, /* lu_model_add_tail_calls() adds none */
} LuModelFlags;

/* A frame and the node of its caller; parent 0: it is a root. */
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
  GArray *functions;     /* of LuModelFunction; empty until there are names */
  guint32 n_code_frames; /* once there are lines: all frames after these are inlined */
  LuIdTable *nodes;      /* node n has id n - 1 */
  LuIdTable *counted;    /* lu_model_count_key() */
  GArray *counts;        /* of LuModelSum, by id in `counted` */
  GArray *counters;      /* of LuModelCounter */
  GArray *values;        /* of LuModelValue */
  LuSyscapEvents *events;
  GHashTable *metadata;  /* key -> text */
  gint64 time, end_time; /* from the header; ns */
  char capture_time[65]; /* from the header */
  gint64 begin, last;    /* ns: first and last sample */
  guint64 n_samples;
  guint64 n_user;            /* samples with a user stack, except excluded states */
  guint64 n_complete;        /* those of them without a state at the root */
  gboolean has_kernel_names; /* valid once there are names */
  guint64 n_left_out;        /* samples counted below LU_MODEL_REST, because the model was full */
  gboolean is_cut, is_finished; /* see syscap-reader.h; only of files */

  /* Sources of names: */
  GHashTable *state_names;    /* synthetic address -> char* */
  GHashTable *function_names; /* the same for functions and their sources (lu_is_function()) */
  gsize function_text;        /* bytes of these */
  GString *kallsyms;
  GByteArray *symbols;  /* __symbols__ */
  GHashTable *jitdumps; /* pid -> path */
  GStringChunk *texts;
  LuDebuginfod *debuginfod; /* borrowed; NULL: fetch nothing */
  LuNamerProgress go_on;    /* called while names are looked for; NULL: always */
  gpointer go_on_data;

  /* Used while frames come: */
  GHashTable *pids;         /* pid -> LuModelPid, owned */
  GHashTable *thread_names; /* pid << 32 | tid -> text, owned */
  LuFileIds *file_ids;
  GHashTable *module_of; /* LuFileId -> number + 1 */
  LuIdTable *frame_ids, *thread_ids;
  GQueue exited;            /* of pids */
  guint32 sweep;            /* how often unused pids were forgotten */
  guint32 rest_frame;       /* number of the frame LU_MODEL_REST; G_MAXUINT32: not needed yet */
  gboolean is_minus_1;      /* return addresses are stored minus 1 */
  gboolean has_chains_only; /* stacks are callchains, whose completeness is unknown */
} LuModel;

LuModel *lu_model_new (LuModelFlags flags);
void lu_model_free (LuModel *self);

void lu_model_begin (LuModel *self, const LuSyscapHeader *header);
void lu_model_take (LuModel *self, const LuSyscapRecord *record);
/* Adds what a sample hit, after lu_model_take() took it. */
void lu_model_add_hits (LuModel *self, const LuSyscapRecord *sample, LuSyscapHits *hits);
/* Called after the last frame. */
void lu_model_end (LuModel *self);
/* Makes a model of a capture file with all of the above. */
LuModel *lu_model_load (const char *path, LuModelFlags flags, GError **error);

/* Nodes are counted from 1; frames, threads and the sums of samples from 0. */
LuModelNode lu_model_node (const LuModel *self, guint32 node);
/* Call this after lu_model_name(). */
const LuModelFunction *lu_model_function_of (const LuModel *self, guint32 node);
const LuModelProcess *lu_model_process_of (const LuModel *self, guint32 thread);
/* Sets both names of a function that has its kind; borrows the text, which the model owns. */
void lu_model_set_name (LuModel *self, LuModelFunction *function, const char *full_name);
/* Returns the text to display for a function, owned by the caller: its name, and "(inlined)", file
 * and line if it has them. */
char *lu_model_function_text (const LuModelFunction *function);
/* index: below lu_model_n_counts(). */
LuModelCount lu_model_count (const LuModel *self, guint index);
/* Returns the nanoseconds between two samples of an event on one CPU; 0: unknown. */
guint64 lu_model_interval (const LuModel *self);
/* Returns what one sample stands for, in the unit of its event; 0: unknown. */
guint64 lu_model_sample_weight (const LuModel *self, const LuModelSample *sample);
/* Replaces the contents of `path` (of guint32) by the nodes from the root to `node`. */
void lu_model_path (const LuModel *self, guint32 node, GArray *path);

static inline const LuModelFrame *
lu_model_frame (const LuModel *self, guint32 frame)
{
  return &g_array_index (self->frames, LuModelFrame, frame);
}

static inline const LuModelThread *
lu_model_thread (const LuModel *self, guint32 thread)
{
  return &g_array_index (self->threads, LuModelThread, thread);
}

/* Returns a metadata text, or NULL. */
static inline const char *
lu_model_metadata (const LuModel *self, const char *key)
{
  return g_hash_table_lookup (self->metadata, key);
}

static inline guint
lu_model_n_counts (const LuModel *self)
{
  return self->counts->len;
}

/* Returns the key of the event, thread and node in `counted`. */
static inline guint64
lu_model_count_key (const LuModelCount *count)
{
  G_STATIC_ASSERT (LU_MAX_EVENTS <= 1 << 8);
  return (guint64) count->event << 56 | (guint64) count->thread << 32 | count->node;
}

/* There is at least one event. */
static inline guint
lu_model_n_events (const LuModel *self)
{
  return lu_syscap_events_size (self->events);
}

static inline const LuEventInfo *
lu_model_event (const LuModel *self, guint32 event)
{
  return lu_syscap_events_get (self->events, event);
}

/* Names come from the capture itself if it has them (__symbols__, /proc/kallsyms, JITMAP), or else
 * from symbolize/namer.h. */
typedef enum
{
  LU_NAMES_CAPTURE_ONLY = 1 << 0, /* open no files of this machine */
} LuModelNamesFlags;

/* A function that an interpreter runs; everything is borrowed. */
typedef struct
{
  const char *name;             /* "work (app.py:12)"; NULL: not known */
  const char *source;           /* "/srv/app.py:12" and maybe more; NULL: not known */
  gsize path_size, source_size; /* how much of that is "/srv/app.py" and "/srv/app.py:12" */
  guint32 first_line;           /* 12 */
  guint32 line;                 /* that runs; 0: not known */
} LuModelInterpreted;

LuModelInterpreted lu_model_interpreted (const LuModel *self, guint64 address);
/* Tells functions of one name apart; the same for all lines of one. */
guint64 lu_model_interpreted_identity (const LuModelInterpreted *interpreted);

/* Fills in model->functions, and the number of its function in each frame. Functions are told apart
 * by file and start; a function without a symbol is named by its start (place-names.h). */
void lu_model_name (LuModel *model, LuModelNamesFlags flags);

/* Adds frames for functions that ended with a tail call, where that is certain
 * (symbolize/tail-calls.h), between their callers and what they went on in. Opens the files of
 * callers on this machine. Call this after lu_model_name(), and lu_tail_calls_load() before rights
 * are given up. */
void lu_model_add_tail_calls (LuModel *model);

/* Lines come from the DWARF of files of this machine (symbolize/lines.h). Files with the most
 * samples come first. */
typedef enum
{
  LU_MODEL_LINES = 1 << 0,   /* find lines */
  LU_MODEL_INLINES = 1 << 1, /* make inlined functions frames of their own */
} LuModelLinesFlags;

/* Fills in the files and lines of frames (with either flag), where functions are defined, and
 * without_lines of modules; call this after lu_model_name(). With LU_MODEL_INLINES, the frames of
 * inlined functions are between the frame with the code and its callees. */
void lu_model_add_lines (LuModel *model, LuModelLinesFlags flags);
/* Makes each line of a function a function of its own, for outputs that show only functions. */
void lu_model_split_lines (LuModel *model);
/* Returns a translated line, owned by the caller, about files without lines for lack of time or
 * memory, and the share of frames in them; NULL if there are none. */
char *lu_model_lines_left_out (const LuModel *model);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuModel, lu_model_free)
