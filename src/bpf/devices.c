/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* devices.c - see devices.h. */

#include "bpf/devices.h"

#include "lu/bpf.h"

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
