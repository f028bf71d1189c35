/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* json.h - one JSON object as text, on one line, in the order of the calls; by json-glib. */

#pragma once

#include <glib.h>

/* A JsonBuilder. */
typedef struct _JsonBuilder LuJson;

/* Opens the outermost object. */
LuJson *lu_json_new (void);
void lu_json_free (LuJson *self);
/* Closes the outermost object, which must be all that is open. Returns the text (owned) and frees
 * self. */
char *lu_json_end (LuJson *self);

/* In all of these, `name` is that of a member of the open object; NULL in an array. */
void lu_json_begin_object (LuJson *self, const char *name);
void lu_json_end_object (LuJson *self);
void lu_json_begin_array (LuJson *self, const char *name);
void lu_json_end_array (LuJson *self);

void lu_json_add_int (LuJson *self, const char *name, gint64 value);
/* Adds null for a value that is not finite. */
void lu_json_add_double (LuJson *self, const char *name, double value);
/* Replaces what is not UTF-8 by U+FFFD; adds null for NULL. */
void lu_json_add_string (LuJson *self, const char *name, const char *value);
void lu_json_add_bool (LuJson *self, const char *name, gboolean value);
void lu_json_add_null (LuJson *self, const char *name);

/* Finds the number `member` of the object that is the member `object` of the outermost one. Returns
 * FALSE if the text is NULL, is not JSON, or has no such number. */
gboolean lu_json_find_int (const char *text, const char *object, const char *member, gint64 *value);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuJson, lu_json_free)
