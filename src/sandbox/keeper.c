/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* keeper.c - makes files in directories that were opened before; see keeper.h.
 *
 * A request is one message of a socket, and so is its answer: the error, and with it the descriptor
 * of a new file. Whoever asks may have been taken over by a hostile file, so the process checks the
 * number of the directory and the names. */

#include "sandbox/keeper.h"

#include "base/fd.h"
#include "sandbox/sandbox.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* Descriptors of the process; those of the directories follow. */
#define SOCKET_FD       3
#define FIRST_DIRECTORY 4

typedef enum
{
  REQUEST_CREATE,
  REQUEST_RENAME,
  REQUEST_REMOVE,
  REQUEST_TOUCH,
} RequestKind;

typedef struct
{
  RequestKind kind;
  guint directory;
  char name[LU_KEEPER_MAX_NAME], to[LU_KEEPER_MAX_NAME];
} Request;

typedef struct
{
  int fd; /* borrowed */
  uid_t owner;
  gid_t group;
} Directory;

struct _LuKeeper
{
  GArray *directories; /* of Directory */
  int socket;          /* -1: there is no process */
  pid_t pid;
  pthread_mutex_t mutex; /* one request at a time */
};

static Directory *
directory_at (const LuKeeper *self, guint number)
{
  return &g_array_index (self->directories, Directory, number);
}

/* Requests */

/* Some file systems allow no other owner. Then the file stays with its maker. */
int
lu_create_file (int directory, const char *path, uid_t owner, gid_t group)
{
  int fd = openat (directory, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY,
                   0600);

  if (fd >= 0 && owner != (uid_t) -1 && fchown (fd, owner, group) != 0)
    g_debug ("%s stays with its maker: %s", path, g_strerror (errno));
  return fd;
}

static gboolean
is_name (const char name[LU_KEEPER_MAX_NAME])
{
  return memchr (name, 0, LU_KEEPER_MAX_NAME) != NULL && strchr (name, '/') == NULL;
}

/* Returns the descriptor of a new file, 0, or -1 with errno set. */
static int
perform (const LuKeeper *self, const Request *request)
{
  const Directory *directory;

  if (request->directory >= self->directories->len || !is_name (request->name)
      || !is_name (request->to))
    {
      errno = EINVAL;
      return -1;
    }
  directory = directory_at (self, request->directory);
  switch (request->kind)
    {
    case REQUEST_CREATE:
      return lu_create_file (directory->fd, request->name, directory->owner, directory->group);
    case REQUEST_RENAME:
      return renameat (directory->fd, request->name, directory->fd, request->to);
    case REQUEST_REMOVE:
      return unlinkat (directory->fd, request->name, 0);
    case REQUEST_TOUCH:
      return utimensat (directory->fd, request->name, NULL, AT_SYMLINK_NOFOLLOW);
    default:
      errno = EINVAL;
      return -1;
    }
}

/* Messages with at most one descriptor. */

typedef union
{
  char bytes[CMSG_SPACE (sizeof (int))];
  struct cmsghdr aligned;
} Control;

static gboolean
send_answer (int error, int fd)
{
  Control control = { 0 };
  struct iovec bytes = { .iov_base = &error, .iov_len = sizeof error };
  struct msghdr message = { .msg_iov = &bytes, .msg_iovlen = 1 };
  struct cmsghdr *header;

  if (fd >= 0)
    {
      message.msg_control = control.bytes;
      message.msg_controllen = sizeof control.bytes;
      header = CMSG_FIRSTHDR (&message);
      *header = (struct cmsghdr){ .cmsg_len = CMSG_LEN (sizeof fd),
                                  .cmsg_level = SOL_SOCKET,
                                  .cmsg_type = SCM_RIGHTS };
      memcpy (CMSG_DATA (header), &fd, sizeof fd);
    }
  return sendmsg (SOCKET_FD, &message, MSG_NOSIGNAL) == sizeof error;
}

/* Returns the answer's error; fd receives the descriptor, or -1. */
static int
receive_answer (int socket, int *fd)
{
  Control control;
  int error = EPIPE;
  struct iovec bytes = { .iov_base = &error, .iov_len = sizeof error };
  struct msghdr message = { .msg_iov = &bytes,
                            .msg_iovlen = 1,
                            .msg_control = control.bytes,
                            .msg_controllen = sizeof control.bytes };
  struct cmsghdr *header;
  gssize n;

  do
    n = recvmsg (socket, &message, MSG_CMSG_CLOEXEC);
  while (n < 0 && errno == EINTR);
  *fd = -1;
  if (n != sizeof error)
    return EPIPE;
  header = CMSG_FIRSTHDR (&message);
  if (header != NULL && header->cmsg_type == SCM_RIGHTS
      && header->cmsg_len == CMSG_LEN (sizeof *fd))
    memcpy (fd, CMSG_DATA (header), sizeof *fd);
  return error;
}

/* The process */

static void
serve (const LuKeeper *self)
{
  Request request;

  while (read (SOCKET_FD, &request, sizeof request) == sizeof request)
    {
      int result = perform (self, &request);
      int error = result >= 0 ? 0 : errno;
      int fd = request.kind == REQUEST_CREATE ? result : -1;

      if (!send_answer (error, fd))
        return;
      lu_fd_clear (&fd);
    }
}

/* Keeps nothing open but the socket and the directories, so that nobody waits for this process.
 * Standard descriptors stay in use, because a new file must not get their numbers. */
static gboolean
keep_descriptors (LuKeeper *self, int socket)
{
  int n = (int) self->directories->len, end = FIRST_DIRECTORY + n;
  int null_fd = open ("/dev/null", O_RDWR | O_CLOEXEC);

  socket = fcntl (socket, F_DUPFD, end);
  for (int i = 0; i < n; i++)
    directory_at (self, (guint) i)->fd = fcntl (directory_at (self, (guint) i)->fd, F_DUPFD, end);
  for (int i = 0; i < SOCKET_FD; i++)
    if (dup2 (null_fd, i) < 0)
      return FALSE;
  if (dup2 (socket, SOCKET_FD) < 0)
    return FALSE;
  for (int i = 0; i < n; i++)
    if (dup2 (directory_at (self, (guint) i)->fd, FIRST_DIRECTORY + i) < 0)
      return FALSE;
    else
      directory_at (self, (guint) i)->fd = FIRST_DIRECTORY + i;
  lu_fd_close_from (end);
  return TRUE;
}

/* The socket ends this process, and no signal that its group gets. */
G_GNUC_NORETURN static void
run_process (LuKeeper *self, int socket, gboolean for_others)
{
  static const int ignored[] = { SIGINT, SIGQUIT, SIGHUP, SIGTERM, SIGPIPE, SIGTSTP, SIGXFSZ };
  sigset_t none;

  sigemptyset (&none);
  for (guint i = 0; i < G_N_ELEMENTS (ignored); i++)
    signal (ignored[i], SIG_IGN);
  sigprocmask (SIG_SETMASK, &none, NULL);
  if (!keep_descriptors (self, socket))
    _exit (1);
  prctl (PR_SET_NAME, "lu-keeper", 0, 0, 0);
  lu_sandbox_restrict_keeper (for_others); /* without seccomp the recorder says so */
  serve (self);
  _exit (0);
}

/* The recorder */

LuKeeper *
lu_keeper_new (void)
{
  LuKeeper *self = g_new0 (LuKeeper, 1);

  self->directories = g_array_new (FALSE, FALSE, sizeof (Directory));
  self->socket = -1;
  pthread_mutex_init (&self->mutex, NULL);
  return self;
}

void
lu_keeper_free (LuKeeper *self)
{
  if (self == NULL)
    return;
  lu_fd_clear (&self->socket);
  if (self->pid > 0)
    waitpid (self->pid, NULL, WNOHANG); /* it may wait for a disk */
  pthread_mutex_destroy (&self->mutex);
  g_array_unref (self->directories);
  g_free (self);
}

guint
lu_keeper_add (LuKeeper *self, int directory, uid_t owner, gid_t group)
{
  Directory added = { directory, owner, group };

  g_array_append_val (self->directories, added);
  return self->directories->len - 1;
}

gboolean
lu_keeper_start (LuKeeper *self, gboolean for_others)
{
  int fds[2];

  if (socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0)
    return FALSE;
  self->pid = fork ();
  if (self->pid == 0)
    run_process (self, fds[1], for_others);
  close (fds[1]);
  self->socket = fds[0];
  if (self->pid < 0)
    lu_fd_clear (&self->socket);
  return self->pid > 0;
}

/* Returns what perform() returns. */
static int
ask_process (LuKeeper *self, const Request *request)
{
  int error = EPIPE, fd = -1;

  pthread_mutex_lock (&self->mutex);
  if (send (self->socket, request, sizeof *request, MSG_NOSIGNAL) == sizeof *request)
    error = receive_answer (self->socket, &fd);
  pthread_mutex_unlock (&self->mutex);
  if (error == 0 && request->kind == REQUEST_CREATE && fd < 0)
    error = EMFILE; /* of this process */
  errno = error;
  return error != 0 ? -1 : MAX (fd, 0);
}

static int
ask (LuKeeper *self, RequestKind kind, guint directory, const char *name, const char *to)
{
  Request request = { .kind = kind, .directory = directory };

  if (g_strlcpy (request.name, name, sizeof request.name) >= sizeof request.name
      || g_strlcpy (request.to, to, sizeof request.to) >= sizeof request.to)
    {
      errno = ENAMETOOLONG;
      return -1;
    }
  return self->socket >= 0 ? ask_process (self, &request) : perform (self, &request);
}

int
lu_keeper_create (LuKeeper *self, guint directory, const char *name)
{
  return ask (self, REQUEST_CREATE, directory, name, "");
}

gboolean
lu_keeper_rename (LuKeeper *self, guint directory, const char *name, const char *to)
{
  return ask (self, REQUEST_RENAME, directory, name, to) == 0;
}

gboolean
lu_keeper_remove (LuKeeper *self, guint directory, const char *name)
{
  return ask (self, REQUEST_REMOVE, directory, name, "") == 0;
}

gboolean
lu_keeper_touch (LuKeeper *self, guint directory, const char *name)
{
  return ask (self, REQUEST_TOUCH, directory, name, "") == 0;
}
