/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* messages.h - messages between drain, worker and writer, as bytes in bounded queues.
 *
 * Pointers in messages are references: the sender takes one, the last receiver drops it. The worker
 * gives one answer to each message of the drain, in order. DEFERRED holds the answer's place in the
 * writer's queue, so the writer keeps the order of the drain. */

#pragma once

#include "process/process.h"
#include "lu/bpf.h"
#include "lu/stack.h"
#include "unwind/walker.h"

/* A sample, or a stack that BPF unwound, with the process and the address space it belongs to. All
 * borrowed. The address space is the version of the event's time. */
typedef struct
{
  const LuEvent *event;
  LuProcess *process;
  LuAddressSpace *space;
} LuLocatedEvent;

typedef enum
{
  LU_MESSAGE_OPEN,            /* drain -> worker: LuOpenMessage; answer: DONE */
  LU_MESSAGE_PROCESS,         /* drain -> worker: LuProcessMessage; answer: DONE */
  LU_MESSAGE_SAMPLE,          /* drain -> worker: LuSampleMessage; answer: STACK */
  LU_MESSAGE_VERIFY,          /* drain -> worker: LuStackMessage that BPF unwound; answer: STACK */
  LU_MESSAGE_DONE,            /* worker -> writer: nothing to write */
  LU_MESSAGE_STACK,           /* drain or worker -> writer: LuStackMessage */
  LU_MESSAGE_DEFERRED,        /* drain -> writer: the place of the worker's next answer */
  LU_MESSAGE_TASK,            /* drain -> writer: LuTaskMessage */
  LU_MESSAGE_LOG,             /* drain -> writer: LuLogMessage */
  LU_MESSAGE_INTERP_FUNCTION, /* drain -> writer: LuInterpFunctionMessage */
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
  LuProcess *process;    /* reference */
  LuAddressSpace *space; /* reference: the newest version */
} LuProcessMessage;

/* The parts that a sample and its stack have in common. */
typedef struct
{
  guint64 time;
  guint64 weight; /* as in LuSample, like the next */
  guint32 event;
  gint32 cpu, pid, tid;
  LuProcess *process;             /* reference; NULL for a task nobody announced */
  LuAddressSpace *space;          /* reference; NULL together with process */
  char thread_name[LU_COMM_SIZE]; /* a new one; "": none */
} LuSampleHeader;

/* A stack that BPF unwound for a sample that has a copy as well (bpf-unwound.h), as words of its
 * record (bpf.h). */
typedef struct
{
  LuStatus status;
  guint32 n_kernel, n_user; /* words; n_user 0: there is no such stack */
  guint64 kernel_ip;        /* 0: the sample did not hit the kernel */
} LuBpfPart;

/* The functions of an interpreter that ran when the sample hit (interp.h). */
typedef struct
{
  guint32 language; /* enum lu_interp_language; NONE: they are not known */
  guint32 flags;    /* enum lu_interp_chain_flags */
  guint32 n_frames;
} LuInterpPart;

typedef struct
{
  LuMessageKind kind;
  LuSampleHeader header;
  LuSample sample; /* its pointers are replaced by what follows: */
  /* guint64 callchain[n_callchain]; guint64 words[n_words]; guint8 stack[stack_size], padded;
   * guint64 bpf_words[bpf.n_kernel + bpf.n_user]; struct lu_interp_frame[interp.n_frames] */
  LuBpfPart bpf;
  LuInterpPart interp;
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
  gboolean is_bpf_unwound;  /* there was no copy, and frames have no stack offset */
  gboolean has_no_fp_steps; /* no frame is inferred, known without looking at them */
  guint32 n_kernel, n_user;
  LuInterpPart interp;
  LuFrame frames[]; /* kernel, then user; then struct lu_interp_frame[interp.n_frames] */
} LuStackMessage;

/* Returns the functions of an interpreter, leaf first. */
static inline const struct lu_interp_frame *
lu_stack_message_functions (const LuStackMessage *self)
{
  return (const struct lu_interp_frame *) (self->frames + self->n_kernel + self->n_user);
}

/* Whether unwinding stopped at the end of the copy because the page after it was not present. */
static inline gboolean
lu_stack_ends_at_absent_page (const LuStack *stack, const LuSample *sample)
{
  return stack->status == LU_STATUS_UNREADABLE_MEMORY && sample->stack_size < sample->stack_asked;
}

/* Adds the functions to a message that is otherwise complete. frames: not aligned; NULL if there
 * are none. */
static inline void
lu_stack_message_add_functions (LuStackMessage *self, LuInterpPart interp, gconstpointer frames)
{
  self->interp = interp;
  if (interp.n_frames > 0)
    memcpy ((gpointer) lu_stack_message_functions (self), frames,
            interp.n_frames * sizeof (struct lu_interp_frame));
}

/* Drops the user frames that are not verified. */
static inline void
lu_stack_message_end (LuStackMessage *self, const LuVerified *verified)
{
  const struct lu_interp_frame *functions = lu_stack_message_functions (self);

  self->status = verified->status;
  self->end_pc = verified->end_pc;
  self->n_user = verified->n;
  memmove ((gpointer) lu_stack_message_functions (self), functions,
           self->interp.n_frames * sizeof *functions);
}

/* Bytes of the whole message. */
static inline gsize
lu_stack_message_size (const LuStackMessage *self)
{
  return sizeof *self + (self->n_kernel + self->n_user) * sizeof (LuFrame)
         + self->interp.n_frames * sizeof (struct lu_interp_frame);
}

/* Fills in all but the kernel frames, which must be there already, and an interpreter's functions.
 * Takes the header's references. */
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

typedef struct
{
  LuMessageKind kind;
  gboolean is_exit; /* FALSE: a fork */
  guint64 time;
  gint32 pid, child_pid;
} LuTaskMessage;

typedef struct
{
  LuMessageKind kind;
  guint64 time;
  char text[];
} LuLogMessage;

/* A function of an interpreter, before the first stack that has it. */
typedef struct
{
  LuMessageKind kind;
  LuProcess *process; /* reference */
  guint64 time;
  LuInterpFunction function; /* its pointers are replaced by what follows: */
  guint8 text[];             /* the name, then the path, then the lines */
} LuInterpFunctionMessage;
