/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* own-vdso.c - see own-vdso.h. */

#include "elf/own-vdso.h"

#include "base/fd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define MAX_MAPS_BYTES (1u << 20)

gconstpointer
lu_own_vdso (gsize *size)
{
  guint64 address = getauxval (AT_SYSINFO_EHDR), start, end;
  g_autofree char *maps = lu_fd_read_file ("/proc/self/maps", MAX_MAPS_BYTES, NULL);

  for (const char *line = maps; address != 0 && line != NULL && *line != '\0';)
    {
      if (sscanf (line, "%" G_GINT64_MODIFIER "x-%" G_GINT64_MODIFIER "x", &start, &end) == 2
          && start == address)
        {
          *size = (gsize) MIN (end - start, LU_VDSO_MAX_SIZE);
          return (gconstpointer) (guintptr) address;
        }
      line = strchr (line, '\n');
      if (line != NULL)
        line++;
    }
  return NULL;
}

/* The 32-bit vDSO. The kernel maps it into a process that has no vDSO (arch_prctl(2)). */

#define ARCH_MAP_VDSO_32 0x2002 /* asm/prctl.h */
#define WHERE            0x10000000ul

#ifdef SYS_arch_prctl
/* Finds the next mapping of the kernel's ("[vdso]", "[vvar]" and others, but not "[vsyscall]"), in
 * text of /proc/PID/maps. */
static const char *
next_special (const char *maps, const char *name, gulong *start, gulong *end)
{
  const char *at = strstr (maps, name);
  const char *line = at;
  char *rest;

  if (at == NULL)
    return NULL;
  while (line > maps && line[-1] != '\n')
    line--;
  *start = strtoul (line, &rest, 16);
  *end = strtoul (rest + 1, NULL, 16);
  return at + 1;
}

static void
read_maps (char *maps, gsize size)
{
  lu_autofd fd = open ("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  gssize n, used = 0;

  while (fd >= 0 && (n = read (fd, maps + used, size - 1 - (gsize) used)) > 0)
    used += n;
  maps[used] = 0;
}

/* Runs in the child, which shares no memory with us. Other threads may have held locks when it was
 * made, so nothing is allocated. */
static void
write_vdso_32 (int fd, char *maps, gsize maps_size)
{
  static const char *const names[] = { "[vdso]", "[vvar" };
  gulong start, end;

  read_maps (maps, maps_size);
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    for (const char *at = maps; (at = next_special (at, names[i], &start, &end)) != NULL;)
      munmap ((gpointer) start, end - start);
  if (syscall (SYS_arch_prctl, ARCH_MAP_VDSO_32, WHERE) <= 0)
    return;
  read_maps (maps, maps_size);
  if (next_special (maps, "[vdso]", &start, &end) != NULL)
    lu_fd_write_all (fd, (gconstpointer) start, MIN (end - start, LU_VDSO_MAX_SIZE));
}

/* Returns the bytes written by a child, or NULL. */
static GByteArray *
ask_child (void)
{
  g_autofree char *maps = g_malloc (MAX_MAPS_BYTES);
  g_autoptr (GByteArray) bytes = g_byte_array_new ();
  guint8 piece[4096];
  int fds[2];
  gssize n;
  long pid;

  if (pipe2 (fds, O_CLOEXEC) != 0)
    return NULL;
  pid = syscall (SYS_clone, 0, NULL, NULL, NULL, NULL); /* no signal at its end */
  if (pid == 0)
    {
      write_vdso_32 (fds[1], maps, MAX_MAPS_BYTES);
      _exit (0);
    }
  close (fds[1]);
  while (pid > 0 && (n = read (fds[0], piece, sizeof piece)) > 0)
    g_byte_array_append (bytes, piece, (guint) n);
  close (fds[0]);
  if (pid > 0)
    waitpid ((pid_t) pid, NULL, __WALL);
  return bytes->len > 0 ? g_steal_pointer (&bytes) : NULL;
}
#else
static GByteArray *
ask_child (void)
{
  return NULL;
}
#endif

gconstpointer
lu_kernel_vdso_32 (gsize *size)
{
  static gsize is_read;
  static GByteArray *bytes;

  if (g_once_init_enter (&is_read))
    {
      bytes = ask_child ();
      g_once_init_leave (&is_read, 1);
    }
  *size = bytes != NULL ? bytes->len : 0;
  return bytes != NULL ? bytes->data : NULL;
}
