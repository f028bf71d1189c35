/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* located.h - a sample, or a stack that BPF unwound, with the process and the address space it
 * belongs to. */

#pragma once

#include "lu/event.h"
#include "process/process.h"

/* All borrowed. The address space is the version of the event's time. */
typedef struct
{
  const LuEvent *event;
  LuProcess *process;
  LuAddressSpace *space;
} LuLocatedEvent;
