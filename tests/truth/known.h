/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* known.h - expected differences, each with its reason (known.txt). */

#pragma once

#include "tally.h"

typedef struct _Known Known;

/* Lines of the form "DECIDER | VERDICT | MODULE | FUNCTION | RULE | REASON"; all fields but the
 * last may have * and ? as in file names, and # starts a comment. Not every machine has symbols of
 * libraries, but all have the rules. */
Known *known_load (const char *path, GError **error);
void known_free (Known *self);
/* Returns the reason, borrowed; NULL if the difference is not listed. */
const char *known_reason (const Known *self, const DeciderList *deciders,
                          const Difference *difference);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Known, known_free)
