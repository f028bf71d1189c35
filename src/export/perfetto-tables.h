/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* perfetto-tables.h - packets of a Perfetto trace, and those with what samples refer to; used by
 * format-perfetto.c. */

#pragma once

#include "perfetto.pb-c.h"
#include "profile/model.h"
#include "stream.h"

typedef struct
{
  const LuModel *model;
  LuStream *stream;
  gboolean has_begun; /* a packet was written */
} LuPerfetto;

/* Writes a packet as one of our sequence. The first one begins it. */
void lu_perfetto_write (LuPerfetto *self, Lu__Perfetto__TracePacket *packet);

/* Writes names, files, frames, stacks, threads and events. Their numbers are those of the model
 * plus 1; those of stacks are the numbers of nodes. */
void lu_perfetto_write_tables (LuPerfetto *self);
