/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* queue.c - bounded single-producer, single-consumer byte queue; see queue.h.
 *
 * The layout is messages of { u64 size; bytes, 8-aligned } in one power-of-two buffer. A message
 * that would not fit before the end of the buffer is preceded by a filler (size with FILLER set) so
 * that none wraps. head and tail are byte counts that never wrap in practice; the producer owns
 * head, the consumer owns tail. The consumer announces that it sleeps before it looks a last time,
 * and the producer reads the announcement after it has published: with sequential consistency, at
 * least one of them sees the other. */

#include "base/queue.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define FILLER      (1ull << 63)
#define HEADER_SIZE sizeof (guint64)
/* A queue that has run empty starts again at the beginning of its buffer after this many bytes, so
 * that it reuses memory that is in a cache. */
#define REWIND_BYTES (128u << 10)
/* Until the consumer catches up, only the bytes before that restart are free. They are at least
 * this many times the recent maximum of bytes in use. */
#define REWIND_PEAKS 4
/* Memory that trimming keeps, since bursts come again: about what one wake-up of the writer takes.
 */
#define KEPT_BYTES (1u << 20)

struct _LuQueue
{
  guint8 *buffer; /* anonymous mapping: untouched pages cost nothing */
  gsize capacity; /* bytes, a power of two */

  _Alignas(64) atomic_ullong head; /* producer: bytes ever committed */
  guint64 reserved_at;             /* producer: position of the reserved message */
  guint64 filler_at;               /* producer: position of the last filler */
  gsize filler;                    /* producer: bytes of the last filler */
  gsize peak;                      /* producer: most bytes in use at once, halved at each trim */
  gsize touched;                   /* producer: bytes committed since memory was given back */

  _Alignas(64) atomic_ullong tail; /* consumer: bytes ever released */
  atomic_uint sleeping;            /* futex; 1: the consumer waits until it is set to 0 */
  atomic_bool poked;
  atomic_bool closed;
};

static gsize
message_bytes (gsize size)
{
  return HEADER_SIZE + ((size + 7) & ~(gsize) 7);
}

static guint64 *
slot (LuQueue *self, guint64 position)
{
  return (guint64 *) (self->buffer + (position & (self->capacity - 1)));
}

LuQueue *
lu_queue_new (gsize capacity)
{
  LuQueue *self = g_new0 (LuQueue, 1);
  gsize rounded = 4096;

  while (rounded < capacity)
    rounded *= 2;
  self->capacity = rounded;
  self->buffer = mmap (NULL, rounded, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (self->buffer == MAP_FAILED)
    g_error ("cannot reserve %" G_GSIZE_FORMAT " bytes for a queue: %s", rounded,
             g_strerror (errno));
  return self;
}

void
lu_queue_free (LuQueue *self)
{
  if (self == NULL)
    return;
  munmap (self->buffer, self->capacity);
  g_free (self);
}

gsize
lu_queue_max_message (const LuQueue *self)
{
  /* Half, so that a message fits wherever the head is once the queue is empty. */
  return self->capacity / 2 - HEADER_SIZE;
}

/* Returns the bytes to skip before a message: up to the end of the buffer if the message does not
 * fit there, or if the queue has run empty and can start again at the beginning, so that a queue
 * that hardly fills touches little memory. */
static gsize
bytes_to_skip (const LuQueue *self, guint64 head, guint64 tail, gsize need)
{
  gsize offset = head & (self->capacity - 1);
  gsize to_end = self->capacity - offset;
  gsize rewind = MAX (REWIND_BYTES, REWIND_PEAKS * self->peak);

  if (need > to_end)
    return to_end;
  return head == tail && offset >= MAX (need, rewind) ? to_end : 0;
}

gpointer
lu_queue_reserve (LuQueue *self, gsize size)
{
  guint64 head = atomic_load_explicit (&self->head, memory_order_relaxed);
  guint64 tail = atomic_load_explicit (&self->tail, memory_order_acquire);
  gsize need = message_bytes (size);
  gsize skip = bytes_to_skip (self, head, tail, need);

  if (size > lu_queue_max_message (self) || head - tail + skip + need > self->capacity)
    return NULL;
  if (skip > 0)
    {
      *slot (self, head) = FILLER | skip;
      self->filler_at = head;
      self->filler = skip;
    }
  self->reserved_at = head + skip;
  self->peak = MAX (self->peak, lu_queue_used (self) + need);
  return slot (self, self->reserved_at) + 1;
}

static long
futex (atomic_uint *word, int operation, guint32 value, const struct timespec *timeout)
{
  return syscall (SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, timeout, NULL, 0);
}

void
lu_queue_wake (LuQueue *self)
{
  atomic_thread_fence (memory_order_seq_cst);
  /* Wake it once for each sleep; more would only cost time until the consumer runs. */
  if (atomic_load (&self->sleeping) != 0 && atomic_exchange (&self->sleeping, 0) != 0)
    futex (&self->sleeping, FUTEX_WAKE, 1, NULL);
}

void
lu_queue_poke (LuQueue *self)
{
  atomic_store (&self->poked, true);
  lu_queue_wake (self);
}

void
lu_queue_commit_quietly (LuQueue *self, gsize size)
{
  *slot (self, self->reserved_at) = size;
  atomic_store_explicit (&self->head, self->reserved_at + message_bytes (size),
                         memory_order_release);
  self->touched += message_bytes (size);
}

/* Gives whole pages between two positions back. The positions are at most the capacity apart. */
static void
give_back (LuQueue *self, guint64 begin, guint64 end)
{
  gsize page = (gsize) sysconf (_SC_PAGESIZE);
  guint64 wrap = (begin & ~(guint64) (self->capacity - 1)) + self->capacity;

  if (end > wrap)
    {
      give_back (self, wrap, end);
      end = wrap;
    }
  begin = (begin + page - 1) & ~(guint64) (page - 1);
  end &= ~(guint64) (page - 1);
  if (begin < end)
    madvise (slot (self, begin), end - begin, MADV_DONTNEED);
}

/* The producer owns the free memory. A queue that is never seen empty cycles through all of its
 * buffer, and would keep all of it without this. */
void
lu_queue_trim (LuQueue *self)
{
  guint64 head = atomic_load_explicit (&self->head, memory_order_relaxed);
  guint64 tail = atomic_load_explicit (&self->tail, memory_order_acquire);

  self->peak /= 2;
  if (self->touched <= KEPT_BYTES || head + KEPT_BYTES >= tail + self->capacity)
    return;
  give_back (self, head + KEPT_BYTES, tail + self->capacity);
  self->touched = 0;
}

void
lu_queue_commit (LuQueue *self, gsize size)
{
  lu_queue_commit_quietly (self, size);
  lu_queue_wake (self);
}

void
lu_queue_close (LuQueue *self)
{
  atomic_store (&self->closed, true);
  lu_queue_wake (self);
}

gpointer
lu_queue_peek (LuQueue *self, gsize *size)
{
  guint64 tail = atomic_load_explicit (&self->tail, memory_order_relaxed);
  guint64 head = atomic_load (&self->head);

  if (tail == head)
    return NULL;
  if (*slot (self, tail) & FILLER)
    {
      tail += *slot (self, tail) & ~FILLER;
      atomic_store_explicit (&self->tail, tail, memory_order_release);
      /* A filler is published together with the message after it. */
      g_assert (tail < head);
    }
  if (size != NULL)
    *size = *slot (self, tail);
  return slot (self, tail) + 1;
}

void
lu_queue_release (LuQueue *self)
{
  guint64 tail = atomic_load_explicit (&self->tail, memory_order_relaxed);

  atomic_store_explicit (&self->tail, tail + message_bytes (*slot (self, tail)),
                         memory_order_release);
}

gboolean
lu_queue_is_finished (LuQueue *self)
{
  /* Read `closed` first; messages committed before the close are visible then. */
  return atomic_load (&self->closed) && lu_queue_peek (self, NULL) == NULL;
}

static gboolean
has_news (LuQueue *self)
{
  return lu_queue_peek (self, NULL) != NULL || atomic_load (&self->closed)
         || atomic_load (&self->poked);
}

void
lu_queue_wait (LuQueue *self, int timeout_ms)
{
  struct timespec timeout = { .tv_sec = timeout_ms / 1000,
                              .tv_nsec = timeout_ms % 1000 * 1000000l };

  atomic_store (&self->sleeping, 1);
  if (!has_news (self))
    futex (&self->sleeping, FUTEX_WAIT, 1, timeout_ms >= 0 ? &timeout : NULL);
  atomic_store (&self->sleeping, 0);
  atomic_store (&self->poked, false);
}

gboolean
lu_queue_is_behind (LuQueue *self)
{
  guint64 tail = atomic_load_explicit (&self->tail, memory_order_relaxed);

  return atomic_load_explicit (&self->head, memory_order_relaxed) - tail > self->capacity / 2;
}

gsize
lu_queue_used (LuQueue *self)
{
  guint64 tail = atomic_load_explicit (&self->tail, memory_order_acquire);
  guint64 head = atomic_load_explicit (&self->head, memory_order_relaxed);
  gboolean has_filler = tail <= self->filler_at && self->filler_at < head;

  return head - tail - (has_filler ? self->filler : 0);
}
