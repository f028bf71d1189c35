/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* walk.h - one walk under way, as the parts of the walker share it.
 *
 * walker.c starts and ends it. walk-compact.c makes the steps of compact rules and copies frames of
 * the thread's last stack. walk-frame.c makes all other steps and decides how walks end. */

#pragma once

#include "module/code-reader.h"
#include "unwind/frame-pointer-step.h"
#include "unwind/memo.h"
#include "unwind/address-space-cache.h"

typedef struct
{
  const LuArch *arch;
  const LuSample *sample;
  LuAddressSpaceView *view;
  LuRuleCache *rules;
  LuMemo *memo;
  LuSetUpCode *set_up;
  LuFpStepFacts *facts;
  LuStack *stack;
  struct lu_copy copy;
  struct lu_regs regs;  /* of the next frame, which is not in the stack yet */
  LuMemoFrame *frame;   /* the same frame in the memo; NULL if it is not a caller */
  LuCodeReader *reader; /* NULL: files must not be touched */
  gint32 pid;           /* for the reader */
  guint32 top; /* words on top of the stack that were refuted as the leaf's return address */
  LuCutOffWalk cut_off;   /* of those from the top */
  guint64 failed_address; /* address of the last failed read */
  LuProviderState provider_state;
  gboolean is_off_copy;       /* the interrupted stack is not in the copy */
  gboolean is_at_absent_page; /* the walk ended where the copy ended early */
  gboolean has_lost_fp;       /* some frame's FP or BX may be that of a catching frame */
  gboolean is_inferred;       /* the next frame is inferred */
  gboolean is_derived;        /* the next frame was found by a row that is not from CFI */
  gboolean has_inferred;      /* some frame is inferred */
  gboolean is_from_top;       /* the leaf's return address was taken from the top of the stack */
  gboolean is_refuted;        /* the stack is not complete, so that was wrong */
} LuWalk;

typedef enum
{
  LU_WALK_ON,   /* continue with the next frame */
  LU_WALK_DONE, /* the stack is finished */
  LU_WALK_LEFT, /* the worker must unwind the sample */
} LuWalkResult;

/* Makes compact steps as far as they go. ON: the next frame is for lu_walk_frame(). */
LuWalkResult lu_walk_compact (LuWalk *self);
/* Asks for rows for the code of a file without CFI. FOUND: there are, now; UNKNOWN: only the
 * worker may ask, or they have yet to come. */
LuProviderResult lu_walk_ask_for_rows (LuWalk *walk, const LuDwflMapping *mapping, guint64 lookup,
                                       struct lu_rule *rule);
/* Makes any one step. */
LuWalkResult lu_walk_frame (LuWalk *self);

/* Returns the flags of the next frame, and clears is_inferred and is_derived. */
static inline guint32
lu_walk_take_flags (LuWalk *self, gboolean is_caller)
{
  guint32 flags = is_caller ? LU_FRAME_RETURN_ADDRESS : 0;

  if (G_UNLIKELY (self->is_inferred))
    flags |= LU_FRAME_INFERRED;
  if (G_UNLIKELY (self->is_derived))
    flags |= LU_FRAME_DERIVED;
  self->is_inferred = self->is_derived = FALSE;
  return flags;
}
