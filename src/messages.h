/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* messages.h - what travels between drain, worker and writer, as bytes in bounded queues.
 *
 * Pointers in messages are references: the sender takes one, the last receiver drops it. To each
 * message of the drain the worker gives one answer, in order; DEFERRED keeps the answer's place in
 * the writer's queue, so the order of the drain is kept. */

#pragma once

#include "lu/sample.h"
#include "lu/stack.h"
#include "process/process.h"

#include <glib.h>
#include <string.h>

/* A copy of a stack that is this much smaller than asked for was made before the size grew. */
#define LU_STACK_SIZE_SLACK 512

typedef enum
{
  LU_MESSAGE_OPEN,     /* drain -> worker: LuOpenMessage; answer: DONE */
  LU_MESSAGE_PROCESS,  /* drain -> worker: LuProcessMessage; answer: DONE */
  LU_MESSAGE_SAMPLE,   /* drain -> worker: LuSampleMessage; answer: STACK */
  LU_MESSAGE_DONE,     /* worker -> writer: nothing to write */
  LU_MESSAGE_STACK,    /* drain or worker -> writer: LuStackMessage */
  LU_MESSAGE_WALKED,   /* drain -> writer: LuWalkedMessage */
  LU_MESSAGE_DEFERRED, /* drain -> writer: here belongs the worker's next answer */
  LU_MESSAGE_TASK,     /* drain -> writer: LuTaskMessage */
  LU_MESSAGE_LOG,      /* drain -> writer: LuLogMessage */
} LuMessageKind;

typedef struct
{
  LuMessageKind kind;
} LuMessage;

typedef struct
{
  LuMessageKind kind;
  gint32 pid;
  guint64 start, end;
  LuModule *module; /* reference */
} LuOpenMessage;

typedef struct
{
  LuMessageKind kind;
  LuProcessNeeds needs;
  LuProcess *process; /* reference */
  LuSpace *space;     /* reference: what it maps now */
} LuProcessMessage;

/* What a sample and its stack have in common. */
typedef struct
{
  guint64 time, period;
  gint32 cpu, pid, tid;
  LuProcess *process; /* reference; NULL for a task nobody announced */
  LuSpace *space;     /* reference; NULL together with process */
} LuSampleHeader;

typedef struct
{
  LuMessageKind kind;
  LuSampleHeader header;
  LuSample sample; /* its pointers are replaced by what follows: */
  /* guint64 callchain[n_callchain]; guint64 words[n_words]; guint8 stack[stack_size], padded;
   * LuFrame walked[n_walked_kernel + n_walked] */
  LuStatus walked_status;
  guint32 n_walked_kernel;
  guint32 n_walked; /* user frames that a walk in the kernel found in the same sample; 0: there was
                       none, or it was not kept */
  guint64 payload[];
} LuSampleMessage;

static inline gsize
lu_round_up_8 (gsize bytes)
{
  return (bytes + 7) & ~(gsize) 7;
}

typedef struct
{
  LuMessageKind kind;
  LuStatus status;
  LuSampleHeader header;
  guint64 end_pc;
  guint64 sampled_sp, stack_needed, stack_used;
  guint32 stack_asked;
  guint32 n_joined; /* of the user frames, the outermost, taken from other samples (join.h) */
  gboolean live_read;
  gboolean in_kernel;      /* walked there: there is no copy, and frames say no stack offset */
  gboolean has_no_guesses; /* among the frames, known without looking at them */
  guint32 n_kernel, n_user;
  LuFrame frames[]; /* kernel, then user */
} LuStackMessage;

/* Whether the walk wanted what the copy does not have because a page was not present. */
static inline gboolean
lu_stack_ends_at_absent_page (const LuStack *stack, const LuSample *sample)
{
  return stack->status == LU_STATUS_UNREADABLE_MEMORY && sample->stack_size < sample->stack_asked;
}

/* Whether a copy was made when this size was asked for, or a larger one. */
static inline gboolean
lu_stack_copy_is_of_size (guint32 stack_asked, guint32 size)
{
  return stack_asked + LU_STACK_SIZE_SLACK >= size;
}

/* Bytes of the whole message. */
static inline gsize
lu_stack_message_size (const LuStackMessage *self)
{
  return sizeof *self + (self->n_kernel + self->n_user) * sizeof (LuFrame);
}

/* Makes the message of a stack whose kernel frames stand in it already. The header's references go
 * with it. */
static inline void
lu_stack_message_fill (LuStackMessage *self, LuSampleHeader header, const LuStack *stack,
                       guint32 stack_asked, guint32 n_kernel)
{
  *self = (LuStackMessage){ .kind = LU_MESSAGE_STACK,
                            .status = stack->status,
                            .header = header,
                            .end_pc = stack->end_pc,
                            .sampled_sp = stack->sampled_sp,
                            .stack_needed = stack->stack_needed,
                            .stack_used = stack->stack_used,
                            .stack_asked = stack_asked,
                            .live_read = stack->live_read,
                            .n_kernel = n_kernel,
                            .n_user = stack->n_frames };
  memcpy (self->frames + n_kernel, stack->frames, stack->n_frames * sizeof (LuFrame));
}

/* A stack that was walked in the kernel, as what differs from the last message of this kind
 * (walked-queue.h). */
typedef struct
{
  LuMessageKind kind;
  LuStatus status;
  guint64 time, end_pc;
  gint32 cpu, pid, tid;
  guint32 n_kernel, n_user;
  guint32 n_same;       /* of the user's frames, the outermost: as in the last one */
  gboolean has_guesses; /* there may be some among the user's frames */
  LuProcess *process;   /* reference; NULL: as in the last one, and so is its space */
  LuSpace *space;       /* reference */
  guint64 words[]; /* pcs of n_kernel frames; then n_user - n_same words as in a record (bpf.h) */
} LuWalkedMessage;

typedef struct
{
  LuMessageKind kind;
  gboolean is_exit; /* else a fork */
  guint64 time;
  gint32 pid, child_pid;
} LuTaskMessage;

typedef struct
{
  LuMessageKind kind;
  guint64 time;
  char text[];
} LuLogMessage;
