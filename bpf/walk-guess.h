/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* walk-guess.h - the turn for code without unwind information. */

#pragma once

#include "host.h"
#include "walk-rare.h"

HOST_TURN int
walk_guess (uint32_t cpu)
{
  struct walk *walk = host_walk (cpu);

  if (walk == NULL)
    return GIVE_UP (INTERNAL);
  return walk->place.kind == LU_BPF_MAPPING_TABLE ? GIVE_UP (NO_RULE) : GIVE_UP (GUESS);
}
