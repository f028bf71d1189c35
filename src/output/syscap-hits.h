/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* syscap-hits.h - remembers which addresses of which process are in a capture, and names them all
 * at its end.
 *
 * While recording, an address that was there before costs one comparison, or is counted as well if
 * debug files may be fetched afterwards: those with most samples come first. Owned by the sink. */

#pragma once

#include "output/syscap-maps.h"
#include "symbolize/debuginfod.h"
#include "symbolize/kallsyms.h"

typedef struct _LuSyscapHits LuSyscapHits;

/* Naming may take seconds: asked before each file with how many there are and are done. FALSE:
 * leave out the rest. */
typedef gboolean (*LuSyscapHitsFunc) (guint done, guint total, gpointer user_data);

/* is_live: processes are of this machine, now, and their files may be reached through them. */
LuSyscapHits *lu_syscap_hits_new (gboolean is_live);
void lu_syscap_hits_free (LuSyscapHits *self);

/* Fetch debug files for names that are not found here. Borrowed. Before the first sample. */
void lu_syscap_hits_set_debuginfod (LuSyscapHits *self, LuDebuginfod *debuginfod);

/* The addresses of one sample as they are in the capture (syscap-stack.h). maps: of the process;
 * NULL: none. */
void lu_syscap_hits_add (LuSyscapHits *self, gint32 pid, guint64 time, const LuSyscapMaps *maps,
                         const guint64 *addresses, guint n_addresses);

typedef struct
{
  guint n_addresses, n_named; /* different addresses per process */
  guint n_left_out;           /* addresses for which there was no room */
  gboolean is_skipped;        /* go_on() said no */
} LuSyscapHitsResult;

/* The file __symbols__ with the functions of all of them. kallsyms: NULL: none; go_on may be
 * NULL. */
GByteArray *lu_syscap_hits_name (LuSyscapHits *self, const LuKallsyms *kallsyms,
                                 LuSyscapHitsFunc go_on, gpointer user_data,
                                 LuSyscapHitsResult *result);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuSyscapHits, lu_syscap_hits_free)
