/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* live.h - the BPF program on one running process, without anything of the recorder: load, publish
 * its mappings as they are, sample it on one CPU, read what comes.
 *
 * Used by test-program.c and bench-walk.c. */

#pragma once

#include "bpf/program.h"
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
  guint ring_bytes;  /* a power of two; 0: plenty */
  gboolean all;      /* whatever runs on the CPU, not the process alone */
  gboolean is_known; /* its files are, too, for what else maps them */
} LiveOptions;

typedef struct
{
  LuBpfProgram *program;
  BpfImage image;
  LuProcessTable *table;
  LuOpener *opener;
  LuSpace *space; /* of the process */
  gint32 pid;
  guint cpu;
  int sampler_fd, output_fd;
  guint64 output_id;
  LuRing ring;
} Live;

/* The process' files are read, its memory is not. FALSE: see error; live_stop() in any case. */
gboolean live_start (Live *self, gint32 pid, const LiveOptions *options, GError **error);
void live_stop (Live *self);

/* What the ring has to say. `record`: a stack walked by the program, or NULL; `sample`: a sample
 * that arrived, or NULL; both borrowed. */
typedef void (*LiveFunc) (const struct lu_bpf_record *record, const LuSample *sample,
                          gpointer user_data);
/* Hands on all that is in the ring now but arguments; returns the records that were lost. */
guint64 live_drain (Live *self, LiveFunc func, gpointer user_data);

/* Starts the command on this CPU, and waits until it has had so much CPU time; 0 on failure. */
gint32 live_spawn (char **argv, guint cpu, guint wait_ms);
