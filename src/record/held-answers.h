/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* held-answers.h - samples that wait for rows of their code, and the answers that come after them.
 *
 * The writer gets the worker's answers in the order of the requests, so all that follow a sample
 * that waits are held back, too. The worker goes on meanwhile: a sample that waits takes memory,
 * which is limited, but no time of others. */

#pragma once

#include "messages.h"
#include "module/code-reader.h"

/* Bytes of all requests and answers; and of them for one process, so that there is room for others.
 */
#define LU_HELD_MAX_BYTES         (32u << 20)
#define LU_HELD_MAX_PROCESS_BYTES (24u << 20)

typedef struct _LuHeldAnswers LuHeldAnswers;

/* One place in the order of answers. */
typedef struct
{
  gint32 pid;         /* of the request; 0: there was none */
  LuMessage *request; /* owned; NULL: it has its answer */
  LuMessage *answer;  /* owned; NULL: it waits */
  gsize request_size, answer_size;
  LuAwaitedRows rows; /* that the request waits for */
  guint64 until;      /* monotonic ns: it waits no longer */
} LuHeldAnswer;

LuHeldAnswers *lu_held_answers_new (void);
/* The requests' references are not dropped. */
void lu_held_answers_free (LuHeldAnswers *self);

/* Returns whether there is room for a request. */
gboolean lu_held_answers_have_room (const LuHeldAnswers *self, const LuMessage *request,
                                    gsize size);
/* Copies a request, with its references. */
void lu_held_answers_hold (LuHeldAnswers *self, const LuMessage *request, gsize size,
                           const LuAwaitedRows *rows, guint64 until);
/* Returns room for an answer behind all others, or for that of a request that waits. */
gpointer lu_held_answers_append (LuHeldAnswers *self, gsize size);
gpointer lu_held_answers_settle (LuHeldAnswers *self, LuHeldAnswer *held, gsize size);
/* Frees the request of an answer that is complete. */
void lu_held_answers_drop_request (LuHeldAnswers *self, LuHeldAnswer *held);

gboolean lu_held_answers_is_empty (const LuHeldAnswers *self);
/* Returns the list of LuHeldAnswer, in order; borrowed. */
GList *lu_held_answers_list (const LuHeldAnswers *self);
/* Removes the first one if it has its answer; NULL: it has not, or there is none. */
LuHeldAnswer *lu_held_answers_take (LuHeldAnswers *self);
void lu_held_answer_free (LuHeldAnswer *held);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuHeldAnswers, lu_held_answers_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuHeldAnswer, lu_held_answer_free)
