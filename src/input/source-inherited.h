/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* source-inherited.h - samples of perf events that somebody else opened and handed over: what a
 * Sysprof client gives to its helper.
 *
 * The attributes of an event cannot be asked for. Sysprof's client samples identifier, ip, task,
 * time, callchain, user registers and user stack, with all registers that DWARF names and a trailer
 * on every record (libsysprof, sysprof-user-sampler.c, 48 to 51); events with others give records
 * that are refused, counted and told as LuSourceInfo.trouble. */

#pragma once

#include "input/lanes.h"
#include "input/source.h"

typedef struct
{
  GArray *events;     /* of LuHandedEvent; the descriptors are taken, also on failure */
  guint32 stack_size; /* bytes per sample, as the events were opened with; for the size of rings */
  gboolean own_sideband; /* open dummy events for side-band where that is allowed; else it is read
                            from the handed rings */
  gboolean any_file;     /* take files of any kind (tests); else only events, and memory files that
                            are sealed against shrinking, with own_sideband */
} LuInheritedSourceOptions;

/* Maps the rings first: what is sampled before that has no place to go and is lost uncounted. Then
 * opens the side-band. start() and stop() leave the events as they are; their owner does that. */
LuSource *lu_source_inherited_new (const LuInheritedSourceOptions *options, GError **error);
