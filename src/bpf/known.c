/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* known.c - files as the kernel identifies them; see known.h.
 *
 * Files are told apart as in src/module/module-cache.c: by device, inode and, if it was reported,
 * generation. A file with two names has two modules; the last one is known. In a full group the
 * oldest place is replaced. */

#include "bpf/known.h"

/* Walks may read the place meanwhile: they see either all of it or a check that does not fit. So
 * the check is cleared first and stored last. */
static void
store (struct lu_bpf_known *place, const struct lu_bpf_known *known)
{
  __atomic_store_n (&place->check, 0, __ATOMIC_RELAXED);
  __atomic_store_n (&place->inode, known->inode, __ATOMIC_RELEASE);
  __atomic_store_n (&place->offset, known->offset, __ATOMIC_RELEASE);
  __atomic_store_n (&place->to_ea, known->to_ea, __ATOMIC_RELEASE);
  __atomic_store_n (&place->device, known->device, __ATOMIC_RELEASE);
  __atomic_store_n (&place->generation, known->generation, __ATOMIC_RELEASE);
  __atomic_store_n (&place->slot, known->slot, __ATOMIC_RELEASE);
  __atomic_store_n (&place->check, known->check, __ATOMIC_RELEASE);
}

static gboolean
is_same_file (const struct lu_bpf_known *a, const struct lu_bpf_known *b)
{
  return a->inode == b->inode && a->device == b->device && a->offset == b->offset;
}

static void
forget_place (LuBpfSlots *slots, guint32 slot, guint32 place)
{
  for (guint i = 0; i < LU_BPF_KNOWN_PER_SLOT; i++)
    if (slots->slots[slot].known[i] == place + 1)
      slots->slots[slot].known[i] = 0;
}

/* Returns the place of the file, or one for it. */
static guint32
find_place (LuBpfSlots *slots, const struct lu_bpf_known *known)
{
  guint32 first =
      lu_bpf_known_group (lu_bpf_known_hash (known->inode, known->device, known->offset));
  const struct lu_bpf_known *group = &slots->backing->known[first];

  for (guint i = 0; i < LU_BPF_KNOWN_PLACES; i++)
    if (group[i].check != 0 && is_same_file (&group[i], known))
      return first + i;
  for (guint i = 0; i < LU_BPF_KNOWN_PLACES; i++)
    if (group[i].check == 0)
      return first + i;
  return first + slots->known_turn++ % LU_BPF_KNOWN_PLACES;
}

gboolean
lu_bpf_known_describe (const LuDwflMapping *mapping, guint32 slot, struct lu_bpf_known *known)
{
  const LuModuleKey *key = lu_module_key (mapping->module);

  if (!lu_module_key_is_file (key) || !key->has_inode || key->inode_generation > G_MAXUINT32)
    return FALSE;
  *known = (struct lu_bpf_known){
    .inode = key->inode,
    .offset = mapping->file_offset,
    .to_ea = mapping->start - mapping->bias - mapping->file_offset,
    .device = lu_bpf_device (key->major, key->minor),
    .generation = (guint32) key->inode_generation,
    .slot = slot,
  };
  known->check = lu_bpf_known_check (known);
  return TRUE;
}

/* Only this thread writes places, so no check is needed. */
static gboolean
has (const LuBpfSlots *slots, guint32 slot, const LuDwflMapping *mapping)
{
  for (guint i = 0; i < LU_BPF_KNOWN_PER_SLOT; i++)
    {
      guint32 place = slots->slots[slot].known[i];

      if (place != 0 && slots->backing->known[place - 1].offset == mapping->file_offset)
        return TRUE;
    }
  return FALSE;
}

void
lu_bpf_known_add (LuBpfSlots *slots, guint32 slot, const LuDwflMapping *mapping)
{
  guint32 *of_slot = slots->slots[slot].known;
  struct lu_bpf_known known;
  guint32 place;

  if (has (slots, slot, mapping) || !lu_bpf_known_describe (mapping, slot, &known))
    return;
  for (guint i = 0; i < LU_BPF_KNOWN_PER_SLOT; i++)
    {
      if (of_slot[i] != 0)
        continue;
      place = find_place (slots, &known);
      if (slots->backing->known[place].check != 0)
        forget_place (slots, slots->backing->known[place].slot, place);
      store (&slots->backing->known[place], &known);
      of_slot[i] = place + 1;
      return;
    }
}

void
lu_bpf_known_remove (LuBpfSlots *slots, guint32 slot)
{
  const struct lu_bpf_known none = { 0 };

  for (guint i = 0; i < LU_BPF_KNOWN_PER_SLOT; i++)
    if (slots->slots[slot].known[i] != 0)
      store (&slots->backing->known[slots->slots[slot].known[i] - 1], &none);
}
