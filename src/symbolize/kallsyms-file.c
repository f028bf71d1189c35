/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* kallsyms-file.c - names of the kernel that runs; see kallsyms-file.h. */

#include "symbolize/kallsyms-file.h"

#include "base/fd.h"

#include <errno.h>
#include <string.h>

/* KSYM_NAME_LEN (512), the numbers, and MODULE_NAME_LEN (56). */
#define ANSWER_SIZE 768

struct _LuKallsymsFile
{
  gatomicrefcount references;
  int fd;                /* until it is read; -1 */
  LuKallsyms *symbols;   /* owned; NULL before it is read, or if it cannot be */
  LuKallsymsAskFunc ask; /* NULL: nobody can be asked */
  gpointer ask_data;
  GDestroyNotify free_ask_data;
  char answer[ANSWER_SIZE];
};

LuKallsymsFile *
lu_kallsyms_file_new (int fd, LuKallsyms *symbols)
{
  LuKallsymsFile *self = g_new0 (LuKallsymsFile, 1);

  g_atomic_ref_count_init (&self->references);
  self->fd = fd;
  self->symbols = symbols;
  return self;
}

LuKallsymsFile *
lu_kallsyms_file_ref (LuKallsymsFile *self)
{
  g_atomic_ref_count_inc (&self->references);
  return self;
}

static void
ask_no_more (LuKallsymsFile *self)
{
  if (self->ask != NULL && self->free_ask_data != NULL)
    self->free_ask_data (self->ask_data);
  self->ask = NULL;
}

void
lu_kallsyms_file_unref (LuKallsymsFile *self)
{
  if (self == NULL || !g_atomic_ref_count_dec (&self->references))
    return;
  ask_no_more (self);
  lu_fd_clear (&self->fd);
  lu_kallsyms_free (self->symbols);
  g_free (self);
}

void
lu_kallsyms_file_set_ask (LuKallsymsFile *self, LuKallsymsAskFunc ask, gpointer user_data,
                          GDestroyNotify free_data)
{
  ask_no_more (self);
  self->ask = ask;
  self->ask_data = user_data;
  self->free_ask_data = free_data;
}

/* "0x", hexadecimal digits, and what `end` points to then. */
static gboolean
read_number (const char *text, guint64 *value, const char **end)
{
  char *digits_end;

  if (text[0] != '0' || text[1] != 'x' || !g_ascii_isxdigit (text[2]))
    return FALSE;
  errno = 0;
  *value = g_ascii_strtoull (text + 2, &digits_end, 16);
  *end = digits_end;
  return errno == 0;
}

/* Cuts the answer into its parts. */
static gboolean
parse_answer (char *answer, guint64 address, LuKernelSymbol *symbol)
{
  char *plus = strrchr (answer, '+'), *bracket;
  const char *at;
  guint64 offset, size;

  if (plus == NULL || plus == answer || !read_number (plus + 1, &offset, &at) || *at != '/'
      || !read_number (at + 1, &size, &at) || (*at != '\0' && *at != ' ') || offset > address
      || offset >= size || address - offset > G_MAXUINT64 - size)
    return FALSE;
  bracket = strchr (at, '[');
  *plus = '\0';
  *symbol = (LuKernelSymbol){ .address = address - offset,
                              .end = address - offset + size,
                              .type = 't',
                              .name = answer,
                              .module = bracket };
  return TRUE;
}

gboolean
lu_kallsyms_file_find (LuKallsymsFile *self, guint64 address, LuKernelSymbol *symbol)
{
  const LuKallsyms *symbols;
  gint index;

  if (self->ask != NULL)
    {
      if (self->ask (address, self->answer, sizeof self->answer, self->ask_data))
        {
          lu_fd_clear (&self->fd); /* who answers once does so again */
          return parse_answer (self->answer, address, symbol);
        }
      g_debug ("kernel symbols cannot be asked for: %s", g_strerror (errno));
      ask_no_more (self);
    }
  symbols = lu_kallsyms_file_load (self);
  index = symbols != NULL ? lu_kallsyms_find (symbols, address) : -1;
  if (index < 0)
    return FALSE;
  lu_kallsyms_get (symbols, (guint) index, symbol);
  return TRUE;
}

const LuKallsyms *
lu_kallsyms_file_load (LuKallsymsFile *self)
{
  g_autoptr (GError) error = NULL;

  if (self->fd < 0)
    return self->symbols;
  self->symbols = lu_kallsyms_load (lu_fd_steal (&self->fd), &error);
  if (self->symbols == NULL)
    g_debug ("%s", error->message);
  return self->symbols;
}
