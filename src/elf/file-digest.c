/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* file-digest.c - digests of files and of their parts; see file-digest.h. */

#include "elf/file-digest.h"

#include <string.h>

#define PIECE (64u << 10)

static void
append_digest (GByteArray *digests, const guint8 *bytes, gsize size)
{
  guint8 piece[LU_DIGEST_SIZE];

  lu_digest (bytes, size, piece);
  g_byte_array_append (digests, piece, sizeof piece);
}

gboolean
lu_digest_part (const LuElfInput *input, const LuElfPart *part, LuMayReadFunc may_read,
                gpointer user_data, guint8 digest[LU_DIGEST_SIZE])
{
  g_autoptr (GByteArray) digests = g_byte_array_new ();
  g_autofree guint8 *bytes = g_malloc (PIECE);

  for (guint64 at = 0; at < part->size; at += PIECE)
    {
      gsize n = (gsize) MIN (part->size - at, PIECE);

      if (!may_read (n, user_data) || !lu_elf_input_read (input, part->file_offset + at, bytes, n))
        return FALSE;
      append_digest (digests, bytes, n);
    }
  lu_digest (digests->data, digests->len, digest);
  return TRUE;
}

void
lu_digest_bytes (const guint8 *bytes, gsize size, guint8 digest[LU_DIGEST_SIZE])
{
  g_autoptr (GByteArray) digests = g_byte_array_new ();

  for (gsize at = 0; at < size; at += PIECE)
    append_digest (digests, bytes + at, MIN (size - at, PIECE));
  lu_digest (digests->data, digests->len, digest);
}

void
lu_digest_program_headers (const LuElfHeaders *headers, guint8 digest[LU_DIGEST_SIZE])
{
  lu_digest (headers->program_headers,
             headers->n_program_headers * sizeof *headers->program_headers, digest);
}

void
lu_file_digest_join (const LuElfHeaders *headers, const guint8 program_headers[LU_DIGEST_SIZE],
                     const guint8 eh_frame[LU_DIGEST_SIZE], guint8 digest[LU_FILE_DIGEST_SIZE])
{
  struct
  {
    guint64 machine, is_64bit;
    guint8 program_headers[LU_DIGEST_SIZE], eh_frame[LU_DIGEST_SIZE];
  } parts = { .machine = headers->machine, .is_64bit = headers->is_64bit != FALSE };
  guint8 whole[LU_DIGEST_SIZE];

  memcpy (parts.program_headers, program_headers, LU_DIGEST_SIZE);
  memcpy (parts.eh_frame, eh_frame, LU_DIGEST_SIZE);
  lu_digest (&parts, sizeof parts, whole);
  memcpy (digest, whole, LU_FILE_DIGEST_SIZE);
}

gboolean
lu_file_digest_read (const LuElfHeaders *headers, const LuElfInput *input, LuMayReadFunc may_read,
                     gpointer user_data, guint8 digest[LU_FILE_DIGEST_SIZE])
{
  guint8 program_headers[LU_DIGEST_SIZE], eh_frame_digest[LU_DIGEST_SIZE];
  LuElfPart table, eh_frame;

  lu_elf_find_eh_frame (headers, input, &table, &eh_frame);
  lu_elf_part_clip (&eh_frame, input);
  if (!lu_digest_part (input, &eh_frame, may_read, user_data, eh_frame_digest))
    return FALSE;
  lu_digest_program_headers (headers, program_headers);
  lu_file_digest_join (headers, program_headers, eh_frame_digest, digest);
  return TRUE;
}
