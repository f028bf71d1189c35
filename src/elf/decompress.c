/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* decompress.c - see decompress.h. */

#include "elf/decompress.h"

#include "elf/zstd.h"

#include <elf.h>
#include <zlib.h>

#define MAX_SIZE (64u << 20)
/* Decompressing can be cancelled after each piece. */
#define PIECE (1u << 20)
/* ELFCOMPRESS_ZSTD of the generic ABI; glibc has it since 2.37. */
#define COMPRESSED_ZSTD 2

/* A section may consist of several streams (ld -r). */
static gboolean
inflate_zlib (LuCursor *in, guint8 *plain, gsize size, const gint *is_cancelled)
{
  z_stream stream = { .next_in = (guint8 *) in->at, .avail_in = (guint) lu_cursor_left (in) };
  int code = inflateInit (&stream);

  stream.next_out = plain;
  while (code == Z_OK && !g_atomic_int_get (is_cancelled))
    {
      stream.avail_out = (guint) MIN (size - (gsize) (stream.next_out - plain), PIECE);
      if (stream.avail_out == 0)
        break;
      code = inflate (&stream, Z_NO_FLUSH);
      if (code == Z_STREAM_END && stream.avail_in > 0)
        code = inflateReset (&stream);
    }
  inflateEnd (&stream);
  return stream.next_out == plain + size;
}

/* Returns the size that the section claims to have, and its type (ELFCOMPRESS_*). */
static guint64
read_head (LuCursor *in, LuCompressedForm form, guint32 *type)
{
  guint64 size;

  *type = lu_cursor_u32 (in);
  if (form == LU_COMPRESSED_OLD)
    {
      *type = ELFCOMPRESS_ZLIB;
      size = lu_cursor_u64 (in);
      return GUINT64_FROM_BE (size); /* may evaluate its argument several times */
    }
  if (form == LU_COMPRESSED_32BIT)
    {
      size = lu_cursor_u32 (in);
      lu_cursor_u32 (in); /* ch_addralign */
      return size;
    }
  lu_cursor_u32 (in); /* ch_reserved */
  size = lu_cursor_u64 (in);
  lu_cursor_u64 (in); /* ch_addralign */
  return size;
}

gsize
lu_decompressed_size (const guint8 head[LU_COMPRESSED_HEAD], LuCompressedForm form)
{
  LuCursor in;
  guint32 type;
  guint64 size;

  lu_cursor_init (&in, head, LU_COMPRESSED_HEAD);
  size = read_head (&in, form, &type);
  return size <= MAX_SIZE ? size : 0;
}

gboolean
lu_decompress (LuCursor in, LuCompressedForm form, guint8 *plain, gsize plain_size,
               const gint *is_cancelled)
{
  guint32 type;
  guint64 size = read_head (&in, form, &type);

  if (in.failed || size != plain_size)
    return FALSE;
  if (type == ELFCOMPRESS_ZLIB)
    return inflate_zlib (&in, plain, plain_size, is_cancelled);
  return type == COMPRESSED_ZSTD
         && lu_zstd_decompress (in.at, lu_cursor_left (&in), plain, plain_size);
}
