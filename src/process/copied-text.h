/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* copied-text.h - compares code that a program has copied with the code that it may be a copy of.
 *
 * Both are in the memory of the process. A program that has moved code of a file (moved-text.h) may
 * also copy some of it, page by page: V8 copies its builtins to near the code that it generates. As
 * far as the bytes are equal, the copy has the unwind information and the names of the file. */

#pragma once

#include <glib.h>

typedef struct
{
  gint32 pid;
  guint64 start, end;           /* of the copy */
  guint64 time;                 /* ns, when it was mapped */
  guint64 text_start, text_end; /* of the code that it may be a copy of, from a page's start */
  guint64 original, size;       /* the answer: that many bytes are those there; 0: none */
} LuCopiedText;

/* Finds the only place in the text, at the start of a page, whose bytes are those of the copy's
 * start, for at least a page. Takes the bytes that it reads from the budget, and finds nothing if
 * that is used up. The process may end or write meanwhile. Reading may block for ever, so only the
 * process in memory-reader.h does it in a recording. Allocates nothing; one thread at a time. */
void lu_copied_text_compare (LuCopiedText *self, guint64 *budget);
