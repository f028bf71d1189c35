/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* section.h - builds call frame information byte by byte, for tests. */

#pragma once

#include "table/cfi.h"

#include <glib.h>

/* ELF address of the first byte of a built .eh_frame. */
#define SECTION_VADDR 0x100000

/* Bytes with their length: BYTES (0x0e, 16). */
typedef struct
{
  const guint8 *bytes;
  gsize size;
} Bytes;

#define BYTES(...)                                                                                 \
  ((Bytes){ (const guint8[]){ __VA_ARGS__ }, sizeof ((const guint8[]){ __VA_ARGS__ }) })

typedef struct
{
  GByteArray *bytes;
  gboolean is_eh_frame;
} Section;

/* The parts of a CIE that tests change; the rest is as compilers write it for x86-64. */
typedef struct
{
  const char *augmentation; /* NULL: "zR" */
  Bytes augmentation_data;  /* NULL: pc-relative, 4 bytes signed */
  guint8 version;           /* 0: 1 */
  guint8 code_align;        /* 0: 1 */
  guint8 return_column;     /* 0: 16 */
  Bytes program;            /* NULL: def_cfa rsp 8, offset rip -8 */
  gboolean is_wide;         /* 64-bit length and id */
} CieSpec;

Section *section_new (gboolean is_eh_frame);
void section_free (Section *self);
void section_add_u32 (Section *self, guint32 value);
void section_add_u64 (Section *self, guint64 value);
/* Offset of the CIE. */
guint section_add_cie (Section *self, const CieSpec *spec);
/* Adds an FDE whose pointers have the encoding of the section's default CIE. Returns its offset. */
guint section_add_fde (Section *self, guint cie, guint64 start, guint64 size, Bytes program);
/* Adds an FDE whose head (start, size and augmentation) is given as bytes. */
guint section_add_raw_fde (Section *self, guint cie, Bytes head, Bytes program);

LuCfiBytes section_bytes (const Section *self);
/* Returns an ELF file of one segment of code, which has the section at SECTION_VADDR. machine:
 * EM_…; entry: an ELF address, or 0; code, code_size: the segment. */
GByteArray *section_make_file (const Section *self, guint16 machine, guint64 entry, guint64 code,
                               guint64 code_size);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Section, section_free)
