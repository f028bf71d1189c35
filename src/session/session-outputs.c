/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* session-outputs.c - where a recording goes: the files and the sink that writes them.
 *
 * Files are opened before COMMAND runs, and taken by the sink; those of later periods (--rotate)
 * are opened by the writer's thread, which calls open_period(). */

#include "config.h"

#include "session-private.h"

#include "base/fd.h"

#include <errno.h>
#include <stdio.h>

static void
save_kernel (const char *bytes, gsize size, gpointer user_data)
{
  if (!lu_store_save_kernel (user_data, bytes, size))
    g_debug ("the kernel's functions cannot be stored: %s", g_strerror (errno));
}

/* Opens the kernel's functions, and the copy of them in the store, which outlives their use. */
static void
open_kallsyms (LuSession *self)
{
  self->kallsyms = lu_kallsyms_file_open ();
  if (self->kallsyms != NULL && self->store != NULL)
    lu_kallsyms_file_set_copy (self->kallsyms, lu_store_open_kernel (self->store), save_kernel,
                               self->store);
}

/* All captures of a recording share one handle, because rights are given up after the first. If it
 * cannot be opened, each capture tries for itself and says why. */
static void
share_kallsyms (LuSession *self, LuSink *sink)
{
  const LuSourceInfo *info = lu_pipeline_source_info (self->pipeline);

  if (info->live && self->kallsyms == NULL)
    open_kallsyms (self);
  if (self->kallsyms != NULL
      && (info->live
          || lu_kallsyms_file_is_of (self->kallsyms, info->os_release, info->kernel_symbol,
                                     info->kernel_address)))
    lu_syscap_sink_share_kallsyms (sink, self->kallsyms);
}

/* Takes the open outputs. */
static LuSink *
new_capture (LuSession *self, LuOutputs *outputs)
{
  gboolean has_capture = outputs->capture_fd >= 0;
  LuSink *sink = lu_outputs_take_sink (outputs);

  share_kallsyms (self, sink);
  /* Without a capture, other formats find names themselves. */
  if (!self->options->no_symbols && has_capture)
    lu_syscap_sink_add_symbols (sink, lu_session_go_on_naming, self);
  if (self->options->rotate == 0)
    lu_syscap_sink_ask_runtimes (sink, &self->runtimes);
  return sink;
}

static void
print_remark (const char *text)
{
  fprintf (stderr, "%s\n", text);
}

static void
set_lines (LuSession *self, LuOutputs *outputs)
{
  outputs->lines = (self->options->lines ? LU_MODEL_LINES : 0u)
                   | (self->options->inlines ? LU_MODEL_INLINES : 0u);
  outputs->model_flags = (self->options->full_names ? LU_MODEL_FULL_NAMES : 0u)
                         | (self->options->no_tail_calls ? LU_MODEL_NO_TAIL_CALLS : 0u);
  outputs->remark = self->options->quiet ? NULL : print_remark;
  outputs->debuginfod = self->debuginfod;
  outputs->go_on = lu_session_go_on_naming;
  outputs->go_on_data = self;
  outputs->directories = self->directories;
}

/* The open of LuRotationFuncs. The files of the first period are open already. */
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
lu_session_new_sink (LuSession *self)
{
  const LuRotationFuncs funcs = { open_period, lu_session_describe_period, self->directories };
  const LuOptions *options = self->options;

  if (self->mode->has_client)
    return lu_helper_sink (&self->helper, &options->helper,
                           lu_fd_steal (&self->outputs.capture_fd));
  if (options->rotate == 0)
    return new_capture (self, &self->outputs);
  self->rotation =
      lu_rotation_new (options->rotate * G_GUINT64_CONSTANT (1000000000), options->rotate_keep,
                       lu_pipeline_source_info (self->pipeline)->live, &funcs, self);
  return lu_rotation_sink (self->rotation);
}

gboolean
lu_session_open_outputs (LuSession *self, GError **error)
{
  const LuOptions *options = self->options;

  if (options->rotate > 0 && lu_outputs_can_rotate (options->outputs, error))
    self->directories = lu_output_directories_open (options->outputs, self->keeper, error);
  set_lines (self, &self->outputs);
  if (options->stream_fd > 0)
    {
      self->outputs.paths = g_new0 (char *, 1);
      self->outputs.capture_fd = options->stream_fd;
      return TRUE;
    }
  if (options->rotate == 0)
    return lu_outputs_open (&self->outputs, options->outputs, options->force, error);
  return self->directories != NULL
         && lu_outputs_open_at (&self->outputs, options->outputs, g_get_real_time (), error);
}
