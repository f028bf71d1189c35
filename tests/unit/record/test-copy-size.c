/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-copy-size.c - src/record/copy-size.c: when the copy of the stack grows. */

#include "record/copy-size.h"

#include "base/error.h"
#include "input/perf-event.h"

#include "../../cases.h"

#define BYTES 16384

static gboolean
set_stack_size (LuSource *source, guint32 bytes, GError **error)
{
  return TRUE;
}

static gboolean
refuse_stack_size (LuSource *source, guint32 bytes, GError **error)
{
  g_set_error_literal (error, LU_ERROR, LU_ERROR_FAILED, "no larger copy");
  return FALSE;
}

static const LuSourceOps growing = { .set_stack_size = set_stack_size },
                         refusing = { .set_stack_size = refuse_stack_size }, fixed = { 0 };

static void
count (LuCopySize *self, LuStatus status, guint32 asked, guint64 needed, guint n)
{
  for (guint i = 0; i < n; i++)
    lu_copy_size_count (self, status, asked, needed);
}

static const struct
{
  const char *name;
  guint n_truncated, n_complete, n_unreadable;
  guint32 asked;
  guint64 n_bpf_unwound;
  guint32 bytes; /* after it */
  guint64 needed;
  guint n_needy; /* cut off, and known to need `needed` */
} cases[] = {
  { "cut off", 3, 0, 0, BYTES, 0, 2 * BYTES },
  { "two are not enough", 2, 0, 0, BYTES, 0, BYTES },
  { "more than one of a hundred", 3, 296, 0, BYTES, 0, 2 * BYTES },
  { "one of a hundred", 3, 297, 0, BYTES, 0, BYTES },
  { "walked in the kernel", 3, 0, 0, BYTES, 297, BYTES },
  { "another end", 0, 0, 300, BYTES, 0, BYTES },
  { "copied before it grew", 300, 0, 0, BYTES / 2, 0, BYTES },
  { "all that is needed at once", 0, 0, 0, BYTES, 0, LU_STACK_SIZE_MAX, 2 * BYTES + 8, 3 },
  { "just enough", 0, 0, 0, BYTES, 0, 2 * BYTES, 2 * BYTES, 3 },
  { "not for two", 3, 0, 0, BYTES, 0, 2 * BYTES, 2 * BYTES + 8, 2 },
  { "not for one of a hundred", 10, 287, 0, BYTES, 0, 2 * BYTES, 2 * BYTES + 8, 3 },
  { "more than the largest", 0, 0, 0, BYTES, 0, LU_STACK_SIZE_MAX, 1 << 20, 3 },
};

static void
test_grows (gconstpointer data)
{
  guint i = GPOINTER_TO_UINT (data);
  LuSource source = { .ops = &growing };
  g_autoptr (GError) error = NULL;
  LuCopySize *self = lu_copy_size_new (&source, BYTES, TRUE);

  count (self, LU_STATUS_TRUNCATED_COPY, cases[i].asked, BYTES + 8, cases[i].n_truncated);
  count (self, LU_STATUS_TRUNCATED_COPY, cases[i].asked, cases[i].needed, cases[i].n_needy);
  count (self, LU_STATUS_COMPLETE, cases[i].asked, 0, cases[i].n_complete);
  count (self, LU_STATUS_UNREADABLE_MEMORY, cases[i].asked, 0, cases[i].n_unreadable);
  g_assert_true (lu_copy_size_tick (self, cases[i].n_bpf_unwound, &error));
  g_assert_cmpuint (lu_copy_size_get (self), ==, cases[i].bytes);
  g_assert_cmpuint (lu_counters_get (&source.counters, LU_COUNTER_STACK_GROWN), ==,
                    cases[i].bytes > BYTES);
  lu_copy_size_free (self);
}

/* The window begins again after each change, and the size has a limit. */
static void
test_to_the_end (void)
{
  LuSource source = { .ops = &growing };
  g_autoptr (GError) error = NULL;
  LuCopySize *self = lu_copy_size_new (&source, BYTES, TRUE);

  while (lu_copy_size_may_grow (self))
    {
      guint32 bytes = lu_copy_size_get (self);

      count (self, LU_STATUS_TRUNCATED_COPY, bytes, 0, 3);
      g_assert_true (lu_copy_size_is_short (self));
      g_assert_true (lu_copy_size_tick (self, 0, &error));
      g_assert_false (lu_copy_size_is_short (self));
      g_assert_true (lu_copy_size_tick (self, 0, &error));
      g_assert_cmpuint (lu_copy_size_get (self), ==, MIN (2 * bytes, LU_STACK_SIZE_MAX));
    }
  g_assert_cmpuint (lu_copy_size_get (self), ==, LU_STACK_SIZE_MAX);
  lu_copy_size_free (self);
}

static void
test_cannot (void)
{
  LuSource source = { .ops = &refusing };
  g_autoptr (GError) error = NULL;
  LuCopySize *self = lu_copy_size_new (&source, BYTES, TRUE);

  count (self, LU_STATUS_TRUNCATED_COPY, BYTES, 0, 3);
  g_assert_false (lu_copy_size_tick (self, 0, &error));
  g_assert_error (error, LU_ERROR, LU_ERROR_FAILED);
  count (self, LU_STATUS_TRUNCATED_COPY, BYTES, 0, 3);
  g_assert_true (lu_copy_size_tick (self, 0, NULL));
  g_assert_cmpuint (lu_copy_size_get (self), ==, BYTES);
  lu_copy_size_free (self);

  source.ops = &fixed;
  self = lu_copy_size_new (&source, BYTES, TRUE);
  g_assert_false (lu_copy_size_may_grow (self));
  lu_copy_size_free (self);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  TEST_ADD_INDEXED_CASES ("/copy-size", cases, test_grows);
  g_test_add_func ("/copy-size/to-the-end", test_to_the_end);
  g_test_add_func ("/copy-size/cannot", test_cannot);
  return g_test_run ();
}
