/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* cie.c - parses common information entries; see cie.h.
 *
 * DWARF 5, 6.4.1; LSB Core, 10.5 (DW_EH_PE_*), 10.6 (.eh_frame); augmentations 'B' and 'G': DWARF
 * for the Arm 64-bit Architecture, 5.3. */

#include "table/cie.h"

#include "base/leb128.h"

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

/* Written by gcc 2: the address of an exception table precedes the rest. */
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

/* Skips to an address that is a multiple of 8, for an absolute pointer. */
static void
align_cursor (const LuCfiBytes *section, LuCursor *cursor)
{
  lu_cursor_take (cursor, -place_of (section, cursor) & 7);
}

/* Determines the base of a pointer with that encoding. */
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

/* Only the position after the personality routine is needed. */
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

static LuCfiError
parse_letters (LuCie *self, const LuCfiBytes *section, const char *letters, LuCursor *data)
{
  for (; *letters != '\0'; letters++)
    switch (*letters)
      {
      case 'L': /* encoding of the address of language specific data in the FDE */
        lu_cursor_u8 (data);
        break;
      case 'R':
        self->pointer_encoding = lu_cursor_u8 (data);
        break;
      case 'P':
        if (!skip_personality (section, data))
          return LU_CFI_ERROR_ENCODING;
        break;
      case 'S':
        self->is_signal = TRUE;
        break;
      case 'B': /* the key that signs return addresses */
      case 'G': /* the frame's memory is tagged */
        break;
      default:
        return LU_CFI_ERROR_AUGMENTATION;
      }
  return data->failed ? LU_CFI_ERROR_TRUNCATED : LU_CFI_ERROR_NONE;
}

static LuCfiError
parse_augmentation (LuCie *self, const LuCfiBytes *section, const char *letters, LuCursor *cursor)
{
  LuCursor data;
  guint64 size;
  const guint8 *bytes;

  if (letters[0] == '\0' || strcmp (letters, OLD_AUGMENTATION) == 0)
    return LU_CFI_ERROR_NONE;
  if (letters[0] != 'z')
    return LU_CFI_ERROR_AUGMENTATION;
  self->is_sized = TRUE;
  size = lu_cursor_uleb (cursor);
  bytes = lu_cursor_take (cursor, size);
  if (bytes == NULL)
    return LU_CFI_ERROR_TRUNCATED;
  lu_cursor_init (&data, bytes, size);
  return parse_letters (self, section, letters + 1, &data);
}

static LuCfiError
parse (LuCie *self, const LuCfiBytes *section, const LuArch *arch, LuCursor *cursor)
{
  guint8 version = lu_cursor_u8 (cursor);
  const char *letters = lu_cursor_string (cursor);
  guint64 column;
  LuCfiError cfi_error;

  if (version != 1 && version != 3 && version != 4)
    return LU_CFI_ERROR_VERSION;
  /* Size of an address and size of a segment selector. */
  if (version == 4 && (lu_cursor_u8 (cursor) != 8 || lu_cursor_u8 (cursor) != 0))
    return LU_CFI_ERROR_VERSION;
  if (strcmp (letters, OLD_AUGMENTATION) == 0)
    lu_cursor_u64 (cursor);
  self->code_align = lu_cursor_uleb (cursor);
  self->data_align = lu_cursor_sleb (cursor);
  column = version == 1 ? lu_cursor_u8 (cursor) : lu_cursor_uleb (cursor);
  cfi_error = parse_augmentation (self, section, letters, cursor);
  if (cfi_error != LU_CFI_ERROR_NONE)
    return cfi_error;
  self->program = *cursor;
  if (cursor->failed)
    return LU_CFI_ERROR_TRUNCATED;
  self->return_column = (guint8) column;
  /* If there is a link register, some hand-written code keeps the return address in another one,
   * but never in the frame pointer. */
  return column == arch->ra || (arch->has_link_register && column < arch->sp && column != arch->fp)
             ? LU_CFI_ERROR_NONE
             : LU_CFI_ERROR_RETURN_COLUMN;
}

void
lu_cie_parse (LuCie *self, const LuCfiBytes *section, const LuArch *arch, LuCursor *cursor)
{
  *self = (LuCie){ .pointer_encoding = PE_ABSPTR };
  self->cfi_error = parse (self, section, arch, cursor);
}
