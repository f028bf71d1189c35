/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* guarded.c - applies the CFI guard to an image; see guarded.h. */

#include "elf/guarded.h"

#include "elf/cfi-guard.h"

/* Limit for the bytes of a section without a search table. LU_CFI_MAX_WALKED entries of real files
 * have some 8 MiB. */
#define MAX_WALKED_BYTES (12u << 20)

typedef struct
{
  LuSynthetic *raw;
  LuSyntheticSection sections[LU_N_IMAGE_CFI]; /* bytes are borrowed or copied */
  guint8 *copies[LU_N_IMAGE_CFI];              /* owned */
  gboolean is_changed;
  LuGuardCounts *counts;
} Guarding;

static void
drop_section (Guarding *self, guint which)
{
  LuSyntheticSection *section = &self->sections[which];

  self->is_changed |= section->bytes != NULL;
  section->bytes = NULL;
  section->size = 0;
}

static LuCfiSection
as_cfi (const Guarding *self, guint which)
{
  const LuSyntheticSection *section = &self->sections[which];

  return (LuCfiSection){
    .bytes = section->bytes,
    .size = section->size,
    .vaddr = section->vaddr,
    .is_eh_frame = which == LU_IMAGE_EH_FRAME,
    .address_size = lu_synthetic_is_64bit (self->raw) ? 8 : 4,
  };
}

/* Checks all entries of a section and disables bad ones in a copy. */
static void
walk_section (Guarding *self, guint which)
{
  LuSyntheticSection *section = &self->sections[which];
  LuCfiSection cfi = as_cfi (self, which);
  guint n_refused, n;

  if (section->bytes == NULL)
    return;
  cfi.size = MIN (section->size, MAX_WALKED_BYTES);
  cfi.bytes = self->copies[which] = g_try_malloc (cfi.size);
  if (cfi.bytes == NULL)
    {
      drop_section (self, which);
      return;
    }
  memcpy (cfi.bytes, section->bytes, cfi.size);
  n = lu_cfi_guard_walk (&cfi, &n_refused);
  self->counts->n_unsorted += n;
  self->counts->n_refused += n_refused;
  if (n == 0)
    drop_section (self, which);
  else if (n_refused > 0 || cfi.size != section->size)
    {
      self->is_changed = TRUE;
      section->bytes = cfi.bytes;
      section->size = cfi.size;
    }
}

static void
guard_eh_frame (Guarding *self)
{
  const LuSyntheticSection *table = &self->sections[LU_IMAGE_EH_FRAME_HDR];
  LuCfiSection cfi;
  guint n;

  /* libdw takes a section at address 0 for .debug_frame. */
  if (self->sections[LU_IMAGE_EH_FRAME].vaddr == 0)
    drop_section (self, LU_IMAGE_EH_FRAME);
  cfi = as_cfi (self, LU_IMAGE_EH_FRAME);
  if (cfi.bytes != NULL && table->bytes != NULL
      && lu_cfi_guard_check_table (&cfi, table->bytes, table->size, table->vaddr, &n))
    return;
  drop_section (self, LU_IMAGE_EH_FRAME_HDR);
  walk_section (self, LU_IMAGE_EH_FRAME);
}

LuSynthetic *
lu_guarded_new (LuSynthetic *raw, LuGuardCounts *counts)
{
  Guarding self = { .raw = raw, .counts = counts };
  LuSynthetic *result = raw;

  *counts = (LuGuardCounts){ 0 };
  for (guint i = 0; i < LU_N_IMAGE_CFI; i++)
    self.sections[i].bytes =
        (guint8 *) lu_synthetic_section (raw, i, &self.sections[i].size, &self.sections[i].vaddr);
  guard_eh_frame (&self);
  walk_section (&self, LU_IMAGE_DEBUG_FRAME);
  if (self.is_changed)
    result = lu_synthetic_new (lu_synthetic_is_64bit (raw), lu_synthetic_machine (raw),
                               self.sections, TRUE);
  for (guint i = 0; i < LU_N_IMAGE_CFI; i++)
    g_free (self.copies[i]);
  return result;
}
