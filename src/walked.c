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

/* Of no mapping: holds nothing. */
static const LuMapping nowhere;

static inline gboolean
has (const LuMapping *mapping, guint64 address)
{
  return address - mapping->start < mapping->end - mapping->start;
}

static const LuMapping *
find_other (Place *self, guint64 address)
{
  const LuMapping *found = self->before;

  if (!has (found, address))
    found = lu_space_find (self->space, address);
  if (found != NULL)
    {
      self->before = self->last;
      self->last = found;
    }
  return found;
}

static inline const LuMapping *
find (Place *self, guint64 address)
{
  return has (self->last, address) ? self->last : find_other (self, address);
}

static Place
place_in (LuSpace *space)
{
  return (Place){ .space = space, .last = &nowhere, .before = &nowhere };
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

static inline guint64
lookup_of (guint64 word)
{
  return (word & LU_BPF_PC_MASK) - ((word & LU_BPF_PC_RETURN) != 0);
}

static LuWalkedResult
end (LuStatus status, guint32 n_user, guint64 word)
{
  return (LuWalkedResult){ .status = status,
                           .n_user = n_user,
                           .end_pc = status == LU_STATUS_COMPLETE ? 0 : word & LU_BPF_PC_MASK };
}

/* Of the place of a file in the space. */
static guint64
mark_of (const LuMapping *mapping)
{
  const LuModuleKey *key = lu_module_key (mapping->module);

  return lu_bpf_vma_mark (key->inode, lu_bpf_device (key->major, key->minor),
                          mapping->start - mapping->file_offset);
}

/* By the kernel's own mappings: those of the space have to have the same marks, all in all. */
static LuWalkedResult
check_by_vmas (const LuWalkedStack *walked, LuSpace *space)
{
  Place now = place_in (space);
  const LuMapping *marked = NULL, *marked_before = NULL;
  guint64 marks = 0, word = 0;

  for (guint32 i = 0; i < walked->n_user; i++)
    {
      const LuMapping *mapping;

      word = word_at (walked, walked->n_kernel + i);
      mapping = find (&now, lookup_of (word));
      if (mapping == NULL)
        return end (LU_STATUS_NO_MAPPING, i, word);
      if (mapping == marked || mapping == marked_before)
        continue;
      marked_before = marked;
      marked = mapping;
      marks |= mark_of (mapping);
      if ((marks & ~walked->serial) != 0)
        return end (LU_STATUS_STALE_MAPPING, i + 1, word);
    }
  return end (marks == walked->serial || walked->status != LU_STATUS_COMPLETE
                  ? walked->status
                  : LU_STATUS_STALE_MAPPING,
              walked->n_user, word);
}

/* By what was published: the space itself, or a version of it from before. */
static LuWalkedResult
check_by_version (const LuWalkedStack *walked, LuProcess *process, LuSpace *space,
                  guint32 n_certain)
{
  gboolean is_current = walked->serial == lu_space_serial (space);
  Place now = place_in (space);
  /* NULL: it is gone, or was another program's. */
  Place then = place_in (is_current ? space : lu_process_find_space (process, walked->serial));
  guint32 n = walked->n_user - (is_current ? n_certain : 0);

  for (guint32 i = 0; i < n; i++)
    {
      guint64 word = word_at (walked, walked->n_kernel + i);
      const LuMapping *mapping = find (&now, lookup_of (word));

      if (mapping == NULL)
        return end (LU_STATUS_NO_MAPPING, i, word);
      if (!is_current && (then.space == NULL || !is_same (mapping, find (&then, lookup_of (word)))))
        return end (LU_STATUS_STALE_MAPPING, i + 1, word);
    }
  return end (walked->status, walked->n_user,
              word_at (walked, walked->n_kernel + walked->n_user - 1));
}

LuWalkedResult
lu_walked_check (const LuWalkedStack *walked, LuProcess *process, LuSpace *space, guint32 n_certain)
{
  return (walked->flags & LU_BPF_RECORD_VMAS) != 0
             ? check_by_vmas (walked, space)
             : check_by_version (walked, process, space, n_certain);
}

void
lu_walked_take (const LuWalkedStack *walked, LuProcess *process, LuSpace *space, LuStack *stack)
{
  LuWalkedResult result = lu_walked_check (walked, process, space, 0);

  stack->sampled_sp = walked->sp;
  for (guint32 i = 0; i < result.n_user; i++)
    {
      guint64 word = word_at (walked, walked->n_kernel + i);

      lu_stack_push (stack, word & LU_BPF_PC_MASK, lu_walked_flags (word));
    }
  stack->status = result.status;
  stack->end_pc = result.end_pc;
}

guint32
lu_walked_kernel_pcs (const LuWalkedStack *walked, guint64 *pcs)
{
  guint32 n = 0;

  if ((walked->flags & LU_BPF_RECORD_KERNEL) == 0)
    return 0;
  for (guint32 i = 0; i < walked->n_kernel; i++)
    {
      guint64 pc = word_at (walked, i);

      if (pc < CONTEXT_MAX)
        pcs[n++] = pc;
    }
  if (n == 0 && walked->ip < CONTEXT_MAX)
    pcs[n++] = walked->ip;
  return n;
}

guint32
lu_walked_kernel_frames (const LuWalkedStack *walked, LuFrame *frames)
{
  guint64 pcs[LU_BPF_MAX_KERNEL];
  guint32 n = lu_walked_kernel_pcs (walked, pcs);

  for (guint32 i = 0; i < n; i++)
    frames[i] = (LuFrame){ .pc = pcs[i], .flags = LU_FRAME_KERNEL };
  return n;
}
