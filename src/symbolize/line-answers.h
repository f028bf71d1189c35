/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* line-answers.h - decodes the bytes that a reader of DWARF wrote (dwarf-lines.h); used by lines.c.
 *
 * The reader may have ended at any byte, or the file it read may have taken it over: any bytes are
 * fine. */

#pragma once

#include "symbolize/lines.h"

typedef struct
{
  /* All are borrowed. */
  GStringChunk *texts; /* receives the texts, as UTF-8 */
  GPtrArray *lines;    /* receives blocks of LuLine, which it frees */
  LuLineQuery *queries;
  const guint32 *numbers; /* by address: the number of its query */
  guint n_numbers;        /* addresses */
} LuLineAnswers;

/* Fills in the queries that are answered; the last answer to a query wins. FALSE if the reader says
 * that the file has no DWARF. */
gboolean lu_line_answers_decode (LuLineAnswers *self, gconstpointer bytes, gsize size);
