/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-debuginfod.c - the requests to the fetching process, their order and time limits, and the
 * report about them. The fetching process is a thread here with answers from a list. */

#include "symbolize/debuginfod.h"

#include "base/fd.h"
#include "symbolize/fetch.h"

#include "../../cases.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define OWN_ID "0001020304050607" /* build-id of the file in the corpus */

static const char *corpus;

/* One answer of the list; the last one is repeated. */
typedef struct
{
  int code;         /* LU_FETCH_GOES_ON: no answer */
  guint64 total;    /* progress before it; 0: none */
  gboolean no_file; /* although the code is 0 */
} Answer;

typedef struct
{
  int fds[2];
  const Answer *answers;
  GThread *thread;
  GString *asked; /* "debug ID " or "program ID " for each request */
  LuDebuginfod *debuginfod;
  GString *found;
  gboolean wants_debug_file;
} Fixture;

static gpointer
serve (gpointer data)
{
  Fixture *self = data;
  const Answer *answer = self->answers;
  LuFetchRequest request;

  for (; recv (self->fds[1], &request, sizeof request, 0) == sizeof request; answer++)
    {
      LuFetchReply progress = { LU_FETCH_GOES_ON, 1, answer->total };
      LuFetchReply last = { .code = answer->code };
      lu_autofd fd = -1;

      g_string_append_printf (self->asked, "%s %s ",
                              request.kind == LU_FETCH_PROGRAM ? "program" : "debug",
                              request.build_id);
      if (answer->total > 0)
        lu_fetch_send_reply (self->fds[1], &progress, -1);
      if (answer->code == 0 && !answer->no_file)
        fd = open (corpus, O_RDONLY | O_CLOEXEC);
      if (answer->code != LU_FETCH_GOES_ON)
        lu_fetch_send_reply (self->fds[1], &last, fd);
    }
  return NULL;
}

static void
start (Fixture *self, const Answer *answers)
{
  static const LuDebuginfodLimits limits = { .file_ms = 900,
                                             .total_ms = 1500,
                                             .max_size = 1 << 20 };

  *self = (Fixture){ .answers = answers, .asked = g_string_new (NULL) };
  self->found = g_string_new (NULL);
  g_assert_cmpint (socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, self->fds), ==, 0);
  self->thread = g_thread_new ("server", serve, self);
  self->debuginfod = lu_debuginfod_new (self->fds[0], 0, &limits);
  lu_debuginfod_allow (self->debuginfod);
}

static void
fixture_clear (Fixture *self)
{
  lu_debuginfod_free (self->debuginfod);
  g_thread_join (self->thread);
  close (self->fds[1]);
  g_string_free (self->asked, TRUE);
  g_string_free (self->found, TRUE);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Fixture, fixture_clear)

static gboolean
take (guint32 number, const LuNameFetched *fetched, gpointer user_data)
{
  Fixture *self = user_data;

  g_string_append_printf (self->found, "%u%s%s ", number, fetched->program_fd >= 0 ? "p" : "",
                          fetched->debug_fd >= 0 ? "d" : "");
  return self->wants_debug_file;
}

static void
fetch (Fixture *self, const LuUnnamedFile *files, guint n_files)
{
  g_autoptr (GArray) array = g_array_new (FALSE, FALSE, sizeof *files);

  g_array_append_vals (array, files, n_files);
  lu_debuginfod_fetch (self->debuginfod, array, 200, take, self);
}

static void
assert_summary (const Fixture *self, const char *pattern)
{
  g_autofree char *line = lu_debuginfod_summary (self->debuginfod);

  g_test_message ("%s", line != NULL ? line : "nothing");
  if (pattern == NULL)
    g_assert_null (line);
  else
    g_assert_true (g_regex_match_simple (pattern, line, 0, 0));
}

/* The request was sent before the answer came, so the thread's text is complete. */
static void
test_most_samples_first (void)
{
  static const Answer answers[] = { { 0 }, { ENOENT }, { ENOENT } };
  static const LuUnnamedFile files[] = { { "/lib/a", "cccccccccccccccc", FALSE, 10, 1 },
                                         { "/lib/b", "aaaaaaaaaaaaaaaa", FALSE, 50, 2 },
                                         { "/lib/c", OWN_ID, FALSE, 100, 3 } };
  g_auto (Fixture) self;

  start (&self, answers);
  fetch (&self, files, 3);
  g_assert_cmpstr (self.asked->str, ==,
                   "debug " OWN_ID " debug aaaaaaaaaaaaaaaa debug cccccccccccccccc ");
  g_assert_cmpstr (self.found->str, ==, "3d ");
  assert_summary (&self, "^debuginfod: files fetched: 1, in 0.. s; functions without names stay in "
                         "b \\(no server has it; in up to 25.0 % of the samples\\), a \\(.*\\)$");
}

/* A capture may contain anything instead of a build-id. */
static void
test_asks_for_build_ids_only (void)
{
  static const Answer answers[] = { { ENOENT } };
  g_autofree char *long_id = g_strnfill (LU_FETCH_MAX_ID + 2, 'a');
  const char *const ids[] = { NULL, "", "../../../etc", "AAAAAAAAAA", "abc", "aaaaaaaaa", long_id };
  g_auto (Fixture) self;

  start (&self, answers);
  for (guint i = 0; i < G_N_ELEMENTS (ids); i++)
    fetch (&self, &(LuUnnamedFile){ "/lib/a", ids[i], FALSE, 10, 1 }, 1);
  g_assert_cmpstr (self.asked->str, ==, "");
  assert_summary (&self, NULL);
}

static void
test_not_while_recording (void)
{
  static const LuDebuginfodLimits limits = { .file_ms = 900,
                                             .total_ms = 1500,
                                             .max_size = 1 << 20 };
  static const LuUnnamedFile file = { "/lib/a", OWN_ID, FALSE, 10, 1 };
  g_autoptr (GArray) files = g_array_new (FALSE, FALSE, sizeof file);
  LuDebuginfod *debuginfod;
  char bytes[sizeof (LuFetchRequest)];
  int fds[2];

  g_assert_cmpint (socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), ==, 0);
  debuginfod = lu_debuginfod_new (fds[0], 0, &limits);
  g_array_append_val (files, file);
  lu_debuginfod_fetch (debuginfod, files, 200, take, NULL);
  g_assert_null (lu_debuginfod_summary (debuginfod));
  g_assert_cmpint (recv (fds[1], bytes, sizeof bytes, MSG_DONTWAIT), ==, -1);
  g_assert_cmpint (errno, ==, EAGAIN);
  lu_debuginfod_free (debuginfod);
  close (fds[1]);
}

/* The report's text for each answer. */
static const struct
{
  const char *name;
  Answer answer;
  const char *summary;
} cases[] = {
  { "too-large", { EFBIG }, "larger than 1 MiB" },
  { "refused", { ECONNREFUSED }, "no server answers" },
  { "silent", { ETIMEDOUT }, "no server answers" },
  { "slow", { ETIMEDOUT, .total = 1000 }, "too slow" },
  { "no-cache", { LU_FETCH_NO_CACHE }, "there is no directory to keep it in" },
  { "other-error", { EIO }, "Input/output error" },
  { "wrong-file", { 0 }, "the server has another file" },
  { "no-file", { 0, .no_file = TRUE }, "the server has another file" },
};

static void
test_answer (gconstpointer data)
{
  guint i = GPOINTER_TO_UINT (data);
  g_auto (Fixture) self;

  start (&self, (Answer[]){ cases[i].answer, cases[i].answer });
  fetch (&self, &(LuUnnamedFile){ "/lib/a", "bbbbbbbbbbbbbbbb", FALSE, 200, 1 }, 1);
  g_assert_cmpstr (self.found->str, ==, "");
  assert_summary (&self, cases[i].summary);
}

/* No answer comes and the process does not end: the time limit is spent once. */
static void
test_hangs (void)
{
  static const Answer answers[] = { { LU_FETCH_GOES_ON } };
  static const LuUnnamedFile files[] = { { "/lib/a", OWN_ID, FALSE, 10, 1 },
                                         { "/lib/b", "aaaaaaaaaaaaaaaa", FALSE, 5, 2 } };
  gint64 begin = g_get_monotonic_time (), took;
  g_auto (Fixture) self;

  start (&self, answers);
  fetch (&self, files, 2);
  took = g_get_monotonic_time () - begin;
  g_assert_cmpint (took, >=, 290 * 1000);
  g_assert_cmpint (took, <, 2000 * 1000);
  g_assert_cmpstr (self.asked->str, ==, "debug " OWN_ID " ");
  assert_summary (&self, "a \\(no server answers; [^)]*\\), b \\(no server answers; ");
}

/* A process that does not end by itself is killed. */
static void
test_killed (void)
{
  static const LuDebuginfodLimits limits = { .file_ms = 200, .total_ms = 500, .max_size = 1 << 20 };
  static const LuUnnamedFile file = { "/lib/a", OWN_ID, FALSE, 10, 1 };
  g_autoptr (GArray) files = g_array_new (FALSE, FALSE, sizeof file);
  g_autoptr (LuDebuginfod) debuginfod = NULL;
  pid_t pid;
  int fds[2];

  g_assert_cmpint (socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), ==, 0);
  pid = fork ();
  if (pid == 0)
    {
      pause ();
      _exit (0);
    }
  g_assert_cmpint (pid, >, 0);
  debuginfod = lu_debuginfod_new (fds[0], pid, &limits);
  lu_debuginfod_allow (debuginfod);
  g_array_append_val (files, file);
  lu_debuginfod_fetch (debuginfod, files, 200, take, NULL);
  g_assert_cmpint (waitpid (pid, NULL, WNOHANG), ==, -1);
  g_assert_cmpint (errno, ==, ECHILD);
  close (fds[1]);
}

/* Returns FALSE if this thread never had the capability. */
static gboolean
set_kill_capability (gboolean has)
{
  struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
  struct __user_cap_data_struct set[_LINUX_CAPABILITY_U32S_3] = { 0 };

  if (syscall (SYS_capget, &header, set) != 0 || (set[0].permitted & 1u << CAP_KILL) == 0)
    return FALSE;
  set[0].effective = has ? set[0].effective | 1u << CAP_KILL : set[0].effective & ~(1u << CAP_KILL);
  return syscall (SYS_capset, &header, set) == 0;
}

/* Under sudo it is another user's, and the right to kill those is given up. It ends with us. */
static void
test_not_killed (void)
{
  static const LuDebuginfodLimits limits = { .file_ms = 200, .total_ms = 500, .max_size = 1 << 20 };
  gint64 begin = g_get_monotonic_time ();
  int fds[2];
  pid_t pid;

  if (!set_kill_capability (TRUE))
    {
      g_test_skip ("needs root");
      return;
    }
  g_assert_cmpint (socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), ==, 0);
  pid = fork ();
  if (pid == 0)
    {
      if (setresuid (65534, 65534, 65534) == 0 && prctl (PR_SET_PDEATHSIG, SIGKILL) == 0
          && write (fds[1], "", 1) == 1)
        pause ();
      _exit (0);
    }
  g_assert_cmpint (read (fds[0], &(char){ 0 }, 1), ==, 1);
  set_kill_capability (FALSE);
  lu_debuginfod_free (lu_debuginfod_new (fds[0], pid, &limits));
  g_assert_cmpint (g_get_monotonic_time () - begin, <, 10 * G_USEC_PER_SEC);
  set_kill_capability (TRUE);
  g_assert_cmpint (kill (pid, SIGKILL), ==, 0);
  g_assert_cmpint (waitpid (pid, NULL, 0), ==, pid);
  close (fds[1]);
}

static gboolean
stop (const char *name, guint64 done, guint64 total, gpointer user_data)
{
  guint *calls = user_data;

  return name == NULL || ++*calls < 2;
}

static void
test_stopped (void)
{
  static const Answer answers[] = { { LU_FETCH_GOES_ON, .total = 100 } };
  static const LuUnnamedFile files[] = { { "/lib/a", OWN_ID, FALSE, 10, 1 },
                                         { "/lib/b", "aaaaaaaaaaaaaaaa", FALSE, 5, 2 } };
  guint calls = 0;
  g_auto (Fixture) self;

  start (&self, answers);
  lu_debuginfod_set_progress (self.debuginfod, stop, &calls);
  fetch (&self, files, 2);
  g_assert_cmpuint (calls, ==, 2);
  assert_summary (&self, "a \\(stopped; [^)]*\\), b \\(stopped; ");
}

/* The program itself is fetched first, and its debug file if the program does not have all names.
 */
static void
test_program_that_is_gone (void)
{
  static const Answer answers[] = { { 0 }, { 0 } };
  static const LuUnnamedFile file = { "/bin/x", OWN_ID, TRUE, 10, 7 };

  for (guint wants = 0; wants < 2; wants++)
    {
      g_auto (Fixture) self;

      start (&self, answers);
      self.wants_debug_file = (gboolean) wants;
      fetch (&self, &file, 1);
      g_assert_cmpstr (self.asked->str, ==,
                       wants ? "program " OWN_ID " debug " OWN_ID " " : "program " OWN_ID " ");
      g_assert_cmpstr (self.found->str, ==, wants ? "7p 7pd " : "7p ");
      assert_summary (&self, "^debuginfod: files fetched: 1, in 0.. s$");
    }
}

/* Several outputs name the same files one after the other. */
static void
test_asked_again (void)
{
  static const Answer answers[] = { { 0 }, { ENOENT } };
  static const LuUnnamedFile files[] = { { "/lib/a", OWN_ID, FALSE, 10, 1 },
                                         { "/lib/b", "aaaaaaaaaaaaaaaa", FALSE, 5, 2 } };
  LuNameFetched fetched;
  g_auto (Fixture) self;

  start (&self, answers);
  fetch (&self, files, 2);
  fetch (&self, files, 2);
  g_assert_cmpstr (self.found->str, ==, "1d 1d ");
  g_assert_cmpstr (self.asked->str, ==, "debug " OWN_ID " debug aaaaaaaaaaaaaaaa ");
  g_assert_true (lu_debuginfod_find (self.debuginfod, OWN_ID, &fetched));
  g_assert_cmpint (fetched.debug_fd, >=, 0);
  g_assert_false (lu_debuginfod_find (self.debuginfod, "aaaaaaaaaaaaaaaa", &fetched));
  assert_summary (&self, "^debuginfod: files fetched: 1, in 0.. s; .* b \\(");
}

static void
test_many_are_summed_up (void)
{
  static const Answer answers[] = { { ENOENT }, { ENOENT }, { ENOENT }, { ENOENT }, { ENOENT } };
  static const char *const ids[] = { "aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb", "cccccccccccccccc",
                                     "dddddddddddddddd", "eeeeeeeeeeeeeeee" };
  LuUnnamedFile files[G_N_ELEMENTS (ids)];
  g_auto (Fixture) self;

  start (&self, answers);
  for (guint i = 0; i < G_N_ELEMENTS (ids); i++)
    files[i] = (LuUnnamedFile){ "/lib/x", ids[i], FALSE, 20 - i, i };
  fetch (&self, files, G_N_ELEMENTS (ids));
  assert_summary (&self, "x \\(.*x \\(.*x \\(.*, and 2 others \\(in up to 16.5 %\\)$");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_assert_cmpint (argc, ==, 2);
  corpus = argv[1];
  g_test_add_func ("/symbolize/debuginfod/most-samples-first", test_most_samples_first);
  g_test_add_func ("/symbolize/debuginfod/build-ids-only", test_asks_for_build_ids_only);
  g_test_add_func ("/symbolize/debuginfod/not-while-recording", test_not_while_recording);
  TEST_ADD_INDEXED_CASES ("/symbolize/debuginfod", cases, test_answer);
  g_test_add_func ("/symbolize/debuginfod/hangs", test_hangs);
  g_test_add_func ("/symbolize/debuginfod/killed", test_killed);
  g_test_add_func ("/symbolize/debuginfod/not-killed", test_not_killed);
  g_test_add_func ("/symbolize/debuginfod/stopped", test_stopped);
  g_test_add_func ("/symbolize/debuginfod/program-that-is-gone", test_program_that_is_gone);
  g_test_add_func ("/symbolize/debuginfod/asked-again", test_asked_again);
  g_test_add_func ("/symbolize/debuginfod/many", test_many_are_summed_up);
  return g_test_run ();
}
