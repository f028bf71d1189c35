/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* decide-list.h - the deciders of a run, in the order of their counters. */

#pragma once

#include "decider.h"

typedef struct
{
  const Decider *at[MAX_DECIDERS]; /* borrowed */
  guint n;
} DeciderList;
