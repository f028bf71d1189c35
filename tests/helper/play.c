/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* play.c - plays sysprofd and its client for any helper binary, and measures the result.
 *
 * play [OPTIONS] HELPER [WORD…] -- COMMAND…
 *
 * Opens the sampling events, starts the helper with the command line of sysprofd, runs COMMAND as
 * the workload, reads the capture pipe at the requested speed, stops like the client or in one of
 * the ways in which a client may end, and prints one line of JSON. No figure comes from the helper
 * itself: losses come from PERF_FORMAT_LOST, CPU time from the kernel, and the workload's processes
 * from our own records. Used by compare.py, weaknesses.py and storm.py. */

#include "events.h"
#include "helper.h"
#include "reader.h"
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define WATCH_US          20000
#define HELPER_TIMEOUT_MS 10000
#define STOP_VALUE        1234 /* what the client writes */

static struct
{
  int stack_size, frequency, copies, settle_ms, unread_ms, stall_ms, tail_ms, series;
  double seconds;
  gint64 scheduler;
  gboolean hardware, kallsyms, no_event_fd, no_tree, alone;
  char *output, *capture, *stop, *numbers;
} options = { .stack_size = 16384, .frequency = 1000, .copies = 1, .settle_ms = 300 };

static const GOptionEntry entries[] = {
  { "stack-size", 's', 0, G_OPTION_ARG_INT, &options.stack_size, "Bytes (16384)", "N" },
  { "frequency", 'F', 0, G_OPTION_ARG_INT, &options.frequency, "Of each CPU (1000)", "HZ" },
  { "hardware", 0, 0, G_OPTION_ARG_NONE, &options.hardware, "Cycles if there are any", NULL },
  { "copies", 0, 0, G_OPTION_ARG_INT, &options.copies, "Events on each CPU (1)", "N" },
  { "cpu-numbers", 0, 0, G_OPTION_ARG_STRING, &options.numbers, "What to call CPUs", "N,N…" },
  { "settle", 0, 0, G_OPTION_ARG_INT, &options.settle_ms,
    "Between start of the helper and the workload (300)", "MS" },
  { "unread", 0, 0, G_OPTION_ARG_INT, &options.unread_ms,
    "Read nothing in this time from the start on (0)", "MS" },
  { "stall", 0, 0, G_OPTION_ARG_INT, &options.stall_ms,
    "Read nothing in this time after the workload's start (0)", "MS" },
  { "pace", 0, 0, G_OPTION_ARG_INT64, &options.scheduler, "Reading, bytes per second (0: any)",
    "N" },
  { "tail", 0, 0, G_OPTION_ARG_INT, &options.tail_ms, "Go on after the workload (0)", "MS" },
  { "capture", 0, 0, G_OPTION_ARG_STRING, &options.capture, "pipe, socket or file", "KIND" },
  { "stop", 0, 0, G_OPTION_ARG_STRING, &options.stop,
    "drain: event-fd, read to the end; client: event-fd, no more reading, close; running: the "
    "same, and the workload ends after it; blocked: event-fd, not read, not closed; killed: close "
    "everything; kill: SIGKILL, not read",
    "HOW" },
  { "kallsyms", 0, 0, G_OPTION_ARG_NONE, &options.kallsyms, "Hand over /proc/kallsyms", NULL },
  { "no-event-fd", 0, 0, G_OPTION_ARG_NONE, &options.no_event_fd, "Hand over none", NULL },
  { "seconds", 0, 0, G_OPTION_ARG_DOUBLE, &options.seconds, "End the workload after N", "N" },
  { "series", 0, 0, G_OPTION_ARG_INT, &options.series, "Memory and descriptors every N s", "N" },
  { "alone", 0, 0, G_OPTION_ARG_NONE, &options.alone,
    "Sample the workload alone, in a control group: for figures on a busy machine", NULL },
  { "no-tree", 0, 0, G_OPTION_ARG_NONE, &options.no_tree, "No list of processes", NULL },
  { "output", 'o', 0, G_OPTION_ARG_FILENAME, &options.output, "Where the capture goes", "FILE" },
  G_OPTION_ENTRY_NULL,
};

typedef struct
{
  char **helper_command;
  char **command;
  PlayEvents events;
  PlayTree *tree;
  PlayHelper helper;
  PlayReader *reader; /* NULL when the capture is a file */
  int event_fd, capture_fd, output_fd;
  pid_t workload;
  char *group; /* directory of the workload's control group; NULL: none */
  int group_fd;
  gboolean workload_ended;
  int workload_status;
  struct rusage workload_usage;
  gint64 started, ended; /* workload, us */
  double cpu_before;     /* of the helper, when the workload starts */
  double cpu_after;      /* of the helper, when the workload has ended */
  double stop_ms;
  gint64 next_in_series;
  GString *series; /* [s, RssAnon KiB, RSS KiB, descriptors] now */
} Play;

static double
usage_seconds (const struct rusage *usage)
{
  return (double) usage->ru_utime.tv_sec + (double) usage->ru_utime.tv_usec / 1e6
         + (double) usage->ru_stime.tv_sec + (double) usage->ru_stime.tv_usec / 1e6;
}

/* Creates the two ends of the capture. */
static void
open_capture (Play *self)
{
  int ends[2] = { -1, -1 };

  self->output_fd = open (options.output, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (self->output_fd < 0)
    g_error ("%s: %s", options.output, g_strerror (errno));
  if (g_str_equal (options.capture, "file"))
    {
      self->capture_fd = self->output_fd;
      return;
    }
  if (g_str_equal (options.capture, "socket")
          ? socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0
          : pipe2 (ends, O_CLOEXEC) != 0)
    g_error ("capture: %s", g_strerror (errno));
  self->reader = play_reader_new (ends[0], self->output_fd, (guint64) options.scheduler);
  self->capture_fd = ends[1];
}

static void
start_helper (Play *self)
{
  PlayHandover handover = {
    .stack_size = (guint32) options.stack_size,
    .events = &self->events,
    .event_fd = options.no_event_fd ? -1 : self->event_fd,
    .capture_fd = self->capture_fd,
    .kallsyms_fd = options.kallsyms ? open ("/proc/kallsyms", O_RDONLY | O_CLOEXEC) : -1,
  };

  play_helper_start (&self->helper, self->helper_command, &handover);
  if (handover.kallsyms_fd >= 0)
    close (handover.kallsyms_fd);
  /* The client keeps its copy of the writing end and never sees the helper's end. We do. */
  if (self->reader != NULL)
    close (self->capture_fd);
}

/* Adds a point to the series when it is time. */
static void
extend_series (Play *self, gint64 now)
{
  PlayPeaks *peaks = &self->helper.current;

  if (options.series <= 0 || now < self->next_in_series)
    return;
  self->next_in_series = now + options.series * G_USEC_PER_SEC;
  g_string_append_printf (self->series, "%s[%.1f,%u,%u,%u]", self->series->len > 0 ? "," : "",
                          (double) (now - self->started) / 1e6, peaks->rss_anon_kib, peaks->rss_kib,
                          peaks->descriptors);
}

/* Watches everything for a while; returns early when the workload has ended, if asked. */
static void
attend (Play *self, gint64 until_us, gboolean until_workload_ends)
{
  gint64 next = 0;

  while (g_get_monotonic_time () < until_us)
    {
      if (g_get_monotonic_time () >= next)
        {
          play_helper_watch (&self->helper);
          play_tree_read (self->tree);
          if (self->started > 0)
            extend_series (self, g_get_monotonic_time ());
          next = g_get_monotonic_time () + WATCH_US;
        }
      if (until_workload_ends
          && wait4 (self->workload, &self->workload_status, WNOHANG, &self->workload_usage) > 0)
        {
          self->workload_ended = TRUE;
          return;
        }
      g_usleep (2000);
    }
}

/* Creates a control group in the first mounted cgroup2 hierarchy. */
static void
make_group (Play *self)
{
  g_autofree char *mounts = NULL;
  g_auto (GStrv) lines = NULL;

  self->group_fd = -1;
  if (!options.alone || !g_file_get_contents ("/proc/mounts", &mounts, NULL, NULL))
    return;
  lines = g_strsplit (mounts, "\n", -1);
  for (guint i = 0; lines[i] != NULL && self->group == NULL; i++)
    {
      g_auto (GStrv) words = g_strsplit (lines[i], " ", 4);

      if (g_strv_length (words) > 2 && g_str_equal (words[2], "cgroup2"))
        self->group = g_strdup_printf ("%s/play-%d", words[1], (int) getpid ());
    }
  if (self->group == NULL || mkdir (self->group, 0755) != 0)
    g_error ("no control group can be made: %s", g_strerror (errno));
  self->group_fd = open (self->group, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void
remove_group (Play *self)
{
  for (guint i = 0; self->group != NULL && rmdir (self->group) != 0 && i < 100; i++)
    g_usleep (10000);
  g_free (self->group);
}

/* Runs in the child. */
static void
join_group (const Play *self)
{
  int fd = self->group_fd >= 0 ? openat (self->group_fd, "cgroup.procs", O_WRONLY) : -1;

  if (self->group_fd >= 0 && write (fd, "0", 1) != 1)
    _exit (126);
  if (fd >= 0)
    close (fd);
}

static void
start_workload (Play *self)
{
  self->started = g_get_monotonic_time ();
  self->workload = fork ();
  if (self->workload < 0)
    g_error ("fork: %s", g_strerror (errno));
  if (self->workload == 0)
    {
      prctl (PR_SET_PDEATHSIG, SIGKILL);
      setpgid (0, 0);
      join_group (self);
      execvp (self->command[0], self->command);
      fprintf (stderr, "play: %s: %s\n", self->command[0], g_strerror (errno));
      _exit (127);
    }
  setpgid (self->workload, self->workload);
}

static void
end_workload (Play *self)
{
  if (self->workload_ended)
    return;
  kill (-self->workload, SIGKILL);
  wait4 (self->workload, &self->workload_status, 0, &self->workload_usage);
  self->workload_ended = TRUE;
}

/* Attaches like a user who profiles a running program. */
static gboolean
stops_first (void)
{
  return g_str_equal (options.stop, "running");
}

static void
run_workload (Play *self)
{
  gint64 last = options.seconds > 0
                    ? g_get_monotonic_time () + (gint64) (options.seconds * G_USEC_PER_SEC)
                    : G_MAXINT64;

  self->cpu_before = play_helper_get_cpu (&self->helper);
  start_workload (self);
  if (options.stall_ms > 0 && self->reader != NULL)
    {
      play_reader_pause (self->reader);
      attend (self, MIN (last, self->started + options.stall_ms * 1000LL), TRUE);
      if (!self->workload_ended)
        play_reader_resume (self->reader);
    }
  if (!self->workload_ended)
    attend (self, last, TRUE);
  if (!stops_first ())
    end_workload (self);
  self->ended = g_get_monotonic_time ();
  self->cpu_after = play_helper_get_cpu (&self->helper);
  if (options.tail_ms > 0)
    attend (self, self->ended + options.tail_ms * 1000LL, FALSE);
}

static void
write_stop (Play *self)
{
  guint64 value = STOP_VALUE;

  if (write (self->event_fd, &value, sizeof value) != sizeof value)
    g_error ("event-fd: %s", g_strerror (errno));
}

static void
stop (Play *self)
{
  gboolean is_client = g_str_equal (options.stop, "client") || stops_first ();
  gboolean is_killed = g_str_equal (options.stop, "killed");
  gboolean kills = g_str_equal (options.stop, "kill");
  gint64 began = g_get_monotonic_time ();

  play_helper_watch (&self->helper);
  if (self->reader != NULL && (is_client || kills || g_str_equal (options.stop, "blocked")))
    play_reader_pause (self->reader);
  else if (self->reader != NULL)
    play_reader_resume (self->reader);
  if (kills)
    kill (self->helper.pid, SIGKILL);
  else if (!is_killed)
    write_stop (self);
  if (!is_killed)
    play_events_disable (&self->events);
  if (self->reader != NULL && (is_client || is_killed))
    play_reader_close (self->reader);
  play_helper_wait (&self->helper, HELPER_TIMEOUT_MS);
  self->stop_ms = (double) (g_get_monotonic_time () - began) / 1000.0;
  play_events_disable (&self->events);
  play_tree_read (self->tree);
  if (self->reader != NULL)
    play_reader_finish (self->reader, g_str_equal (options.stop, "drain"));
}

static void
append_capture (Play *self, GString *json)
{
  const PlayReaderCounts *counts;
  g_autofree char *escaped = NULL;

  if (self->reader == NULL)
    return;
  counts = play_reader_get_counts (self->reader);
  g_string_append_printf (json,
                          "\"bytes\":%" G_GUINT64_FORMAT ",\"reads\":%" G_GUINT64_FORMAT
                          ",\"unknown_frames\":%" G_GUINT64_FORMAT ",\"samples\":%" G_GUINT64_FORMAT
                          ",\"fault\":",
                          counts->bytes, counts->reads, counts->unknown_frames, counts->frames[2]);
  if (counts->fault != NULL)
    g_string_append_printf (json, "\"%s at %" G_GINT64_FORMAT "\",", counts->fault,
                            counts->fault_at);
  else
    g_string_append (json, "null,");
  escaped = g_strescape (counts->last_log, NULL);
  g_string_append_printf (json, "\"last_log\":\"%s\",", escaped);
}

static void
append_helper (Play *self, GString *json)
{
  const PlayHelper *helper = &self->helper;

  g_string_append_printf (
      json,
      "\"exit\":%d,\"signal\":%d,\"killed\":%s,\"stop_ms\":%.1f,\"cpu\":%.6f,"
      "\"cpu_during\":%.6f,\"rss_anon_kib\":%u,\"rss_kib\":%u,\"fds\":%u,\"threads\":%u,"
      "\"pid\":%d,",
      WIFEXITED (helper->status) ? WEXITSTATUS (helper->status) : -1,
      WIFSIGNALED (helper->status) ? WTERMSIG (helper->status) : 0,
      helper->was_killed ? "true" : "false", self->stop_ms, helper->cpu_seconds,
      self->cpu_after > self->cpu_before ? self->cpu_after - self->cpu_before : 0.0,
      helper->peaks.rss_anon_kib, helper->peaks.rss_kib, helper->peaks.descriptors,
      helper->peaks.threads, (int) helper->pid);
}

static void
print_result (Play *self, double settle_cpu)
{
  g_autoptr (GString) json = g_string_new ("{");

  append_helper (self, json);
  append_capture (self, json);
  g_string_append_printf (
      json,
      "\"event\":\"%s\",\"events\":%u,\"period\":%" G_GUINT64_FORMAT ",\"lost\":%" G_GUINT64_FORMAT
      ",\"frequency\":%d,\"stack_size\":%d,\"start_cpu\":%.6f,"
      "\"workload\":{\"pid\":%d,\"status\":%d,\"cpu\":%.6f,\"wall\":%.6f,\"began\":"
      "%" G_GINT64_FORMAT ",\"ended\":%" G_GINT64_FORMAT "},\"tree_lost\":%" G_GUINT64_FORMAT
      ",\"tree\":[",
      self->events.name, self->events.events->len, self->events.period,
      play_events_get_lost (&self->events), options.frequency, options.stack_size, settle_cpu,
      (int) self->workload, self->workload_status, usage_seconds (&self->workload_usage),
      (double) (self->ended - self->started) / 1e6, self->started * 1000, self->ended * 1000,
      play_tree_get_lost (self->tree));
  if (!options.no_tree)
    play_tree_append (self->tree, self->workload, json);
  g_string_append_printf (json, "],\"series\":[%s]}", self->series->str);
  puts (json->str);
}

static void
play (Play *self)
{
  gint64 start = g_get_monotonic_time ();
  double settle_cpu;

  self->event_fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
  open_capture (self);
  start_helper (self);
  /* The client opens the events first, then its reader. */
  play_events_enable (&self->events);
  if (options.unread_ms == 0 && self->reader != NULL)
    play_reader_resume (self->reader);
  attend (self, start + options.settle_ms * 1000LL, FALSE);
  settle_cpu = play_helper_get_cpu (&self->helper);
  if (options.unread_ms > 0)
    options.stall_ms = MAX (options.stall_ms, options.unread_ms - options.settle_ms);
  run_workload (self);
  stop (self);
  end_workload (self);
  print_result (self, settle_cpu);
  g_clear_pointer (&self->reader, play_reader_free);
}

/* Splits "HELPER WORD… -- COMMAND…". */
static gboolean
take_commands (Play *self, char **argv)
{
  guint i = 0;

  self->helper_command = argv;
  while (argv[i] != NULL && !g_str_equal (argv[i], "--"))
    i++;
  if (i == 0 || argv[i] == NULL || argv[i + 1] == NULL)
    return FALSE;
  argv[i] = NULL;
  self->command = argv + i + 1;
  return TRUE;
}

static gboolean
parse (int *argc, char ***argv, GError **error)
{
  g_autoptr (GOptionContext) context = g_option_context_new ("HELPER [WORD…] -- COMMAND…");

  g_option_context_add_main_entries (context, entries, NULL);
  g_option_context_set_strict_posix (context, TRUE);
  if (!g_option_context_parse (context, argc, argv, error))
    return FALSE;
  if (options.output == NULL)
    options.output = g_strdup ("/dev/null");
  if (options.capture == NULL)
    options.capture = g_strdup ("pipe");
  if (options.stop == NULL)
    options.stop = g_strdup ("drain");
  return TRUE;
}

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
  g_auto (GStrv) numbers = NULL;
  PlayEventSettings settings;
  Play self = { 0 };

  if (!parse (&argc, &argv, &error) || !take_commands (&self, argv + 1))
    {
      fprintf (stderr, "play: %s\n", error != NULL ? error->message : "HELPER -- COMMAND needed");
      return 2;
    }
  if (options.numbers != NULL)
    numbers = g_strsplit (options.numbers, ",", -1);
  make_group (&self);
  settings = (PlayEventSettings){
    .stack_size = (guint32) options.stack_size,
    .frequency = (guint) options.frequency,
    .hardware = options.hardware,
    .copies = (guint) options.copies,
    .group_fd = self.group_fd,
    .numbers = (const char *const *) numbers,
  };
  self.series = g_string_new (NULL);
  self.tree = play_tree_new ();
  if (self.tree == NULL || !play_events_open (&self.events, &settings, &error))
    {
      remove_group (&self);
      printf ("SKIP %s\n", error != NULL ? error->message : g_strerror (errno));
      return 77;
    }
  play (&self);
  play_tree_free (self.tree);
  play_events_close (&self.events);
  remove_group (&self);
  g_string_free (self.series, TRUE);
  return 0;
}
