/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* file-rows.h - rows for files without CFI, or with little: the one place that knows the makers of
 * such rows.
 *
 * Worker thread, while a file is opened. */

#pragma once

#include "elf/image.h"
#include "table/extra-rows.h"

/* Returns whether rows from elsewhere than CFI are made for the file, open as `fd`. Its code is
 * then a part of its identity (lu_image_digest_code()). */
gboolean lu_file_rows_are_wanted (LuImage *image, int fd);
/* Makes them. NULL: there are none. */
LuExtraRows *lu_file_rows_make (LuImage *image, int fd);
