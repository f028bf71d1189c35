/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* code-reader.h - reads a few bytes of code from mapped files, or CFI that an image has dropped.
 *
 * Worker thread only. Images keep no code and no descriptor, so the file is opened again, with the
 * checks of opener.h; the last few stay open, and a few pages of code are kept. The number of opens
 * and reads per second is limited, because a hostile process chooses them, and so is the time for
 * CFI (time-budget.h). A replay has as much time as it needs, and more samples per second than a
 * recording. */

#pragma once

#include "module/module.h"

typedef struct _LuCodeReader LuCodeReader;

typedef enum
{
  LU_CODE_READ,
  LU_CODE_UNREADABLE,  /* the file or the bytes no longer exist */
  LU_CODE_OVER_BUDGET, /* try again later */
} LuCodeResult;

LuCodeReader *lu_code_reader_new (void);
/* Without limits, nothing is over budget but CFI that does not fit into memory. */
void lu_code_reader_set_limited (LuCodeReader *self, gboolean is_limited);
/* Rows that are being made, and that a walk needs. */
typedef struct
{
  LuTableSlot *slot; /* borrowed from the module; NULL: none are needed */
  guint64 address;   /* of ELF */
} LuAwaitedRows;

/* Has the first rows noted that a walk needs and that have yet to come, so that it can be made
 * again when they are there. Borrowed, and empty; NULL: walks go on without them. */
void lu_code_reader_set_awaited (LuCodeReader *self, LuAwaitedRows *awaited);
/* Returns whether rows were noted. */
gboolean lu_code_reader_awaits (const LuCodeReader *self);
void lu_code_reader_free (LuCodeReader *self);

/* A module as a process has it mapped. */
typedef struct
{
  LuModule *module;   /* borrowed */
  gint32 pid;         /* 0: unknown */
  guint64 start, end; /* run-time addresses of the mapping */
} LuMappedModule;

/* Reads `size` bytes of code at `file_offset`. */
LuCodeResult lu_code_reader_read (LuCodeReader *self, const LuMappedModule *mapped,
                                  guint64 file_offset, guint8 *bytes, gsize size);

/* Does the same past the pages that are kept: programs may still write to the file. */
LuCodeResult lu_code_reader_read_anew (LuCodeReader *self, const LuMappedModule *mapped,
                                       guint64 file_offset, guint8 *bytes, gsize size);

/* Returns whether the process may cost time now. */
gboolean lu_code_reader_may_work (LuCodeReader *self, gint32 pid);
/* Charges the process for the work, in ns of CPU time. */
void lu_code_reader_charge (LuCodeReader *self, gint32 pid, guint64 ns);

/* Asks for rows for the code of a module that no CFI covers, first around an ELF address. Returns
 * FALSE if those have yet to come, which is noted unless nothing could be begun for them; otherwise
 * they are there, or there are none. Without limits, waits for all of them instead. */
gboolean lu_code_reader_fill_gaps (LuCodeReader *self, const LuMappedModule *mapped,
                                   guint64 address);

/* Returns an empty list of images whose CFI is held. Removing an image releases its CFI. */
GPtrArray *lu_held_cfi_new (void);
/* Holds the CFI of a module that is ready, reading it again if it was dropped, and adds the image
 * to the list. UNREADABLE: the file is gone or has changed. */
LuCodeResult lu_code_reader_hold_cfi (LuCodeReader *self, GPtrArray *held,
                                      const LuMappedModule *mapped);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuCodeReader, lu_code_reader_free)
