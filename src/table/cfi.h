/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* cfi.h - the call frame information of one file: its entries by address.
 *
 * Used by the compiler and the dump. .eh_frame comes before .debug_frame, as in every unwinder. If
 * FDEs of one section overlap, the one that starts last is used, as in a search table. The bytes
 * are borrowed and hostile; a bad entry is dropped and counted by reason. Belongs to one thread. */

#pragma once

#include "elf/image.h"
#include "table/cie.h"

typedef enum
{
  LU_CFI_EH_FRAME,
  LU_CFI_DEBUG_FRAME,
  LU_N_CFI_SECTIONS
} LuCfiSectionId;

/* A frame description entry. */
typedef struct
{
  guint64 start, end; /* ELF addresses */
  guint32 offset;     /* offset of the entry in its section */
  guint32 program, program_size;
  guint16 cie;    /* index for lu_cfi_cie() */
  guint8 section; /* LuCfiSectionId */
} LuFde;

/* A range of code, ELF addresses. */
typedef struct
{
  guint64 start, end;
} LuCodeRange;

/* The input for an LuCfi. Everything is borrowed. */
typedef struct
{
  guint16 machine; /* EM_* of a 64-bit file */
  LuCfiBytes sections[LU_N_CFI_SECTIONS];
  const guint8 *table; /* .eh_frame_hdr as linkers write it, or NULL */
  gsize table_size;
  guint64 table_vaddr;
  const LuCodeRange *ranges; /* an FDE outside these is refused; n_ranges 0: all are accepted */
  guint n_ranges;
  guint max_listed; /* FDEs of a section without a search table; 0: as many as there are */
} LuCfiInput;

typedef struct _LuCfi LuCfi;

/* Returns NULL for an architecture without tables. */
LuCfi *lu_cfi_new (const LuCfiInput *input);
/* Returns NULL if there are no tables for its architecture. The image must outlive it. */
LuCfi *lu_cfi_new_for_image (const LuImage *image);
/* Makes one for single look-ups by a thread that must not allocate or read a whole file. It finds
 * only what the search table leads to and keeps a few CIEs, so a result is valid until the next
 * look-up. NULL as above. The image must outlive it. */
LuCfi *lu_cfi_new_for_look_ups (const LuImage *image);
/* Returns whether the last look-up, which found nothing, would need a list of FDEs to be sure. */
gboolean lu_cfi_is_undecided (const LuCfi *self);
void lu_cfi_free (LuCfi *self);

const LuArch *lu_cfi_arch (const LuCfi *self);
const LuCfiBytes *lu_cfi_section (const LuCfi *self, const LuFde *fde);
const LuCie *lu_cfi_cie (const LuCfi *self, const LuFde *fde);
/* Returns the instructions of the FDE. */
LuCursor lu_cfi_program (const LuCfi *self, const LuFde *fde);
/* Returns the bytes of both sections. */
gsize lu_cfi_size (const LuCfi *self);

/* Returns all good FDEs of a section, sorted by start. Made at the first call. */
const LuFde *lu_cfi_fdes (LuCfi *self, LuCfiSectionId section, guint *n_fdes);
/* Finds the FDE for the code at an address, and the range [*from, *to) around the address that no
 * other FDE covers. Returns FALSE if there is none. Uses the search table if there is one. */
gboolean lu_cfi_find (LuCfi *self, guint64 address, LuFde *fde, guint64 *from, guint64 *to);

/* Returns the errors so far, by reason. */
const guint *lu_cfi_errors (const LuCfi *self);
void lu_cfi_add_error (LuCfi *self, LuCfiError cfi_error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuCfi, lu_cfi_free)
