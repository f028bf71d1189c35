/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* walked.c - takes over stacks that were walked in the kernel; see walked.h. */

#include "walked.h"

#include "lu/bpf.h"

#include <string.h>

/* The last page of the address space holds no code: perf_event.h, enum perf_callchain_context. */
#define CONTEXT_MAX ((guint64) -4095)

/* Where the frames of a stack are looked up. Walks alternate between two mappings. */
typedef struct
{
  LuSpace *space;
  const LuMapping *last, *before;
} Place;

static gboolean
has (const LuMapping *mapping, guint64 address)
{
  return mapping != NULL && address >= mapping->start && address < mapping->end;
}

static const LuMapping *
find (Place *self, guint64 address)
{
  const LuMapping *found = self->before;

  if (has (self->last, address))
    return self->last;
  if (!has (found, address))
    found = lu_space_find (self->space, address);
  if (found != NULL)
    {
      self->before = self->last;
      self->last = found;
    }
  return found;
}

/* The same bytes of the same file at the same address, whatever was cut off at the ends. */
static gboolean
is_same (const LuMapping *a, const LuMapping *b)
{
  return a != NULL && b != NULL && a->module == b->module
         && a->start - a->file_offset == b->start - b->file_offset;
}

static guint64
word_at (const LuWalkedStack *walked, guint32 i)
{
  guint64 word;

  memcpy (&word, walked->pcs + i * sizeof word, sizeof word);
  return word;
}

static void
end (LuStack *stack, LuStatus status, guint64 pc)
{
  stack->status = status;
  stack->end_pc = status == LU_STATUS_COMPLETE ? 0 : pc;
}

void
lu_walked_take (const LuWalkedStack *walked, LuProcess *process, LuSpace *space, LuStack *stack)
{
  gboolean is_current = walked->serial == lu_space_serial (space);
  Place now = { .space = space };
  /* NULL: it is gone, or was another program's. */
  Place then = { .space = is_current ? space : lu_process_find_space (process, walked->serial) };
  guint64 pc = 0;

  stack->sampled_sp = walked->sp;
  for (guint32 i = 0; i < walked->n_user; i++)
    {
      guint64 word = word_at (walked, walked->n_kernel + i);
      guint32 flags = ((word & LU_BPF_PC_RETURN) != 0 ? LU_FRAME_RETURN_ADDRESS : 0)
                      | ((word & LU_BPF_PC_GUESSED) != 0 ? LU_FRAME_GUESSED : 0);
      guint64 address;
      const LuMapping *mapping;

      pc = word & LU_BPF_PC_MASK;
      address = pc - ((flags & LU_FRAME_RETURN_ADDRESS) != 0);
      mapping = find (&now, address);
      if (mapping == NULL)
        {
          end (stack, LU_STATUS_NO_MAPPING, pc);
          return;
        }
      lu_stack_push (stack, pc, flags);
      if (!is_current && (then.space == NULL || !is_same (mapping, find (&then, address))))
        {
          end (stack, LU_STATUS_STALE_MAPPING, pc);
          return;
        }
    }
  end (stack, walked->status, pc);
}

guint32
lu_walked_kernel_frames (const LuWalkedStack *walked, LuFrame *frames)
{
  guint32 n = 0;

  if ((walked->flags & LU_BPF_RECORD_KERNEL) == 0)
    return 0;
  for (guint32 i = 0; i < walked->n_kernel; i++)
    {
      guint64 pc = word_at (walked, i);

      if (pc < CONTEXT_MAX)
        frames[n++] = (LuFrame){ .pc = pc, .flags = LU_FRAME_KERNEL };
    }
  if (n == 0 && walked->ip < CONTEXT_MAX)
    frames[n++] = (LuFrame){ .pc = walked->ip, .flags = LU_FRAME_KERNEL };
  return n;
}
