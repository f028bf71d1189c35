/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* process.h - one incarnation of a process: a pid from fork or exec to exec or exit.
 *
 * Made and changed by the drain thread only, except where a function says otherwise; other threads
 * hold references and read what never changes (pid, generation, start) or what is published
 * atomically. */

#pragma once

#include "process/space.h"

#include <glib.h>

typedef struct _LuProcess LuProcess;

/* What somebody has to look up for a process. */
typedef enum
{
  LU_PROCESS_NAME = 1 << 0,    /* its command line */
  LU_PROCESS_MOUNTS = 1 << 1,  /* its mount table */
  LU_PROCESS_MODULES = 1 << 2, /* the files that it maps */
  LU_PROCESS_LATER = 1 << 3,   /* whether it still lives in some time */
} LuProcessNeeds;

LuProcess *lu_process_ref (LuProcess *self);
void lu_process_unref (LuProcess *self);

/* Any thread. */
gint32 lu_process_pid (const LuProcess *self);
guint32 lu_process_generation (const LuProcess *self); /* execs of this pid seen so far; from 0 */
/* A number that is never used again in this run, from 1: names (pid, generation) across pid reuse.
 */
guint64 lu_process_id (const LuProcess *self);
guint64 lu_process_start_time (const LuProcess *self); /* ns; 0 if it ran before the recording */
/* At most 15 characters, as the kernel keeps it at exec (or at discovery). */
const char *lu_process_comm (const LuProcess *self);
/* Command line, arguments separated by spaces, if it could be read in time, else the path of the
 * program where comm is its name or the beginning of it, else comm. Borrowed, stable. */
const char *lu_process_command_line (LuProcess *self);
gboolean lu_process_has_command_line (LuProcess *self); /* it could be read */
/* Publishes the command line once: a copy of `length` bytes. */
void lu_process_set_command_line (LuProcess *self, const char *text, gsize length);
/* The same from arguments with zeros between them, and at their end; in place. Nothing if they are
 * empty. */
void lu_process_set_arguments (LuProcess *self, char *text, gsize length);
/* Drain: the command line and the program of the process that it is a copy of, if they are known.
 */
void lu_process_inherit_names (LuProcess *self, const LuProcess *parent);
/* Drain: its space now. Borrowed until the process changes. */
LuSpace *lu_process_space (LuProcess *self);
/* Drain: the version of its space with this serial number (lu_space_serial()), if samples may still
 * need it; NULL if not. Borrowed as that. */
LuSpace *lu_process_find_space (LuProcess *self, guint64 serial);
/* Drain: those of `needs` that were not yet asked for by this call; 0 as soon as all were. */
LuProcessNeeds lu_process_ask_once (LuProcess *self, LuProcessNeeds needs);
gboolean lu_process_is_asked (const LuProcess *self, LuProcessNeeds needs); /* for all of them */
/* Drain: whether the mount table says nothing new of the files that it maps now. */
gboolean lu_process_maps_our_files (LuProcess *self);
/* Drain: a mark of whoever publishes spaces: it knows already that this one has changed. */
gboolean lu_process_is_marked (const LuProcess *self);
void lu_process_set_marked (LuProcess *self, gboolean is_marked);
/* Drain: the same, for good: it is to hear of all that changes in this one. */
gboolean lu_process_is_watched (const LuProcess *self);
void lu_process_set_watched (LuProcess *self);
/* Drain: adds to a count for whoever publishes spaces; returns what it is now. */
guint lu_process_add_samples (LuProcess *self, guint n);
/* /proc/PID/mountinfo of the process, or NULL where it is not known (or not needed). Borrowed,
 * stable. */
const char *lu_process_mountinfo (LuProcess *self);
/* Worker: publishes it once; takes it. */
void lu_process_take_mountinfo (LuProcess *self, char *mountinfo);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuProcess, lu_process_unref)
