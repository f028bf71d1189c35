/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* image.h - one ELF file for unwinding: its identity, segments and CFI bytes in private memory.
 *
 * The file is hostile and may be truncated or rewritten at any time, so everything is read once, at
 * open, and the file is not used afterwards. An image is a compact ELF file of our own: headers
 * that we wrote, with one segment and the sections .eh_frame_hdr, .eh_frame and .debug_frame
 * (decompressed). The table compiler, which trusts nothing, reads the original bytes. libelf and
 * libdw see only what passed cfi-guard.h, which runs when they first need the image. No file is
 * ever mapped, and the descriptor is not needed after open. Immutable after open, except for what
 * libdw sees, which belongs to the worker thread.
 *
 * A file with a whole table hardly ever needs its CFI, which takes 26 MB for a compiler. If
 * may_drop_cfi is set, the CFI can be dropped and read again. Readers hold it while they read. A
 * reader that finds it absent has the worker open the file again, and only bytes with the old
 * digest are accepted. */

#pragma once

#include "elf/file-digest.h"
#include "elf/go-stacks.h"
#include "lu/event.h"

typedef struct _LuImage LuImage;
typedef struct Elf Elf; /* libelf.h */

typedef struct
{
  guint64 vaddr, memory_size; /* ELF addresses */
  guint64 file_offset, file_size;
  guint64 align;
  gboolean executable;
} LuSegment; /* a PT_LOAD */

/* Reads the file open as `fd` (borrowed). Fails for anything but a 32- or 64-bit little-endian ELF
 * file with sound headers. A damaged section is left out. */
LuImage *lu_image_open (int fd, GError **error);
typedef struct
{
  gboolean may_drop_cfi; /* the CFI may be dropped, if it is stored as in the file */
  gboolean ignores_cfi;  /* with may_drop_cfi: the CFI is not read, so the image has no digest */
  gsize keep_up_to;      /* bytes: larger CFI is digested and not kept */
} LuImageOpening;
LuImage *lu_image_open_as (int fd, const LuImageOpening *opening, GError **error);
/* Reads an image from memory (the vDSO). The bytes are copied. */
LuImage *lu_image_new_from_memory (gconstpointer bytes, gsize size, GError **error);
LuImage *lu_image_ref (LuImage *self);
void lu_image_unref (LuImage *self);
/* Returns whether the caller's reference is the only one. */
gboolean lu_image_is_unshared (const LuImage *self);

guint16 lu_image_machine (const LuImage *self); /* EM_* */
gboolean lu_image_is_64bit (const LuImage *self);
gboolean lu_image_is_position_independent (const LuImage *self); /* ET_DYN */
guint64 lu_image_entry (const LuImage *self);                    /* ELF address, 0 for none */
gboolean lu_image_is_program (const LuImage *self); /* started by a dynamic linker: PT_INTERP */
const LuSegment *lu_image_segments (const LuImage *self, guint *n_segments);
/* Returns the build-id, or NULL if there is none; *size: bytes, at most 64. */
const guint8 *lu_image_build_id (const LuImage *self, gsize *size);
/* Returns the identity: a digest of build-id, size, program headers and CFI bytes. A build-id alone
 * can be forged. */
const guint8 *lu_image_digest (const LuImage *self, gsize *size);
/* Computes the digest that the file shares with its stripped copies. FALSE if the file could not be
 * read whole. */
gboolean lu_image_file_digest (const LuImage *self, guint8 digest[LU_FILE_DIGEST_SIZE]);
/* Makes the code a part of the identity, for a file whose table depends on it: reads all of it from
 * `fd` (borrowed). Call it once, before the digest is needed; FALSE if the file has become shorter.
 */
gboolean lu_image_digest_code (LuImage *self, int fd);
/* Computes an identity that covers all that the file loads beside what lu_image_digest() covers,
 * and is never equal to one of those: reads all of it from `fd` (borrowed). FALSE if the file has
 * become shorter, or reading was cancelled. Any thread, once the digest is computed. */
gboolean lu_image_digest_loaded (const LuImage *self, int fd, guint8 digest[LU_DIGEST_SIZE]);
/* Return a hash, and whether two images are of equal files. The worker thread computes the digest
 * when it is first needed; any thread may call these afterwards. */
guint lu_image_hash (const LuImage *self);
gboolean lu_image_is_same (const LuImage *self, const LuImage *other);
/* Returns the bytes of private memory in use. Any thread. */
gsize lu_image_resident_bytes (const LuImage *self);

/* Returns TRUE if the CFI is in memory, where it stays until it is released; always TRUE unless
 * may_drop_cfi is set. Any thread; neither waits nor allocates. */
gboolean lu_image_hold_cfi (LuImage *self);
void lu_image_release_cfi (LuImage *self);
/* Drops the CFI. Returns FALSE if it is held or has to stay. Any thread. */
gboolean lu_image_drop_cfi (LuImage *self);
/* Reads the CFI again from `fd` (borrowed). Returns FALSE if the file has different bytes. Any
 * thread. */
gboolean lu_image_refill_cfi (LuImage *self, int fd);
/* Returns whether the file has compressed CFI. Reading it takes far longer than its size suggests,
 * and with may_drop_cfi it is not read at open. */
gboolean lu_image_is_compressed (const LuImage *self);
/* Makes all reading of CFI in this process fail from now on, as at the end of a recording. Any
 * thread. */
void lu_images_cancel_reading (void);
/* Returns whether the CFI was held since the last call. */
gboolean lu_image_was_cfi_used (LuImage *self);
/* Returns the bytes of CFI in memory for all images with droppable CFI. */
gsize lu_images_cfi_bytes (void);
/* How many bytes of CFI and of images this process may have in memory (512 MiB at first). What
 * would exceed it is not read. Set it before there are threads. */
void lu_images_set_limit (gsize bytes);
gsize lu_images_limit (void);

/* Returns what a function of a Go program means for its stack; LU_GO_ORDINARY in all other files.
 */
LuGoFunctionKind lu_image_go_function_kind (const LuImage *self, guint64 elf_address);
/* Returns all functions that are not ordinary (array of LuGoFunction), or NULL. Borrowed; any
 * thread. */
const GArray *lu_image_go_functions (const LuImage *self);

/* Computes the run-time address minus the ELF address for a mapping of this file at `start` with
 * `file_offset`, from p_vaddr - p_offset of the executable LOAD that covers the offset. Returns
 * FALSE if none covers it. */
gboolean lu_image_bias (const LuImage *self, guint64 start, guint64 file_offset, guint64 *bias);

/* Returns the CFI bytes of the private copy, as hostile as the file, or NULL if there are none.
 * Hold the CFI while reading them. Borrowed; any thread. */
typedef enum
{
  LU_IMAGE_EH_FRAME_HDR,
  LU_IMAGE_EH_FRAME,
  LU_IMAGE_DEBUG_FRAME, /* decompressed */
  LU_N_IMAGE_CFI
} LuImageCfi;
const guint8 *lu_image_cfi (const LuImage *self, LuImageCfi which, gsize *size, guint64 *vaddr);

/* Returns the bytes of .eh_frame and .debug_frame, in memory or not. */
gsize lu_image_cfi_size (const LuImage *self);

/* Returns the ELF address of the section .text, or 0 if there is no such section header. */
guint64 lu_image_text (const LuImage *self);

/* Returns the number of FDEs that libdw has to read one after another, because no search table
 * leads to them; 0 in most files, and before libdw needs the image. Each costs an engine about 130
 * bytes per process. Worker thread only. */
guint lu_image_n_unsorted_fdes (LuImage *self);
/* Returns the number of FDEs that the guard disabled. Worker thread only. */
guint lu_image_n_refused_fdes (LuImage *self);

/* Returns whether lu_image_elf() can return a handle for that address; 8 addresses are possible.
 * Worker thread only. */
gboolean lu_image_has_view (LuImage *self, guint64 vaddr);
/* Returns a libelf handle whose only segment starts at the ELF address `vaddr`, where libdwfl puts
 * the start of a module. Borrowed; take a reference with elf_begin (-1, ELF_C_READ, elf). NULL if
 * too many different addresses were requested or the CFI is absent. Hold the CFI while using the
 * handle. Worker thread only. */
Elf *lu_image_elf (LuImage *self, guint64 vaddr);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuImage, lu_image_unref)
