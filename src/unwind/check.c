/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* check.c - the check engine: unwinds every sample with dwfl and with table and compares; see
 * check.h.
 *
 * A difference is reported with its first frame that differs and the two frames before it, whose
 * rules the engines must have taken differently (the first of them if a register was lost there
 * that the second one needs): module, ELF address, and what the compiled rule and libdw's row say.
 * One report for each place; all samples are counted. Where a BPF walk differs, the report also
 * lists both stacks and what is on top of the sampled one. */

#include "unwind/check.h"

#include "table/compile.h"
#include "table/rule.h"
#include "unwind/dwfl-rule.h"

#include <inttypes.h>
#include <string.h>

/* The number of differences reported in full; more are only counted. */
#define MAX_REPORTED 50
/* The frames and the words of the sample that a report about a BPF walk lists. */
#define MAX_LISTED 32

typedef struct
{
  LuUnwinder parent;
  LuUnwinder *reference, *tested; /* owned */
  LuDifferenceFunc func;
  gpointer user_data;
  GHashTable *reported; /* set of owned guint64: the place's key */
  LuStack other;        /* the tested engine's, of the last sample */
  gint32 pid;           /* of the last sample */
  LuStack continued;    /* an engine's, from where BPF left the leaf */
} CheckUnwinder;

/* Two stacks of one sample, and the engines that made them. */
typedef struct
{
  const char *reference_name, *tested_name;
  const LuStack *reference, *tested;
  const LuSample *sample; /* to be listed in reports, too; or NULL */
} Pair;

/* The code whose rule led from one frame to the next. */
typedef struct
{
  const LuFrame *frame; /* NULL: the sampled registers */
  const LuMapping *mapping;
  LuDwflMapping described;
  guint64 lookup; /* run-time */
} Place;

/* How a frame was found that no CFI leads to; as long as BPF has no rows from code, it takes the
 * frame pointer where the engines take those. */
#define FRAME_WAYS (LU_FRAME_INFERRED | LU_FRAME_DERIVED)

/* Flags of `ways` may differ if both frames have one of them. */
static gboolean
is_same_frame (const LuFrame *a, const LuFrame *b, guint ways)
{
  return a->pc == b->pc && (a->flags & ~ways) == (b->flags & ~ways)
         && ((a->flags & ways) != 0) == ((b->flags & ways) != 0);
}

static guint
first_difference (const LuStack *a, const LuStack *b, guint ways)
{
  guint i = 0;

  while (i < a->n_frames && i < b->n_frames && is_same_frame (&a->frames[i], &b->frames[i], ways))
    i++;
  return i;
}

static Place
place_before (const LuStack *stack, guint frame, LuAddressSpace *space, const LuArch *arch)
{
  Place place = { 0 };

  if (frame == 0 || arch == NULL)
    return place;
  place.frame = &stack->frames[frame - 1];
  place.lookup = place.frame->pc - ((place.frame->flags & LU_FRAME_RETURN_ADDRESS) != 0);
  place.mapping = lu_address_space_find (space, place.lookup);
  if (place.mapping != NULL)
    place.described = lu_dwfl_mapping_describe (place.mapping, arch);
  return place;
}

static gboolean
is_told (CheckUnwinder *self, const Place *place)
{
  guint64 key = 0;

  if (place->mapping != NULL)
    key = (place->lookup - place->described.bias)
          ^ (guint64) lu_module_id (place->mapping->module) << 40;
  return g_hash_table_size (self->reported) >= MAX_REPORTED
         || !g_hash_table_add (self->reported, g_memdup2 (&key, sizeof key));
}

/* Writing */

static void
write_frame (GString *text, const char *engine, const LuStack *stack, guint i)
{
  if (i < stack->n_frames)
    g_string_append_printf (text, "%s %#" PRIx64, engine, (guint64) stack->frames[i].pc);
  else
    g_string_append_printf (text, "%s none", engine);
  g_string_append_printf (text, " (%u frames, %s)", stack->n_frames, lu_status_key (stack->status));
}

/* Returns the rule as text, compiled from the same bytes as the table. */
static char *
table_rule (const Place *place)
{
  LuImage *image = lu_module_image (place->mapping->module);
  g_autoptr (LuCfi) cfi = image != NULL ? lu_cfi_new_for_image (image) : NULL;
  g_autofree LuCfaRun *run = g_new (LuCfaRun, 1);
  struct lu_rule rule;

  if (cfi == NULL)
    return g_strdup ("no tables for this architecture");
  rule = lu_compile_at (cfi, run, place->lookup - place->described.bias);
  return lu_rule_to_text (&rule, lu_cfi_arch (cfi));
}

static void
write_place (GString *text, const char *where, const Place *place, const LuArch *arch)
{
  g_autofree char *table = NULL, *libdw = NULL;

  if (place->frame == NULL)
    {
      g_string_append (text, "check:   in the sampled registers\n");
      return;
    }
  g_string_append_printf (text, "check:   %s ", where);
  if (place->mapping == NULL)
    {
      g_string_append_printf (text, "%#" PRIx64 ", in no mapping\n", (guint64) place->frame->pc);
      return;
    }
  g_string_append_printf (text, "%s %#" PRIx64 "%s, stack pointer +%u\n",
                          lu_module_path (place->mapping->module),
                          place->lookup - place->described.bias,
                          place->lookup != place->frame->pc ? " (before a return address)" : "",
                          place->frame->stack_offset);
  if (place->described.status != LU_STATUS_COMPLETE)
    {
      g_string_append_printf (text, "check:   not unwound: %s\n",
                              lu_status_key (place->described.status));
      return;
    }
  table = table_rule (place);
  libdw = lu_dwfl_rule_to_text (&place->described, place->lookup, arch);
  g_string_append_printf (text, "check:   table %s\ncheck:   libdw %s\n", table, libdw);
}

/* Writes an address as a place in a file, if it is in one. */
static void
write_address (GString *text, LuAddressSpace *space, const LuArch *arch, guint64 address)
{
  const LuMapping *mapping = lu_address_space_find (space, address);

  g_string_append_printf (text, " %#" PRIx64, address);
  if (mapping != NULL)
    g_string_append_printf (text, " (%s %#" PRIx64 ")", lu_module_path (mapping->module),
                            address - lu_dwfl_mapping_describe (mapping, arch).bias);
}

static void
write_stack (GString *text, LuAddressSpace *space, const LuArch *arch, const char *name,
             const LuStack *stack)
{
  for (guint i = 0; i < MIN (stack->n_frames, MAX_LISTED); i++)
    {
      g_string_append_printf (text, "check:   %s %u:", name, i);
      write_address (text, space, arch, stack->frames[i].pc);
      g_string_append (text, (stack->frames[i].flags & LU_FRAME_INFERRED) != 0  ? ", inferred\n"
                             : (stack->frames[i].flags & LU_FRAME_DERIVED) != 0 ? ", derived\n"
                                                                                : "\n");
    }
}

/* Lists both stacks, the registers that steps begin with, and the words on top of the stack that
 * lead into code. */
static void
write_details (GString *text, LuAddressSpace *space, const LuArch *arch, const Pair *pair)
{
  guint64 sp = 0, fp = 0, word = 0;

  if (arch == NULL || pair->sample == NULL)
    return;
  lu_arch_read (&pair->sample->regs, arch->perf_sp, &sp);
  lu_arch_read_dwarf (arch, &pair->sample->regs, arch->fp, &fp);
  g_string_append_printf (text, "check:   stack pointer %#" PRIx64 ", frame pointer %#" PRIx64 "\n",
                          sp, fp);
  for (guint i = 0; i < MAX_LISTED && (i + 1) * arch->word_size <= pair->sample->stack_size; i++)
    {
      memcpy (&word, pair->sample->stack + i * arch->word_size, arch->word_size);
      if (lu_address_space_find (space, word) == NULL)
        continue;
      g_string_append_printf (text, "check:   word at +%u:", i * arch->word_size);
      write_address (text, space, arch, word);
      g_string_append_c (text, '\n');
    }
  write_stack (text, space, arch, pair->reference_name, pair->reference);
  write_stack (text, space, arch, pair->tested_name, pair->tested);
}

static void
to_standard_error (const LuDifference *difference, gpointer user_data)
{
  g_printerr ("%s", difference->report);
}

static void
tell (CheckUnwinder *self, LuAddressSpace *space, const LuArch *arch, const Pair *pair, guint i)
{
  Place place = place_before (pair->reference, i, space, arch);
  LuDifference difference = { .reference = pair->reference, .tested = pair->tested, .frame = i };
  g_autoptr (GString) text = NULL;

  if (is_told (self, &place))
    return;
  text = g_string_new (NULL);
  g_string_append_printf (text, "check: frame %u: ", i);
  write_frame (text, pair->reference_name, pair->reference, i);
  g_string_append (text, ", ");
  write_frame (text, pair->tested_name, pair->tested, i);
  g_string_append_c (text, '\n');
  write_place (text, "after", &place, arch);
  if (i > 1)
    {
      place = place_before (pair->reference, i - 1, space, arch);
      write_place (text, "called by that:", &place, arch);
    }
  write_details (text, space, arch, pair);
  difference.report = text->str;
  self->func (&difference, self->user_data);
}

/* The engine */

static void
check_unwind (LuUnwinder *unwinder, const LuUnwindRequest *request, LuStack *stack)
{
  CheckUnwinder *self = (CheckUnwinder *) unwinder;
  const Pair pair = { self->reference->ops->name, self->tested->ops->name, stack, &self->other,
                      NULL };
  guint i;

  self->reference->ops->unwind (self->reference, request, stack);
  self->pid = request->pid;
  lu_stack_reset (&self->other);
  self->tested->ops->unwind (self->tested, request, &self->other);
  if (request->awaited != NULL && request->awaited->slot != NULL)
    return;
  lu_count (&self->parent.counters, LU_COUNTER_COMPARED);
  i = first_difference (stack, &self->other, 0);
  if (i < stack->n_frames || i < self->other.n_frames)
    lu_count (&self->parent.counters, LU_COUNTER_FRAMES_DIFFER);
  else if (stack->status != self->other.status)
    lu_count (&self->parent.counters, LU_COUNTER_STATES_DIFFER);
  else
    return;
  tell (self, request->space, lu_arch_of_regs (&request->sample->regs), &pair, i);
}

/* Returns whether a stack ended where the copy does not reach: a BPF walk goes on there, as on the
 * stack of the goroutine that Go's runtime works for. */
static gboolean
is_cut_off (const LuStack *stack)
{
  return stack->status == LU_STATUS_TRUNCATED_COPY || stack->status == LU_STATUS_UNREADABLE_MEMORY
         || stack->status == LU_STATUS_OTHER_STACK;
}

/* Returns whether the walk stopped early; frames after that are not compared. */
static gboolean
is_stopped (const LuStack *stack)
{
  return stack->status != LU_STATUS_COMPLETE;
}

static gboolean
is_borne_out (const Pair *pair, guint same)
{
  const LuStack *copied = pair->reference, *bpf_unwound = pair->tested;

  if (same == copied->n_frames && same == bpf_unwound->n_frames)
    return copied->status == bpf_unwound->status || is_cut_off (copied) || is_stopped (bpf_unwound);
  return (same == copied->n_frames && is_cut_off (copied))
         || (same == bpf_unwound->n_frames && is_stopped (bpf_unwound));
}

/* Returns whether an engine that bears out the first frames ended in code without CFI. Where it
 * ends there depends on what earlier samples have shown, which each engine and each CPU remembers
 * for itself. */
static gboolean
is_in_doubt (const Pair *pair, guint same)
{
  const LuStack *copied = pair->reference;

  return same == copied->n_frames && same < pair->tested->n_frames
         && (copied->status == LU_STATUS_JIT || copied->status == LU_STATUS_NO_UNWIND_INFO);
}

static gboolean
is_same_stack (const Pair *pair, guint same)
{
  return same == pair->reference->n_frames && same == pair->tested->n_frames
         && pair->reference->status == pair->tested->status;
}

/* The caller of HotSpot's leaves. BPF reads the code of such a leaf, which the engines cannot, and
 * so knows whether it has set up its frame or only pushed the frame pointer. */

/* A sample as it would be in the caller. */
typedef struct
{
  LuSample sample;
  guint64 words[64]; /* the registers */
} CallerSample;

static void
set_register (CallerSample *self, const LuArch *arch, int dwarf_number, guint64 value)
{
  guint bit = lu_arch_perf_bit (arch, dwarf_number), index;

  if (bit < arch->n_registers && lu_arch_find_word (&self->sample.regs, bit, &index))
    self->words[index] = value;
}

/* Makes the sample that follows after a step by two words of the copy, the frame pointer and the
 * return address, at `offset`. FALSE: they do not lead to `pc`, or are not in the copy. */
static gboolean
go_to_caller (CallerSample *self, const LuSample *sample, guint64 offset, guint64 pc)
{
  const LuArch *arch = lu_arch_of_regs (&sample->regs);
  guint64 pair[2], sp;
  guint pc_word;

  if (sample->regs.n_words > G_N_ELEMENTS (self->words)
      || !lu_arch_find_word (&sample->regs, arch->perf_pc, &pc_word)
      || sample->stack_size < sizeof pair || offset > sample->stack_size - sizeof pair
      || offset % sizeof *pair != 0 || !lu_arch_read (&sample->regs, arch->perf_sp, &sp))
    return FALSE;
  memcpy (pair, sample->stack + offset, sizeof pair);
  if (pair[1] != pc)
    return FALSE;
  self->sample = *sample;
  memcpy (self->words, sample->regs.words, sample->regs.n_words * sizeof *self->words);
  self->sample.regs.words = self->words;
  offset += sizeof pair;
  set_register (self, arch, arch->hotspot_sender, 0); /* the leaf's */
  set_register (self, arch, arch->hotspot_return, 0);
  set_register (self, arch, arch->bx, 0);
  set_register (self, arch, arch->fp, pair[0]);
  set_register (self, arch, arch->sp, sp + offset);
  self->words[pc_word] = pc;
  self->sample.stack += offset;
  self->sample.stack_size -= (guint32) offset;
  self->sample.stack_asked -= (guint32) offset;
  return TRUE;
}

/* Returns whether a leaf of HotSpot's that the engine cannot pass has the caller that BPF found, by
 * one of both steps, and the engine finds the same frames from there on. */
static gboolean
is_borne_out_from (CheckUnwinder *self, LuUnwinder *engine, const Pair *pair, LuAddressSpace *space,
                   guint64 offset)
{
  const LuStack *bpf_unwound = pair->tested;
  LuStack *continued = &self->continued;
  CallerSample caller;
  const LuUnwindRequest request = { .pid = self->pid, .sample = &caller.sample, .space = space };
  const Pair rest = { .reference = continued, .tested = bpf_unwound };

  if (!go_to_caller (&caller, pair->sample, offset, bpf_unwound->frames[1].pc))
    return FALSE;
  lu_stack_reset (continued);
  engine->ops->unwind (engine, &request, continued);
  if (continued->n_frames == 0 || continued->n_frames == G_N_ELEMENTS (continued->frames))
    return FALSE;
  memmove (&continued->frames[1], &continued->frames[0],
           continued->n_frames * sizeof *continued->frames);
  continued->frames[0] = pair->reference->frames[0];
  continued->frames[1].flags = LU_FRAME_RETURN_ADDRESS | LU_FRAME_INFERRED;
  continued->n_frames++;
  return is_borne_out (&rest, first_difference (continued, bpf_unwound, FRAME_WAYS));
}

static gboolean
is_borne_out_by_caller (CheckUnwinder *self, LuUnwinder *engine, const Pair *pair,
                        LuAddressSpace *space)
{
  const LuSample *sample = pair->sample;
  const LuArch *arch = lu_arch_of_regs (&sample->regs);
  guint64 sp, fp, top;

  if (pair->reference->n_frames != 1 || pair->reference->status != LU_STATUS_JIT
      || pair->tested->n_frames < 2 || arch == NULL || arch->hotspot_sender == 0
      || pair->tested->frames[0].pc != pair->reference->frames[0].pc
      || !lu_address_space_has_hotspot (space) || !lu_arch_read (&sample->regs, arch->perf_sp, &sp)
      || !lu_arch_read_dwarf (arch, &sample->regs, arch->fp, &fp))
    return FALSE;
  if (is_borne_out_from (self, engine, pair, space, fp - sp))
    return TRUE;
  if (sample->stack_size < sizeof top)
    return FALSE;
  memcpy (&top, sample->stack, sizeof top);
  return top == fp && is_borne_out_from (self, engine, pair, space, 0);
}

static void
write_kernel_frame (GString *text, const char *who, const LuFrame *frames, guint n, guint i)
{
  if (i < n)
    g_string_append_printf (text, "%s %#" PRIx64 " (%u frames)", who, (guint64) frames[i].pc, n);
  else
    g_string_append_printf (text, "%s none (%u frames)", who, n);
}

static void
tell_kernel (CheckUnwinder *self, const LuComparison *comparison, guint i)
{
  g_autoptr (GString) text = NULL;
  LuDifference difference = { .reference = comparison->stack, .tested = comparison->bpf_unwound };
  guint64 pc = i < comparison->n_kernel ? comparison->kernel[i].pc : 0;

  if (g_hash_table_size (self->reported) >= MAX_REPORTED
      || !g_hash_table_add (self->reported, g_memdup2 (&pc, sizeof pc)))
    return;
  text = g_string_new (NULL);
  g_string_append_printf (text, "check: kernel frame %u: ", i);
  write_kernel_frame (text, "sample", comparison->kernel, comparison->n_kernel, i);
  g_string_append (text, ", ");
  write_kernel_frame (text, "bpf", comparison->bpf_kernel, comparison->n_bpf_kernel, i);
  g_string_append_c (text, '\n');
  difference.report = text->str;
  self->func (&difference, self->user_data);
}

/* Compares the kernel frames of the sample with those of the BPF walk, taken at the same moment. */
static void
compare_kernel (CheckUnwinder *self, const LuComparison *comparison)
{
  guint n = MIN (comparison->n_kernel, comparison->n_bpf_kernel), i = 0;

  if (comparison->n_kernel == 0 && comparison->n_bpf_kernel == 0)
    return;
  lu_count (&self->parent.counters, LU_COUNTER_KERNEL_FRAMES_COMPARED);
  while (i < n && comparison->kernel[i].pc == comparison->bpf_kernel[i].pc)
    i++;
  if (i == comparison->n_kernel && i == comparison->n_bpf_kernel)
    return;
  lu_count (&self->parent.counters, LU_COUNTER_KERNEL_FRAMES_DIFFER);
  tell_kernel (self, comparison, i);
}

static void
check_verify (LuUnwinder *unwinder, const LuVerifyRequest *request, LuVerified *verified)
{
  CheckUnwinder *self = (CheckUnwinder *) unwinder;

  self->tested->ops->verify (self->tested, request, verified);
}

static void
check_compare (LuUnwinder *unwinder, const LuSample *sample, LuAddressSpace *space,
               const LuComparison *comparison)
{
  CheckUnwinder *self = (CheckUnwinder *) unwinder;
  const LuStack *bpf_unwound = comparison->bpf_unwound;
  const Pair pairs[] = { { self->tested->ops->name, "bpf", &self->other, bpf_unwound, sample },
                         { self->reference->ops->name, "bpf", comparison->stack, bpf_unwound,
                           sample } };
  guint same[G_N_ELEMENTS (pairs)];

  compare_kernel (self, comparison);
  /* There was no time to unwind it, and self->other is another sample's. */
  if (comparison->stack->status == LU_STATUS_OVER_BUDGET)
    return;
  lu_count (&self->parent.counters, LU_COUNTER_BPF_COMPARED);
  for (guint i = 0; i < G_N_ELEMENTS (pairs); i++)
    same[i] = first_difference (pairs[i].reference, bpf_unwound, FRAME_WAYS);
  for (guint i = 0; i < G_N_ELEMENTS (pairs); i++)
    {
      if (is_borne_out (&pairs[i], same[i])
          || (is_in_doubt (&pairs[i], same[i]) && is_same_stack (&pairs[!i], same[!i]))
          || is_borne_out_by_caller (self, i == 0 ? self->tested : self->reference, &pairs[i],
                                     space))
        continue;
      lu_count (&self->parent.counters, LU_COUNTER_BPF_DIFFER);
      tell (self, space, lu_arch_of_regs (&sample->regs), &pairs[i], same[i]);
      return;
    }
}

static void
check_free (LuUnwinder *unwinder)
{
  CheckUnwinder *self = (CheckUnwinder *) unwinder;

  lu_unwinder_free (self->reference);
  lu_unwinder_free (self->tested);
  g_hash_table_unref (self->reported);
  g_free (self);
}

LuUnwinder *
lu_check_new (LuUnwinder *reference, LuUnwinder *tested, LuDifferenceFunc func, gpointer user_data)
{
  CheckUnwinder *self = g_new0 (CheckUnwinder, 1);

  self->parent.ops = &lu_unwinder_check;
  self->reference = reference;
  self->tested = tested;
  self->func = func != NULL ? func : to_standard_error;
  self->user_data = user_data;
  self->reported = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  return &self->parent;
}

static LuUnwinder *
check_new (GError **error)
{
  g_autoptr (LuUnwinder) dwfl = lu_unwinder_dwfl.new(error);
  g_autoptr (LuUnwinder) table = dwfl != NULL ? lu_unwinder_table.new(error) : NULL;

  if (table == NULL)
    return NULL;
  return lu_check_new (g_steal_pointer (&dwfl), g_steal_pointer (&table), NULL, NULL);
}

const LuUnwinderOps lu_unwinder_check = {
  .name = "check",
  .new = check_new,
  .unwind = check_unwind,
  .verify = check_verify,
  .compare = check_compare,
  .free = check_free,
};
