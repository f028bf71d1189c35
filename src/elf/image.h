/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* image.h - one ELF file as unwinding needs it: headers and unwind information in private memory.
 *
 * The file is hostile and may be truncated or rewritten under us, so everything is read once, at open,
 * into an anonymous mapping laid out like the file: headers, .eh_frame_hdr, .eh_frame, .debug_frame
 * (still compressed, if it is), build-id notes and dynamic section at their file offsets, nothing else
 * (untouched pages cost nothing). Sections that were not read are turned into SHT_NOBITS in the private
 * copy so that no reader takes zeros for data. No file mapping is ever used and the descriptor is closed
 * after open. Immutable after open, except for the libelf handle, which belongs to the worker thread. */

#pragma once

#include "lu/event.h"

#include <glib.h>

typedef struct _LuImage LuImage;
typedef struct Elf Elf; /* libelf.h */

typedef struct
{
  guint64 vaddr, memory_size; /* ELF addresses */
  guint64 file_offset, file_size;
  guint64 align;
  gboolean executable;
} LuSegment; /* a PT_LOAD */

/* Reads the file behind `fd` (borrowed). Fails for what is not a 32- or 64-bit little-endian ELF file, or
 * whose headers lie; a damaged section costs that section, not the file. */
LuImage *lu_image_open (int fd, GError **error);
/* The same from bytes in memory (the vDSO). The bytes are copied. */
LuImage *lu_image_new_from_memory (gconstpointer bytes, gsize size, GError **error);
LuImage *lu_image_ref (LuImage *self);
void lu_image_unref (LuImage *self);

guint16 lu_image_machine (const LuImage *self); /* EM_* */
gboolean lu_image_is_64bit (const LuImage *self);
gboolean lu_image_is_position_independent (const LuImage *self); /* ET_DYN */
guint64 lu_image_entry (const LuImage *self);                    /* ELF address, 0 for none */
const LuSegment *lu_image_segments (const LuImage *self, guint *n_segments);
/* NULL if there is none; *size in bytes, at most 64. */
const guint8 *lu_image_build_id (const LuImage *self, gsize *size);
/* Identity: build-id, size, program headers and CFI bytes, digested. A build-id alone is the file's claim. */
const guint8 *lu_image_digest (const LuImage *self, gsize *size);
gsize lu_image_resident_bytes (const LuImage *self);

/* Run-time address minus ELF address of a mapping of this file at `start` with `file_offset`: from the
 * executable LOAD that covers the offset, p_vaddr - p_offset. FALSE if no LOAD covers it. */
gboolean lu_image_bias (const LuImage *self, guint64 start, guint64 file_offset, guint64 *bias);

/* The private copy and a libelf handle on it; worker thread only. Borrowed. */
gconstpointer lu_image_bytes (const LuImage *self, gsize *size);
Elf *lu_image_elf (LuImage *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuImage, lu_image_unref)
