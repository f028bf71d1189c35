/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* source-inherited.h - samples of perf events that another program opened and passed to us, such as
 * a Sysprof client to its helper.
 *
 * The attributes of an event cannot be queried. Sysprof's client samples identifier, ip, task,
 * time, callchain, user registers and user stack, with all registers that DWARF names and a trailer
 * on every record (libsysprof, sysprof-user-sampler.c, versions 48 to 51). Events with other
 * attributes give records that are refused, counted and reported in LuSourceInfo.trouble. */

#pragma once

#include "per-cpu-events.h"

typedef struct
{
  GArray *events;     /* array of LuInheritedEvent; the descriptors are taken, also on failure */
  guint32 stack_size; /* bytes per sample that the events were opened with; determines the size of
                         the rings */
  gboolean own_sideband; /* open dummy events for side-band if allowed; otherwise it is read from
                            the inherited rings */
  gboolean any_file; /* accept files of any kind (tests); otherwise only events, and memory files
                        that are sealed against shrinking, with own_sideband */
} LuInheritedSourceOptions;

/* Maps the rings first, because samples taken before that are lost uncounted; then opens the
 * side-band. start() and stop() leave the events alone; their owner starts and stops them. */
LuSource *lu_source_inherited_new (const LuInheritedSourceOptions *options, GError **error);
