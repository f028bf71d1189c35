/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* json.c - JSON by json-glib, which is loaded at first use; see json.h. */

#include "base/json.h"

#include "base/error.h"
#include "base/library.h"

#include <json-glib/json-glib.h>
#include <math.h>

/* Its name as long as its interface is what the header says. */
#define LIBRARY "libjson-glib-1.0.so.0"

/* The last one is GObject's, which comes along. */
#define FUNCTIONS(X)                                                                               \
  X (json_builder_new)                                                                             \
  X (json_builder_begin_object)                                                                    \
  X (json_builder_end_object)                                                                      \
  X (json_builder_begin_array)                                                                     \
  X (json_builder_end_array)                                                                       \
  X (json_builder_set_member_name)                                                                 \
  X (json_builder_add_int_value)                                                                   \
  X (json_builder_add_double_value)                                                                \
  X (json_builder_add_string_value)                                                                \
  X (json_builder_add_boolean_value)                                                               \
  X (json_builder_add_null_value)                                                                  \
  X (json_builder_get_root)                                                                        \
  X (json_to_string)                                                                               \
  X (json_from_string)                                                                             \
  X (json_node_unref)                                                                              \
  X (json_node_get_node_type)                                                                      \
  X (json_node_get_object)                                                                         \
  X (json_node_get_int)                                                                            \
  X (json_object_get_member)                                                                       \
  X (g_object_unref)

typedef struct
{
#define X(name) __typeof__ (name) *name;
  FUNCTIONS (X)
#undef X
} Library;

struct _LuJson
{
  const Library *library;
  JsonBuilder *builder; /* owned; both are NULL where the library is not available */
};

/* It stays loaded: GObject cannot be taken out of a process again. */
static gpointer
load (gpointer data)
{
  static Library library;
  char **reason = data;
  const LuLibraryFunction functions[] = {
#define X(name) { #name, &library.name },
    FUNCTIONS (X)
#undef X
  };

  return lu_library_load (LIBRARY, functions, G_N_ELEMENTS (functions), reason) ? &library : NULL;
}

static const Library *
get_library (const char **reason)
{
  static GOnce once = G_ONCE_INIT;
  static char *why;
  const Library *library = g_once (&once, load, &why);

  if (reason != NULL)
    *reason = why;
  return library;
}

gboolean
lu_json_is_available (GError **error)
{
  const char *reason;

  if (get_library (&reason) != NULL)
    return TRUE;
  g_set_error (error, LU_ERROR, LU_ERROR_UNSUPPORTED, "JSON: %s", reason);
  return FALSE;
}

LuJson *
lu_json_new (void)
{
  LuJson *self = g_new0 (LuJson, 1);

  self->library = get_library (NULL);
  if (self->library != NULL)
    {
      self->builder = self->library->json_builder_new ();
      self->library->json_builder_begin_object (self->builder);
    }
  return self;
}

void
lu_json_free (LuJson *self)
{
  if (self == NULL)
    return;
  if (self->library != NULL)
    self->library->g_object_unref (self->builder);
  g_free (self);
}

char *
lu_json_end (LuJson *self)
{
  char *text = NULL;

  if (self->library != NULL)
    {
      JsonNode *root;

      self->library->json_builder_end_object (self->builder);
      root = self->library->json_builder_get_root (self->builder);
      g_assert (root != NULL);
      text = self->library->json_to_string (root, FALSE);
      self->library->json_node_unref (root);
    }
  lu_json_free (self);
  return text;
}

/* FALSE: there is nothing to add a value to. */
static gboolean
name_value (LuJson *self, const char *name)
{
  if (self->library != NULL && name != NULL)
    self->library->json_builder_set_member_name (self->builder, name);
  return self->library != NULL;
}

void
lu_json_begin_object (LuJson *self, const char *name)
{
  if (name_value (self, name))
    self->library->json_builder_begin_object (self->builder);
}

void
lu_json_end_object (LuJson *self)
{
  if (self->library != NULL)
    self->library->json_builder_end_object (self->builder);
}

void
lu_json_begin_array (LuJson *self, const char *name)
{
  if (name_value (self, name))
    self->library->json_builder_begin_array (self->builder);
}

void
lu_json_end_array (LuJson *self)
{
  if (self->library != NULL)
    self->library->json_builder_end_array (self->builder);
}

void
lu_json_add_int (LuJson *self, const char *name, gint64 value)
{
  if (name_value (self, name))
    self->library->json_builder_add_int_value (self->builder, value);
}

void
lu_json_add_double (LuJson *self, const char *name, double value)
{
  if (!isfinite (value))
    lu_json_add_null (self, name);
  else if (name_value (self, name))
    self->library->json_builder_add_double_value (self->builder, value);
}

void
lu_json_add_string (LuJson *self, const char *name, const char *value)
{
  g_autofree char *valid = value != NULL ? g_utf8_make_valid (value, -1) : NULL;

  if (valid == NULL)
    lu_json_add_null (self, name);
  else if (name_value (self, name))
    /* json-glib 1.6 leaves this one as it is, which JSON does not allow. */
    self->library->json_builder_add_string_value (self->builder, g_strdelimit (valid, "\x1f", ' '));
}

void
lu_json_add_bool (LuJson *self, const char *name, gboolean value)
{
  if (name_value (self, name))
    self->library->json_builder_add_boolean_value (self->builder, value);
}

void
lu_json_add_null (LuJson *self, const char *name)
{
  if (name_value (self, name))
    self->library->json_builder_add_null_value (self->builder);
}

/* Reading */

/* NULL: it is no object, or has no such member. Borrowed. */
static JsonNode *
find_member (const Library *library, JsonNode *node, const char *name)
{
  if (node == NULL || library->json_node_get_node_type (node) != JSON_NODE_OBJECT)
    return NULL;
  return library->json_object_get_member (library->json_node_get_object (node), name);
}

gboolean
lu_json_find_int (const char *text, const char *object, const char *member, gint64 *value)
{
  const Library *library = text != NULL ? get_library (NULL) : NULL;
  JsonNode *root = library != NULL ? library->json_from_string (text, NULL) : NULL;
  JsonNode *found;

  if (root == NULL)
    return FALSE;
  found = find_member (library, find_member (library, root, object), member);
  if (found != NULL && library->json_node_get_node_type (found) != JSON_NODE_VALUE)
    found = NULL;
  if (found != NULL)
    *value = library->json_node_get_int (found);
  library->json_node_unref (root);
  return found != NULL;
}
