/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* synthetic.h - a small ELF file in private memory, made of CFI sections and headers of our own.
 *
 * Used by image.c only. It exists because libdwfl wants an Elf for each module: this one cannot lie
 * about anything but the CFI itself, opens in a microsecond and takes only the memory of its CFI.
 *
 *   | views: ELF header, program header, 5 section headers, names | .eh_frame_hdr | .eh_frame |
 * .debug_frame | | 8 × 512 bytes                                               | each 16-aligned |
 *
 * A view is a header block of its own over the same sections; its file begins where the view
 * begins. Views differ in the address of their only segment, which is where libdwfl puts a module's
 * start. */

#pragma once

#include <glib.h>

typedef struct Elf Elf; /* libelf.h */

enum
{
  LU_SYNTHETIC_EH_FRAME_HDR,
  LU_SYNTHETIC_EH_FRAME,
  LU_SYNTHETIC_DEBUG_FRAME,
  LU_N_SYNTHETIC_SECTIONS
};

typedef struct
{
  guint8 *bytes; /* g_malloc; NULL: there is no such section, or only room for it */
  gsize size;
  gboolean is_room; /* no bytes yet: they are written to lu_synthetic_room() */
  guint64 vaddr;
  gboolean is_compressed;     /* SHF_COMPRESSED */
  gboolean is_gnu_compressed; /* the older form, .zdebug_frame */
} LuSyntheticSection;

typedef struct _LuSynthetic LuSynthetic;

/* Copies the sections. NULL when there is no memory. is_filled_now: rooms are filled at once; else
 * they are empty until lu_synthetic_populate(). */
LuSynthetic *lu_synthetic_new (gboolean is_64bit, guint16 machine,
                               const LuSyntheticSection sections[LU_N_SYNTHETIC_SECTIONS],
                               gboolean is_filled_now);
void lu_synthetic_free (LuSynthetic *self);
/* Where the bytes of a section go that was only room; nobody may have the object yet. */
guint8 *lu_synthetic_room (LuSynthetic *self, guint section, gsize *size);
/* They could not be had: there is no such section. */
void lu_synthetic_drop (LuSynthetic *self, guint section);

/* Gives the memory of all sections back: they are zeros then, at the same addresses. */
void lu_synthetic_empty (LuSynthetic *self);
/* They are about to be filled again. */
void lu_synthetic_populate (LuSynthetic *self);

gsize lu_synthetic_size (const LuSynthetic *self);
gboolean lu_synthetic_is_64bit (const LuSynthetic *self);
guint16 lu_synthetic_machine (const LuSynthetic *self); /* EM_* */
/* The bytes of a section (LU_SYNTHETIC_*); NULL if there is none. Borrowed. */
const guint8 *lu_synthetic_section (const LuSynthetic *self, guint section, gsize *size,
                                    guint64 *vaddr);
/* The handle of the view with that segment address, made at first use; NULL when all views are
 * taken. */
Elf *lu_synthetic_elf (LuSynthetic *self, guint64 vaddr);

/* Replaces a compressed section by what it holds, or by nothing if it is damaged or larger than 64
 * MiB. */
void lu_synthetic_decompress (LuSyntheticSection *section, gboolean is_64bit, guint16 machine);
