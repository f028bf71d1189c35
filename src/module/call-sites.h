/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* call-sites.h - what is known of return addresses in one file: whether a call stands in front.
 *
 * Filled by the worker, which reads the few code bytes from the file; asked by every walker where
 * it steps through code without unwind information. One writer, any number of readers, no lock: an
 * answer is one word. A fixed number of answers is kept; one that was pushed out is only read
 * again. */

#pragma once

#include <glib.h>

typedef enum
{
  LU_CALL_UNKNOWN,  /* nobody has looked yet, or the answer was pushed out */
  LU_CALL_NONE,     /* no call ends there, or the bytes cannot be read */
  LU_CALL_DIRECT,   /* a call to a fixed address */
  LU_CALL_INDIRECT, /* a call through a register or memory */
} LuCallKind;

typedef struct _LuCallSites LuCallSites;

/* About 16 KiB. */
LuCallSites *lu_call_sites_new (void);
void lu_call_sites_free (LuCallSites *self);

/* `file_offset`: of the return address. Any thread. */
LuCallKind lu_call_sites_find (const LuCallSites *self, guint64 file_offset);
/* Worker thread only. Offsets above 2^62 are not kept. */
void lu_call_sites_add (LuCallSites *self, guint64 file_offset, LuCallKind kind);
/* All answers that are kept, in no order. */
typedef void (*LuCallSiteFunc) (guint64 file_offset, LuCallKind kind, gpointer user_data);
void lu_call_sites_foreach (const LuCallSites *self, LuCallSiteFunc func, gpointer user_data);
