/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* row-list.h - rows and starts of functions of some code, put together with those of other code. */

#pragma once

#include "table/extra-rows.h"

/* Parts of LuExtraRows; the rules are elsewhere. */
typedef struct
{
  GArray *rows;   /* of LuExtraRow, ascending */
  GArray *starts; /* of guint64, ascending */
} LuRowList;

LuRowList lu_row_list_new (void);
void lu_row_list_clear (LuRowList *self); /* one that is zeroed is allowed */
/* Adds rows behind those that are there. */
void lu_row_list_append (LuRowList *self, const GArray *rows, const GArray *starts);
/* Adds the rows of `over`, and where these say nothing, those of `under`. `self` is empty. Linear
 * in their size. */
void lu_row_list_overlay (LuRowList *self, const LuRowList *over, const LuRowList *under);

/* Removes starts at places for which `home` has the same rule, but no start: they are in the middle
 * of a function, to which other code leads. */
void lu_row_list_drop_inner_starts (LuRowList *self, const LuRowList *home);

/* The rule of a place of which lists say different things. */
#define LU_ROW_DISPUTED G_MAXUINT32

/* Like lu_row_list_overlay(), for lists that know as much as each other: places on which they do
 * not agree are LU_ROW_DISPUTED. */
void lu_row_list_unite (LuRowList *self, const LuRowList *one, const LuRowList *other);
/* Takes the rows of places that are LU_ROW_DISPUTED away. */
void lu_row_list_settle (LuRowList *self);
