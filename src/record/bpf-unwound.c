/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* bpf-unwound.c - checks and converts stacks that BPF unwound; see bpf-unwound.h. */

#include "bpf-unwound.h"

#include "arch/arch.h"

#include <linux/perf_event.h>

/* Looks addresses up in an address space. Stacks alternate between two mappings. */
typedef struct
{
  LuAddressSpace *space;
  const LuMapping *last, *before; /* the two found last */
} Lookup;

/* Sentinel: contains no address. */
static const LuMapping nowhere;

static inline gboolean
contains (const LuMapping *mapping, guint64 address)
{
  return address - mapping->start < mapping->end - mapping->start;
}

static const LuMapping *
find_other (Lookup *self, guint64 address)
{
  const LuMapping *found = self->before;

  if (!contains (found, address))
    found = lu_address_space_find (self->space, address);
  if (found != NULL)
    {
      self->before = self->last;
      self->last = found;
    }
  return found;
}

static inline const LuMapping *
find (Lookup *self, guint64 address)
{
  return contains (self->last, address) ? self->last : find_other (self, address);
}

static Lookup
lookup_in (LuAddressSpace *space)
{
  return (Lookup){ .space = space, .last = &nowhere, .before = &nowhere };
}

/* Returns whether both map the same bytes of the same file at the same address; their lengths may
 * differ. */
static gboolean
is_same (const LuMapping *a, const LuMapping *b)
{
  return a != NULL && b != NULL && a->module == b->module
         && a->start - a->file_offset == b->start - b->file_offset;
}

/* The words of a record are not aligned. */
static inline guint64
word_at (const guint8 *words, gsize i)
{
  guint64 word;

  memcpy (&word, words + i * sizeof word, sizeof word);
  return word;
}

static inline guint64
user_word (const LuBpfUnwoundStack *stack, guint32 i)
{
  return word_at (stack->pcs, (gsize) stack->n_kernel + i);
}

/* Returns an address in the instruction that runs, or that made the call. */
static inline guint64
lookup_address (guint64 word)
{
  return (word & LU_BPF_PC_MASK) - ((word & LU_BPF_PC_RETURN) != 0);
}

static LuBpfUnwoundResult
end (LuStatus status, guint32 n_user, guint64 word)
{
  return (LuBpfUnwoundResult){ .status = status,
                               .n_user = n_user,
                               .end_pc = status == LU_STATUS_COMPLETE ? 0 : word & LU_BPF_PC_MASK };
}

/* Returns the mark of a file at its place in the address space. */
static guint64
mark_of (const LuMapping *mapping)
{
  const LuModuleKey *key = lu_module_key (mapping->module);

  return lu_bpf_vma_mark (key->inode, lu_bpf_device (key->major, key->minor),
                          mapping->start - mapping->file_offset);
}

/* For stacks that BPF unwound with the kernel's own mappings: our marks must add up to the
 * marks of those. */
static LuBpfUnwoundResult
check_by_vmas (const LuBpfUnwoundStack *stack, LuAddressSpace *space)
{
  Lookup now = lookup_in (space);
  const LuMapping *marked = NULL, *marked_before = NULL;
  guint64 marks = 0, word = 0;

  for (guint32 i = 0; i < stack->n_user; i++)
    {
      const LuMapping *mapping;

      word = user_word (stack, i);
      mapping = find (&now, lookup_address (word));
      if (mapping == NULL)
        return end (LU_STATUS_NO_MAPPING, i, word);
      if (mapping == marked || mapping == marked_before)
        continue;
      marked_before = marked;
      marked = mapping;
      marks |= mark_of (mapping);
      if ((marks & ~stack->serial) != 0)
        return end (LU_STATUS_STALE_MAPPING, i + 1, word);
    }
  return end (marks == stack->serial || stack->status != LU_STATUS_COMPLETE
                  ? stack->status
                  : LU_STATUS_STALE_MAPPING,
              stack->n_user, word);
}

/* Returns whether there is code that BPF did not know: a word that leads there was no return
 * address for its frame-pointer steps. Both lists are in the order of addresses, so each is read
 * once: a process may have thousands of mappings, and change them for each sample. */
static gboolean
has_new_code (LuAddressSpace *now, LuAddressSpace *then)
{
  guint n, n_known;
  const LuMapping *mappings = lu_address_space_mappings (now, &n);
  const LuMapping *known = lu_address_space_mappings (then, &n_known);
  const LuMapping *end_of_known = known + n_known;

  if (n > LU_BPF_MAX_MAPPINGS) /* more than were published */
    return TRUE;
  for (guint i = 0; i < n; i++)
    {
      while (known < end_of_known && known->end <= mappings[i].start)
        known++;
      if (known == end_of_known || known->start > mappings[i].start || known->end < mappings[i].end
          || !is_same (&mappings[i], known))
        return TRUE;
    }
  return FALSE;
}

/* For stacks that BPF unwound with published mappings: those of this version of the address space,
 * or of an earlier one. */
static LuBpfUnwoundResult
check_by_version (const LuBpfUnwoundStack *stack, LuProcess *process, LuAddressSpace *space)
{
  gboolean is_current = stack->serial == lu_address_space_serial (space);
  Lookup now = lookup_in (space);
  /* NULL: that version is gone, or belonged to another program. */
  Lookup then =
      lookup_in (is_current ? space : lu_process_find_address_space (process, stack->serial));
  gboolean is_ignorant = !is_current && then.space != NULL
                         && (stack->flags & LU_BPF_RECORD_INFERRED) != 0
                         && has_new_code (space, then.space);

  for (guint32 i = 0; i < stack->n_user; i++)
    {
      guint64 word = user_word (stack, i);
      const LuMapping *mapping = find (&now, lookup_address (word));

      if (mapping == NULL)
        return end (LU_STATUS_NO_MAPPING, i, word);
      if (!is_current
          && (then.space == NULL || !is_same (mapping, find (&then, lookup_address (word)))))
        return end (LU_STATUS_STALE_MAPPING, i + 1, word);
      if (is_ignorant && i > 0 && (word & LU_BPF_PC_INFERRED) != 0)
        return end (LU_STATUS_STALE_MAPPING, i, user_word (stack, i - 1));
    }
  return end (stack->status, stack->n_user, user_word (stack, stack->n_user - 1));
}

/* For the sampled place alone, which is told as it is for copies. */
static LuBpfUnwoundResult
check_place (const LuBpfUnwoundStack *stack, LuAddressSpace *space)
{
  guint64 word = user_word (stack, 0);

  if (lu_address_space_find (space, lookup_address (word)) == NULL)
    return end (LU_STATUS_NO_MAPPING, 0, word);
  return end (stack->status, 1, word);
}

LuBpfUnwoundResult
lu_bpf_unwound_check (const LuLocatedEvent *located)
{
  const LuBpfUnwoundStack *stack = &located->event->bpf_unwound;

  if (stack->status == LU_STATUS_OTHER_STACK)
    return check_place (stack, located->space);
  return (stack->flags & LU_BPF_RECORD_VMAS) != 0
             ? check_by_vmas (stack, located->space)
             : check_by_version (stack, located->process, located->space);
}

static inline guint32
frame_flags (guint64 word)
{
  return (guint32) ((word & LU_BPF_PC_RETURN) / (LU_BPF_PC_RETURN / LU_FRAME_RETURN_ADDRESS)
                    | (word & LU_BPF_PC_INFERRED) / (LU_BPF_PC_INFERRED / LU_FRAME_INFERRED)
                    | (word & LU_BPF_PC_DERIVED) / (LU_BPF_PC_DERIVED / LU_FRAME_DERIVED));
}

guint32
lu_bpf_unwound_user_frames (const guint8 *words, guint32 n_words, LuFrame *frames)
{
  guint32 flags = 0;

  for (guint32 i = 0; i < n_words; i++)
    {
      guint64 word = word_at (words, i);

      frames[i] = (LuFrame){ .pc = word & LU_BPF_PC_MASK, .flags = frame_flags (word) };
      flags |= frames[i].flags;
    }
  return flags;
}

guint32
lu_bpf_unwound_kernel_frames (const guint8 *words, guint32 n_words, guint64 kernel_ip,
                              LuFrame *frames)
{
  guint32 n = 0;

  if (kernel_ip == 0)
    return 0;
  for (guint32 i = 0; i < n_words; i++)
    if (word_at (words, i) < PERF_CONTEXT_MAX)
      frames[n++] = (LuFrame){ .pc = word_at (words, i), .flags = LU_FRAME_KERNEL };
  if (n == 0 && kernel_ip < PERF_CONTEXT_MAX)
    frames[n++] = (LuFrame){ .pc = kernel_ip, .flags = LU_FRAME_KERNEL };
  return n;
}

/* Unwinding takes less; the next sample of the CPU comes later, at up to 5 kHz. */
#define PAIR_NS (G_GUINT64_CONSTANT (100) * 1000)

GHashTable *
lu_bpf_pairs_new (void)
{
  return g_hash_table_new_full (NULL, NULL, NULL, g_free);
}

static LuBpfPair *
pair_of (GHashTable *self, const LuEvent *event)
{
  return g_hash_table_lookup (self, GINT_TO_POINTER (event->cpu));
}

void
lu_bpf_pairs_keep (GHashTable *self, const LuLocatedEvent *located)
{
  const LuEvent *event = located->event;
  const LuBpfUnwoundStack *stack = &event->bpf_unwound;
  LuBpfUnwoundResult result = lu_bpf_unwound_check (located);
  LuBpfPair *pair = pair_of (self, event);

  if (pair == NULL)
    {
      pair = g_new (LuBpfPair, 1);
      g_hash_table_insert (self, GINT_TO_POINTER (event->cpu), pair);
    }
  pair->tid = event->tid;
  pair->time = event->time;
  pair->sp = stack->sp;
  pair->part = (LuBpfPart){ .status = result.status,
                            .kernel_ip = lu_bpf_unwound_kernel_ip (stack),
                            .n_kernel = stack->n_kernel,
                            .n_user = result.n_user };
  memcpy (pair->words, stack->pcs, ((gsize) stack->n_kernel + result.n_user) * sizeof *pair->words);
}

const LuBpfPair *
lu_bpf_pairs_find (GHashTable *self, const LuEvent *event)
{
  const LuRegs *regs = &event->sample.regs;
  const LuArch *arch = lu_arch_of_regs (regs);
  const LuBpfPair *pair = pair_of (self, event);
  guint64 between, sp;

  if (pair == NULL || pair->tid != event->tid || arch == NULL
      || !lu_arch_read (regs, arch->perf_sp, &sp) || sp != pair->sp)
    return NULL;
  between = pair->time > event->time ? pair->time - event->time : event->time - pair->time;
  return between < PAIR_NS ? pair : NULL;
}

void
lu_bpf_pairs_forget (GHashTable *self, const LuEvent *event)
{
  LuBpfPair *pair = pair_of (self, event);

  if (pair != NULL)
    pair->tid = -1;
}
