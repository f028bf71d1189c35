/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* kallsyms.h - finds names of kernel functions in the text of /proc/kallsyms.
 *
 * The namers use it for captures, and kallsyms-file.h for the running kernel. Immutable once made;
 * only functions are kept. The text may come from a capture: any bytes are fine. */

#pragma once

#include <glib.h>

typedef struct _LuKallsyms LuKallsyms;

typedef struct
{
  guint64 address;
  guint64 end;        /* address of the next function; of the last one, its address + 4096 */
  char type;          /* as in the file: t, T, w, W */
  const char *name;   /* borrowed */
  const char *module; /* "[module]"; NULL for the kernel itself; borrowed */
} LuKernelSymbol;

/* Opens the file for lu_kallsyms_load(). The privileges at this moment decide what it shows.
 * Returns -1 if it cannot be read or shows no addresses (see kernel.kptr_restrict). */
int lu_kallsyms_open (const char *path, GError **error);
/* Reads the whole file, which takes the kernel some 30 ms, and closes the descriptor. */
LuKallsyms *lu_kallsyms_load (int fd, GError **error);
/* Parses a text, which need not end in NUL. */
LuKallsyms *lu_kallsyms_parse (const char *text, gsize size, GError **error);
void lu_kallsyms_free (LuKallsyms *self);

guint lu_kallsyms_size (const LuKallsyms *self);
/* Finds the function that contains the address; FALSE if there is none. self: NULL has none. */
gboolean lu_kallsyms_find (const LuKallsyms *self, guint64 address, LuKernelSymbol *symbol);
/* Fills in the function with that index, below lu_kallsyms_size(); they are sorted by address. */
void lu_kallsyms_get (const LuKallsyms *self, guint index, LuKernelSymbol *symbol);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuKallsyms, lu_kallsyms_free)
