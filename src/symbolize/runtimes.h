/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* runtimes.h - how runtimes that generate code can be made to name their functions, for the summary
 * of a recording and for reports. */

#pragma once

#include <glib.h>

#define LU_N_RUNTIMES 4

/* Samples that lack names of functions, by runtime. */
typedef struct
{
  struct
  {
    guint64 n;
    guint64 most; /* samples of one process */
    gint32 pid;   /* that process */
    char program[32];
  } of[LU_N_RUNTIMES];
} LuRuntimes;

/* Adds samples of a process, if its program is one of the runtimes. */
void lu_runtimes_add (LuRuntimes *self, const char *program, gint32 pid, guint64 n);
/* Returns a translated line about what gives names to a runtime, owned by the caller; NULL if fewer
 * than 5 % of all samples lack them. */
char *lu_runtimes_hint (const LuRuntimes *self, guint runtime, guint64 n_all);
