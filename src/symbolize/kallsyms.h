/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* kallsyms.h - names of kernel functions from the text of /proc/kallsyms.
 *
 * Used by the report, and by kallsyms-file.h for the kernel that runs. Immutable once made; only
 * functions are kept. The text may come from a capture: any bytes are fine. */

#pragma once

#include <glib.h>

typedef struct _LuKallsyms LuKallsyms;

typedef struct
{
  guint64 address;
  guint64 end;        /* address of the next function; the address itself + 4096 for the last */
  char type;          /* as in the file: t, T, w, W */
  const char *name;   /* borrowed */
  const char *module; /* "[module]"; NULL for the kernel itself; borrowed */
} LuKernelSymbol;

/* Opens the file for lu_kallsyms_load(): what it shows is decided by the privilege at open. -1 if
 * it cannot be read or shows no address (kernel.kptr_restrict hides them). */
int lu_kallsyms_open (const char *path, GError **error);
/* Reads all of it (some 30 ms of the kernel's time) and closes the descriptor. */
LuKallsyms *lu_kallsyms_load (int fd, GError **error);
/* The same from text; need not end in NUL. */
LuKallsyms *lu_kallsyms_parse (const char *text, gsize size, GError **error);
void lu_kallsyms_free (LuKallsyms *self);

guint lu_kallsyms_size (const LuKallsyms *self);
/* Index of the function that holds the address; -1 if there is none. */
gint lu_kallsyms_find (const LuKallsyms *self, guint64 address);
void lu_kallsyms_get (const LuKallsyms *self, guint index, LuKernelSymbol *symbol);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuKallsyms, lu_kallsyms_free)
