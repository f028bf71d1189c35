/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* demangle-rust.c - Rust's "v0" symbol names; see demangle-rust.h.
 *
 * A recursive descent over the grammar of RFC 2603, one function for each of its rules, which
 * prints what it reads. References back into the name are followed by reading there again, so
 * depth and output are limited. A failure is sticky. */

#include "symbolize/demangle-rust.h"

#include <string.h>

#define MAX_DEPTH  128
#define MAX_OUTPUT 16384
#define MAX_WORD   1024

typedef struct
{
  const char *begin; /* behind "_R": references count from here */
  const char *at;
  GString *output;
  guint depth, n_lifetimes;
  gboolean failed, is_silent;
} Parser;

static void print_path (Parser *self, gboolean is_value);
static void print_type (Parser *self);
static void print_const (Parser *self);

static void
print (Parser *self, const char *text)
{
  if (self->is_silent || self->failed)
    return;
  g_string_append (self->output, text);
  if (self->output->len > MAX_OUTPUT)
    self->failed = TRUE;
}

static void
print_number (Parser *self, guint64 number)
{
  char text[24];

  g_snprintf (text, sizeof text, "%" G_GUINT64_FORMAT, number);
  print (self, text);
}

static gboolean
take (Parser *self, char c)
{
  if (self->failed || *self->at != c)
    return FALSE;
  self->at++;
  return TRUE;
}

static char
next (Parser *self)
{
  if (self->failed || *self->at == 0)
    {
      self->failed = TRUE;
      return 0;
    }
  return *self->at++;
}

static gboolean
enter (Parser *self)
{
  if (++self->depth > MAX_DEPTH)
    self->failed = TRUE;
  return !self->failed;
}

/* "_" is 0, and digits count from 1. */
static guint64
read_base_62 (Parser *self)
{
  guint64 value = 0;

  if (take (self, '_'))
    return 0;
  for (;;)
    {
      char c = next (self);

      if (c == '_' && !self->failed)
        return value + 1;
      if (!g_ascii_isalnum (c) || value > G_MAXUINT64 / 128)
        {
          self->failed = TRUE;
          return 0;
        }
      value = value * 62
              + (guint64) (g_ascii_isdigit (c)   ? c - '0'
                           : g_ascii_islower (c) ? c - 'a' + 10
                                                 : c - 'A' + 36);
    }
}

static guint64
read_optional (Parser *self, char tag)
{
  return take (self, tag) ? read_base_62 (self) + 1 : 0;
}

/* Identifiers */

/* RFC 3492, with digits as there and "_" for "-". */
static char *
decode_punycode (const char *text, gsize size)
{
  const char *delimiter = memrchr (text, '_', size);
  gsize n_basic = delimiter != NULL ? (gsize) (delimiter - text) : 0;
  g_autoptr (GArray) points = g_array_new (FALSE, FALSE, sizeof (gunichar));
  guint64 n = 128, bias = 72, i = 0;
  gsize at = delimiter != NULL ? n_basic + 1 : 0;

  for (gsize b = 0; b < n_basic; b++)
    g_array_append_val (points, (gunichar){ (guchar) text[b] });
  while (at < size)
    {
      guint64 old = i, weight = 1, delta;

      for (guint64 k = 36;; k += 36)
        {
          guint64 threshold = k <= bias ? 1 : MIN (k - bias, 26);
          char c = at < size ? text[at++] : 0;
          guint64 digit = g_ascii_islower (c)   ? (guint64) (c - 'a')
                          : g_ascii_isdigit (c) ? (guint64) (c - '0') + 26
                                                : 36;

          if (digit >= 36 || weight > G_MAXUINT32 || i > G_MAXUINT32)
            return NULL;
          i += digit * weight;
          if (digit < threshold)
            break;
          weight *= 36 - threshold;
        }
      delta = (i - old) / (old == 0 ? 700 : 2);
      delta += delta / (points->len + 1);
      for (bias = 0; delta > 35 * 26 / 2; bias += 36)
        delta /= 35;
      bias += 36 * delta / (delta + 38);
      n += i / (points->len + 1);
      i %= points->len + 1;
      if (!g_unichar_validate ((gunichar) MIN (n, G_MAXUINT32)) || n == 0)
        return NULL;
      g_array_insert_val (points, (guint) i, (gunichar){ (gunichar) n });
      i++;
    }
  return g_ucs4_to_utf8 ((const gunichar *) (gpointer) points->data, points->len, NULL, NULL, NULL);
}

/* Owned; empty for a nameless one. NULL and failed otherwise. */
static char *
read_identifier (Parser *self)
{
  gboolean is_puny = take (self, 'u');
  guint64 size = 0;
  const char *text;

  if (!g_ascii_isdigit (*self->at))
    self->failed = TRUE;
  while (!self->failed && g_ascii_isdigit (*self->at) && size <= MAX_WORD)
    {
      size = size * 10 + (guint64) (*self->at - '0');
      self->at++;
      if (size == 0)
        break;
    }
  take (self, '_');
  if (self->failed || size > MAX_WORD || strnlen (self->at, size) < size)
    {
      self->failed = TRUE;
      return NULL;
    }
  text = self->at;
  self->at += size;
  if (is_puny)
    {
      char *decoded = decode_punycode (text, size);

      self->failed |= decoded == NULL;
      return decoded;
    }
  return g_strndup (text, size);
}

static void
print_identifier (Parser *self)
{
  g_autofree char *name = read_identifier (self);

  if (name != NULL)
    print (self, name);
}

/* Reads again what stands there, with `rule`. */
static void
follow_reference (Parser *self, void (*rule) (Parser *))
{
  const char *from = self->at - 1, *back;
  guint64 offset = read_base_62 (self);

  if (self->failed || offset >= (guint64) (from - self->begin))
    {
      self->failed = TRUE;
      return;
    }
  if (self->is_silent)
    return;
  back = self->at;
  self->at = self->begin + offset;
  rule (self);
  self->at = back;
}

static void
print_value_path (Parser *self)
{
  print_path (self, TRUE);
}

static void
print_type_path (Parser *self)
{
  print_path (self, FALSE);
}

/* Generic arguments and lifetimes */

static void
print_lifetime_number (Parser *self, guint64 index)
{
  guint64 depth;

  if (index == 0)
    {
      print (self, "'_");
      return;
    }
  if (index > self->n_lifetimes)
    {
      self->failed = TRUE;
      return;
    }
  depth = self->n_lifetimes - index;
  if (depth < 26)
    {
      char text[] = { '\'', (char) ('a' + depth), 0 };

      print (self, text);
    }
  else
    {
      print (self, "'_");
      print_number (self, depth);
    }
}

/* Opens the lifetimes of "for<'a>"; returns how many to close. */
static guint
open_binder (Parser *self)
{
  guint64 n = read_optional (self, 'G');

  if (n > MAX_WORD)
    self->failed = TRUE;
  if (n == 0 || self->failed)
    return 0;
  print (self, "for<");
  for (guint64 i = 0; i < n && !self->failed; i++)
    {
      if (i > 0)
        print (self, ", ");
      self->n_lifetimes++;
      print_lifetime_number (self, 1);
    }
  print (self, "> ");
  return self->failed ? 0 : (guint) n;
}

static void
print_generic_argument (Parser *self)
{
  if (take (self, 'L'))
    print_lifetime_number (self, read_base_62 (self));
  else if (take (self, 'K'))
    print_const (self);
  else
    print_type (self);
}

static void
print_generic_arguments (Parser *self)
{
  for (guint i = 0; !self->failed && !take (self, 'E'); i++)
    {
      if (i > 0)
        print (self, ", ");
      print_generic_argument (self);
    }
}

/* Paths */

static void
print_nested (Parser *self, gboolean is_value)
{
  char name_space = next (self);
  g_autofree char *name = NULL;
  guint64 number;

  print_path (self, is_value);
  number = read_optional (self, 's');
  name = read_identifier (self);
  if (self->failed || !g_ascii_isalpha (name_space))
    {
      self->failed = TRUE;
      return;
    }
  if (g_ascii_islower (name_space))
    {
      if (name[0] != 0)
        print (self, "::");
      print (self, name);
      return;
    }
  print (self, "::{");
  if (name_space == 'C')
    print (self, "closure");
  else if (name_space == 'S')
    print (self, "shim");
  else
    print (self, (char[]){ name_space, 0 });
  if (name[0] != 0)
    {
      print (self, ":");
      print (self, name);
    }
  print (self, "#");
  print_number (self, number);
  print (self, "}");
}

/* The path of an impl says where it stands, which the type says better. */
static void
skip_impl_path (Parser *self)
{
  gboolean was_silent = self->is_silent;

  self->is_silent = TRUE;
  read_optional (self, 's');
  print_path (self, FALSE);
  self->is_silent = was_silent;
}

static void
print_qualified (Parser *self, gboolean has_trait)
{
  print (self, "<");
  print_type (self);
  if (has_trait)
    {
      print (self, " as ");
      print_path (self, FALSE);
    }
  print (self, ">");
}

static void
print_path (Parser *self, gboolean is_value)
{
  char tag = next (self);

  if (!enter (self))
    return;
  switch (tag)
    {
    case 'C':
      read_optional (self, 's');
      print_identifier (self);
      break;
    case 'N':
      print_nested (self, is_value);
      break;
    case 'M':
    case 'X':
      skip_impl_path (self);
      print_qualified (self, tag == 'X');
      break;
    case 'Y':
      print_qualified (self, TRUE);
      break;
    case 'I':
      print_path (self, is_value);
      print (self, is_value ? "::<" : "<");
      print_generic_arguments (self);
      print (self, ">");
      break;
    case 'B':
      follow_reference (self, is_value ? print_value_path : print_type_path);
      break;
    default:
      self->failed = TRUE;
      break;
    }
  self->depth--;
}

/* Types */

static const char *
basic_type (char tag)
{
  static const char *const names[26] = {
    ['a' - 'a'] = "i8",    ['b' - 'a'] = "bool", ['c' - 'a'] = "char", ['d' - 'a'] = "f64",
    ['e' - 'a'] = "str",   ['f' - 'a'] = "f32",  ['h' - 'a'] = "u8",   ['i' - 'a'] = "isize",
    ['j' - 'a'] = "usize", ['l' - 'a'] = "i32",  ['m' - 'a'] = "u32",  ['n' - 'a'] = "i128",
    ['o' - 'a'] = "u128",  ['p' - 'a'] = "_",    ['s' - 'a'] = "i16",  ['t' - 'a'] = "u16",
    ['u' - 'a'] = "()",    ['v' - 'a'] = "...",  ['x' - 'a'] = "i64",  ['y' - 'a'] = "u64",
    ['z' - 'a'] = "!",
  };

  return g_ascii_islower (tag) ? names[tag - 'a'] : NULL;
}

static void
print_reference (Parser *self, const char *suffix)
{
  print (self, "&");
  if (take (self, 'L'))
    {
      guint64 lifetime = read_base_62 (self);

      if (lifetime != 0)
        {
          print_lifetime_number (self, lifetime);
          print (self, " ");
        }
    }
  print (self, suffix);
  print_type (self);
}

static void
print_tuple (Parser *self)
{
  guint n = 0;

  print (self, "(");
  for (; !self->failed && !take (self, 'E'); n++)
    {
      if (n > 0)
        print (self, ", ");
      print_type (self);
    }
  print (self, n == 1 ? ",)" : ")");
}

static void
print_abi (Parser *self)
{
  g_autofree char *name = NULL;

  if (!take (self, 'K'))
    return;
  name = take (self, 'C') ? g_strdup ("C") : read_identifier (self);
  if (name == NULL)
    return;
  g_strdelimit (name, "_", '-');
  print (self, "extern \"");
  print (self, name);
  print (self, "\" ");
}

static void
print_function (Parser *self)
{
  guint n_lifetimes = open_binder (self);

  if (take (self, 'U'))
    print (self, "unsafe ");
  print_abi (self);
  print (self, "fn(");
  for (guint i = 0; !self->failed && !take (self, 'E'); i++)
    {
      if (i > 0)
        print (self, ", ");
      print_type (self);
    }
  print (self, ")");
  if (!take (self, 'u'))
    {
      print (self, " -> ");
      print_type (self);
    }
  self->n_lifetimes -= n_lifetimes;
}

/* A trait, whose "Name = Type" go into the list of its generic arguments. */
static void
print_dyn_trait (Parser *self)
{
  gboolean is_open = FALSE;

  if (take (self, 'I'))
    {
      print_path (self, FALSE);
      print (self, "<");
      print_generic_arguments (self);
      is_open = TRUE;
    }
  else
    print_path (self, FALSE);
  while (take (self, 'p'))
    {
      print (self, is_open ? ", " : "<");
      is_open = TRUE;
      print_identifier (self);
      print (self, " = ");
      print_type (self);
    }
  if (is_open)
    print (self, ">");
}

static void
print_dyn (Parser *self)
{
  guint n_lifetimes;
  guint64 lifetime;

  print (self, "dyn ");
  n_lifetimes = open_binder (self);
  for (guint i = 0; !self->failed && !take (self, 'E'); i++)
    {
      if (i > 0)
        print (self, " + ");
      print_dyn_trait (self);
    }
  self->n_lifetimes -= n_lifetimes;
  if (!take (self, 'L'))
    self->failed = TRUE;
  lifetime = read_base_62 (self);
  if (lifetime != 0)
    {
      print (self, " + ");
      print_lifetime_number (self, lifetime);
    }
}

static void
print_array (Parser *self, gboolean has_size)
{
  print (self, "[");
  print_type (self);
  if (has_size)
    {
      print (self, "; ");
      print_const (self);
    }
  print (self, "]");
}

static void
print_compound_type (Parser *self, char tag)
{
  switch (tag)
    {
    case 'A':
    case 'S':
      print_array (self, tag == 'A');
      break;
    case 'T':
      print_tuple (self);
      break;
    case 'R':
      print_reference (self, "");
      break;
    case 'Q':
      print_reference (self, "mut ");
      break;
    case 'P':
    case 'O':
      print (self, tag == 'P' ? "*const " : "*mut ");
      print_type (self);
      break;
    case 'F':
      print_function (self);
      break;
    case 'D':
      print_dyn (self);
      break;
    case 'B':
      follow_reference (self, print_type);
      break;
    default:
      self->at--;
      print_path (self, FALSE);
      break;
    }
}

static void
print_type (Parser *self)
{
  char tag = next (self);

  if (!enter (self))
    return;
  if (basic_type (tag) != NULL)
    print (self, basic_type (tag));
  else
    print_compound_type (self, tag);
  self->depth--;
}

/* Constants */

static guint64
read_hex (Parser *self, gboolean *fits)
{
  guint64 value = 0;
  guint n = 0;

  while (!self->failed && !take (self, '_'))
    {
      char c = next (self);

      if (!g_ascii_isdigit (c) && !(c >= 'a' && c <= 'f'))
        self->failed = TRUE;
      value = value << 4 | (guint64) (self->failed ? 0 : g_ascii_xdigit_value (c));
      n += n > 0 || value != 0;
    }
  *fits = n <= 16;
  return value;
}

static void
print_char (Parser *self, guint64 value)
{
  char text[8] = "";

  if (value > 0x10ffff || !g_unichar_validate ((gunichar) value))
    {
      self->failed = TRUE;
      return;
    }
  text[g_unichar_to_utf8 ((gunichar) value, text)] = 0;
  print (self, "'");
  print (self, g_unichar_isprint ((gunichar) value) ? text : "?");
  print (self, "'");
}

static void
print_const_data (Parser *self, char type)
{
  gboolean is_negative = take (self, 'n'), fits;
  const char *digits = self->at;
  guint64 value = read_hex (self, &fits);

  if (self->failed)
    return;
  if (is_negative)
    print (self, "-");
  if (type == 'b' && value <= 1)
    print (self, value ? "true" : "false");
  else if (type == 'c')
    print_char (self, value);
  else if (fits)
    print_number (self, value);
  else
    {
      g_autofree char *text = g_strndup (digits, (gsize) (self->at - digits - 1));

      print (self, "0x");
      print (self, text);
    }
}

static void
print_const (Parser *self)
{
  char tag = next (self);

  if (!enter (self))
    return;
  if (tag == 'p')
    print (self, "_");
  else if (tag == 'B')
    follow_reference (self, print_const);
  else if (tag != 0 && strchr ("abchijlmnostxy", tag) != NULL)
    print_const_data (self, tag);
  else
    self->failed = TRUE;
  self->depth--;
}

char *
lu_demangle_rust (const char *symbol)
{
  Parser parser = { 0 };

  if (strncmp (symbol, "_R", 2) != 0 || g_ascii_isdigit (symbol[2]))
    return NULL;
  parser.begin = parser.at = symbol + 2;
  parser.output = g_string_new (NULL);
  print_path (&parser, TRUE);
  /* who instantiated it */
  if (!parser.failed && g_ascii_isupper (*parser.at))
    {
      parser.is_silent = TRUE;
      print_path (&parser, FALSE);
    }
  /* what compilers append (".llvm.123") is no part of the name */
  if (parser.failed || (*parser.at != 0 && *parser.at != '.' && *parser.at != '$'))
    {
      g_string_free (parser.output, TRUE);
      return NULL;
    }
  return g_string_free (parser.output, FALSE);
}
