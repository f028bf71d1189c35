/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* json.h - one JSON object as text, on one line, in the order of the calls, by json-glib.
 *
 * That library is loaded when it is first used, which is at the end of a recording or in a report.
 * Linked, it would bring eight others (GObject, GIO, libmount, libselinux, ...) and 1.3 ms of CPU
 * to each start, and into a helper that has privileges and writes no JSON. */

#pragma once

#include <glib.h>

/* FALSE: it is not installed, or libraries may no longer be loaded. Any thread. */
gboolean lu_json_is_available (GError **error);

/* Below, where it is not available, nothing happens and nothing comes out. */
typedef struct _LuJson LuJson;

/* The outermost object is open. */
LuJson *lu_json_new (void);
void lu_json_free (LuJson *self);
/* Closes the outermost object, which must be all that is open. Owned; frees self. NULL: the library
 * is not available. */
char *lu_json_end (LuJson *self);

/* In all of these, name: of a member of the object that is open; NULL in an array. */
void lu_json_begin_object (LuJson *self, const char *name);
void lu_json_end_object (LuJson *self);
void lu_json_begin_array (LuJson *self, const char *name);
void lu_json_end_array (LuJson *self);

void lu_json_add_int (LuJson *self, const char *name, gint64 value);
/* What is no number is null. */
void lu_json_add_double (LuJson *self, const char *name, double value);
/* What is not UTF-8 is replaced by U+FFFD; NULL: null. */
void lu_json_add_string (LuJson *self, const char *name, const char *value);
void lu_json_add_bool (LuJson *self, const char *name, gboolean value);
void lu_json_add_null (LuJson *self, const char *name);

/* The number `member` of the object that is the member `object` of the outermost one. FALSE: the
 * text is NULL, or no JSON, or has no such number. */
gboolean lu_json_find_int (const char *text, const char *object, const char *member, gint64 *value);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuJson, lu_json_free)
