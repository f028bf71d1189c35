/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* compare.h - all deciders and the truth, at one stop of one thread. */

#pragma once

#include "tally.h"

typedef struct
{
  const DeciderList *deciders;
  Code *code;
  Memory *memory;
  Tally *tally;
} Comparison;

/* Compares at most `max_frames` frames of a thread that stands at `place` with `now`, from the
 * innermost one up to where the truth ends. A decider that was wrong takes no further part. */
void compare_stack (const Comparison *self, const Shadow *shadow, const Registers *now,
                    Place *place, guint max_frames);
