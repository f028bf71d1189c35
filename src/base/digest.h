/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* digest.h - a cryptographic digest of some bytes (SHA-256).
 *
 * It identifies files (elf/image.c) and shows whether stored bytes are intact (table/store.c).
 * Files may be forged, so the digest has to resist collisions; a checksum would not do. Nettle uses
 * the SHA instructions of the CPU where there are any (1.5 GB/s); GLib's SHA-256 does not (0.3
 * GB/s), and then a compiler's first samples wait for its CFI (docs/experiments.md). */

#pragma once

#include <glib.h>

#define LU_DIGEST_SIZE 32

/* Never fails, allocates nothing. Any thread. */
void lu_digest (gconstpointer bytes, gsize size, guint8 digest[LU_DIGEST_SIZE]);
