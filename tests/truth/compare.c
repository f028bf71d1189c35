/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* compare.c - the deciders walk up side by side, each with the registers that it computed itself.
 */

#include "compare.h"

typedef struct
{
  Registers registers; /* of the next frame */
  gboolean is_out;
  Verdict verdict;
  guint64 truth, answer; /* what differed, if the verdict is wrong */
} Walk;

static gboolean
is_known (const Registers *registers, guint number)
{
  return (registers->known >> number & 1) != 0;
}

static gboolean
differs (Walk *self, const Registers *caller, guint number, guint64 truth, Verdict verdict)
{
  if (!is_known (caller, number) || caller->value[number] == truth)
    return FALSE;
  self->verdict = verdict;
  self->truth = truth;
  self->answer = caller->value[number];
  return TRUE;
}

static void
judge_caller (Walk *self, const Caller *truth, const Registers *caller)
{
  gboolean is_interrupted = caller->kind == FRAME_INTERRUPTED;

  self->verdict = VERDICT_RIGHT;
  if (differs (self, caller, REGISTER_RSP, truth->sp, VERDICT_CFA)
      || differs (self, caller, REGISTER_PC, truth->pc, VERDICT_RETURN_ADDRESS))
    return;
  if (is_interrupted != truth->is_interrupted)
    {
      self->verdict = VERDICT_SIGNAL;
      self->truth = (guint64) truth->is_interrupted;
      self->answer = (guint64) is_interrupted;
      return;
    }
  if (differs (self, caller, REGISTER_RBP, truth->fp, VERDICT_FP)
      || differs (self, caller, REGISTER_RBX, truth->bx, VERDICT_BX))
    return;
  if (!is_known (caller, REGISTER_RBP) || !is_known (caller, REGISTER_RBX))
    self->verdict = VERDICT_PARTLY;
}

/* `truth` is NULL for the outermost frame. */
static void
judge (Walk *self, const Caller *truth, Answer answer, const Registers *caller)
{
  self->truth = truth != NULL ? truth->pc : 0;
  self->answer = answer == ANSWER_CALLER ? caller->value[REGISTER_PC] : 0;
  switch (answer)
    {
    case ANSWER_CALLER:
      if (truth != NULL)
        judge_caller (self, truth, caller);
      else
        self->verdict = VERDICT_END;
      break;
    case ANSWER_OUTERMOST:
      self->verdict = truth == NULL ? VERDICT_RIGHT : VERDICT_END;
      break;
    case ANSWER_NOTHING:
      self->verdict = truth != NULL ? VERDICT_NOTHING : VERDICT_NO_END;
      break;
    case ANSWER_UNSUPPORTED:
      self->verdict = VERDICT_LEFT;
      break;
    case ANSWER_FAILED:
      self->verdict = VERDICT_FAILED;
      break;
    }
}

static void
walk_step (const Comparison *self, Walk *walk, guint decider, Place *place, const Caller *truth)
{
  gpointer rule = place_rule (place, self->deciders, decider);
  Registers caller;
  Answer answer = ANSWER_NOTHING;

  if (rule != NULL)
    answer = self->deciders->at[decider]->step (rule, &walk->registers, self->memory, &caller);
  judge (walk, truth, answer, &caller);
  walk->is_out = answer != ANSWER_CALLER || verdict_is_wrong (walk->verdict);
  if (!walk->is_out)
    walk->registers = caller;
}

/* Decider 0 is libdw: where libdw is right, no decider may be wrong or know nothing. */
static void
record (const Comparison *self, const Walk *walks, guint decider, const Place *place,
        FrameKind kind)
{
  const Walk *walk = &walks[decider];
  gboolean is_worse = decider > 0 && walks[0].verdict == VERDICT_RIGHT
                      && (verdict_is_wrong (walk->verdict) || walk->verdict == VERDICT_NOTHING);
  Difference difference = {
    .decider = decider,
    .verdict = walk->verdict,
    .place = place,
    .truth = walk->truth,
    .answer = walk->answer,
    .kind = kind,
    .is_worse = is_worse,
  };

  tally_add (self->tally, decider, walk->verdict);
  if (walks[0].verdict == VERDICT_RIGHT
      && (walk->verdict == VERDICT_LEFT || walk->verdict == VERDICT_PARTLY))
    self->tally->n_less[decider]++;
  if (walk->verdict != VERDICT_RIGHT)
    tally_add_difference (self->tally, &difference);
}

static void
compare_frame (const Comparison *self, Walk *walks, Place *place, const Caller *truth,
               FrameKind kind)
{
  gboolean takes_part[MAX_DECIDERS];

  for (guint i = 0; i < self->deciders->n; i++)
    {
      takes_part[i] = !walks[i].is_out;
      if (takes_part[i])
        walk_step (self, &walks[i], i, place, truth);
      else
        walks[i].verdict = VERDICT_NOTHING;
    }
  for (guint i = 0; i < self->deciders->n; i++)
    if (takes_part[i])
      record (self, walks, i, place, kind);
}

void
compare_stack (const Comparison *self, const Shadow *shadow, const Registers *now, Place *place,
               guint max_frames)
{
  Walk walks[MAX_DECIDERS] = { 0 };
  FrameKind kind = FRAME_RUNNING;

  for (guint i = 0; i < self->deciders->n; i++)
    walks[i].registers = *now;
  for (guint depth = 0; depth < max_frames && place != NULL; depth++)
    {
      const Caller *truth = shadow_caller (shadow, depth);

      if (truth == NULL && !shadow->is_whole)
        break;
      compare_frame (self, walks, place, truth, kind);
      self->tally->n_frames++;
      if (truth == NULL)
        break;
      kind = truth->is_interrupted ? FRAME_INTERRUPTED : FRAME_CALLING;
      place = code_find (self->code, truth->pc - (kind == FRAME_CALLING ? 1 : 0));
    }
}
