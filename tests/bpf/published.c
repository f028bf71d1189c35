/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* published.c - see published.h. */

#include "published.h"

#include "bpf/maps.h"
#include "process/process-private.h"

#define MAX_ENTRIES 64
#define PATIENCE_US (60 * G_USEC_PER_SEC)

struct _Published
{
  LuBpfBacking backing;
  guint32 *(*add_entry) (gpointer data, guint entry);
  gpointer data;
  guint32 *entries[MAX_ENTRIES];
  LuBpfMaps *maps;
  gint32 last_pid;
  struct lu_bpf_process process; /* of last_pid, as last put */
};

static guint
add_entries (LuBpfBacking *backing, const guint32 *entries, guint n, guint32 **words)
{
  Published *self = (Published *) backing;

  for (guint i = 0; i < n; i++)
    if ((words[i] = self->entries[entries[i]] = self->add_entry (self->data, entries[i])) == NULL)
      return i;
  return n;
}

static void
remove_entry (LuBpfBacking *backing, guint entry)
{
}

static gboolean
wait_for_walks (LuBpfBacking *backing)
{
  return TRUE; /* no walk runs meanwhile */
}

static gboolean
put_process (LuBpfBacking *backing, guint32 tgid, const struct lu_bpf_process *process)
{
  ((Published *) backing)->process = *process;
  return TRUE;
}

static void
remove_process (LuBpfBacking *backing, guint32 tgid)
{
}

static guint64
memory_bytes (LuBpfBacking *backing)
{
  return 0;
}

/* The maps own the backing. */
static void
free_backing (LuBpfBacking *backing)
{
  g_free (backing->use);
  g_free (backing->identities);
  g_free (backing->known);
  g_free (backing->shared);
}

Published *
published_new (guint32 *(*add) (gpointer data, guint entry), gpointer data,
               struct lu_bpf_dictionary *dictionary, struct lu_bpf_module *modules,
               LuTables *tables)
{
  static const LuBpfBackingOps ops = {
    add_entries,    remove_entry, wait_for_walks, put_process,
    remove_process, memory_bytes, free_backing,
  };
  const LuBpfMapsOptions options = { .memory_mib = MAX_ENTRIES, .tables = tables };
  Published *self = g_new0 (Published, 1);

  self->backing =
      (LuBpfBacking){ .ops = &ops,
                      .max_entries = MAX_ENTRIES,
                      .max_processes = 1024,
                      .dictionary = dictionary,
                      .modules = modules,
                      .use = g_new0 (guint8, LU_BPF_MAX_MODULES),
                      .n_identities = LU_BPF_MAX_IDENTITIES,
                      .identities = g_new0 (struct lu_bpf_identity, LU_BPF_MAX_IDENTITIES),
                      .known = g_new0 (struct lu_bpf_known, LU_BPF_MAX_KNOWN),
                      .shared = g_new0 (struct lu_bpf_shared, 1) };
  self->add_entry = add;
  self->data = data;
  self->maps = lu_bpf_maps_new (&self->backing, &options);
  return self;
}

void
published_free (Published *self)
{
  lu_bpf_maps_free (self->maps);
  g_free (self);
}

/* Returns how many mappings of the last published process have no table yet, and requests the
 * tables as the program does. */
static guint
count_missing (Published *self)
{
  const struct lu_bpf_process *process = &self->process;
  const struct lu_bpf_mapping *mappings;
  guint n = 0;

  if (self->entries[LU_BPF_ENTRY_OF (process->mappings)] == NULL)
    return 1;
  mappings = (const struct lu_bpf_mapping *) (self->entries[LU_BPF_ENTRY_OF (process->mappings)]
                                              + LU_BPF_AT_OF (process->mappings));
  for (guint i = 0; i < process->n_mappings; i++)
    {
      guint slot = mappings[i].module;

      if (mappings[i].kind != LU_BPF_MAPPING_TABLE
          || __atomic_load_n (&self->backing.modules[slot].table, __ATOMIC_ACQUIRE) != 0)
        continue;
      self->backing.use[slot] |= LU_BPF_WANTED;
      n++;
    }
  return n;
}

gboolean
published_add_space (Published *self, LuAddressSpace *space, struct lu_bpf_process *process)
{
  g_autoptr (LuProcess) owner = lu_process_new (++self->last_pid, 0, "", space);
  gint64 end = g_get_monotonic_time () + PATIENCE_US;

  lu_bpf_maps_address_space_changed (self->maps, owner, LU_ADDRESS_SPACE_DISCOVERED, 0);
  do
    {
      lu_bpf_maps_flush (self->maps);
      g_usleep (500);
    }
  while ((self->process.serial != lu_address_space_serial (space) || count_missing (self) > 0)
         && g_get_monotonic_time () < end);
  *process = self->process;
  return self->process.serial == lu_address_space_serial (space) && count_missing (self) == 0;
}
