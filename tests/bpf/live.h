/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* live.h - the BPF program on one running process, without the recorder: load it, publish the
 * process's current mappings, sample it on one CPU, read the ring.
 *
 * Used by test-program.c and bench-walk.c. */

#pragma once

#include "bpf/backing-kernel.h"
#include "image.h"
#include "input/ring.h"
#include "module/opener.h"
#include "process/process-table.h"

typedef struct
{
  const LuBpfProgramOptions *program;
  guint64 period_ns;
  guint stack_size;
  guint cpu;
  guint ring_bytes;  /* a power of two; 0: large enough */
  gboolean all;      /* sample everything on the CPU, not only the process */
  gboolean is_known; /* publish its files, too, for other processes that map them */
} LiveOptions;

typedef struct
{
  LuBpfProgram *program;
  LuBpfBacking *backing;
  BpfImage image;
  LuProcessTable *table;
  LuOpener *opener;
  LuAddressSpace *space; /* of the process */
  gint32 pid;
  guint cpu;
  int sampler_fd, output_fd;
  guint64 output_id;
  LuRing ring;
} Live;

/* Reads the process's files, but not its memory. Returns FALSE and sets error on failure; call
 * live_stop() in either case. */
gboolean live_start (Live *self, gint32 pid, const LiveOptions *options, GError **error);
void live_stop (Live *self);

/* Takes one record of the ring. `record`: a BPF-unwound stack, or NULL; `sample`: a sample that
 * arrived, or NULL; both borrowed. */
typedef void (*LiveFunc) (const struct lu_bpf_record *record, const LuSample *sample,
                          gpointer user_data);
/* Passes on all stacks and samples in the ring; returns the number of lost records. */
guint64 live_drain (Live *self, LiveFunc func, gpointer user_data);

/* Starts the command on this CPU and waits until it has used that much CPU time; returns its pid,
 * or 0 on failure. */
gint32 live_spawn (char **argv, guint cpu, guint wait_ms);
