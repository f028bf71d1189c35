/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* bpf-unwound-queue.c - see bpf-unwound-queue.h.
 *
 * Both sides keep the user frames of the previous stack at the end of an array, so the frames that
 * two stacks share stay where they are. */

#include "bpf-unwound-queue.h"

#include "bpf-unwound.h"

#include <string.h>

#define MAX_FRAMES (LU_BPF_MAX_KERNEL + LU_BPF_MAX_FRAMES)

struct _LuBpfUnwoundReceiver
{
  LuProcess *process; /* references; NULL before the first message */
  LuAddressSpace *space;
  guint32 n_user; /* of the previous stack */
  /* Room for a message with its frames at the end. */
  _Alignas(LuStackMessage) guint8 bytes[sizeof (LuStackMessage) + MAX_FRAMES * sizeof (LuFrame)];
};

/* The drain's side */

/* Returns how many of the outermost user frames are also in the previous stack. */
static guint32
count_same (const LuBpfUnwoundSender *self, const LuBpfUnwoundStack *stack)
{
  const guint8 *end = stack->pcs + ((gsize) stack->n_kernel + stack->n_user) * sizeof (guint64);
  const guint64 *last = self->words + LU_BPF_MAX_FRAMES;
  guint32 n = MIN (stack->n_user, self->n), n_same = 0;
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

/* Keeps a whole stack for comparison. Its frames are certain only if BPF used this version of the
 * address space as it was published. */
static void
remember (LuBpfUnwoundSender *self, const LuBpfUnwoundStack *stack, const guint64 *words,
          guint32 n_words, guint64 serial)
{
  gboolean is_certain = serial == stack->serial && (stack->flags & LU_BPF_RECORD_VMAS) == 0;

  memcpy (self->words + LU_BPF_MAX_FRAMES - stack->n_user, words, n_words * sizeof *words);
  self->n = stack->n_user;
  self->serial = is_certain ? serial : 0;
}

/* Everything but the words. */
static void
fill (LuBpfUnwoundMessage *message, const LuLocatedEvent *located, const LuBpfUnwoundResult *result,
      guint32 n_same)
{
  const LuEvent *event = located->event;

  *message = (LuBpfUnwoundMessage){
    .kind = LU_MESSAGE_BPF_UNWOUND,
    .status = result->status,
    .time = event->time,
    .end_pc = result->end_pc,
    .kernel_ip = lu_bpf_unwound_kernel_ip (&event->bpf_unwound),
    .cpu = event->cpu,
    .pid = event->pid,
    .tid = event->tid,
    .n_kernel = event->bpf_unwound.n_kernel,
    .n_user = result->n_user,
    .n_same = n_same,
    .has_fp_steps = (event->bpf_unwound.flags & LU_BPF_RECORD_INFERRED) != 0,
  };
}

gboolean
lu_bpf_unwound_send (LuBpfUnwoundSender *self, LuQueue *queue, const LuLocatedEvent *located,
                     LuStatus *status)
{
  const LuBpfUnwoundStack *stack = &located->event->bpf_unwound;
  guint64 serial = lu_address_space_serial (located->space);
  guint32 n_same = count_same (self, stack);
  LuBpfUnwoundResult result = lu_bpf_unwound_check (located, self->serial == serial ? n_same : 0);
  gboolean is_whole = result.n_user == stack->n_user;
  guint32 n_words = is_whole ? stack->n_user - n_same : result.n_user;
  gsize n_bytes = ((gsize) stack->n_kernel + n_words) * sizeof (guint64);
  LuBpfUnwoundMessage *message = lu_queue_reserve (queue, sizeof *message + n_bytes);

  if (message == NULL)
    return FALSE;
  fill (message, located, &result, result.n_user - n_words);
  memcpy (message->words, stack->pcs, n_bytes);
  if (located->process != self->process || located->space != self->space)
    {
      message->process = lu_process_ref (located->process);
      message->space = lu_address_space_ref (located->space);
    }
  self->process = located->process;
  self->space = located->space;
  if (is_whole)
    remember (self, stack, message->words + stack->n_kernel, n_words, serial);
  else
    self->n = 0;
  *status = result.status;
  lu_queue_commit_quietly (queue, sizeof *message + n_bytes);
  return TRUE;
}

/* The writer's side */

LuBpfUnwoundReceiver *
lu_bpf_unwound_receiver_new (void)
{
  return g_new0 (LuBpfUnwoundReceiver, 1);
}

void
lu_bpf_unwound_receiver_free (LuBpfUnwoundReceiver *self)
{
  if (self == NULL)
    return;
  lu_process_unref (self->process);
  lu_address_space_unref (self->space);
  g_free (self);
}

static void
take_references (LuBpfUnwoundReceiver *self, const LuBpfUnwoundMessage *message)
{
  if (message->process == NULL)
    return;
  lu_process_unref (self->process);
  lu_address_space_unref (self->space);
  self->process = message->process;
  self->space = message->space;
}

const LuStackMessage *
lu_bpf_unwound_receive (LuBpfUnwoundReceiver *self, const LuBpfUnwoundMessage *message)
{
  LuFrame *user = (LuFrame *) (gpointer) (self->bytes + sizeof self->bytes) - message->n_user;
  guint32 n_kernel =
      lu_bpf_unwound_kernel_frames (message->words, message->n_kernel, message->kernel_ip, user);
  LuStackMessage *whole =
      (LuStackMessage *) (gpointer) ((guint8 *) (user - n_kernel) - sizeof *whole);

  g_assert (message->n_same <= self->n_user);
  take_references (self, message);
  self->n_user = message->n_user;
  lu_bpf_unwound_user_frames (message->words + message->n_kernel, message->n_user - message->n_same,
                              user);
  *whole = (LuStackMessage){ .kind = LU_MESSAGE_STACK,
                             .status = message->status,
                             .header = { .time = message->time,
                                         .cpu = message->cpu,
                                         .pid = message->pid,
                                         .tid = message->tid,
                                         .process = self->process,
                                         .space = self->space },
                             .end_pc = message->end_pc,
                             .is_bpf_unwound = TRUE,
                             .has_no_fp_steps = !message->has_fp_steps,
                             .n_kernel = n_kernel,
                             .n_user = message->n_user };
  return whole;
}
