/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* kallsyms-file.h - names of the functions of the kernel that runs: asked for one by one where the
 * kernel can be asked, else from /proc/kallsyms, read when the first name is wanted.
 *
 * One for all captures of a recording. References are dropped by any thread, all else is done by
 * one at a time. */

#pragma once

#include "symbolize/kallsyms.h"

typedef struct _LuKallsymsFile LuKallsymsFile;

/* Asks the kernel for the name of an address. `text` gets what its printf() has for %pS,
 * "NAME+0xOFFSET/0xSIZE" or "NAME+0xOFFSET/0xSIZE [MODULE]", or anything else if there is none.
 * FALSE with errno set: it cannot be asked, now and later. */
typedef gboolean (*LuKallsymsAskFunc) (guint64 address, char *text, gsize size, gpointer user_data);

/* Takes a descriptor of lu_kallsyms_open(), or `symbols` that are known already (else NULL). */
LuKallsymsFile *lu_kallsyms_file_new (int fd, LuKallsyms *symbols);
LuKallsymsFile *lu_kallsyms_file_ref (LuKallsymsFile *self);
void lu_kallsyms_file_unref (LuKallsymsFile *self);
/* From now on names are asked for; if already the first cannot be, the file is read. Takes
 * user_data. */
void lu_kallsyms_file_set_ask (LuKallsymsFile *self, LuKallsymsAskFunc ask, gpointer user_data,
                               GDestroyNotify free_data);
/* The function that holds the address; FALSE: there is none. Of one that was asked for the type is
 * 't', whatever it is. The strings stay until the next call. */
gboolean lu_kallsyms_file_find (LuKallsymsFile *self, guint64 address, LuKernelSymbol *symbol);
/* Reads it, unless that was tried before. NULL: it cannot be read. Borrowed, as long as there is a
 * reference. */
const LuKallsyms *lu_kallsyms_file_load (LuKallsymsFile *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuKallsymsFile, lu_kallsyms_file_unref)
