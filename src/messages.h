/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* messages.h - what travels drain -> worker -> writer, as bytes in bounded queues.
 *
 * Pointers in messages are references: the sender takes one, the last receiver drops it. Everything
 * goes through the worker, also what it only hands on, so that the order of the drain is kept. */

#pragma once

#include "lu/sample.h"
#include "lu/stack.h"
#include "process/process.h"

#include <glib.h>

typedef enum
{
  LU_MESSAGE_OPEN,    /* drain -> worker: LuOpenMessage */
  LU_MESSAGE_PROCESS, /* drain -> worker: LuProcessMessage */
  LU_MESSAGE_SAMPLE,  /* drain -> worker: LuSampleMessage */
  LU_MESSAGE_STACK,   /* worker -> writer: LuStackMessage */
  LU_MESSAGE_TASK,    /* all the way: LuTaskMessage */
  LU_MESSAGE_LOG,     /* all the way: LuLogMessage */
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
  LuProcess *process; /* reference */
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
  LuStatus status; /* COMPLETE: to be unwound; else it is settled already */
  LuSampleHeader header;
  LuSample sample; /* its pointers are replaced by what follows: */
  /* guint64 callchain[n_callchain]; guint64 words[n_words]; guint8 stack[stack_size] */
  guint64 payload[];
} LuSampleMessage;

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
  guint32 n_kernel, n_user;
  LuFrame frames[]; /* kernel, then user */
} LuStackMessage;

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
