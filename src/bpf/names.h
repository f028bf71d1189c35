/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* names.h - names of kernel functions from the kernel itself, one by one, by a small BPF program
 * (bpf/names.bpf.c).
 *
 * A microsecond each, where /proc/kallsyms takes the kernel tens of milliseconds to print whatever
 * is wanted of it. Used by the session for the captures of a recording. */

#pragma once

#include <glib.h>

typedef struct _LuBpfNames LuBpfNames;

/* Takes the rights of loading a program (and the rest none). NULL where that or the kernel's
 * ability (5.14) is missing: there is /proc/kallsyms, so nobody has to be told. */
LuBpfNames *lu_bpf_names_new (void);
/* A LuKallsymsAskFunc; one thread at a time. user_data: the LuBpfNames. */
gboolean lu_bpf_names_ask (guint64 address, char *text, gsize size, gpointer user_data);
/* A GDestroyNotify. */
void lu_bpf_names_free (gpointer self);
