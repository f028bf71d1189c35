/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* elf-file.c - opens ELF files; see elf-file.h. */

#include "symbolize/elf-file.h"

#include "base/error.h"
#include "base/fd.h"
#include "base/hex.h"
#include "elf/file-digest.h"

#include <elf.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#define MAX_LINK   256
#define MAX_SUMMED (1ull << 30)
#define SUM_CHUNK  (256u << 10)

/* The section holds a name that ends in NUL, zeros up to a multiple of 4, and a u32 checksum. */
static void
read_debug_link (LuElfFile *self)
{
  const LuElfSectionHeader *section =
      lu_elf_headers_find_section (&self->headers, ".gnu_debuglink");
  char text[MAX_LINK + 1] = "";
  gsize crc_at;

  if (section == NULL || section->size > MAX_LINK
      || !lu_elf_input_read (&self->input, section->file_offset, text, section->size)
      || text[0] == 0 || strchr (text, '/') != NULL)
    return;
  self->debug_link = g_strdup (text);
  crc_at = (strlen (text) + 4) & ~(gsize) 3;
  if (crc_at + sizeof self->debug_crc > section->size)
    return;
  memcpy (&self->debug_crc, text + crc_at, sizeof self->debug_crc);
  self->has_debug_crc = TRUE;
}

/* Opening */

/* Takes input->fd. */
static gboolean
file_read (LuElfFile *self, const LuElfInput *input, GError **error)
{
  guint8 build_id[LU_MAX_BUILD_ID];
  gsize size;

  *self = (LuElfFile){ .input = *input };
  if (!lu_elf_headers_read (&self->headers, input, error))
    {
      lu_fd_clear (&self->input.fd);
      return FALSE;
    }
  size = lu_elf_headers_read_build_id (&self->headers, input, build_id);
  if (size > 0)
    {
      self->build_id = g_malloc (2 * size + 1);
      lu_hex_write (self->build_id, build_id, size);
    }
  read_debug_link (self);
  return TRUE;
}

gboolean
lu_elf_file_open (LuElfFile *self, int fd_taken, GError **error)
{
  lu_autofd fd = fd_taken;
  LuElfInput input = { 0 };
  struct stat info;

  if (fd < 0 || fstat (fd, &info) != 0 || !S_ISREG (info.st_mode))
    {
      g_set_error_literal (error, LU_ERROR, LU_ERROR_INVALID, "not a file");
      return FALSE;
    }
  input.fd = lu_fd_steal (&fd);
  input.size = (guint64) info.st_size;
  return file_read (self, &input, error);
}

gboolean
lu_elf_file_open_memory (LuElfFile *self, gconstpointer bytes, gsize size, GError **error)
{
  LuElfInput input = { .fd = -1, .bytes = bytes, .size = size };

  return file_read (self, &input, error);
}

static gboolean
may_read (gsize size, gpointer budget)
{
  return lu_budget_read (budget, size);
}

/* Anybody can write a file with the build-id of another one, so the digest decides where another
 * file may have been opened. */
static gboolean
is_mapped_file (const LuElfFile *self, const LuNameFile *file, guint way, const struct stat *info)
{
  LuNameFileMatch match = lu_name_file_match (file, way, self->build_id, info);
  guint8 digest[LU_FILE_DIGEST_SIZE];
  char text[2 * LU_FILE_DIGEST_SIZE + 1];

  if (match != LU_NAME_FILE_CLAIMS || file->id->digest == NULL)
    return match != LU_NAME_FILE_OTHER;
  if (!lu_file_digest_read (&self->headers, &self->input, may_read, file->budget, digest))
    return FALSE;
  lu_hex_write (text, digest, sizeof digest);
  return g_ascii_strcasecmp (text, file->id->digest) == 0;
}

gboolean
lu_elf_file_open_mapped (LuElfFile *self, const LuNameFile *file, gboolean *is_no_elf)
{
  *is_no_elf = FALSE;
  for (guint way = 0; way < LU_NAME_FILE_WAYS; way++)
    {
      struct stat info;
      int fd = lu_name_file_open (file, way, &info);

      if (fd < 0)
        continue;
      if (!lu_elf_file_open (self, fd, NULL))
        *is_no_elf = TRUE;
      else if (is_mapped_file (self, file, way, &info))
        return TRUE;
      else
        lu_elf_file_clear (self);
    }
  return FALSE;
}

/* .gnu_debuglink has the same checksum as zlib. */
static gboolean
has_checksum (const LuElfInput *input, guint32 wanted, LuBudget *budget)
{
  g_autofree guint8 *bytes = NULL;
  uLong sum = crc32 (0, NULL, 0);

  if (input->size > MAX_SUMMED)
    return FALSE;
  bytes = g_malloc (SUM_CHUNK);
  for (guint64 at = 0; at < input->size; at += SUM_CHUNK)
    {
      gsize n = (gsize) MIN (SUM_CHUNK, input->size - at);

      if (!lu_budget_read (budget, n) || !lu_elf_input_read (input, at, bytes, n))
        return FALSE;
      sum = crc32 (sum, bytes, (uInt) n);
    }
  return sum == wanted;
}

/* The build-ids decide. If one is missing, the checksum does, for which the whole file is read. */
static gboolean
is_debug_file_of (const LuElfFile *self, const LuElfFile *program, LuBudget *budget)
{
  if (self->headers.is_64bit != program->headers.is_64bit)
    return FALSE;
  if (self->build_id != NULL && program->build_id != NULL)
    return strcmp (self->build_id, program->build_id) == 0;
  return program->has_debug_crc && has_checksum (&self->input, program->debug_crc, budget);
}

gboolean
lu_elf_file_open_debug (LuElfFile *self, const LuElfFile *program, const LuNameFile *file,
                        guint *candidate)
{
  for (;;)
    {
      int fd = lu_debug_file_open (file, program->build_id, program->debug_link, (*candidate)++);

      if (fd == -2)
        return FALSE;
      if (fd < 0 || !lu_elf_file_open (self, fd, NULL))
        continue;
      if (is_debug_file_of (self, program, file->budget))
        return TRUE;
      lu_elf_file_clear (self);
    }
}

void
lu_elf_file_clear (LuElfFile *self)
{
  lu_fd_clear (&self->input.fd);
  lu_elf_headers_clear (&self->headers);
  g_clear_pointer (&self->build_id, g_free);
  g_clear_pointer (&self->debug_link, g_free);
}

/* Questions */

static gboolean
is_code (const LuElfProgramHeader *header)
{
  return header->type == PT_LOAD && (header->flags & PF_X) != 0;
}

const LuElfProgramHeader *
lu_elf_file_code_at_offset (const LuElfFile *self, guint64 file_offset)
{
  for (guint i = 0; i < self->headers.n_program_headers; i++)
    {
      const LuElfProgramHeader *header = &self->headers.program_headers[i];

      if (is_code (header) && file_offset >= header->file_offset
          && file_offset - header->file_offset < header->file_size)
        return header;
    }
  return NULL;
}

const LuElfProgramHeader *
lu_elf_file_code_at_address (const LuElfFile *self, guint64 vaddr)
{
  for (guint i = 0; i < self->headers.n_program_headers; i++)
    {
      const LuElfProgramHeader *header = &self->headers.program_headers[i];

      if (is_code (header) && vaddr >= header->vaddr && vaddr - header->vaddr < header->file_size)
        return header;
    }
  return NULL;
}

gboolean
lu_elf_file_has_build_id (int fd, const char *build_id)
{
  g_auto (LuElfFile) self = { .input = { .fd = -1 } };

  return lu_elf_file_open (&self, lu_fd_duplicate (fd), NULL) && self.build_id != NULL
         && g_ascii_strcasecmp (self.build_id, build_id) == 0;
}
