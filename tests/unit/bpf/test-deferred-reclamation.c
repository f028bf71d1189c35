/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-deferred-reclamation.c - src/bpf/deferred-reclamation.c, arena.c, index.c: nothing is given
 * out twice or before the end of its rest, and free space is found. */

#include "bpf/arena.h"
#include "bpf/index.h"

#include <string.h>

#define REST 100

static void
test_rests (void)
{
  LuBpfReclaim reclaim;

  lu_bpf_reclaim_init (&reclaim, 128);
  g_assert_cmpint (lu_bpf_reclaim_take (&reclaim, 128), ==, 0);
  g_assert_cmpint (lu_bpf_reclaim_take (&reclaim, 1), ==, -1);
  lu_bpf_reclaim_give_back (&reclaim, 3, 70);
  g_assert_cmpint (lu_bpf_reclaim_take (&reclaim, 1), ==, -1);
  lu_bpf_reclaim_pass (&reclaim, 1000, REST); /* sealed */
  lu_bpf_reclaim_pass (&reclaim, 1000 + REST - 1, REST);
  g_assert_cmpint (lu_bpf_reclaim_take (&reclaim, 1), ==, -1);
  /* Later items are not freed together with the sealed ones. */
  lu_bpf_reclaim_give_back (&reclaim, 0, 1);
  lu_bpf_reclaim_pass (&reclaim, 1000 + REST, REST);
  g_assert_cmpuint (reclaim.n_free, ==, 70);
  g_assert_cmpint (lu_bpf_reclaim_take (&reclaim, 71), ==, -1);
  g_assert_cmpint (lu_bpf_reclaim_take (&reclaim, 70), ==, 3);
  lu_bpf_reclaim_pass (&reclaim, 1000 + 2 * REST, REST);
  g_assert_cmpint (lu_bpf_reclaim_take (&reclaim, 1), ==, 0);
  lu_bpf_reclaim_clear (&reclaim);
}

static void
test_release (void)
{
  LuBpfReclaim reclaim;

  lu_bpf_reclaim_init (&reclaim, 64);
  lu_bpf_reclaim_take (&reclaim, 64);
  lu_bpf_reclaim_give_back (&reclaim, 0, 10);
  lu_bpf_reclaim_pass (&reclaim, 1, G_MAXUINT64);
  g_assert_cmpuint (reclaim.n_sealed, ==, 10);
  lu_bpf_reclaim_give_back (&reclaim, 10, 10);
  lu_bpf_reclaim_pass (&reclaim, 2, G_MAXUINT64);
  g_assert_cmpuint (reclaim.n_gathered, ==, 10); /* one seal at a time */
  lu_bpf_reclaim_release (&reclaim);
  g_assert_cmpuint (reclaim.n_free, ==, 10);
  lu_bpf_reclaim_pass (&reclaim, 3, G_MAXUINT64);
  lu_bpf_reclaim_release (&reclaim);
  g_assert_cmpuint (reclaim.n_free, ==, 20);
  lu_bpf_reclaim_clear (&reclaim);
}

static void
test_odd_numbers (void)
{
  LuBpfReclaim reclaim;
  guint n = 0;

  lu_bpf_reclaim_init (&reclaim, 70);
  while (lu_bpf_reclaim_take (&reclaim, 1) >= 0)
    n++;
  g_assert_cmpuint (n, ==, 70);
  lu_bpf_reclaim_clear (&reclaim);
}

/* Compares with a plain array of states. */
static void
test_at_random (void)
{
  enum
  {
    N = 512,
    ROUNDS = 20000
  };
  g_autoptr (GRand) rand = g_rand_new_with_seed (7);
  guint8 state[N] = { 0 }; /* 0 free, 1 taken, 2 resting */
  GArray *runs = g_array_new (FALSE, FALSE, 2 * sizeof (guint));
  LuBpfReclaim reclaim;

  lu_bpf_reclaim_init (&reclaim, N);
  for (guint round = 0; round < ROUNDS; round++)
    {
      guint count = (guint) g_rand_int_range (rand, 1, 40);
      guint run[2];

      if (g_rand_boolean (rand))
        {
          gint64 first = lu_bpf_reclaim_take (&reclaim, count);
          guint most = 0, length = 0;

          for (guint i = 0; i < N; i++)
            {
              length = state[i] == 0 ? length + 1 : 0;
              most = MAX (most, length);
            }
          g_assert_true ((first >= 0) == (most >= count));
          if (first < 0)
            continue;
          for (guint i = 0; i < count; i++)
            g_assert_cmpuint (state[first + i], ==, 0);
          memset (state + first, 1, count);
          run[0] = (guint) first;
          run[1] = count;
          g_array_append_val (runs, run);
        }
      else if (runs->len > 0)
        {
          guint at = (guint) g_rand_int_range (rand, 0, (gint) runs->len);

          memcpy (run, &g_array_index (runs, guint, 2 * at), sizeof run);
          g_array_remove_index_fast (runs, at);
          lu_bpf_reclaim_give_back (&reclaim, run[0], run[1]);
          memset (state + run[0], 2, run[1]);
        }
      if (round % 50 == 0)
        {
          lu_bpf_reclaim_pass (&reclaim, round, G_MAXUINT64);
          lu_bpf_reclaim_release (&reclaim);
          for (guint i = 0; i < N; i++)
            state[i] = state[i] == 2 ? 0 : state[i];
        }
    }
  g_array_unref (runs);
  lu_bpf_reclaim_clear (&reclaim);
}

static void
test_arena (void)
{
  g_autofree guint32 *zero = g_new0 (guint32, LU_BPF_ENTRY_WORDS);
  g_autofree guint32 *other = g_new0 (guint32, LU_BPF_ENTRY_WORDS);
  LuBpfArena arena;
  guint32 whole, some;
  guint n;

  lu_bpf_arena_init (&arena, 4);
  g_assert_cmpuint (lu_bpf_arena_take (&arena, 1), ==, 0);
  lu_bpf_arena_add (&arena, 0, zero, 0, LU_BPF_ENTRY_WORDS);
  /* Word address 0 is never given out. */
  g_assert_cmpuint (lu_bpf_arena_take (&arena, LU_BPF_ENTRY_WORDS), ==, 0);
  lu_bpf_arena_add (&arena, 7, other, 0, LU_BPF_ENTRY_WORDS);
  whole = lu_bpf_arena_take (&arena, LU_BPF_ENTRY_WORDS);
  g_assert_cmpuint (whole, ==, LU_BPF_WORD (7, 0));
  some = lu_bpf_arena_take_some (&arena, 100, LU_BPF_ENTRY_WORDS, &n);
  g_assert_cmpuint (LU_BPF_ENTRY_OF (some), ==, 0);
  g_assert_cmpuint (n, ==, LU_BPF_ENTRY_WORDS - LU_BPF_GRAIN);
  lu_bpf_arena_trim (&arena, some, n, 65);
  g_assert_cmpuint (lu_bpf_arena_free_bytes (&arena), ==,
                    4 * (LU_BPF_ENTRY_WORDS - 3 * LU_BPF_GRAIN));
  g_assert_true (lu_bpf_arena_words (&arena, whole) == other);
  lu_bpf_arena_give_back (&arena, whole, LU_BPF_ENTRY_WORDS);
  g_assert_cmpint (lu_bpf_arena_remove_unused (&arena), ==, -1); /* it still rests */
  lu_bpf_arena_pass (&arena, 1, G_MAXUINT64);
  lu_bpf_arena_release (&arena);
  g_assert_cmpint (lu_bpf_arena_remove_unused (&arena), ==, 7);
  g_assert_cmpint (lu_bpf_arena_remove_unused (&arena), ==, -1); /* entry 0 stays */
  g_assert_true (lu_bpf_arena_words (&arena, some) == zero + LU_BPF_GRAIN);
  lu_bpf_arena_clear (&arena);
}

/* Two arenas share one entry: neither gives out or removes the other's words. */
static void
test_shared_entry (void)
{
  g_autofree guint32 *words = g_new0 (guint32, LU_BPF_ENTRY_WORDS);
  const guint part = 4 * LU_BPF_GRAIN;
  LuBpfArena lower, upper;
  guint n;

  lu_bpf_arena_init (&lower, 1);
  lu_bpf_arena_init (&upper, 1);
  lu_bpf_arena_add (&lower, 0, words, 0, part);
  lu_bpf_arena_add (&upper, 0, words, part, LU_BPF_ENTRY_WORDS);
  g_assert_cmpuint (lu_bpf_arena_free_bytes (&lower), ==, (part - LU_BPF_GRAIN) * sizeof *words);
  g_assert_cmpuint (lu_bpf_arena_free_bytes (&upper), ==,
                    (LU_BPF_ENTRY_WORDS - part) * sizeof *words);
  g_assert_cmpuint (lu_bpf_arena_take (&lower, part), ==, 0);
  g_assert_cmpuint (lu_bpf_arena_take_some (&lower, 1, part, &n), ==, LU_BPF_GRAIN);
  g_assert_cmpuint (n, ==, part - LU_BPF_GRAIN);
  g_assert_cmpuint (lu_bpf_arena_take (&lower, 1), ==, 0);
  g_assert_cmpint (lu_bpf_arena_remove_unused (&upper), ==, -1);
  g_assert_cmpuint (lu_bpf_arena_take (&upper, LU_BPF_ENTRY_WORDS - part), ==, part);
  g_assert_cmpuint (lu_bpf_arena_free_bytes (&upper), ==, 0);
  lu_bpf_arena_clear (&lower);
  lu_bpf_arena_clear (&upper);
}

static void
test_index (void)
{
  enum
  {
    N = 1000
  };
  LuBpfIndex index;

  lu_bpf_index_init (&index, N);
  for (guint turn = 0; turn < 3; turn++)
    {
      for (guint64 key = 0; key < N; key++)
        g_assert_cmpuint (lu_bpf_index_add (&index, key << (20 * turn)), <, N);
      g_assert_cmpuint (lu_bpf_index_add (&index, G_MAXUINT64), ==, LU_BPF_NO_ITEM);
      for (guint64 key = 0; key < N; key++)
        {
          guint32 item = lu_bpf_index_find (&index, key << (20 * turn));

          g_assert_cmpuint (index.keys[item], ==, key << (20 * turn));
          lu_bpf_index_remove (&index, item);
          g_assert_cmpuint (lu_bpf_index_find (&index, key << (20 * turn)), ==, LU_BPF_NO_ITEM);
        }
      g_assert_cmpuint (index.n_used, ==, 0);
    }
  lu_bpf_index_clear (&index);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/bpf/deferred-reclamation/rests", test_rests);
  g_test_add_func ("/bpf/deferred-reclamation/release", test_release);
  g_test_add_func ("/bpf/deferred-reclamation/odd-numbers", test_odd_numbers);
  g_test_add_func ("/bpf/deferred-reclamation/at-random", test_at_random);
  g_test_add_func ("/bpf/arena", test_arena);
  g_test_add_func ("/bpf/arena/shared", test_shared_entry);
  g_test_add_func ("/bpf/index", test_index);
  return g_test_run ();
}
