/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* make.c PERF-DATA DIRECTORY/NAME COMMAND [SAMPLES] - makes NAME.samples.gz and NAME.stacks from a
 * recording of perf on this machine; record.py calls it for all of them.
 *
 * It selects the samples that pass new code or end in a new way. It keeps the part of each stack
 * that was read, and of each file the entries that were used (reduce.h). A sample that then unwinds
 * differently than with the real files is dropped and reported. */

#include "reduce.h"
#include "samples.h"

#include "input/source-perf-data.h"
#include "module/opener.h"
#include "process/process-table.h"
#include "unwind/dwfl-address-space.h"
#include "unwind/unwinder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_SAMPLES 60
/* First the samples that pass at least this many new places, then those that pass any. */
#define MANY_NEW_PLACES 3
/* Samples of each state other than complete, whatever code they pass. */
#define PER_STATE 4
/* Bytes kept above the last one that was read. */
#define SLACK 64

typedef struct
{
  RecordedSample recorded; /* the address space is not used */
  LuAddressSpace *space;   /* owned */
} Item;

typedef struct
{
  LuProcessTable *table;
  LuOpener *opener;
  GArray *items; /* of Item */
} Set;

/* Reading */

static void
module_added (LuModule *module, LuProcess *process, guint64 start, guint64 end, gpointer user_data)
{
  lu_opener_open (((Set *) user_data)->opener, module, 0, start, end);
}

static void
keep_sample (Set *set, const LuEvent *event)
{
  const LuSample *sample = &event->sample;
  LuProcess *process;
  LuAddressSpace *space;
  Item item = { .recorded.sample = *sample };
  LuSample *kept = &item.recorded.sample;

  if (sample->regs.abi != LU_ABI_64 || sample->stack_size < 8
      || !lu_process_table_lookup (set->table, event->pid, event->time, &process, &space))
    return;
  item.space = lu_address_space_ref (space);
  kept->regs.words = g_memdup2 (sample->regs.words, sample->regs.n_words * sizeof (guint64));
  kept->stack = g_memdup2 (sample->stack, sample->stack_size);
  kept->callchain = NULL;
  kept->n_callchain = 0;
  g_array_append_val (set->items, item);
}

static LuVerdict
handle_event (const LuEvent *event, gpointer user_data)
{
  Set *set = user_data;

  if (event->kind == LU_EVENT_SAMPLE)
    keep_sample (set, event);
  else
    lu_process_table_apply (set->table, event);
  return LU_VERDICT_DONE;
}

static gboolean
read_set (Set *set, const char *path, GError **error)
{
  static const LuProcessTableFuncs funcs = {
    .module_added = module_added,
  };
  g_autoptr (LuSource) source = lu_source_perf_data_new (path, error);

  if (source == NULL || !source->ops->start (source, error))
    return FALSE;
  set->table = lu_process_table_new (TRUE, &funcs, set);
  set->opener = lu_opener_new (FALSE, 1u << 30);
  set->items = g_array_new (FALSE, FALSE, sizeof (Item));
  while (source->ops->drain (source, handle_event, set) != LU_ROUND_END)
    lu_process_table_end_round (set->table);
  return TRUE;
}

/* Choosing */

typedef struct
{
  LuUnwinder *dwfl, *table;
  GHashTable *places;  /* set of module id << 40 ^ ELF address */
  GHashTable *touched; /* LuModule -> Reduction */
  GHashTable *spaces;  /* LuAddressSpace -> index + 1 */
  guint by_status[LU_N_STATUS];
  Recorded *recorded;
} Choice;

static const LuMapping *
find_mapping (LuAddressSpace *space, guint64 address, guint64 *elf_address)
{
  const LuMapping *mapping = lu_address_space_find (space, address);

  if (mapping != NULL)
    *elf_address = address - lu_dwfl_mapping_describe (mapping, lu_arch_of_abi (LU_ABI_64)).bias;
  return mapping;
}

static guint64
lookup_of (const LuFrame *frame)
{
  return frame->pc - ((frame->flags & LU_FRAME_RETURN_ADDRESS) != 0);
}

static guint
count_new_places (Choice *self, LuAddressSpace *space, const LuStack *stack, gboolean add)
{
  guint n = 0;

  for (guint i = 0; i < stack->n_frames; i++)
    {
      guint64 address = 0;
      const LuMapping *mapping = find_mapping (space, lookup_of (&stack->frames[i]), &address);
      gpointer key;

      if (mapping == NULL)
        continue;
      key = GSIZE_TO_POINTER ((gsize) lu_module_id (mapping->module) << 40 ^ address);
      n += !g_hash_table_contains (self->places, key);
      if (add)
        g_hash_table_add (self->places, key);
    }
  return n;
}

static void
touch (Choice *self, LuAddressSpace *space, guint64 address)
{
  guint64 elf_address;
  const LuMapping *mapping = find_mapping (space, address, &elf_address);
  Reduction *reduction =
      mapping != NULL ? g_hash_table_lookup (self->touched, mapping->module) : NULL;

  if (reduction != NULL)
    reduction_touch (reduction, elf_address);
}

/* Bytes of the stack in which an engine may look for return addresses. */
static guint
searched (const LuSample *sample, const LuStack *stack, guint64 stack_used)
{
  for (guint i = 0; i < stack->n_frames; i++)
    if ((stack->frames[i].flags & LU_FRAME_INFERRED) != 0)
      return (guint) MIN (sample->stack_size, stack_used);
  return MIN (sample->stack_size, 16u);
}

/* The addresses that an engine may ask about: those of the frames, possible return addresses of a
 * leaf without a rule, and possible ones where a frame-pointer step is taken. */
static void
prefault_all (Choice *self, const Item *item, const LuStack *stack, guint64 stack_used)
{
  const LuSample *sample = &item->recorded.sample;
  guint n_searched = searched (sample, stack, stack_used);

  for (guint i = 0; i < stack->n_frames; i++)
    {
      touch (self, item->space, stack->frames[i].pc);
      touch (self, item->space, stack->frames[i].pc - 1);
    }
  for (guint at = 0; at + 8 <= n_searched; at += 8)
    {
      guint64 word;

      memcpy (&word, sample->stack + at, sizeof word);
      touch (self, item->space, word - 1);
    }
}

static void
add_module (Choice *self, LuModule *module)
{
  LuImage *image = lu_module_image (module);
  RecordedModule recorded = {
    .kind = lu_module_key (module)->kind,
    .path = g_strdup (lu_module_path (module)),
    .module = lu_module_ref (module),
  };
  Reduction *reduction = NULL;

  if (image != NULL && lu_image_is_64bit (image))
    {
      reduction = reduction_new (image);
      reduction_touch (reduction, lu_image_entry (image));
    }
  g_hash_table_insert (self->touched, module, reduction);
  g_array_append_val (self->recorded->modules, recorded);
}

static guint
add_space (Choice *self, LuAddressSpace *space)
{
  guint known = GPOINTER_TO_UINT (g_hash_table_lookup (self->spaces, space));
  guint n;
  const LuMapping *mappings = lu_address_space_mappings (space, &n);

  if (known != 0)
    return known - 1;
  for (guint i = 0; i < n; i++)
    if (!g_hash_table_contains (self->touched, mappings[i].module))
      add_module (self, mappings[i].module);
  g_ptr_array_add (self->recorded->spaces, lu_address_space_ref (space));
  g_hash_table_insert (self->spaces, space, GUINT_TO_POINTER (self->recorded->spaces->len));
  return self->recorded->spaces->len - 1;
}

static void
unwind (LuUnwinder *unwinder, const LuSample *sample, LuAddressSpace *space, LuStack *stack)
{
  lu_stack_reset (stack);
  unwinder->ops->unwind (unwinder, &(LuUnwindRequest){ .sample = sample, .space = space }, stack);
}

static void
take (Choice *self, const Item *item, const LuStack *stack, guint64 stack_used)
{
  RecordedSample recorded = item->recorded;
  LuSample *sample = &recorded.sample;

  recorded.space = add_space (self, item->space);
  count_new_places (self, item->space, stack, TRUE);
  self->by_status[stack->status]++;
  prefault_all (self, item, stack, stack_used);
  sample->regs.words = g_memdup2 (sample->regs.words, sample->regs.n_words * sizeof (guint64));
  if (stack->status == LU_STATUS_COMPLETE)
    sample->stack_size = (guint32) MIN (sample->stack_size, (stack_used + SLACK) & ~7ull);
  sample->stack = g_memdup2 (sample->stack, sample->stack_size);
  g_array_append_val (self->recorded->samples, recorded);
}

static void
consider (Choice *self, const Item *item, guint min_new_places)
{
  g_autofree LuStack *stack = g_new (LuStack, 1), *by_table = g_new (LuStack, 1);
  const LuSample *sample = &item->recorded.sample;
  gboolean is_new_end;

  unwind (self->dwfl, sample, item->space, stack);
  is_new_end = stack->status != LU_STATUS_COMPLETE && self->by_status[stack->status] < PER_STATE;
  if (!is_new_end && count_new_places (self, item->space, stack, FALSE) < min_new_places)
    return;
  unwind (self->table, sample, item->space, by_table);
  take (self, item, stack, MAX (stack->stack_used, by_table->stack_used));
}

/* This takes samples from the whole recording. */
static void
shuffle (GArray *items)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (1);

  for (guint i = items->len; i > 1; i--)
    {
      guint other = (guint) g_rand_int_range (random, 0, (gint32) i);
      Item item = g_array_index (items, Item, other);

      g_array_index (items, Item, other) = g_array_index (items, Item, i - 1);
      g_array_index (items, Item, i - 1) = item;
    }
}

static void
reduce_modules (Choice *self)
{
  for (guint i = 0; i < self->recorded->modules->len; i++)
    {
      RecordedModule *module = &g_array_index (self->recorded->modules, RecordedModule, i);
      Reduction *reduction = g_hash_table_lookup (self->touched, module->module);
      GByteArray *bytes = reduction != NULL ? reduction_finish (reduction) : NULL;

      if (bytes != NULL)
        module->image = g_byte_array_free_to_bytes (bytes);
      else if (reduction != NULL)
        fprintf (stderr, "%s: its entries cannot be moved\n", module->path);
      if (reduction != NULL)
        reduction_free (reduction);
    }
}

/* Checking and writing */

/* Unwinds the written samples as a test will, and drops those that end differently. Returns FALSE
 * if there were any. */
static gboolean
drop_different (Recorded *self, const char *path, GError **error)
{
  g_autoptr (Recorded) again = recorded_read (path, error);
  g_autoptr (LuUnwinder) dwfl = lu_unwinder_dwfl.new(NULL), full = lu_unwinder_dwfl.new(NULL);
  g_autofree LuStack *stack = g_new (LuStack, 1);
  gboolean is_same = TRUE;

  if (again == NULL)
    return FALSE;
  for (guint i = again->samples->len; i-- > 0;)
    {
      const RecordedSample *old = &g_array_index (self->samples, RecordedSample, i);
      const RecordedSample *new = &g_array_index (again->samples, RecordedSample, i);
      g_autofree char *want = NULL, *have = NULL;

      unwind (full, &old->sample, self->spaces->pdata[old->space], stack);
      want = recorded_stack_to_text (self, old->space, stack);
      unwind (dwfl, &new->sample, again->spaces->pdata[new->space], stack);
      have = recorded_stack_to_text (again, new->space, stack);
      if (strcmp (want, have) == 0)
        continue;
      fprintf (stderr, "left out:\n  %s\n  %s\n", want, have);
      g_array_remove_index (self->samples, i);
      is_same = FALSE;
    }
  return is_same;
}

static gboolean
write_stacks (const char *samples, const char *path, GError **error)
{
  g_autoptr (Recorded) recorded = recorded_read (samples, error);
  g_autoptr (GString) out = recorded != NULL ? recorded_expectations (recorded) : NULL;

  return out != NULL && g_file_set_contents (path, out->str, (gssize) out->len, error);
}

static gboolean
make (const char *perf_data, const char *name, const char *command, guint n_samples, GError **error)
{
  g_autofree char *samples = g_strconcat (name, ".samples.gz", NULL);
  g_autofree char *stacks = g_strconcat (name, ".stacks", NULL);
  Set set = { 0 };
  Choice choice = {
    .dwfl = lu_unwinder_dwfl.new(NULL),
    .table = lu_unwinder_table.new(NULL),
    .places = g_hash_table_new (NULL, NULL),
    .touched = g_hash_table_new (NULL, NULL),
    .spaces = g_hash_table_new (NULL, NULL),
    .recorded = recorded_new (),
  };

  if (!read_set (&set, perf_data, error))
    return FALSE;
  shuffle (set.items);
  for (guint i = 0; i < 2 * set.items->len && choice.recorded->samples->len < n_samples; i++)
    consider (&choice, &g_array_index (set.items, Item, i % set.items->len),
              i < set.items->len ? MANY_NEW_PLACES : 1);
  reduce_modules (&choice);
  choice.recorded->command = g_strdup (command);
  if (!recorded_write (choice.recorded, samples, error))
    return FALSE;
  if (!drop_different (choice.recorded, samples, error)
      && (*error != NULL || !recorded_write (choice.recorded, samples, error)))
    return FALSE;
  printf ("%s: %u of %u samples, %u places\n", name, choice.recorded->samples->len, set.items->len,
          g_hash_table_size (choice.places));
  return write_stacks (samples, stacks, error);
}

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;

  if (argc < 4)
    {
      fprintf (stderr, "usage: make PERF-DATA DIRECTORY/NAME COMMAND [SAMPLES]\n");
      return 2;
    }
  if (make (argv[1], argv[2], argv[3],
            argc > 4 ? (guint) strtoul (argv[4], NULL, 10) : DEFAULT_SAMPLES, &error))
    return 0;
  fprintf (stderr, "%s\n", error->message);
  return 1;
}
