/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* mode.c - the two ways of recording; see mode.h. */

#include "mode.h"

#include "record/pipeline.h"

static const LuSessionMode recorder_mode = {
  .opens_events = TRUE,
  .warns_of_store = TRUE,
  .has_summary = TRUE,
  .cfi_memory = (gsize) 128 << 20,
  .tables_patience_ms = LU_PIPELINE_TABLES_PATIENCE_MS,
};

static const LuSessionMode helper_mode = {
  .has_client = TRUE,
  .follows_all = TRUE,
  .restricts_calls = TRUE,
  .runs_ahead = TRUE,
  .knows_own_mounts = TRUE,
  .logs_progress = TRUE,
  .skips_clean_up = TRUE,
  .cfi_memory = (gsize) 32 << 20,
};

const LuSessionMode *
lu_session_mode (const LuOptions *options)
{
  return lu_options_is_helper (options) ? &helper_mode : &recorder_mode;
}
