/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* image.h - one ELF file as unwinding needs it: its identity, segments and CFI bytes in private
 * memory.
 *
 * The file is hostile and may be truncated or rewritten under us, so everything is read once, at
 * open, and never looked at in the file. What stays is a compact ELF file of our own making:
 * headers that we wrote, with one segment and the sections .eh_frame_hdr, .eh_frame and
 * .debug_frame (decompressed). The table compiler, which trusts nothing, reads their bytes as they
 * are; libelf and libdw see only what passed cfi-guard.h, checked when they first need the image.
 * No file mapping is ever used and the descriptor is not needed after open. Immutable after open,
 * except for what libdw sees, which belongs to the worker thread.
 *
 * Where a whole table answers for a file, its CFI is hardly ever needed, and of a compiler that is
 * 26 MB. So the CFI of an image that was opened lean comes and goes: who reads it holds it so long,
 * who finds it absent has the worker open the file again, and only the very bytes of the first
 * time, by digest, are taken. */

#pragma once

#include "elf/go-stacks.h"
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

/* Reads the file behind `fd` (borrowed). Fails for what is not a 32- or 64-bit little-endian ELF
 * file, or whose headers lie; a damaged section costs that section, not the file. */
LuImage *lu_image_open (int fd, GError **error);
/* Digests of what sections of a file hold, by which another opening of it knows them. */
typedef struct
{
  guint8 bytes[3][32]; /* .eh_frame_hdr, .eh_frame, .debug_frame */
} LuImageSections;
typedef struct
{
  gboolean is_lean;             /* the CFI may go, if it is as in the file */
  gsize keep_up_to;             /* bytes of it: so much is there at first, more is only digested */
  const LuImageSections *known; /* not NULL: it is not even that. What else the file says still has
                                   to be as it was for the digest to be the same */
} LuImageOpening;
LuImage *lu_image_open_as (int fd, const LuImageOpening *opening, GError **error);
/* The same from bytes in memory (the vDSO). The bytes are copied. */
LuImage *lu_image_new_from_memory (gconstpointer bytes, gsize size, GError **error);
LuImage *lu_image_ref (LuImage *self);
void lu_image_unref (LuImage *self);
/* Whether the caller's reference is the only one. */
gboolean lu_image_is_unshared (const LuImage *self);

guint16 lu_image_machine (const LuImage *self); /* EM_* */
gboolean lu_image_is_64bit (const LuImage *self);
gboolean lu_image_is_position_independent (const LuImage *self); /* ET_DYN */
guint64 lu_image_entry (const LuImage *self);                    /* ELF address, 0 for none */
const LuSegment *lu_image_segments (const LuImage *self, guint *n_segments);
/* NULL if there is none; *size in bytes, at most 64. */
const guint8 *lu_image_build_id (const LuImage *self, gsize *size);
/* Identity: build-id, size, program headers and CFI bytes, digested. A build-id alone is the file's
 * claim. */
const guint8 *lu_image_digest (const LuImage *self, gsize *size);
/* Whether two images are of equal files, and a hash that is the same then. The digest is computed
 * at the first need, so it and this are the worker thread's; once the worker has asked for the
 * digest, any thread may. */
guint lu_image_hash (const LuImage *self);
gboolean lu_image_is_same (const LuImage *self, const LuImage *other);
/* Private memory that it takes now. Any thread. */
gsize lu_image_resident_bytes (const LuImage *self);
/* FALSE: it was not opened lean, or could not be. */
gboolean lu_image_section_digests (const LuImage *self, LuImageSections *digests);

/* Any thread, neither waits nor allocates. TRUE: the CFI is there, and stays until it is released;
 * always so unless the image is lean. */
gboolean lu_image_hold_cfi (LuImage *self);
void lu_image_release_cfi (LuImage *self);
/* Gives its memory back; FALSE if somebody holds it, or it has to stay. Any thread. */
gboolean lu_image_drop_cfi (LuImage *self);
gboolean lu_image_is_cfi_droppable (const LuImage *self);
/* Reads it again; FALSE if the file behind `fd` (borrowed) does not have it. Any thread. */
gboolean lu_image_refill_cfi (LuImage *self, int fd);
/* Whether it was held since this was last asked. */
gboolean lu_image_was_cfi_used (LuImage *self);
/* Of all lean images together, now. */
gsize lu_images_cfi_bytes (void);

/* What a place in a Go program means for the stack it is on; ordinary in all other files. */
LuGoPlace lu_image_go_place (const LuImage *self, guint64 elf_address);
/* All that are not ordinary, of LuGoFunction; NULL: there are none. Borrowed; any thread. */
const GArray *lu_image_go_functions (const LuImage *self);

/* Run-time address minus ELF address of a mapping of this file at `start` with `file_offset`: from
 * the executable LOAD that covers the offset, p_vaddr - p_offset. FALSE if no LOAD covers it. */
gboolean lu_image_bias (const LuImage *self, guint64 start, guint64 file_offset, guint64 *bias);

/* The CFI bytes of the private copy, as hostile as the file; NULL if there are none. To be read
 * while they are held. Borrowed; any thread. */
typedef enum
{
  LU_IMAGE_EH_FRAME_HDR,
  LU_IMAGE_EH_FRAME,
  LU_IMAGE_DEBUG_FRAME, /* decompressed */
} LuImageCfi;
const guint8 *lu_image_cfi (const LuImage *self, LuImageCfi which, gsize *size, guint64 *vaddr);

/* Bytes of both sections of entries, held or not. */
gsize lu_image_cfi_size (const LuImage *self);

/* ELF address of the section .text; 0 if no section header says it. */
guint64 lu_image_text (const LuImage *self);

/* FDEs that libdw has to read one after another, because no search table leads to them; 0 in most
 * files, and while libdw has not seen the image. An engine's memory grows by about 130 bytes for
 * each, and for each process. Worker thread only. */
guint lu_image_n_unsorted_fdes (LuImage *self);
/* FDEs that were disabled because libdw must not see them; as above. */
guint lu_image_n_refused_fdes (LuImage *self);

/* Whether there is, or may be, a handle for that address: 8 may be asked for. Worker thread only.
 */
gboolean lu_image_has_view (LuImage *self, guint64 vaddr);
/* A libelf handle on what libdw may see, whose only segment starts at the ELF address `vaddr`:
 * libdwfl puts the start of a module there. Borrowed; take a reference with elf_begin (-1,
 * ELF_C_READ, elf). NULL when too many different addresses were asked for, or the CFI is absent,
 * which whoever uses the handle has to hold. Worker thread only. */
Elf *lu_image_elf (LuImage *self, guint64 vaddr);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuImage, lu_image_unref)
