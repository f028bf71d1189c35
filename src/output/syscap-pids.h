/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* syscap-pids.h - what is in the capture already of each pid: process, mappings, mountinfo.
 *
 * Owned by the sink. Live pids are kept; of those that exited the last LU_SYSCAP_MAX_EXITED,
 * because samples usually arrive after the exit of a short process (side-band overtakes samples),
 * and because a pid that is used again has to fit into the same table of the viewer. So a week of
 * short processes needs no more than a minute of them. */

#pragma once

#include "output/syscap-maps.h"

/* At 1 to 2 KB for one with mappings: 2 MB. A pid comes again after tens of thousands of others. */
#define LU_SYSCAP_MAX_EXITED 1024

typedef struct
{
  gint32 pid;
  gboolean is_known; /* its FORK or PROCESS is in the file: so may its EXIT be */
  gboolean has_mountinfo;
  guint32 named_states;     /* bit: the frame that names this end state is written (client) */
  guint64 process_id;       /* lu_process_id() of the newest PROCESS frame; 0 none */
  const char *command_line; /* borrowed from that process, only to be compared */
  guint64 space_serial;     /* of the version whose mappings are all in the file; 0 none */
  guint64 n_samples;        /* since a mapping was last covered by another file's */
  LuSyscapMaps *maps;       /* owned; NULL: none yet */
  GList exited_link;        /* in the queue of exited pids; data is NULL if not in it */
} LuSyscapPid;

typedef struct _LuSyscapPids LuSyscapPids;

LuSyscapPids *lu_syscap_pids_new (void);
void lu_syscap_pids_free (LuSyscapPids *self);

/* Borrowed, valid until the next call of these functions. */
LuSyscapPid *lu_syscap_pids_find (LuSyscapPids *self, gint32 pid);
LuSyscapPid *lu_syscap_pids_get (LuSyscapPids *self, gint32 pid);
/* The pid began (again): it is no longer one of the exited. */
LuSyscapPid *lu_syscap_pids_begin (LuSyscapPids *self, gint32 pid);
void lu_syscap_pids_exit (LuSyscapPids *self, LuSyscapPid *pid);
guint lu_syscap_pids_size (const LuSyscapPids *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuSyscapPids, lu_syscap_pids_free)
