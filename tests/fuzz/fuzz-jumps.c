/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* fuzz-jumps.c - arbitrary code: each jump is in the piece, after the one before, and leads out. */

#include "code/decoder.h"
#include "fuzz.h"
#include "symbolize/jumps.h"

typedef struct
{
  LuCodePiece piece;
  guint64 next; /* the lowest address that the next jump may have */
  guint left;
} Check;

static gboolean
check (const LuJump *jump, gpointer user_data)
{
  Check *self = user_data;

  g_assert_cmpuint (self->left--, >, 0);
  g_assert_cmpuint (jump->from, >=, self->next);
  g_assert_cmpuint (jump->from - self->piece.address, <, self->piece.size);
  g_assert_cmpuint (jump->kind, <=, LU_JUMP_UNKNOWN);
  if (jump->kind == LU_JUMP_DIRECT)
    g_assert_cmpuint (jump->target - self->piece.address, >=, self->piece.size);
  self->next = jump->from + 1;
  return self->left > 0;
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  /* The last byte is how many jumps are wanted. */
  Check self = { .piece = { data, size > 0 ? size - 1 : 0, 0x1000 }, .next = 0x1000 };

  if (size < 2 || !lu_decoder_load ())
    return 0;
  self.left = data[size - 1] + 1u;
  lu_jumps_each (&self.piece, check, &self);
  return 0;
}
