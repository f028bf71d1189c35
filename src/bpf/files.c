/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* files.c - tables of files in the maps; see files.h.
 *
 * Memory for a table is freed before it is copied. The least recently used tables go first, by the
 * bits that the program sets, but none that was used in the last second: if the tables in use do
 * not fit into the budget, some walks fall back, but tables are not copied again and again. */

#include "bpf/files.h"

#include "base/clock.h"

/* Tables that nobody requested are published while less than half of the budget is in use. */
#define EAGER_SHARE 2
/* Free memory may be in pieces that are too small; then more is evicted, up to this many times. */
#define MAX_TRIES 8

/* Entries */

/* Returns how many entries were added, at most n. */
static guint
add_entries (LuBpfFiles *self, guint n, guint32 *numbers, guint32 **words)
{
  guint n_free = 0, n_in;

  for (guint i = 0; i < self->backing->max_entries && n_free < n; i++)
    if (!self->is_entry_used[i])
      numbers[n_free++] = i;
  n_in = n_free > 0 ? self->backing->ops->add_entries (self->backing, numbers, n_free, words) : 0;
  for (guint i = 0; i < n_in; i++)
    self->is_entry_used[numbers[i]] = TRUE;
  self->n_entries += n_in;
  return n_in;
}

/* Adds entries for this many words if the budget allows. Leaves room for some mappings. */
static gboolean
grow_tables (LuBpfFiles *self, gsize words)
{
  guint reserve = MAX (self->n_mapping_entries, self->max_mapping_entries / 2);
  guint taken = self->arena.n_entries + reserve;
  gsize n = MIN ((words + LU_BPF_ENTRY_WORDS - 1) / LU_BPF_ENTRY_WORDS, LU_BPF_ENTRIES_AT_ONCE);
  guint32 numbers[LU_BPF_ENTRIES_AT_ONCE], *memory[LU_BPF_ENTRIES_AT_ONCE];
  guint n_in;

  if (taken >= self->max_entries)
    return FALSE;
  n_in = add_entries (self, (guint) MIN (n, self->max_entries - taken), numbers, memory);
  for (guint i = 0; i < n_in; i++)
    lu_bpf_arena_add (&self->arena, numbers[i], memory[i], 0, LU_BPF_ENTRY_WORDS);
  return n_in > 0;
}

static void
give_up_entry (LuBpfFiles *self)
{
  gint number = lu_bpf_arena_remove_unused (&self->arena);

  if (number < 0)
    return;
  self->backing->ops->remove_entry (self->backing, (guint) number);
  self->is_entry_used[number] = FALSE;
  self->n_entries--;
}

static guint32 *
share_entry (LuBpfFiles *self, guint *number, guint *n_words)
{
  guint32 *words = NULL;

  add_entries (self, 1, number, &words);
  if (words == NULL)
    return NULL;
  lu_bpf_arena_add (&self->arena, *number, words, LU_BPF_FIRST_MAPPINGS, LU_BPF_ENTRY_WORDS);
  self->has_shared = TRUE;
  *n_words = LU_BPF_FIRST_MAPPINGS;
  return words;
}

guint32 *
lu_bpf_files_grow_mappings (LuBpfFiles *self, guint *number, guint *n_words)
{
  guint32 *words = NULL;

  if (self->n_entries >= self->max_entries)
    give_up_entry (self);
  if (self->n_entries >= self->max_entries)
    return NULL;
  if (!self->has_shared)
    return share_entry (self, number, n_words);
  if (self->n_mapping_entries < self->max_mapping_entries)
    add_entries (self, 1, number, &words);
  self->n_mapping_entries += words != NULL;
  *n_words = LU_BPF_ENTRY_WORDS;
  return words;
}

/* Slots */

static void
show_interp (LuBpfFiles *self, guint32 slot, guint interp)
{
  __atomic_store_n (&self->backing->shared->interp_of[slot], (guint8) interp, __ATOMIC_RELEASE);
}

static void
store_table (struct lu_bpf_module *module, guint64 table)
{
  __atomic_store_n (&module->table, table, __ATOMIC_RELEASE);
}

static void
show (LuBpfFiles *self, guint32 slot, const LuBpfFile *file)
{
  struct lu_bpf_module *module = &self->backing->modules[slot];
  const LuBpfCopy *copy = file->copy;

  __atomic_store_n (&module->base, copy->base, __ATOMIC_RELAXED);
  __atomic_store_n (&module->entry, file->entry, __ATOMIC_RELAXED);
  __atomic_store_n (&module->key, file->key << LU_BPF_KEY_SHIFT, __ATOMIC_RELAXED);
  show_interp (self, slot, file->interp);
  store_table (module, (guint64) copy->n_pages << 32 | copy->index);
}

/* Clears the key, too: the program remembers rules by it, whose ids may get other meanings. */
static void
hide (LuBpfFiles *self, guint32 slot)
{
  struct lu_bpf_module *module = &self->backing->modules[slot];

  store_table (module, 0);
  __atomic_store_n (&module->key, 0, __ATOMIC_RELEASE);
  show_interp (self, slot, 0);
}

/* Files */

static void
withdraw (LuBpfFiles *self, LuBpfFile *file)
{
  if (file->copy == NULL)
    return;
  for (guint i = 0; i < file->slots->len; i++)
    hide (self, g_array_index (file->slots, guint32, i));
  self->bytes -= file->copy->bytes;
  self->n_tables--;
  lu_bpf_copy_free (g_steal_pointer (&file->copy), &self->arena, &self->rules);
}

static void
file_free (gpointer data)
{
  LuBpfFile *self = data;

  lu_table_slot_unref (self->table_slot);
  lu_image_unref (self->image);
  g_array_unref (self->slots);
  g_free (self);
}

static gpointer
key_of (const LuBpfFile *file)
{
  return file->table_slot != NULL ? (gpointer) file->table_slot : (gpointer) file->image;
}

static void
publish_interp (LuBpfFiles *self, LuBpfFile *file, const LuModule *module)
{
  const struct lu_interp_file *interp = lu_module_interp (module);

  if (interp != NULL)
    file->interp = lu_bpf_interps_add (&self->interps, interp);
  if (file->interp != 0 && self->backing->ops->read_interpreters != NULL)
    self->backing->ops->read_interpreters (self->backing);
}

static LuBpfFile *
find_file (LuBpfFiles *self, LuModule *module)
{
  LuTableSlot *table_slot = lu_module_table_slot (module);
  LuImage *image = lu_module_image (module);
  LuBpfFile *file =
      g_hash_table_lookup (self->files, table_slot != NULL ? (gpointer) table_slot : image);

  if (file != NULL)
    return file;
  file = g_new0 (LuBpfFile, 1);
  if (table_slot != NULL)
    file->table_slot = lu_table_slot_ref (table_slot);
  file->image = lu_image_ref (image);
  file->slots = g_array_new (FALSE, FALSE, sizeof (guint32));
  /* No process starts in the vDSO. */
  if (lu_module_key (module)->kind != LU_MODULE_VDSO)
    file->entry = lu_image_entry (image);
  publish_interp (self, file, module);
  g_hash_table_insert (self->files, key_of (file), file);
  return file;
}

/* Room */

/* Reads and clears the bits by which the program marks used tables. */
static void
look_at_use (LuBpfFiles *self, guint64 now)
{
  GHashTableIter iter;
  gpointer value;

  g_hash_table_iter_init (&iter, self->files);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      LuBpfFile *file = value;

      for (guint i = 0; i < file->slots->len; i++)
        {
          guint8 *use = &self->backing->use[g_array_index (file->slots, guint32, i)];

          if ((__atomic_fetch_and (use, (guint8) ~LU_BPF_USED, __ATOMIC_RELAXED) & LU_BPF_USED)
              != 0)
            file->last_use = now;
        }
    }
}

static LuBpfFile *
find_longest_unused (LuBpfFiles *self, guint64 now)
{
  LuBpfFile *found = NULL;
  GHashTableIter iter;
  gpointer value;

  look_at_use (self, now);
  g_hash_table_iter_init (&iter, self->files);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      LuBpfFile *file = value;

      if (file->copy != NULL && now - file->last_use >= LU_BPF_MIN_UNUSED_NS
          && (found == NULL || file->last_use < found->last_use))
        found = file;
    }
  return found;
}

static void
pass_rest (LuBpfFiles *self)
{
  guint64 now = lu_monotonic_ns ();

  lu_bpf_arena_pass (&self->arena, now, self->rest_ns);
  lu_bpf_reclaim_pass (&self->rules.ids, now, self->rest_ns);
}

/* Frees what rests, if the kernel can tell when walks have ended; otherwise they rest for a fixed
 * time. Items that were freed while others were sealed need a second turn. */
static void
end_rest (LuBpfFiles *self)
{
  for (guint i = 0; i < 2; i++)
    {
      pass_rest (self);
      if (lu_bpf_arena_resting_bytes (&self->arena) == 0
          || !self->backing->ops->wait_for_walks (self->backing))
        return;
      lu_bpf_arena_release (&self->arena);
      lu_bpf_reclaim_release (&self->rules.ids);
    }
}

/* Returns FALSE if nothing may be evicted. */
static gboolean
evict (LuBpfFiles *self)
{
  LuBpfFile *file = find_longest_unused (self, lu_monotonic_ns ());

  if (file == NULL)
    return FALSE;
  withdraw (self, file);
  lu_count (&self->counters, LU_COUNTER_MAPS_EVICTED);
  return TRUE;
}

static gsize
free_words (const LuBpfFiles *self)
{
  return lu_bpf_arena_free_bytes (&self->arena) / sizeof (guint32);
}

/* Makes room in the dictionary of rules, which only hostile files can fill. */
static void
make_room_for_rules (LuBpfFiles *self)
{
  if (!lu_bpf_rules_is_short (&self->rules))
    return;
  while (lu_bpf_rules_is_short (&self->rules) && evict (self))
    ;
  end_rest (self);
}

/* Frees at least this many words, though perhaps in pieces. */
static gboolean
make_room (LuBpfFiles *self, gsize words)
{
  gsize resting;

  pass_rest (self);
  while (free_words (self) < words && grow_tables (self, words - free_words (self)))
    ;
  if (free_words (self) >= words)
    return TRUE;
  do
    resting = lu_bpf_arena_resting_bytes (&self->arena) / sizeof (guint32);
  while (free_words (self) + resting < words && evict (self));
  if (free_words (self) + resting < words)
    return FALSE;
  end_rest (self);
  return free_words (self) >= words;
}

static LuBpfCopy *
copy_table (LuBpfFiles *self, const LuTable *table, const LuImage *image, gsize words)
{
  LuBpfCopy *copy = NULL;

  for (guint i = 0; copy == NULL && i < MAX_TRIES; i++)
    {
      if (i > 0 && !grow_tables (self, 1) && !evict (self))
        break;
      if (i > 0)
        end_rest (self);
      if (make_room (self, words))
        copy = lu_bpf_copy_new (table, image, &self->arena, &self->rules);
      else
        break;
    }
  return copy;
}

/* Publishing */

void
lu_bpf_files_give_up (LuBpfFiles *self, LuBpfFile *file)
{
  file->is_hopeless = TRUE;
  lu_count (&self->counters, LU_COUNTER_MAPS_REFUSED_MODULES);
}

gboolean
lu_bpf_files_publish (LuBpfFiles *self, LuBpfFile *file, const LuTable *table, const LuImage *image)
{
  gsize words = lu_bpf_copy_words (table, image);

  if (words == 0 || words > (gsize) self->max_entries * LU_BPF_ENTRY_WORDS)
    {
      lu_bpf_files_give_up (self, file);
      return TRUE;
    }
  make_room_for_rules (self);
  file->copy = copy_table (self, table, image, words);
  if (file->copy == NULL)
    {
      file->last_refused = lu_monotonic_ns ();
      lu_count (&self->counters, LU_COUNTER_MAPS_REFUSED_TABLES);
      return FALSE;
    }
  file->key = ++self->last_key;
  file->last_use = lu_monotonic_ns ();
  file->serial = table->serial;
  for (guint i = 0; i < file->slots->len; i++)
    show (self, g_array_index (file->slots, guint32, i), file);
  self->bytes += file->copy->bytes;
  self->n_tables++;
  lu_count (&self->counters, LU_COUNTER_MAPS_PUBLISHED);
  return TRUE;
}

gboolean
lu_bpf_files_is_outdated (const LuBpfFile *file, const LuTable *table)
{
  return file->copy != NULL && table->stats.has_extra && table->serial != file->serial;
}

void
lu_bpf_files_renew (LuBpfFiles *self, LuBpfFile *file, const LuTable *table)
{
  withdraw (self, file);
  lu_bpf_files_publish (self, file, table, file->image);
  file->last_renewed = lu_monotonic_ns ();
}

gboolean
lu_bpf_files_publish_nothing (LuBpfFiles *self, LuBpfFile *file, const LuImage *image)
{
  static const struct lu_rule rules[] = { { .cfa_kind = LU_CFA_NONE },
                                          { .cfa_kind = LU_CFA_COMPLEX } };
  const LuTable table = { .rules = rules, .n_rules = G_N_ELEMENTS (rules) };

  return lu_bpf_files_publish (self, file, &table, image);
}

gboolean
lu_bpf_files_is_cheap (const LuBpfFiles *self, const LuTable *table)
{
  return (self->bytes + table->stats.table_bytes) * EAGER_SHARE
         <= (gsize) self->max_entries * LU_BPF_ENTRY_BYTES;
}

/* Life cycle, slots */

LuBpfFile *
lu_bpf_files_attach (LuBpfFiles *self, LuModule *module, guint32 slot)
{
  LuBpfFile *file = find_file (self, module);

  g_array_append_val (file->slots, slot);
  if (file->copy != NULL)
    show (self, slot, file);
  return file;
}

void
lu_bpf_files_detach (LuBpfFiles *self, LuBpfFile *file, guint32 slot)
{
  hide (self, slot);
  for (guint i = 0; i < file->slots->len; i++)
    if (g_array_index (file->slots, guint32, i) == slot)
      g_array_remove_index_fast (file->slots, i--);
  if (file->slots->len > 0)
    return;
  withdraw (self, file);
  lu_bpf_interps_remove (&self->interps, file->interp);
  g_hash_table_remove (self->files, key_of (file));
}

void
lu_bpf_files_init (LuBpfFiles *self, LuBpfBacking *backing, guint max_entries,
                   guint max_mapping_entries, guint64 rest_ns)
{
  *self = (LuBpfFiles){ .backing = backing,
                        .rest_ns = rest_ns,
                        .interps = { .backing = backing },
                        .max_entries = max_entries,
                        .max_mapping_entries = max_mapping_entries };
  lu_bpf_arena_init (&self->arena, max_entries);
  lu_bpf_rules_init (&self->rules, backing->dictionary);
  self->files = g_hash_table_new_full (NULL, NULL, NULL, file_free);
  self->is_entry_used = g_new0 (guint8, LU_BPF_MAX_ENTRIES);
}

void
lu_bpf_files_clear (LuBpfFiles *self)
{
  GHashTableIter iter;
  gpointer value;

  g_hash_table_iter_init (&iter, self->files);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    withdraw (self, value);
  g_hash_table_unref (self->files);
  lu_bpf_rules_clear (&self->rules);
  lu_bpf_arena_clear (&self->arena);
  g_free (self->is_entry_used);
}
