/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* syscap-hits.h - remembers which addresses of which process are in a capture, and names them all
 * at its end.
 *
 * While recording, an address that was seen before costs one comparison. If debug files may be
 * fetched afterwards, samples are counted as well, because files with the most samples come first.
 * Owned by the sink. */

#pragma once

#include "syscap-maps.h"
#include "process/process.h"
#include "symbolize/kallsyms.h"
#include "symbolize/namer.h"
#include "symbolize/runtimes.h"

typedef struct _LuSyscapHits LuSyscapHits;

/* is_live: the processes run on this machine now, so their files can be opened through /proc. */
LuSyscapHits *lu_syscap_hits_new (gboolean is_live);
void lu_syscap_hits_free (LuSyscapHits *self);

/* Fetches debug files for addresses without a name. Borrowed; call this before the first sample.
 */
void lu_syscap_hits_set_debuginfod (LuSyscapHits *self, LuDebuginfod *debuginfod);

/* The stack of one sample; everything is borrowed. */
typedef struct
{
  gint32 pid;
  guint64 time;             /* ns */
  const LuSyscapMaps *maps; /* mappings of the process, or NULL */
  const guint64 *addresses; /* as they are in the capture (syscap-stack.h) */
  guint n_addresses;
  LuProcess *generated_by; /* the process if the stack ends in generated code or passes it, or NULL
                            */
} LuSyscapHitStack;

/* Adds the addresses of a stack. */
void lu_syscap_hits_add (LuSyscapHits *self, const LuSyscapHitStack *stack);

/* Takes the name of a function that an interpreter runs (lu_is_function()), and its number, which
 * is the same for all its lines. */
void lu_syscap_hits_learn (LuSyscapHits *self, guint64 address, const char *name, guint32 number);

typedef struct
{
  guint n_addresses, n_named; /* distinct addresses, counted per process */
  guint n_left_out;           /* addresses without room */
  gboolean is_skipped;        /* progress() ended it */
  LuRuntimes runtimes;        /* samples with generated code that mostly lacks names */
} LuSyscapHitsResult;

/* Returns the file __symbols__ (owned by the caller) with the functions of all addresses.
 * kallsyms: NULL if there is none; progress: may be NULL. */
GByteArray *lu_syscap_hits_name (LuSyscapHits *self, const LuKallsyms *kallsyms,
                                 LuNamerProgress progress, gpointer user_data,
                                 LuSyscapHitsResult *result);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuSyscapHits, lu_syscap_hits_free)
