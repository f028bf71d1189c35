/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* json.c - JSON by json-glib; see json.h. */

#include "base/json.h"

#include <json-glib/json-glib.h>
#include <math.h>

LuJson *
lu_json_new (void)
{
  return json_builder_begin_object (json_builder_new ());
}

void
lu_json_free (LuJson *self)
{
  g_clear_object (&self);
}

/* Escapes U+0080 to U+009F: json-glib does not, and they are commands for a terminal. */
static char *
escape_controls (const char *text)
{
  GString *escaped = g_string_new (NULL);

  for (const char *at = text; *at != 0; at++)
    if ((guchar) at[0] == 0xc2 && (guchar) at[1] < 0xa0 && at[1] != 0)
      g_string_append_printf (escaped, "\\u%04x", (guchar) * ++at);
    else
      g_string_append_c (escaped, *at);
  return g_string_free (escaped, FALSE);
}

char *
lu_json_end (LuJson *self)
{
  g_autoptr (JsonNode) root = NULL;
  g_autofree char *text = NULL;

  json_builder_end_object (self);
  root = json_builder_get_root (self);
  g_assert (root != NULL);
  text = json_to_string (root, FALSE);
  lu_json_free (self);
  return escape_controls (text);
}

static void
set_name (LuJson *self, const char *name)
{
  if (name != NULL)
    json_builder_set_member_name (self, name);
}

void
lu_json_begin_object (LuJson *self, const char *name)
{
  set_name (self, name);
  json_builder_begin_object (self);
}

void
lu_json_end_object (LuJson *self)
{
  json_builder_end_object (self);
}

void
lu_json_begin_array (LuJson *self, const char *name)
{
  set_name (self, name);
  json_builder_begin_array (self);
}

void
lu_json_end_array (LuJson *self)
{
  json_builder_end_array (self);
}

void
lu_json_add_int (LuJson *self, const char *name, gint64 value)
{
  set_name (self, name);
  json_builder_add_int_value (self, value);
}

void
lu_json_add_double (LuJson *self, const char *name, double value)
{
  set_name (self, name);
  if (isfinite (value))
    json_builder_add_double_value (self, value);
  else
    json_builder_add_null_value (self);
}

void
lu_json_add_string (LuJson *self, const char *name, const char *value)
{
  g_autofree char *valid = value != NULL ? g_utf8_make_valid (value, -1) : NULL;

  set_name (self, name);
  /* json-glib 1.6 does not escape 0x1f, as JSON requires. */
  if (valid != NULL)
    json_builder_add_string_value (self, g_strdelimit (valid, "\x1f", ' '));
  else
    json_builder_add_null_value (self);
}

void
lu_json_add_bool (LuJson *self, const char *name, gboolean value)
{
  set_name (self, name);
  json_builder_add_boolean_value (self, value);
}

void
lu_json_add_null (LuJson *self, const char *name)
{
  set_name (self, name);
  json_builder_add_null_value (self);
}

/* Reading */

/* Returns NULL if the node is no object or has no such member. Borrowed. */
static JsonNode *
find_member (JsonNode *node, const char *name)
{
  return node != NULL && JSON_NODE_HOLDS_OBJECT (node)
             ? json_object_get_member (json_node_get_object (node), name)
             : NULL;
}

gboolean
lu_json_find_int (const char *text, const char *object, const char *member, gint64 *value)
{
  g_autoptr (JsonNode) root = text != NULL ? json_from_string (text, NULL) : NULL;
  JsonNode *found = find_member (find_member (root, object), member);

  if (found == NULL || !JSON_NODE_HOLDS_VALUE (found))
    return FALSE;
  *value = json_node_get_int (found);
  return TRUE;
}
