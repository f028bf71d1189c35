/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* lent-stack.c SECONDS - children of vfork() run it again without an argument, which ends at once,
 * or end themselves, in turn.
 * The kernel lets the parent go on before the child has left its memory, and the parent calls other
 * functions then, whose return addresses take the place of the child's. A thread changes mappings
 * all the time, so that children wait for them just then. */

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifdef __clang__
#define NOINLINE __attribute__ ((noinline))
#else
#define NOINLINE __attribute__ ((noinline, noclone))
#endif
#define ROOM (4 << 20)

static NOINLINE long
child_inner (char **argv)
{
  if (argv[0] == NULL)
    _exit (0);
  return execve ("/proc/self/exe", argv, argv + 1) + 1;
}

static NOINLINE long
child_outer (char **argv)
{
  return child_inner (argv) + 1;
}

static NOINLINE long
parent_inner (pid_t pid)
{
  return syscall (SYS_wait4, pid, NULL, 0, NULL) + 1;
}

static NOINLINE long
parent_outer (pid_t pid)
{
  return parent_inner (pid) + 1;
}

static NOINLINE long
lend (char **argv)
{
  pid_t pid = vfork ();

  if (pid == 0)
    _exit (child_outer (argv) != 0);
  return parent_outer (pid) + 1;
}

static void *
change_mappings (void *room)
{
  for (int i = 0;; i++)
    mprotect (room, ROOM, i % 2 == 0 ? PROT_READ : PROT_READ | PROT_WRITE);
  return NULL;
}

int
main (int argc, char **argv)
{
  char *again[] = { argv[0], NULL }, *never[] = { NULL, NULL };
  void *room;
  pthread_t thread;
  time_t end;

  if (argc < 2)
    _exit (0);
  end = time (NULL) + atoi (argv[1]);
  room =
      mmap (NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (room == MAP_FAILED || pthread_create (&thread, NULL, change_mappings, room) != 0)
    return 1;
  for (int i = 0; time (NULL) < end; i++)
    lend (i % 2 == 0 ? again : never);
  return 0;
}
