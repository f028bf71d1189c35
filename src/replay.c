/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* replay.c - a recording without a capture, into a model or a format; see replay.h. */

#include "replay.h"

#include "base/fd.h"
#include "session.h"

#include <fcntl.h>
#include <string.h>

static const char perf_magic[] = "PERFILE2";

/* Of this machine, for all files that are replayed: the first one gives up the right to read it. */
static LuKallsymsFile *kallsyms;
static gboolean has_kallsyms;

gboolean
lu_replay_is_perf_data (const char *path)
{
  lu_autofd fd = open (path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  char start[sizeof perf_magic - 1];

  return fd >= 0 && lu_fd_pread_all (fd, start, sizeof start, 0) == sizeof start
         && memcmp (start, perf_magic, sizeof start) == 0;
}

/* Takes what is open of the outputs. */
static gboolean
replay (const char *path, gboolean redact, const char *debuginfod, LuOutputs *outputs,
        GError **error)
{
  g_autofree char *mode = g_strdup_printf ("--debuginfod=%s", debuginfod);
  char *arguments[] = { (char *) "live-unwinder",
                        (char *) "--input",
                        (char *) path,
                        (char *) "--quiet",
                        mode,
                        (char *) (redact ? "--redact" : NULL),
                        NULL };
  LuOptions options;
  gboolean ok = lu_options_parse (&options, (int) g_strv_length (arguments), arguments, error);

  if (!has_kallsyms)
    kallsyms = lu_session_open_kallsyms ();
  has_kallsyms = TRUE;
  ok = ok && lu_session_replay (&options, outputs, kallsyms, error);
  lu_options_clear (&options);
  lu_outputs_clear (outputs);
  return ok;
}

LuModel *
lu_replay_load (const char *path, LuModelFlags flags, GError **error)
{
  g_autoptr (LuModel) model = NULL;
  LuOutputs outputs = LU_OUTPUTS_INIT;

  if (g_str_equal (path, "-") || !lu_replay_is_perf_data (path))
    return lu_model_load (path, flags, error);
  model = lu_model_new (flags);
  outputs.tee = lu_tee_new ();
  lu_tee_add_model (outputs.tee, model);
  if (!replay (path, FALSE, "no", &outputs, error))
    return NULL;
  model->is_finished = TRUE;
  return g_steal_pointer (&model);
}

gboolean
lu_replay_export (const char *path, gboolean redact, LuExport *export, GError **error)
{
  LuOutputs outputs = LU_OUTPUTS_INIT;

  outputs.tee = lu_tee_new ();
  lu_tee_add (outputs.tee, export);
  return replay (path, redact, "no", &outputs, error);
}

gboolean
lu_replay_capture (const char *path, gboolean redact, const char *debuginfod, int fd,
                   GError **error)
{
  LuOutputs outputs = { .capture_fd = fd };

  return replay (path, redact, debuginfod, &outputs, error);
}
