/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* python-tasks.h - recognizes where CPython's asyncio has its tasks. From 3.14 on its module
 * _asyncio says so in a section, which is in the interpreter's file or in a file of its own. */

#pragma once

#include "interp/language.h"

/* Fills in `tasks`. Returns FALSE, and leaves it alone, if the file does not say. Trusts no byte of
 * it. */
gboolean lu_python_tasks_read (const LuInterpInput *file, struct lu_python_tasks *tasks);
