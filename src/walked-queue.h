/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* walked-queue.h - stacks that were walked in the kernel, on their way from the drain to the
 * writer.
 *
 * There may be many thousands a second, and most of what they cost is memory that is written and
 * read once. So a message has the frames that the last one did not, in 8 bytes each, and
 * references only if its process or space is another one. The outer frames of two stacks of a
 * thread are mostly the same, and need not be checked again either. Sender and receiver see the
 * same messages in the same order. */

#pragma once

#include "base/queue.h"
#include "lu/bpf.h"
#include "lu/event.h"
#include "messages.h"

/* Belongs to the drain thread. */
typedef struct
{
  guint64 serial; /* of the space that all these frames are in; 0: of none */
  /* Of the last message, whose references the receiver has or will have: */
  const LuProcess *process;
  const LuSpace *space;
  guint32 n;
  guint64 words[LU_BPF_MAX_FRAMES]; /* user frames, the outermost one last of all */
} LuWalkedSender;

/* Sends the stack of a WALKED event, as far as it is good; FALSE: there is no room for it. *status:
 * what came of it. Wakes nobody. */
gboolean lu_walked_send (LuWalkedSender *self, LuQueue *queue, const LuEvent *event,
                         LuProcess *process, LuSpace *space, LuStatus *status);

typedef struct _LuWalkedReceiver LuWalkedReceiver;

/* Belongs to the writer thread. */
LuWalkedReceiver *lu_walked_receiver_new (void);
/* Drops the references it has. */
void lu_walked_receiver_free (LuWalkedReceiver *self);

/* The whole message, until the next one is received. Its references stay the receiver's. */
const LuStackMessage *lu_walked_receive (LuWalkedReceiver *self, const LuWalkedMessage *message);
