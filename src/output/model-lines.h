/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* model-lines.h - gives the frames of a model their source lines, and the functions that were
 * inlined there.
 *
 * From the DWARF of files of this machine (symbolize/lines.h), those with most samples first. */

#pragma once

#include "output/model.h"

typedef enum
{
  LU_MODEL_LINES = 1 << 0,   /* lines are asked for */
  LU_MODEL_INLINES = 1 << 1, /* inlined functions become frames of their own */
} LuModelLinesFlags;

/* After lu_model_name(). Fills in files and lines of frames (with either flag), where functions are
 * defined, and without_lines of modules. With LU_MODEL_INLINES, frames of what was inlined stand
 * between the frame with the code and what that calls. */
void lu_model_add_lines (LuModel *model, LuModelLinesFlags flags);
/* Makes one function of each line of a function, for what shows nothing but functions. */
void lu_model_split_lines (LuModel *model);
/* What has no lines for want of time or memory, and the share of frames in it, as a line of text;
 * NULL: nothing. Owned by the caller. */
char *lu_model_lines_left_out (const LuModel *model);
