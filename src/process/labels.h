/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* labels.h - what a process is called.
 *
 * Recordings, captures, models, reports and all formats pass the labels of a process on in this one
 * struct and derive names for people from it with the functions below. */

#pragma once

#include <glib.h>

/* Texts are borrowed from the owner of the struct. */
typedef struct
{
  const char *command_line; /* arguments separated by spaces; the program's name if unknown */
} LuLabels;

/* Returns the name of the program without directory and arguments: "python3" for "/usr/bin/python3
 * -m x", "nginx" for the title "nginx: worker process". "?" if there is none. Owned by the caller.
 */
char *lu_labels_program (const LuLabels *self);

/* Returns whether a thread's name tells nothing more than that of its program, which the kernel
 * gives to a process and cuts to 15 bytes. */
gboolean lu_labels_thread_is_program (const char *program, const char *thread);
