/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* elf-identity.c - see elf-identity.h. */

#include "symbolize/elf-identity.h"

#include <elf.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#define MAX_NOTES  65536
#define MAX_LINK   256
#define MAX_SUMMED (1ull << 30)
#define SUM_CHUNK  (256u << 10)

static char *
hex_of (const guint8 *bytes, gsize size)
{
  GString *text = g_string_new (NULL);

  for (gsize i = 0; i < size; i++)
    g_string_append_printf (text, "%02x", bytes[i]);
  return g_string_free (text, FALSE);
}

static char *
build_id_in (const guint8 *notes, gsize size, gsize align)
{
  gsize at = 0;

  while (size - at >= sizeof (Elf64_Nhdr))
    {
      Elf64_Nhdr note;
      gsize name_size, left;

      memcpy (&note, notes + at, sizeof note);
      at += sizeof note;
      left = size - at;
      name_size = ((gsize) note.n_namesz + align - 1) & ~(align - 1);
      if (name_size > left || note.n_descsz > left - name_size)
        return NULL;
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp (notes + at, "GNU", 4) == 0
          && note.n_descsz > 0 && note.n_descsz <= 64)
        return hex_of (notes + at + name_size, note.n_descsz);
      at += name_size;
      left = size - at;
      at += MIN (left, ((gsize) note.n_descsz + align - 1) & ~(align - 1));
    }
  return NULL;
}

static char *
read_build_id (const LuElfInput *input, const LuElfHeaders *headers)
{
  char *build_id = NULL;

  for (guint i = 0; i < headers->n_program_headers && build_id == NULL; i++)
    {
      const LuElfProgramHeader *header = &headers->program_headers[i];
      g_autofree guint8 *notes = NULL;

      if (header->type != PT_NOTE || header->file_size > MAX_NOTES)
        continue;
      notes = g_malloc (header->file_size + 1);
      if (lu_elf_input_read (input, header->file_offset, notes, header->file_size))
        build_id = build_id_in (notes, header->file_size, header->align == 8 ? 8 : 4);
    }
  /* debug files keep the section, and program headers that lead nowhere */
  if (build_id == NULL)
    {
      const LuElfSectionHeader *section =
          lu_elf_headers_find_section (headers, ".note.gnu.build-id");
      g_autofree guint8 *notes = NULL;

      if (section == NULL || section->size > MAX_NOTES)
        return NULL;
      notes = g_malloc (section->size + 1);
      if (lu_elf_input_read (input, section->file_offset, notes, section->size))
        build_id = build_id_in (notes, section->size, 4);
    }
  return build_id;
}

/* The section: a name that ends in NUL, zeros up to a multiple of 4, u32 checksum. */
static void
read_debug_link (LuElfIdentity *self, const LuElfInput *input, const LuElfHeaders *headers)
{
  const LuElfSectionHeader *section = lu_elf_headers_find_section (headers, ".gnu_debuglink");
  char text[MAX_LINK + 1] = "";
  gsize crc_at;

  if (section == NULL || section->size > MAX_LINK
      || !lu_elf_input_read (input, section->file_offset, text, section->size) || text[0] == 0
      || strchr (text, '/') != NULL)
    return;
  self->debug_link = g_strdup (text);
  crc_at = (strlen (text) + 4) & ~(gsize) 3;
  if (crc_at + sizeof self->debug_crc > section->size)
    return;
  memcpy (&self->debug_crc, text + crc_at, sizeof self->debug_crc);
  self->has_debug_crc = TRUE;
}

void
lu_elf_identity_read (LuElfIdentity *self, const LuElfInput *input, const LuElfHeaders *headers)
{
  *self = (LuElfIdentity){ .is_64bit = headers->is_64bit };
  self->build_id = read_build_id (input, headers);
  read_debug_link (self, input, headers);
}

void
lu_elf_identity_clear (LuElfIdentity *self)
{
  g_clear_pointer (&self->build_id, g_free);
  g_clear_pointer (&self->debug_link, g_free);
}

/* The sum that .gnu_debuglink has is that of zlib. */
static gboolean
has_checksum (const LuElfInput *input, guint32 wanted)
{
  g_autofree guint8 *bytes = g_malloc (SUM_CHUNK);
  uLong sum = crc32 (0, NULL, 0);

  if (input->size > MAX_SUMMED)
    return FALSE;
  for (guint64 at = 0; at < input->size; at += SUM_CHUNK)
    {
      gsize n = (gsize) MIN (SUM_CHUNK, input->size - at);

      if (!lu_elf_input_read (input, at, bytes, n))
        return FALSE;
      sum = crc32 (sum, bytes, (uInt) n);
    }
  return sum == wanted;
}

gboolean
lu_elf_identity_is_debug_file (const LuElfIdentity *self, const LuElfInput *input,
                               const LuElfHeaders *headers)
{
  g_autofree char *build_id = read_build_id (input, headers);

  if (headers->is_64bit != self->is_64bit)
    return FALSE;
  if (build_id != NULL && self->build_id != NULL)
    return strcmp (build_id, self->build_id) == 0;
  return self->has_debug_crc && has_checksum (input, self->debug_crc);
}

gboolean
lu_elf_file_read_headers (int fd, LuElfInput *input, LuElfHeaders *headers)
{
  struct stat info;

  *input = (LuElfInput){ .fd = fd };
  if (fstat (fd, &info) != 0 || !S_ISREG (info.st_mode))
    return FALSE;
  input->size = (guint64) info.st_size;
  return lu_elf_headers_read (headers, input, NULL);
}

gboolean
lu_elf_file_has_build_id (int fd, const char *build_id)
{
  LuElfInput input;
  LuElfHeaders headers;
  g_autofree char *found = NULL;

  if (!lu_elf_file_read_headers (fd, &input, &headers))
    return FALSE;
  found = read_build_id (&input, &headers);
  lu_elf_headers_clear (&headers);
  return found != NULL && g_ascii_strcasecmp (found, build_id) == 0;
}
