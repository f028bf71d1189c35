/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* kallsyms.h - finds names of kernel functions in the text of /proc/kallsyms.
 *
 * The text is that of the running kernel or of a capture, so any bytes are fine; only functions are
 * kept. LuKallsyms is immutable once made. */

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
/* Reads the whole file, which takes the kernel 30 to 70 ms, and closes the descriptor. */
LuKallsyms *lu_kallsyms_load (int fd, GError **error);
/* Parses a text, which need not end in NUL. */
LuKallsyms *lu_kallsyms_parse (const char *text, gsize size, GError **error);
void lu_kallsyms_free (LuKallsyms *self);

/* Addresses of a function, [start, end). */
typedef struct
{
  guint64 start, end;
} LuKernelRange;

/* Finds functions of the kernel itself by name in the text behind the descriptor, from its
 * beginning, and reads no more of it than that takes (all of it: 50 ms). Returns how many
 * were found; the ranges of others are empty. The descriptor stays open. */
guint lu_kallsyms_find_ranges (int fd, const char *const *names, guint n, LuKernelRange *ranges);

guint lu_kallsyms_size (const LuKallsyms *self);
/* Finds the function that contains the address; FALSE if there is none. self: NULL has none. */
gboolean lu_kallsyms_find (const LuKallsyms *self, guint64 address, LuKernelSymbol *symbol);
/* Appends the function's line as the file has it. */
void lu_kallsyms_append_line (GString *text, const LuKernelSymbol *symbol);
/* Fills in the function with that index, below lu_kallsyms_size(); they are sorted by address. */
void lu_kallsyms_get (const LuKallsyms *self, guint index, LuKernelSymbol *symbol);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuKallsyms, lu_kallsyms_free)

/* The symbols of the running kernel, read when the first name is wanted. All captures of a
 * recording share one. Any thread may drop a reference; only one thread at a time may do anything
 * else. */
typedef struct _LuKallsymsFile LuKallsymsFile;

/* Opens /proc/kallsyms now, because the program may lack the right later. NULL if it cannot be read
 * or shows no addresses. */
LuKallsymsFile *lu_kallsyms_file_open (void);
/* Takes a descriptor from lu_kallsyms_open(), or -1 with `symbols` that are known already. */
LuKallsymsFile *lu_kallsyms_file_new (int fd, LuKallsyms *symbols);
LuKallsymsFile *lu_kallsyms_file_ref (LuKallsymsFile *self);
void lu_kallsyms_file_unref (LuKallsymsFile *self);
/* Tells whether a recording was made on the kernel that runs now: `release` is that of uname(), and
 * the function `name` is at `address`. Either text may be NULL (unknown). */
gboolean lu_kallsyms_file_is_of (LuKallsymsFile *self, const char *release, const char *name,
                                 guint64 address);
/* Returns the functions of the file, which is read at the first call; NULL if it cannot be read.
 * Borrowed. */
const LuKallsyms *lu_kallsyms_file_load (LuKallsymsFile *self);
/* Like lu_kallsyms_find(); reads the file only if the copy does not have the function. The name is
 * valid until the next call. self: NULL has none. */
gboolean lu_kallsyms_file_find (LuKallsymsFile *self, guint64 address, LuKernelSymbol *symbol);

/* Keeps a copy of the kernel's own functions. */
typedef void (*LuKallsymsSave) (const char *bytes, gsize size, gpointer user_data);

/* Uses the copy (kallsyms-copy.h) behind that descriptor, which is taken; -1: there is none. If it
 * is not this kernel's, `save` gets a new one when the file has been read, on the thread that
 * reads it. */
void lu_kallsyms_file_set_copy (LuKallsymsFile *self, int copy_fd, LuKallsymsSave save,
                                gpointer user_data);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuKallsymsFile, lu_kallsyms_file_unref)
