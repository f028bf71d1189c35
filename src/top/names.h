/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* names.h - the functions of a model that grows.
 *
 * Addresses in a function that is known already cost a search; all others wait for their file to be
 * read (symbolize/namer.h), which costs a bounded share of the time: files with the most unnamed
 * samples come first, and their waiting addresses are one function until then. One thread. */

#pragma once

#include "profile/model.h"

typedef struct _LuTopNames LuTopNames;

typedef struct
{
  char *name;         /* owned */
  const char *module; /* base name of the file, "kernel", "[module]", "" */
} LuTopFunction;

/* progress: called many times a second while files are read; its result does not matter. */
LuTopNames *lu_top_names_new (gboolean full_names, LuNamerProgress progress, gpointer user_data);
void lu_top_names_free (LuTopNames *self);

/* Takes the frames that the model got since, or all of them if `generation` is another one. */
void lu_top_names_update (LuTopNames *self, const LuModel *model, guint generation);
/* Reads files in the order of `totals`, the samples of each function, as long as the time for it
 * lasts. Returns how many samples waited for them. */
guint64 lu_top_names_run (LuTopNames *self, const guint64 *totals);

/* Functions are numbered from 1. */
guint lu_top_names_n_functions (const LuTopNames *self);
const LuTopFunction *lu_top_names_function (const LuTopNames *self, guint32 function);
/* Returns the function of a frame; 0: it stands for no code. */
guint32 lu_top_names_of_frame (const LuTopNames *self, guint32 frame);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuTopNames, lu_top_names_free)
