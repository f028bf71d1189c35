/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* library.c - see library.h. */

#include "base/library.h"

#include <dlfcn.h>
#include <string.h>

gboolean
lu_library_load (const char *name, const LuLibraryFunction *functions, guint n)
{
  void *handle = dlopen (name, RTLD_NOW);

  for (guint i = 0; i < n; i++)
    {
      void *address = handle != NULL ? dlsym (handle, functions[i].name) : NULL;

      if (address == NULL)
        return FALSE;
      memcpy (functions[i].target, &address, sizeof address);
    }
  return TRUE;
}
