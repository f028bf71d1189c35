/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* syscap-stack.c - turns frames into addresses; see syscap-stack.h.
 *
 * The kernel part, at most 640 frames (LU_MERGE_MAX_KERNEL_FRAMES), is kept whole. A stack that is
 * too long loses the middle of its user part: the leaf says what ran, and the root where it belongs
 * in the tree. */

#include "syscap-stack.h"

/* Most words of the kernel part, which leaves room for a user part. Only a hostile chain that
 * changes context at every frame reaches it. */
#define MAX_KERNEL_WORDS 900

gboolean
lu_syscap_status_is_shown (LuStatus status)
{
  return status != LU_STATUS_COMPLETE && status != LU_STATUS_NO_USER_CONTEXT
         && status != LU_STATUS_KERNEL_ONLY && status < LU_N_STATUS;
}

char *
lu_syscap_synthetic_name (guint64 address)
{
  guint64 status = address - LU_SYNTHETIC_BASE;

  if (address == LU_SYSCAP_LEFT_OUT)
    return g_strdup (LU_SYSCAP_LEFT_OUT_NAME);
  return status < LU_N_STATUS ? g_strdup_printf ("[%s]", lu_status_title ((LuStatus) status))
                              : NULL;
}

static guint64
context_word (guint32 flags)
{
  if (flags & LU_FRAME_HYPERVISOR)
    return PERF_CONTEXT_HV;
  if (flags & LU_FRAME_GUEST_KERNEL)
    return PERF_CONTEXT_GUEST_KERNEL;
  if (flags & LU_FRAME_GUEST_USER)
    return PERF_CONTEXT_GUEST_USER;
  return PERF_CONTEXT_KERNEL;
}

static guint
encode_kernel (const LuFrame *frames, guint n_frames, guint64 *addresses)
{
  guint64 context = 0;
  guint n = 0;

  for (guint i = 0; i < n_frames && n + 2 <= MAX_KERNEL_WORDS; i++)
    {
      guint64 word = context_word (frames[i].flags);

      if (word != context)
        addresses[n++] = context = word;
      addresses[n++] = frames[i].pc;
    }
  return n;
}

/* Returns whether the address is a context word or a synthetic address. */
static gboolean
is_taken (guint64 address)
{
  return address >= PERF_CONTEXT_MAX || lu_is_synthetic (address);
}

/* Stores 0 for values that would be mistaken for something else, because a register may contain
 * anything. They are so rare that the bits of all addresses tell whether to look for one. A return
 * address of 0 becomes the largest value, since 1 is subtracted. */
static void
encode_frames (const LuFrame *frames, guint n_frames, guint64 *addresses)
{
  guint64 bits = 0;

  for (guint i = 0; i < n_frames; i++)
    {
      addresses[i] = frames[i].pc - ((frames[i].flags & LU_FRAME_RETURN_ADDRESS) != 0);
      bits |= addresses[i];
    }
  for (guint i = 0; bits >= LU_SYNTHETIC_BASE && i < n_frames; i++)
    if (is_taken (addresses[i]) && (frames[i].flags & LU_FRAME_FUNCTION) == 0)
      addresses[i] = 0;
}

static guint
encode_user (const LuFrame *frames, guint n_frames, guint room, guint64 *addresses)
{
  guint n_root = (room - 1) / 2, n_leaf = room - 1 - n_root;

  if (n_frames <= room)
    {
      encode_frames (frames, n_frames, addresses);
      return n_frames;
    }
  encode_frames (frames, n_leaf, addresses);
  addresses[n_leaf] = LU_SYSCAP_LEFT_OUT;
  encode_frames (frames + n_frames - n_root, n_root, addresses + n_leaf + 1);
  return room;
}

guint
lu_syscap_stack_encode (const LuSinkSample *sample, guint64 addresses[LU_SYSCAP_MAX_ADDRESSES])
{
  gboolean is_shown = lu_syscap_status_is_shown (sample->status);
  guint n = encode_kernel (sample->kernel, sample->n_kernel, addresses);

  if (sample->n_user == 0 && !is_shown)
    return n;
  addresses[n++] = PERF_CONTEXT_USER;
  n += encode_user (sample->user, sample->n_user, LU_SYSCAP_MAX_ADDRESSES - n - (is_shown ? 1 : 0),
                    addresses + n);
  if (is_shown)
    addresses[n++] = LU_SYNTHETIC_BASE + sample->status;
  return n;
}
