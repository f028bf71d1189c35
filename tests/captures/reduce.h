/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* reduce.h - a small ELF file that unwinds like a large one at a few places.
 *
 * Used by make.c. It has the segments, the entry point and the build-id of the large file, and the
 * CFI entries of the used places, byte for byte except for pointers that tell where they are. It
 * has no code and no symbols. */

#pragma once

#include "elf/image.h"

typedef struct _Reduction Reduction;

/* The image must outlive it. */
Reduction *reduction_new (const LuImage *image);
void reduction_free (Reduction *self);

/* Keeps the entry for this ELF address, if there is one. */
void reduction_touch (Reduction *self, guint64 address);
/* The file; NULL if an entry cannot be moved. Owned. */
GByteArray *reduction_finish (Reduction *self);
