/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* session-outputs.c - where a recording goes: the files and the sink that writes them.
 *
 * Files are opened by session.c, before COMMAND runs, and taken by the sink; those of later periods
 * (--rotate) are opened by the writer's thread, which calls open_period(). */

#include "config.h"

#include "session-private.h"

#include "base/fd.h"
#include "bpf/names.h"
#include "output/syscap.h"
#include "session.h"

#include <stdio.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Whether a file is of this kernel, as it runs now: the first symbol is where it was. */
static gboolean
is_of_this_kernel (LuSession *self)
{
  const LuSourceInfo *info = &self->source_info;
  const LuKallsyms *symbols;
  LuKernelSymbol symbol;
  struct utsname name;
  gint index;

  if (info->live || self->kallsyms == NULL || info->kernel_symbol == NULL
      || info->os_release == NULL || uname (&name) != 0
      || !g_str_equal (name.release, info->os_release))
    return FALSE;
  symbols = lu_kallsyms_file_load (self->kallsyms);
  index = symbols != NULL ? lu_kallsyms_find (symbols, info->kernel_address) : -1;
  if (index < 0)
    return FALSE;
  lu_kallsyms_get (symbols, (guint) index, &symbol);
  return symbol.address == info->kernel_address
         && (index == 0 || g_str_equal (symbol.name, info->kernel_symbol));
}

/* Where a program for walks could be loaded, one for names can be, too. */
static LuKallsymsFile *
kallsyms_of_recording (const LuSession *self)
{
  gboolean walks = self->kernel_walks != NULL && lu_kernel_walks_is_active (self->kernel_walks);
  LuKallsymsFile *file = lu_session_open_kallsyms ();
  LuBpfNames *names = walks && file != NULL ? lu_bpf_names_new () : NULL;

  if (names != NULL)
    lu_kallsyms_file_set_ask (file, lu_bpf_names_ask, names, lu_bpf_names_free);
  return file;
}

/* One for all captures of a recording: what may be read is decided when it is opened. If it cannot
 * be, each capture tries for itself and says why. */
static void
share_kallsyms (LuSession *self, LuSink *sink)
{
  gboolean live = self->source_info.live;

  if (live && self->kallsyms == NULL)
    self->kallsyms = kallsyms_of_recording (self);
  if (self->kallsyms != NULL && (live || is_of_this_kernel (self)))
    lu_syscap_sink_share_kallsyms (sink, self->kallsyms);
}

/* Takes what is open of the outputs. */
static LuSink *
new_capture (LuSession *self, LuOutputs *outputs)
{
  gboolean has_capture = outputs->capture_fd >= 0;
  LuSink *sink = lu_syscap_sink_new (lu_fd_steal (&outputs->capture_fd));

  share_kallsyms (self, sink);
  /* other formats find names themselves if there is no capture to have them */
  if (!self->options->no_symbols && has_capture)
    lu_syscap_sink_add_symbols (sink, lu_session_go_on_naming, self);
  if (self->debuginfod != NULL)
    lu_syscap_sink_set_debuginfod (sink, self->debuginfod);
  if (outputs->tee != NULL)
    lu_syscap_sink_take_tee (sink, g_steal_pointer (&outputs->tee));
  return sink;
}

static void
print_remark (const char *text)
{
  fprintf (stderr, "%s\n", text);
}

static void
set_lines (const LuSession *self, LuOutputs *outputs)
{
  outputs->lines = (self->options->lines ? LU_MODEL_LINES : 0u)
                   | (self->options->inlines ? LU_MODEL_INLINES : 0u);
  outputs->remark = self->options->quiet ? NULL : print_remark;
  outputs->debuginfod = self->debuginfod;
}

/* The files of a period; those of the first one are open already. */
static LuSink *
open_period (guint number, gint64 wall_clock, char ***paths, gpointer user_data, GError **error)
{
  LuSession *self = user_data;
  g_auto (LuOutputs) outputs = LU_OUTPUTS_INIT;

  if (number == 1)
    {
      outputs = self->outputs;
      self->outputs = (LuOutputs) LU_OUTPUTS_INIT;
    }
  set_lines (self, &outputs);
  if (number > 1 && !lu_outputs_open_at (&outputs, self->options->outputs, wall_clock, error))
    return NULL;
  *paths = g_steal_pointer (&outputs.paths);
  return new_capture (self, &outputs);
}

LuSink *
lu_session_new_sink (LuSession *self, gboolean live)
{
  const LuRotationFuncs funcs = { open_period, lu_session_describe_period,
                                  lu_session_wait_for_files };

  if (lu_options_is_helper (self->options))
    return lu_helper_sink (&self->helper, &self->options->helper,
                           lu_fd_steal (&self->outputs.capture_fd));
  if (self->options->rotate == 0)
    return new_capture (self, &self->outputs);
  self->rotation = lu_rotation_new (self->options->rotate * G_GUINT64_CONSTANT (1000000000),
                                    self->options->rotate_keep, live, &funcs, self);
  return lu_rotation_sink (self->rotation);
}

gboolean
lu_session_needs_rights_for_outputs (const LuSession *self)
{
  gboolean needs = self->options->rotate > 0 && geteuid () == 0 && g_getenv ("SUDO_UID") != NULL;

  for (guint i = 0; self->options->rotate > 0 && self->options->outputs[i] != NULL; i++)
    {
      g_autofree char *folder = g_path_get_dirname (self->options->outputs[i]);
      struct stat st;

      needs |= geteuid () == 0 && stat (folder, &st) == 0 && st.st_uid != 0;
    }
  return needs;
}

gboolean
lu_session_open_outputs (LuSession *self, GError **error)
{
  const LuOptions *options = self->options;

  set_lines (self, &self->outputs);
  if (self->outputs.tee != NULL || self->outputs.capture_fd >= 0) /* they are given */
    return TRUE;
  if (options->rotate == 0)
    return lu_outputs_open (&self->outputs, options->outputs, options->force, error);
  return lu_outputs_can_rotate (options->outputs, error)
         && lu_outputs_open_at (&self->outputs, options->outputs, g_get_real_time (), error);
}
