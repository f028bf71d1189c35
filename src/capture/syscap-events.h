/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* syscap-events.h - the events of a recording, as the metadata of a capture describes them.
 *
 * A recording with one event, sampled at a frequency, has its name and the frequency as metadata.
 * Any other recording also has LU_SYSCAP_KEY_EVENTS with a line "UNIT WEIGHT NAME" for each event.
 * WEIGHT is "each" if every sample has a weight of its own. */

#pragma once

#include "lu/sample.h"

#include <glib.h>

typedef struct _LuSyscapEvents LuSyscapEvents;

LuSyscapEvents *lu_syscap_events_new (void);
void lu_syscap_events_free (LuSyscapEvents *self);

/* Reads one piece of metadata; ignores unknown keys. Only the first description counts. */
void lu_syscap_events_take (LuSyscapEvents *self, const char *key, const char *text);

/* Returns how many there are: at least one. */
guint lu_syscap_events_size (const LuSyscapEvents *self);
/* Returns an event, or the first one if there is no such index. Valid until the next take(). */
const LuEventInfo *lu_syscap_events_get (const LuSyscapEvents *self, guint index);

/* Returns the text of LU_SYSCAP_KEY_EVENTS, owned by the caller; NULL if it is not needed. */
char *lu_syscap_events_describe (const LuEventInfo *events, guint n_events, double frequency);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuSyscapEvents, lu_syscap_events_free)
