/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* top.c - runs the recorder as a process of its own and shows its capture; see top.h.
 *
 * The recorder is a process group of its own while there is a screen, so that keys and the terminal
 * end only this process, which passes signals on. */

#include "config.h"

#include "top.h"

#include "base/error.h"
#include "base/fd.h"
#include "base/printable.h"
#include "base/signals.h"
#include "capture/output-file.h"
#include "export/outputs.h"
#include "sandbox/sandbox.h"
#include "screen.h"
#include "session/command.h"
#include "session/session.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define READ_SIZE (64u << 10)
/* Reads at most this many pieces before keys and signals are looked at. */
#define MAX_READS 64
/* A pipe holds what comes while a key is handled. */
#define PIPE_SIZE (1 << 20)
/* Bytes of COMMAND's output that are kept: the last ones. */
#define MAX_KEPT   (64u << 10)
#define BATCH_ROWS 25
/* The longest time for which the stream is kept as it is. */
#define TAKE_INTERVAL_US 1000000
/* The time between tables while nothing was sampled, in µs. */
#define FIRST_INTERVAL_US 200000
#define CONTROL(c)        ((c) &0x1f)

typedef struct
{
  const LuOptions *recording;
  const LuTopOptions *options;
  gboolean has_screen;
  pid_t recorder; /* 0: it has ended */
  int status;     /* of its end */
  int stream_fd;  /* its capture; -1: that has ended */
  int kept_fd;    /* what would have gone to the terminal; -1: none */
  GString *kept;
  LuSignals signals;
  int signal_number; /* that ended us; 0: none */
  LuTopWindow *window;
  LuTopNames *names;
  LuTopTable *table;
  LuTopQuery query;
  GString *typed; /* a filter while it is typed; NULL: none is */
  char *message;  /* NULL: none */
  char *title;
  guint chosen;      /* row */
  guint64 chosen_id; /* 0: always the first row */
  guint n_printed;
  gint64 next_us; /* when the next table is due */
  gint64 take_us; /* when the stream is taken at the latest */
  gboolean is_paused, is_over;
  gboolean was_told;       /* by the terminal: the recorder knows the signal */
  gboolean was_ended_here; /* the recorder */
  GError *error;
} Top;

/* The recorder */

static void
redirect (int fd, int to)
{
  if (fd >= 0)
    dup2 (fd, to);
}

static void
run_recorder (const Top *self, int stream_fd, int kept_fd)
{
  LuOptions options = *self->recording;
  LuSignals signals = self->signals;
  lu_autofd nothing = open ("/dev/null", O_RDONLY | O_CLOEXEC);

  lu_signals_restore (&signals);
  prctl (PR_SET_PDEATHSIG, SIGTERM);
  if (self->has_screen)
    {
      setpgid (0, 0);
      redirect (nothing, STDIN_FILENO);
    }
  if (self->has_screen && isatty (STDERR_FILENO))
    redirect (kept_fd, STDERR_FILENO);
  /* Standard output is for tables. */
  redirect (self->has_screen ? kept_fd : STDERR_FILENO, STDOUT_FILENO);
  options.stream_fd = stream_fd;
  options.no_counters = TRUE;
  options.quiet = TRUE;
  options.stats = LU_STATS_NONE;
  options.no_symbols = TRUE;
  options.debuginfod = LU_FETCHER_NO;
  _exit (lu_session_run (&options));
}

static gboolean
start_recorder (Top *self, GError **error)
{
  int stream[2] = { -1, -1 }, kept[2] = { -1, -1 };

  if (pipe2 (stream, O_CLOEXEC) == 0 && pipe2 (kept, O_CLOEXEC) == 0)
    self->recorder = fork ();
  if (self->recorder == 0 && kept[0] >= 0)
    {
      close (stream[0]);
      close (kept[0]);
      run_recorder (self, stream[1], kept[1]);
    }
  if (self->recorder <= 0)
    {
      self->recorder = 0;
      g_set_error (error, LU_ERROR, LU_ERROR_FAILED, "fork: %s", g_strerror (errno));
      return FALSE;
    }
  close (stream[1]);
  close (kept[1]);
  fcntl (stream[0], F_SETPIPE_SZ, PIPE_SIZE); /* fails where users may not; then it is smaller */
  fcntl (stream[0], F_SETFL, O_NONBLOCK);
  fcntl (kept[0], F_SETFL, O_NONBLOCK);
  self->stream_fd = stream[0];
  self->kept_fd = kept[0];
  return TRUE;
}

static void
reap (Top *self)
{
  if (self->recorder != 0 && waitpid (self->recorder, &self->status, WNOHANG) == self->recorder)
    self->recorder = 0;
}

/* Reads a piece; closes the descriptor at its end. Returns 0 if there is nothing now. */
static gsize
read_piece (int *fd, char buffer[READ_SIZE])
{
  gssize n = *fd >= 0 ? read (*fd, buffer, READ_SIZE) : -1;

  if (n == 0)
    lu_fd_clear (fd);
  return n > 0 ? (gsize) n : 0;
}

static void
read_kept (Top *self)
{
  char buffer[READ_SIZE];
  gsize n;

  for (guint i = 0; i < MAX_READS && (n = read_piece (&self->kept_fd, buffer)) > 0; i++)
    g_string_append_len (self->kept, buffer, (gssize) n);
  if (self->kept->len > MAX_KEPT)
    g_string_erase (self->kept, 0, (gssize) (self->kept->len - MAX_KEPT));
}

static void
read_stream (Top *self)
{
  char buffer[READ_SIZE];
  gsize n;

  for (guint i = 0; i < MAX_READS && (n = read_piece (&self->stream_fd, buffer)) > 0; i++)
    lu_top_window_feed (self->window, buffer, n);
}

/* A LuNamerProgress: the recorder never waits while files are read. */
static gboolean
go_on (guint done, guint total, gpointer user_data)
{
  read_stream (user_data);
  read_kept (user_data);
  return TRUE;
}

static void
read_signals (Top *self)
{
  struct signalfd_siginfo info;

  while (lu_signals_read (&self->signals, &info))
    if (info.ssi_signo == SIGCHLD)
      reap (self);
    else
      {
        self->signal_number = (int) info.ssi_signo;
        self->was_told = !self->has_screen && info.ssi_code == SI_KERNEL;
        self->is_over = TRUE;
      }
}

/* Tables */

/* Finds the row that was chosen again. */
static void
find_chosen (Top *self)
{
  const GArray *rows = self->table->rows;

  for (guint i = 0; i < rows->len && self->chosen_id != 0; i++)
    if (g_array_index (rows, LuTopRow, i).id == self->chosen_id)
      {
        self->chosen = i;
        return;
      }
  self->chosen = self->chosen_id == 0 ? 0 : MIN (self->chosen, MAX (rows->len, 1) - 1);
}

static const LuTopRow *
chosen_row (const Top *self)
{
  return self->chosen < self->table->rows->len
             ? &g_array_index (self->table->rows, LuTopRow, self->chosen)
             : NULL;
}

static void
add_up (Top *self)
{
  g_clear_pointer (&self->table, lu_top_table_free);
  self->table = lu_top_table_new (self->window, self->names, &self->query);
  find_chosen (self);
}

/* Returns the last line that the recorder or COMMAND wrote, or NULL; owned by the caller. */
static char *
last_kept_line (const Top *self)
{
  g_autofree char *text = g_strchomp (g_strdup (self->kept->str));
  const char *newline = strrchr (text, '\n');

  return text[0] != 0 ? g_strdup (newline != NULL ? newline + 1 : text) : NULL;
}

static void
draw (Top *self)
{
  g_autofree char *typed =
      self->typed != NULL ? g_strdup_printf (_ ("Filter: %s_"), self->typed->str) : NULL;
  g_autofree char *waiting = self->table->n_samples == 0 ? last_kept_line (self) : NULL;
  const LuPicture picture = { .title = self->title,
                              .table = self->table,
                              .query = &self->query,
                              .chosen = self->chosen,
                              .is_paused = self->is_paused,
                              .message = typed != NULL           ? typed
                                         : self->message != NULL ? self->message
                                         : self->stream_fd < 0
                                             ? _ ("The recording has ended; q leaves")
                                             : waiting };

  lu_screen_draw (&picture);
}

static void
print (Top *self)
{
  g_autofree char *caption = lu_top_caption (self->table, &self->query);
  g_autofree char *heading = lu_top_heading (&self->query);

  printf ("%s%s\n%s\n", self->n_printed++ > 0 ? "\n" : "", caption, heading);
  for (guint i = 0; i < MIN (self->table->rows->len, BATCH_ROWS); i++)
    {
      g_autofree char *line =
          lu_top_line (self->table, &g_array_index (self->table->rows, LuTopRow, i));
      g_autofree char *printable = lu_printable (line, 0);

      printf ("%s\n", printable);
    }
  fflush (stdout);
}

static void
show (Top *self)
{
  add_up (self);
  if (self->has_screen)
    {
      const LuTopRow *row = chosen_row (self);

      if (self->query.has_callers && row != NULL && row->id != self->query.function)
        {
          self->query.function = (guint32) row->id;
          add_up (self);
        }
      draw (self);
      return;
    }
  print (self);
  self->is_over |= self->n_printed == self->options->n_tables;
}

/* Whether there is something new to show. In a file, tables begin when the recording has. */
static gboolean
has_news (const Top *self, gboolean had_begun)
{
  if (self->has_screen)
    return self->table == NULL || !self->is_paused;
  return had_begun || (self->stream_fd < 0 && lu_top_window_has_begun (self->window));
}

/* Takes what came. Nothing leaves the window of a recording that has ended. */
static void
take (Top *self)
{
  gint64 now = g_get_monotonic_time ();

  self->take_us = now + TAKE_INTERVAL_US;
  self->is_over |= !lu_top_window_update (
      self->window, self->stream_fd >= 0 ? (guint64) now * 1000 : 0, self->is_paused, &self->error);
}

/* A table is due. */
static void
tick (Top *self)
{
  gboolean has_ended = self->stream_fd < 0, had_begun = lu_top_window_has_begun (self->window);
  gint64 now = g_get_monotonic_time ();
  gboolean is_empty;

  take (self);
  if (self->error == NULL && has_news (self, had_begun))
    show (self);
  reap (self);
  is_empty = self->has_screen && self->table != NULL && self->table->n_samples == 0;
  self->next_us =
      now + (is_empty ? FIRST_INTERVAL_US : (gint64) (self->options->interval * G_USEC_PER_SEC));
  self->is_over |= has_ended && (!self->has_screen || is_empty);
}

/* Keys */

static void
say (Top *self, char *message_taken)
{
  g_free (self->message);
  self->message = message_taken;
}

static void
write_capture (Top *self)
{
  g_autofree char *path = lu_outputs_name_at ("top.syscap", g_get_real_time (), 1);
  g_autoptr (GError) error = NULL;
  int fd = lu_output_open (path, FALSE, &error);

  if (fd >= 0 && lu_top_window_write (self->window, fd, go_on, self, &error))
    say (self, g_strdup_printf (_ ("The last %.1f s are in %s"),
                                lu_top_window_seconds (self->window), path));
  else
    say (self, g_strdup (error->message));
}

static void
move_by (Top *self, gint64 n)
{
  gint64 last = (gint64) self->table->rows->len - 1;

  self->chosen = (guint) CLAMP ((gint64) self->chosen + n, 0, MAX (last, 0));
  self->chosen_id = self->chosen > 0 && chosen_row (self) != NULL ? chosen_row (self)->id : 0;
}

static void
set_view (Top *self, LuTopView view)
{
  self->query.view = view;
  self->query.has_callers = FALSE;
  self->chosen_id = 0;
}

/* Shows the callers of a function, or the functions of a process or a thread. */
static void
look_into (Top *self)
{
  const LuTopRow *row = chosen_row (self);

  if (row == NULL)
    return;
  if (self->query.view == LU_TOP_FUNCTIONS)
    {
      self->query.has_callers = !self->query.has_callers;
      self->query.function = (guint32) row->id;
      self->chosen_id = row->id;
      return;
    }
  self->query.pid = (gint32) (row->id >> 32);
  self->query.tid = (gint32) (guint32) row->id;
  g_clear_pointer (&self->query.filter, g_free);
  set_view (self, LU_TOP_FUNCTIONS);
}

static void
go_back (Top *self)
{
  if (self->query.has_callers)
    self->query.has_callers = FALSE;
  else if (self->query.filter != NULL)
    g_clear_pointer (&self->query.filter, g_free);
  else
    self->query.pid = self->query.tid = 0;
}

static void
type (Top *self, guint32 key)
{
  GString *typed = self->typed;

  if (key == LU_KEY_BACK && typed->len > 0)
    g_string_truncate (typed, (gsize) (g_utf8_prev_char (typed->str + typed->len) - typed->str));
  else if (key < LU_KEY_NONE && g_unichar_isprint (key))
    g_string_append_unichar (typed, key);
  else if (key == LU_KEY_ENTER || key == LU_KEY_BACK || key == CONTROL ('c'))
    self->typed = NULL;
  g_free (self->query.filter);
  self->query.filter = typed->len > 0 ? g_strdup (typed->str) : NULL;
  if (self->typed == NULL)
    g_string_free (typed, TRUE);
}

static void
move (Top *self, guint32 key)
{
  gint64 page = lu_screen_n_rows (&self->query);
  const struct
  {
    guint32 key, other;
    gint64 n;
  } moves[] = { { LU_KEY_UP, 'k', -1 },           { LU_KEY_DOWN, 'j', 1 },
                { LU_KEY_PAGE_UP, 'K', -page },   { LU_KEY_PAGE_DOWN, 'J', page },
                { LU_KEY_FIRST, 'g', -G_MAXINT }, { LU_KEY_LAST, 'G', G_MAXINT } };

  for (guint i = 0; i < G_N_ELEMENTS (moves); i++)
    if (moves[i].key == key || moves[i].other == key)
      move_by (self, moves[i].n);
}

static void
handle_key (Top *self, guint32 key)
{
  say (self, NULL);
  if (self->typed != NULL)
    type (self, key);
  else if (key == 'q' || key == CONTROL ('c') || key == CONTROL ('\\'))
    self->is_over = TRUE;
  else if (key == CONTROL ('z'))
    lu_screen_suspend ();
  else if (key == 'f' || key == 'p' || key == 't')
    set_view (self, key == 'f' ? LU_TOP_FUNCTIONS : key == 'p' ? LU_TOP_PROCESSES : LU_TOP_THREADS);
  else if (key == 's')
    self->query.by_total = !self->query.by_total;
  else if (key == '/')
    self->typed = g_string_new (self->query.filter);
  else if (key == ' ')
    self->is_paused = !self->is_paused;
  else if (key == 'w')
    write_capture (self);
  else if (key == LU_KEY_ENTER)
    look_into (self);
  else if (key == LU_KEY_BACK)
    go_back (self);
  else
    move (self, key);
}

static void
read_keys (Top *self)
{
  gboolean has_key = FALSE;
  guint32 key;

  while (!self->is_over && (key = lu_screen_key ()) != LU_KEY_NONE)
    {
      handle_key (self, key);
      has_key = TRUE;
    }
  if (has_key && !self->is_over)
    show (self);
}

/* Life */

static int
timeout_ms (const Top *self)
{
  gint64 left_us = MIN (self->next_us, self->take_us) - g_get_monotonic_time ();

  return (int) CLAMP (left_us / 1000 + 1, 0, G_MAXINT);
}

static void
watch (Top *self)
{
  while (!self->is_over)
    {
      struct pollfd fds[] = { { .fd = self->signals.fd, .events = POLLIN },
                              { .fd = self->stream_fd, .events = POLLIN },
                              { .fd = self->kept_fd, .events = POLLIN },
                              { .fd = self->has_screen ? STDIN_FILENO : -1, .events = POLLIN } };
      gboolean had_stream = self->stream_fd >= 0;

      poll (fds, G_N_ELEMENTS (fds), timeout_ms (self));
      read_signals (self);
      read_stream (self);
      read_kept (self);
      if ((fds[3].revents & (POLLHUP | POLLERR)) != 0)
        self->is_over = TRUE;
      if (g_get_monotonic_time () >= self->next_us || (had_stream && self->stream_fd < 0))
        tick (self);
      else if (g_get_monotonic_time () >= self->take_us)
        take (self);
      if (self->has_screen && !self->is_over)
        read_keys (self);
    }
}

/* Ends the recorder, and COMMAND with it; waits for both, and passes on what they write. */
static void
end_recorder (Top *self)
{
  int number = self->signal_number != 0 ? self->signal_number : SIGINT;
  gboolean is_told = self->was_told || self->stream_fd < 0;

  self->was_told = FALSE;
  while (TRUE)
    {
      struct pollfd fds[] = { { .fd = self->signals.fd, .events = POLLIN },
                              { .fd = self->stream_fd, .events = POLLIN },
                              { .fd = self->kept_fd, .events = POLLIN } };

      read_kept (self);
      lu_fd_write_all (STDERR_FILENO, self->kept->str, self->kept->len);
      g_string_truncate (self->kept, 0);
      reap (self);
      if (self->recorder == 0)
        return;
      self->was_ended_here |= !is_told;
      if (!is_told)
        kill (self->recorder, number);
      is_told = TRUE;
      poll (fds, G_N_ELEMENTS (fds), -1);
      self->is_over = FALSE;
      read_signals (self);
      is_told = !self->is_over || self->was_told;
      number = self->signal_number;
      read_stream (self);
    }
}

/* Returns what is recorded, as text; owned by the caller. */
static char *
make_title (const LuOptions *recording)
{
  GString *title = g_string_new (NULL);

  if (recording->command != NULL)
    {
      g_string_free (title, TRUE);
      return g_strjoinv (" ", recording->command);
    }
  for (guint i = 0; recording->pids != NULL && i < recording->pids->len; i++)
    g_string_append_printf (title, "%s %d", i == 0 ? _ ("process") : ",",
                            g_array_index (recording->pids, pid_t, i));
  for (guint i = 0; recording->tids != NULL && i < recording->tids->len; i++)
    g_string_append_printf (title, "%s %d", i == 0 ? _ ("thread") : ",",
                            g_array_index (recording->tids, pid_t, i));
  for (guint i = 0; recording->names != NULL && recording->names[i] != NULL; i++)
    g_string_append_printf (title, "%s%s", i == 0 ? "" : ", ", recording->names[i]);
  if (title->len == 0)
    g_string_append (title, _ ("whole machine"));
  return g_string_free (title, FALSE);
}

static int
exit_code (const Top *self)
{
  if (self->error != NULL)
    fprintf (stderr, "live-unwinder: %s\n", self->error->message);
  if (self->error != NULL)
    return LU_EXIT_FAILED;
  if (self->signal_number != 0)
    return 128 + self->signal_number;
  /* A recording that was ended here is none that failed. */
  return !self->was_ended_here && WIFEXITED (self->status) ? WEXITSTATUS (self->status) : 0;
}

static void
clear (Top *self)
{
  lu_fd_clear (&self->stream_fd);
  lu_fd_clear (&self->kept_fd);
  lu_signals_restore (&self->signals);
  lu_top_window_free (self->window);
  lu_top_names_free (self->names);
  lu_top_table_free (self->table);
  g_free (self->query.filter);
  g_free (self->message);
  g_free (self->title);
  if (self->typed != NULL)
    g_string_free (self->typed, TRUE);
  g_string_free (self->kept, TRUE);
  g_clear_error (&self->error);
}

/* Does all that needs rights, and gives them up before the stream is read. */
static gboolean
begin (Top *self, GError **error)
{
  g_autoptr (GError) no_sandbox = NULL;

  if (self->has_screen && !lu_screen_open (error))
    return FALSE;
  if (!lu_signals_block (&self->signals, error) || !start_recorder (self, error))
    {
      if (self->has_screen)
        lu_screen_close ();
      return FALSE;
    }
  if (!lu_sandbox_restrict_viewer (&no_sandbox))
    g_string_append_printf (self->kept, "live-unwinder: %s\n", no_sandbox->message);
  return TRUE;
}

int
lu_top_run (const LuOptions *recording, const LuTopOptions *options)
{
  Top self = { .recording = recording,
               .options = options,
               .has_screen = !options->is_batch && isatty (STDIN_FILENO) && isatty (STDOUT_FILENO),
               .stream_fd = -1,
               .kept_fd = -1,
               .kept = g_string_new (NULL),
               .signals = { .fd = -1 },
               .title = make_title (recording) };
  int code;

  self.window = lu_top_window_new ((guint64) (options->window * 1e9),
                                   recording->include_self ? 0 : getpid ());
  self.names = lu_top_names_new (recording->full_names, go_on, &self);
  self.next_us = g_get_monotonic_time () + (gint64) (options->interval * G_USEC_PER_SEC);
  if (begin (&self, &self.error))
    {
      if (self.has_screen)
        tick (&self);
      watch (&self);
      if (self.has_screen)
        lu_screen_close ();
    }
  end_recorder (&self);
  code = exit_code (&self);
  clear (&self);
  return code;
}
