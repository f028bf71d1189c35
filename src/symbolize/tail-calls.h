/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* tail-calls.h - functions that ended with a tail call, and so are on no stack.
 *
 * A function whose last act is a call may jump instead, and then its frame is gone: a stack shows
 * the other function as called by the first one's caller. The code tells: if the caller calls A
 * directly, the frame is that of B, and A may go on in B, then A did. Functions between A and B are
 * told as far as all ways have them; from a jump of unknown target on, nothing can be told, nor
 * after a call through a pointer.
 *
 * A file is used only if it is the one that was mapped. The bytes are hostile, so everything has
 * limits. Only machines whose instructions are decoded (LuArchFiles.decoded_bits) have answers. One
 * thread. */

#pragma once

#include "symbolize/namer.h"

/* A function that ended with a tail call. */
typedef struct
{
  guint32 file;
  /* File offset of its jump, or of its start if it is not known which of its jumps it was. */
  guint64 file_offset;
} LuTailCall;

/* A return address and the function that returns there. */
typedef struct
{
  guint32 caller_file, callee_file;
  guint64 return_offset; /* in the file of the caller */
  guint64 callee_offset; /* of a byte of the function */
  guint64 callee_start;  /* file offset of the function; G_MAXUINT64: not known */
  guint32 number;        /* chosen by the caller */
  guint first, n;        /* out: its tail calls among all, the outermost first */
} LuTailQuery;

typedef struct
{
  const LuNameFile *files; /* numbered from 0; their budgets are not used */
  guint n_files;
  LuNamerProgress progress; /* as for names; NULL: none */
  gpointer progress_data;
} LuTailCallsOptions;

/* Loads the library for instructions. FALSE: it is not there, and nothing will be found. Call this
 * before rights are given up. */
gboolean lu_tail_calls_load (void);
/* Answers the queries, which it sorts. Returns all tail calls found (of LuTailCall), owned by the
 * caller. */
GArray *lu_tail_calls_find (const LuTailCallsOptions *options, LuTailQuery *queries,
                            guint n_queries);
