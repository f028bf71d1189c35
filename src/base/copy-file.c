/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* copy-file.c - see copy-file.h. */

#include "base/copy-file.h"

#include "base/fd.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define MAX_BYTES   (256u << 20)
#define CHUNK       (64u << 10)
#define PATIENCE_US (500 * 1000)
#define TOTAL_US    (5 * G_USEC_PER_SEC)
/* A thread in a hurry does not wait for this many times as long as it has waited. */
#define REST 10
/* As many copies may be under way for such a thread; one that nobody asks for any more ends after
 * this time. */
#define MAX_UNDER_WAY 2
#define EXPIRED_US    (2 * TOTAL_US)
/* A thread makes no more copies while so many processes have not ended that it has left behind. */
#define MAX_LEFT_BEHIND 16
/* Room for the bytes that tell of parts, while nobody reads them. */
#define PIPE_BYTES (1 << 20)
/* After this many, nobody is asked any more. */
#define MAX_SILENT 4
/* Descriptors of the new process. Its output takes a byte for each part that was copied, and at the
 * end the file's fstat(). */
enum
{
  COPY,
  OUTPUT,
  GIVEN,
  N_KEPT
};

static dev_t silent[MAX_SILENT];
static gint n_silent; /* atomic */

static gboolean
is_silent (dev_t device)
{
  gint n = g_atomic_int_get (&n_silent);

  for (gint i = 0; i < MIN (n, MAX_SILENT); i++)
    if (silent[i] == device)
      return TRUE;
  return n >= MAX_SILENT;
}

static void
note_silent (dev_t device)
{
  gint i = g_atomic_int_add (&n_silent, 1);

  if (i < MAX_SILENT)
    silent[i] = device;
}

guint
lu_copy_n_silent (void)
{
  return (guint) g_atomic_int_get (&n_silent);
}

/* The process */

static void
keep_only (int fds[N_KEPT])
{
  for (int i = 0; i < N_KEPT; i++)
    fds[i] = fcntl (fds[i], F_DUPFD, N_KEPT);
  for (int i = 0; i < N_KEPT; i++)
    if (dup2 (fds[i], i) != i)
      _exit (1);
  lu_fd_close_from (N_KEPT);
}

static gboolean
copy_bytes (int fd)
{
  static char chunk[CHUNK];
  gsize size = 0;
  gssize n;

  while ((n = read (fd, chunk, sizeof chunk)) > 0 && (size += (gsize) n) <= MAX_BYTES)
    if (!lu_fd_write_all (COPY, chunk, (gsize) n) || write (OUTPUT, "", 1) != 1)
      return FALSE;
  return n == 0;
}

/* Closing a file may hang, too, so that comes before the answer. */
G_GNUC_NORETURN static void
run_process (const LuCopying *copying, int fds[N_KEPT])
{
  struct stat info;
  int fd;

  prctl (PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  keep_only (fds);
  fd = copying->open (GIVEN, copying->data, &info);
  if (fd >= 0 && copy_bytes (fd) && close (fd) == 0)
    _exit (write (OUTPUT, &info, sizeof info) < 0);
  _exit (1);
}

/* The others */

/* A copy that is being made. */
typedef struct
{
  dev_t device;
  guint64 key;
  pid_t pid; /* 0: none is made */
  int copy, output;
  gint64 began, heard; /* us */
} Copy;

typedef enum
{
  COPIED,
  NO_COPY,
  SILENT,
  TOO_SLOW,
  UNFINISHED,
} Progress;

static _Thread_local struct
{
  gboolean is_in_hurry, left_unfinished;
  gint64 rests_until; /* us */
  Copy copies[MAX_UNDER_WAY];
  pid_t left_behind[MAX_LEFT_BEHIND + MAX_UNDER_WAY]; /* 0: none */
} thread;

void
lu_copy_hurry (void)
{
  thread.is_in_hurry = TRUE;
}

gboolean
lu_copy_left_unfinished (void)
{
  gboolean is_left = thread.left_unfinished;

  thread.left_unfinished = FALSE;
  return is_left;
}

/* Forgets processes that have ended, and returns how many have not. Sets *room to room for another.
 */
static guint
reap (pid_t **room)
{
  guint n = 0;

  for (guint i = 0; i < G_N_ELEMENTS (thread.left_behind); i++)
    {
      pid_t *pid = &thread.left_behind[i];

      if (*pid != 0 && waitpid (*pid, NULL, WNOHANG) != 0)
        *pid = 0;
      if (*pid == 0)
        *room = pid;
      n += *pid != 0;
    }
  return n;
}

static gboolean
begin (Copy *self, const LuCopying *copying)
{
  int pipe_fds[2];
  pid_t *room;

  if (reap (&room) >= MAX_LEFT_BEHIND)
    return FALSE;
  if (pipe2 (pipe_fds, O_CLOEXEC | O_DIRECT) != 0) /* its packets are what was written at once */
    return FALSE;
  fcntl (pipe_fds[1], F_SETPIPE_SZ, PIPE_BYTES);
  *self = (Copy){ .device = copying->device,
                  .key = copying->key,
                  .copy = memfd_create ("copy", MFD_CLOEXEC),
                  .output = pipe_fds[0],
                  .began = g_get_monotonic_time () };
  self->heard = self->began;
  if (self->copy >= 0)
    self->pid = fork ();
  if (self->pid == 0 && self->copy >= 0)
    run_process (copying, (int[]){ self->copy, pipe_fds[1], copying->fd });
  close (pipe_fds[1]);
  if (self->pid > 0)
    return TRUE;
  lu_fd_clear (&self->copy);
  lu_fd_clear (&self->output);
  self->pid = 0;
  return FALSE;
}

/* Waits until then (us), or until it is known whether there is a copy. While a thread in a hurry
 * did not ask, the process may have waited for it, so the file system is not to blame for the time.
 */
static Progress
go_on (Copy *self, gint64 until, struct stat *info)
{
  struct pollfd poll_fd = { .fd = self->output, .events = POLLIN };

  for (;;)
    {
      gint64 now = g_get_monotonic_time ();
      gint64 limit = MIN (self->heard + PATIENCE_US, self->began + TOTAL_US);
      gint64 wait = MAX (MIN (until, limit) - now, 0);
      gssize n;

      if (poll (&poll_fd, 1, (int) ((wait + 999) / 1000)) > 0)
        {
          n = read (self->output, info, sizeof *info);
          if (n != 1)
            return n == sizeof *info ? COPIED : NO_COPY;
          self->heard = now;
        }
      else if (now >= limit)
        return thread.is_in_hurry && now < self->heard + PATIENCE_US ? TOO_SLOW : SILENT;
      else if (now >= until)
        return UNFINISHED;
    }
}

/* Returns the copy, or -1 if that is not wanted. */
static int
end (Copy *self, Progress progress)
{
  lu_autofd copy = self->copy;
  gboolean is_done = progress == COPIED || progress == NO_COPY;
  pid_t *room = NULL;

  lu_fd_clear (&self->output);
  if (!is_done)
    kill (self->pid, SIGKILL);
  if (progress == SILENT)
    note_silent (self->device);
  if (waitpid (self->pid, NULL, is_done ? 0 : WNOHANG) == 0
      && reap (&room) < MAX_LEFT_BEHIND + MAX_UNDER_WAY)
    *room = self->pid;
  self->pid = 0;
  return progress == COPIED ? lu_fd_steal (&copy) : -1;
}

void
lu_copy_expire (gboolean all)
{
  for (guint i = 0; i < MAX_UNDER_WAY; i++)
    {
      Copy *copy = &thread.copies[i];
      struct stat unwanted;

      if (copy->pid != 0 && (all || g_get_monotonic_time () > copy->began + EXPIRED_US))
        {
          lu_autofd made = end (copy, go_on (copy, 0, &unwanted));

          g_debug ("a copy that nobody asked for again is %s", made < 0 ? "given up" : "dropped");
        }
    }
}

/* Returns the place of a copy that is under way, or one where none is; NULL: there is none. */
static Copy *
find_place (const LuCopying *copying)
{
  Copy *free_place = NULL;

  lu_copy_expire (FALSE);
  for (guint i = 0; i < MAX_UNDER_WAY; i++)
    {
      Copy *copy = &thread.copies[i];

      if (copy->pid != 0 && copy->device == copying->device && copy->key == copying->key)
        return copy;
      if (copy->pid == 0)
        free_place = copy;
    }
  return free_place;
}

/* A copy that takes longer goes on beside the thread. */
static int
copy_briefly (const LuCopying *copying, struct stat *info)
{
  gint64 now = g_get_monotonic_time (), until = now;
  Copy *copy = thread.left_unfinished ? NULL : find_place (copying);
  Progress progress;

  thread.left_unfinished |= copy == NULL;
  if (copy == NULL)
    return -1;
  if (copy->pid == 0 && now >= thread.rests_until)
    until = now + PATIENCE_US;
  if (copy->pid == 0 && !begin (copy, copying))
    return -1;
  progress = go_on (copy, until, info);
  if (until > now)
    thread.rests_until = now + (1 + REST) * (g_get_monotonic_time () - now);
  thread.left_unfinished = progress == UNFINISHED;
  return progress != UNFINISHED ? end (copy, progress) : -1;
}

int
lu_copy_file (const LuCopying *copying, struct stat *info)
{
  Copy copy;

  if (is_silent (copying->device))
    return -1;
  if (thread.is_in_hurry)
    return copy_briefly (copying, info);
  return begin (&copy, copying) ? end (&copy, go_on (&copy, G_MAXINT64, info)) : -1;
}
