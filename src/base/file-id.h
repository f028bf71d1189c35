/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* file-id.h - the identity of a mapped file: its path, build-id, inode and digest.
 *
 * Neither a path nor a build-id is enough: mount namespaces have different files at the same path,
 * and anybody can write a file with the build-id of another one. Inodes tell files apart on the
 * machine of a recording, the digest also elsewhere. Identities are interned: within
 * one LuFileIds, two files are the same exactly if their pointers are equal. A recording's capture
 * has one LuFileIds, and so has a model. They are counted, because a recording of weeks sees more
 * files than it needs at any time. One thread. */

#pragma once

#include <glib.h>

typedef struct _LuFileIds LuFileIds;

typedef struct
{
  const char *path;         /* as the process named it */
  const char *build_id;     /* hexadecimal; NULL: unknown */
  guint64 device, inode;    /* as the kernel reports them for mappings; 0: unknown */
  guint64 inode_generation; /* 0: unknown, which equals all others */
  const char *digest;       /* hexadecimal (elf/file-digest.h); NULL: unknown, like generations */
  /* Private; zero in an identity that is not interned, which its owner keeps alive. */
  LuFileIds *owner;
  guint n_references;
} LuFileId;

LuFileIds *lu_file_ids_new (void);
/* The caller has dropped all references before. */
void lu_file_ids_free (LuFileIds *self);

/* Returns a reference to the identity that equals `like`, copying `like` if it is new. */
LuFileId *lu_file_ids_intern (LuFileIds *self, const LuFileId *like);

LuFileId *lu_file_id_ref (LuFileId *self);
/* self: may be NULL. */
void lu_file_id_unref (LuFileId *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuFileIds, lu_file_ids_free)
