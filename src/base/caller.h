/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* caller.h - on whose behalf this program runs: its user as it was started, who owns its files. A
 * recorder that root started becomes another user later (sandbox/sandbox.h). Any thread. */

#pragma once

#include <glib.h>
#include <sys/types.h>

/* Notes the effective user; main() does so first. */
void lu_caller_note (void);
uid_t lu_caller_uid (void);
/* Returns whether a user called sudo to run us as root, and who. */
gboolean lu_caller_of_sudo (uid_t *uid, gid_t *gid);
/* Returns whether a file of that owner belongs to us or to the user who called sudo. */
gboolean lu_caller_owns (uid_t owner);
