/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* dwfl-address-space.h - libdwfl sessions for address spaces, a few of which are kept.
 *
 * Used by the dwfl engine. Each executable mapping with an image is a module of libdwfl of exactly
 * that range (adjacent pieces of one file joined), so modules never overlap; a new version of a
 * space changes the session of its process instead of making another, which keeps what libdw has
 * parsed. */

#pragma once

#include "process/address-space.h"

#include <elfutils/libdwfl.h>

/* An executable mapping as the engines see it. */
typedef struct
{
  guint64 start, end;       /* run-time addresses */
  guint64 bias;             /* run-time minus ELF address */
  guint64 file_offset;      /* of start */
  LuModule *module;         /* borrowed from the space */
  gboolean is_copy;         /* as in LuMapping */
  LuStatus status;          /* COMPLETE: can be unwound through; else why not */
  Dwfl_Module *dwfl_module; /* NULL unless COMPLETE */
} LuDwflMapping;

/* Describes a mapping, without a module of libdwfl. */
LuDwflMapping lu_dwfl_mapping_describe (const LuMapping *mapping, const LuArch *arch);

typedef struct _LuDwflAddressSpace LuDwflAddressSpace;
typedef struct _LuDwflAddressSpaces LuDwflAddressSpaces;

/* callbacks, callback_data: what libdwfl calls to read registers and memory; both outlive the
 * spaces. budget: bytes that libdw's parsed entries of all sessions may take, by estimate. */
LuDwflAddressSpaces *lu_dwfl_address_spaces_new (const Dwfl_Thread_Callbacks *callbacks,
                                                 gpointer callback_data, gsize budget);
void lu_dwfl_address_spaces_free (LuDwflAddressSpaces *self);

/* Returns the session for this version of an address space; NULL if libdwfl cannot make one.
 * Borrowed, until the next call. */
LuDwflAddressSpace *lu_dwfl_address_spaces_get (LuDwflAddressSpaces *self, gint32 pid,
                                                LuAddressSpace *space, const LuArch *arch);

Dwfl *lu_dwfl_address_space_dwfl (const LuDwflAddressSpace *self);
/* Returns the mapping that holds the address, or NULL. */
const LuDwflMapping *lu_dwfl_address_space_find (const LuDwflAddressSpace *self, guint64 address);
/* Notes that libdw has looked up this code, for the estimate of its memory. */
void lu_dwfl_address_space_touch (LuDwflAddressSpace *self, const LuDwflMapping *mapping,
                                  guint64 elf_address);
