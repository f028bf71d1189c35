/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* publisher.c - copies tables of whole files into the maps; see publisher.h.
 *
 * Tables come from the store or from the thread that compiles whole files (module/tables.h). The
 * publisher waits for requested tables, and looks again when it is poked. */

#include "bpf/publisher.h"

#include "base/clock.h"
#include "base/priority.h"
#include "bpf/files.h"

#define SECOND_NS      G_GUINT64_CONSTANT (1000000000)
#define MILLISECOND_NS (SECOND_NS / 1000)
/* Time before a refused file is tried again, and before a table is requested or memory is looked
 * for again. */
#define RETRY_NS (SECOND_NS / 4)
/* A file whose table cannot be kept elsewhere (the vDSO, or with --table-memory=0) is compiled
 * here. */
#define OWN_TABLE_BYTES (16u << 20)
#define ANSWER_WAIT_US  1000

/* A slot, as the publisher sees it. */
typedef struct
{
  LuBpfFile *file; /* borrowed; NULL: not looked at yet */
  gboolean is_wanted;
} Slot;

struct _LuBpfPublisher
{
  LuBpfBacking *backing;
  LuTables *tables; /* NULL: none */
  LuQueue *requests, *answers;
  GThread *thread;
  gint is_stopping; /* atomic; answers are no longer read */
  gint is_poked;    /* atomic; awaited tables may have come */

  LuBpfFiles files;
  GHashTable *waiting; /* slot that needs work -> its module, reference */
  Slot *slots;         /* owned; LU_BPF_MAX_MODULES */
  gboolean is_hungry;  /* a table waits for memory */
  gboolean is_late;    /* a published table is outdated */
  guint64 last_retry;  /* ns */
};

guint
lu_bpf_max_entries (const LuBpfBacking *backing, const LuBpfMapsOptions *options)
{
  guint n = MAX (options->memory_mib, LU_BPF_MEMORY_MIN_MIB);

  return MIN (MIN (n, backing->max_entries), LU_BPF_MAX_ENTRIES);
}

guint
lu_bpf_max_mapping_entries (guint max_entries)
{
  return MAX (max_entries / 4, 1);
}

/* Publishing */

/* Compiles the table here. The image still has its CFI: only images with a table slot drop it. */
static gboolean
publish_own (LuBpfPublisher *self, LuBpfFile *file, LuImage *image)
{
  LuTableLimits limits = { .max_bytes = OWN_TABLE_BYTES };
  g_autoptr (LuTable) table = lu_table_new_for_image (image, &limits);

  if (table != NULL)
    return lu_bpf_files_publish (&self->files, file, table, image);
  lu_bpf_files_give_up (&self->files, file);
  return TRUE;
}

/* last: time of the last try in ns; 0: never. */
static gboolean
is_too_early (guint64 last, guint64 now)
{
  return last != 0 && now - last < RETRY_NS;
}

/* Returns TRUE if the slot needs no more work. */
static gboolean
publish_kept (LuBpfPublisher *self, Slot *slot, LuImage *image)
{
  LuBpfFile *file = slot->file;
  g_autoptr (LuTable) table = lu_table_slot_get_table (file->table_slot);
  guint64 now = lu_monotonic_ns ();
  gboolean is_done = FALSE;

  if (table != NULL)
    {
      if (slot->is_wanted || lu_bpf_files_is_cheap (&self->files, table))
        is_done = lu_bpf_files_publish (&self->files, file, table, image);
    }
  else if (slot->is_wanted && !is_too_early (file->last_asked, now))
    {
      file->last_asked = now;
      lu_table_slot_want (file->table_slot, image);
    }
  self->is_hungry |= table != NULL && slot->is_wanted && !is_done;
  return is_done;
}

/* Returns TRUE if the slot needs no more work. */
static gboolean
try_slot (LuBpfPublisher *self, guint32 number, LuModule *module)
{
  Slot *slot = &self->slots[number];
  LuImage *image = lu_module_image (module);

  if (image == NULL)
    return TRUE;
  if (slot->file == NULL)
    slot->file = lu_bpf_files_attach (&self->files, module, number);
  if (slot->file->copy != NULL || slot->file->is_hopeless)
    return TRUE;
  if (lu_image_cfi_size (image) == 0
      && (slot->file->table_slot == NULL || !lu_table_slot_is_extended (slot->file->table_slot)))
    return lu_bpf_files_publish_nothing (&self->files, slot->file, image);
  if (slot->file->table_slot != NULL)
    return publish_kept (self, slot, image);
  return slot->is_wanted && publish_own (self, slot->file, image);
}

/* Handles a request of the program for the table of a slot. */
static gboolean
take_wish (LuBpfPublisher *self, guint32 number)
{
  guint8 *use = &self->backing->use[number];

  if ((__atomic_load_n (use, __ATOMIC_RELAXED) & LU_BPF_WANTED) == 0)
    return FALSE;
  __atomic_fetch_and (use, (guint8) ~LU_BPF_WANTED, __ATOMIC_RELAXED);
  self->slots[number].is_wanted = TRUE;
  return TRUE;
}

/* Tries waiting slots whose tables were requested, or all of them. */
static void
look_at_waiting (LuBpfPublisher *self, gboolean is_all)
{
  guint64 now = lu_monotonic_ns ();
  GHashTableIter iter;
  gpointer key, module;

  self->is_hungry = self->is_hungry && !is_all;
  g_hash_table_iter_init (&iter, self->waiting);
  while (g_hash_table_iter_next (&iter, &key, &module))
    {
      guint32 number = GPOINTER_TO_UINT (key);
      Slot *slot = &self->slots[number];
      gboolean is_wish = take_wish (self, number)
                         && !(slot->file != NULL && is_too_early (slot->file->last_refused, now));

      if ((is_wish || is_all) && try_slot (self, number, module))
        g_hash_table_iter_remove (&iter);
    }
}

/* Publishes tables anew that have got rows for code without CFI (module/gap-filler.h). These come
 * in pieces, so a table is not copied for each. */
static void
renew_tables (LuBpfPublisher *self)
{
  guint64 now = lu_monotonic_ns ();
  GHashTableIter iter;
  gpointer value;

  self->is_late = FALSE;
  g_hash_table_iter_init (&iter, self->files.files);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      LuBpfFile *file = value;
      g_autoptr (LuTable) table = NULL;

      if (file->copy != NULL && file->table_slot != NULL
          && lu_table_slot_is_extended (file->table_slot))
        table = lu_table_slot_get_table (file->table_slot);
      if (table == NULL || !lu_bpf_files_is_outdated (file, table))
        continue;
      if (is_too_early (file->last_renewed, now))
        self->is_late = TRUE;
      else
        lu_bpf_files_renew (&self->files, file, table);
    }
}

/* Returns whether it is time to look for memory again. */
static gboolean
is_time_to_retry (LuBpfPublisher *self)
{
  guint64 now = lu_monotonic_ns ();

  if (!self->is_hungry || now - self->last_retry < RETRY_NS)
    return FALSE;
  self->last_retry = now;
  return TRUE;
}

/* The publisher does not poll for requests of the program: a walk that has one copies the stack,
 * and the drain, which takes the copy, passes the request on. Polling cost more than the copies it
 * saved. */
static int
wait_ms (const LuBpfPublisher *self)
{
  return self->is_hungry || self->is_late ? RETRY_NS / MILLISECOND_NS : -1;
}

/* Requests */

/* The drain reads answers in each round, unless the recording ends. */
static void
answer (LuBpfPublisher *self, const LuBpfAnswer *answer)
{
  LuBpfAnswer *place;

  while ((place = lu_queue_reserve (self->answers, sizeof *place)) == NULL)
    {
      if (g_atomic_int_get (&self->is_stopping))
        return;
      g_usleep (ANSWER_WAIT_US);
    }
  *place = *answer;
  lu_queue_commit_quietly (self->answers, sizeof *place);
}

static void
add_module (LuBpfPublisher *self, const LuBpfRequest *request)
{
  Slot *slot = &self->slots[request->slot];
  guint64 now = lu_monotonic_ns ();

  slot->is_wanted |= request->is_wanted;
  g_hash_table_insert (self->waiting, GUINT_TO_POINTER (request->slot), request->module);
  if (slot->file != NULL && slot->file->copy == NULL
      && is_too_early (slot->file->last_refused, now))
    return;
  if (try_slot (self, request->slot, request->module))
    g_hash_table_remove (self->waiting, GUINT_TO_POINTER (request->slot));
}

static void
retire (LuBpfPublisher *self, guint32 number)
{
  LuBpfAnswer retired = { .kind = LU_BPF_ANSWER_RETIRED, .slot = number };
  Slot *slot = &self->slots[number];
  LuBpfFile *file = slot->file;

  g_hash_table_remove (self->waiting, GUINT_TO_POINTER (number));
  *slot = (Slot){ 0 };
  if (file != NULL)
    lu_bpf_files_detach (&self->files, file, number);
  answer (self, &retired);
}

static void
grow_mappings (LuBpfPublisher *self)
{
  LuBpfAnswer entry = { .kind = LU_BPF_ANSWER_ENTRY };

  entry.words = lu_bpf_files_grow_mappings (&self->files, &entry.entry, &entry.n_words);
  answer (self, &entry);
}

static void
wait_for_grace (LuBpfPublisher *self)
{
  LuBpfAnswer grace = { .kind = LU_BPF_ANSWER_GRACE,
                        .is_done = self->backing->ops->wait_for_walks (self->backing) };

  answer (self, &grace);
}

static void
handle (LuBpfPublisher *self, const LuBpfRequest *request)
{
  switch (request->kind)
    {
    case LU_BPF_REQUEST_MODULE:
      add_module (self, request);
      break;
    case LU_BPF_REQUEST_IDLE:
      self->slots[request->slot].is_wanted = FALSE;
      g_hash_table_remove (self->waiting, GUINT_TO_POINTER (request->slot));
      break;
    case LU_BPF_REQUEST_RETIRE:
      retire (self, request->slot);
      break;
    case LU_BPF_REQUEST_GROW:
      grow_mappings (self);
      break;
    case LU_BPF_REQUEST_GRACE:
      wait_for_grace (self);
      break;
    }
}

static void
update_counters (LuBpfPublisher *self)
{
  LuBpfFiles *files = &self->files;
  LuCounters *counters = &files->counters;

  lu_counters_set (counters, LU_COUNTER_MAPS_ENTRIES, files->n_entries);
  lu_counters_set (counters, LU_COUNTER_MAPS_ENTRIES_MAX, files->max_entries);
  lu_counters_set (counters, LU_COUNTER_MAPS_TABLE_BYTES, files->bytes);
  lu_counters_set (counters, LU_COUNTER_MAPS_TABLES, files->n_tables);
  lu_counters_set (counters, LU_COUNTER_MAPS_RULES, lu_bpf_rules_n (&files->rules));
  lu_counters_set (counters, LU_COUNTER_MAPS_REFUSED_RULES, files->rules.n_refused);
}

static gpointer
publisher_main (gpointer data)
{
  LuBpfPublisher *self = data;
  const LuBpfRequest *request;

  lu_thread_be_ordinary ();
  while (!lu_queue_is_finished (self->requests) && !g_atomic_int_get (&self->is_stopping))
    {
      gboolean is_poked = g_atomic_int_exchange (&self->is_poked, FALSE);

      while ((request = lu_queue_peek (self->requests, NULL)) != NULL)
        {
          handle (self, request);
          lu_queue_release (self->requests);
        }
      look_at_waiting (self, is_poked || is_time_to_retry (self));
      if (is_poked || self->is_late)
        renew_tables (self);
      update_counters (self);
      lu_queue_wait (self->requests, wait_ms (self));
    }
  return NULL;
}

/* Life cycle */

/* Any thread but the drain: makes the publisher look for awaited tables again. */
static void
on_table (gpointer user_data)
{
  LuBpfPublisher *self = user_data;

  g_atomic_int_set (&self->is_poked, TRUE);
  lu_queue_poke (self->requests);
}

LuBpfPublisher *
lu_bpf_publisher_new (LuBpfBacking *backing, const LuBpfMapsOptions *options, LuQueue *requests,
                      LuQueue *answers)
{
  LuBpfPublisher *self = g_new0 (LuBpfPublisher, 1);
  guint max_entries = lu_bpf_max_entries (backing, options);

  self->backing = backing;
  self->tables = options->tables;
  self->requests = requests;
  self->answers = answers;
  lu_bpf_files_init (&self->files, backing, max_entries, lu_bpf_max_mapping_entries (max_entries),
                     SECOND_NS + options->sampling_ns);
  self->waiting = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) lu_module_unref);
  self->slots = g_new0 (Slot, LU_BPF_MAX_MODULES);
  if (self->tables != NULL)
    lu_tables_set_listener (self->tables, on_table, self);
  self->thread = g_thread_new ("publisher", publisher_main, self);
  return self;
}

static void
drop_requests (LuBpfPublisher *self)
{
  const LuBpfRequest *request;

  while ((request = lu_queue_peek (self->requests, NULL)) != NULL)
    {
      lu_module_unref (request->module);
      lu_queue_release (self->requests);
    }
}

void
lu_bpf_publisher_free (LuBpfPublisher *self)
{
  if (self == NULL)
    return;
  if (self->tables != NULL)
    lu_tables_set_listener (self->tables, NULL, NULL);
  g_atomic_int_set (&self->is_stopping, TRUE);
  g_thread_join (self->thread);
  drop_requests (self);
  g_hash_table_unref (self->waiting);
  lu_bpf_files_clear (&self->files);
  g_free (self->slots);
  g_free (self);
}

void
lu_bpf_publisher_add_counters (const LuBpfPublisher *self, LuCounters *sum)
{
  lu_counters_add (sum, &self->files.counters);
  lu_count_n (sum, LU_COUNTER_MAPS_MEMORY, self->backing->ops->memory_bytes (self->backing));
}
