/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* digest.c - SHA-256 by Nettle; see digest.h. */

#include "base/digest.h"

#include <nettle/sha2.h>

G_STATIC_ASSERT (LU_DIGEST_SIZE == SHA256_DIGEST_SIZE);

void
lu_digest (gconstpointer bytes, gsize size, guint8 digest[LU_DIGEST_SIZE])
{
  struct sha256_ctx context;

  sha256_init (&context);
  sha256_update (&context, size, bytes);
  sha256_digest (&context, LU_DIGEST_SIZE, digest);
}
