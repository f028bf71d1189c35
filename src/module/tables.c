/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* tables.c - slots, the budget, and the thread that compiles whole files; see tables.h.
 *
 * The list of slots and the count of bytes are under a mutex that readers never take. A reader and
 * the thread that evicts a table share only two words, n_readers and table. Both are sequentially
 * consistent, so either the reader finds no table, or the evicting thread sees the reader and
 * spins. A read section is one look-up or one new reference, less than a microsecond. Copying a
 * table needs a reference (lu_table_slot_get_table()) and holds up no thread.
 *
 * Compiling in slices between the worker's messages was tried. It does not work: the worker is
 * busiest when files are new, and reading one list of entries takes longer than a slice should. */

#include "module/tables.h"

#include "base/fd.h"
#include "base/priority.h"
#include "module/file-rows.h"
#include "module/gap-filler.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/eventfd.h>

/* A whole file is compiled when single rules were compiled for about 3 % of its FDEs: they have
 * then cost about a tenth of it. If the table can be stored, later starts gain too, so fewer misses
 * suffice. */
#define FDES_PER_MISS     33
#define MIN_MISSES        64
#define MAX_MISSES        4096
#define MAX_MISSES_STORED 256
/* Bytes of .eh_frame per FDE, if no search table tells their number. */
#define BYTES_PER_FDE 48
/* After an eviction it takes this many times more misses to build the table again. */
#define PATIENCE 4
/* Bytes of a table per FDE. Files whose table would exceed the budget are not compiled at all,
 * because the list of FDEs takes as much memory. */
#define BYTES_PER_TABLE_FDE 32
/* Slots added between two searches for unused ones. */
#define ADDED_PER_SEARCH 64
/* Bytes written between two prunings of the store. */
#define PRUNE_BYTES (32u << 20)
/* Low enough to leave the CPUs to the recorded programs, high enough not to hold the mutex for
 * long. */
#define NICE 10

struct _LuTableSlot
{
  atomic_int ref_count;
  LuTables *owner; /* reference */
  _Atomic (LuTable *) table;
  atomic_uint n_readers;
  atomic_uint n_misses, threshold;
  atomic_uint last_use;       /* LuTables.clock */
  _Atomic (LuImage *) wanted; /* reference; image to compile */
  atomic_int was_forgotten;   /* had a table that may be in the store */
  atomic_int is_extended;     /* it has rows that are not from CFI */
  atomic_int may_fill;        /* rows for code without CFI were not asked for */
  atomic_int is_filling;      /* they were, and have yet to come */
};

static atomic_uint n_filled;

struct _LuTables
{
  atomic_int ref_count; /* one for the user, one for each slot */
  gsize budget;
  LuStore *store;  /* owned */
  GThread *thread; /* under the mutex until is_ending, which is set under it, too */
  int wake_fd;
  LuGapFiller *filler; /* owned */
  gint is_stopping;    /* atomic: stop at once */
  gint is_ending;      /* atomic: stop when there is no more work */
  gint has_ended;      /* atomic: set last by the thread */
  atomic_uint clock;   /* counts publications, for least recently used */

  pthread_mutex_t mutex; /* not a GMutex, because thread sanitizers understand this one */
  GPtrArray *slots;      /* references */
  gsize bytes;           /* of tables in memory */
  void (*listener) (gpointer user_data); /* NULL: none */
  gpointer listener_data;
  LuCounters counters;    /* changed under the mutex, except misses */
  guint64 unpruned_bytes; /* stored since others were last removed; under the mutex */
};

/* C11 atomics rather than gatomicrefcount, because a thread sanitizer does not see into GLib's
 * functions. */
static void
add_reference (atomic_int *count)
{
  atomic_fetch_add_explicit (count, 1, memory_order_relaxed);
}

/* Returns TRUE if it was the last reference. */
static gboolean
drop_reference (atomic_int *count)
{
  return atomic_fetch_sub_explicit (count, 1, memory_order_acq_rel) == 1;
}

/* Slots. */

static void
tables_unref (LuTables *self)
{
  if (!drop_reference (&self->ref_count))
    return;
  close (self->wake_fd);
  lu_gap_filler_free (self->filler);
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
  lu_table_unref (atomic_load (&self->table));
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

  lu_count_shared (&self->owner->counters, LU_COUNTER_TABLES_MISSES);
  if (n == lu_table_slot_threshold (self))
    lu_table_slot_want (self, image);
}

/* Enters the read section. Returns NULL, without entering, if there is no table. Keep the section
 * short: a thread that evicts the table spins meanwhile, under the mutex. */
static LuTable *
begin_read (LuTableSlot *self)
{
  LuTable *table;

  if (atomic_load_explicit (&self->table, memory_order_relaxed) == NULL)
    return NULL;
  atomic_fetch_add (&self->n_readers, 1);
  table = atomic_load (&self->table);
  if (table == NULL)
    atomic_fetch_sub (&self->n_readers, 1);
  return table;
}

static void
end_read (LuTableSlot *self)
{
  atomic_fetch_sub (&self->n_readers, 1);
}

LuTable *
lu_table_slot_get_table (LuTableSlot *self)
{
  LuTable *table = begin_read (self);

  if (table == NULL)
    return NULL;
  lu_table_ref (table);
  end_read (self);
  return table;
}

/* Returns FALSE where single rules may know more: the table ran out of rules, or refused entries.
 */
static gboolean
is_certain (const LuTable *table, guint32 rule)
{
  if (rule == LU_RULE_COMPLEX)
    return !table->stats.is_overflown;
  return rule != LU_RULE_NONE || !lu_table_has_cfi_errors (table);
}

/* Returns whether single rules cannot know more than this table anywhere. */
static gboolean
is_last_word (const LuTable *table)
{
  return !table->stats.is_overflown && !lu_table_has_cfi_errors (table);
}

gboolean
lu_table_slot_is_enough (LuTableSlot *self)
{
  const LuTable *table = begin_read (self);
  gboolean is_enough = table != NULL && is_last_word (table);

  if (table != NULL)
    end_read (self);
  return is_enough;
}

static void
note_use (LuTableSlot *self)
{
  atomic_store_explicit (&self->last_use,
                         atomic_load_explicit (&self->owner->clock, memory_order_relaxed),
                         memory_order_relaxed);
}

gboolean
lu_table_slot_find (LuTableSlot *self, guint64 address, struct lu_rule *rule)
{
  const LuTable *table = begin_read (self);
  gboolean is_found;
  guint32 id;

  if (table == NULL)
    return FALSE;
  id = lu_rows_find (&table->rows, address);
  is_found = is_certain (table, id);
  *rule = table->rules[id];
  note_use (self);
  end_read (self);
  return is_found;
}

gboolean
lu_table_slot_find_start (LuTableSlot *self, guint64 address, guint64 *start)
{
  const LuTable *table = begin_read (self);
  gboolean is_found = table != NULL && lu_table_find_start (table, address, start);

  if (table == NULL)
    return FALSE;
  note_use (self); /* the walk in the kernel has its rows elsewhere */
  end_read (self);
  return is_found;
}

guint
lu_table_slot_find_leads (LuTableSlot *self, guint64 target, guint64 leads[LU_TABLE_LEADS])
{
  const LuTable *table = begin_read (self);
  guint n = table != NULL ? lu_table_find_leads (table, target, leads) : 0;

  if (table != NULL)
    end_read (self);
  return n;
}

gboolean
lu_table_slot_leads_to (LuTableSlot *self, guint64 target, guint64 start)
{
  const LuTable *table = begin_read (self);
  gboolean is_found = table != NULL && lu_table_leads_to (table, target, start);

  if (table != NULL)
    end_read (self);
  return is_found;
}

/* Publishing and evicting, under the mutex. */

static void
set_bytes (LuTables *self, gsize bytes)
{
  self->bytes = bytes;
  lu_counters_set (&self->counters, LU_COUNTER_TABLES_BYTES, bytes);
  lu_count_max (&self->counters, LU_COUNTER_TABLES_BYTES_MAX, bytes);
}

static void
take_away (LuTables *self, LuTableSlot *slot)
{
  LuTable *table = atomic_exchange (&slot->table, NULL);

  if (table == NULL)
    return;
  while (atomic_load (&slot->n_readers) > 0)
    g_thread_yield ();
  set_bytes (self, self->bytes - table->stats.table_bytes);
  lu_table_unref (table);
}

/* Removes slots that nothing else refers to, with their tables. */
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
  while (self->bytes + bytes > self->budget)
    {
      LuTableSlot *slot = find_longest_unused (self);

      if (slot == NULL)
        break;
      take_away (self, slot);
      atomic_store (&slot->was_forgotten, TRUE);
      lu_count (&self->counters, LU_COUNTER_TABLES_EVICTED);
      atomic_store (&slot->threshold, MIN (PATIENCE * lu_table_slot_threshold (slot), 1u << 30));
      atomic_store (&slot->n_misses, 0);
    }
}

static gboolean
publish_first (LuTables *self, LuTableSlot *slot, LuTable *table)
{
  gsize bytes = table->stats.table_bytes;

  if (bytes > self->budget || atomic_load (&slot->table) != NULL)
    {
      lu_table_unref (table);
      return FALSE;
    }
  make_room (self, bytes);
  set_bytes (self, self->bytes + bytes);
  atomic_store (&slot->last_use, atomic_fetch_add (&self->clock, 1) + 1);
  atomic_store (&slot->table, table);
  if (self->listener != NULL)
    self->listener (self->listener_data);
  return TRUE;
}

/* Publishes a table; takes it. One with rows that are not from CFI takes the place of another. */
static gboolean
publish (LuTables *self, LuTableSlot *slot, LuTable *table)
{
  if (table->stats.has_extra && table->stats.table_bytes <= self->budget)
    take_away (self, slot);
  atomic_store (&slot->is_extended, atomic_load (&slot->is_extended) || table->stats.has_extra);
  return publish_first (self, slot, table);
}

/* Adding. */

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

/* FALSE: there is no such table. */
static gboolean
load_stored (LuTables *self, LuTableSlot *slot, const LuImage *image, const guint8 *identity)
{
  LuStoreResult result;
  LuTable *table = lu_store_load_as (self->store, image, identity, self->budget, &result);
  gboolean is_published = FALSE;

  pthread_mutex_lock (&self->mutex);
  if (table != NULL)
    is_published = publish (self, slot, table);
  if (is_published)
    lu_count (&self->counters, LU_COUNTER_TABLES_LOADED);
  else if (result != LU_STORE_MISSING && result != LU_STORE_LOADED)
    {
      lu_count (&self->counters, LU_COUNTER_TABLES_REFUSED);
      g_debug ("a stored table is not used: it is %s", lu_store_result_title (result));
    }
  pthread_mutex_unlock (&self->mutex);
  return is_published;
}

static gpointer tables_main (gpointer data);

/* Starts the thread when there is something to compile; no thread is needed while all tables come
 * from the store and none is evicted. */
static void
start_when_needed (LuTables *self, LuTableSlot *slot)
{
  pthread_mutex_lock (&self->mutex);
  if (!g_atomic_int_get (&self->is_ending) && self->thread == NULL && self->wake_fd >= 0
      && (atomic_load (&slot->table) == NULL
          || lu_counters_get (&self->counters, LU_COUNTER_TABLES_EVICTED) > 0))
    self->thread = g_thread_new ("tables", tables_main, self);
  pthread_mutex_unlock (&self->mutex);
}

LuTableSlot *
lu_tables_add (LuTables *self, const LuImage *image)
{
  LuTableSlot *slot = g_new0 (LuTableSlot, 1);
  guint n_fdes = count_fdes (image);
  const guint8 *digest;
  gsize digest_size;

  atomic_init (&slot->ref_count, 1);
  add_reference (&self->ref_count);
  slot->owner = self;
  slot->threshold = first_threshold (self, n_fdes);
  slot->may_fill = lu_file_rows_may_fill_gaps (image);
  pthread_mutex_lock (&self->mutex);
  if (self->slots->len % ADDED_PER_SEARCH == ADDED_PER_SEARCH - 1)
    forget_unused (self);
  g_ptr_array_add (self->slots, lu_table_slot_ref (slot));
  pthread_mutex_unlock (&self->mutex);
  if (self->store != NULL)
    {
      digest = lu_image_digest (image, &digest_size); /* the thread may need it later */
      if (lu_image_is_64bit (image))
        load_stored (self, slot, image, digest);
    }
  start_when_needed (self, slot);
  return slot;
}

/* The thread. */

static void
save (LuTables *self, const LuImage *image, const guint8 *identity, const LuTable *table)
{
  LuStorePruned pruned;
  gboolean is_pruned;

  if (self->store == NULL || lu_store_is_read_only (self->store))
    return;
  if (!lu_store_save_as (self->store, image, identity, table))
    {
      g_debug ("a table cannot be stored: %s", g_strerror (errno));
      lu_store_set_read_only (self->store); /* the next attempt would fail too */
      return;
    }
  pthread_mutex_lock (&self->mutex);
  lu_count (&self->counters, LU_COUNTER_TABLES_STORED);
  is_pruned = self->unpruned_bytes == 0;
  self->unpruned_bytes += table->stats.table_bytes;
  if (self->unpruned_bytes >= PRUNE_BYTES)
    self->unpruned_bytes = 0;
  pthread_mutex_unlock (&self->mutex);
  if (is_pruned)
    lu_store_prune (self->store, LU_STORE_MAX_BYTES, &pruned);
}

/* Compiles the table of an image with rows from elsewhere, publishes it, and stores it under an
 * identity; NULL: it is not stored. is_last: no other table with more rows follows. */
static gboolean
extend (LuTableSlot *slot, LuImage *image, const LuExtraRows *rows, const guint8 *identity,
        gboolean is_last)
{
  LuTables *self = slot->owner;
  LuTableLimits limits = { .max_bytes = self->budget, .is_cancelled = &self->is_stopping };
  LuTable *table = lu_table_new_with_rows (image, rows, &limits);
  gboolean is_published;

  if (table == NULL)
    return FALSE;
  if (identity != NULL)
    save (self, image, identity, table);
  pthread_mutex_lock (&self->mutex);
  is_published = publish (self, slot, table);
  if (is_last)
    {
      lu_count (&self->counters, LU_COUNTER_TABLES_BUILT);
      lu_count (&self->counters, LU_COUNTER_TABLES_EXTENDED);
    }
  pthread_mutex_unlock (&self->mutex);
  return is_published;
}

gboolean
lu_table_slot_extend (LuTableSlot *slot, LuImage *image, const LuExtraRows *rows,
                      gboolean may_be_stored)
{
  gsize digest_size;

  atomic_store (&slot->may_fill, FALSE);
  return extend (slot, image, rows, may_be_stored ? lu_image_digest (image, &digest_size) : NULL,
                 TRUE);
}

gboolean
lu_table_slot_may_fill_gaps (LuTableSlot *self)
{
  return atomic_load_explicit (&self->may_fill, memory_order_acquire) != 0;
}

void
lu_table_slot_fill_gaps (LuTableSlot *self, LuImage *image, int fd_taken)
{
  lu_autofd fd = fd_taken;
  LuGapFiller *filler = self->owner->filler;

  if (g_atomic_int_get (&self->owner->is_ending)
      || (fd >= 0 && !lu_gap_filler_has_room (filler))) /* may be asked again */
    return;
  if (fd >= 0 && lu_table_slot_may_fill_gaps (self))
    atomic_store (&self->is_filling,
                  TRUE); /* before the other flag falls, which others look at first */
  if (!atomic_exchange (&self->may_fill, FALSE) || fd < 0)
    return;
  lu_gap_filler_add (filler, self, image, lu_fd_steal (&fd));
}

gboolean
lu_table_slot_is_filling (LuTableSlot *self)
{
  return atomic_load (&self->is_filling) != 0;
}

/* In the order in which the flags change: one of them is set until the rows are there. */
gboolean
lu_table_slot_may_get_rows (LuTableSlot *self)
{
  return lu_table_slot_may_fill_gaps (self) || lu_table_slot_is_filling (self);
}

gboolean
lu_table_slot_wait_filled (LuTableSlot *self, guint64 address, guint max_ms)
{
  return lu_gap_filler_wait (self->owner->filler, self, address, max_ms);
}

void
lu_table_slot_end_filling (LuTableSlot *self)
{
  atomic_store (&self->is_filling, FALSE);
}

guint
lu_tables_filled (void)
{
  return atomic_load_explicit (&n_filled, memory_order_acquire);
}

void
lu_table_slot_take_filled (LuTableSlot *self, LuImage *image, const LuExtraRows *rows,
                           const guint8 *identity, gboolean is_last)
{
  if (extend (self, image, rows, identity, is_last))
    atomic_fetch_add_explicit (&n_filled, 1, memory_order_release);
}

gboolean
lu_table_slot_load_filled (LuTableSlot *self, const LuImage *image,
                           const guint8 identity[LU_DIGEST_SIZE])
{
  LuTables *owner = self->owner;

  if (owner->store == NULL || !load_stored (owner, self, image, identity))
    return FALSE;
  atomic_fetch_add_explicit (&n_filled, 1, memory_order_release);
  return TRUE;
}

gboolean
lu_table_slot_is_extended (LuTableSlot *self)
{
  return atomic_load (&self->is_extended) != 0;
}

static void
build (LuTables *self, LuTableSlot *slot, LuImage *image)
{
  LuTableLimits limits = { .max_bytes = self->budget, .is_cancelled = &self->is_stopping };
  gsize digest_size;
  const guint8 *digest = lu_image_digest (image, &digest_size);
  gboolean is_enough;
  LuTable *table;

  if (atomic_load (&slot->was_forgotten) && self->store != NULL)
    load_stored (self, slot, image, digest);
  if (atomic_load (&slot->is_extended)) /* its CFI alone would be less */
    return;
  if (atomic_load (&slot->table) != NULL) /* loaded, or wanted again while it was compiled */
    return;
  if (count_fdes (image) > self->budget / BYTES_PER_TABLE_FDE)
    return;
  table = lu_table_new_for_image (image, &limits);
  if (table == NULL)
    {
      /* The CFI may only be absent: a walk that needs it makes the worker read it again. */
      atomic_store (&slot->n_misses, 0);
      return;
    }
  is_enough = is_last_word (table);
  save (self, image, digest, table);
  pthread_mutex_lock (&self->mutex);
  is_enough &= publish (self, slot, table);
  lu_count (&self->counters, LU_COUNTER_TABLES_BUILT);
  pthread_mutex_unlock (&self->mutex);
  if (is_enough)
    lu_image_drop_cfi (image);
}

/* Finds the next slot that should be compiled. Returns a reference to it and, in *image, the
 * reference that came with the request. */
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

/* A listener (the BPF publisher) has no use for single rules, so the thread keeps the normal
 * priority then. Raising it again would need rights that may have been given up. */
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
          /* Sleeps until woken; after EINTR the loop just looks again. */
          if (read (self->wake_fd, &n, sizeof n) < 0 && errno != EINTR)
            break;
          continue;
        }
      choose_priority (self);
      build (self, slot, image);
      lu_image_unref (image);
#ifdef __GLIBC__
      malloc_trim (0); /* compiling took several times the memory that is kept */
#endif
      lu_table_slot_unref (slot);
    }
  g_atomic_int_set (&self->has_ended, TRUE);
  return NULL;
}

/* Life cycle. */

LuTables *
lu_tables_new (LuStore *store, gsize budget)
{
  LuTables *self = g_new0 (LuTables, 1);

  atomic_init (&self->ref_count, 1);
  self->budget = budget;
  self->store = store;
  self->filler = lu_gap_filler_new (&self->is_stopping);
  self->slots = g_ptr_array_new_with_free_func ((GDestroyNotify) lu_table_slot_unref);
  pthread_mutex_init (&self->mutex, NULL);
  self->wake_fd = eventfd (0, EFD_CLOEXEC);
  return self;
}

void
lu_tables_stop (LuTables *self, guint patience_ms, guint rows_patience_ms)
{
  gboolean is_kept = self->store != NULL && !lu_store_is_read_only (self->store);
  gint64 end = g_get_monotonic_time () + (is_kept ? patience_ms * G_GINT64_CONSTANT (1000) : 0);

  /* A worker that was left behind may still add files. */
  pthread_mutex_lock (&self->mutex);
  g_atomic_int_set (&self->is_ending, TRUE);
  pthread_mutex_unlock (&self->mutex);
  wake (self);
  while (self->thread != NULL && !g_atomic_int_get (&self->has_ended)
         && g_get_monotonic_time () < end)
    g_usleep (1000);
  if (is_kept)
    lu_gap_filler_finish (self->filler,
                          g_get_monotonic_time () + rows_patience_ms * G_GINT64_CONSTANT (1000));
  g_atomic_int_set (&self->is_stopping, TRUE);
  wake (self);
  if (self->thread != NULL)
    g_thread_join (g_steal_pointer (&self->thread));
  lu_gap_filler_stop (self->filler);
}

void
lu_tables_free (LuTables *self)
{
  if (self == NULL)
    return;
  lu_tables_stop (self, 0, 0);
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

const LuCounters *
lu_tables_counters (const LuTables *self)
{
  return &self->counters;
}

guint
lu_tables_n_slots (LuTables *self)
{
  guint n;

  pthread_mutex_lock (&self->mutex);
  n = self->slots->len;
  pthread_mutex_unlock (&self->mutex);
  return n;
}

LuStore *
lu_tables_store (LuTables *self)
{
  return self->store;
}
