/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* file-rows.h - rows from elsewhere than CFI: the one place that knows their makers.
 *
 * A file without CFI, or with little, gets them for all of its code while it is opened. A file with
 * CFI for most of its code gets them where there is none, once a walk has come there. */

#pragma once

#include "code/code-rows.h"
#include "elf/image.h"
#include "table/extra-rows.h"

typedef struct _LuFileRowsMaker LuFileRowsMaker;

/* Returns what makes rows for all code of the file, open as `fd`, or NULL. Its code is then a part
 * of its identity (lu_image_digest_code()). Worker thread, while the file is opened. */
const LuFileRowsMaker *lu_file_rows_find_maker (LuImage *image, int fd);
/* Makes them. NULL: there are none. */
LuExtraRows *lu_file_rows_make (const LuFileRowsMaker *maker, LuImage *image, int fd);

/* Returns whether the code of such a file can have rows where its CFI has none. Any thread. */
gboolean lu_file_rows_may_fill_gaps (const LuImage *image);
/* Returns whether nobody but root and this process's user can write to the file: rows of other
 * files are not stored, because they may change, and change back, while they are read. Any thread.
 */
gboolean lu_file_rows_may_be_stored (int fd);
/* Returns how much it loads. Any thread. */
guint64 lu_file_rows_bytes (const LuImage *image);
/* Returns whether the file, open as `fd`, is small enough for its gaps to be read: it loads at most
 * LU_CODE_MAX_BYTES, or LU_CODE_MAX_LOADED if that is nearly all code, or the program is one of
 * Go. Any thread. */
gboolean lu_file_rows_may_be_read (const LuImage *image, int fd);
/* Reads the code that no CFI covers, so that rows can be made for it; of more than
 * LU_CODE_MAX_BYTES that around some addresses first (of guint64). NULL: there is none. They are
 * given up when the integer is not 0 (atomic, NULL for never). Any thread. */
LuCodeRows *lu_file_rows_read_gaps (LuImage *image, int fd, const GArray *addresses,
                                    const gint *is_cancelled);
