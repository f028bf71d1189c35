/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* maps.c - the processes that the BPF program knows; see maps.h.
 *
 * A process that is followed has an entry in the kernel's hash as long as it lives: if nothing is
 * known yet, or there is no room, the entry has no mappings, so that the program falls back instead
 * of ignoring the process. The entry is written after what it leads to. Changes gather until the
 * next flush, since a program that starts maps a dozen files at once; exec, end and fork cannot
 * wait. */

#include "bpf/maps-private.h"

#include "base/clock.h"

#define REQUEST_QUEUE_BYTES (1u << 20)
#define ANSWER_QUEUE_BYTES  (64u << 10)
#define SECOND_NS           G_GUINT64_CONSTANT (1000000000)
/* Free memory for mappings below which more is requested, or resting memory is freed. */
#define LOW_BYTES (LU_BPF_ENTRY_BYTES / 8)
/* A file that was not opened within this time will hardly ever be. */
#define PATIENCE_NS (SECOND_NS / 4)
/* Unwind information of a small file. */
#define SMALL_BYTES (128u << 10)
/* With more processes than this, most of their mappings are never sampled. */
#define FEW_PROCESSES 32
/* By the kernel's own mappings a walk takes some microseconds longer, so a process that is sampled
 * more often than this is published. A copy may mean that those mappings do not help. */
#define SAMPLES_BY_VMAS 16
#define SAMPLES_OF_COPY 8

/* Returns FALSE if there is no room in the queue. */
static gboolean
ask (LuBpfMaps *self, LuBpfRequestKind kind)
{
  LuBpfRequest *place = lu_queue_reserve (self->requests, sizeof *place);

  if (place == NULL)
    return FALSE;
  *place = (LuBpfRequest){ .kind = kind };
  lu_queue_commit (self->requests, sizeof *place);
  return TRUE;
}

/* Life cycle */

LuBpfMaps *
lu_bpf_maps_new (LuBpfBacking *backing, const LuBpfMapsOptions *options)
{
  LuBpfMaps *self = g_new0 (LuBpfMaps, 1);
  guint max_entries = lu_bpf_max_entries (backing, options);

  self->backing = backing;
  self->rest_ns = SECOND_NS + options->sampling_ns;
  self->follow_all = options->follow_all;
  self->is_lazy = options->follow_all && options->has_vmas;
  self->requests = lu_queue_new (REQUEST_QUEUE_BYTES);
  self->answers = lu_queue_new (ANSWER_QUEUE_BYTES);
  lu_bpf_index_init (&self->by_pid, backing->max_processes);
  self->processes = g_new0 (LuBpfProcess, backing->max_processes);
  lu_bpf_slots_init (&self->slots, backing, self->requests);
  lu_bpf_blocks_init (&self->blocks, backing->max_processes,
                      1 + lu_bpf_max_mapping_entries (max_entries));
  lu_bpf_reclaim_init (&self->identities, backing->n_identities);
  lu_bpf_reclaim_take (&self->identities, 1); /* identity 0 is none */
  self->listed = LU_BPF_NO_ITEM;
  self->publisher = lu_bpf_publisher_new (backing, options, self->requests, self->answers);
  self->is_growing = ask (self, LU_BPF_REQUEST_GROW);
  return self;
}

void
lu_bpf_maps_free (LuBpfMaps *self)
{
  if (self == NULL)
    return;
  lu_queue_close (self->requests);
  lu_bpf_publisher_free (self->publisher);
  for (guint i = 0; i < self->by_pid.n_ever; i++)
    lu_process_unref (self->processes[i].owner);
  lu_bpf_candidates_clear (&self->candidates);
  lu_bpf_slots_clear (&self->slots);
  lu_bpf_blocks_clear (&self->blocks);
  lu_bpf_reclaim_clear (&self->identities);
  lu_bpf_index_clear (&self->by_pid);
  lu_queue_free (self->requests);
  lu_queue_free (self->answers);
  lu_bpf_backing_free (self->backing);
  g_free (self->processes);
  g_free (self);
}

/* Changes from the process table */

/* Returns whether changes of the process have to be published. */
static gboolean
is_watched (LuBpfMaps *self, LuProcess *process, LuAddressSpaceChange change)
{
  if (!self->is_lazy || lu_process_marks (process)->is_watched)
    return TRUE;
  if (change != LU_ADDRESS_SPACE_MAPPED
      || !lu_bpf_devices_is_useless (&self->devices, lu_process_address_space (process)))
    return FALSE;
  lu_process_marks (process)->is_watched = TRUE;
  return TRUE;
}

void
lu_bpf_maps_address_space_changed (LuBpfMaps *self, LuProcess *process, LuAddressSpaceChange change,
                                   gint32 parent_pid)
{
  gboolean is_ours = is_watched (self, process, change);

  if (is_ours ? change == LU_ADDRESS_SPACE_MAPPED && lu_process_marks (process)->is_dirty
              : change == LU_ADDRESS_SPACE_MAPPED || change == LU_ADDRESS_SPACE_ENDED)
    return;
  if (change == LU_ADDRESS_SPACE_ENDED || !is_ours)
    lu_bpf_maps_take_end (self, process);
  else
    lu_bpf_maps_take_change (self, process, change, parent_pid);
}

void
lu_bpf_maps_introduce (LuBpfMaps *self, const LuMapping *mapping, gboolean is_young)
{
  if (self->is_lazy)
    lu_bpf_candidates_add (&self->candidates, &self->slots, mapping, is_young);
}

/* A file may have been forgotten, or its table evicted. */
static void
note_copy (LuBpfMaps *self, LuProcess *process, LuAddressSpace *space)
{
  guint n;
  const LuMapping *mappings = lu_address_space_mappings (space, &n);

  for (guint i = 0; i < MIN (n, LU_BPF_MAX_CANDIDATES); i++)
    lu_bpf_maps_introduce (self, &mappings[i], lu_process_start_time (process) != 0);
}

gboolean
lu_bpf_maps_wants (LuBpfMaps *self, LuProcess *process, LuAddressSpace *space, gboolean by_vmas)
{
  if (!self->is_lazy || lu_process_marks (process)->is_watched)
    return FALSE;
  lu_bpf_devices_count (&self->devices, space, by_vmas);
  if (!by_vmas)
    note_copy (self, process, space);
  lu_process_marks (process)->n_samples += by_vmas ? 1 : SAMPLES_OF_COPY;
  return lu_process_marks (process)->n_samples >= SAMPLES_BY_VMAS;
}

void
lu_bpf_maps_watch (LuBpfMaps *self, LuProcess *process)
{
  if (lu_process_marks (process)->is_watched)
    return;
  lu_process_marks (process)->is_watched = TRUE;
  lu_bpf_maps_take_change (self, process, LU_ADDRESS_SPACE_MAPPED, 0);
}

void
lu_bpf_maps_forget_functions (LuBpfMaps *self)
{
  struct lu_bpf_shared *shared = self->backing->shared;

  memset (shared->announced_functions, 0, sizeof shared->announced_functions);
}

/* Flushing */

static void
take_answer (LuBpfMaps *self, const LuBpfAnswer *answer)
{
  switch (answer->kind)
    {
    case LU_BPF_ANSWER_RETIRED:
      lu_bpf_slots_retired (&self->slots, answer->slot);
      break;
    case LU_BPF_ANSWER_ENTRY:
      self->is_growing = FALSE;
      if (answer->words != NULL)
        lu_bpf_arena_add (&self->blocks.arena, answer->entry, answer->words, 0, answer->n_words);
      break;
    case LU_BPF_ANSWER_GRACE:
      /* Nothing was sealed since the request. */
      self->is_waiting = FALSE;
      self->has_no_grace |= !answer->is_done;
      if (!answer->is_done)
        break;
      lu_bpf_arena_release (&self->blocks.arena);
      lu_bpf_reclaim_release (&self->identities);
      lu_bpf_reclaim_release (&self->slots.numbers);
      break;
    }
}

static void
let_age (LuBpfMaps *self)
{
  guint64 now = lu_monotonic_ns ();

  if (self->is_waiting)
    return;
  lu_bpf_arena_pass (&self->blocks.arena, now, self->rest_ns);
  lu_bpf_reclaim_pass (&self->identities, now, self->rest_ns);
  lu_bpf_reclaim_pass (&self->slots.numbers, now, self->rest_ns);
}

/* Adds or frees memory for mappings before it runs out. */
static void
see_to_memory (LuBpfMaps *self)
{
  const LuBpfArena *arena = &self->blocks.arena;

  if (lu_bpf_arena_free_bytes (arena) >= LOW_BYTES)
    return;
  if (!self->is_growing && arena->n_entries < arena->max_entries)
    self->is_growing = ask (self, LU_BPF_REQUEST_GROW);
  if (!self->is_waiting && !self->has_no_grace && lu_bpf_arena_resting_bytes (arena) > 0)
    self->is_waiting = ask (self, LU_BPF_REQUEST_GRACE);
}

static gboolean
has_usual_name (const LuModule *module)
{
  const char *name = strrchr (lu_module_path (module), '/');

  return name != NULL
         && (g_str_has_prefix (name, "/libc.so") || g_str_has_prefix (name, "/libc-")
             || g_str_has_prefix (name, "/ld-"));
}

/* Returns whether the table compiles in less than half a millisecond. */
static gboolean
is_small (const LuImage *image)
{
  return lu_image_cfi_size (image) <= SMALL_BYTES;
}

/* The first samples of a program are in the program, in ld.so and in libc, which all have an entry.
 */
static gboolean
is_wanted (LuModule *module, gboolean is_likely)
{
  const LuImage *image = lu_module_image (module);

  if (lu_module_key (module)->kind == LU_MODULE_VDSO || has_usual_name (module))
    return TRUE;
  return is_likely && (lu_image_entry (image) != 0 || is_small (image));
}

/* Makes no block if there are no mappings or too many. Returns FALSE if there is no room for them
 * now. */
static gboolean
block_of (LuBpfMaps *self, LuBpfProcess *process, LuAddressSpace *space, guint32 *block)
{
  gboolean are_few = !self->is_lazy && self->by_pid.n_used <= FEW_PROCESSES;
  guint n;

  lu_address_space_mappings (space, &n);
  *block = n > 0 ? lu_bpf_blocks_find (&self->blocks, space) : LU_BPF_NO_ITEM;
  if (n == 0 || *block != LU_BPF_NO_ITEM)
    return TRUE;
  if (n > LU_BPF_MAX_MAPPINGS)
    {
      lu_count (&self->counters, LU_COUNTER_MAPS_REFUSED_MAPPINGS);
      return TRUE;
    }
  *block = lu_bpf_blocks_add (&self->blocks, &self->slots, space, is_wanted,
                              process->is_young || !self->follow_all || are_few);
  return *block != LU_BPF_NO_ITEM;
}

/* Returns whether walks use mappings of an older version of the address space. */
static gboolean
is_behind (const LuBpfMaps *self, const LuBpfProcess *process)
{
  return process->block != LU_BPF_NO_ITEM
         && self->blocks.blocks[process->block].serial
                != lu_address_space_serial (lu_process_address_space (process->owner));
}

/* Returns FALSE if there was no room. The published block then stays only if it is of the same
 * version: the process table forgets other versions after two rounds, so stacks unwound by them
 * would be useless. */
static gboolean
publish_mappings (LuBpfMaps *self, LuBpfProcess *process)
{
  gboolean was_new = process->is_new;
  guint32 block;

  if (was_new)
    lu_bpf_maps_set_identity (self, process);
  process->is_new = FALSE;
  if (!block_of (self, process, lu_process_address_space (process->owner), &block))
    {
      if (was_new || is_behind (self, process))
        lu_bpf_maps_set_block (self, process, LU_BPF_NO_ITEM);
      return FALSE;
    }
  lu_process_marks (process->owner)->is_dirty = FALSE;
  process->is_dirty = FALSE;
  process->is_pending = block != LU_BPF_NO_ITEM && self->blocks.blocks[block].n_pending > 0;
  lu_bpf_maps_set_block (self, process, block);
  return TRUE;
}

/* Returns whether the process has to be looked at again. */
static gboolean
see_to_process (LuBpfMaps *self, LuBpfProcess *process, gboolean is_news)
{
  if (process->owner == NULL)
    return FALSE;
  is_news = process->is_pending && is_news
            && lu_bpf_blocks_is_outdated (&self->blocks, process->block,
                                          lu_process_address_space (process->owner));
  if ((process->is_dirty || is_news) && !publish_mappings (self, process) && !self->is_growing
      && !self->is_waiting)
    lu_count (&self->counters, LU_COUNTER_MAPS_REFUSED_MAPPINGS);
  if (process->is_dirty || process->is_pending)
    return TRUE;
  lu_bpf_maps_forget_owner (process);
  return FALSE;
}

static void
see_to_processes (LuBpfMaps *self)
{
  guint published = lu_modules_published ();
  gboolean is_news = published != self->published;
  guint32 next, item = self->listed;

  /* Thousands of processes may never have been sampled, so their files wait. */
  if (!is_news && self->n_dirty == 0)
    return;
  self->listed = LU_BPF_NO_ITEM;
  self->n_dirty = 0;
  self->published = published;
  for (; item != LU_BPF_NO_ITEM; item = next)
    {
      LuBpfProcess *process = &self->processes[item];

      next = process->next;
      process->is_listed = see_to_process (self, process, is_news);
      if (!process->is_listed)
        continue;
      self->n_dirty += process->is_dirty;
      process->next = self->listed;
      self->listed = item;
    }
}

LuBpfMapsWait
lu_bpf_maps_flush (LuBpfMaps *self)
{
  const LuBpfAnswer *answer;

  while ((answer = lu_queue_peek (self->answers, NULL)) != NULL)
    {
      take_answer (self, answer);
      lu_queue_release (self->answers);
    }
  let_age (self);
  see_to_processes (self);
  lu_bpf_candidates_publish (&self->candidates, &self->slots, is_wanted);
  lu_bpf_slots_pass_wishes (&self->slots);
  lu_bpf_slots_wake_publisher (&self->slots);
  see_to_memory (self);
  lu_counters_set (&self->counters, LU_COUNTER_MAPS_MAPPING_BYTES, self->blocks.bytes);
  lu_counters_set (&self->counters, LU_COUNTER_MAPS_REFUSED_MODULES, self->slots.n_refused);
  if (self->is_growing || self->is_waiting)
    return LU_BPF_MAPS_WAIT_MEMORY;
  return (self->listed != LU_BPF_NO_ITEM && lu_monotonic_ns () - self->listed_at < PATIENCE_NS)
                 || self->candidates.n_unopened > 0
             ? LU_BPF_MAPS_WAIT_FILES
             : LU_BPF_MAPS_WAIT_NO;
}

/* The rest */

gboolean
lu_bpf_maps_has_all (const LuBpfMaps *self)
{
  return !self->is_lazy;
}

void
lu_bpf_maps_add_counters (const LuBpfMaps *self, LuCounters *sum)
{
  lu_counters_add (sum, &self->counters);
  lu_bpf_publisher_add_counters (self->publisher, sum);
}
