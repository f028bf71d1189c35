/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* candidates.c - see candidates.h. */

#include "candidates.h"

#include "base/clock.h"
#include "blocks.h"
#include "known.h"

/* How long a candidate waits for its file to be opened, and then for its table. */
#define PATIENCE_NS (G_GUINT64_CONSTANT (2) * 1000 * 1000 * 1000)

void
lu_bpf_candidates_clear (LuBpfCandidates *self)
{
  for (guint i = 0; i < self->n; i++)
    lu_module_unref (self->all[i].mapping.module);
  self->n = 0;
}

static gboolean
is_here (const LuBpfCandidates *self, const LuModule *module)
{
  for (guint i = 0; i < self->n; i++)
    if (self->all[i].mapping.module == module)
      return TRUE;
  return FALSE;
}

void
lu_bpf_candidates_add (LuBpfCandidates *self, const LuBpfSlots *slots, const LuMapping *mapping,
                       gboolean is_young)
{
  guint32 slot = lu_bpf_slots_find (slots, mapping->module);
  LuModuleState state = lu_module_state (mapping->module);

  if (!lu_module_key_is_file (lu_module_key (mapping->module))
      || (state != LU_MODULE_PENDING && state != LU_MODULE_WAITING && state != LU_MODULE_READY)
      || self->n == LU_BPF_MAX_CANDIDATES
      || (slot != 0 && (slots->slots[slot].n_mappings > 0 || lu_bpf_slots_has_table (slots, slot)))
      || is_here (self, mapping->module))
    return;
  self->all[self->n] = (LuBpfCandidate){
    .mapping = *mapping, .since = lu_monotonic_ns (), .is_young = is_young, .is_asked = slot != 0
  };
  lu_module_ref (mapping->module);
  self->n++;
  self->n_unopened++;
}

/* The file was opened. FALSE: walks cannot use it. */
static gboolean
take_slot (LuBpfCandidate *self, LuBpfSlots *slots, LuBpfIsWantedFunc is_wanted)
{
  LuModule *module = self->mapping.module;
  LuDwflMapping described = lu_dwfl_mapping_describe (&self->mapping, lu_arch_of_abi (LU_ABI_64));

  if (lu_bpf_mapping_kind_of (&described) != LU_BPF_MAPPING_TABLE)
    return FALSE;
  self->slot =
      lu_bpf_slots_take (slots, module, self->is_asked || is_wanted (module, self->is_young));
  if (self->slot == 0)
    return FALSE;
  lu_bpf_known_add (slots, self->slot, &described);
  self->since = lu_monotonic_ns ();
  return TRUE;
}

/* Returns whether the candidate stays. */
static gboolean
see_to (LuBpfCandidates *self, LuBpfCandidate *one, LuBpfSlots *slots, LuBpfIsWantedFunc is_wanted)
{
  if (one->slot == 0)
    {
      if (lu_module_is_pending (one->mapping.module)
          && lu_monotonic_ns () - one->since < PATIENCE_NS)
        return TRUE;
      self->n_unopened--;
      return lu_module_state (one->mapping.module) == LU_MODULE_READY
             && take_slot (one, slots, is_wanted);
    }
  if (!lu_bpf_slots_has_table (slots, one->slot) && lu_monotonic_ns () - one->since < PATIENCE_NS)
    return TRUE;
  lu_bpf_slots_give_back (slots, one->slot);
  return FALSE;
}

void
lu_bpf_candidates_publish (LuBpfCandidates *self, LuBpfSlots *slots, LuBpfIsWantedFunc is_wanted)
{
  guint n_left = 0;

  for (guint i = 0; i < self->n; i++)
    if (see_to (self, &self->all[i], slots, is_wanted))
      self->all[n_left++] = self->all[i];
    else
      lu_module_unref (self->all[i].mapping.module);
  self->n = n_left;
}

/* Fewer copies than this say nothing about a device. */
#define COPIES_MANY 32

/* The program usually has the lowest mapping. */
static LuBpfDevice *
find_device (LuBpfDevices *self, LuAddressSpace *space)
{
  guint n;
  const LuMapping *mappings = lu_address_space_mappings (space, &n);
  guint32 device = 0;

  if (n > 0)
    device = lu_bpf_device (lu_module_key (mappings[0].module)->major,
                            lu_module_key (mappings[0].module)->minor);
  for (guint i = 0; i < self->n; i++)
    if (self->all[i].device == device)
      return &self->all[i];
  if (self->n < LU_BPF_MAX_DEVICES)
    self->all[self->n++].device = device;
  return &self->all[self->n - 1];
}

static gboolean
is_useless (const LuBpfDevice *device)
{
  return device->n_copies >= COPIES_MANY && device->n_walks < device->n_copies;
}

void
lu_bpf_devices_count (LuBpfDevices *self, LuAddressSpace *space, gboolean is_bpf_unwound)
{
  LuBpfDevice *device = find_device (self, space);
  guint before = is_useless (device);

  *(is_bpf_unwound ? &device->n_walks : &device->n_copies) += 1;
  self->n_useless += (guint) is_useless (device) - before;
}

gboolean
lu_bpf_devices_is_useless (LuBpfDevices *self, LuAddressSpace *space)
{
  return self->n_useless > 0 && is_useless (find_device (self, space));
}
