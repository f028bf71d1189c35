/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* syscap-pids.h - what the capture already has of each pid: process, mappings, mountinfo.
 *
 * Owned by the sink. Live pids are kept, and the last LU_SYSCAP_MAX_EXITED that exited: samples of
 * a short process usually arrive after its exit, because side-band overtakes samples, and if a pid
 * is used again, its mappings go into the same table of the viewer. The limit keeps memory constant
 * in a week of short processes. */

#pragma once

#include "syscap-maps.h"

/* A pid with mappings takes 1 to 2 KB, so all take 2 MB. Pids are reused only after tens of
 * thousands of others. */
#define LU_SYSCAP_MAX_EXITED 1024

typedef struct
{
  gint32 pid;
  gboolean is_known; /* its FORK or PROCESS is in the file, so its EXIT may follow */
  gboolean has_mountinfo;
  guint32 named_states;     /* one bit for each end state whose name is written (for a client) */
  guint64 process_id;       /* lu_process_id() of the newest PROCESS frame; 0 none */
  const char *command_line; /* borrowed from that process, only compared */
  guint64
      address_space_serial; /* of the address space whose mappings are all in the file; 0: none */
  guint64 n_samples;        /* since a mapping of another file last covered one */
  LuSyscapMaps *maps;       /* owned; NULL: none yet */
  GHashTable *thread_names; /* tid -> name that readers know, owned; NULL: none */
  GList exited_link;        /* in the queue of exited pids; data is NULL if not in it */
} LuSyscapPid;

typedef struct _LuSyscapPids LuSyscapPids;

LuSyscapPids *lu_syscap_pids_new (void);
void lu_syscap_pids_free (LuSyscapPids *self);

/* Returns NULL if the pid is unknown. Borrowed until the next call of one of these functions. */
LuSyscapPid *lu_syscap_pids_find (LuSyscapPids *self, gint32 pid);
LuSyscapPid *lu_syscap_pids_get (LuSyscapPids *self, gint32 pid);
/* Marks a pid as live, also if it is reused. */
LuSyscapPid *lu_syscap_pids_begin (LuSyscapPids *self, gint32 pid);
void lu_syscap_pids_exit (LuSyscapPids *self, LuSyscapPid *pid);
guint lu_syscap_pids_size (const LuSyscapPids *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuSyscapPids, lu_syscap_pids_free)
