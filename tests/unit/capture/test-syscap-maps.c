/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-syscap-maps.c - the viewer builds the table of mappings that we want from the frames that we
 * write.
 *
 * `keep_like_the_viewer` models what Sysprof does with the MAP frames of a pid; the expected table
 * is computed page by page. */

#include "capture/syscap-maps.h"

#include "../../cases.h"

#include <string.h>

#define PAGE    0x1000ull
#define BASE    0x400000ull
#define N_PAGES 64

typedef struct
{
  guint start, n_pages; /* in pages behind BASE */
  guint file;           /* from 1 */
  guint64 time;
} Put;

typedef struct
{
  const char *name;
  Put puts[6]; /* up to the first with n_pages 0 */
  gboolean is_shadowing;
} MapsCase;

static const MapsCase cases[] = {
  { "one mapping", { { 4, 4, 1, 1 } }, FALSE },
  { "two next to each other", { { 4, 4, 1, 1 }, { 8, 4, 2, 2 } }, FALSE },
  { "the same again", { { 4, 4, 1, 1 }, { 4, 4, 1, 2 } }, FALSE },
  { "the same range of another file", { { 4, 4, 1, 1 }, { 4, 4, 2, 2 } }, TRUE },
  { "a hole in the middle", { { 4, 12, 1, 1 }, { 8, 2, 2, 2 } }, TRUE },
  { "the front is covered", { { 4, 12, 1, 1 }, { 4, 4, 2, 2 } }, TRUE },
  { "the back is covered", { { 4, 12, 1, 1 }, { 12, 4, 2, 2 } }, TRUE },
  { "front and more is covered", { { 4, 12, 1, 1 }, { 2, 4, 2, 2 } }, TRUE },
  { "back and more is covered", { { 4, 12, 1, 1 }, { 12, 8, 2, 2 } }, TRUE },
  { "all and more is covered", { { 8, 2, 1, 1 }, { 4, 12, 2, 2 } }, TRUE },
  { "the same mapping grows", { { 4, 4, 1, 1 }, { 4, 8, 1, 2 } }, FALSE },
  { "shorter and shorter from one start",
    { { 4, 16, 1, 1 }, { 4, 8, 2, 2 }, { 4, 4, 3, 3 }, { 4, 2, 4, 4 } },
    TRUE },
  { "several at once", { { 4, 2, 1, 1 }, { 8, 2, 2, 2 }, { 12, 2, 3, 3 }, { 5, 8, 4, 4 } }, TRUE },
  { "over a hole, over it all, a hole again",
    { { 4, 12, 1, 1 }, { 8, 2, 2, 2 }, { 2, 20, 3, 3 }, { 8, 2, 4, 4 } },
    TRUE },
  { "an older one arrives late", { { 8, 4, 2, 9 }, { 4, 12, 1, 1 } }, TRUE },
  { "an older one arrives too late", { { 4, 12, 2, 9 }, { 8, 2, 1, 1 } }, TRUE },
  { "an older one of the same size arrives late", { { 4, 4, 2, 9 }, { 4, 4, 1, 1 } }, TRUE },
  { "an older, shorter one arrives late", { { 4, 8, 2, 9 }, { 4, 4, 1, 1 } }, TRUE },
  { "an older, longer one arrives late", { { 4, 4, 2, 9 }, { 4, 8, 1, 1 } }, TRUE },
  { "an older one arrives twice", { { 4, 4, 2, 9 }, { 4, 8, 1, 1 }, { 4, 8, 1, 1 } }, TRUE },
  { "an older one arrives beneath two",
    { { 4, 4, 2, 9 }, { 10, 4, 3, 9 }, { 2, 16, 1, 1 } },
    TRUE },
  { "an older one of the same file arrives late", { { 4, 4, 1, 9 }, { 4, 4, 1, 1 } }, FALSE },
};

static gboolean
collect (const LuSyscapMapping *mapping, gpointer user_data, GError **error)
{
  LuSyscapMapping copy = *mapping;

  copy.file = lu_file_id_ref (copy.file);
  g_array_append_val ((GArray *) user_data, copy);
  return TRUE;
}

static void
clear_file (gpointer pointer)
{
  lu_file_id_unref (((LuSyscapMapping *) pointer)->file);
}

static GArray *
frames_new (void)
{
  GArray *frames = g_array_new (FALSE, FALSE, sizeof (LuSyscapMapping));

  g_array_set_clear_func (frames, clear_file);
  return frames;
}

static int
compare_time (gconstpointer a, gconstpointer b)
{
  const LuSyscapMapping *const *x = a, *const *y = b;

  if ((*x)->time != (*y)->time)
    return (*x)->time < (*y)->time ? -1 : 1;
  return *x < *y ? -1 : 1; /* stable: all frames are in one array */
}

static int
compare_range (gconstpointer a, gconstpointer b)
{
  const LuSyscapMapping *const *x = a, *const *y = b;

  if ((*x)->start != (*y)->start)
    return (*x)->start < (*y)->start ? -1 : 1;
  if ((*x)->end != (*y)->end)
    return (*x)->end < (*y)->end ? -1 : 1;
  return compare_time (a, b);
}

/* The mappings that the viewer keeps, by address; borrowed from `frames`. */
static GPtrArray *
keep_like_the_viewer (GArray *frames)
{
  g_autoptr (GPtrArray) sorted = g_ptr_array_new ();
  GPtrArray *kept = g_ptr_array_new ();

  for (guint i = 0; i < frames->len; i++)
    g_ptr_array_add (sorted, &g_array_index (frames, LuSyscapMapping, i));
  g_ptr_array_sort (sorted, compare_range);
  for (guint i = 0; i < sorted->len; i++)
    {
      const LuSyscapMapping *mapping = sorted->pdata[i];
      const LuSyscapMapping *next = i + 1 < sorted->len ? sorted->pdata[i + 1] : NULL;

      if (next == NULL || mapping->end <= next->start)
        g_ptr_array_add (kept, sorted->pdata[i]);
    }
  return kept;
}

static const LuSyscapMapping *
look_up (GPtrArray *kept, guint64 address)
{
  const LuSyscapMapping *found = NULL;

  for (guint i = 0; i < kept->len; i++)
    {
      const LuSyscapMapping *mapping = kept->pdata[i];

      if (address >= mapping->start && address < mapping->end)
        {
          g_assert_null (found);
          found = mapping;
        }
    }
  return found;
}

/* Never freed. */
static LuFileIds *file_ids;

static LuSyscapMapping
mapping_of (const Put *put)
{
  g_autofree char *name = g_strdup_printf ("/lib/%u", put->file);

  return (LuSyscapMapping){ .start = BASE + put->start * PAGE,
                            .end = BASE + (put->start + put->n_pages) * PAGE,
                            .file_offset = put->file * 0x100000ull,
                            .time = put->time,
                            .module_id = put->file,
                            .file = lu_file_ids_intern (file_ids, &(LuFileId){ .path = name }) };
}

/* Puts all mappings and compares the viewer's table after each. Returns TRUE if anything was
 * shadowed. */
static gboolean
put_and_compare (const Put *puts, guint n_puts)
{
  g_autoptr (LuSyscapMaps) maps = lu_syscap_maps_new ();
  g_autoptr (GArray) frames = frames_new ();
  const Put *want[N_PAGES] = { NULL };
  LuSyscapMapsOutput output = { .emit = collect, .user_data = frames };

  for (guint i = 0; i < n_puts; i++)
    {
      LuSyscapMapping mapping = mapping_of (&puts[i]);
      g_autoptr (GPtrArray) kept = NULL;

      g_assert_true (lu_syscap_maps_add (maps, &mapping, &output, NULL));
      lu_file_id_unref (mapping.file);
      for (guint page = puts[i].start; page < puts[i].start + puts[i].n_pages; page++)
        if (want[page] == NULL || want[page]->time <= puts[i].time)
          want[page] = &puts[i];

      kept = keep_like_the_viewer (frames);
      for (guint page = 0; page < N_PAGES; page++)
        {
          guint64 address = BASE + page * PAGE + 0x80; /* beyond the bytes that a cut may cost */
          const LuSyscapMapping *found = look_up (kept, address);

          if (want[page] == NULL)
            {
              g_assert_null (found);
              continue;
            }
          g_assert_nonnull (found);
          g_assert_cmpuint (found->module_id, ==, want[page]->file);
          g_assert_cmphex (address - found->start + found->file_offset, ==,
                           (page - want[page]->start) * PAGE + 0x80
                               + want[page]->file * 0x100000ull);
        }
    }
  g_assert_false (output.has_dropped);
  return output.has_shadowed;
}

static void
test_case (gconstpointer data)
{
  const MapsCase *c = data;
  guint n = 0;

  while (n < G_N_ELEMENTS (c->puts) && c->puts[n].n_pages > 0)
    n++;
  g_assert_cmpint (put_and_compare (c->puts, n), ==, c->is_shadowing);
}

static void
test_random (void)
{
  for (guint round = 0; round < 300; round++)
    {
      Put puts[25];

      for (guint i = 0; i < G_N_ELEMENTS (puts); i++)
        {
          guint start = (guint) g_test_rand_int_range (0, N_PAGES - 1);

          puts[i] = (Put){ .start = start,
                           .n_pages = (guint) g_test_rand_int_range (1, (gint) (N_PAGES - start)),
                           .file = (guint) g_test_rand_int_range (1, 5) * 100 + i,
                           .time = i };
        }
      put_and_compare (puts, G_N_ELEMENTS (puts));
    }
}

/* Returns the frame that a reader that looks at times finds for `time`, or NULL. */
static const LuSyscapMapping *
find_at (GArray *frames, guint64 address, guint64 time)
{
  const LuSyscapMapping *found = NULL;

  for (guint i = 0; i < frames->len; i++)
    {
      const LuSyscapMapping *frame = &g_array_index (frames, LuSyscapMapping, i);

      if (address >= frame->start && address < frame->end && frame->time <= time
          && (found == NULL || frame->time >= found->time))
        found = frame;
    }
  return found;
}

/* Samples from before an exec are written after samples from behind it. */
static void
test_late (void)
{
  const Put newer[] = { { 4, 12, 2, 9 }, { 8, 2, 2, 9 }, { 8, 4, 2, 9 }, { 6, 3, 2, 9 } };
  const Put older = { 8, 4, 1, 1 };

  for (guint i = 0; i < G_N_ELEMENTS (newer); i++)
    {
      g_autoptr (LuSyscapMaps) maps = lu_syscap_maps_new ();
      g_autoptr (GArray) frames = frames_new ();
      const Put puts[] = { newer[i], older, older };
      LuSyscapMapsOutput output = { .emit = collect, .user_data = frames };
      guint n_frames = 0;

      for (guint k = 0; k < G_N_ELEMENTS (puts); k++)
        {
          LuSyscapMapping mapping = mapping_of (&puts[k]);

          n_frames = frames->len;
          lu_syscap_maps_add (maps, &mapping, &output, NULL);
          lu_file_id_unref (mapping.file);
        }
      g_assert_cmpuint (frames->len, ==, n_frames); /* the last one says nothing new */
      for (guint page = older.start; page < older.start + older.n_pages; page++)
        {
          guint64 address = BASE + page * PAGE + 0x80;
          gboolean is_covered = page >= newer[i].start && page < newer[i].start + newer[i].n_pages;

          g_assert_cmpuint (find_at (frames, address, 8)->module_id, ==, 1);
          g_assert_cmpuint (find_at (frames, address, 9)->module_id, ==, is_covered ? 2 : 1);
        }
    }
}

static void
test_remainders (void)
{
  g_autoptr (LuSyscapMaps) maps = lu_syscap_maps_new ();
  g_autoptr (GArray) frames = frames_new ();
  const Put puts[] = { { 4, 12, 1, 1 }, { 8, 2, 2, 7 } };
  LuSyscapMapsOutput output = { .emit = collect, .user_data = frames };
  const LuSyscapMapping *frame;

  for (guint i = 0; i < G_N_ELEMENTS (puts); i++)
    {
      LuSyscapMapping mapping = mapping_of (&puts[i]);

      lu_syscap_maps_add (maps, &mapping, &output, NULL);
      lu_file_id_unref (mapping.file);
    }
  g_assert_cmpuint (frames->len, ==, 4);
  /* the left remainder is one byte short, so that it survives next to the mapping that cut it */
  frame = &g_array_index (frames, LuSyscapMapping, 1);
  g_assert_cmphex (frame->start, ==, BASE + 4 * PAGE + 1);
  g_assert_cmphex (frame->end, ==, BASE + 8 * PAGE);
  g_assert_cmphex (frame->file_offset, ==, 0x100001);
  g_assert_cmpuint (frame->time, ==, 7);
  frame = &g_array_index (frames, LuSyscapMapping, 3);
  g_assert_cmphex (frame->start, ==, BASE + 10 * PAGE);
  g_assert_cmphex (frame->end, ==, BASE + 16 * PAGE);
  g_assert_cmphex (frame->file_offset, ==, 0x100000 + 6 * PAGE);
  g_assert_cmpuint (frame->time, ==, 7);
}

static void
test_bounded (void)
{
  g_autoptr (LuSyscapMaps) maps = lu_syscap_maps_new ();
  g_autoptr (GArray) frames = frames_new ();
  LuSyscapMapsOutput output = { .emit = collect, .user_data = frames };

  for (guint i = 0; i < LU_SYSCAP_MAPS_MAX + 100; i++)
    {
      const Put put = { .start = i * 2, .n_pages = 1, .file = 1 + i, .time = i };
      LuSyscapMapping mapping = mapping_of (&put);

      lu_syscap_maps_add (maps, &mapping, &output, NULL);
      lu_file_id_unref (mapping.file);
    }
  g_assert_true (output.has_dropped);
  g_assert_cmpuint (frames->len, ==, LU_SYSCAP_MAPS_MAX);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  file_ids = lu_file_ids_new ();
  TEST_ADD_CASES ("/output/syscap-maps", cases, test_case);
  g_test_add_func ("/output/syscap-maps/random", test_random);
  g_test_add_func ("/output/syscap-maps/late", test_late);
  g_test_add_func ("/output/syscap-maps/remainders", test_remainders);
  g_test_add_func ("/output/syscap-maps/bounded", test_bounded);
  return g_test_run ();
}
