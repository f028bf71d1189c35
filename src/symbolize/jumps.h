/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* jumps.h - where code goes on outside itself; used by tail-graph.c.
 *
 * The bytes are hostile; the decoder takes any. One thread. */

#pragma once

#include <glib.h>

typedef enum
{
  LU_JUMP_DIRECT,   /* target: where to */
  LU_JUMP_SLOT,     /* target: the address of the word that it goes through */
  LU_JUMP_INDIRECT, /* through another pointer, so to some function */
  LU_JUMP_TABLE,    /* through a table, of a switch or of functions; target: the address of a table
                       of addresses, or 0 */
  LU_JUMP_UNKNOWN,  /* from here on the bytes are no code */
} LuJumpKind;

typedef struct
{
  LuJumpKind kind;
  guint64 from; /* ELF address of the instruction */
  guint64 target;
} LuJump;

/* Code at an ELF address. */
typedef struct
{
  const guint8 *bytes; /* borrowed */
  gsize size;
  guint64 address;
} LuCodePiece;

/* Called for each jump; FALSE ends it. */
typedef gboolean (*LuJumpFunc) (const LuJump *jump, gpointer user_data);

/* Calls `func` for each jump out of the piece, in the order of their addresses. Linear in its size.
 * lu_decoder_load() has to have succeeded. */
void lu_jumps_each (const LuCodePiece *piece, LuJumpFunc func, gpointer user_data);
