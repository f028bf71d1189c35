/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* process.h - one incarnation of a process: a pid from fork or exec to exec or exit.
 *
 * Only the drain thread creates and changes it, unless a function says otherwise. Other threads
 * hold references and read what never changes (pid, id, start) or is published atomically. */

#pragma once

#include "address-space.h"
#include "labels.h"
#include "thread-names.h"

typedef struct _LuProcess LuProcess;

/* Information that has to be read for a process. */
typedef enum
{
  LU_PROCESS_NAME = 1 << 0,    /* its command line */
  LU_PROCESS_MOUNTS = 1 << 1,  /* its mount table */
  LU_PROCESS_MODULES = 1 << 2, /* the files that it maps */
  LU_PROCESS_LATER = 1 << 3,   /* whether it is still alive some time later */
  LU_PROCESS_THREADS = 1 << 4, /* the names of threads that are older than the recording */
} LuProcessNeeds;

/* Notes of the publisher of address spaces. */
typedef struct
{
  gboolean is_dirty;   /* the change of this one is known already */
  gboolean is_watched; /* all changes of this one are to be published; stays */
  guint n_samples;
} LuProcessMarks;

LuProcess *lu_process_ref (LuProcess *self);
void lu_process_unref (LuProcess *self);

/* Any thread may call these. */
gint32 lu_process_pid (const LuProcess *self);
/* Unique in this run, from 1: tells the incarnations of a pid apart. */
guint64 lu_process_id (const LuProcess *self);
guint64 lu_process_start_time (const LuProcess *self); /* ns; 0 if it ran before the recording */
/* Returns whether this incarnation is known to have begun with an exec, so that its memory is its
 * own. */
gboolean lu_process_has_executed (const LuProcess *self);
/* Bytes of the process's samples that wait for the worker: adds to them, or takes from them. */
void lu_process_add_queued (LuProcess *self, gsize bytes);
void lu_process_take_queued (LuProcess *self, gsize bytes);
gsize lu_process_queued (const LuProcess *self);
/* Returns at most 15 characters, the kernel's name since exec (or discovery). */
const char *lu_process_comm (const LuProcess *self);
/* Returns the command line with spaces between arguments if it was read in time; otherwise the
 * program's path if comm is the beginning of its name; otherwise comm. Borrowed, stable. */
const char *lu_process_command_line (LuProcess *self);
/* Returns all that is known of its labels. Texts are borrowed and stable. */
LuLabels lu_process_labels (LuProcess *self);
gboolean lu_process_has_command_line (LuProcess *self); /* it was read */
/* Publishes the command line once, as a copy of `length` bytes. */
void lu_process_set_command_line (LuProcess *self, const char *text, gsize length);
/* Publishes arguments that end in NULs as the command line. Changes the text in place. Does nothing
 * if there are none. */
void lu_process_set_arguments (LuProcess *self, char *text, gsize length);
/* Drain: gives a thread its name. */
void lu_process_set_thread_name (LuProcess *self, gint32 tid, const char *name);
/* Drain: gives a new thread of this process, which may be new as well, the name of the thread that
 * made it. */
void lu_process_inherit_thread_name (LuProcess *self, gint32 tid, LuProcess *parent,
                                     gint32 parent_tid);
/* Drain: returns the name that side-band gave to a thread, or "". Borrowed until the next change.
 */
const char *lu_process_new_thread_name (const LuProcess *self, gint32 tid);
/* Returns the name of a thread without a new one. Borrowed, stable. */
const char *lu_process_old_thread_name (LuProcess *self, gint32 tid);
/* Worker: publishes the names of the threads that run, once. */
void lu_process_read_thread_names (LuProcess *self);
/* Drain: copies the command line and the program of the parent, if known. */
void lu_process_inherit_names (LuProcess *self, const LuProcess *parent);
/* Drain: returns the current address space. Borrowed until the process changes. */
LuAddressSpace *lu_process_address_space (LuProcess *self);
/* Drain: returns the version of the address space with this serial number
 * (lu_address_space_serial()) if samples may still need it, or NULL. Borrowed in the same way. */
LuAddressSpace *lu_process_find_address_space (LuProcess *self, guint64 serial);
/* Drain: returns the bits of `needs` that were not yet passed to this function; 0 once all were. */
LuProcessNeeds lu_process_ask_once (LuProcess *self, LuProcessNeeds needs);
gboolean lu_process_is_asked (const LuProcess *self, LuProcessNeeds needs); /* for all bits */
/* Drain: returns whether all its files are in our mount namespace, so that its mount table adds
 * nothing. */
gboolean lu_process_maps_our_files (LuProcess *self);
/* Drain: returns what the publisher of address spaces notes here. Borrowed. */
LuProcessMarks *lu_process_marks (LuProcess *self);
/* Returns /proc/PID/mountinfo of the process, or NULL if unknown or not needed. Borrowed, stable.
 */
const char *lu_process_mountinfo (LuProcess *self);
/* Worker: publishes it once; takes it. */
void lu_process_take_mountinfo (LuProcess *self, char *mountinfo);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuProcess, lu_process_unref)
