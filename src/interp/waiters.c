/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* waiters.c - the part of a chain that waits; see waiters.h. */

#include "interp/waiters.h"

guint
lu_waiters_begin (const struct lu_interp_frame *chain, guint n_chain)
{
  guint n = n_chain;

  while (n > 0 && (chain[n - 1].code & LU_INTERP_AWAITS) != 0)
    n--;
  return n;
}

/* Returns the index behind the task that begins at `first`. */
static guint
end_of_task (const struct lu_interp_frame *chain, guint first, guint n_chain)
{
  guint end = first + 1;

  while (end < n_chain && (chain[end].code & (LU_INTERP_TASK | LU_INTERP_NOTE)) == 0)
    end++;
  return end;
}

void
lu_waiters_turn (struct lu_interp_frame *chain, guint n_chain)
{
  for (guint first = 0, end; first < n_chain; first = end)
    {
      end = end_of_task (chain, first, n_chain);
      for (guint i = 0; i < (end - first) / 2; i++)
        {
          struct lu_interp_frame outer = chain[first + i];

          chain[first + i] = chain[end - 1 - i];
          chain[end - 1 - i] = outer;
        }
    }
}
