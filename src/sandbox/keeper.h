/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* keeper.h - creates, renames and removes files in a few directories that were opened before a
 * recorder gave up that right.
 *
 * A recorder reads hostile files, so it may not open anything for writing. Later outputs (--rotate)
 * and stored tables need new files nevertheless. They are made by a process that was forked before:
 * it reads no files, knows a few requests with the number of a directory and names without a slash,
 * and answers with the descriptor or the error. Without the process, everything is done here. */

#pragma once

#include <glib.h>
#include <sys/types.h>

/* The longest name, with its NUL. */
#define LU_KEEPER_MAX_NAME 256

typedef struct _LuKeeper LuKeeper;

LuKeeper *lu_keeper_new (void);
/* NULL is allowed. The process ends. */
void lu_keeper_free (LuKeeper *self);

/* Adds an open directory (borrowed, for as long as the keeper lives), and returns its number. New
 * files get that owner and group if they can; (uid_t) -1 and (gid_t) -1: they keep those of their
 * maker. All of them are added before lu_keeper_start(). */
guint lu_keeper_add (LuKeeper *self, int directory, uid_t owner, gid_t group);
/* Starts the process; the calling thread is the only one. FALSE with errno set. It keeps
 * CAP_DAC_OVERRIDE and CAP_CHOWN if `for_others`: a directory belongs to another user. */
gboolean lu_keeper_start (LuKeeper *self, gboolean for_others);

/* Creates a file as the process does, but here; `path` may be any. */
int lu_create_file (int directory, const char *path, uid_t owner, gid_t group);

/* The requests; any thread. They fail with errno set. */

/* Creates a file (mode 0600) that did not exist, and returns it open for writing, or -1. */
int lu_keeper_create (LuKeeper *self, guint directory, const char *name);
gboolean lu_keeper_rename (LuKeeper *self, guint directory, const char *name, const char *to);
gboolean lu_keeper_remove (LuKeeper *self, guint directory, const char *name);
/* Sets the file's times to now. */
gboolean lu_keeper_touch (LuKeeper *self, guint directory, const char *name);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuKeeper, lu_keeper_free)
