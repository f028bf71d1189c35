/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* call-sites.h - what is known about return addresses in one file: whether a call precedes them.
 *
 * The worker fills it, reading a few code bytes from the file. Every walker asks it when it steps
 * through code without unwind information. One writer, any number of readers, no lock: an answer is
 * one word. An answer that was replaced is read again when needed. Where many are, there will be
 * room for more, within limits for each file and for all. */

#pragma once

#include "lu/calls.h"

#include <glib.h>

typedef enum lu_call_kind LuCallKind;

typedef struct _LuCallSites LuCallSites;

/* Takes about 16 KiB at first, and up to 1.4 MiB. */
LuCallSites *lu_call_sites_new (void);
void lu_call_sites_free (LuCallSites *self);

/* `file_offset`: of the return address. Any thread. */
LuCallKind lu_call_sites_find (const LuCallSites *self, guint64 file_offset);
/* Worker thread only. Offsets above 2^62 are not kept. */
void lu_call_sites_add (LuCallSites *self, guint64 file_offset, LuCallKind kind);
/* Calls `func` for all answers, in no order. */
typedef void (*LuCallSiteFunc) (guint64 file_offset, LuCallKind kind, gpointer user_data);
void lu_call_sites_foreach (const LuCallSites *self, LuCallSiteFunc func, gpointer user_data);
