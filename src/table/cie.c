/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* cie.c - common information entries; see cie.h.
 *
 * DWARF 5, 6.4.1; LSB Core, 10.5 (DW_EH_PE_*), 10.6 (.eh_frame); augmentations 'B' and 'G': DWARF
 * for the Arm 64-bit Architecture, 5.3. */

#include "table/cie.h"

#include "base/leb128.h"

#include <string.h>

enum
{
  PE_FORMAT = 0x0f,
  PE_ABSPTR = 0x00,
  PE_APPLICATION = 0x70,
  PE_PCREL = 0x10,
  PE_TEXTREL = 0x20,
  PE_DATAREL = 0x30,
  PE_FUNCREL = 0x40,
  PE_ALIGNED = 0x50,
  PE_INDIRECT = 0x80,
  PE_OMIT = 0xff,
};

/* Of gcc 2: the address of a table for exceptions follows, in front of the rest. */
#define OLD_AUGMENTATION "eh"

static guint64
read_format (guint8 format, LuCursor *cursor)
{
  switch (format)
    {
    case PE_ABSPTR:
    case 0x04: /* udata8 */
    case 0x0c: /* sdata8 */
      return lu_cursor_u64 (cursor);
    case 0x01: /* uleb128 */
      return lu_cursor_uleb (cursor);
    case 0x02: /* udata2 */
      return lu_cursor_u16 (cursor);
    case 0x03: /* udata4 */
      return lu_cursor_u32 (cursor);
    case 0x09: /* sleb128 */
      return (guint64) lu_cursor_sleb (cursor);
    case 0x0a: /* sdata2 */
      return (guint64) (gint64) (gint16) lu_cursor_u16 (cursor);
    case 0x0b: /* sdata4 */
      return (guint64) (gint64) (gint32) lu_cursor_u32 (cursor);
    default:
      cursor->failed = TRUE;
      return 0;
    }
}

static guint64
place_of (const LuCfiBytes *section, const LuCursor *cursor)
{
  return section->vaddr + (guint64) (cursor->at - section->bytes);
}

/* Skips to where the address of the place is a multiple of 8; the pointer there is absolute. */
static void
align_cursor (const LuCfiBytes *section, LuCursor *cursor)
{
  lu_cursor_take (cursor, -place_of (section, cursor) & 7);
}

/* What a pointer of that encoding is relative to. */
static gboolean
find_base (const LuCfiBytes *section, guint64 function, guint8 encoding, guint64 place,
           guint64 *base)
{
  switch (encoding & PE_APPLICATION)
    {
    case 0:
    case PE_ALIGNED:
      *base = 0;
      return TRUE;
    case PE_PCREL:
      *base = place;
      return TRUE;
    case PE_TEXTREL:
      *base = section->text_base;
      return *base != 0;
    case PE_DATAREL:
      *base = section->data_base;
      return TRUE;
    case PE_FUNCREL:
      *base = function;
      return function != LU_CFI_NO_FUNCTION;
    default:
      return FALSE;
    }
}

gboolean
lu_cfi_read_pointer (const LuCfiBytes *section, guint64 function, guint8 encoding, LuCursor *cursor,
                     guint64 *value)
{
  gboolean is_aligned = (encoding & PE_APPLICATION) == PE_ALIGNED;
  guint64 base;

  if (encoding == PE_OMIT || (encoding & PE_INDIRECT) != 0
      || (is_aligned && (encoding & PE_FORMAT) != PE_ABSPTR)
      || !find_base (section, function, encoding, place_of (section, cursor), &base))
    return FALSE;
  if (is_aligned)
    align_cursor (section, cursor);
  *value = base + read_format (encoding & PE_FORMAT, cursor);
  return !cursor->failed;
}

/* The personality routine is not needed, only the place of what follows it. */
static gboolean
skip_personality (const LuCfiBytes *section, LuCursor *data)
{
  guint8 encoding = lu_cursor_u8 (data);

  if (encoding == PE_OMIT)
    return TRUE;
  if ((encoding & PE_APPLICATION) == PE_ALIGNED)
    align_cursor (section, data);
  read_format (encoding & PE_FORMAT, data);
  return !data->failed;
}

static LuCfiFault
parse_letters (LuCie *self, const LuCfiBytes *section, const char *letters, LuCursor *data)
{
  for (; *letters != '\0'; letters++)
    switch (*letters)
      {
      case 'L': /* language specific data: how its address in the FDE is encoded */
        lu_cursor_u8 (data);
        break;
      case 'R':
        self->pointer_encoding = lu_cursor_u8 (data);
        break;
      case 'P':
        if (!skip_personality (section, data))
          return LU_CFI_FAULT_ENCODING;
        break;
      case 'S':
        self->is_signal = TRUE;
        break;
      case 'B': /* which key signs return addresses */
      case 'G': /* the frame's memory is tagged */
        break;
      default:
        return LU_CFI_FAULT_AUGMENTATION;
      }
  return data->failed ? LU_CFI_FAULT_TRUNCATED : LU_CFI_FAULT_NONE;
}

static LuCfiFault
parse_augmentation (LuCie *self, const LuCfiBytes *section, const char *letters, LuCursor *cursor)
{
  LuCursor data;
  guint64 size;
  const guint8 *bytes;

  if (letters[0] == '\0' || strcmp (letters, OLD_AUGMENTATION) == 0)
    return LU_CFI_FAULT_NONE;
  if (letters[0] != 'z')
    return LU_CFI_FAULT_AUGMENTATION;
  self->is_sized = TRUE;
  size = lu_cursor_uleb (cursor);
  bytes = lu_cursor_take (cursor, size);
  if (bytes == NULL)
    return LU_CFI_FAULT_TRUNCATED;
  lu_cursor_init (&data, bytes, size);
  return parse_letters (self, section, letters + 1, &data);
}

static LuCfiFault
parse (LuCie *self, const LuCfiBytes *section, const LuTableArch *arch, LuCursor *cursor)
{
  guint8 version = lu_cursor_u8 (cursor);
  const char *letters = lu_cursor_string (cursor);
  guint64 column;
  LuCfiFault fault;

  if (version != 1 && version != 3 && version != 4)
    return LU_CFI_FAULT_VERSION;
  /* Size of an address, size of a segment selector. */
  if (version == 4 && (lu_cursor_u8 (cursor) != 8 || lu_cursor_u8 (cursor) != 0))
    return LU_CFI_FAULT_VERSION;
  if (strcmp (letters, OLD_AUGMENTATION) == 0)
    lu_cursor_u64 (cursor);
  self->code_align = lu_cursor_uleb (cursor);
  self->data_align = lu_cursor_sleb (cursor);
  column = version == 1 ? lu_cursor_u8 (cursor) : lu_cursor_uleb (cursor);
  fault = parse_augmentation (self, section, letters, cursor);
  if (fault != LU_CFI_FAULT_NONE)
    return fault;
  self->program = *cursor;
  if (cursor->failed)
    return LU_CFI_FAULT_TRUNCATED;
  self->return_column = (guint8) column;
  /* With a link register, some hand-written code keeps the return address in another one; a frame
   * pointer cannot be both. */
  return column == arch->ra || (arch->has_link_register && column < arch->sp && column != arch->fp)
             ? LU_CFI_FAULT_NONE
             : LU_CFI_FAULT_RETURN_COLUMN;
}

void
lu_cie_parse (LuCie *self, const LuCfiBytes *section, const LuTableArch *arch, LuCursor *cursor)
{
  *self = (LuCie){ .pointer_encoding = PE_ABSPTR };
  self->fault = parse (self, section, arch, cursor);
}
