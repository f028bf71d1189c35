/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* speed.h - how slow this machine is, for limits on work that are counted in CPU time.
 *
 * The work that such a limit has to leave room for, like reading the files of a program that
 * starts, takes a small or an emulated machine ten times as long. */

#pragma once

#include <glib.h>

#define LU_SLOWNESS_MAX 16

/* Returns how many times as long as on a usual server this machine needs for the same work, from 1
 * to LU_SLOWNESS_MAX. Measured at the first call, in less than a millisecond (on a slow machine
 * ten); other processes that use the CPUs do not count. Any thread. */
guint lu_machine_slowness (void);
