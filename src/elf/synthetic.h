/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* synthetic.h - a small ELF file in private memory, made of CFI sections and our own headers.
 *
 * Used by image.c only. It exists because libdwfl needs an Elf for each module. In this one only
 * the CFI can be wrong; it opens in a microsecond and takes no more memory than its CFI.
 *
 * The file consists of 8 views of 512 bytes each, then .eh_frame_hdr, .eh_frame and .debug_frame,
 * each 16-aligned. A view has an ELF header, a program header, 5 section headers and their names.
 * All views share the sections; the file of a view begins where the view begins. Views differ in
 * the address of their only segment, which is where libdwfl puts the start of a module. */

#pragma once

#include "elf/image.h"

typedef struct
{
  guint8 *bytes; /* g_malloc; NULL: no such section, or only space for it */
  gsize size;
  gboolean is_room; /* only space: the bytes are written to lu_synthetic_room() */
  guint64 vaddr;
} LuSyntheticSection;

typedef struct _LuSynthetic LuSynthetic;

/* Copies the sections. Returns NULL if there is no memory. is_filled_now: spaces are filled
 * immediately; otherwise they are empty until lu_synthetic_populate(). */
LuSynthetic *lu_synthetic_new (gboolean is_64bit, guint16 machine,
                               const LuSyntheticSection sections[LU_N_IMAGE_CFI],
                               gboolean is_filled_now);
void lu_synthetic_free (LuSynthetic *self);
/* Returns where to write the bytes of a section that was only space. No other thread may have the
 * object yet. */
guint8 *lu_synthetic_room (LuSynthetic *self, guint section, gsize *size);
/* Removes a section whose bytes could not be read. */
void lu_synthetic_drop (LuSynthetic *self, guint section);

/* Releases the memory of all sections; they read as zeros at the same addresses. */
void lu_synthetic_empty (LuSynthetic *self);
/* Prepares the memory for filling it again. */
void lu_synthetic_populate (LuSynthetic *self);

gsize lu_synthetic_size (const LuSynthetic *self);
gboolean lu_synthetic_is_64bit (const LuSynthetic *self);
guint16 lu_synthetic_machine (const LuSynthetic *self); /* EM_* */
/* Returns the bytes of a section (LuImageCfi), borrowed, or NULL if there is none. */
const guint8 *lu_synthetic_section (const LuSynthetic *self, guint section, gsize *size,
                                    guint64 *vaddr);
/* Returns the handle of the view with that segment address, created at first use, or NULL if all
 * views are in use. */
Elf *lu_synthetic_elf (LuSynthetic *self, guint64 vaddr);
