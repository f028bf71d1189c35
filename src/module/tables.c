/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* tables.c - slots, the budget, and the thread that compiles whole files; see tables.h.
 *
 * The list of slots and the count of bytes are under a mutex that readers never take. A reader and
 * somebody who takes the table away meet in two words only: n_readers and table, both sequentially
 * consistent, so that either the reader finds no table, or the other one finds a reader and waits.
 * A reader is inside for less than a microsecond.
 *
 * Tried: compiling in slices between the worker's messages. The worker is busiest when files are
 * new, and one list of entries alone takes longer than a slice should. */

#include "module/tables.h"

#include "base/priority.h"
#include "table/cfi.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

/* A whole file is compiled when single rules were for about 3 % of its FDEs: then they have cost
 * about a tenth of that. Where it can be stored, later starts gain too, so less is enough. */
#define FDES_PER_MISS     33
#define MIN_MISSES        64
#define MAX_MISSES        4096
#define MAX_MISSES_STORED 256
/* Of .eh_frame, where no search table tells the number. */
#define BYTES_PER_FDE 48
/* After a table had to go, it takes this many times more to make it anew. */
#define PATIENCE 4
/* A table has about this many bytes for each FDE; files whose table would not fit are not even
 * begun, since the list of FDEs alone takes as much. */
#define BYTES_PER_TABLE_FDE 32
/* Slots are added between two searches for unused ones. */
#define ADDED_PER_SEARCH 64
/* Written between two prunings of the store. */
#define PRUNE_BYTES (32u << 20)
/* Low enough to leave the CPUs to what is recorded, high enough not to hold the mutex for long. */
#define NICE 10

struct _LuTableSlot
{
  atomic_int ref_count;
  LuTables *owner; /* reference */
  _Atomic (LuTable *) table;
  atomic_uint n_readers;
  atomic_uint n_misses, threshold;
  atomic_uint last_use;       /* LuTables.clock */
  _Atomic (LuImage *) wanted; /* reference: to be compiled */
  atomic_int was_forgotten;   /* there was a table, which may be stored */
};

struct _LuTables
{
  atomic_int ref_count; /* one of the user, one of each slot */
  gsize budget;
  LuStore *store; /* owned */
  GThread *thread;
  int wake_fd;
  gint is_stopping; /* atomic: at once */
  gint is_ending;   /* atomic: when there is nothing more to do */
  gint has_ended;   /* atomic: the last word of the thread */
  atomic_ullong n_misses;
  atomic_uint clock; /* counts what changed, for least recent use */

  pthread_mutex_t mutex; /* not a GMutex: thread sanitizers see through this one */
  GPtrArray *slots;      /* references */
  LuTablesStats stats;
  void (*listener) (gpointer user_data); /* NULL: nobody */
  gpointer listener_data;
  guint64 unpruned_bytes; /* the thread's own */
};

/* Plain C11 rather than gatomicrefcount: a thread sanitizer does not see into GLib's functions. */
static void
add_reference (atomic_int *count)
{
  atomic_fetch_add_explicit (count, 1, memory_order_relaxed);
}

/* TRUE if it was the last. */
static gboolean
drop_reference (atomic_int *count)
{
  return atomic_fetch_sub_explicit (count, 1, memory_order_acq_rel) == 1;
}

/* Slots */

static void
tables_unref (LuTables *self)
{
  if (!drop_reference (&self->ref_count))
    return;
  close (self->wake_fd);
  lu_store_free (self->store);
  pthread_mutex_destroy (&self->mutex);
  g_free (self);
}

LuTableSlot *
lu_table_slot_ref (LuTableSlot *self)
{
  add_reference (&self->ref_count);
  return self;
}

void
lu_table_slot_unref (LuTableSlot *self)
{
  if (self == NULL || !drop_reference (&self->ref_count))
    return;
  lu_table_free (atomic_load (&self->table));
  lu_image_unref (atomic_load (&self->wanted));
  tables_unref (self->owner);
  g_free (self);
}

static void
wake (LuTables *self)
{
  const guint64 one = 1;

  while (write (self->wake_fd, &one, sizeof one) < 0 && errno == EINTR)
    ;
}

guint
lu_table_slot_threshold (LuTableSlot *self)
{
  return atomic_load_explicit (&self->threshold, memory_order_relaxed);
}

void
lu_table_slot_want (LuTableSlot *self, LuImage *image)
{
  LuImage *none = NULL, *wanted = lu_image_ref (image);

  if (!atomic_compare_exchange_strong (&self->wanted, &none, wanted))
    {
      lu_image_unref (wanted);
      return;
    }
  wake (self->owner);
}

void
lu_table_slot_miss (LuTableSlot *self, LuImage *image)
{
  guint n = atomic_fetch_add_explicit (&self->n_misses, 1, memory_order_relaxed) + 1;

  atomic_fetch_add_explicit (&self->owner->n_misses, 1, memory_order_relaxed);
  if (n == lu_table_slot_threshold (self))
    lu_table_slot_want (self, image);
}

const LuTable *
lu_table_slot_begin_read (LuTableSlot *self)
{
  const LuTable *table;

  atomic_fetch_add (&self->n_readers, 1);
  table = atomic_load (&self->table);
  if (table == NULL)
    lu_table_slot_end_read (self);
  return table;
}

void
lu_table_slot_end_read (LuTableSlot *self)
{
  atomic_fetch_sub (&self->n_readers, 1);
}

/* What the table says of code that it may have left out, or that is bad further on, is not the last
 * word. */
static gboolean
is_certain (const LuTable *table, guint32 rule)
{
  if (rule == LU_RULE_COMPLEX)
    return !table->stats.is_overflown;
  return rule != LU_RULE_NONE || !lu_table_has_faults (table);
}

/* What it does not know, or calls complex, is so. */
static gboolean
is_last_word (const LuTable *table)
{
  return !table->stats.is_overflown && !lu_table_has_faults (table);
}

gboolean
lu_table_slot_is_enough (LuTableSlot *self)
{
  const LuTable *table = lu_table_slot_begin_read (self);
  gboolean is_enough = table != NULL && is_last_word (table);

  if (table != NULL)
    lu_table_slot_end_read (self);
  return is_enough;
}

gboolean
lu_table_slot_find (LuTableSlot *self, guint64 address, struct lu_rule *rule)
{
  gboolean is_found = FALSE;
  const LuTable *table;

  if (atomic_load_explicit (&self->table, memory_order_relaxed) == NULL)
    return FALSE;
  atomic_fetch_add (&self->n_readers, 1);
  table = atomic_load (&self->table);
  if (table != NULL)
    {
      guint32 id = lu_rows_find (&table->rows, address);

      is_found = is_certain (table, id);
      *rule = table->rules[id];
      atomic_store_explicit (&self->last_use,
                             atomic_load_explicit (&self->owner->clock, memory_order_relaxed),
                             memory_order_relaxed);
    }
  atomic_fetch_sub (&self->n_readers, 1);
  return is_found;
}

/* Publishing and forgetting; under the mutex */

static void
take_away (LuTables *self, LuTableSlot *slot)
{
  LuTable *table = atomic_exchange (&slot->table, NULL);

  if (table == NULL)
    return;
  while (atomic_load (&slot->n_readers) > 0)
    g_thread_yield ();
  self->stats.bytes -= table->stats.table_bytes;
  lu_table_free (table);
}

/* Slots that nothing else refers to: nobody will ask for their tables again. */
static void
forget_unused (LuTables *self)
{
  for (guint i = self->slots->len; i > 0; i--)
    {
      LuTableSlot *slot = g_ptr_array_index (self->slots, i - 1);

      if (atomic_load_explicit (&slot->ref_count, memory_order_acquire) != 1)
        continue;
      take_away (self, slot);
      g_ptr_array_remove_index_fast (self->slots, i - 1);
    }
}

static LuTableSlot *
find_longest_unused (LuTables *self)
{
  LuTableSlot *found = NULL;
  guint longest = 0, now = atomic_load (&self->clock);

  for (guint i = 0; i < self->slots->len; i++)
    {
      LuTableSlot *slot = g_ptr_array_index (self->slots, i);
      guint age = now - atomic_load_explicit (&slot->last_use, memory_order_relaxed);

      if (atomic_load (&slot->table) == NULL || (found != NULL && age <= longest))
        continue;
      found = slot;
      longest = age;
    }
  return found;
}

static void
make_room (LuTables *self, gsize bytes)
{
  forget_unused (self);
  while (self->stats.bytes + bytes > self->budget)
    {
      LuTableSlot *slot = find_longest_unused (self);

      if (slot == NULL)
        break;
      take_away (self, slot);
      atomic_store (&slot->was_forgotten, TRUE);
      self->stats.n_evicted++;
      atomic_store (&slot->threshold, MIN (PATIENCE * lu_table_slot_threshold (slot), 1u << 30));
      atomic_store (&slot->n_misses, 0);
    }
}

/* Takes the table. */
static gboolean
publish (LuTables *self, LuTableSlot *slot, LuTable *table)
{
  gsize bytes = table->stats.table_bytes;

  if (bytes > self->budget || atomic_load (&slot->table) != NULL)
    {
      lu_table_free (table);
      return FALSE;
    }
  make_room (self, bytes);
  self->stats.bytes += bytes;
  self->stats.bytes_max = MAX (self->stats.bytes_max, self->stats.bytes);
  atomic_store (&slot->last_use, atomic_fetch_add (&self->clock, 1) + 1);
  atomic_store (&slot->table, table);
  if (self->listener != NULL)
    self->listener (self->listener_data);
  return TRUE;
}

/* Adding */

static guint
count_fdes (const LuImage *image)
{
  gsize table_size, size, debug_size;
  guint64 vaddr;

  lu_image_cfi (image, LU_IMAGE_EH_FRAME_HDR, &table_size, &vaddr);
  lu_image_cfi (image, LU_IMAGE_EH_FRAME, &size, &vaddr);
  lu_image_cfi (image, LU_IMAGE_DEBUG_FRAME, &debug_size, &vaddr);
  return (guint) (MAX (table_size / 8, size / BYTES_PER_FDE) + debug_size / BYTES_PER_FDE);
}

static guint
first_threshold (const LuTables *self, guint n_fdes)
{
  gboolean is_kept = self->store != NULL && !lu_store_is_read_only (self->store);

  return CLAMP (n_fdes / FDES_PER_MISS, MIN_MISSES, is_kept ? MAX_MISSES_STORED : MAX_MISSES);
}

static void
load_stored (LuTables *self, LuTableSlot *slot, const LuImage *image)
{
  LuStoreResult result;
  LuTable *table = lu_store_load (self->store, image, self->budget, &result);

  pthread_mutex_lock (&self->mutex);
  if (table != NULL && publish (self, slot, table))
    self->stats.n_loaded++;
  else if (result != LU_STORE_MISSING && result != LU_STORE_LOADED)
    {
      self->stats.n_refused++;
      g_debug ("a stored table is not used: it is %s", lu_store_result_title (result));
    }
  pthread_mutex_unlock (&self->mutex);
}

static gpointer tables_main (gpointer data);

/* While all tables come from the store, and none of them has to go, nobody waits for another. */
static void
start_when_needed (LuTables *self, LuTableSlot *slot)
{
  if (self->thread != NULL || self->wake_fd < 0 || g_atomic_int_get (&self->is_ending))
    return;
  /* Without the thread nobody else changes what is counted. */
  if (atomic_load (&slot->table) == NULL || self->stats.n_evicted > 0)
    self->thread = g_thread_new ("tables", tables_main, self);
}

LuTableSlot *
lu_tables_add (LuTables *self, const LuImage *image)
{
  LuTableSlot *slot = g_new0 (LuTableSlot, 1);
  guint n_fdes = count_fdes (image);
  gsize digest_size;

  atomic_init (&slot->ref_count, 1);
  add_reference (&self->ref_count);
  slot->owner = self;
  slot->threshold = first_threshold (self, n_fdes);
  pthread_mutex_lock (&self->mutex);
  if (self->slots->len % ADDED_PER_SEARCH == ADDED_PER_SEARCH - 1)
    forget_unused (self);
  g_ptr_array_add (self->slots, lu_table_slot_ref (slot));
  pthread_mutex_unlock (&self->mutex);
  if (self->store != NULL)
    {
      lu_image_digest (image, &digest_size); /* the thread may need it later */
      if (n_fdes > 0 && lu_image_is_64bit (image))
        load_stored (self, slot, image);
    }
  start_when_needed (self, slot);
  return slot;
}

/* The thread */

static void
save (LuTables *self, const LuImage *image, const LuTable *table)
{
  LuStorePruned pruned;

  if (self->store == NULL || lu_store_is_read_only (self->store))
    return;
  if (!lu_store_save (self->store, image, table))
    {
      g_debug ("a table cannot be stored: %s", g_strerror (errno));
      lu_store_set_read_only (self->store); /* it would not go better the next time */
      return;
    }
  pthread_mutex_lock (&self->mutex);
  self->stats.n_saved++;
  pthread_mutex_unlock (&self->mutex);
  if (self->unpruned_bytes == 0)
    lu_store_prune (self->store, LU_STORE_MAX_BYTES, &pruned);
  self->unpruned_bytes += table->stats.table_bytes;
  if (self->unpruned_bytes >= PRUNE_BYTES)
    self->unpruned_bytes = 0;
}

static void
build (LuTables *self, LuTableSlot *slot, LuImage *image)
{
  LuTableLimits limits = { .max_bytes = self->budget, .is_cancelled = &self->is_stopping };
  gboolean is_enough;
  LuTable *table;

  if (atomic_load (&slot->was_forgotten) && self->store != NULL)
    load_stored (self, slot, image);
  if (atomic_load (&slot->table) != NULL) /* or asked for again while it was compiled */
    return;
  if (count_fdes (image) > self->budget / BYTES_PER_TABLE_FDE)
    return;
  table = lu_table_new_for_image (image, &limits);
  if (table == NULL)
    {
      /* If only the CFI was not there: a walk that needs it has the worker read it again. */
      atomic_store (&slot->n_misses, 0);
      return;
    }
  is_enough = is_last_word (table);
  save (self, image, table);
  pthread_mutex_lock (&self->mutex);
  self->stats.n_built++;
  is_enough &= publish (self, slot, table);
  pthread_mutex_unlock (&self->mutex);
  if (is_enough)
    lu_image_drop_cfi (image);
}

/* The next slot (with a reference) that somebody wants compiled, and its image (with the reference
 * that came with the wish). */
static LuTableSlot *
find_wanted (LuTables *self, LuImage **image)
{
  LuTableSlot *found = NULL;

  pthread_mutex_lock (&self->mutex);
  for (guint i = 0; found == NULL && i < self->slots->len; i++)
    {
      LuTableSlot *slot = g_ptr_array_index (self->slots, i);

      *image = atomic_exchange (&slot->wanted, NULL);
      if (*image != NULL)
        found = lu_table_slot_ref (slot);
    }
  pthread_mutex_unlock (&self->mutex);
  return found;
}

/* Somebody who listens cannot do with single rules meanwhile. There is no way back up without
 * rights that may be given up by then. */
static void
choose_priority (LuTables *self)
{
  gboolean is_awaited;

  pthread_mutex_lock (&self->mutex);
  is_awaited = self->listener != NULL;
  pthread_mutex_unlock (&self->mutex);
  if (is_awaited)
    lu_thread_be_ordinary ();
  else
    setpriority (PRIO_PROCESS, (id_t) gettid (), NICE);
}

static gpointer
tables_main (gpointer data)
{
  LuTables *self = data;
  guint64 n;

  while (!g_atomic_int_get (&self->is_stopping))
    {
      LuImage *image;
      LuTableSlot *slot = find_wanted (self, &image);

      if (slot == NULL && g_atomic_int_get (&self->is_ending))
        break;
      if (slot == NULL)
        {
          /* Sleeps until somebody wakes it; EINTR is as good as that. */
          if (read (self->wake_fd, &n, sizeof n) < 0 && errno != EINTR)
            break;
          continue;
        }
      choose_priority (self);
      build (self, slot, image);
      lu_image_unref (image);
#ifdef __GLIBC__
      malloc_trim (0); /* compiling took several times what is kept */
#endif
      lu_table_slot_unref (slot);
    }
  g_atomic_int_set (&self->has_ended, TRUE);
  return NULL;
}

/* Life cycle */

LuTables *
lu_tables_new (LuStore *store, gsize budget)
{
  LuTables *self = g_new0 (LuTables, 1);

  atomic_init (&self->ref_count, 1);
  self->budget = budget;
  self->store = store;
  self->slots = g_ptr_array_new_with_free_func ((GDestroyNotify) lu_table_slot_unref);
  pthread_mutex_init (&self->mutex, NULL);
  self->wake_fd = eventfd (0, EFD_CLOEXEC);
  return self;
}

void
lu_tables_stop (LuTables *self, guint patience_ms)
{
  gboolean is_kept = self->store != NULL && !lu_store_is_read_only (self->store);
  gint64 end = g_get_monotonic_time () + (is_kept ? patience_ms * G_GINT64_CONSTANT (1000) : 0);

  if (self->thread == NULL)
    return;
  g_atomic_int_set (&self->is_ending, TRUE);
  wake (self);
  while (!g_atomic_int_get (&self->has_ended) && g_get_monotonic_time () < end)
    g_usleep (1000);
  g_atomic_int_set (&self->is_stopping, TRUE);
  wake (self);
  g_thread_join (g_steal_pointer (&self->thread));
}

void
lu_tables_free (LuTables *self)
{
  if (self == NULL)
    return;
  lu_tables_stop (self, 0);
  pthread_mutex_lock (&self->mutex);
  for (guint i = 0; i < self->slots->len; i++)
    take_away (self, g_ptr_array_index (self->slots, i));
  pthread_mutex_unlock (&self->mutex);
  g_ptr_array_unref (self->slots);
  tables_unref (self);
}

void
lu_tables_set_listener (LuTables *self, void (*listener) (gpointer user_data), gpointer user_data)
{
  pthread_mutex_lock (&self->mutex);
  self->listener = listener;
  self->listener_data = user_data;
  pthread_mutex_unlock (&self->mutex);
}

void
lu_tables_get_stats (LuTables *self, LuTablesStats *stats)
{
  pthread_mutex_lock (&self->mutex);
  *stats = self->stats;
  stats->n_slots = self->slots->len;
  stats->n_misses = atomic_load (&self->n_misses);
  pthread_mutex_unlock (&self->mutex);
}

LuStore *
lu_tables_store (LuTables *self)
{
  return self->store;
}
