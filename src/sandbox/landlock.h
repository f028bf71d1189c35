/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* landlock.h - limits where files are written, with Landlock (Linux 5.13). */

#pragma once

#include <glib.h>

/* From now on this thread and those that it starts create, change and remove files only in the
 * directories among `paths` (NULL-terminated) and below them, write to the other files among them,
 * and execute nothing; from Linux 6.7 they use no TCP. Reading is not limited. A path may be
 * missing; it counts for nothing. Sets errno on failure. A kernel without Landlock limits nothing,
 * which is no failure. Requires no_new_privs. */
gboolean lu_landlock_restrict_writing (const char *const *paths);
