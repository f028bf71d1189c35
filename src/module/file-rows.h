/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* file-rows.h - rows from elsewhere than CFI: the one place that knows their makers.
 *
 * A file without CFI, or with little, gets them for all of its code while it is opened. A file with
 * CFI for most of its code gets them where there is none, once a walk has come there. */

#pragma once

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
/* Returns whether the file is small enough for it: all that it loads is read. Any thread. */
gboolean lu_file_rows_have_room (const LuImage *image);
/* Makes rows for the code that no CFI covers. NULL: there are none, or it was cancelled (atomic,
 * NULL for never). Any thread. */
LuExtraRows *lu_file_rows_fill_gaps (LuImage *image, int fd, const gint *is_cancelled);
