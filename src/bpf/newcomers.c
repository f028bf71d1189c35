/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* newcomers.c - see newcomers.h. */

#include "bpf/newcomers.h"

#include "base/clock.h"
#include "bpf/blocks.h"
#include "bpf/known.h"
#include "unwind/arch.h"
#include "unwind/dwfl-space.h"

/* So long at most for the file to be opened, and then for its table: large ones are compiled. */
#define PATIENCE_NS (G_GUINT64_CONSTANT (2) * 1000 * 1000 * 1000)

void
lu_bpf_newcomers_clear (LuBpfNewcomers *self)
{
  for (guint i = 0; i < self->n; i++)
    lu_module_unref (self->all[i].mapping.module);
  self->n = 0;
}

static gboolean
is_here (const LuBpfNewcomers *self, const LuModule *module)
{
  for (guint i = 0; i < self->n; i++)
    if (self->all[i].mapping.module == module)
      return TRUE;
  return FALSE;
}

void
lu_bpf_newcomers_add (LuBpfNewcomers *self, const LuBpfSlots *slots, const LuMapping *mapping,
                      gboolean is_young)
{
  guint32 slot = lu_bpf_slots_find (slots, mapping->module);
  LuModuleState state = lu_module_state (mapping->module);

  if (lu_module_key (mapping->module)->kind != LU_MODULE_FILE
      || (state != LU_MODULE_PENDING && state != LU_MODULE_READY) || self->n == LU_BPF_MAX_NEWCOMERS
      || (slot != 0 && (slots->slots[slot].n_mappings > 0 || lu_bpf_slots_has_table (slots, slot)))
      || is_here (self, mapping->module))
    return;
  self->all[self->n] = (LuBpfNewcomer){
    .mapping = *mapping, .since = lu_monotonic_ns (), .is_young = is_young, .is_asked = slot != 0
  };
  lu_module_ref (mapping->module);
  self->n++;
  self->n_unopened++;
}

/* It is opened. FALSE: it is nothing that a walk could go by. */
static gboolean
take_slot (LuBpfNewcomer *self, LuBpfSlots *slots, LuBpfIsWantedFunc is_wanted)
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

/* Whether it has to stay. */
static gboolean
see_to (LuBpfNewcomers *self, LuBpfNewcomer *one, LuBpfSlots *slots, LuBpfIsWantedFunc is_wanted)
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
lu_bpf_newcomers_see_to (LuBpfNewcomers *self, LuBpfSlots *slots, LuBpfIsWantedFunc is_wanted)
{
  guint n_left = 0;

  for (guint i = 0; i < self->n; i++)
    if (see_to (self, &self->all[i], slots, is_wanted))
      self->all[n_left++] = self->all[i];
    else
      lu_module_unref (self->all[i].mapping.module);
  self->n = n_left;
}
