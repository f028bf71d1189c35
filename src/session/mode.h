/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* mode.h - what differs between a recording of our own and one for a Sysprof client, whose helper
 * we then are. The session chooses one of the two when it starts. */

#pragma once

#include "options.h"

typedef struct
{
  /* The client hands over events and output, and says when to stop. */
  gboolean has_client;
  /* Record all processes, whatever the options name. */
  gboolean follows_all;
  /* Open events for CPUs that come later. */
  gboolean opens_events;
  /* Allow only some system calls while foreign files are read. No files can be created then: new
   * tables go to the store's pending writes, which the next start moves to their places. */
  gboolean restricts_calls;
  /* Empty the rings while the BPF program is loaded: the events may be on before we are. */
  gboolean runs_ahead;
  /* Read our own mount table once, for the processes that share it. */
  gboolean knows_own_mounts;
  /* Write a progress line into the capture every few seconds and at the end. */
  gboolean logs_progress;
  /* Say so if tables cannot be kept on disk. */
  gboolean warns_of_store;
  /* Write the summary into the capture and print it, even if no option asks for it. */
  gboolean has_summary;
  /* Exit without freeing memory and closing descriptors: the kernel is faster. */
  gboolean skips_clean_up;
  /* Bytes of CFI that may be in memory (lu_images_set_limit()). */
  gsize cfi_memory;
  /* How long to go on compiling tables at the end. */
  guint tables_patience_ms;
} LuSessionMode;
