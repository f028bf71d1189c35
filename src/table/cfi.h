/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* cfi.h - the call frame information of one file: its entries by address.
 *
 * Used by the compiler and the dump. .eh_frame goes before .debug_frame, as in every unwinder; of
 * FDEs of one section that overlap, the one that starts last has the code, as a search table has
 * it. The bytes are borrowed and hostile; an entry that lies costs itself, counted by reason.
 * Belongs to one thread. */

#pragma once

#include "elf/image.h"
#include "table/cie.h"

typedef enum
{
  LU_CFI_EH_FRAME,
  LU_CFI_DEBUG_FRAME,
  LU_N_CFI_SECTIONS
} LuCfiSectionId;

/* One frame description entry. */
typedef struct
{
  guint64 start, end; /* ELF addresses */
  guint32 offset;     /* of the entry in its section */
  guint32 program, program_size;
  guint16 cie;    /* index of lu_cfi_cie() */
  guint8 section; /* LuCfiSectionId */
} LuFde;

/* Code, as ELF addresses. */
typedef struct
{
  guint64 start, end;
} LuCodeRange;

/* What an LuCfi is made of. All borrowed. */
typedef struct
{
  guint16 machine; /* EM_* of a 64-bit file */
  LuCfiBytes sections[LU_N_CFI_SECTIONS];
  const guint8 *table; /* .eh_frame_hdr as linkers write it, or NULL */
  gsize table_size;
  guint64 table_vaddr;
  const LuCodeRange *ranges; /* an FDE outside of them is refused; n_ranges 0: anything goes */
  guint n_ranges;
} LuCfiInput;

typedef struct _LuCfi LuCfi;

/* NULL for an architecture that has no tables. */
LuCfi *lu_cfi_new (const LuCfiInput *input);
/* The image must outlive it. NULL if there are no tables for its architecture. */
LuCfi *lu_cfi_new_for_image (const LuImage *image);
/* One for single look-ups by a thread that neither allocates nor goes through a whole file: finds
 * only what the search table leads to and keeps a few CIEs, so what it gives out is good until the
 * next look-up. NULL as above. The image must outlive it. */
LuCfi *lu_cfi_new_for_look_ups (const LuImage *image);
/* Whether it takes a list of FDEs to say what the last look-up, which found none, asked for. */
gboolean lu_cfi_is_undecided (const LuCfi *self);
void lu_cfi_free (LuCfi *self);

const LuTableArch *lu_cfi_arch (const LuCfi *self);
const LuCfiBytes *lu_cfi_section (const LuCfi *self, const LuFde *fde);
const LuCie *lu_cfi_cie (const LuCfi *self, const LuFde *fde);
/* The FDE's instructions. */
LuCursor lu_cfi_program (const LuCfi *self, const LuFde *fde);
/* Bytes of both sections. */
gsize lu_cfi_size (const LuCfi *self);

/* All good FDEs of a section, sorted by start. Made at the first call. */
const LuFde *lu_cfi_fdes (LuCfi *self, LuCfiSectionId section, guint *n_fdes);
/* The FDE that has the code at an address, and the piece [*from, *to) around the address where no
 * other has it. FALSE if there is none. Uses the search table where there is one. */
gboolean lu_cfi_find (LuCfi *self, guint64 address, LuFde *fde, guint64 *from, guint64 *to);

/* Faults so far, by reason. */
const guint *lu_cfi_faults (const LuCfi *self);
void lu_cfi_add_fault (LuCfi *self, LuCfiFault fault);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuCfi, lu_cfi_free)
