/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* model-lines.h - gives the frames of a model their source lines, and adds inlined functions.
 *
 * Lines come from the DWARF of files of this machine (symbolize/lines.h). Files with the most
 * samples come first. */

#pragma once

#include "model.h"

typedef enum
{
  LU_MODEL_LINES = 1 << 0,   /* find lines */
  LU_MODEL_INLINES = 1 << 1, /* make inlined functions frames of their own */
} LuModelLinesFlags;

/* Fills in the files and lines of frames (with either flag), where functions are defined, and
 * without_lines of modules; to be called after lu_model_name(). With LU_MODEL_INLINES, the frames
 * of inlined functions are between the frame with the code and its callees. */
void lu_model_add_lines (LuModel *model, LuModelLinesFlags flags);
/* Makes each line of a function a function of its own, for outputs that show only functions. */
void lu_model_split_lines (LuModel *model);
/* Returns a translated line, owned by the caller, about files without lines for lack of time or
 * memory, and the share of frames in them; NULL if there are none. */
char *lu_model_lines_left_out (const LuModel *model);
