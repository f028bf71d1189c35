/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* cie.h - one common information entry, parsed, and the encoded pointers that depend on it.
 *
 * Used by cfi.c. A CIE with anything unknown in it is refused whole, because what follows an
 * unknown letter of the augmentation cannot be told. */

#pragma once

#include "base/cursor.h"
#include "table/fault.h"
#include "table/state.h"

/* Bytes of one section. */
typedef struct
{
  const guint8 *bytes; /* borrowed; NULL: there is no such section */
  gsize size;
  guint64 vaddr;        /* ELF address of the first byte; 0 for .debug_frame */
  gboolean is_eh_frame; /* else .debug_frame */
  guint64 data_base;    /* what data-relative pointers are relative to: .eh_frame_hdr */
  guint64 text_base;    /* text-relative ones: .text; 0 if that is not known */
} LuCfiBytes;

typedef struct
{
  LuCfiFault fault; /* NONE: good */
  guint64 code_align;
  gint64 data_align;
  guint8 pointer_encoding;
  guint8 return_column; /* DWARF number */
  gboolean is_sized;    /* augmentation 'z': FDEs have their data's length */
  gboolean is_signal;   /* augmentation 'S' */
  LuCursor program;     /* initial instructions */
  LuCfaState initial;   /* after them */
} LuCie;

/* Parses the CIE whose body (after the id) the cursor is at; `initial` is left to the caller. */
void lu_cie_parse (LuCie *self, const LuCfiBytes *section, const LuTableArch *arch,
                   LuCursor *cursor);

/* What function-relative pointers are relative to where there is no function yet. */
#define LU_CFI_NO_FUNCTION G_MAXUINT64

/* Reads a pointer of that encoding (DW_EH_PE_*) from the cursor, which must be inside the section;
 * `function`: the start of the FDE's code. FALSE for one that cannot be known without memory
 * (indirect), whose base is not known, or that fails. */
gboolean lu_cfi_read_pointer (const LuCfiBytes *section, guint64 function, guint8 encoding,
                              LuCursor *cursor, guint64 *value);
