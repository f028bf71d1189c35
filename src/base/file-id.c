/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* file-id.c - interned identities of files; see file-id.h. */

#include "file-id.h"

#include <string.h>

struct _LuFileIds
{
  GHashTable *ids; /* set of LuFileId, owned; each ends in its texts */
};

static guint
hash_id (gconstpointer pointer)
{
  const LuFileId *self = pointer;

  return g_str_hash (self->path) ^ g_int64_hash (&self->inode);
}

static gboolean
are_equal (gconstpointer a, gconstpointer b)
{
  const LuFileId *x = a, *y = b;

  return x->device == y->device && x->inode == y->inode
         && (x->inode_generation == y->inode_generation || x->inode_generation == 0
             || y->inode_generation == 0)
         && (x->digest == NULL || y->digest == NULL || strcmp (x->digest, y->digest) == 0)
         && strcmp (x->path, y->path) == 0 && g_strcmp0 (x->build_id, y->build_id) == 0;
}

LuFileIds *
lu_file_ids_new (void)
{
  LuFileIds *self = g_new (LuFileIds, 1);

  self->ids = g_hash_table_new_full (hash_id, are_equal, g_free, NULL);
  return self;
}

void
lu_file_ids_free (LuFileIds *self)
{
  if (self == NULL)
    return;
  g_hash_table_unref (self->ids);
  g_free (self);
}

static gsize
text_size (const char *text)
{
  return text != NULL ? strlen (text) + 1 : 0;
}

/* Returns the copy of a text, and moves *room behind it. */
static const char *
copy_text (const char *text, char **room)
{
  gsize size = text_size (text);
  char *copy = *room;

  if (text == NULL)
    return NULL;
  *room += size;
  return memcpy (copy, text, size);
}

static LuFileId *
copy_id (LuFileIds *owner, const LuFileId *like)
{
  LuFileId *self = g_malloc (sizeof *self + text_size (like->path) + text_size (like->build_id)
                             + text_size (like->digest));
  char *room = (char *) (self + 1);

  *self = *like;
  self->owner = owner;
  self->n_references = 0;
  self->path = copy_text (like->path, &room);
  self->build_id = copy_text (like->build_id, &room);
  self->digest = copy_text (like->digest, &room);
  return self;
}

LuFileId *
lu_file_ids_intern (LuFileIds *self, const LuFileId *like)
{
  LuFileId *found = g_hash_table_lookup (self->ids, like);

  if (found == NULL)
    {
      found = copy_id (self, like);
      g_hash_table_add (self->ids, found);
    }
  return lu_file_id_ref (found);
}

LuFileId *
lu_file_id_ref (LuFileId *self)
{
  self->n_references++;
  return self;
}

void
lu_file_id_unref (LuFileId *self)
{
  if (self != NULL && --self->n_references == 0 && self->owner != NULL)
    g_hash_table_remove (self->owner->ids, self);
}
