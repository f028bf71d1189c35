/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* window.h - the last seconds of a recording, from the stream of its capture.
 *
 * Frames of the capture are kept as bytes for as long as the window is, and the samples among them
 * are counted in a model, whose counts go down again when samples leave the window. What explains
 * samples (processes, mappings, names of the kernel) stays after that, until its process ends. Both
 * have a limit. The model is made anew from what is kept when it has mostly become old, so that
 * `top` may run for weeks. One thread; the stream comes from a recorder of our own, and any bytes
 * are fine. */

#pragma once

#include "profile/model.h"

typedef struct _LuTopWindow LuTopWindow;

/* length: ns. own_pid: the process whose samples are left out; 0: none. */
LuTopWindow *lu_top_window_new (guint64 length, gint32 own_pid);
void lu_top_window_free (LuTopWindow *self);

/* Keeps bytes of the stream until lu_top_window_update(). */
void lu_top_window_feed (LuTopWindow *self, gconstpointer bytes, gsize size);
/* Takes the bytes that came and drops what is older than the window at `now` (CLOCK_MONOTONIC, ns).
 * Nothing is dropped at 0; paused, samples neither come nor go. Fails if the stream is no capture.
 */
gboolean lu_top_window_update (LuTopWindow *self, guint64 now, gboolean is_paused, GError **error);
/* Whether the stream has begun. */
gboolean lu_top_window_has_begun (const LuTopWindow *self);
/* Returns the model, whose counts are those of the window; NULL before the stream has begun.
 * *generation changes with each new model. Borrowed until the next update. */
LuModel *lu_top_window_model (const LuTopWindow *self, guint *generation);
/* Returns the time between the first and the last sample in the window, in seconds. */
double lu_top_window_seconds (const LuTopWindow *self);
/* Returns the samples that the recorder reports as lost in the window. */
guint64 lu_top_window_n_lost (const LuTopWindow *self);
/* Writes the window as a capture with names; fd is taken. go_on: called many times a second while
 * files are read for them. */
gboolean lu_top_window_write (const LuTopWindow *self, int fd, LuNamerProgress go_on,
                              gpointer user_data, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuTopWindow, lu_top_window_free)
