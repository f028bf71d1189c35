/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* calls.c - calls, decoded from their end; see calls.h. */

#include "unwind/calls.h"

#include <elf.h>
#include <string.h>

/* x86: e8 and a 32-bit displacement. */
#define NEAR_CALL_SIZE 5

/* Size of the `ff /2` call that begins at `at`; 0 if none does, or its end is not there. */
static gsize
x86_indirect_size (const guint8 *at, gsize n)
{
  gsize size = 2;
  guint mod, rm;

  if (n < 2 || at[0] != 0xff || (at[1] >> 3 & 7) != 2)
    return 0;
  mod = at[1] >> 6;
  rm = at[1] & 7;
  if (mod == 3)
    return 2;
  if (rm == 4)
    {
      if (n < 3)
        return 0;
      size++;
      if (mod == 0 && (at[2] & 7) == 5) /* no base but a displacement */
        size += 4;
    }
  else if (mod == 0 && rm == 5) /* relative to the pc; absolute in 32-bit code */
    size += 4;
  if (mod == 1)
    size += 1;
  else if (mod == 2)
    size += 4;
  return size;
}

static LuCallKind
decode_x86 (const guint8 *bytes, gsize n, gint64 *displacement)
{
  gint32 narrow;

  for (gsize size = 2; size <= LU_CALL_LONGEST && size <= n; size++)
    if (x86_indirect_size (bytes + n - size, size) == size)
      return LU_CALL_INDIRECT;
  if (n < NEAR_CALL_SIZE || bytes[n - NEAR_CALL_SIZE] != 0xe8)
    return LU_CALL_NONE;
  memcpy (&narrow, bytes + n - 4, sizeof narrow);
  *displacement = narrow;
  return LU_CALL_DIRECT;
}

static LuCallKind
decode_aarch64 (const guint8 *bytes, gsize n, gint64 *displacement)
{
  guint32 word;

  if (n < sizeof word)
    return LU_CALL_NONE;
  memcpy (&word, bytes + n - sizeof word, sizeof word);
  if (word >> 26 == 0x25) /* bl: 26 bits, in words, from the call itself */
    {
      *displacement = ((gint64) ((guint64) word << 38) >> 36) - 4;
      return LU_CALL_DIRECT;
    }
  /* blr Xn; blraaz, blrabz Xn; blraa, blrab Xn, Xm */
  if ((word & 0xfffffc1f) == 0xd63f0000 || (word & 0xfffff81f) == 0xd63f081f
      || (word & 0xfffff800) == 0xd73f0800)
    return LU_CALL_INDIRECT;
  return LU_CALL_NONE;
}

LuCallKind
lu_call_decode (guint16 machine, const guint8 *bytes, gsize n, gint64 *displacement)
{
  *displacement = 0;
  switch (machine)
    {
    case EM_X86_64:
    case EM_386:
      return decode_x86 (bytes, n, displacement);
    case EM_AARCH64:
      return decode_aarch64 (bytes, n, displacement);
    default:
      return LU_CALL_NONE;
    }
}
