/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* line-answers.h - the bytes that a reader of DWARF wrote (dwarf-lines.h), turned into answers;
 * used by lines.c.
 *
 * The reader may have been ended at any byte, or been taken over by the file it read: any bytes are
 * fine. */

#pragma once

#include "symbolize/lines.h"

typedef struct
{
  GStringChunk *texts; /* takes texts; they are UTF-8. Borrowed, as all of these */
  GPtrArray *lines;    /* takes blocks of LuLine, which it frees */
  LuLineQuery *queries;
  const guint32 *numbers; /* of queries, by number of address */
  guint n_numbers;
} LuLineAnswers;

/* Fills in the queries that are answered; of several answers to one, the last. FALSE: the file has
 * no DWARF. */
gboolean lu_line_answers_decode (LuLineAnswers *self, gconstpointer bytes, gsize size);
