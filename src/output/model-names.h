/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* model-names.h - gives the frames of a model their functions.
 *
 * Names come from the capture itself if it has them (__symbols__, /proc/kallsyms, JITMAP), else
 * from the files of this machine, each read once, else from files that servers have
 * (model->debuginfod). */

#pragma once

#include "output/model.h"

typedef enum
{
  LU_NAMES_CAPTURE_ONLY = 1 << 0, /* open no files of this machine */
} LuModelNamesFlags;

/* Fills model->functions, and the number of its function into each frame. Frames without a symbol
 * share one function per file, "(no symbol)". */
void lu_model_name (LuModel *model, LuModelNamesFlags flags);
