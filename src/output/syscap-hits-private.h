/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* syscap-hits-private.h - what was hit, as syscap-hits.c collects it while recording and
 * syscap-names.c names it at the end; for them only. */

#pragma once

#include "base/id-table.h"
#include "output/syscap-hits.h"

#define LU_SYSCAP_SEEN_BITS 13
/* Outermost addresses of the last stack that are kept. */
#define LU_SYSCAP_MAX_LAST 64
#define LU_SYSCAP_N_LATELY 64

enum
{
  LU_SYSCAP_HIT_OUTSIDE, /* of every mapping, or in generated code */
  LU_SYSCAP_HIT_KERNEL,
  LU_SYSCAP_HIT_STATE,
  LU_SYSCAP_HIT_FIRST_FILE
};

typedef struct
{
  guint64 file_offset;
  guint64 time;
  guint32 file;   /* LU_SYSCAP_HIT_*, or LU_SYSCAP_HIT_FIRST_FILE + number */
  guint32 n : 31; /* how often, if it is counted */
  guint32 is_named : 1;
} LuSyscapHit;

typedef struct
{
  char *path, *build_id; /* owned */
  guint64 inode;
  gint32 pid;
  guint64 start, end;
  guint n_hits;
  /* if samples are counted */
  guint64 n_samples, last_sample;
} LuSyscapHitFile;

/* In front of file_of: names of mappings are interned, and there are few. */
typedef struct
{
  char *name; /* reference; NULL: none */
  guint32 file;
} LuSyscapLatelyFile;

struct _LuSyscapHits
{
  gboolean is_live;
  guint64 seen[1 << LU_SYSCAP_SEEN_BITS];
  guint64 last[LU_SYSCAP_MAX_LAST]; /* of last_pid; outermost first */
  guint n_last;
  gint32 last_pid;
  LuIdTable *addresses; /* (pid, address) */
  GArray *hits;         /* of LuSyscapHit, in that order */
  GPtrArray *files;     /* of LuSyscapHitFile, owned */
  GHashTable *file_of;  /* mapping name -> number + 1 */
  LuSyscapLatelyFile lately[LU_SYSCAP_N_LATELY];
  GHashTable *jitdumps; /* pid -> path */
  guint n_left_out;
  LuDebuginfod *debuginfod; /* borrowed; NULL: nothing is fetched, nor counted */
  guint32 *seen_hits;       /* beside seen: numbers of these hits */
  guint64 n_samples;
};
