/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* file-rows.c - see file-rows.h.
 *
 * Each maker says whether a file is its own, and makes the rows. The first in the list wins: a
 * table that a linker left is better than what instructions show. */

#include "module/file-rows.h"

#include "code/code-rows.h"
#include "code/decoder.h"
#include "elf/headers.h"
#include "table/cfi.h"

#include <elf.h>

/* Files with CFI have at least a byte of it for each 40 of code. */
#define CODE_PER_CFI 40
/* So little CFI is asked which code it covers: small programs without CFI have that of the code
 * that starts them. */
#define LITTLE_CFI 16384
/* Files with more code keep the worker too long. */
#define MAX_CODE (4u << 20)

static guint64
code_size (const LuImage *image)
{
  guint n;
  const LuSegment *segments = lu_image_segments (image, &n);
  guint64 size = 0;

  for (guint i = 0; i < n; i++)
    if (segments[i].executable)
      size += MIN (segments[i].file_size, G_MAXUINT32);
  return size;
}

/* The stacks of Go change in ways that instructions do not show. */
static gboolean
is_go (int fd)
{
  LuElfInput input = { .fd = fd, .size = G_MAXINT64 };
  LuElfHeaders headers = { 0 };
  gboolean is_go = lu_elf_headers_read (&headers, &input, NULL)
                   && (lu_elf_headers_find_section (&headers, ".gopclntab") != NULL
                       || lu_elf_headers_find_section (&headers, ".data.rel.ro.gopclntab") != NULL
                       || lu_elf_headers_find_section (&headers, ".note.go.buildid") != NULL);

  lu_elf_headers_clear (&headers);
  return is_go;
}

/* Returns the bytes of code that CFI covers. */
static guint64
covered_size (LuImage *image)
{
  LuCfi *cfi = lu_image_hold_cfi (image) ? lu_cfi_new_for_image (image) : NULL;
  guint64 size = 0;

  if (cfi == NULL)
    return lu_image_cfi_size (image) > 0 ? G_MAXUINT64 : 0;
  for (guint section = 0; section < LU_N_CFI_SECTIONS; section++)
    {
      guint n;
      const LuFde *fdes = lu_cfi_fdes (cfi, section, &n);

      for (guint i = 0; i < n; i++)
        size += MIN (fdes[i].end - fdes[i].start, G_MAXUINT32);
    }
  lu_cfi_free (cfi);
  lu_image_release_cfi (image);
  return size;
}

static gboolean
has_bare_code (LuImage *image, int fd)
{
  const LuArch *arch = lu_arch_with_tables (lu_image_machine (image));
  guint64 size = code_size (image);
  gsize cfi_size = lu_image_cfi_size (image);

  return arch != NULL && arch->files.decoded_bits != 0 && lu_image_is_64bit (image)
         && size <= MAX_CODE
         && (cfi_size * CODE_PER_CFI < size
             || (cfi_size < LITTLE_CFI && covered_size (image) < size / 2))
         && lu_decoder_load () && !is_go (fd);
}

static LuExtraRows *
decode_code (LuImage *image, int fd)
{
  return lu_code_rows_make (fd, NULL);
}

typedef struct
{
  gboolean (*is_wanted) (LuImage *image, int fd);
  LuExtraRows *(*make) (LuImage *image, int fd);
} Maker;

static const Maker makers[] = {
  { has_bare_code, decode_code },
};

static const Maker *
find_maker (LuImage *image, int fd)
{
  for (guint i = 0; i < G_N_ELEMENTS (makers); i++)
    if (makers[i].is_wanted (image, fd))
      return &makers[i];
  return NULL;
}

gboolean
lu_file_rows_are_wanted (LuImage *image, int fd)
{
  return find_maker (image, fd) != NULL;
}

LuExtraRows *
lu_file_rows_make (LuImage *image, int fd)
{
  const Maker *maker = find_maker (image, fd);

  return maker != NULL ? maker->make (image, fd) : NULL;
}
