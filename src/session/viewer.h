/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* viewer.h - the program that shows a recording, and the process that opens it (--open).
 *
 * A recording may not execute programs. A process that executes the viewer is therefore started
 * before anything is open; it has the rights of the user who called, reads nothing and waits for
 * one byte. */

#pragma once

#include <glib.h>

/* Borrowed from the outputs, or static. */
typedef struct
{
  const char *page;    /* the first output for a browser; NULL: none */
  const char *capture; /* the first capture; NULL: none */
  const char *program; /* shows the page, or else the capture; NULL: it is not installed */
} LuViewer;

/* outputs: NULL-terminated; "-" is none; NULL: there are none. Looks for programs, for which a
 * recorder may have no rights later. */
LuViewer lu_viewer_choose (char *const *outputs);

/* Starts the process of the viewer that will show the outputs. Returns the descriptor that it
 * listens to; -1: nothing can show them. Forks, so call it before starting threads and opening
 * files. */
int lu_viewer_start (const LuViewer *viewer, GError **error);
/* Has them shown; closing the descriptor without this ends the process. Any thread. */
void lu_viewer_go (int fd);
