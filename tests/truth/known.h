/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* known.h - differences that are expected, each with its reason (known.txt). */

#pragma once

#include "tally.h"

typedef struct _Known Known;

/* Lines "DECIDER | VERDICT | MODULE | FUNCTION | RULE | REASON", all but the last with * and ? as
 * in file names; # begins a comment. Symbols of libraries are not on every machine; rules are. */
Known *known_load (const char *path, GError **error);
void known_free (Known *self);
/* The reason, borrowed; NULL if the difference is not listed. */
const char *known_reason (const Known *self, const DeciderList *deciders,
                          const Difference *difference);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Known, known_free)
