/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* debuginfod.c - decides what is fetched, and for how long; see debuginfod.h.
 *
 * The fetching process gets a limit slightly shorter than the time it has, so that it usually ends
 * by itself and leaves its cache in order. If it does not, for example because a name server does
 * not answer, it is killed and nothing more is fetched. If no server sends anything for the first
 * request, there is no second one. */

#include "config.h"

#include "symbolize/debuginfod.h"

#include "base/fd.h"
#include "base/hex.h"
#include "symbolize/elf-file.h"
#include "symbolize/fetch.h"

#include <errno.h>
#include <glib/gi18n.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* The library checks the time once a second. */
#define GRACE_MS 1200
#define POLL_MS  100
/* How long the fetching process may take to end when it is no longer needed. */
#define PATIENCE_MS 1500
/* How long it may take to end when it is killed. */
#define KILL_MS 500
/* Files that the summary names. */
#define MAX_NAMED 3
/* Files that stay open to be read again. */
#define MAX_KEPT 32
#define MIN_ID   8

typedef enum
{
  RESULT_FETCHED,
  RESULT_NOT_FOUND,
  RESULT_TOO_LARGE,
  RESULT_TOO_SLOW,
  RESULT_NO_TIME,
  RESULT_NO_ANSWER,
  RESULT_WRONG_FILE,
  RESULT_STOPPED,
  RESULT_NO_CACHE,
  RESULT_FAILED,
} Result;

/* Reasons why a file was not fetched; reason_text() has the other reasons. */
static const char *const reasons[] = {
  [RESULT_NOT_FOUND] = N_ ("no server has it"),
  [RESULT_TOO_SLOW] = N_ ("too slow"),
  [RESULT_NO_TIME] = N_ ("no time left"),
  [RESULT_NO_ANSWER] = N_ ("no server answers"),
  [RESULT_WRONG_FILE] = N_ ("the server has another file"),
  [RESULT_STOPPED] = N_ ("stopped"),
  [RESULT_NO_CACHE] = N_ ("there is no directory to keep it in"),
};

/* A file that was to be fetched. */
typedef struct
{
  char *name;   /* owned */
  double share; /* percent of the samples with an unnamed address in it */
  Result result;
  LuNameFetched kept; /* owned */
} Download;

struct _LuDebuginfod
{
  int fd; /* socket of the fetching process; -1: nothing more is fetched */
  pid_t pid;
  LuDebuginfodLimits limits;
  LuDebuginfodProgress progress; /* NULL: none */
  gpointer progress_data;
  gboolean is_allowed;
  Result why_over; /* valid if fd is -1 */
  int error;       /* errno of the last RESULT_FAILED */
  gint64 spent_us;
  guint64 done, total; /* bytes of the current file */
  guint n_kept;
  gboolean had_answer;  /* a server has answered */
  GPtrArray *downloads; /* of Download, owned; most samples first */
  GHashTable *by_id;    /* build-id -> Download */
};

static void
download_free (gpointer pointer)
{
  Download *self = pointer;

  lu_fd_clear (&self->kept.program_fd);
  lu_fd_clear (&self->kept.debug_fd);
  g_free (self->name);
  g_free (self);
}

static gboolean
is_kept (const Download *self)
{
  return self->kept.program_fd >= 0 || self->kept.debug_fd >= 0;
}

LuDebuginfod *
lu_debuginfod_new (int fd, pid_t pid, const LuDebuginfodLimits *limits)
{
  LuDebuginfod *self = g_new0 (LuDebuginfod, 1);

  self->fd = fd;
  self->pid = pid;
  self->limits = *limits;
  self->downloads = g_ptr_array_new_with_free_func (download_free);
  self->by_id = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  return self;
}

/* Kills the process if it has not ended by itself in that time. It is not waited for any longer
 * than that takes: under sudo it is another user's, whom we may not be allowed to kill, and its
 * cache may be on a file system that does not answer. It ends with us. */
static void
end_process (LuDebuginfod *self, guint patience_ms)
{
  lu_fd_clear (&self->fd);
  if (self->pid <= 0)
    return;
  for (guint waited = 0; waited < patience_ms + KILL_MS && waitpid (self->pid, NULL, WNOHANG) == 0;
       waited++)
    {
      if (waited == patience_ms)
        kill (self->pid, SIGKILL);
      g_usleep (1000);
    }
  self->pid = 0;
}

void
lu_debuginfod_free (LuDebuginfod *self)
{
  if (self == NULL)
    return;
  end_process (self, PATIENCE_MS);
  g_hash_table_unref (self->by_id);
  g_ptr_array_unref (self->downloads);
  g_free (self);
}

void
lu_debuginfod_set_progress (LuDebuginfod *self, LuDebuginfodProgress progress, gpointer user_data)
{
  self->progress = progress;
  self->progress_data = user_data;
}

void
lu_debuginfod_allow (LuDebuginfod *self)
{
  self->is_allowed = TRUE;
}

/* One file */

static gboolean
goes_on (LuDebuginfod *self, const char *name)
{
  return self->progress == NULL
         || self->progress (name, self->done, self->total, self->progress_data);
}

/* Closes the socket, so that the process ends by itself. */
static Result
give_up (LuDebuginfod *self, Result why)
{
  lu_fd_clear (&self->fd);
  self->why_over = why;
  return why;
}

static Result
result_of (LuDebuginfod *self, int code)
{
  switch (code)
    {
    case 0:
      return RESULT_FETCHED;
    case ENOENT:
      return RESULT_NOT_FOUND;
    case LU_FETCH_NO_CACHE:
      return RESULT_NO_CACHE;
    case EFBIG:
      return RESULT_TOO_LARGE;
    case ETIME:
    case ETIMEDOUT:
      return self->had_answer ? RESULT_TOO_SLOW : give_up (self, RESULT_NO_ANSWER);
    case ECONNREFUSED:
    case EHOSTUNREACH:
    case ENETUNREACH:
      return RESULT_NO_ANSWER;
    default:
      self->error = code;
      return RESULT_FAILED;
    }
}

static gboolean
ask (LuDebuginfod *self, LuFetchKind kind, const char *build_id, guint time_ms)
{
  LuFetchRequest request = { .kind = kind, .max_size = self->limits.max_size };

  request.time_ms = time_ms - MIN (GRACE_MS, time_ms / 3);
  g_strlcpy (request.build_id, build_id, sizeof request.build_id);
  self->done = self->total = 0;
  return send (self->fd, &request, sizeof request, MSG_NOSIGNAL) == sizeof request;
}

static Result
wait_for (LuDebuginfod *self, const char *name, gint64 deadline_us, int *fd)
{
  struct pollfd event = { .fd = self->fd, .events = POLLIN };
  LuFetchReply text;

  for (;;)
    {
      gint64 left_ms = (deadline_us - g_get_monotonic_time () + 999) / 1000;

      if (left_ms <= 0)
        {
          end_process (self, 0);
          return give_up (self, self->had_answer ? RESULT_NO_TIME : RESULT_NO_ANSWER);
        }
      if (!goes_on (self, name))
        return give_up (self, RESULT_STOPPED);
      if (poll (&event, 1, (int) MIN (left_ms, POLL_MS)) <= 0)
        continue;
      if (!lu_fetch_receive_reply (self->fd, &text, fd))
        {
          self->error = EPIPE;
          return give_up (self, RESULT_FAILED);
        }
      if (text.code != LU_FETCH_GOES_ON)
        return result_of (self, text.code);
      self->done = text.done;
      self->total = text.total;
      self->had_answer |= text.total > 0;
      lu_fd_clear (fd);
    }
}

static Result
check (LuDebuginfod *self, int fd, const char *build_id)
{
  struct stat info;

  if (fd < 0 || fstat (fd, &info) != 0 || !S_ISREG (info.st_mode))
    return RESULT_WRONG_FILE;
  if ((guint64) info.st_size > self->limits.max_size)
    return RESULT_TOO_LARGE;
  return lu_elf_file_has_build_id (fd, build_id) ? RESULT_FETCHED : RESULT_WRONG_FILE;
}

/* Fetches one file. *fd is owned by the caller if the result is RESULT_FETCHED, otherwise -1. */
static Result
fetch_one (LuDebuginfod *self, LuFetchKind kind, const char *name, const char *build_id, int *fd)
{
  gint64 begin_us = g_get_monotonic_time ();
  gint64 left_us = (gint64) self->limits.total_ms * 1000 - self->spent_us;
  guint time_ms = (guint) (MIN (left_us, (gint64) self->limits.file_ms * 1000) / 1000);
  Result result;

  *fd = -1;
  if (self->fd < 0)
    return self->why_over;
  if (left_us <= 1000)
    return give_up (self, RESULT_NO_TIME);
  if (ask (self, kind, build_id, time_ms))
    result = wait_for (self, name, begin_us + (gint64) time_ms * 1000, fd);
  else
    {
      self->error = errno;
      result = give_up (self, RESULT_FAILED);
    }
  if (result == RESULT_FETCHED)
    result = check (self, *fd, build_id);
  if (result == RESULT_FETCHED || result == RESULT_NOT_FOUND || result == RESULT_TOO_LARGE)
    self->had_answer = TRUE;
  if (result != RESULT_FETCHED)
    lu_fd_clear (fd);
  self->spent_us += g_get_monotonic_time () - begin_us;
  return result;
}

/* All files */

static int
compare_files (gconstpointer a, gconstpointer b)
{
  const LuUnnamedFile *x = a, *y = b;

  if (x->n_samples != y->n_samples)
    return x->n_samples > y->n_samples ? -1 : 1;
  return strcmp (x->path, y->path);
}

/* Checks a text strictly, because it goes into paths and requests. */
static gboolean
is_build_id (const char *text)
{
  gsize length = text != NULL ? strlen (text) : 0;

  return length >= MIN_ID && length <= LU_FETCH_MAX_ID && length % 2 == 0
         && strspn (text, LU_HEX_DIGITS) == length;
}

/* Fetches the program if it is gone, and then the debug file if names are still missing. */
static Result
fetch_file (LuDebuginfod *self, const LuUnnamedFile *file, Download *download,
            LuDebuginfodFound found, gpointer user_data)
{
  LuNameFetched *fetched = &download->kept;
  Result result;

  if (file->is_gone)
    {
      result =
          fetch_one (self, LU_FETCH_PROGRAM, download->name, file->build_id, &fetched->program_fd);
      if (result != RESULT_FETCHED || !found (file->number, fetched, user_data))
        return result;
    }
  result =
      fetch_one (self, LU_FETCH_DEBUG_FILE, download->name, file->build_id, &fetched->debug_fd);
  if (result == RESULT_FETCHED)
    found (file->number, fetched, user_data);
  return result;
}

/* Serves a file that another output has asked for before: uses it again if it is still open, and
 * does not repeat a failed request. FALSE if the file has to be fetched. */
static gboolean
handle_again (Download *download, const LuUnnamedFile *file, LuDebuginfodFound found,
              gpointer user_data)
{
  if (download == NULL || (download->result == RESULT_FETCHED && !is_kept (download)))
    return FALSE;
  if (is_kept (download))
    found (file->number, &download->kept, user_data);
  return TRUE;
}

static void
handle_file (LuDebuginfod *self, const LuUnnamedFile *file, guint64 n_samples,
             LuDebuginfodFound found, gpointer user_data)
{
  Download *download = g_hash_table_lookup (self->by_id, file->build_id);

  if (handle_again (download, file, found, user_data))
    return;
  if (download == NULL)
    {
      download = g_new0 (Download, 1);
      download->name = g_path_get_basename (file->path);
      download->kept = (LuNameFetched){ -1, -1 };
      g_ptr_array_add (self->downloads, download);
      g_hash_table_insert (self->by_id, g_strdup (file->build_id), download);
    }
  download->share = MIN (100.0, 100.0 * (double) file->n_samples / (double) n_samples);
  download->result = fetch_file (self, file, download, found, user_data);
  if (is_kept (download) && ++self->n_kept > MAX_KEPT)
    {
      lu_fd_clear (&download->kept.program_fd);
      lu_fd_clear (&download->kept.debug_fd);
    }
}

gboolean
lu_debuginfod_find (const LuDebuginfod *self, const char *build_id, LuNameFetched *fetched)
{
  const Download *download = build_id != NULL ? g_hash_table_lookup (self->by_id, build_id) : NULL;

  if (download == NULL || !is_kept (download))
    return FALSE;
  *fetched = download->kept;
  return TRUE;
}

void
lu_debuginfod_fetch (LuDebuginfod *self, GArray *files, guint64 n_samples, LuDebuginfodFound found,
                     gpointer user_data)
{
  if (!self->is_allowed || n_samples == 0)
    return;
  g_array_sort (files, compare_files);
  for (guint i = 0; i < files->len; i++)
    {
      const LuUnnamedFile *file = &g_array_index (files, LuUnnamedFile, i);

      if (is_build_id (file->build_id))
        handle_file (self, file, n_samples, found, user_data);
    }
  if (files->len > 0 && self->progress != NULL)
    self->progress (NULL, 0, 0, self->progress_data);
}

/* The summary */

static char *
reason_text (const LuDebuginfod *self, Result result)
{
  guint64 limit = self->limits.max_size;

  if (result == RESULT_FAILED)
    return g_strdup (g_strerror (self->error));
  if (result != RESULT_TOO_LARGE)
    return g_strdup (_ (reasons[result]));
  return limit >= 1 << 20 ? g_strdup_printf (_ ("larger than %u MiB"), (guint) (limit >> 20))
                          : g_strdup_printf (_ ("larger than %u KiB"), (guint) (limit >> 10));
}

/* "chromium (too slow; in up to 12.0 % of the samples), libfoo.so (…) and 3 others (…)" */
static char *
text_of_skipped (const LuDebuginfod *self)
{
  GString *text = g_string_new (NULL);
  guint n = 0;
  double rest = 0;

  for (guint i = 0; i < self->downloads->len; i++)
    {
      const Download *download = g_ptr_array_index (self->downloads, i);
      g_autofree char *reason = NULL;

      if (download->result == RESULT_FETCHED)
        continue;
      if (n++ >= MAX_NAMED)
        {
          rest = MIN (100.0, rest + download->share);
          continue;
        }
      reason = reason_text (self, download->result);
      g_string_append_printf (text, _ ("%s%s (%s; in up to %.1f %% of the samples)"),
                              n > 1 ? ", " : "", download->name, reason, download->share);
    }
  if (n > MAX_NAMED)
    g_string_append_printf (text,
                            ngettext (", and %u other (in up to %.1f %%)",
                                      ", and %u others (in up to %.1f %%)", n - MAX_NAMED),
                            n - MAX_NAMED, rest);
  return g_string_free (text, n == 0);
}

char *
lu_debuginfod_summary (const LuDebuginfod *self)
{
  g_autofree char *skipped = text_of_skipped (self);
  guint n_fetched = 0;

  for (guint i = 0; i < self->downloads->len; i++)
    n_fetched +=
        ((const Download *) g_ptr_array_index (self->downloads, i))->result == RESULT_FETCHED;
  if (self->downloads->len == 0)
    return NULL;
  if (skipped == NULL)
    return g_strdup_printf (_ ("debuginfod: files fetched: %u, in %.1f s"), n_fetched,
                            (double) self->spent_us / 1e6);
  return g_strdup_printf (
      _ ("debuginfod: files fetched: %u, in %.1f s; functions without names stay in %s"), n_fetched,
      (double) self->spent_us / 1e6, skipped);
}
