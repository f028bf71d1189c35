/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* reader.h - runs a library that trusts its input on hostile bytes, in a process of its own with
 * limits on time and memory.
 *
 * The process may crash, hang, or be taken over: its answers are bytes from outside. It runs after
 * a fork() of a program with threads, so it allocates with malloc() only and does not use GLib. */

#pragma once

#include <glib.h>

typedef enum
{
  LU_READER_READ,
  LU_READER_TOO_LARGE, /* more than 64 MiB of answers */
  LU_READER_TOO_SLOW,
  LU_READER_BROKEN, /* it crashed, or needed too much memory */
  LU_READER_ENDED,  /* by Ctrl-C */
} LuReaderResult;

/* Writes the answers to `output`, and gives up what it does not need before it looks at the first
 * byte (lu_sandbox_restrict_parser()). */
typedef void (*LuReaderFunc) (gconstpointer data, int output);

/* Runs func in the process until the time end_us (monotonic) at the latest, and appends what it
 * wrote to `answers`, whatever the result. */
LuReaderResult lu_reader_run (LuReaderFunc func, gconstpointer data, gint64 end_us,
                              GByteArray *answers);
