/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* live.c [--only NAME] [--steps N] SOURCES DIRECTORY - whole stacks of generated code and of
 * assembly, against the truth. `live --pid PID [--steps N]` does the same with any process, by
 * hand.
 *
 * Each program runs freely until its code is generated. Then its busiest thread makes single steps,
 * in windows between which it runs freely again. No stack that an unwinder calls complete may
 * differ from the shadow stack (trial.h). SOURCES is tests/workloads, DIRECTORY is where programs
 * are built. LU_TRUTH_LONG=1 in the environment makes ten times as many steps. */

#include "follow.h"
#include "tracer.h"

#include <fcntl.h>
#include <gio/gio.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define SKIP         77
#define SHORT_STEPS  10000
#define LONG_STEPS   100000
#define WINDOW_STEPS 5000
/* A program may end before its steps are made; it is started so often. */
#define MAX_STARTS 3
/* The share of the steps at which some caller is known, at least. */
#define LEAST_KNOWN 0.1

typedef struct
{
  const char *name, *needs, *more; /* programs that must be there; NULL: no more */
  const char *make;                /* by a shell in DIRECTORY; K is SOURCES */
  const char *run;                 /* by a shell that is replaced */
} Program;

/* A picture whose parts move, and noise: 150 pictures of 320 x 180 in YUV. */
#define PICTURES                                                                                   \
  "[ -e video.yuv ] || python3 -c \"import random as r, sys; r.seed (4); n = r.randbytes (99999);" \
  " [sys.stdout.buffer.write ((bytes (range (200)) * 288)[i * 7:][:50000]"                         \
  " + n[i * 99:][:36400]) for i in range (150)]\" >video.yuv"

static const Program programs[] = {
  { "java-c1", "java", "javac", "[ -e Work.class ] || javac -d . $K/kinds/Work.java",
    "exec java -XX:TieredStopAtLevel=1 -cp . Work 1000" },
  { "java", "java", "javac", "[ -e Work.class ] || javac -d . $K/kinds/Work.java",
    "exec java -cp . Work 1000" },
  { "java-fp-c1", "java", "javac", "[ -e Work.class ] || javac -d . $K/kinds/Work.java",
    "exec java -XX:+PreserveFramePointer -XX:TieredStopAtLevel=1 -cp . Work 1000" },
  { "java-fp", "java", "javac", "[ -e Work.class ] || javac -d . $K/kinds/Work.java",
    "exec java -XX:+PreserveFramePointer -cp . Work 1000" },
  { "mono", "mono", "mcs", "[ -e work.exe ] || mcs -out:work.exe $K/kinds/work.cs",
    "exec mono work.exe 1000" },
  { "go", "go", NULL, "[ -e go-work ] || env GO111MODULE=off go build -o go-work $K/goroutines.go",
    "exec ./go-work 1000 garbage" },
  { "x265", "x265", "python3", PICTURES,
    "exec x265 --log-level none --preset slow --input-res 320x180 --fps 25 -o /dev/null "
    "video.yuv" },
  { "musl", "musl-gcc", NULL,
    "[ -e musl-work ] || sed 's/i < 100;/i < 1000000;/' $K/kinds/work.c | musl-gcc -O2 -x c - -o "
    "musl-work",
    "exec ./musl-work" },
  { "musl-bare", "musl-gcc", NULL,
    "[ -e musl-bare ] || sed 's/i < 100;/i < 1000000;/' $K/kinds/work.c | musl-gcc -O2 -static "
    "-fno-asynchronous-unwind-tables -x c - -o musl-bare",
    "exec ./musl-bare" },
  { "busybox", "busybox", NULL, "true",
    "exec busybox awk 'BEGIN { while (1) { s = s \"aab\" i++; if (length (s) > 500) s = \"\";"
    " gsub (/a+/, \"c\", s); n[i % 997]++ } }'" },
  { "node", "node", NULL, "true", "exec node $K/script.js 1000" },
};

typedef struct
{
  const char *only, *sources, *directory;
  guint n_steps;
  pid_t pid; /* --pid; 0: not asked for */
  Whole *whole;
  guint n_tests, n_failed;
} Run;

static void
result (Run *run, gboolean is_good, const char *name, const char *text)
{
  printf ("%sok %u - %s: %s\n", is_good ? "" : "not ", ++run->n_tests, name, text);
  fflush (stdout);
  run->n_failed += is_good ? 0 : 1;
}

static void
print_count (const TrialCount *count)
{
  printf ("# %lu steps, at %lu of them no caller is known; %lu new beginnings, %lu addresses "
          "pushed, %lu returns to elsewhere\n",
          count->n_steps, count->n_unknown, count->n_restarts, count->n_pushed, count->n_strange);
  for (Engine i = 0; i < N_ENGINES; i++)
    {
      const EngineCount *engine = &count->engines[i];

      printf ("# %s: %lu complete stacks compared, %lu frames, %lu left out; %lu incomplete; "
              "%lu wrong, %lu not proved, %lu open\n",
              engine_name (i), engine->n_judged, engine->n_frames, engine->n_local,
              engine->n_incomplete, engine->n_wrong, engine->n_unproved, engine->n_open);
    }
}

static void
judge (Run *run, const char *name, const TrialCount *count)
{
  guint64 n_wrong = 0, n_known = count->n_steps - count->n_unknown;
  g_autofree char *text = NULL;

  print_count (count);
  for (Engine i = 0; i < N_ENGINES; i++)
    n_wrong += count->engines[i].n_wrong;
  text = g_strdup_printf ("%lu complete stacks differ in %lu steps", n_wrong, count->n_steps);
  result (run, n_wrong == 0, name, text);
  result (run, (double) n_known >= LEAST_KNOWN * (double) count->n_steps, name,
          "enough steps with a known caller");
}

/* FALSE: the process has ended. */
static gboolean
trial (Run *run, const char *name, pid_t pid, GError **error)
{
  const FollowPlan plan = { .n_windows = MAX (run->n_steps / WINDOW_STEPS, 1),
                            .n_steps = MIN (run->n_steps, WINDOW_STEPS),
                            .warm_up_ms = run->pid != 0 ? 0 : 2000 };
  TrialCount count = { 0 };

  if (!follow (pid, &plan, run->whole, &count, error))
    return FALSE;
  judge (run, name, &count);
  return TRUE;
}

static pid_t
start (const Run *run, const char *command)
{
  pid_t pid = fork ();
  int null;

  if (pid != 0)
    return pid;
  prctl (PR_SET_PDEATHSIG, SIGKILL);
  null = open ("/dev/null", O_RDWR | O_CLOEXEC);
  dup2 (null, STDIN_FILENO);
  dup2 (null, STDOUT_FILENO);
  dup2 (null, STDERR_FILENO);
  g_setenv ("K", run->sources, TRUE);
  if (chdir (run->directory) == 0)
    execl ("/bin/sh", "sh", "-c", command, NULL);
  _exit (127);
}

static const char *
find_missing (const Program *program)
{
  g_autofree char *path = g_find_program_in_path (program->needs);
  g_autofree char *more = program->more != NULL ? g_find_program_in_path (program->more) : NULL;

  if (path == NULL)
    return program->needs;
  return program->more != NULL && more == NULL ? program->more : NULL;
}

static gboolean
run_once (Run *run, const Program *program)
{
  g_autoptr (GError) error = NULL;
  pid_t pid = start (run, program->run);
  gboolean is_done = pid > 0 && trial (run, program->name, pid, &error);
  int status = 0;

  if (pid > 0)
    {
      kill (pid, SIGKILL);
      waitpid (pid, &status, 0);
    }
  if (!is_done)
    printf ("# %s: %s, status %#x\n", program->name,
            error != NULL ? error->message : "it cannot be started", (guint) status);
  return is_done;
}

static void
run_program (Run *run, const Program *program)
{
  const char *missing = find_missing (program);
  int status = -1;
  pid_t pid;

  if (missing != NULL)
    {
      printf ("ok %u - %s # SKIP no %s\n", ++run->n_tests, program->name, missing);
      return;
    }
  pid = start (run, program->make);
  if (pid < 0 || waitpid (pid, &status, 0) != pid || status != 0)
    {
      result (run, FALSE, program->name, "cannot be made");
      return;
    }
  for (guint i = 0; i < MAX_STARTS; i++)
    if (run_once (run, program))
      return;
  result (run, FALSE, program->name, "it ends before its steps are made");
}

static gboolean
parse_arguments (Run *run, int argc, char **argv)
{
  for (int i = 1; i < argc; i++)
    if (strcmp (argv[i], "--only") == 0 && i + 1 < argc)
      run->only = argv[++i];
    else if (strcmp (argv[i], "--steps") == 0 && i + 1 < argc)
      run->n_steps = (guint) g_ascii_strtoull (argv[++i], NULL, 10);
    else if (strcmp (argv[i], "--pid") == 0 && i + 1 < argc)
      run->pid = (pid_t) g_ascii_strtoull (argv[++i], NULL, 10);
    else if (run->sources == NULL)
      run->sources = argv[i];
    else
      run->directory = argv[i];
  return run->n_steps > 0 && (run->pid != 0 || run->directory != NULL);
}

int
main (int argc, char **argv)
{
  Run run = { .n_steps = g_getenv ("LU_TRUTH_LONG") != NULL ? LONG_STEPS : SHORT_STEPS };
  g_autofree char *sources = NULL;
  g_autoptr (GError) error = NULL;
  const char *obstacle;

  if (!parse_arguments (&run, argc, argv))
    {
      fprintf (stderr, "usage: live [--only NAME] [--steps N] SOURCES DIRECTORY\n"
                       "       live --pid PID [--steps N]\n");
      return 2;
    }
  if (run.sources != NULL)
    run.sources = sources = g_canonicalize_filename (run.sources, NULL);
  elf_version (EV_CURRENT);
  obstacle = tracer_obstacle ();
  if (obstacle != NULL)
    {
      printf ("1..0 # SKIP %s\n", obstacle);
      return SKIP;
    }
  run.whole = whole_new ();
  if (run.pid != 0 && !trial (&run, "process", run.pid, &error))
    result (&run, FALSE, "process", error->message);
  for (guint i = 0; run.pid == 0 && i < G_N_ELEMENTS (programs); i++)
    if (run.only == NULL || strcmp (run.only, programs[i].name) == 0)
      run_program (&run, &programs[i]);
  whole_free (run.whole);
  printf ("1..%u\n", run.n_tests);
  return run.n_failed == 0 ? 0 : 1;
}
