/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* dwfl-space.h - libdwfl sessions for address spaces, a few of them kept.
 *
 * Used by the dwfl engine. Each executable mapping with an image is a module of libdwfl of exactly
 * that range (adjacent pieces of one file joined), so modules never overlap; a new version of a
 * space changes the session of its process instead of making another, which keeps what libdw has
 * parsed. */

#pragma once

#include "lu/status.h"
#include "process/space.h"
#include "unwind/arch.h"

#include <elfutils/libdwfl.h>

/* One executable mapping as the engine sees it. */
typedef struct
{
  guint64 start, end;       /* run-time addresses */
  guint64 bias;             /* run-time minus ELF address */
  guint64 file_offset;      /* of start */
  LuModule *module;         /* borrowed from the space */
  LuStatus status;          /* COMPLETE: can be unwound through; else why not */
  Dwfl_Module *dwfl_module; /* NULL unless COMPLETE */
} LuDwflMapping;

/* Without a module of libdwfl. */
LuDwflMapping lu_dwfl_mapping_describe (const LuMapping *mapping, const LuArch *arch);

typedef struct _LuDwflSpace LuDwflSpace;
typedef struct _LuDwflSpaces LuDwflSpaces;

/* callbacks, callback_data: what libdwfl calls to read registers and memory; both outlive the
 * spaces. budget: bytes that libdw's parsed entries of all sessions may take, by estimate. */
LuDwflSpaces *lu_dwfl_spaces_new (const Dwfl_Thread_Callbacks *callbacks, gpointer callback_data,
                                  gsize budget);
void lu_dwfl_spaces_free (LuDwflSpaces *self);

/* The session for this version of a space and this architecture; NULL if libdwfl cannot make one.
 * Borrowed, until the next call. */
LuDwflSpace *lu_dwfl_spaces_get (LuDwflSpaces *self, gint32 pid, LuSpace *space,
                                 const LuArch *arch);

Dwfl *lu_dwfl_space_dwfl (const LuDwflSpace *self);
/* The mapping that holds the address, or NULL. */
const LuDwflMapping *lu_dwfl_space_find (const LuDwflSpace *self, guint64 address);
/* Notes that libdw has looked up this code, for the estimate of its memory. */
void lu_dwfl_space_touch (LuDwflSpace *self, const LuDwflMapping *mapping, guint64 elf_address);
