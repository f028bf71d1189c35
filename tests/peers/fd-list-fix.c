/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* fd-list-fix.c - lets Sysprof's client record with a helper where there are no hardware counters.
 *
 * sysprofd-inside preloads it into sysprof-cli or sysprof. The client of version 48 opens cycles
 * first, then cpu-clock, and keeps the error of the first set when the second succeeds; with that
 * error its next call, g_unix_fd_list_append(), refuses to work, and no helper is ever started.
 * This clears the error before the real function is called. sysprofd and the helper run without it.
 */

#include <dlfcn.h>
#include <stddef.h>

typedef struct _GError GError;
typedef struct _GUnixFDList GUnixFDList;

extern void g_clear_error (GError **error);

int g_unix_fd_list_append (GUnixFDList *list, int fd, GError **error);

int
g_unix_fd_list_append (GUnixFDList *list, int fd, GError **error)
{
  int (*real) (GUnixFDList *, int, GError **) = NULL;

  *(void **) &real = dlsym (RTLD_NEXT, "g_unix_fd_list_append");
  if (real == NULL)
    return -1;
  g_clear_error (error);
  return real (list, fd, error);
}
