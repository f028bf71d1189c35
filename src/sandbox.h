/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* sandbox.h - gives up what a recording no longer needs once it is set up: capabilities, and in
 * helper mode nearly all system calls. What is kept and why: docs/sandbox.md. */

#pragma once

#include <glib.h>

/* What the rest of the recording has to be able to do; more is given up. */
typedef enum
{
  LU_NEEDS_FILES = 1 << 0,     /* read files that mappings name */
  LU_NEEDS_PROCESSES = 1 << 1, /* look at other processes in /proc */
  LU_NEEDS_EVENTS = 1 << 2,    /* open further perf events and map their rings */
  LU_NEEDS_COMMAND = 1 << 3,   /* pass signals on to COMMAND */
  LU_NEEDS_MAPS = 1 << 4,      /* make and fill maps of a BPF program that is loaded */
  LU_NEEDS_OUTPUTS = 1 << 5,   /* make files in a folder of somebody else, for its owner */
} LuNeeds;

/* Gives up all capabilities but those needed, for good: the bounding set is emptied, no_new_privs
 * is set. Works on the calling thread; threads made later inherit it, so call it before there are
 * any. Without privilege it does what it can and succeeds. */
gboolean lu_sandbox_drop_capabilities (LuNeeds needs, GError **error);

/* Refuses from now on, in all threads, every system call but those that draining, unwinding and
 * writing to open descriptors need, and with LU_NEEDS_MAPS those of bpf() for maps: most with
 * EPERM. In particular no program is executed, no process or socket made, none traced or written
 * to, no file opened for writing, no memory made executable. Threads can still be made. Sets
 * no_new_privs. */
gboolean lu_sandbox_restrict_calls (LuNeeds needs, GError **error);
