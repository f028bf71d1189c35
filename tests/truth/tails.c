/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* tails.c - what symbolize/tail-calls.h says about pairs of a return address and a function.
 *
 * Each line of the input is a pair: the file of the caller, the offset of the return address in it,
 * the file of the function and the offset of a byte of it, separated by spaces. Each line of the
 * output has the tail calls of a pair, in the same order, as FILE+OFFSET. Offsets are hexadecimal.
 */

#include "symbolize/tail-calls.h"

#include <stdio.h>
#include <string.h>

#define MAX_PATH 4096

typedef struct
{
  GPtrArray *ids;      /* of LuFileId */
  GHashTable *numbers; /* path -> number + 1 */
} Files;

static guint32
file_number (Files *self, const char *path)
{
  guint32 number = GPOINTER_TO_UINT (g_hash_table_lookup (self->numbers, path));
  LuFileId *id;

  if (number > 0)
    return number - 1;
  id = g_new0 (LuFileId, 1);
  id->path = g_strdup (path);
  g_ptr_array_add (self->ids, id);
  g_hash_table_insert (self->numbers, (gpointer) id->path, GUINT_TO_POINTER (self->ids->len));
  return self->ids->len - 1;
}

static GArray *
read_pairs (Files *files)
{
  GArray *pairs = g_array_new (FALSE, TRUE, sizeof (LuTailQuery));
  char line[2 * MAX_PATH + 64], caller[MAX_PATH], callee[MAX_PATH];
  gulong from, to;

  while (fgets (line, sizeof line, stdin) != NULL
         && sscanf (line, "%4095s %lx %4095s %lx", caller, &from, callee, &to) == 4)
    {
      LuTailQuery query = { .caller_file = file_number (files, caller),
                            .callee_file = file_number (files, callee),
                            .return_offset = from,
                            .callee_offset = to,
                            .callee_start = G_MAXUINT64,
                            .number = pairs->len };

      g_array_append_val (pairs, query);
    }
  return pairs;
}

int
main (void)
{
  Files files = { g_ptr_array_new (), g_hash_table_new (g_str_hash, g_str_equal) };
  g_autoptr (GArray) pairs = read_pairs (&files);
  LuTailQuery *queries = (LuTailQuery *) (gpointer) pairs->data;
  g_autofree LuNameFile *names = g_new0 (LuNameFile, files.ids->len + 1);
  g_autofree LuTailQuery *sorted = g_new0 (LuTailQuery, pairs->len + 1);
  g_autoptr (GArray) calls = NULL;

  for (guint i = 0; i < files.ids->len; i++)
    names[i].id = files.ids->pdata[i];
  calls = lu_tail_calls_find (&(LuTailCallsOptions){ .files = names, .n_files = files.ids->len },
                              queries, pairs->len);
  for (guint i = 0; i < pairs->len; i++)
    sorted[queries[i].number] = queries[i];
  for (guint i = 0; i < pairs->len; i++)
    {
      for (guint k = 0; k < sorted[i].n; k++)
        {
          const LuTailCall *call = &g_array_index (calls, LuTailCall, sorted[i].first + k);

          printf ("%s%s+%lx", k > 0 ? " " : "", names[call->file].id->path, call->file_offset);
        }
      putchar ('\n');
    }
  return 0;
}
