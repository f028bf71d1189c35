/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* short-name.c - shortens names of C++ and Rust; see short-name.h.
 *
 * Captures have demangled texts, so texts are what this reads. At the first character that does not
 * fit, the whole name is left as it is. */

#include "symbolize/short-name.h"

#include <string.h>

#define MAX_LENGTH    16384 /* bytes of a name: the time grows with its square */
#define MAX_DEPTH     64    /* of brackets */
#define MAX_ARGUMENTS 32    /* bytes of a list that is shown */
#define ELLIPSIS      "…"

typedef struct
{
  const char *at;
  guint depth;
  gboolean is_broken;
} Reader;

typedef struct
{
  GString *text;   /* short */
  const char *raw; /* in the name; its length without blanks at the end */
  gsize raw_length;
} Argument;

static void copy_until (Reader *self, const char *ends, GString *out);

static gboolean
starts (const Reader *self, const char *text)
{
  return g_str_has_prefix (self->at, text);
}

static void
copy (Reader *self, gsize length, GString *out)
{
  g_string_append_len (out, self->at, (gssize) length);
  self->at += length;
}

/* Copies a character, but not the inline namespaces of standard libraries. */
static void
copy_character (Reader *self, GString *out)
{
  static const char *const inline_namespaces[] = { "__cxx11::", "__1::" };

  if (self->at[0] == '_' && g_str_has_suffix (out->str, "::"))
    for (guint i = 0; i < G_N_ELEMENTS (inline_namespaces); i++)
      if (starts (self, inline_namespaces[i]))
        {
          self->at += strlen (inline_namespaces[i]);
          return;
        }
  copy (self, 1, out);
}

static gboolean
is_word (char c)
{
  return g_ascii_isalnum (c) || c == '_' || c == '$' || (guchar) c >= 0x80;
}

static char
last_of (const GString *text)
{
  return text->len > 0 ? text->str[text->len - 1] : 0;
}

/* Template arguments */

static void
argument_clear (gpointer pointer)
{
  g_string_free (((Argument *) pointer)->text, TRUE);
}

/* Returns how many arguments a template of the standard library has before its defaults, or 0.
 * name: what follows "std::". */
static guint
n_before_defaults (const char *name)
{
  static const char *const with_1[] = {
    "vector",
    "deque",
    "list",
    "forward_list",
    "set",
    "multiset",
    "unordered_set",
    "unique_ptr",
    "unordered_multiset",
    "match_results",
    "istreambuf_iterator",
    "ostreambuf_iterator",
  };
  static const char *const with_2[] = { "map", "multimap", "unordered_map", "unordered_multimap" };

  for (guint i = 0; i < G_N_ELEMENTS (with_1); i++)
    if (g_str_equal (name, with_1[i]))
      return 1;
  for (guint i = 0; i < G_N_ELEMENTS (with_2); i++)
    if (g_str_equal (name, with_2[i]))
      return 2;
  return g_str_has_prefix (name, "basic_") ? 1 : 0;
}

/* Returns whether it is the default for a template whose first argument is `first`. An allocator
 * needs no comparison: the standard forbids that of another type. */
static gboolean
is_default (const Argument *self, const Argument *first)
{
  static const char *const of_first[] = { "char_traits<", "less<", "equal_to<", "hash<",
                                          "default_delete<" };
  g_autofree char *raw = g_strndup (self->raw, self->raw_length);
  const char *name = raw + strlen ("std::");

  if (!g_str_has_prefix (raw, "std::"))
    return FALSE;
  name += g_str_has_prefix (name, "__1::") ? strlen ("__1::") : 0;
  if (g_str_has_prefix (name, "allocator<"))
    return TRUE;
  for (guint i = 0; i < G_N_ELEMENTS (of_first); i++)
    if (g_str_has_prefix (name, of_first[i]))
      {
        const char *rest = name + strlen (of_first[i]);

        if (strncmp (rest, first->raw, first->raw_length) != 0)
          return FALSE;
        rest += first->raw_length;
        return g_str_equal (rest, ">") || g_str_equal (rest, " >");
      }
  return FALSE;
}

static void
drop_defaults (const GString *out, GArray *arguments)
{
  const char *name = out->str + out->len;
  const Argument *first = &g_array_index (arguments, Argument, 0);
  guint n = 0;

  while (name > out->str && is_word (name[-1]))
    name--;
  if (name - out->str >= 5 && strncmp (name - 5, "std::", 5) == 0
      && (name - out->str == 5 || !(is_word (name[-6]) || name[-6] == ':')))
    n = n_before_defaults (name);
  while (arguments->len > 1)
    {
      const Argument *last = &g_array_index (arguments, Argument, arguments->len - 1);

      if (!(n > 0 && arguments->len > n && is_default (last, first))
          && !g_str_equal (last->text->str, "alloc::alloc::Global"))
        return;
      g_array_set_size (arguments, arguments->len - 1);
    }
}

/* Appends the list; std::basic_string<char> becomes std::string, as with all its relatives. */
static void
append_arguments (GString *out, const GArray *arguments, gboolean is_path)
{
  g_autoptr (GString) list = g_string_new (NULL);
  const char *basic = g_strrstr (out->str, "std::basic_");

  for (guint i = 0; i < arguments->len; i++)
    g_string_append_printf (list, "%s%s", i > 0 ? ", " : "",
                            g_array_index (arguments, Argument, i).text->str);
  if (basic != NULL && strpbrk (basic + 5, ":<") == NULL && g_str_equal (list->str, "char"))
    g_string_erase (out, basic + 5 - out->str, (gssize) strlen ("basic_"));
  else if (list->len > MAX_ARGUMENTS && !is_path)
    g_string_append (out, "<" ELLIPSIS ">");
  else
    g_string_append_printf (out, "<%s>", list->str);
}

/* Copies what is between < and >. Rust has paths there as well, which stay: "<T as Trait>::f". */
static void
copy_list (Reader *self, GString *out)
{
  g_autoptr (GArray) arguments = g_array_new (FALSE, FALSE, sizeof (Argument));
  gboolean is_path = out->len == 0 || strchr ("(&*[,", last_of (out)) != NULL
                     || (last_of (out) == ' ' && !g_str_has_suffix (out->str, "< "))
                     || starts (self, "<impl ");

  g_array_set_clear_func (arguments, argument_clear);
  do
    {
      Argument added = { .text = g_string_new (NULL) };

      self->at++;
      while (self->at[0] == ' ')
        self->at++;
      added.raw = self->at;
      copy_until (self, ",>", added.text);
      added.raw_length = (gsize) (self->at - added.raw);
      while (added.raw_length > 0 && added.raw[added.raw_length - 1] == ' ')
        added.raw_length--;
      if (last_of (added.text) == ' ')
        g_string_truncate (added.text, added.text->len - 1);
      g_array_append_val (arguments, added);
    }
  while (self->at[0] == ',' && !self->is_broken);
  self->is_broken |= self->at[0] != '>';
  if (self->is_broken)
    return;
  self->at++;
  drop_defaults (out, arguments);
  append_arguments (out, arguments, is_path);
}

static void
copy_brackets (Reader *self, char end, GString *out)
{
  const char ends[] = { end, 0 };

  copy (self, 1, out);
  copy_until (self, ends, out);
  self->is_broken |= self->at[0] != end;
  if (!self->is_broken)
    copy (self, 1, out);
}

/* Copies a type or an expression, up to a character that is not in brackets of its own. */
static void
copy_until (Reader *self, const char *ends, GString *out)
{
  if (++self->depth > MAX_DEPTH)
    self->is_broken = TRUE;
  while (!self->is_broken && self->at[0] != 0 && strchr (ends, self->at[0]) == NULL)
    if (starts (self, "->"))
      copy (self, 2, out);
    else if (self->at[0] == '<' && last_of (out) == ')') /* (a)<(b) compares */
      copy (self, strspn (self->at, "<="), out);
    else if (self->at[0] == '<')
      copy_list (self, out);
    else if (self->at[0] == '(' || self->at[0] == '[' || self->at[0] == '{')
      copy_brackets (self, self->at[0] == '(' ? ')' : self->at[0] == '[' ? ']' : '}', out);
    else
      copy_character (self, out);
  self->depth--;
}

/* Names */

static void
skip_brackets (Reader *self)
{
  g_autoptr (GString) skipped = g_string_new ("x");

  if (self->at[0] == '<')
    copy_list (self, skipped);
  else
    copy_brackets (self, self->at[0] == '[' ? ']' : ')', skipped);
}

/* Copies "operator" and what it is the operator of, up to template arguments or parameters. */
static void
copy_operator (Reader *self, GString *out)
{
  static const char *const with_brackets[] = { "()", "[]", "<=>", "<<=", ">>=", "->*", "->",
                                               "<<", ">>", "<=",  ">=",  "<",   ">" };
  guint i = 0;

  copy (self, strlen ("operator"), out);
  while (i < G_N_ELEMENTS (with_brackets) && !starts (self, with_brackets[i]))
    i++;
  if (i < G_N_ELEMENTS (with_brackets))
    copy (self, strlen (with_brackets[i]), out);
  else if (self->at[0] == ' ' || self->at[0] == '"') /* new, a conversion, a literal */
    copy_until (self, "(", out);
  else
    copy (self, strspn (self->at, "+-*/%^&|~!=,"), out);
  if (starts (self, " <") && last_of (out) == '<')
    copy (self, 1, out);
  else if (starts (self, " <"))
    self->at++;
}

/* Skips parameters, and what is said about the object after them. */
static void
skip_parameters (Reader *self, GString *out)
{
  static const char *const qualifiers[] = { " const", " volatile", " &&", " &" };

  if (starts (self, "(anonymous namespace)"))
    {
      copy (self, strlen ("(anonymous namespace)"), out);
      return;
    }
  /* A function may return a pointer to a function: int (*f(char))(long). */
  self->is_broken |= out->len == 0 || self->at[1] == '*' || self->at[1] == '&';
  if (!self->is_broken)
    skip_brackets (self);
  for (guint i = 0; i < G_N_ELEMENTS (qualifiers); i++)
    if (starts (self, qualifiers[i]))
      self->at += strlen (qualifiers[i]);
  self->is_broken |= self->at[0] != 0 && strchr (" :@[", self->at[0]) == NULL;
}

static void
copy_braces (Reader *self, GString *out)
{
  self->is_broken |= out->len == 0 && !starts (self, "{lambda") && !starts (self, "{unnamed");
  if (starts (self, "{lambda"))
    {
      copy (self, strlen ("{lambda"), out);
      while ((self->at[0] == '<' || self->at[0] == '(') && !self->is_broken)
        skip_brackets (self);
    }
  else
    copy (self, 1, out);
  copy_until (self, "}", out);
  self->is_broken |= self->at[0] != '}';
  if (!self->is_broken)
    copy (self, 1, out);
}

/* The text before a blank is the type that is returned. */
static void
take_blank (Reader *self, GString *out, gsize n_kept)
{
  if (starts (self, " [clone ") || starts (self, " (."))
    copy (self, strlen (self->at), out);
  else
    {
      self->at++;
      if (self->at[0] != '(' || !g_str_has_suffix (out->str, "decltype"))
        g_string_truncate (out, n_kept);
    }
}

/* Copies the words before a name that say what is made of it. Returns their length. */
static gsize
copy_prefix (Reader *self, GString *out)
{
  static const char *const prefixes[] = { "non-virtual thunk to ",      "virtual thunk to ",
                                          "covariant return thunk to ", "TLS init function for ",
                                          "TLS wrapper function for ",  "transaction clone for " };

  for (guint i = 0; i < G_N_ELEMENTS (prefixes); i++)
    if (starts (self, prefixes[i]))
      copy (self, strlen (prefixes[i]), out);
  return out->len;
}

static void
copy_name (Reader *self, GString *out)
{
  gsize n_kept = copy_prefix (self, out);

  while (self->at[0] != 0 && !self->is_broken)
    if (starts (self, "operator") && !is_word (self->at[8]) && !is_word (last_of (out)))
      copy_operator (self, out);
    else if (self->at[0] == '<')
      copy_list (self, out);
    else if (self->at[0] == '(')
      skip_parameters (self, out);
    else if (self->at[0] == '{')
      copy_braces (self, out);
    else if (starts (self, "[abi:"))
      skip_brackets (self);
    else if (self->at[0] == '[')
      copy_brackets (self, ']', out);
    else if (self->at[0] == ' ')
      take_blank (self, out, n_kept);
    else
      copy_character (self, out);
  self->is_broken |= out->len == n_kept;
}

char *
lu_short_name (const char *name)
{
  g_autoptr (GString) out = NULL;
  Reader reader = { .at = name };
  char *of_language = lu_short_name_of_language (name);

  if (of_language != NULL || strpbrk (name, "<({[ ") == NULL || strlen (name) > MAX_LENGTH)
    return of_language != NULL ? of_language : g_strdup (name);
  out = g_string_new (NULL);
  copy_name (&reader, out);
  return reader.is_broken ? g_strdup (name) : g_string_free (g_steal_pointer (&out), FALSE);
}
