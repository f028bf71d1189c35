/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* json.c - JSON as text; see json.h. A comma stands before all but the first of what is open, and
 * that is the first if the text ends with an opening bracket. */

#include "base/json.h"

#include <math.h>
#include <string.h>

struct _LuJson
{
  GString *text; /* owned */
  guint n_open;
};

LuJson *
lu_json_new (void)
{
  LuJson *self = g_new0 (LuJson, 1);

  self->text = g_string_new ("{");
  self->n_open = 1;
  return self;
}

void
lu_json_free (LuJson *self)
{
  if (self == NULL)
    return;
  if (self->text != NULL)
    g_string_free (self->text, TRUE);
  g_free (self);
}

char *
lu_json_end (LuJson *self)
{
  char *text;

  lu_json_end_object (self);
  g_assert (self->n_open == 0);
  text = g_string_free (g_steal_pointer (&self->text), FALSE);
  lu_json_free (self);
  return text;
}

static void
append_escaped (GString *text, guchar c)
{
  static const char letters[] = "\bb\ff\nn\rr\tt";
  const char *letter = c != 0 ? strchr (letters, c) : NULL;

  if (c == '"' || c == '\\')
    g_string_append_printf (text, "\\%c", c);
  else if (c >= 0x20)
    g_string_append_c (text, (char) c);
  else if (letter != NULL)
    g_string_append_printf (text, "\\%c", letter[1]);
  else
    g_string_append_printf (text, "\\u%04x", c);
}

static void
append_string (GString *text, const char *value)
{
  g_autofree char *valid = g_utf8_make_valid (value, -1);

  g_string_append_c (text, '"');
  for (const char *at = valid; *at != 0; at++)
    append_escaped (text, (guchar) *at);
  g_string_append_c (text, '"');
}

static void
begin_value (LuJson *self, const char *name)
{
  char last = self->text->str[self->text->len - 1];

  if (last != '{' && last != '[')
    g_string_append_c (self->text, ',');
  if (name == NULL)
    return;
  append_string (self->text, name);
  g_string_append_c (self->text, ':');
}

static void
begin (LuJson *self, const char *name, char bracket)
{
  begin_value (self, name);
  g_string_append_c (self->text, bracket);
  self->n_open++;
}

static void
end (LuJson *self, char bracket)
{
  g_assert (self->n_open > 0);
  g_string_append_c (self->text, bracket);
  self->n_open--;
}

void
lu_json_begin_object (LuJson *self, const char *name)
{
  begin (self, name, '{');
}

void
lu_json_end_object (LuJson *self)
{
  end (self, '}');
}

void
lu_json_begin_array (LuJson *self, const char *name)
{
  begin (self, name, '[');
}

void
lu_json_end_array (LuJson *self)
{
  end (self, ']');
}

void
lu_json_add_int (LuJson *self, const char *name, gint64 value)
{
  begin_value (self, name);
  g_string_append_printf (self->text, "%" G_GINT64_FORMAT, value);
}

void
lu_json_add_double (LuJson *self, const char *name, double value)
{
  char digits[G_ASCII_DTOSTR_BUF_SIZE];

  if (!isfinite (value))
    {
      lu_json_add_null (self, name);
      return;
    }
  begin_value (self, name);
  g_ascii_dtostr (digits, sizeof digits, value);
  g_string_append (self->text, digits);
  if (strpbrk (digits, ".e") == NULL)
    g_string_append (self->text, ".0");
}

void
lu_json_add_string (LuJson *self, const char *name, const char *value)
{
  if (value == NULL)
    {
      lu_json_add_null (self, name);
      return;
    }
  begin_value (self, name);
  append_string (self->text, value);
}

void
lu_json_add_bool (LuJson *self, const char *name, gboolean value)
{
  begin_value (self, name);
  g_string_append (self->text, value ? "true" : "false");
}

void
lu_json_add_null (LuJson *self, const char *name)
{
  begin_value (self, name);
  g_string_append (self->text, "null");
}
