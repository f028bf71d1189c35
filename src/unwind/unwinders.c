/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* unwinders.c - the engines of this build; see unwinder.h. */

#include "unwind/unwinder.h"

const LuUnwinderOps *const lu_unwinders[] = { &lu_unwinder_table, &lu_unwinder_dwfl,
                                              &lu_unwinder_check, NULL };
