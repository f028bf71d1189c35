/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* cie.h - parses a common information entry, and the encoded pointers that depend on it.
 *
 * Used by cfi.c. A CIE with anything unknown is refused, because nothing after an unknown letter of
 * the augmentation can be interpreted. */

#pragma once

#include "base/cursor.h"
#include "cfi-error.h"
#include "table/state.h"

/* The bytes of a section. */
typedef struct
{
  const guint8 *bytes; /* borrowed; NULL: no such section */
  gsize size;
  guint64 vaddr;        /* ELF address of the first byte; 0 for .debug_frame */
  gboolean is_eh_frame; /* otherwise .debug_frame */
  guint64 data_base;    /* base of data-relative pointers: .eh_frame_hdr */
  guint64 text_base;    /* base of text-relative pointers: .text; 0: unknown */
} LuCfiBytes;

typedef struct
{
  LuCfiError cfi_error; /* NONE: good */
  guint64 code_align;
  gint64 data_align;
  guint8 pointer_encoding;
  guint8 return_column; /* DWARF number */
  gboolean is_sized;    /* augmentation 'z': FDEs have the length of their data */
  gboolean is_signal;   /* augmentation 'S' */
  LuCursor program;     /* initial instructions */
  LuCfaState initial;   /* state after the initial instructions */
} LuCie;

/* Parses the CIE whose body (after the id) the cursor is at; `initial` is left to the caller. */
void lu_cie_parse (LuCie *self, const LuCfiBytes *section, const LuArch *arch, LuCursor *cursor);

/* Base of function-relative pointers before the function is known. */
#define LU_CFI_NO_FUNCTION G_MAXUINT64

/* Reads a pointer of that encoding (DW_EH_PE_*) from the cursor, which must be inside the section;
 * `function`: start of the FDE's code. Returns FALSE if the pointer needs memory (indirect), has an
 * unknown base, or cannot be read. */
gboolean lu_cfi_read_pointer (const LuCfiBytes *section, guint64 function, guint8 encoding,
                              LuCursor *cursor, guint64 *value);
