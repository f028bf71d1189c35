/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* code-paths.h - follows all paths through a few KiB of code, branches and loops included.
 *
 * The bytes are hostile. lu_decoder_load() has to have succeeded. Any thread. */

#pragma once

#include "code/decoder.h"

#define LU_CODE_PATHS_BYTES 8192
#define LU_CODE_PATHS_MAX   64

/* Called once for each instruction that is reached. FALSE: its path cannot be followed. */
typedef gboolean (*LuCodePathsFunc) (const LuOp *op, gpointer user_data);

typedef struct
{
  const guint8 *bytes; /* borrowed */
  guint size;          /* of these, at most LU_CODE_PATHS_BYTES */
  guint64 start;       /* the address of the first one */
  guint max_ops;       /* instructions */
  guint max_paths;     /* that wait, at most LU_CODE_PATHS_MAX */
  LuCodePathsFunc func;
  gpointer user_data;
  /* 0 at first: */
  guint n_ops, n_paths;
  guint16 paths[LU_CODE_PATHS_MAX];     /* offsets */
  guint8 seen[LU_CODE_PATHS_BYTES / 8]; /* a bit for each byte at which an instruction begins */
} LuCodePaths;

/* Follows all paths from an offset on to their returns. FALSE: one leads out of the bytes, cannot
 * be followed, or a limit is reached. */
gboolean lu_code_paths_follow (LuCodePaths *self, guint offset);
/* Returns whether a path has an instruction at the offset. */
gboolean lu_code_paths_has (const LuCodePaths *self, guint64 offset);
