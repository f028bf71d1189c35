/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* rights.c - see rights.h. */

#include "rights.h"

#include "sandbox/sandbox.h"
#include "symbolize/tail-calls.h"
#include "table/store.h"

#include <stdio.h>
#include <sys/stat.h>

/* Returns what is written, owned: the directory in which a file is created, or else the special
 * file itself. */
static char *
place_of (const char *output)
{
  struct stat st;

  return lstat (output, &st) == 0 && !S_ISREG (st.st_mode) ? g_strdup (output)
                                                           : g_path_get_dirname (output);
}

/* Returns the directory of stored tables, owned, and creates it; NULL if there can be none. */
static char *
store_directory (void)
{
  g_autofree char *path = lu_store_default_path ();
  g_autoptr (LuStore) store = NULL;

  if (path != NULL)
    store = lu_store_open (path, LU_STORE_READ_WRITE, NULL);
  return store != NULL ? g_steal_pointer (&path) : NULL;
}

void
lu_report_give_up_rights (const char *output, gboolean makes_tables)
{
  g_autoptr (GPtrArray) places = g_ptr_array_new_with_free_func (g_free);
  char *store = makes_tables ? store_directory () : NULL;
  g_autoptr (GError) error = NULL;

  if (output != NULL && !g_str_equal (output, "-"))
    g_ptr_array_add (places, place_of (output));
  if (store != NULL)
    g_ptr_array_add (places, store);
  g_ptr_array_add (places, NULL);
  lu_tail_calls_load (); /* which makes memory executable */
  if (!lu_sandbox_restrict_reader ((const char *const *) places->pdata, &error))
    fprintf (stderr, "live-unwinder: %s\n", error->message);
}
