/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* decode.c - decodes prefixes, one opcode, and ModRM where it belongs to a call or jump (Intel SDM
 * volume 2, chapter 2 and appendix A). VEX and EVEX instructions are neither, and start with bytes
 * that are not prefixes here. */

#include "decode.h"

static gboolean
is_prefix (guint8 byte)
{
  switch (byte)
    {
    case 0x26:
    case 0x2e:
    case 0x36:
    case 0x3e:
    case 0x64:
    case 0x65:
    case 0x66:
    case 0x67:
    case 0xf2:
    case 0xf3:
      return TRUE;
    default:
      return byte >= 0x40 && byte <= 0x4f; /* REX */
    }
}

/* Returns the bytes of ModRM with its SIB byte and displacement; 0 if truncated. */
static guint
modrm_length (const guint8 *bytes, gsize size)
{
  guint mod, rm, base, length = 1;

  if (size < 1)
    return 0;
  mod = bytes[0] >> 6;
  rm = bytes[0] & 7;
  if (mod == 3)
    return 1;
  base = rm;
  if (rm == 4)
    {
      if (size < 2)
        return 0;
      base = bytes[1] & 7;
      length++;
    }
  if (mod == 1)
    length += 1;
  else if (mod == 2 || base == 5)
    length += 4;
  return length <= size ? length : 0;
}

/* Opcode ff: /2 is a near call, /4 a near jump. */
static Instruction
decode_group_5 (const guint8 *bytes, gsize size, guint n_before)
{
  guint length = modrm_length (bytes, size);
  guint operation = length > 0 ? (bytes[0] >> 3) & 7 : 0;

  if (operation == 2)
    return (Instruction){ INSTRUCTION_CALL, (guint8) (n_before + length) };
  return (Instruction){ operation == 4 ? INSTRUCTION_JUMP : INSTRUCTION_OTHER, 0 };
}

static Instruction
decode_two_bytes (const guint8 *bytes, gsize size)
{
  if (size >= 1 && bytes[0] == 0x05)
    return (Instruction){ INSTRUCTION_SYSCALL, 0 };
  if (size >= 1 && (bytes[0] & 0xf0) == 0x80)
    return (Instruction){ INSTRUCTION_JUMP, 0 };
  return (Instruction){ INSTRUCTION_OTHER, 0 };
}

/* mov to %rsp. `bytes` starts with the opcode, `rex` is 0 if there is none. */
static gboolean
moves_stack (const guint8 *bytes, gsize size, guint8 rex)
{
  if (size < 2 || (rex & 8) == 0)
    return FALSE;
  if (bytes[0] == 0x8b)
    return (bytes[1] >> 3 & 7) == 4 && (rex & 4) == 0;
  return bytes[0] == 0x89 && bytes[1] >> 6 == 3 && (bytes[1] & 7) == 4 && (rex & 1) == 0;
}

Instruction
instruction_decode (const guint8 *bytes, gsize size)
{
  gsize at = 0;

  while (at < size && is_prefix (bytes[at]))
    at++;
  if (at >= size)
    return (Instruction){ INSTRUCTION_OTHER, 0 };
  switch (bytes[at])
    {
    case 0xe8:
      return (Instruction){ at + 5 <= size ? INSTRUCTION_CALL : INSTRUCTION_OTHER,
                            (guint8) (at + 5) };
    case 0xff:
      return decode_group_5 (bytes + at + 1, size - at - 1, (guint) at + 1);
    case 0xc2:
    case 0xc3:
      return (Instruction){ INSTRUCTION_RETURN, 0 };
    case 0x89:
    case 0x8b:
      return (Instruction){ moves_stack (bytes + at, size - at, at > 0 ? bytes[at - 1] : 0)
                                ? INSTRUCTION_MOVE_STACK
                                : INSTRUCTION_OTHER,
                            0 };
    case 0x0f:
      return decode_two_bytes (bytes + at + 1, size - at - 1);
    case 0xe0:
    case 0xe1:
    case 0xe2:
    case 0xe3:
    case 0xe9:
    case 0xeb:
      return (Instruction){ INSTRUCTION_JUMP, 0 };
    default:
      return (Instruction){ (bytes[at] & 0xf0) == 0x70 ? INSTRUCTION_JUMP : INSTRUCTION_OTHER, 0 };
    }
}
