/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* compare.h - compares all deciders with the truth, at one stop of one thread. */

#pragma once

#include "tally.h"

typedef struct
{
  const DeciderList *deciders;
  Code *code;
  Memory *memory;
  Tally *tally;
} Comparison;

/* Compares at most `max_frames` frames of a thread that is at `place` with the registers `now`,
 * from the innermost one to the end of the truth. A decider that was wrong does not continue. */
void compare_stack (const Comparison *self, const Shadow *shadow, const Registers *now,
                    Place *place, guint max_frames);
