/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* guess.c - one step by frame pointer; see guess.h.
 *
 * Two traps, both of x86, where calls leave return addresses on the stack:
 * - Code that was sampled before it has set up its frame, or after it has taken it down: the frame
 *   pointer is still the caller's, and going by it would leave the caller out. The return address
 *   is then on top of the stack, or below the frame pointer that has just been pushed.
 * - Code without a frame pointer, called by code that has one: the same, at any place. The return
 *   address into the caller is then somewhere between the stack pointer and the frame pointer, and
 *   unwind information says of its place that the frame pointer is in use. Frames also hold old
 *   return addresses, in words that were reserved and not written yet; so that counts only if the
 *   code that the frame pointer leads to has unwind information too, as what calls ordinary code
 *   has. Tried: without that condition; 5 % of node's stacks ended in optimised code.
 *
 * Old return addresses can also make it look as if a frame were not set up, where several words
 * could be the one that it returns to. Then it counts whether the same place was seen before, in a
 * sample that left no doubt: tried without, up to 4 % of node's stacks ended in optimised code, in
 * rows, as one such word stays for as long as nothing else is called. Where it was not, the code
 * itself may show it (lu/leaf.h): node's small functions never set up a frame.
 *
 * One kind of code without a frame pointer is known: Python's trampolines (-X perf), one for each
 * of its functions: [endbr64;] sub $8, %rsp; call *%rcx; add $8, %rsp; ret. They stand one behind
 * the other, 16 bytes each, so the call returns to the 10th byte of such a slot, or the 6th. */

#include "unwind/guess.h"

#include "lu/leaf.h"
#include "unwind/calls.h"
#include "unwind/space-cache.h"

#include <elf.h>
#include <string.h>

/* A frame pointer further above the sampled stack pointer is none: frames of this size do not
 * exist, and the kernel copies less than 64 KiB. */
#define MAX_DISTANCE (1u << 20)
/* Words of a frame that are looked at. Frames of generated code have some ten, rarely a hundred. */
#define MAX_WORDS 256
/* See above: where calls of Python's trampolines return to, within their slot, and the word that
 * they leave free below their own return address. */
#define SLOT_MASK        15u
#define SLOT_WITH_ENDBR  10u
#define SLOT_PLAIN       6u
#define TRAMPOLINE_FRAME 8u
/* What was learnt is forgotten after so many samples. */
#define NOTES_PER_EPOCH 4096
/* No address; and what compilers put into a frame pointer register that they use for numbers. */
#define MIN_ADDRESS 4096

static gboolean
is_in_copy (LuGuess *self, guint64 address)
{
  return address - self->sampled_sp < self->sample->stack_size;
}

/* The word at a run-time address, if it is in the copy. */
static inline gboolean
read_word (LuGuess *self, guint64 address, guint64 *value)
{
  guint size = self->arch->word_size;
  guint64 offset = address - self->sampled_sp; /* below the copy: beyond it */
  guint32 narrow;

  if (self->sample->stack_size < size || offset > self->sample->stack_size - size)
    return FALSE;
  if (G_LIKELY (size == sizeof *value))
    {
      memcpy (value, self->sample->stack + offset, sizeof *value);
      return TRUE;
    }
  memcpy (&narrow, self->sample->stack + offset, sizeof narrow);
  *value = narrow;
  return TRUE;
}

/* Whether `fp` can be the frame pointer of a frame whose stack pointer is `sp`. */
static gboolean
is_frame_pointer (LuGuess *self, guint64 fp, guint64 sp)
{
  return (fp & (self->arch->word_size - 1u)) == 0 && fp >= sp && fp > self->last_fp
         && fp - self->sampled_sp < MAX_DISTANCE;
}

static LuGuessRule
rule_at (LuGuess *self, const LuDwflMapping *mapping, guint64 lookup)
{
  return self->n_rules++ < LU_GUESS_MAX_RULES ? self->rule_at (self->data, mapping, lookup)
                                              : LU_GUESS_RULE_OTHER;
}

static LuGuessResult
check_call (LuGuess *self, const LuDwflMapping *mapping, guint64 pc)
{
  switch (self->call_before (self->data, mapping, pc))
    {
    case LU_CALL_UNKNOWN:
      return LU_GUESS_UNKNOWN;
    case LU_CALL_DIRECT:
    case LU_CALL_INDIRECT:
      return LU_GUESS_FOUND;
    case LU_CALL_NONE:
      break;
    }
  return LU_GUESS_NONE;
}

/* FOUND if this is a return address into a file. */
static LuGuessResult
check_call_before (LuGuess *self, guint64 pc)
{
  const LuDwflMapping *mapping = pc > MIN_ADDRESS ? self->find (self->data, pc - 1) : NULL;

  if (mapping == NULL || mapping->status == LU_STATUS_JIT || !lu_guess_is_possible (mapping))
    return LU_GUESS_NONE;
  return check_call (self, mapping, pc);
}

/* FOUND if this can be a return address: there is code, and a call in front of it. Of memory
 * without a file that cannot be read: there the frame pointer of that code has to go on. */
static LuGuessResult
check_return (LuGuess *self, guint64 pc, guint64 fp, guint64 sp)
{
  const LuDwflMapping *mapping = pc > MIN_ADDRESS ? self->find (self->data, pc - 1) : NULL;

  if (mapping == NULL || !lu_guess_is_possible (mapping))
    return LU_GUESS_NONE;
  if (mapping->status == LU_STATUS_JIT)
    return is_frame_pointer (self, fp, sp) ? LU_GUESS_FOUND : LU_GUESS_NONE;
  return check_call (self, mapping, pc);
}

/* The same for a return address into code that keeps frame pointers, whose is `fp`. */
static LuGuessResult
check_return_by_fp (LuGuess *self, guint64 pc, guint64 fp, guint64 sp)
{
  const LuDwflMapping *mapping = pc > MIN_ADDRESS ? self->find (self->data, pc - 1) : NULL;

  if (mapping != NULL && mapping->status == LU_STATUS_COMPLETE
      && rule_at (self, mapping, pc - 1) == LU_GUESS_RULE_OTHER)
    return LU_GUESS_NONE;
  return check_return (self, pc, fp, sp);
}

/* The frame is set up: the caller's frame pointer and the return address are where it points. */
static LuGuessResult
go_by_frame_pointer (LuGuess *self, const LuGuessFrame *frame, LuGuessFrame *caller)
{
  guint word = self->arch->word_size;
  guint64 mask = self->arch->address_mask;
  LuGuessResult result;

  if (!is_frame_pointer (self, frame->fp, frame->sp))
    return LU_GUESS_NONE;
  if (!read_word (self, frame->fp, &caller->fp) || !read_word (self, frame->fp + word, &caller->pc))
    return LU_GUESS_BEYOND;
  caller->pc &= mask;
  caller->sp = frame->fp + 2 * word;
  /* Nobody keeps a return address in that register: these are other words. */
  if (!is_in_copy (self, caller->fp)
      && (result = check_call_before (self, caller->fp)) != LU_GUESS_NONE)
    return result == LU_GUESS_FOUND ? LU_GUESS_NONE : result;
  return check_return (self, caller->pc, caller->fp, caller->sp);
}

/* Whether what is before an address may be code. Most words of a stack are not, and which ones
 * cannot be foreseen: one branch. */
static inline gboolean
may_be_behind_code (LuGuess *self, guint64 address)
{
  return (guint) (address > MIN_ADDRESS)
         & ~(guint) (self->no_code >> lu_view_region_of (address - 1));
}

/* FOUND: some word in [from, fp) could be the return address into the code whose frame pointer is
 * `fp`. */
static LuGuessResult
find_return_by_fp (LuGuess *self, guint64 from, guint64 fp)
{
  guint word = self->arch->word_size;
  guint64 value;

  for (guint64 at = from; at < fp && at - from < MAX_WORDS * word; at += word)
    {
      LuGuessResult result = LU_GUESS_NONE;

      if (read_word (self, at, &value) && may_be_behind_code (self, value))
        result = check_return_by_fp (self, value, fp, at);
      if (result != LU_GUESS_NONE)
        return result;
    }
  return LU_GUESS_NONE;
}

/* What stands for a place in the list of those that are set up, and where. */
static guint64 *
find_place (LuGuess *self, guint64 pc, guint64 *key)
{
  guint64 epoch = self->set_up->n_noted / NOTES_PER_EPOCH;

  *key = (pc ^ self->serial << 47) * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15) ^ epoch;
  return &self->set_up->places[*key >> (64 - LU_GUESS_PLACE_BITS)];
}

static gboolean
is_known_set_up (LuGuess *self, guint64 pc)
{
  guint64 key, *place = find_place (self, pc, &key);

  return *place == key;
}

static void
note_set_up (LuGuess *self, guint64 pc)
{
  guint64 key, *place = find_place (self, pc, &key);

  *place = key;
  self->set_up->n_noted++;
}

/* Several words could be the return address. FOUND: it is on top; NONE: the frame is set up;
 * BEYOND: that cannot be told. */
static LuGuessResult
decide_by_code (LuGuess *self, const LuDwflMapping *code, guint64 pc)
{
  LuGuessResult result;

  if (is_known_set_up (self, pc))
    return LU_GUESS_NONE;
  if (code->status == LU_STATUS_JIT || self->arch->machine != EM_X86_64)
    return LU_GUESS_BEYOND;
  result = self->leaf_at (self->data, code, pc);
  return result == LU_GUESS_NONE ? LU_GUESS_BEYOND : result;
}

/* The frame is not set up yet, or not any more, but its caller's is. NONE: it is set up. BEYOND:
 * that cannot be told. */
static LuGuessResult
go_by_top (LuGuess *self, const LuDwflMapping *code, const LuGuessFrame *frame,
           LuGuessFrame *caller)
{
  guint word = self->arch->word_size;
  LuGuessResult result;
  guint64 top;

  if (!read_word (self, frame->sp, &top))
    return LU_GUESS_NONE;
  *caller = *frame;
  /* The frame pointer has been pushed and not been changed. */
  if (top == frame->fp && top > MIN_ADDRESS && read_word (self, frame->sp + word, &caller->pc))
    {
      caller->sp = frame->sp + 2 * word;
      return check_return (self, caller->pc, frame->fp, caller->sp);
    }
  caller->pc = top;
  caller->sp = frame->sp + word;
  if (!is_frame_pointer (self, frame->fp, caller->sp))
    return LU_GUESS_NONE;
  result = check_return_by_fp (self, top, frame->fp, caller->sp);
  if (result != LU_GUESS_FOUND)
    return result;
  /* Among several the topmost need not be the one; all may be left from calls that are over. */
  result = find_return_by_fp (self, caller->sp, frame->fp);
  if (result == LU_GUESS_FOUND)
    return decide_by_code (self, code, frame->pc);
  return result == LU_GUESS_NONE ? LU_GUESS_FOUND : result;
}

/* FOUND: the frame pointer may be that of ordinary code that has called this one. Code in a file
 * can call code outside of it only through a register or memory. */
static LuGuessResult
find_other_owner (LuGuess *self, const LuDwflMapping *code, const LuGuessFrame *frame,
                  const LuGuessFrame *caller)
{
  const LuDwflMapping *mapping = self->find (self->data, caller->pc - 1);
  guint word = self->arch->word_size;
  guint64 value;

  if (mapping->status != LU_STATUS_COMPLETE
      || rule_at (self, mapping, caller->pc - 1) == LU_GUESS_RULE_NONE)
    return LU_GUESS_NONE;
  self->has_searched = TRUE;
  for (guint64 at = frame->sp; at < frame->fp && at - frame->sp < MAX_WORDS * word; at += word)
    {
      LuCallKind kind;

      if (!read_word (self, at, &value) || !may_be_behind_code (self, value))
        continue;
      mapping = self->find (self->data, value - 1);
      if (mapping == NULL || mapping->status != LU_STATUS_COMPLETE
          || rule_at (self, mapping, value - 1) != LU_GUESS_RULE_BY_FP)
        continue;
      kind = self->call_before (self->data, mapping, value);
      if (kind == LU_CALL_UNKNOWN)
        return LU_GUESS_UNKNOWN;
      if (kind == LU_CALL_INDIRECT || (kind == LU_CALL_DIRECT && code->module == mapping->module))
        return LU_GUESS_FOUND;
    }
  return LU_GUESS_NONE;
}

/* FOUND: what may be a trampoline of Python was called through a pointer by code with unwind
 * information. Its caller's registers are as they are. */
static LuGuessResult
go_by_trampoline (LuGuess *self, const LuDwflMapping *code, const LuGuessFrame *frame,
                  LuGuessFrame *caller)
{
  guint64 slot = frame->pc & SLOT_MASK;
  const LuDwflMapping *mapping;

  if (code->status != LU_STATUS_JIT || (slot != SLOT_WITH_ENDBR && slot != SLOT_PLAIN)
      || !read_word (self, frame->sp + TRAMPOLINE_FRAME, &caller->pc) || caller->pc <= MIN_ADDRESS)
    return LU_GUESS_NONE;
  mapping = self->find (self->data, caller->pc - 1);
  if (mapping == NULL || mapping->status != LU_STATUS_COMPLETE
      || rule_at (self, mapping, caller->pc - 1) == LU_GUESS_RULE_NONE)
    return LU_GUESS_NONE;
  self->has_searched = TRUE;
  caller->fp = frame->fp;
  caller->sp = frame->sp + TRAMPOLINE_FRAME + self->arch->word_size;
  switch (self->call_before (self->data, mapping, caller->pc))
    {
    case LU_CALL_UNKNOWN:
      return LU_GUESS_UNKNOWN;
    case LU_CALL_INDIRECT:
      return LU_GUESS_FOUND;
    default:
      return LU_GUESS_NONE;
    }
}

LuGuessResult
lu_guess_caller (LuGuess *self, const LuDwflMapping *mapping, const LuGuessFrame *frame,
                 LuGuessFrame *caller)
{
  gboolean is_x86 = self->arch->machine != EM_AARCH64;
  LuGuessResult result = LU_GUESS_NONE;

  /* aarch64: the link register would have to be told from an old one. */
  if (self->is_exact && !is_x86)
    return LU_GUESS_NONE;
  if (self->is_exact)
    result = go_by_top (self, mapping, frame, caller);
  if (result != LU_GUESS_NONE)
    return result == LU_GUESS_BEYOND ? LU_GUESS_NONE : result;
  result = go_by_frame_pointer (self, frame, caller);
  if (result == LU_GUESS_FOUND && is_x86)
    {
      LuGuessResult other = find_other_owner (self, mapping, frame, caller);

      if (other != LU_GUESS_NONE)
        return other == LU_GUESS_FOUND ? LU_GUESS_NONE : other;
    }
  if (result == LU_GUESS_FOUND)
    self->last_fp = frame->fp;
  if (result == LU_GUESS_FOUND && self->is_exact)
    note_set_up (self, frame->pc);
  if ((result == LU_GUESS_NONE || result == LU_GUESS_BEYOND) && !self->is_exact
      && self->arch->machine == EM_X86_64)
    {
      LuGuessResult other = go_by_trampoline (self, mapping, frame, caller);

      return other != LU_GUESS_NONE ? other : result;
    }
  return result;
}

/* Facts */

static guint
place_of (guint64 serial, guint64 pc)
{
  return (guint) (((pc ^ serial << 47) * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15))
                  >> (64 - LU_GUESS_FACT_BITS));
}

static guint
facts_of (const LuGuessFacts *self, guint64 serial, guint64 pc)
{
  guint i = place_of (serial, pc);
  guint64 facts = self->places[i].facts;

  return self->places[i].pc == pc && facts >> LU_GUESS_FACT_SHIFT == serial
             ? (guint) facts & ((1 << LU_GUESS_FACT_SHIFT) - 1)
             : 0;
}

void
lu_guess_facts_note (LuGuessFacts *self, guint64 serial, guint64 pc, guint bits)
{
  guint i = place_of (serial, pc);

  bits |= facts_of (self, serial, pc);
  self->places[i].pc = pc;
  self->places[i].facts = serial << LU_GUESS_FACT_SHIFT | bits;
}

lu_plain
lu_guess_facts_step (const LuGuessFacts *self, guint64 serial, guint64 last_fp, guint n_rules,
                     const struct lu_copy *copy, struct lu_plain_regs *regs)
{
  guint64 offset = regs->fp - copy->start, word = sizeof (guint64), pc, fp;
  guint to;

  /* is_frame_pointer(), and both words in the copy. */
  if ((regs->fp & (word - 1)) != 0 || regs->fp <= last_fp || offset < regs->offset
      || copy->size < 2 * word || offset > copy->size - 2 * word
      || (facts_of (self, serial, regs->pc) & LU_GUESS_FROM) == 0)
    return 0;
  fp = lu_copy_word (copy, offset);
  pc = lu_copy_word (copy, offset + word);
  to = facts_of (self, serial, pc);
  if ((to & LU_GUESS_TO) == 0 || fp - copy->start >= copy->size)
    return 0;
  if ((to & LU_GUESS_TO_JIT) != 0 && ((fp & (word - 1)) != 0 || fp < regs->fp + 2 * word))
    return 0;
  if ((to & LU_GUESS_TO_ASKED) != 0 && n_rules >= LU_GUESS_MAX_RULES)
    return 0;
  *regs = (struct lu_plain_regs){
    .pc = pc, .offset = offset + 2 * word, .fp = fp, .known = LU_KNOWN_FP
  };
  return LU_PLAIN_GUESS | ((to & LU_GUESS_TO_ASKED) != 0 ? LU_PLAIN_GUESS_ASKED : 0);
}

/* Calls */

/* The file's bytes are at the same distance as the memory's. */
static guint64
file_offset_of (const LuDwflMapping *mapping, guint64 pc)
{
  return mapping->file_offset + (pc - mapping->start);
}

LuCallKind
lu_guess_known_call (const LuDwflMapping *mapping, guint64 pc)
{
  const LuCallSites *sites = lu_module_call_sites (mapping->module);

  return sites != NULL ? lu_call_sites_find (sites, file_offset_of (mapping, pc)) : LU_CALL_UNKNOWN;
}

/* Answers for leaves are kept with those for calls; no file is so large. */
#define LEAF_KEY (G_GUINT64_CONSTANT (1) << 61)

static LuGuessResult
leaf_of_kind (LuCallKind kind)
{
  return kind == LU_CALL_UNKNOWN ? LU_GUESS_UNKNOWN
         : kind == LU_CALL_NONE  ? LU_GUESS_NONE
                                 : LU_GUESS_FOUND;
}

LuGuessResult
lu_guess_known_leaf (const LuDwflMapping *mapping, guint64 pc)
{
  const LuCallSites *sites = lu_module_call_sites (mapping->module);

  return sites != NULL
             ? leaf_of_kind (lu_call_sites_find (sites, LEAF_KEY | file_offset_of (mapping, pc)))
             : LU_GUESS_UNKNOWN;
}

/* `bytes`: LU_LEAF_BYTES. */
static LuCallKind
decode_leaf (const guint8 *bytes)
{
  gsize at = 0;

  for (guint i = 0; i < LU_LEAF_STEPS && at <= LU_LEAF_BYTES - LU_LEAF_WINDOW; i++)
    {
      guint64 code, size;

      memcpy (&code, bytes + at, sizeof code);
      size = lu_leaf_step (code);
      if (size == 0)
        break;
      if (size == LU_LEAF_BARE)
        return LU_CALL_DIRECT;
      at += size;
    }
  return LU_CALL_NONE;
}

LuGuessResult
lu_guess_read_leaf (LuCodeReader *reader, gint32 pid, const LuDwflMapping *mapping, guint64 pc)
{
  LuGuessResult result = lu_guess_known_leaf (mapping, pc);
  guint64 offset = file_offset_of (mapping, pc);
  guint8 bytes[LU_LEAF_BYTES];
  LuCallKind kind = LU_CALL_NONE;

  if (result != LU_GUESS_UNKNOWN)
    return result;
  if (mapping->end - pc >= sizeof bytes)
    switch (lu_code_reader_read (reader, mapping->module, pid, mapping->start, mapping->end, offset,
                                 bytes, sizeof bytes))
      {
      case LU_CODE_OVER_BUDGET:
        return LU_GUESS_UNKNOWN;
      case LU_CODE_UNREADABLE: /* another process may have the file */
        return leaf_of_kind (LU_CALL_NONE);
      case LU_CODE_READ:
        kind = decode_leaf (bytes);
        break;
      }
  lu_call_sites_add (lu_module_make_call_sites (mapping->module), LEAF_KEY | offset, kind);
  return leaf_of_kind (kind);
}

/* Whether the image has code at the address; what is no ELF file cannot say. */
static gboolean
has_code_at (const LuDwflMapping *mapping, guint64 address)
{
  LuImage *image = lu_module_image (mapping->module);
  guint64 elf_address = address - mapping->bias;
  const LuSegment *segments;
  guint n;

  if (image == NULL)
    return TRUE;
  segments = lu_image_segments (image, &n);
  for (guint i = 0; i < n; i++)
    if (segments[i].executable && elf_address >= segments[i].vaddr
        && elf_address - segments[i].vaddr < segments[i].memory_size)
      return TRUE;
  return FALSE;
}

LuCallKind
lu_guess_read_call (LuCodeReader *reader, gint32 pid, const LuArch *arch,
                    const LuDwflMapping *mapping, guint64 pc)
{
  LuCallKind kind = lu_guess_known_call (mapping, pc);
  guint64 offset = file_offset_of (mapping, pc);
  gsize size = MIN (LU_CALL_LONGEST, offset);
  guint8 bytes[LU_CALL_LONGEST];
  gint64 displacement;

  if (kind != LU_CALL_UNKNOWN)
    return kind;
  switch (lu_code_reader_read (reader, mapping->module, pid, mapping->start, mapping->end,
                               offset - size, bytes, size))
    {
    case LU_CODE_OVER_BUDGET:
      return LU_CALL_UNKNOWN;
    case LU_CODE_UNREADABLE: /* another process may have the file */
      return LU_CALL_NONE;
    case LU_CODE_READ:
      kind = lu_call_decode (arch->machine, bytes, size, &displacement);
      if (kind == LU_CALL_DIRECT && !has_code_at (mapping, pc + (guint64) displacement))
        kind = LU_CALL_NONE;
      break;
    }
  lu_call_sites_add (lu_module_make_call_sites (mapping->module), offset, kind);
  return kind;
}
