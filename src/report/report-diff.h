/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* report-diff.h - compares two recordings by function, or by chain of functions.
 *
 * Shares are percentages of the samples of a recording; their differences are points. */

#pragma once

#include "report-profile.h"

typedef struct _LuDiff LuDiff;

/* Both profiles have to outlive it. */
LuDiff *lu_diff_new (const LuProfile *a, const LuProfile *b);
void lu_diff_free (LuDiff *self);
/* Prints the functions whose share changed most, at most `limit`. */
void lu_diff_print (const LuDiff *self, guint limit);
/* Prints all functions. */
void lu_diff_print_json (const LuDiff *self);
/* Fails with LU_ERROR_CHANGED if the share of a function, by self or by total, grew by more than
 * this; the message names the one that grew most. */
gboolean lu_diff_check (const LuDiff *self, double points, GError **error);
/* Prints the call trees of both as one, without the parts that changed by less than this. */
void lu_diff_print_tree (const LuProfile *a, const LuProfile *b, double min_points);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuDiff, lu_diff_free)
