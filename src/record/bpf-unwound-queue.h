/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* bpf-unwound-queue.h - stacks that BPF unwound, on their way from the drain to the writer.
 *
 * There may be many thousands a second, and their cost is mostly memory that is written and read
 * once. So a message holds only the frames that differ from the previous one, in 8 bytes each, and
 * references only if the process or its address space differs. The outer frames of two stacks of a
 * thread are mostly the same and are not checked again either. Sender and receiver see the same
 * messages in the same order. */

#pragma once

#include "base/queue.h"
#include "lu/bpf.h"
#include "messages.h"

/* Drain thread. All zero at first. */
typedef struct
{
  guint64 serial; /* of the address space that contains all these frames; 0: none is known */
  /* From the previous message, whose references the receiver has or will have: */
  const LuProcess *process;
  const LuAddressSpace *space;
  guint32 n;
  guint64 words[LU_BPF_MAX_FRAMES]; /* user frames; the outermost is the last of the array */
} LuBpfUnwoundSender;

/* Checks the stack of a BPF_UNWOUND event and sends what can be trusted of it; *status: the state
 * that the stack ends in. FALSE: there is no room. Wakes no thread. */
gboolean lu_bpf_unwound_send (LuBpfUnwoundSender *self, LuQueue *queue,
                              const LuLocatedEvent *located, LuStatus *status);

typedef struct _LuBpfUnwoundReceiver LuBpfUnwoundReceiver;

/* Writer thread. */
LuBpfUnwoundReceiver *lu_bpf_unwound_receiver_new (void);
/* Drops the references it has. */
void lu_bpf_unwound_receiver_free (LuBpfUnwoundReceiver *self);

/* Returns the whole stack, valid until the next call. Its references stay the receiver's. */
const LuStackMessage *lu_bpf_unwound_receive (LuBpfUnwoundReceiver *self,
                                              const LuBpfUnwoundMessage *message);
