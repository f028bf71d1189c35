/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* kallsyms-file.c - the symbols of the running kernel; see kallsyms-file.h. */

#include "symbolize/kallsyms-file.h"

#include "base/fd.h"

#include <sys/utsname.h>

struct _LuKallsymsFile
{
  gatomicrefcount references;
  int fd;              /* of the file until it is read; otherwise -1 */
  LuKallsyms *symbols; /* owned; NULL before the file is read, or if it cannot be read */
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
lu_kallsyms_file_open (void)
{
  int fd = lu_kallsyms_open ("/proc/kallsyms", NULL);

  return fd >= 0 ? lu_kallsyms_file_new (fd, NULL) : NULL;
}

LuKallsymsFile *
lu_kallsyms_file_ref (LuKallsymsFile *self)
{
  g_atomic_ref_count_inc (&self->references);
  return self;
}

void
lu_kallsyms_file_unref (LuKallsymsFile *self)
{
  if (self == NULL || !g_atomic_ref_count_dec (&self->references))
    return;
  lu_fd_clear (&self->fd);
  lu_kallsyms_free (self->symbols);
  g_free (self);
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

gboolean
lu_kallsyms_file_is_of (LuKallsymsFile *self, const char *release, const char *name,
                        guint64 address)
{
  const LuKallsyms *symbols;
  LuKernelSymbol symbol, first;
  struct utsname running;

  if (release == NULL || name == NULL || uname (&running) != 0
      || !g_str_equal (running.release, release))
    return FALSE;
  symbols = lu_kallsyms_file_load (self);
  if (!lu_kallsyms_find (symbols, address, &symbol) || symbol.address != address)
    return FALSE;
  lu_kallsyms_get (symbols, 0, &first);
  return symbol.address == first.address || g_str_equal (symbol.name, name);
}
