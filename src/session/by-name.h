/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* by-name.h - the running processes of a name, for --name. Main thread, before recording. */

#pragma once

#include <glib.h>

/* Returns the processes (pid_t) whose program or kernel name is one of `names`; of a name that
 * nobody has, those whose name contains it, in any case. Never this process, and none that has
 * ended. Owned by the caller; may be empty. */
GArray *lu_find_by_name (char **names);
