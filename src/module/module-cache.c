/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* module-cache.c - maps aliases to modules and drops the longest unused; see module-cache.h.
 *
 * The cache holds one reference per module. A dropped module lives on in the address spaces that
 * map it; its file is only opened again if another process maps it later. */

#include "module/module-cache.h"

typedef struct
{
  LuModule *module; /* owned */
  GList link;       /* link in `used` */
} Entry;

struct _LuModuleCache
{
  GHashTable *modules; /* LuModuleKey* (inside the module) -> Entry */
  GQueue used;         /* Entry, the longest unused first */
  guint max_modules;
};

static guint
key_hash (gconstpointer pointer)
{
  const LuModuleKey *key = pointer;
  guint64 h = key->kind * 2u + (key->is_32bit ? 1u : 0u);

  if (lu_module_key_is_anonymous (key))
    return (guint) h;
  if (key->has_inode)
    h ^= key->inode * 0x9E3779B97F4A7C15ull ^ ((guint64) key->major << 20 ^ key->minor);
  else
    h ^= g_str_hash (key->path);
  return (guint) (h ^ h >> 32);
}

/* Generation 0 is unknown: /proc/PID/maps does not show it. */
static gboolean
is_same_generation (guint64 a, guint64 b)
{
  return a == b || a == 0 || b == 0;
}

static gboolean
key_equal (gconstpointer a, gconstpointer b)
{
  const LuModuleKey *k = a, *l = b;

  if (k->kind != l->kind || k->is_32bit != l->is_32bit || k->has_inode != l->has_inode)
    return FALSE;
  if (lu_module_key_is_anonymous (k) || lu_module_key_is_kernel_page (k))
    return TRUE;
  if (k->build_id_size != l->build_id_size
      || memcmp (k->build_id, l->build_id, k->build_id_size) != 0)
    return FALSE;
  if (k->has_inode)
    /* The path is part of the alias, because a hard link or a bind mount may be readable where the
     * other name is not. */
    return k->major == l->major && k->minor == l->minor && k->inode == l->inode
           && strcmp (k->path, l->path) == 0
           && is_same_generation (k->inode_generation, l->inode_generation);
  return strcmp (k->path, l->path) == 0;
}

static void
entry_free (gpointer pointer)
{
  Entry *entry = pointer;

  lu_module_unref (entry->module);
  g_free (entry);
}

LuModuleCache *
lu_module_cache_new (guint max_modules)
{
  LuModuleCache *self = g_new0 (LuModuleCache, 1);

  self->modules = g_hash_table_new_full (key_hash, key_equal, NULL, entry_free);
  self->max_modules = MAX (max_modules, 1);
  return self;
}

void
lu_module_cache_free (LuModuleCache *self)
{
  if (self == NULL)
    return;
  g_hash_table_unref (self->modules);
  g_free (self);
}

static void
drop (LuModuleCache *self, Entry *entry)
{
  g_queue_unlink (&self->used, &entry->link);
  g_hash_table_remove (self->modules, lu_module_key (entry->module));
}

/* Makes room before a module is added. In a build, for instance, files come and go; modules that
 * nothing maps any more would keep their unwind information until there are max_modules. */
static void
make_room (LuModuleCache *self)
{
  guint n_unmapped = 0;
  gsize n_bytes = 0;

  if (g_hash_table_size (self->modules) >= self->max_modules)
    drop (self, self->used.head->data);
  for (GList *at = self->used.tail; at != NULL;)
    {
      Entry *entry = at->data;

      at = at->prev;
      if (!lu_module_is_unshared (entry->module))
        continue;
      n_bytes += lu_module_image_bytes (entry->module);
      if (++n_unmapped > LU_MODULES_MAX_UNMAPPED || n_bytes > LU_MODULES_MAX_UNMAPPED_BYTES)
        drop (self, entry);
    }
}

LuModule *
lu_module_cache_find (LuModuleCache *self, const LuModuleKey *key, gboolean *is_new)
{
  Entry *entry = g_hash_table_lookup (self->modules, key);

  if (entry != NULL && lu_module_state (entry->module) == LU_MODULE_GONE)
    {
      /* The file could not be opened for an earlier process, but this process may still have it. */
      drop (self, entry);
      entry = NULL;
    }
  *is_new = entry == NULL;
  if (entry != NULL)
    {
      g_queue_unlink (&self->used, &entry->link);
      g_queue_push_tail_link (&self->used, &entry->link);
      return entry->module;
    }
  make_room (self);
  entry = g_new0 (Entry, 1);
  entry->module = lu_module_new (key);
  entry->link.data = entry;
  g_queue_push_tail_link (&self->used, &entry->link);
  g_hash_table_insert (self->modules, (gpointer) lu_module_key (entry->module), entry);
  return entry->module;
}

LuModule *
lu_module_cache_find_copied (LuModuleCache *self)
{
  const LuModuleKey key = { .kind = LU_MODULE_COPIED, .path = "//anon" };
  gboolean is_new;

  return lu_module_cache_find (self, &key, &is_new);
}

/* Most paths differ in their second byte. */
static gboolean
is_anonymous (const char *path)
{
  if (path[0] != '/')
    return path[0] == 0 || path[0] == '[' || g_str_has_prefix (path, "anon_inode:");
  switch (path[1])
    {
    case '/':
      return g_str_has_prefix (path, "//anon");
    case 'd':
      return g_str_has_prefix (path, "/dev/zero");
    case 'a':
      return g_str_has_prefix (path, "/anon_hugepage");
    case 'S':
      return g_str_has_prefix (path, "/SYSV");
    default:
      return FALSE;
    }
}

void
lu_module_key_init (LuModuleKey *key, const char *path, char *buffer, gsize buffer_size)
{
  memset (key, 0, sizeof *key);
  key->path = path;
  if (strcmp (path, "[vdso]") == 0)
    key->kind = LU_MODULE_VDSO;
  else if (strcmp (path, "[vsyscall]") == 0)
    key->kind = LU_MODULE_VSYSCALL;
  else if (strcmp (path, "[uprobes]") == 0)
    key->kind = LU_MODULE_UPROBES;
  else if (is_anonymous (path))
    {
      key->kind = LU_MODULE_ANONYMOUS;
      key->path = "//anon";
    }
  else
    {
      key->kind = g_str_has_prefix (path, "/memfd:") ? LU_MODULE_MEMORY : LU_MODULE_FILE;
      if (!g_str_has_suffix (path, " (deleted)") || strlen (path) >= buffer_size)
        return;
      g_strlcpy (buffer, path, strlen (path) - strlen (" (deleted)") + 1);
      key->path = buffer;
    }
}
