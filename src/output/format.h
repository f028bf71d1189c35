/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* format.h - what a recording is written as for other viewers.
 *
 * A format either writes a whole model at the end, or takes the frames of a capture as they come.
 * One table lists them; which one it is follows from the end of a file's name. */

#pragma once

#include "output/model-lines.h"
#include "output/model.h"
#include "output/stream.h"

typedef struct
{
  const char *name;
  const char *suffixes[3]; /* of file names; ends with NULL */
  gboolean gzip;
  gboolean shows_only_functions;   /* lines are shown as functions of their own */
  gboolean has_lines_of_functions; /* lines belong to the file of the function, so that those of
                                      inlined functions have to be theirs */
  /* of a model, with names */
  LuModelFlags needs;
  void (*write) (const LuModel *model, LuStream *stream);
  /* or of frames, each with the stream */
  gpointer (*begin) (LuStream *stream, const LuSyscapHeader *header);
  void (*take) (gpointer state, const LuSyscapRecord *record);
  void (*end) (gpointer state); /* frees the state */
} LuFormat;

extern const LuFormat lu_format_folded, lu_format_html, lu_format_speedscope, lu_format_firefox,
    lu_format_perf, lu_format_pprof;

/* The format for a file of that name; NULL: a capture. */
const LuFormat *lu_format_of (const char *path);
const LuFormat *lu_format_find (const char *name);
/* "folded, html, …", owned. */
char *lu_format_names (void);

/* One recording on its way into one file. */
typedef struct _LuExport LuExport;

/* Takes `fd`. */
LuExport *lu_export_new (const LuFormat *format, int fd);
/* Lines and inlined functions are read at the end, where the format can show them. What was left
 * out is told to `remark` then (lu_model_lines_left_out()); NULL: to nobody. */
typedef void (*LuExportRemark) (const char *text);
void lu_export_set_lines (LuExport *self, LuModelLinesFlags flags, LuExportRemark remark);
/* Names that are not found here come from there; borrowed. */
void lu_export_set_debuginfod (LuExport *self, LuDebuginfod *debuginfod);
/* Before begin: one model for both, if they need the same. The other one has to be given all frames
 * and its end first. */
void lu_export_share (LuExport *self, LuExport *other);
void lu_export_begin (LuExport *self, const LuSyscapHeader *header);
void lu_export_take (LuExport *self, const LuSyscapRecord *record);
/* Writes what is not written yet; names come from the frames and from files of this machine. */
gboolean lu_export_end (LuExport *self, GError **error);
guint64 lu_export_size (const LuExport *self);
void lu_export_free (LuExport *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuExport, lu_export_free)
