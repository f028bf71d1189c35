/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* opener.h - finds and opens the file of a module, and shares one image among equal files.
 *
 * Worker thread only. A file is opened through /proc/PID/map_files/START-END, otherwise
 * /proc/PID/root + path, otherwise the path. The first is the mapped file itself, even if deleted;
 * the other two must agree with the key in build-id, or in device and inode. A file in memory
 * (memfd), which has no path, is also opened as /proc/PID/exe. Only regular files are
 * opened, without blocking and without following links out of the process's root. Images are shared
 * by digest. */

#pragma once

#include "module/module.h"

typedef struct _LuOpener LuOpener;

/* live: the processes run on this machine now; otherwise only the path is tried, and checked by
 * build-id if known. budget: bytes of private memory for images that no module uses any more. */
LuOpener *lu_opener_new (gboolean live, gsize budget);
void lu_opener_free (LuOpener *self);
/* Sets the limit for all images together in bytes (lu_images_limit() by default). Files beyond it
 * count as broken. */
void lu_opener_set_limit (LuOpener *self, gsize max_bytes);
/* Lets modules that are opened from now on have whole tables. `tables` is borrowed and must outlive
 * the opener. */
void lu_opener_set_tables (LuOpener *self, LuTables *tables);

/* Lets images drop their CFI from now on when it has a table, or when all CFI takes too much memory
 * (image-cache.h). If there is a stored table, the CFI is not even read. lu_code_reader_hold_cfi()
 * reads it again. Does nothing without tables. */
void lu_opener_allow_cfi_drop (LuOpener *self);
/* Like lu_image_cache_settle(); after a walk, which may have read CFI again. */
void lu_opener_settle (LuOpener *self);

/* Opens the file of `module` and publishes the outcome. pid, start, end: one of its mappings, for
 * map_files; pid 0: unknown. Does nothing if already published. Returns FALSE, without publishing,
 * if the file has to wait because the process or its user has used up its time (time-budget.h), or
 * its file system takes long to answer (copy-file.h). */
gboolean lu_opener_open (LuOpener *self, LuModule *module, gint32 pid, guint64 start, guint64 end);

/* Opens the file of a published module again, in the same ways and with the same checks. Returns a
 * descriptor for reading that the caller closes, or -1. Generated code in memory is never opened:
 * it may have changed. */
int lu_opener_reopen (const LuModule *module, gint32 pid, guint64 start, guint64 end);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuOpener, lu_opener_free)
