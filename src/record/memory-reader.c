/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* memory-reader.c - see memory-reader.h. */

#include "memory-reader.h"

#include "base/fd.h"
#include "base/priority.h"
#include "sandbox/sandbox.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>

/* No page is read twice within a second, unless many are asked for. */
#define PAGES_PER_SECOND 8000
#define MEMORY_US        G_USEC_PER_SEC
/* Bytes that are read in a second to compare code. V8 copies 1.6 MiB. */
#define COMPARED_PER_SECOND (256u << 20)
#define N_REMEMBERED        256
/* A request that takes longer hangs. */
#define PATIENCE_US   (500 * 1000)
#define MAX_UNDER_WAY 16
/* Requests that the worker's thread may leave between two rounds of the drain: one for each of
 * several threads, whose stacks have other pages. */
#define N_WISHES 16
/* The socket, in the process that reads. */
#define SOCKET_FD 3

typedef struct
{
  gint32 pid;
  guint64 start, end;
} Prefault;

/* Both are sent, but only one of them is asked for; the other one has pid 0. The answer has the
 * size of a request as well. */
typedef struct
{
  Prefault prefault;
  LuCopiedText copy;
} Request;

struct _LuMemoryReader
{
  int fd;    /* -1: there is no process, or it is asked no more */
  pid_t pid; /* 0: none */
  guint n_under_way;
  gint64 answer_us; /* since when the next answer is due */
  gboolean hangs;
  struct
  {
    gint32 pid;
    guint64 page; /* the first one */
    gint64 us;    /* when it was asked for; 0: never */
  } asked[N_REMEMBERED];
  Prefault wishes[N_WISHES];       /* a ring */
  atomic_uint n_wishes, n_granted; /* since the beginning */
  LuCopiedText compared;           /* the last answer */
  gboolean is_comparing, has_compared;
};

/* The process */

static void
read_pages (const Prefault *request)
{
  static gint64 second; /* in which n_prefaults pages were read */
  static guint n_prefaults;
  guint64 page = (guint64) sysconf (_SC_PAGESIZE);
  gint64 now = g_get_monotonic_time () / G_USEC_PER_SEC;

  if (now != second)
    n_prefaults = 0;
  second = now;
  for (guint64 at = request->start; at < request->end && n_prefaults < PAGES_PER_SECOND;
       at = (at / page + 1) * page)
    {
      char byte;
      struct iovec local = { .iov_base = &byte, .iov_len = 1 };
      struct iovec remote = { .iov_base = (void *) (gsize) at, .iov_len = 1 };

      n_prefaults++;
      if (process_vm_readv (request->pid, &local, 1, &remote, 1, 0) != 1)
        break; /* the end of the stack, or not allowed */
    }
}

static void
compare (LuCopiedText *copy)
{
  static gint64 second; /* for which the budget is */
  static guint64 budget;
  gint64 now = g_get_monotonic_time () / G_USEC_PER_SEC;

  if (now != second)
    budget = COMPARED_PER_SECOND;
  second = now;
  lu_copied_text_compare (copy, &budget);
}

/* Ends with the socket. Allocates nothing: other threads of the recorder may have held locks. */
static void
serve (void)
{
  Request request;

  while (read (SOCKET_FD, &request, sizeof request) == sizeof request)
    {
      if (request.copy.pid != 0)
        compare (&request.copy);
      else
        read_pages (&request.prefault);
      if (write (SOCKET_FD, &request, sizeof request) < 0)
        return;
    }
}

/* Keeps nothing open but the socket, so that nothing waits for a process that hangs, and no rights
 * but those to read memory. */
G_GNUC_NORETURN static void
run_process (int fd)
{
  sigset_t none;

  sigemptyset (&none);
  if (dup2 (fd, SOCKET_FD) != SOCKET_FD)
    _exit (1);
  for (int i = 0; i < SOCKET_FD; i++)
    close (i);
  lu_fd_close_from (SOCKET_FD + 1);
  signal (SIGINT, SIG_IGN); /* a terminal sends it to all its processes; the socket ends us */
  signal (SIGHUP, SIG_IGN);
  signal (SIGTERM, SIG_DFL);
  sigprocmask (SIG_SETMASK, &none, NULL);
  prctl (PR_SET_NAME, "lu-memory", 0, 0, 0);
  lu_thread_be_urgent (); /* until pages are present, each sample of a thread ends early */
  lu_sandbox_restrict_memory_reader (); /* without seccomp the recorder says so */
  serve ();
  _exit (0);
}

/* The recorder */

LuMemoryReader *
lu_memory_reader_new (void)
{
  LuMemoryReader *self = g_new0 (LuMemoryReader, 1);
  int fds[2];

  self->fd = -1;
  if (socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) != 0)
    return self;
  fcntl (fds[1], F_SETFL, 0);
  self->pid = fork ();
  if (self->pid == 0)
    run_process (fds[1]);
  close (fds[1]);
  self->fd = fds[0];
  if (self->pid < 0)
    lu_fd_clear (&self->fd);
  return self;
}

void
lu_memory_reader_free (LuMemoryReader *self)
{
  if (self == NULL)
    return;
  lu_fd_clear (&self->fd);
  if (self->pid > 0)
    {
      kill (self->pid, SIGKILL);
      waitpid (self->pid, NULL, WNOHANG);
    }
  g_free (self);
}

gboolean
lu_memory_reader_hangs (const LuMemoryReader *self)
{
  return self->hangs;
}

/* Takes the answers that are there. */
static void
take_answers (LuMemoryReader *self, gint64 now)
{
  Request answer;

  for (; self->n_under_way > 0 && read (self->fd, &answer, sizeof answer) == sizeof answer;
       self->n_under_way--)
    {
      self->answer_us = now;
      if (answer.copy.pid == 0)
        continue;
      self->compared = answer.copy;
      self->has_compared = TRUE;
    }
  self->hangs = self->n_under_way > 0 && now - self->answer_us >= PATIENCE_US;
  if (self->hangs)
    lu_fd_clear (&self->fd);
}

static guint64
first_page (const Prefault *request)
{
  return request->start / (guint64) sysconf (_SC_PAGESIZE);
}

/* Returns whether these pages were not asked for a moment ago, and remembers them. All samples of a
 * thread want the same ones until they are present. */
static gboolean
is_new (LuMemoryReader *self, const Prefault *request, gint64 now)
{
  guint64 page = first_page (request);
  guint at = (guint) ((page ^ (guint64) request->pid << 20) * 0x9e3779b97f4a7c15u >> 56);

  G_STATIC_ASSERT (N_REMEMBERED == 1 << 8);
  if (self->asked[at].us != 0 && now - self->asked[at].us < MEMORY_US
      && self->asked[at].pid == request->pid && self->asked[at].page == page)
    return FALSE;
  self->asked[at].pid = request->pid;
  self->asked[at].page = page;
  self->asked[at].us = now;
  return TRUE;
}

/* Takes answers and returns whether the process can be asked for more. */
static gboolean
has_room (LuMemoryReader *self, gint64 now)
{
  if (self->fd >= 0)
    take_answers (self, now);
  return self->fd >= 0 && self->n_under_way < MAX_UNDER_WAY;
}

static gboolean
ask (LuMemoryReader *self, const Request *request, gint64 now)
{
  if (self->n_under_way++ == 0)
    self->answer_us = now;
  if (write (self->fd, request, sizeof *request) == sizeof *request)
    return TRUE;
  lu_fd_clear (&self->fd);
  return FALSE;
}

gboolean
lu_memory_reader_prefault (LuMemoryReader *self, gint32 pid, guint64 start, guint64 end)
{
  const Request request = { .prefault = { .pid = pid, .start = start, .end = end } };
  gint64 now = g_get_monotonic_time ();

  return has_room (self, now) && is_new (self, &request.prefault, now) && ask (self, &request, now);
}

gboolean
lu_memory_reader_compare (LuMemoryReader *self, const LuCopiedText *question)
{
  const Request request = { .copy = *question };
  gint64 now = g_get_monotonic_time ();

  if (self->is_comparing || !has_room (self, now))
    return FALSE;
  self->is_comparing = ask (self, &request, now);
  return self->is_comparing;
}

gboolean
lu_memory_reader_take_compared (LuMemoryReader *self, LuCopiedText *answer)
{
  if (self->is_comparing && self->fd >= 0)
    take_answers (self, g_get_monotonic_time ());
  if (!self->has_compared)
    return FALSE;
  *answer = self->compared;
  self->has_compared = self->is_comparing = FALSE;
  return TRUE;
}

/* Returns whether a wish for the same page waits. */
static gboolean
is_wished (const LuMemoryReader *self, const Prefault *request, guint first, guint n)
{
  for (guint i = first; i != n; i++)
    if (self->wishes[i % N_WISHES].pid == request->pid
        && first_page (&self->wishes[i % N_WISHES]) == first_page (request))
      return TRUE;
  return FALSE;
}

void
lu_memory_reader_wish (LuMemoryReader *self, gint32 pid, guint64 start, guint64 end)
{
  const Prefault request = { .pid = pid, .start = start, .end = end };
  guint n = atomic_load_explicit (&self->n_wishes, memory_order_relaxed),
        first = atomic_load_explicit (&self->n_granted, memory_order_acquire);

  if (n - first >= N_WISHES || is_wished (self, &request, first, n))
    return;
  self->wishes[n % N_WISHES] = request;
  atomic_store_explicit (&self->n_wishes, n + 1, memory_order_release);
}

gboolean
lu_memory_reader_grant (LuMemoryReader *self)
{
  guint n = atomic_load_explicit (&self->n_wishes, memory_order_acquire),
        first = atomic_load_explicit (&self->n_granted, memory_order_relaxed);

  for (guint i = first; i != n; i++)
    {
      const Prefault *wish = &self->wishes[i % N_WISHES];

      lu_memory_reader_prefault (self, wish->pid, wish->start, wish->end);
    }
  atomic_store_explicit (&self->n_granted, n, memory_order_release);
  return n != first;
}
