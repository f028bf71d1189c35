/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* walked-queue.c - see walked-queue.h.
 *
 * Both sides keep the user frames of the last stack at the end of an array, so what two stacks have
 * in common stays where it is. */

#include "walked-queue.h"

#include "walked.h"

#include <string.h>

#define MAX_FRAMES (LU_BPF_MAX_KERNEL + LU_BPF_MAX_FRAMES)

struct _LuWalkedReceiver
{
  LuProcess *process; /* references; NULL before the first message */
  LuSpace *space;
  guint32 n_user; /* of the last stack */
  /* What comes before the frames of a message, and the frames. */
  _Alignas(LuStackMessage) guint8 bytes[sizeof (LuStackMessage) + MAX_FRAMES * sizeof (LuFrame)];
};

/* The drain's side */

/* How many of the outermost user frames are those of the last stack. */
static guint32
count_same (const LuWalkedSender *self, const LuWalkedStack *walked)
{
  const guint8 *end = walked->pcs + ((gsize) walked->n_kernel + walked->n_user) * sizeof (guint64);
  const guint64 *last = self->words + LU_BPF_MAX_FRAMES;
  guint32 n = MIN (walked->n_user, self->n), n_same = 0;
  guint64 word;

  while (n_same < n)
    {
      memcpy (&word, end - (n_same + 1) * sizeof word, sizeof word);
      if (word != last[-1 - (gssize) n_same])
        break;
      n_same++;
    }
  return n_same;
}

/* After a stack that is not whole, or not of this version of the space as published, there is
 * nothing to compare with. */
static void
remember (LuWalkedSender *self, const LuWalkedStack *walked, const guint64 *words, guint32 n_words,
          const LuSpace *space)
{
  guint64 serial = lu_space_serial (space);

  memcpy (self->words + LU_BPF_MAX_FRAMES - walked->n_user, words, n_words * sizeof *words);
  self->n = walked->n_user;
  self->serial = serial == walked->serial && (walked->flags & LU_BPF_RECORD_VMAS) == 0 ? serial : 0;
}

gboolean
lu_walked_send (LuWalkedSender *self, LuQueue *queue, const LuEvent *event, LuProcess *process,
                LuSpace *space, LuStatus *status)
{
  const LuWalkedStack *walked = &event->walked;
  guint32 n_same = count_same (self, walked);
  gboolean is_certain = self->serial == lu_space_serial (space);
  LuWalkedResult result = lu_walked_check (walked, process, space, is_certain ? n_same : 0);
  gboolean is_whole = result.n_user == walked->n_user;
  gboolean is_other = process != self->process || space != self->space;
  guint32 n_words = is_whole ? walked->n_user - n_same : result.n_user;
  LuWalkedMessage *message = lu_queue_reserve (
      queue, sizeof *message + (LU_BPF_MAX_KERNEL + (gsize) n_words) * sizeof (guint64));

  if (message == NULL)
    return FALSE;
  *message = (LuWalkedMessage){ .kind = LU_MESSAGE_WALKED,
                                .status = result.status,
                                .time = event->time,
                                .end_pc = result.end_pc,
                                .cpu = event->cpu,
                                .pid = event->pid,
                                .tid = event->tid,
                                .n_kernel = lu_walked_kernel_pcs (walked, message->words),
                                .n_user = result.n_user,
                                .n_same = result.n_user - n_words,
                                .has_guesses = (walked->flags & LU_BPF_RECORD_GUESSED) != 0,
                                .process = is_other ? lu_process_ref (process) : NULL,
                                .space = is_other ? lu_space_ref (space) : NULL };
  memcpy (message->words + message->n_kernel, walked->pcs + walked->n_kernel * sizeof (guint64),
          n_words * sizeof (guint64));
  self->process = process;
  self->space = space;
  if (is_whole)
    remember (self, walked, message->words + message->n_kernel, n_words, space);
  else
    self->n = 0;
  *status = result.status;
  lu_queue_commit_quietly (queue, sizeof *message
                                      + ((gsize) message->n_kernel + n_words) * sizeof (guint64));
  return TRUE;
}

/* The writer's side */

LuWalkedReceiver *
lu_walked_receiver_new (void)
{
  return g_new0 (LuWalkedReceiver, 1);
}

void
lu_walked_receiver_free (LuWalkedReceiver *self)
{
  if (self == NULL)
    return;
  lu_process_unref (self->process);
  lu_space_unref (self->space);
  g_free (self);
}

static void
take_references (LuWalkedReceiver *self, const LuWalkedMessage *message)
{
  if (message->process == NULL)
    return;
  lu_process_unref (self->process);
  lu_space_unref (self->space);
  self->process = message->process;
  self->space = message->space;
}

const LuStackMessage *
lu_walked_receive (LuWalkedReceiver *self, const LuWalkedMessage *message)
{
  LuFrame *user = (LuFrame *) (gpointer) (self->bytes + sizeof self->bytes) - message->n_user;
  LuFrame *kernel = user - message->n_kernel;
  const guint64 *words = message->words + message->n_kernel;
  LuStackMessage *whole = (LuStackMessage *) (gpointer) ((guint8 *) kernel - sizeof *whole);

  g_assert (message->n_same <= self->n_user);
  take_references (self, message);
  self->n_user = message->n_user;
  for (guint32 i = 0; i < message->n_user - message->n_same; i++)
    user[i] = (LuFrame){ .pc = words[i] & LU_BPF_PC_MASK, .flags = lu_walked_flags (words[i]) };
  for (guint32 i = 0; i < message->n_kernel; i++)
    kernel[i] = (LuFrame){ .pc = message->words[i], .flags = LU_FRAME_KERNEL };
  *whole = (LuStackMessage){ .kind = LU_MESSAGE_STACK,
                             .status = message->status,
                             .header = { .time = message->time,
                                         .cpu = message->cpu,
                                         .pid = message->pid,
                                         .tid = message->tid,
                                         .process = self->process,
                                         .space = self->space },
                             .end_pc = message->end_pc,
                             .in_kernel = TRUE,
                             .has_no_guesses = !message->has_guesses,
                             .n_kernel = message->n_kernel,
                             .n_user = message->n_user };
  return whole;
}
