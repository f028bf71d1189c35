/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* code-reader.h - reads a few bytes of code from the files that processes have mapped, or all of
 * the CFI that an image does without.
 *
 * Worker thread only. Images keep no code and no descriptor, so the file is opened again, with the
 * checks of opener.h; the last few stay open. How often files are opened and read is limited,
 * because a hostile process chooses what is asked for. */

#pragma once

#include "module/module.h"

typedef struct _LuCodeReader LuCodeReader;

typedef enum
{
  LU_CODE_READ,
  LU_CODE_UNREADABLE,  /* no such file any more, or no such bytes */
  LU_CODE_OVER_BUDGET, /* not now */
} LuCodeResult;

LuCodeReader *lu_code_reader_new (void);
void lu_code_reader_free (LuCodeReader *self);

/* Reads the `size` bytes at `file_offset`. pid, start, end: the mapping, as for lu_opener_open().
 */
LuCodeResult lu_code_reader_read (LuCodeReader *self, const LuModule *module, gint32 pid,
                                  guint64 start, guint64 end, guint64 file_offset, guint8 *bytes,
                                  gsize size);

/* A list of images whose CFI is held: until they are taken from it. */
GPtrArray *lu_held_cfi_new (void);
/* Sees to it that the CFI of a module that is ready is there, and in the list. UNREADABLE: the file
 * is not there any more as it was. */
LuCodeResult lu_code_reader_hold_cfi (LuCodeReader *self, GPtrArray *held, LuModule *module,
                                      gint32 pid, guint64 start, guint64 end);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuCodeReader, lu_code_reader_free)
