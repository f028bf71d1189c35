/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* fetch.c - fetches files from debuginfod servers; see fetch.h.
 *
 * The library is loaded at the first request. Linking it would add 3.5 ms to each start of the
 * program, and would bring some thirty libraries, including network code, into the process that has
 * privileges. */

#include "symbolize/fetch.h"

#include "base/library.h"

#include <elfutils/debuginfod.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* The version of the interface that elfutils/debuginfod.h describes. */
#define LIBRARY            "libdebuginfod.so.1"
#define CACHE              "debuginfod_client"
#define OLD_CACHE          ".debuginfod_client_cache"
#define REPORT_INTERVAL_US (100 * 1000)
/* Bytes. More than libcurl hands over between two calls of on_progress(): 100 times 16 KiB. */
#define FILE_SLACK (16u << 20)

typedef struct
{
  __typeof__ (debuginfod_begin) *begin;
  __typeof__ (debuginfod_end) *end;
  __typeof__ (debuginfod_find_debuginfo) *find_debuginfo;
  __typeof__ (debuginfod_find_executable) *find_executable;
  __typeof__ (debuginfod_set_progressfn) *set_progressfn;
  __typeof__ (debuginfod_set_user_data) *set_user_data;
  __typeof__ (debuginfod_get_user_data) *get_user_data;
} Library;

/* One request. */
typedef struct
{
  int fd; /* the socket, borrowed */
  gint64 deadline_us, reported_us;
  guint64 max_size; /* bytes */
  int error;        /* errno if it was given up, otherwise 0 */
} Job;

/* Loads the library for good. FALSE if it is not installed or lacks a function. */
static gboolean
load (Library *self)
{
  const LuLibraryFunction functions[] = {
    { "debuginfod_begin", &self->begin },
    { "debuginfod_end", &self->end },
    { "debuginfod_find_debuginfo", &self->find_debuginfo },
    { "debuginfod_find_executable", &self->find_executable },
    { "debuginfod_set_progressfn", &self->set_progressfn },
    { "debuginfod_set_user_data", &self->set_user_data },
    { "debuginfod_get_user_data", &self->get_user_data },
  };

  return lu_library_load (LIBRARY, functions, G_N_ELEMENTS (functions));
}

static void
reply (int socket_fd, const LuFetchReply *text, int fd)
{
  if (!lu_fetch_send_reply (socket_fd, text, fd))
    g_debug ("nobody waits for the file: %s", g_strerror (errno));
}

/* Returns the errno for which the request should be given up, or 0. */
static int
reason_to_end (const Job *job, long done, long total, gint64 now)
{
  struct pollfd other_side = { .fd = job->fd, .events = POLLIN };

  if ((guint64) MAX (MAX (done, total), 0) > job->max_size)
    return EFBIG;
  if (now >= job->deadline_us)
    return ETIMEDOUT;
  return poll (&other_side, 1, 0) > 0 ? ECANCELED : 0;
}

static int
watch (Job *job, long done, long total)
{
  gint64 now = g_get_monotonic_time ();
  LuFetchReply text = { .code = LU_FETCH_GOES_ON };

  job->error = reason_to_end (job, done, total, now);
  if (job->error != 0)
    return 1;
  if (now - job->reported_us < REPORT_INTERVAL_US)
    return 0;
  job->reported_us = now;
  if (total > 0)
    {
      text.done = (guint64) MAX (done, 0);
      text.total = (guint64) total;
    }
  reply (job->fd, &text, -1);
  return 0;
}

/* on_progress() gets only the client, so the table of functions is kept here. */
static const Library *loaded;

/* The library calls this at least once a second. Until a server begins to send, total is 0 and done
 * is a small number, not one of bytes. Total stays 0 if the server does not tell the size. */
static int
on_progress (debuginfod_client *client, long done, long total)
{
  return watch (loaded->get_user_data (client), done, total);
}

/* Returns the cache directory of the library, as debuginfod-client-config(7) defines it. */
static char *
cache_directory (void)
{
  const char *given = g_getenv ("DEBUGINFOD_CACHE_PATH"), *home = g_getenv ("HOME");
  g_autofree char *old = g_build_filename (home != NULL ? home : "/", OLD_CACHE, NULL);

  if (given != NULL)
    return g_strdup (given);
  return g_file_test (old, G_FILE_TEST_EXISTS)
             ? g_steal_pointer (&old)
             : g_build_filename (g_get_user_cache_dir (), CACHE, NULL);
}

/* Deletes the empty file by which the library (0.188) remembers for ten minutes that no server has
 * a file. It makes one for a request that was given up, too. */
static void
forget_miss (const LuFetchRequest *request)
{
  g_autofree char *directory = cache_directory ();
  g_autofree char *path =
      g_build_filename (directory, request->build_id,
                        request->kind == LU_FETCH_PROGRAM ? "executable" : "debuginfo", NULL);
  struct stat info;

  if (lstat (path, &info) == 0 && S_ISREG (info.st_mode) && info.st_size == 0)
    unlink (path);
}

static volatile sig_atomic_t file_is_full;

static void
on_full_file (int number)
{
  file_is_full = 1;
}

/* Whatever the library does and servers say, no file gets much larger than allowed. */
static void
limit_files (guint64 max_size)
{
  struct rlimit limit;

  file_is_full = 0;
  signal (SIGXFSZ, on_full_file);
  if (getrlimit (RLIMIT_FSIZE, &limit) != 0)
    return;
  limit.rlim_cur = MIN (limit.rlim_max, max_size + FILE_SLACK);
  setrlimit (RLIMIT_FSIZE, &limit);
}

static void
answer (const Library *library, debuginfod_client *client, int socket_fd,
        const LuFetchRequest *request)
{
  const guchar *build_id = (const guchar *) request->build_id;
  Job job = { .fd = socket_fd,
              .deadline_us = g_get_monotonic_time () + (gint64) request->time_ms * 1000,
              .max_size = request->max_size };
  LuFetchReply text = { 0 };
  int fd;

  limit_files (request->max_size);
  library->set_user_data (client, &job);
  /* A length of 0 means that the build-id is text. */
  fd = request->kind == LU_FETCH_PROGRAM ? library->find_executable (client, build_id, 0, NULL)
                                         : library->find_debuginfo (client, build_id, 0, NULL);
  if (file_is_full)
    job.error = EFBIG;
  if (fd < 0)
    text.code = job.error != 0 ? job.error : -fd;
  if (fd < 0 && job.error != 0)
    forget_miss (request);
  reply (socket_fd, &text, fd);
  if (fd >= 0)
    close (fd);
}

gboolean
lu_fetch_is_built_in (void)
{
  return TRUE;
}

gboolean
lu_fetch_has_library (void)
{
  Library library;

  return load (&library);
}

/* Returns 0, or the code to answer with. */
static int
begin (Library *library, debuginfod_client **client)
{
  g_autofree char *directory = cache_directory ();

  if (g_mkdir_with_parents (directory, 0700) != 0 || access (directory, W_OK | X_OK) != 0)
    return LU_FETCH_NO_CACHE;
  *client = load (library) ? library->begin () : NULL;
  if (*client == NULL)
    return ELIBACC;
  loaded = library;
  library->set_progressfn (*client, on_progress);
  return 0;
}

void
lu_fetch_serve (int fd)
{
  Library library = { NULL };
  debuginfod_client *client = NULL;
  LuFetchRequest request;

  while (recv (fd, &request, sizeof request, 0) == sizeof request)
    {
      LuFetchReply failure = { .code = client == NULL ? begin (&library, &client) : 0 };

      request.build_id[LU_FETCH_MAX_ID] = 0;
      if (failure.code == 0)
        answer (&library, client, fd, &request);
      else
        reply (fd, &failure, -1);
    }
  if (client != NULL)
    library.end (client);
}
