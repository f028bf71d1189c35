/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* file-digest.h - tells a file from others that claim its build-id: a digest of its program headers
 * and of its .eh_frame.
 *
 * strip leaves both as they are, so a file and its stripped copy have one digest. The digest of an
 * image (image.h) is another one: it tells these two apart. This one stands in captures, so its
 * definition (docs/syscap.md) must not change. */

#pragma once

#include "base/digest.h"
#include "elf/eh-frame.h"

#define LU_FILE_DIGEST_SIZE 16

/* Called before that many bytes are read; FALSE ends reading. */
typedef gboolean (*LuMayReadFunc) (gsize size, gpointer user_data);

/* Digests a part of a file in pieces, so that no more than one piece is in memory. Returns FALSE if
 * not all of it is there, or the function did not allow it. */
gboolean lu_digest_part (const LuElfInput *input, const LuElfPart *part, LuMayReadFunc may_read,
                         gpointer user_data, guint8 digest[LU_DIGEST_SIZE]);
/* Digests bytes in memory as lu_digest_part() does those of a file. */
void lu_digest_bytes (const guint8 *bytes, gsize size, guint8 digest[LU_DIGEST_SIZE]);

void lu_digest_program_headers (const LuElfHeaders *headers, guint8 digest[LU_DIGEST_SIZE]);

/* Makes the digest of a file from those of its program headers and of its .eh_frame. */
void lu_file_digest_join (const LuElfHeaders *headers, const guint8 program_headers[LU_DIGEST_SIZE],
                          const guint8 eh_frame[LU_DIGEST_SIZE],
                          guint8 digest[LU_FILE_DIGEST_SIZE]);
/* Reads the digest of a file; FALSE as lu_digest_part(). */
gboolean lu_file_digest_read (const LuElfHeaders *headers, const LuElfInput *input,
                              LuMayReadFunc may_read, gpointer user_data,
                              guint8 digest[LU_FILE_DIGEST_SIZE]);
