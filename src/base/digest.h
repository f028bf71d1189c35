/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* digest.h - a cryptographic digest of some bytes (BLAKE3, 32 bytes).
 *
 * Says which file is which (elf/image.c) and whether stored bytes are whole (table/store.c). Whole
 * sections of large files are digested while somebody waits, and files are forged by enemies, so it
 * has to be fast and proof against collisions at once: a checksum is not the latter, SHA-256 of
 * GLib (300 MB/s) not the former. BLAKE3 hashes 1 KiB chunks independently, eight or sixteen at a
 * time in vector registers, on any CPU. */

#pragma once

#include <glib.h>

#define LU_DIGEST_SIZE 32

/* Never fails. Takes a temporary buffer of 1/32 of `size`. */
void lu_digest (gconstpointer bytes, gsize size, guint8 digest[LU_DIGEST_SIZE]);
