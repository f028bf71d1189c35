/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* unxz.c - unpacks xz with liblzma; see unxz.h. */

#include "symbolize/unxz.h"

#include <lzma.h>

/* Enough for the output of "xz -9". */
#define MEMORY_LIMIT (80u << 20)
#define FIRST_SIZE   (256u << 10)

guint8 *
lu_unxz (gconstpointer bytes, gsize size, gsize limit, gsize *unpacked)
{
  lzma_stream stream = LZMA_STREAM_INIT;
  g_autoptr (GByteArray) output = g_byte_array_new ();
  lzma_ret result = lzma_stream_decoder (&stream, MEMORY_LIMIT, 0);

  if (result != LZMA_OK)
    return NULL;
  stream.next_in = bytes;
  stream.avail_in = size;
  while (result == LZMA_OK && output->len < limit)
    {
      guint at = output->len;
      guint room = (guint) MIN (MAX (at, FIRST_SIZE), limit - at);

      g_byte_array_set_size (output, at + room);
      stream.next_out = output->data + at;
      stream.avail_out = room;
      result = lzma_code (&stream, LZMA_FINISH);
      g_byte_array_set_size (output, at + room - (guint) stream.avail_out);
      if (result == LZMA_OK && stream.avail_out == room)
        break;
    }
  lzma_end (&stream);
  if (result != LZMA_STREAM_END)
    return NULL;
  *unpacked = output->len;
  return g_byte_array_free (g_steal_pointer (&output), FALSE);
}
