/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-known.c - src/bpf/known.c: the BPF program finds a file by its device, inode and offset, and
 * nothing remains of a slot that is given up. */

#include "bpf/known.h"

#define N_SLOTS 8

typedef struct
{
  LuBpfBacking backing;
  LuBpfSlots slots;
  LuModule *modules[N_SLOTS]; /* slot 0 has none */
} Fixture;

static LuModule *
module_new (guint64 inode, guint64 generation, const char *path)
{
  const LuModuleKey key = { .kind = LU_MODULE_FILE,
                            .has_inode = TRUE,
                            .major = 8,
                            .minor = 1,
                            .inode = inode,
                            .inode_generation = generation,
                            .path = path };

  return lu_module_new (&key);
}

static void
set_up (Fixture *self, gconstpointer data)
{
  self->backing.known = g_new0 (struct lu_bpf_known, LU_BPF_MAX_KNOWN);
  self->slots.backing = &self->backing;
  self->slots.slots = g_new0 (LuBpfSlot, N_SLOTS);
}

static void
tear_down (Fixture *self, gconstpointer data)
{
  for (guint i = 0; i < N_SLOTS; i++)
    lu_module_unref (self->modules[i]);
  g_free (self->slots.slots);
  g_free (self->backing.known);
}

static void
add (Fixture *self, guint32 slot, guint64 start, guint64 bias, guint64 offset)
{
  const LuDwflMapping mapping = { .start = start,
                                  .end = start + 0x1000,
                                  .bias = bias,
                                  .file_offset = offset,
                                  .module = self->modules[slot] };

  lu_bpf_known_add (&self->slots, slot, &mapping);
}

/* Looks the file up as the program does. */
static const struct lu_bpf_known *
find (Fixture *self, guint64 inode, guint64 offset)
{
  guint32 device = 8 << LU_BPF_DEVICE_SHIFT | 1;
  guint32 first = lu_bpf_known_group (lu_bpf_known_hash (inode, device, offset));
  const struct lu_bpf_known *found = NULL;

  for (guint32 i = first; i < first + LU_BPF_KNOWN_PLACES; i++)
    {
      const struct lu_bpf_known *known = &self->backing.known[i];

      if (known->check != 0)
        g_assert_cmpuint (known->check, ==, lu_bpf_known_check (known));
      if (known->check == 0 || known->inode != inode || known->device != device
          || known->offset != offset)
        continue;
      g_assert_null (found);
      found = known;
    }
  return found;
}

static void
test_parts (Fixture *self, gconstpointer data)
{
  self->modules[1] = module_new (77, 5, "/lib/one");
  add (self, 1, 0x7f0000001000, 0x7f0000000000, 0x1000);
  add (self, 1, 0x7f0000009000, 0x7f0000000000, 0x8000);
  g_assert_cmpuint (find (self, 77, 0x1000)->slot, ==, 1);
  g_assert_cmpuint (find (self, 77, 0x1000)->generation, ==, 5);
  g_assert_cmphex (find (self, 77, 0x1000)->to_ea, ==, 0);
  g_assert_cmphex (find (self, 77, 0x8000)->to_ea, ==, 0x1000);
  g_assert_null (find (self, 77, 0x2000));
  g_assert_null (find (self, 78, 0x1000));
}

/* The file is mapped at another address in another process. */
static void
test_again (Fixture *self, gconstpointer data)
{
  self->modules[1] = module_new (77, 0, "/lib/one");
  add (self, 1, 0x7f0000001000, 0x7f0000000000, 0x1000);
  add (self, 1, 0x7e0000001000, 0x7e0000000000, 0x1000);
  g_assert_cmpuint (find (self, 77, 0x1000)->slot, ==, 1);
  g_assert_cmpuint (self->slots.slots[1].known[1], ==, 0);
}

static void
test_two_names (Fixture *self, gconstpointer data)
{
  self->modules[1] = module_new (77, 0, "/lib/one");
  self->modules[2] = module_new (77, 0, "/lib/two");
  add (self, 1, 0x1000, 0, 0x1000);
  add (self, 2, 0x1000, 0, 0x1000);
  g_assert_cmpuint (find (self, 77, 0x1000)->slot, ==, 2);
  lu_bpf_known_remove (&self->slots, 1);
  g_assert_cmpuint (find (self, 77, 0x1000)->slot, ==, 2);
  lu_bpf_known_remove (&self->slots, 2);
  g_assert_null (find (self, 77, 0x1000));
}

/* There are more files than a group has places: removing one does not remove another. */
static void
test_full_group (Fixture *self, gconstpointer data)
{
  guint64 inodes[N_SLOTS] = { 0 };
  guint32 device = 8 << LU_BPF_DEVICE_SHIFT | 1, group = 0;
  guint n = 1, n_left = 0;

  group = lu_bpf_known_group (lu_bpf_known_hash (1, device, 0));
  for (guint64 inode = 1; n < N_SLOTS; inode++)
    if (lu_bpf_known_group (lu_bpf_known_hash (inode, device, 0)) == group)
      inodes[n++] = inode;
  for (guint i = 1; i < N_SLOTS; i++)
    {
      self->modules[i] = module_new (inodes[i], 0, "/lib/one");
      add (self, i, 0, 0, 0);
      g_assert_cmpuint (find (self, inodes[i], 0)->slot, ==, i);
    }
  for (guint i = 1; i < N_SLOTS; i++)
    n_left += find (self, inodes[i], 0) != NULL;
  g_assert_cmpuint (n_left, ==, LU_BPF_KNOWN_PLACES);
  for (guint i = 1; i < N_SLOTS; i++)
    {
      gboolean was_there = find (self, inodes[i], 0) != NULL;

      lu_bpf_known_remove (&self->slots, i);
      g_assert_null (find (self, inodes[i], 0));
      n_left -= was_there;
      for (guint j = i + 1, there = 0; j <= N_SLOTS; j++)
        if (j < N_SLOTS)
          there += find (self, inodes[j], 0) != NULL;
        else
          g_assert_cmpuint (there, ==, n_left);
    }
}

/* Generated code has no inode, and a file may be known by its name alone. */
static void
test_nameless (Fixture *self, gconstpointer data)
{
  const LuModuleKey key = { .kind = LU_MODULE_FILE, .path = "/lib/one" };

  self->modules[1] = lu_module_new (&key);
  add (self, 1, 0x1000, 0, 0x1000);
  for (guint i = 0; i < LU_BPF_MAX_KNOWN; i++)
    g_assert_cmpuint (self->backing.known[i].check, ==, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
#define ADD(name, test) g_test_add ("/bpf/known/" name, Fixture, NULL, set_up, test, tear_down)
  ADD ("parts", test_parts);
  ADD ("again", test_again);
  ADD ("two-names", test_two_names);
  ADD ("full-group", test_full_group);
  ADD ("nameless", test_nameless);
  return g_test_run ();
}
