/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* runtimes.c - see runtimes.h. */

#include "config.h"

#include "symbolize/runtimes.h"

#include "base/printable.h"

#include <glib/gi18n.h>

#define MIN_PERCENT 5

static const struct
{
  const char *program; /* pattern */
  const char *advice;  /* untranslated; PID stands for a number */
} runtimes[LU_N_RUNTIMES] = {
  { "java", N_ ("start it with -XX:+PreserveFramePointer, and before the recording ends, run: jcmd "
                "PID Compiler.perfmap") },
  { "node*", N_ ("start it with --perf-basic-prof --interpreted-frames-native-stack") },
  { "postgres*", N_ ("set jit_profiling_support = on in its configuration, which names them, or "
                     "jit = off, with which stacks are whole") },
  { "python*", N_ ("record as root, on a kernel that unwinds stacks itself (BPF), or start it with "
                   "-X perf (3.12 and later)") },
};

void
lu_runtimes_add (LuRuntimes *self, const char *program, gint32 pid, guint64 n)
{
  for (guint i = 0; i < LU_N_RUNTIMES; i++)
    if (g_pattern_match_simple (runtimes[i].program, program))
      {
        self->of[i].n += n;
        if (n <= self->of[i].most)
          continue;
        self->of[i].most = n;
        self->of[i].pid = pid;
        g_strlcpy (self->of[i].program, program, sizeof self->of[i].program);
      }
}

char *
lu_runtimes_hint (const LuRuntimes *self, guint runtime, guint64 n_all)
{
  guint64 n = self->of[runtime].n;
  g_autoptr (GString) advice = g_string_new (_ (runtimes[runtime].advice));
  g_autofree char *pid = g_strdup_printf ("%d", self->of[runtime].pid);
  g_autofree char *name = lu_printable (self->of[runtime].program, 0);

  if (n == 0 || n * 100 < n_all * MIN_PERCENT)
    return NULL;
  g_string_replace (advice, "PID", pid, 0);
  return g_strdup_printf (_ ("%.0f %% of the samples lack names of functions of %s: %s"),
                          100.0 * (double) n / (double) n_all, name, advice->str);
}
