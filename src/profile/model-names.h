/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* model-names.h - gives the frames of a model their functions.
 *
 * Names come from the capture itself if it has them (__symbols__, /proc/kallsyms, JITMAP), or else
 * from symbolize/namer.h. */

#pragma once

#include "model.h"

typedef enum
{
  LU_NAMES_CAPTURE_ONLY = 1 << 0, /* open no files of this machine */
} LuModelNamesFlags;

/* Fills in model->functions, and the number of its function in each frame. Functions are told apart
 * by file and start, those without a symbol are named by it (place-names.h). */
void lu_model_name (LuModel *model, LuModelNamesFlags flags);
