/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* plt-cfi.c - see plt-cfi.h. */

#include "elf/plt-cfi.h"

#include <elf.h>
#include <string.h>

/* This is enough for 40,000 functions. */
#define MAX_PLT (1u << 20)

static GByteArray *
describe (const LuPltCfi *self, const LuElfHeaders *headers, const guint8 *bytes, gsize offset)
{
  const LuArchText plt = { .bytes = bytes, .vaddr = self->vaddr, .size = self->size };

  return lu_arch_with_tables (headers->machine)->files.describe_plt (&plt, offset);
}

static gboolean
lacks_cfi (const LuElfHeaders *headers)
{
  const LuArch *arch = lu_arch_with_tables (headers->machine);

  return arch != NULL && arch->files.describe_plt != NULL && headers->is_64bit;
}

void
lu_plt_cfi_measure (LuPltCfi *self, const LuElfHeaders *headers, const LuElfSectionHeader *section,
                    const LuElfInput *input)
{
  g_autoptr (GByteArray) made = NULL;
  g_autofree guint8 *bytes = NULL;

  *self = (LuPltCfi){ section->file_offset, section->vaddr, section->size, 0 };
  if (!lacks_cfi (headers) || section->size > MAX_PLT)
    return;
  bytes = g_malloc (section->size);
  if (lu_elf_input_read (input, section->file_offset, bytes, section->size))
    made = describe (self, headers, bytes, 0);
  self->made_size = made == NULL ? 0 : made->len;
}

gboolean
lu_plt_cfi_write (const LuPltCfi *self, const LuElfHeaders *headers, const guint8 *bytes,
                  guint8 *room, gsize offset)
{
  g_autoptr (GByteArray) made = describe (self, headers, bytes, offset);

  if (made == NULL || made->len != self->made_size)
    return FALSE;
  memcpy (room, made->data, made->len);
  return TRUE;
}
