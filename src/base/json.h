/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* json.h - writes one JSON object (RFC 8259) as text, on one line, in the order of the calls.
 *
 * Used for what a recording came to and for reports. Nothing is read here. The library for JSON
 * that GLib's friends use brings eight others, which took a twentieth of a helper's start. */

#pragma once

#include <glib.h>

typedef struct _LuJson LuJson;

/* The outermost object is open. */
LuJson *lu_json_new (void);
void lu_json_free (LuJson *self);
/* Closes the outermost object, which must be all that is open. Owned; frees self. */
char *lu_json_end (LuJson *self);

/* In all of these, name: of a member of the object that is open; NULL in an array. */
void lu_json_begin_object (LuJson *self, const char *name);
void lu_json_end_object (LuJson *self);
void lu_json_begin_array (LuJson *self, const char *name);
void lu_json_end_array (LuJson *self);

void lu_json_add_int (LuJson *self, const char *name, gint64 value);
/* Always with a point or an exponent; what is no number is null. */
void lu_json_add_double (LuJson *self, const char *name, double value);
/* What is not UTF-8 is replaced by U+FFFD; NULL: null. */
void lu_json_add_string (LuJson *self, const char *name, const char *value);
void lu_json_add_bool (LuJson *self, const char *name, gboolean value);
void lu_json_add_null (LuJson *self, const char *name);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuJson, lu_json_free)
