/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* reader-process.h - a process that loads the part of the BPF program for interpreters once they
 * are met: the recorder has given up the right to load programs by then. */

#pragma once

#include "bpf/program.h"

typedef struct
{
  int fd; /* owned; of a socket to the process; -1: it has said what came of it, or there is none */
  int result;
  gboolean is_wanted;
  pid_t pid; /* 0: none */
} LuBpfReaderProcess;

/* Forks the process; other threads may run. Where that fails, nothing will be loaded. */
void lu_bpf_reader_process_start (LuBpfReaderProcess *self, LuBpfProgram *program);
/* Tells the process to load; later calls do nothing. Does not wait. */
void lu_bpf_reader_process_go (LuBpfReaderProcess *self);
/* Waits until the process has said what came of it, if it was told to load; for `ms` at most, or
 * until a signal is handled. */
void lu_bpf_reader_process_await (const LuBpfReaderProcess *self, int ms);
/* Returns the negative errno for which nothing could be loaded; 0: it was, or nothing is known yet.
 * Does not wait. */
int lu_bpf_reader_process_result (LuBpfReaderProcess *self);
void lu_bpf_reader_process_stop (LuBpfReaderProcess *self);
