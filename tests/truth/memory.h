/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* memory.h - the memory of a stopped process, through a cache that is valid until the process runs
 * again. */

#pragma once

#include <glib.h>
#include <sys/types.h>

typedef struct _Memory Memory;

Memory *memory_new (pid_t pid);
void memory_free (Memory *self);
/* To be called when the process has run: everything is read again. */
void memory_forget (Memory *self);
/* Returns FALSE if nothing is mapped at the address. */
gboolean memory_read_word (Memory *self, guint64 address, guint64 *value);
/* Returns the number of bytes read from the address on; not cached. */
gsize memory_read (Memory *self, guint64 address, void *bytes, gsize size);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Memory, memory_free)
