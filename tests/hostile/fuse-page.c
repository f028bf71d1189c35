/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* fuse-page.c - a process with pages of a file whose file system never answers a read.
 *
 *   fuse-page DIRECTORY stack    burns time below such a page of its stack
 *   fuse-page DIRECTORY FILE     runs DIRECTORY/page, which is a copy of that program, and whose
 *                                server answers nothing more once it gets SIGUSR1, and reads slowly
 *                                once it gets SIGUSR2
 *   fuse-page DIRECTORY FILE alone   also refuses all users but the one who mounts
 *   fuse-page DIRECTORY FILE below PLACE    runs PLACE/page of an overlay of DIRECTORY and
 *                                    PLACE.empty
 *   fuse-page DIRECTORY FILE hidden PLACE   the same, in a mount namespace of its own
 *
 * DIRECTORY is mounted on. The program serves it itself, by a child that speaks to /dev/fuse and
 * keeps each request for ever that it does not answer: who made it sleeps, and not even SIGKILL
 * ends that, until the child is killed. Prints a line with the child's pid when it is ready. Exits
 * with 77 where such a mount is not allowed.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE        4096u
#define STACK_BYTES (1u << 20)
/* More than a thread touches at the top of its stack. */
#define HELD_BELOW_TOP (3 * PAGE)
#define FILE_NODE      2
#define REQUEST_BYTES  (1u << 17)
#define SLOW_US        10000 /* each page */

static void
reply (int fd, const struct fuse_in_header *in, const void *body, size_t size, int error)
{
  struct fuse_out_header out = { .len = (uint32_t) (sizeof out + size),
                                 .error = error,
                                 .unique = in->unique };
  struct iovec parts[] = { { &out, sizeof out }, { (void *) (uintptr_t) body, size } };

  if (writev (fd, parts, 2) < 0 && errno != ENOENT)
    _exit (1);
}

static char *program; /* NULL: there is none, and no read is answered */
static size_t program_size;
static volatile sig_atomic_t is_silent, is_slow;

static void
fall_silent (int number)
{
  is_silent = number;
}

static void
become_slow (int number)
{
  is_slow = number;
}

static struct fuse_attr
attributes_of (uint64_t node)
{
  return (struct fuse_attr){ .ino = node,
                             .size = node != FILE_NODE ? 0
                                     : program != NULL ? program_size
                                                       : 16 * PAGE,
                             .mode = node == FILE_NODE ? S_IFREG | 0755 : S_IFDIR | 0755,
                             .nlink = 1,
                             .blksize = PAGE };
}

static void
answer_read (int fd, const struct fuse_in_header *in)
{
  const struct fuse_read_in *read_in = (const void *) (in + 1);
  size_t at = read_in->offset < program_size ? read_in->offset : program_size;
  size_t left = program_size - at;

  if (is_slow)
    usleep (SLOW_US * ((read_in->size + PAGE - 1) / PAGE));
  if (program != NULL)
    reply (fd, in, program + at, read_in->size < left ? read_in->size : left, 0);
}

/* Answers everything but reads, which need a program. Without FUSE_ASYNC_READ, readers wait for the
 * request itself. Who looks at a program asks each time. */
static void
answer (int fd, const struct fuse_in_header *in)
{
  struct fuse_init_out init = { .major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = 4096 };
  uint64_t valid = program != NULL ? 0 : 3600;
  struct fuse_entry_out entry = { .nodeid = FILE_NODE,
                                  .attr_valid = valid,
                                  .entry_valid = valid,
                                  .attr = attributes_of (FILE_NODE) };
  struct fuse_attr_out attributes = { .attr_valid = valid, .attr = attributes_of (in->nodeid) };
  struct fuse_open_out open = { 0 };

  switch (in->opcode)
    {
    case FUSE_INIT:
      reply (fd, in, &init, sizeof init, 0);
      break;
    case FUSE_LOOKUP:
      if (strcmp ((const char *) (in + 1), "page") == 0)
        reply (fd, in, &entry, sizeof entry, 0);
      else
        reply (fd, in, NULL, 0, -ENOENT);
      break;
    case FUSE_GETATTR:
      reply (fd, in, &attributes, sizeof attributes, 0);
      break;
    case FUSE_STATFS:
      reply (fd, in, &(struct fuse_statfs_out){ { 0 } }, sizeof (struct fuse_statfs_out), 0);
      break;
    case FUSE_OPEN:
      reply (fd, in, &open, sizeof open, 0);
      break;
    case FUSE_READ:
      answer_read (fd, in);
      break;
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
    case FUSE_INTERRUPT:
      break;
    case FUSE_FLUSH:
    case FUSE_RELEASE:
      reply (fd, in, NULL, 0, 0);
      break;
    default:
      reply (fd, in, NULL, 0, -ENOSYS);
    }
}

static void
serve (int fd)
{
  static _Alignas(8) char request[REQUEST_BYTES];

  for (;;)
    {
      ssize_t n = read (fd, request, sizeof request);

      if (n < 0 && errno != EINTR && errno != ENOENT && errno != EAGAIN)
        _exit (0); /* unmounted */
      if (n >= (ssize_t) sizeof (struct fuse_in_header) && !is_silent)
        answer (fd, (struct fuse_in_header *) request);
    }
}

static void
read_program (const char *path)
{
  int fd = open (path, O_RDONLY | O_CLOEXEC);
  struct stat info;

  if (fd < 0 || fstat (fd, &info) != 0)
    exit (1);
  program_size = (size_t) info.st_size;
  program = mmap (NULL, program_size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (program == MAP_FAILED)
    exit (1);
  close (fd);
}

/* Returns the pid of the server. */
static pid_t
mount_file (const char *directory, const char *admits)
{
  char options[128];
  pid_t pid;
  int fd = open ("/dev/fuse", O_RDWR | O_CLOEXEC);

  snprintf (options, sizeof options, "fd=%d,rootmode=40000,user_id=%u,group_id=%u%s", fd, getuid (),
            getgid (), admits);
  if (fd < 0 || mount ("fuse-page", directory, "fuse", MS_NOSUID | MS_NODEV, options) != 0)
    {
      fprintf (stderr, "no FUSE mount: %s\n", strerror (errno));
      exit (77);
    }
  pid = fork ();
  if (pid == 0)
    {
      prctl (PR_SET_PDEATHSIG, SIGKILL);
      signal (SIGUSR1, fall_silent);
      signal (SIGUSR2, become_slow);
      close (STDOUT_FILENO);
      serve (fd);
    }
  close (fd);
  return pid;
}

static void
map_page (int fd, void *place)
{
  if (mmap (place, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, 0) == MAP_FAILED)
    exit (1);
}

__attribute__ ((noinline)) static void
burn (void)
{
  for (volatile unsigned long n = 0;; n++)
    ;
}

static void *
over_page (void *unused)
{
  volatile char untouched[3 * PAGE];

  __asm__ volatile("" : : "r"(untouched) : "memory");
  burn ();
  return unused;
}

static void
burn_below_page (int fd)
{
  char *stack = mmap (0, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  pthread_attr_t attributes;
  pthread_t thread;

  madvise (stack, STACK_BYTES, MADV_NOHUGEPAGE);
  map_page (fd, stack + STACK_BYTES - HELD_BELOW_TOP);
  pthread_attr_init (&attributes);
  pthread_attr_setstack (&attributes, stack, STACK_BYTES);
  if (pthread_create (&thread, &attributes, over_page, NULL) != 0)
    exit (1);
  pthread_join (thread, NULL);
}

static void
mount_overlay (const char *directory, const char *place)
{
  char options[8192];

  snprintf (options, sizeof options, "lowerdir=%s:%s.empty", directory, place);
  if (mount ("overlay", place, "overlay", 0, options) != 0)
    {
      fprintf (stderr, "no overlay: %s\n", strerror (errno));
      exit (77);
    }
}

int
main (int argc, char **argv)
{
  int fd, is_stack = argc == 3 && strcmp (argv[2], "stack") == 0;
  const char *more = argc > 3 ? argv[3] : "", *directory;
  char path[4096];
  pid_t server;

  if (argc < 3 || argc > 5
      || (argc == 5 && strcmp (more, "hidden") == 0 && unshare (CLONE_NEWNS) != 0))
    return 2;
  directory = argc == 5 ? argv[4] : argv[1];
  if (!is_stack)
    read_program (argv[2]);
  server = mount_file (argv[1], strcmp (more, "alone") == 0 ? "" : ",allow_other");
  if (argc == 5)
    mount_overlay (argv[1], argv[4]);
  printf ("%d\n", server);
  snprintf (path, sizeof path, "%s/page", directory);
  fd = open (path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return 1;
  fflush (stdout);
  if (is_stack)
    burn_below_page (fd);
  close (fd);
  execl (path, path, (char *) NULL);
  return 1;
}
