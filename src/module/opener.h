/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* opener.h - finds and opens the file behind a module, and shares one image among equal files.
 *
 * Worker thread only. A file is opened through /proc/PID/map_files/START-END (accepted as it is: it
 * is the mapped file, even deleted), else /proc/PID/root + path, else the path; the latter two only
 * if build-id, or device and inode, agree with the key. Only regular files are opened, never
 * blocking, without following anything outside the process's root. Images are shared by digest. */

#pragma once

#include "module/module.h"

typedef struct _LuOpener LuOpener;

/* live: the processes exist on this machine now (else only the path itself is tried, by build-id if
 * known). budget: bytes of private memory for images that no module uses any more before the oldest
 * are dropped. */
LuOpener *lu_opener_new (gboolean live, gsize budget);
void lu_opener_free (LuOpener *self);
/* Bytes that all images together may take (512 MiB if this is not called); files beyond that count
 * as broken. */
void lu_opener_set_limit (LuOpener *self, gsize max_bytes);
/* Modules that are opened from now on take part in whole tables. `tables` is borrowed and has to
 * outlive the opener. */
void lu_opener_set_tables (LuOpener *self, LuTables *tables);

/* From now on CFI is dropped where a table has come, and where it is too much altogether
 * (image-cache.h), and not even read where there is a table from before; who needs it reads it
 * again (lu_code_reader_hold_cfi()). Not without tables. */
void lu_opener_be_lean (LuOpener *self);
/* As of image-cache.h: after a walk may have read some CFI again, and now and then. */
void lu_opener_settle (LuOpener *self);
void lu_opener_age (LuOpener *self);

/* Opens the file of `module` and publishes the outcome. pid, start, end: one mapping of it, for
 * map_files; pid 0 if none is known. Does nothing if already published. */
void lu_opener_open (LuOpener *self, LuModule *module, gint32 pid, guint64 start, guint64 end);

/* Opens the file of a published module once more, in the same ways and with the same checks. The
 * hint is as above. Returns a descriptor for reading that the caller closes, or -1. */
int lu_opener_reopen (const LuModule *module, gint32 pid, guint64 start, guint64 end);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuOpener, lu_opener_free)
