/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* format.h - the formats other than a capture that a recording is written in.
 *
 * A format either writes a whole model at the end, or takes the frames of a capture one by one. The
 * table in format.c lists all formats; the suffix of a file name selects one.
 * docs/HOWTO-add-an-output-format.md describes the steps.
 *
 * While recording, the writer thread calls everything up to lu_export_take(); the main thread calls
 * the rest after it has ended. */

#pragma once

#include "profile/model.h"
#include "stream.h"

typedef struct
{
  const char *name;              /* for --format */
  const char *suffixes[3];       /* of file names, each with its dot; ends with NULL */
  gboolean gzip;                 /* the stream is compressed */
  gboolean shows_only_functions; /* --lines makes a function of each line */
  /* The format stores lines with the file of their function, so that lines need the inlined
   * functions, too. */
  gboolean has_lines_of_functions;
  /* Either: writes a model that has names and the data selected by `needs`. */
  LuModelFlags needs;
  void (*write) (const LuModel *model, LuStream *stream);
  /* Or: takes the frames. begin() returns the state, end() frees it. The stream is borrowed.
   * kernel_start: see lu_format_kernel_start(). */
  gpointer (*begin) (LuStream *stream, const LuSyscapHeader *header, guint64 kernel_start);
  void (*take) (gpointer state, const LuSyscapRecord *record);
  void (*end) (gpointer state);
} LuFormat;

/* Returns the format for a file name, or NULL: such a file is a capture. */
const LuFormat *lu_format_of (const char *path);
const LuFormat *lu_format_find (const char *name);
/* Returns the format with this index, or NULL after the last one. */
const LuFormat *lu_format_at (guint index);
/* Returns "folded, html, …", owned by the caller. */
char *lu_format_names (void);
/* Returns ".folded, .html, …", the first suffix of each format, owned by the caller. */
char *lu_format_suffixes (void);

/* Returns the address of the running kernel's first function; 0 if /proc/kallsyms does not show it,
 * which depends on the rights of this moment. */
guint64 lu_format_kernel_start (void);

/* One recording that is being written to one file. */
typedef struct _LuExport LuExport;

/* Takes `fd`. */
LuExport *lu_export_new (const LuFormat *format, int fd);
/* Makes lu_export_end() read source lines and inlined functions, if the format can show them. It
 * calls `remark` (NULL: nothing) with a text about what had to be left out; see
 * lu_model_lines_left_out(). */
typedef void (*LuExportRemark) (const char *text);
void lu_export_set_lines (LuExport *self, LuModelLinesFlags flags, LuExportRemark remark);
/* Adds to what the model keeps and shows, if there is a model. Before begin, and before sharing. */
void lu_export_add_flags (LuExport *self, LuModelFlags flags);
/* Sets what lu_format_kernel_start() returned; otherwise lu_export_begin() asks for it. */
void lu_export_set_kernel_start (LuExport *self, guint64 address);
/* Sets where to look for names that are not on this machine; borrowed. */
void lu_export_set_naming (LuExport *self, LuDebuginfod *debuginfod, LuNamerProgress go_on,
                           gpointer user_data);
/* Uses the model of another export if both need the same data but for times. Before begin. The
 * other export has to get all frames, and its end first. */
void lu_export_share (LuExport *self, LuExport *other);
/* Has `func` reduce the model once it has names; FALSE with an error: nothing is written. Formats
 * that take frames cannot be filtered. needs: what the function needs in addition. Before begin. */
typedef gboolean (*LuExportFilter) (gpointer user_data, LuModel *model, GError **error);
void lu_export_set_filter (LuExport *self, LuModelFlags needs, LuExportFilter func,
                           gpointer user_data);
void lu_export_begin (LuExport *self, const LuSyscapHeader *header);
void lu_export_take (LuExport *self, const LuSyscapRecord *record);
/* Writes the rest. Names come from the frames and from files of this machine. */
gboolean lu_export_end (LuExport *self, GError **error);
guint64 lu_export_size (const LuExport *self);
void lu_export_free (LuExport *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuExport, lu_export_free)
