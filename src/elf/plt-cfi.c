/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* plt-cfi.c - see plt-cfi.h. */

#include "elf/plt-cfi.h"

#include <elf.h>
#include <string.h>

/* This is enough for 40,000 functions. */
#define MAX_PLT (1u << 20)

static GByteArray *
describe (const LuElfHeaders *headers, const LuArchText *plt)
{
  return lu_arch_with_tables (headers->machine)->files.describe_plt (plt);
}

static gboolean
lacks_cfi (const LuElfHeaders *headers)
{
  const LuArch *arch = lu_arch_with_tables (headers->machine);

  return arch != NULL && arch->files.describe_plt != NULL && headers->is_64bit;
}

gsize
lu_plt_cfi_size (const LuElfHeaders *headers, const LuElfSectionHeader *section,
                 const LuElfInput *input)
{
  LuArchText plt = { .vaddr = section->vaddr, .size = section->size };
  g_autoptr (GByteArray) made = NULL;
  g_autofree guint8 *bytes = NULL;

  if (!lacks_cfi (headers) || section->size > MAX_PLT)
    return 0;
  plt.bytes = bytes = g_malloc (section->size);
  if (lu_elf_input_read (input, section->file_offset, bytes, section->size))
    made = describe (headers, &plt);
  return made == NULL ? 0 : made->len;
}

gboolean
lu_plt_describe (const LuElfHeaders *headers, const LuArchText *plt, guint8 *room, gsize size)
{
  g_autoptr (GByteArray) made = describe (headers, plt);

  if (made == NULL || made->len != size)
    return FALSE;
  memcpy (room, made->data, size);
  return TRUE;
}
