/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* ring.c - reads one perf mmap ring; see ring.h.
 *
 * The kernel owns data_head; we own data_tail. The tail moves record by record, so a full ring has
 * room again at once. Records that wrap are copied into `scratch`; all others are read in place.
 * Mapping the data twice, back to back, so that nothing wraps, does not work: the kernel refuses it
 * (EINVAL). */

#include "input/ring.h"

#include "base/fetch.h"

#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SCRATCH_SIZE (1u << 16) /* header.size is 16 bits wide */

static struct perf_event_mmap_page *
control (const LuRing *self)
{
  return (struct perf_event_mmap_page *) self->base;
}

static gsize
page_size (void)
{
  static gsize size;

  if (G_UNLIKELY (size == 0))
    size = (gsize) sysconf (_SC_PAGESIZE);
  return size;
}

gboolean
lu_ring_map (LuRing *self, int fd, gsize data_size)
{
  void *base = mmap (NULL, page_size () + data_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

  memset (self, 0, sizeof *self);
  if (base == MAP_FAILED)
    return FALSE;
  self->base = base;
  self->data = self->base + page_size ();
  self->data_size = data_size;
  self->scratch = g_malloc (SCRATCH_SIZE);
  /* Not 0 only if another program has read from this ring. */
  self->tail = __atomic_load_n (&control (self)->data_tail, __ATOMIC_RELAXED);
  return TRUE;
}

void
lu_ring_view (LuRing *self, const LuRing *of)
{
  *self = (LuRing){ .base = of->base,
                    .data = of->data,
                    .data_size = of->data_size,
                    .tail = of->tail,
                    .scratch = g_malloc (SCRATCH_SIZE),
                    .is_view = TRUE };
}

void
lu_ring_unmap (LuRing *self)
{
  if (self->base != NULL && !self->is_view)
    munmap (self->base, page_size () + self->data_size);
  g_free (self->scratch);
  memset (self, 0, sizeof *self);
}

guint64
lu_ring_head (const LuRing *self)
{
  return __atomic_load_n (&control (self)->data_head, __ATOMIC_ACQUIRE);
}

/* Few records wrap, so this is not inlined. */
static __attribute__ ((noinline)) gconstpointer
put_together (LuRing *self, gsize offset, gsize size)
{
  gsize to_end = self->data_size - offset;

  memcpy (self->scratch, self->data + offset, to_end);
  memcpy (self->scratch + to_end, self->data, size - to_end);
  return self->scratch;
}

/* Returns the bytes at an offset in the data, copied if they wrap. */
static inline gconstpointer
bytes_at (LuRing *self, gsize offset, gsize size)
{
  return G_LIKELY (size <= self->data_size - offset) ? self->data + offset
                                                     : put_together (self, offset, size);
}

/* Returns whether a record can have this size, `left` bytes before the head. */
static gboolean
is_record (const LuRing *self, gsize size, guint64 left)
{
  return left <= self->data_size && size >= sizeof (struct perf_event_header) && size % 8 == 0
         && size <= left;
}

static __attribute__ ((noinline)) gconstpointer
skip_to_head (LuRing *self, guint64 left, gboolean *corrupt)
{
  *corrupt = TRUE;
  self->record_size = left;
  lu_ring_consume (self);
  return NULL;
}

gconstpointer
lu_ring_peek (LuRing *self, guint64 head, gsize *size, gboolean *corrupt)
{
  gsize offset = self->tail & (self->data_size - 1);
  const struct perf_event_header *header;
  guint64 left = head - self->tail;

  *corrupt = FALSE;
  if (left == 0)
    return NULL;
  /* Records are 8-aligned, so a header never wraps. */
  header = bytes_at (self, offset, sizeof *header);
  *size = header->size;
  if (!is_record (self, *size, left))
    return skip_to_head (self, left, corrupt);
  self->record_size = *size;
  return bytes_at (self, offset, *size);
}

gconstpointer
lu_ring_peek_next (const LuRing *self, guint64 head, gsize *size)
{
  guint64 next = self->tail + self->record_size;
  gsize offset = next & (self->data_size - 1);
  const struct perf_event_header *record = (const struct perf_event_header *) (self->data + offset);

  /* Positions are not aligned after a wrong head. */
  if (head == next || self->data_size - offset < sizeof *record)
    return NULL;
  *size = record->size;
  return is_record (self, *size, head - next) && *size <= self->data_size - offset ? record : NULL;
}

void
lu_ring_expect (const LuRing *self, guint64 head, gsize skipped)
{
  guint64 next = self->tail + self->record_size + skipped, mask = self->data_size - 1;

  if (head - next < self->record_size || head - next > self->data_size)
    return;
  for (guint64 at = 0; at < MIN (LU_RING_EXPECTED_BYTES, self->record_size); at += LU_CACHE_LINE)
    lu_fetch_ahead (self->data + ((next + at) & mask));
  lu_fetch_ahead (self->data + ((next + self->record_size - 8) & mask));
}

void
lu_ring_consume (LuRing *self)
{
  self->tail += self->record_size;
  self->record_size = 0;
  if (!self->is_view)
    __atomic_store_n (&control (self)->data_tail, self->tail, __ATOMIC_RELEASE);
}
