/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-ring.c - src/input/ring.c on a ring in ordinary memory: wrap-around, the tail, wrong sizes.
 */

#include "input/ring.h"

#include <linux/perf_event.h>
#include <string.h>
#include <unistd.h>

#define DATA_SIZE 4096u

typedef struct
{
  LuRing ring;
  struct perf_event_mmap_page *control;
  guint8 *data;
} Fake;

static void
fake_init (Fake *fake)
{
  gsize page = (gsize) sysconf (_SC_PAGESIZE);

  memset (fake, 0, sizeof *fake);
  fake->ring.base = g_malloc0 (page + DATA_SIZE);
  fake->ring.data_size = DATA_SIZE;
  fake->ring.scratch = g_malloc (1 << 16);
  fake->control = (struct perf_event_mmap_page *) (gpointer) fake->ring.base;
  fake->data = fake->ring.base + page;
  fake->ring.data = fake->data;
}

static void
fake_clear (Fake *fake)
{
  g_free (fake->ring.base);
  g_free (fake->ring.scratch);
}

/* Writes a record as the kernel would: header, then bytes that count up. */
static void
produce (Fake *fake, guint16 size)
{
  struct perf_event_header header = { .type = 9, .size = size };
  guint8 record[4096];

  memcpy (record, &header, sizeof header);
  for (guint i = sizeof header; i < size; i++)
    record[i] = (guint8) i;
  for (guint i = 0; i < size; i++)
    fake->data[(fake->control->data_head + i) % DATA_SIZE] = record[i];
  fake->control->data_head += size;
}

static void
test_records_wrap (void)
{
  Fake fake;
  gboolean corrupt;
  gsize size;

  fake_init (&fake);
  for (guint i = 0; i < 500; i++)
    {
      guint16 want = (guint16) (8 + i % 100 * 8);
      const guint8 *record;

      produce (&fake, want);
      record = lu_ring_peek (&fake.ring, lu_ring_head (&fake.ring), &size, &corrupt);
      g_assert_nonnull (record);
      g_assert_false (corrupt);
      g_assert_cmpuint (size, ==, want);
      for (guint k = 8; k < size; k++)
        g_assert_cmpuint (record[k], ==, (guint8) k);
      g_assert_cmpuint (fake.control->data_tail + want, ==, fake.control->data_head);
      lu_ring_consume (&fake.ring);
      g_assert_cmpuint (fake.control->data_tail, ==, fake.control->data_head);
    }
  g_assert_null (lu_ring_peek (&fake.ring, lu_ring_head (&fake.ring), &size, &corrupt));
  fake_clear (&fake);
}

static void
test_peek_again_gives_the_same (void)
{
  Fake fake;
  gboolean corrupt;
  gsize size;

  fake_init (&fake);
  produce (&fake, 64);
  produce (&fake, 32);
  for (guint i = 0; i < 3; i++)
    {
      g_assert_nonnull (lu_ring_peek (&fake.ring, 96, &size, &corrupt));
      g_assert_cmpuint (size, ==, 64);
    }
  g_assert_cmpuint (fake.control->data_tail, ==, 0);
  lu_ring_consume (&fake.ring);
  g_assert_nonnull (lu_ring_peek (&fake.ring, 96, &size, &corrupt));
  g_assert_cmpuint (size, ==, 32);
  fake_clear (&fake);
}

static void
test_sizes_that_lie_end_the_batch (void)
{
  static const guint16 sizes[] = { 0, 4, 7, 12, 4096 };

  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    {
      Fake fake;
      gboolean corrupt;
      gsize size;

      fake_init (&fake);
      produce (&fake, 16);
      ((struct perf_event_header *) (gpointer) fake.data)->size = sizes[i];
      g_assert_null (lu_ring_peek (&fake.ring, 16, &size, &corrupt));
      g_assert_true (corrupt);
      g_assert_cmpuint (fake.control->data_tail, ==, 16);
      g_assert_null (lu_ring_peek (&fake.ring, 16, &size, &corrupt));
      g_assert_false (corrupt);
      fake_clear (&fake);
    }
}

/* A record before another one that begins `left` bytes before the end of the ring. */
static void
check_next (guint16 size, guint64 left, gboolean is_whole)
{
  Fake fake;
  gboolean corrupt;
  gsize found;
  gconstpointer next;

  fake_init (&fake);
  fake.ring.tail = fake.control->data_tail = fake.control->data_head = DATA_SIZE - left - 16;
  produce (&fake, 16);
  g_assert_nonnull (lu_ring_peek (&fake.ring, fake.control->data_head, &found, &corrupt));
  g_assert_null (lu_ring_peek_next (&fake.ring, fake.control->data_head, &found));
  produce (&fake, size);
  next = lu_ring_peek_next (&fake.ring, fake.control->data_head, &found);
  g_assert_cmpint (next != NULL, ==, is_whole);
  g_assert_null (lu_ring_peek_next (&fake.ring, fake.control->data_head - 8, &found));
  g_assert_cmpuint (fake.ring.tail, ==, fake.control->data_tail);
  if (is_whole)
    {
      lu_ring_consume (&fake.ring);
      g_assert_true (lu_ring_peek (&fake.ring, fake.control->data_head, &found, &corrupt) == next);
      g_assert_cmpuint (found, ==, size);
    }
  fake_clear (&fake);
}

static void
test_next_record (void)
{
  static const guint16 sizes[] = { 0, 4, 12, 72 };

  check_next (64, DATA_SIZE / 2, TRUE);
  check_next (64, 64, TRUE);
  check_next (64, 56, FALSE);
  check_next (64, 8, FALSE);
  check_next (64, 4, FALSE); /* after a wrong head; a sanitizer checks the reads */
  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    {
      Fake fake;
      gboolean corrupt;
      gsize size;

      fake_init (&fake);
      produce (&fake, 16);
      produce (&fake, 64);
      ((struct perf_event_header *) (gpointer) (fake.data + 16))->size = sizes[i];
      g_assert_nonnull (lu_ring_peek (&fake.ring, 80, &size, &corrupt));
      g_assert_null (lu_ring_peek_next (&fake.ring, 80, &size));
      fake_clear (&fake);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ring/records wrap", test_records_wrap);
  g_test_add_func ("/ring/peeking again gives the same", test_peek_again_gives_the_same);
  g_test_add_func ("/ring/sizes that lie end the batch", test_sizes_that_lie_end_the_batch);
  g_test_add_func ("/ring/the next record", test_next_record);
  return g_test_run ();
}
