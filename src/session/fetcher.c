/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* fetcher.c - the process that fetches debug files; see fetcher.h. */

#include "config.h"

#include "fetcher.h"

#include "base/caller.h"
#include "base/copy-file.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/printable.h"
#include "sandbox/sandbox.h"
#include "symbolize/fetch.h"
#include "symbolize/namer.h"

#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#define SERVERS_DIRECTORY "/etc/debuginfod"
#define MAX_SERVERS       65536
#define STATUS_DELAY_US   (500 * 1000)
/* The socket, in the process that fetches. */
#define SOCKET_FD 3

static const LuDebuginfodLimits limits[] = {
  [LU_FETCHER_AUTO] = { .file_ms = 5000, .total_ms = 10000, .max_size = 256u << 20 },
  [LU_FETCHER_YES] = { .file_ms = 60000, .total_ms = 300000, .max_size = 1024u << 20 },
};

gboolean
lu_fetcher_parse_mode (const char *text, LuFetcherMode *mode, GError **error)
{
  static const char *const names[] = { "auto", "no", "yes" };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    if (text == NULL || strcmp (text, names[i]) == 0)
      {
        *mode = (LuFetcherMode) i;
        return TRUE;
      }
  g_set_error (error, LU_ERROR, LU_ERROR_INVALID,
               _ ("--debuginfod: \"%s\" is not one of no, auto, yes"), text);
  return FALSE;
}

/* Servers */

static void
add_servers (GString *servers, const char *path)
{
  g_autofree char *text = lu_fd_read_file (path, MAX_SERVERS, NULL);
  g_auto (GStrv) words = NULL;

  if (text == NULL)
    return;
  words = g_strsplit_set (text, " \t\n", -1);
  for (guint i = 0; words[i] != NULL; i++)
    if (strstr (words[i], "://") != NULL && words[i][0] != '#')
      g_string_append_printf (servers, "%s%s", servers->len > 0 ? " " : "", words[i]);
}

/* Returns the servers of the distribution, which a login shell puts into the environment and sudo
 * removes; NULL: none. */
static char *
servers_of_system (void)
{
  g_autoptr (GDir) directory = g_dir_open (SERVERS_DIRECTORY, 0, NULL);
  g_autoptr (GString) servers = g_string_new (NULL);
  const char *name;

  while (directory != NULL && (name = g_dir_read_name (directory)) != NULL)
    if (g_str_has_suffix (name, ".urls"))
      {
        g_autofree char *path = g_build_filename (SERVERS_DIRECTORY, name, NULL);

        add_servers (servers, path);
      }
  return servers->len > 0 ? g_strdup (servers->str) : NULL;
}

static char *
find_servers (LuFetcherMode mode)
{
  const char *servers = g_getenv ("DEBUGINFOD_URLS");

  if (servers != NULL && servers[strspn (servers, " ")] != 0)
    return g_strdup (servers);
  return mode == LU_FETCHER_YES ? servers_of_system () : NULL;
}

/* The process */

gboolean
lu_fetcher_become_caller (void)
{
  uid_t uid;
  gid_t gid;
  const struct passwd *user;

  if (!lu_caller_of_sudo (&uid, &gid))
    return TRUE;
  user = getpwuid (uid);
  if (user != NULL)
    g_setenv ("HOME", user->pw_dir, TRUE);
  g_unsetenv ("XDG_CACHE_HOME");
  return setgroups (0, NULL) == 0 && setresgid (gid, gid, gid) == 0
         && setresuid (uid, uid, uid) == 0;
}

/* A build without a sandbox has said so elsewhere. */
static gboolean
drop_rights (void)
{
  g_autoptr (GError) error = NULL;

  return lu_fetcher_become_caller ()
         && (lu_sandbox_drop_capabilities (0, &error)
             || g_error_matches (error, LU_ERROR, LU_ERROR_UNSUPPORTED));
}

/* Closes every inherited descriptor; standard error stays open if the library's debug output was
 * requested. */
static gboolean
keep_only (int fd)
{
  int null_fd = open ("/dev/null", O_RDWR | O_CLOEXEC);
  gboolean is_verbose = g_getenv ("DEBUGINFOD_VERBOSE") != NULL;

  if (null_fd < 0 || dup2 (null_fd, STDIN_FILENO) < 0 || dup2 (null_fd, STDOUT_FILENO) < 0
      || (!is_verbose && dup2 (null_fd, STDERR_FILENO) < 0)
      || (fd != SOCKET_FD && dup2 (fd, SOCKET_FD) < 0))
    return FALSE;
  lu_fd_close_from (SOCKET_FD + 1);
  return TRUE;
}

/* Ignore Ctrl-C: this process ends with its parent. */
static gboolean
leave_signals (pid_t parent)
{
  static const int ignored[] = { SIGINT, SIGQUIT, SIGHUP, SIGPIPE, SIGTSTP };
  sigset_t none;

  for (guint i = 0; i < G_N_ELEMENTS (ignored); i++)
    signal (ignored[i], SIG_IGN);
  signal (SIGTERM, SIG_DFL);
  sigemptyset (&none);
  sigprocmask (SIG_SETMASK, &none, NULL);
  return prctl (PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 && getppid () == parent;
}

G_GNUC_NORETURN static void
run_process (int fd, const char *servers, guint64 max_size, pid_t parent)
{
  g_autofree char *text = g_strdup_printf ("%" PRIu64, max_size);

  if (!keep_only (fd) || !drop_rights () || !leave_signals (parent))
    _exit (1);
  prctl (PR_SET_NAME, "lu-fetch", 0, 0, 0);
  g_setenv ("DEBUGINFOD_URLS", servers, TRUE);
  /* servers receive it, too */
  g_setenv ("DEBUGINFOD_MAXSIZE", text, TRUE);
  g_unsetenv ("DEBUGINFOD_PROGRESS");
  lu_fetch_serve (SOCKET_FD);
  _exit (0);
}

/* The user may have set a lower limit. */
static guint64
limit_size (guint64 size)
{
  const char *text = g_getenv ("DEBUGINFOD_MAXSIZE");
  guint64 wanted;

  return text != NULL && g_ascii_string_to_unsigned (text, 10, 1, G_MAXUINT64, &wanted, NULL)
             ? MIN (size, wanted)
             : size;
}

static gboolean
start_process (LuFetcherMode mode, const char *servers, LuDebuginfod **debuginfod, GError **error)
{
  LuDebuginfodLimits own = limits[mode];
  pid_t self = getpid (), pid;
  int fds[2];

  if (socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0)
    {
      g_set_error (error, LU_ERROR, LU_ERROR_FAILED, "socketpair: %s", g_strerror (errno));
      return FALSE;
    }
  own.max_size = limit_size (own.max_size);
  pid = fork ();
  if (pid == 0)
    run_process (fds[1], servers, own.max_size, self);
  close (fds[1]);
  if (pid < 0)
    {
      close (fds[0]);
      g_set_error (error, LU_ERROR, LU_ERROR_FAILED, "fork: %s", g_strerror (errno));
      return FALSE;
    }
  *debuginfod = lu_debuginfod_new (fds[0], pid, &own);
  return TRUE;
}

static gboolean
is_built_in (GError **error)
{
  if (!lu_fetch_is_built_in ())
    g_set_error_literal (error, LU_ERROR, LU_ERROR_UNSUPPORTED,
                         _ ("--debuginfod: this program was built without libdebuginfod"));
  return lu_fetch_is_built_in ();
}

gboolean
lu_fetcher_is_ready (GError **error)
{
  g_autofree char *servers = find_servers (LU_FETCHER_AUTO);

  if (!is_built_in (error))
    return FALSE;
  if (servers == NULL)
    g_set_error_literal (error, LU_ERROR, LU_ERROR_INVALID, _ ("DEBUGINFOD_URLS names no server."));
  else if (!lu_fetch_has_library ())
    g_set_error_literal (error, LU_ERROR, LU_ERROR_UNSUPPORTED,
                         _ ("libdebuginfod is not installed."));
  else
    return TRUE;
  return FALSE;
}

gboolean
lu_fetcher_start (LuFetcherMode mode, LuDebuginfod **debuginfod, GError **error)
{
  g_autofree char *servers = NULL;

  *debuginfod = NULL;
  if (mode == LU_FETCHER_NO)
    return TRUE;
  if (!is_built_in (mode == LU_FETCHER_YES ? error : NULL))
    return mode == LU_FETCHER_AUTO;
  servers = find_servers (mode);
  if (servers != NULL)
    return start_process (mode, servers, debuginfod, error);
  if (mode == LU_FETCHER_AUTO)
    return TRUE;
  g_set_error_literal (error, LU_ERROR, LU_ERROR_INVALID,
                       _ ("--debuginfod: no server is known; name some in DEBUGINFOD_URLS"));
  return FALSE;
}

/* For people */

/* Static, because a process has one terminal and one Ctrl-C. */
static struct
{
  gint64 began_us; /* 0: nothing is fetched now */
  gboolean status_shown;
  struct sigaction usual; /* the action of Ctrl-C before */
} watching;
static volatile sig_atomic_t interrupted;

static void
on_interrupt (int number)
{
  interrupted = 1;
}

/* A second Ctrl-C ends the program. */
static void
begin_watching (void)
{
  struct sigaction action = { .sa_handler = on_interrupt, .sa_flags = (int) SA_RESETHAND };

  watching.began_us = g_get_monotonic_time ();
  sigaction (SIGINT, &action, &watching.usual);
}

static void
end_watching (void)
{
  if (watching.status_shown)
    fputs ("\r\033[K", stderr);
  watching.status_shown = FALSE;
  if (watching.began_us != 0)
    sigaction (SIGINT, &watching.usual, NULL);
  watching.began_us = 0;
}

static gboolean
watch (const char *name, guint64 done, guint64 total, gpointer user_data)
{
  if (name == NULL)
    {
      end_watching ();
      return TRUE;
    }
  if (watching.began_us == 0)
    begin_watching ();
  if (isatty (STDERR_FILENO) && g_get_monotonic_time () - watching.began_us > STATUS_DELAY_US)
    {
      lu_fetcher_print_progress (name, done, total);
      watching.status_shown = TRUE;
    }
  return !interrupted;
}

gboolean
lu_fetcher_start_for_reader (const char *mode_text, LuDebuginfod **debuginfod, GError **error)
{
  LuFetcherMode mode;

  *debuginfod = NULL;
  if (!lu_fetcher_parse_mode (mode_text, &mode, error)
      || !lu_fetcher_start (mode, debuginfod, error))
    return FALSE;
  if (*debuginfod != NULL)
    {
      lu_debuginfod_allow (*debuginfod);
      lu_debuginfod_set_progress (*debuginfod, watch, NULL);
    }
  return TRUE;
}

void
lu_fetcher_print_progress (const char *name, guint64 done, guint64 total)
{
  g_autofree char *printable = lu_printable (name, 40);

  fputs ("\r\033[K", stderr);
  if (total == 0)
    fprintf (stderr, _ ("Debug file of %s (Ctrl-C leaves out the rest)"), printable);
  else
    fprintf (stderr, _ ("Debug file of %s: %.1f of %.1f MB (Ctrl-C leaves out the rest)"),
             printable, (double) done / 1e6, (double) total / 1e6);
}

void
lu_fetcher_print_summary (const LuDebuginfod *debuginfod)
{
  g_autofree char *line = debuginfod != NULL ? lu_debuginfod_summary (debuginfod) : NULL;
  g_autofree char *printable = line != NULL ? lu_printable (line, 0) : NULL;
  guint n_given_up = lu_namer_n_given_up (), n_silent = lu_copy_n_silent ();

  if (printable != NULL)
    fprintf (stderr, "live-unwinder: %s\n", printable);
  if (n_given_up > 0)
    fprintf (stderr,
             ngettext ("live-unwinder: %u file has functions without names, because its symbols "
                       "are too large or take too long to read\n",
                       "live-unwinder: %u files have functions without names, because their "
                       "symbols are too large or take too long to read\n",
                       n_given_up),
             n_given_up);
  if (n_silent > 0)
    fprintf (stderr,
             ngettext ("live-unwinder: %u file system does not answer; its files were left out\n",
                       "live-unwinder: %u file systems do not answer; their files were left out\n",
                       n_silent),
             n_silent);
}
