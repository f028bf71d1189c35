/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* truth.c [--known FILE] [--only NAME] [--self-test] PROGRAMS - finds out who is right about real
 * code, the table or libdw. `truth --run [--skip N] COMMAND...` does the same with any program, by
 * hand.
 *
 * Programs run one instruction at a time under a shadow stack that follows the instructions alone
 * (shadow.h). At every step, the caller's stack pointer, pc, rbp and rbx according to each decider
 * are compared with it. LU_TRUTH_LONG=1 in the environment runs them longer. With --self-test
 * broken tables replace the table, and must be found out. */

#include "report.h"
#include "tracer.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SKIP          77
#define MAX_ARGUMENTS 8
/* Short and long runs. */
#define SHORT_SECONDS 3
#define LONG_SECONDS  8
#define LONG_FACTOR   4
#define LEAST_STEPS   100000
#define LONG_STEPS    1000000
/* The share of the frames known to the other engine that may be left to it. */
#define MOST_LEFT 0.1

typedef struct
{
  const char *name;
  const char *argv[MAX_ARGUMENTS]; /* a name without a slash is in the directory of programs */
  guint steps;                     /* at most, in thousands */
  gboolean has_marker;             /* see Plan, this and the next */
  guint n_skipped;
} Program;

#define BASH                                                                                       \
  "f() { local a=(3 1 2); x=${a[1]/1/one}; }; for i in {1..20}; do f $i; done; echo ${x^^}"
#define SQL                                                                                        \
  "create table t (a integer primary key, b text);"                                                \
  "insert into t (b) values ('x'), ('y'), ('z');"                                                  \
  "select count(*), group_concat(u.b) from t join t as u on t.a < u.a where u.b like '%z%';"
#define PERL                                                                                       \
  "getppid; my @a = sort { $a <=> $b } map { ($_ * 7919) % 101 } 1 .. 300;"                        \
  "my $s = join ',', map { sprintf '%x', $_ } @a; $s =~ s/(\\d+)([a-f])/$2$1/g;"                   \
  "eval { die { a => $s } }; print length $s"
#define PYTHON                                                                                     \
  "import os, json, re, hashlib, zlib, ctypes, decimal\n"                                          \
  "callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(lambda a, b: 0)\n"  \
  "array, qsort = (ctypes.c_int * 3)(3, 2, 1), ctypes.CDLL(None).qsort\n"                          \
  "os.getppid()\n"                                                                                 \
  "qsort(array, 3, 4, callback)\n"                                                                 \
  "[hashlib.new(n, b'x' * 200).digest() for n in ('md5', 'sha1', 'sha256', 'sha512')]\n"           \
  "zlib.decompress(zlib.compress(b'abc' * 50))\n"                                                  \
  "json.loads(json.dumps({'a': [1.5, None, 'x']}))\n"                                              \
  "re.sub('(a+)b', r'\\1', 'aaabab')\n"                                                            \
  "try: decimal.Decimal(1) / 0\n"                                                                  \
  "except ArithmeticError: sorted(range(30), key=lambda i: -i)\n"

static const Program programs[] = {
  { "true", { "/usr/bin/true" }, 150, FALSE },
  { "lazy", { "lazy" }, 60, FALSE },
  { "calls", { "calls" }, 60, TRUE },
  { "calls-fp", { "calls-fp" }, 60, TRUE },
  { "signals", { "signals" }, 80, TRUE },
  { "throw", { "throw" }, 120, TRUE },
  { "throw-signal", { "throw-signal" }, 120, TRUE },
  { "contexts", { "contexts" }, 60, TRUE },
  { "frames", { "frames" }, 60, TRUE },
  { "frames-fp", { "frames-fp" }, 60, TRUE },
  { "frames-small", { "frames-small" }, 60, TRUE },
  { "ifunc", { "ifunc" }, 60, FALSE },
  { "ifunc-static", { "ifunc-static" }, 60, FALSE },
  { "library", { "library" }, 60, TRUE },
  { "storm", { "storm" }, 60, TRUE },
  { "jumps", { "jumps" }, 60, TRUE },
  { "threads", { "threads" }, 60, TRUE },
  { "vfork", { "vfork" }, 60, TRUE },
  { "ls", { "/usr/bin/ls", "-l", "/usr/bin/env" }, 250, FALSE },
  { "bash", { "/usr/bin/bash", "-c", BASH }, 100, FALSE, 60 },
  { "openssl", { "/usr/bin/openssl", "dgst", "-sha512", "/usr/bin/env" }, 100, FALSE, 90 },
  { "git", { "/usr/bin/git", "config", "--system", "--list" }, 100, FALSE, 30 },
  { "sqlite", { "/usr/bin/sqlite3", ":memory:", SQL }, 150, FALSE, 60 },
  { "perl", { "/usr/bin/perl", "-e", PERL }, 250, TRUE },
  { "python", { "/usr/bin/python3", "-c", PYTHON }, 400, TRUE },
};

typedef struct
{
  const char *known, *only, *directory;
  Program other; /* --run; name NULL: not asked for */
  gboolean is_self_test;
  gboolean is_long;
  guint n_tests, n_failed;
} Run;

static void
result (Run *run, gboolean is_good, const char *text)
{
  printf ("%sok %u - %s\n", is_good ? "" : "not ", ++run->n_tests, text);
  fflush (stdout);
  run->n_failed += is_good ? 0 : 1;
}

/* Returns FALSE if the program is not on this machine. */
static gboolean
run_program (const Run *run, const Program *program, Tally *tally, GError **error)
{
  const char *argv[MAX_ARGUMENTS + 1] = { NULL };
  g_autofree char *path = program->argv[0][0] == '/'
                              ? g_strdup (program->argv[0])
                              : g_build_filename (run->directory, program->argv[0], NULL);
  Plan plan = {
    .argv = argv,
    .has_marker = program->has_marker,
    .n_skipped = program->n_skipped,
    .max_steps = 1000 * (guint64) program->steps * (run->is_long ? LONG_FACTOR : 1),
    .max_seconds = run->is_long ? LONG_SECONDS : SHORT_SECONDS,
  };

  memcpy (argv, program->argv, sizeof program->argv);
  argv[0] = path;
  if (access (path, X_OK) != 0)
    {
      g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_NOENT, "%s is not there", path);
      return FALSE;
    }
  return tracer_run (&plan, tally->deciders, tally, error);
}

static void
run_one (Run *run, const Program *program, Tally *tally)
{
  guint64 n_before = tally->n_compared;
  gint64 start = g_get_monotonic_time ();
  g_autoptr (GError) error = NULL;
  g_autofree char *text = NULL;

  if (!run_program (run, program, tally, &error))
    {
      printf ("ok %u - %s # SKIP %s\n", ++run->n_tests, program->name, error->message);
      return;
    }
  text = g_strdup_printf ("%s: %lu steps compared in %.1f s", program->name,
                          tally->n_compared - n_before,
                          (double) (g_get_monotonic_time () - start) / 1e6);
  result (run, tally->n_compared > n_before, text);
}

static void
run_all (Run *run, Tally *tally)
{
  if (run->other.name != NULL)
    {
      run_one (run, &run->other, tally);
      return;
    }
  for (guint i = 0; i < G_N_ELEMENTS (programs); i++)
    if (run->only == NULL || strcmp (run->only, programs[i].name) == 0)
      run_one (run, &programs[i], tally);
}

static void
judge_decider (Run *run, const Tally *tally, guint decider)
{
  const char *name = tally->deciders->at[decider]->name;
  double percent = tally_percent_less (tally, decider);
  g_autofree char *right = g_strdup_printf ("%s: right wherever libdw is", name);
  g_autofree char *left = g_strdup_printf (
      "%s: leaves open %.4f %% of what libdw knows, not over %.1f", name, percent, MOST_LEFT);

  result (run, tally_count_worse (tally, decider) == 0, right);
  result (run, percent <= MOST_LEFT, left);
}

static void
compare_programs (Run *run, const Known *known)
{
  DeciderList deciders = { { &decide_libdw, &decide_table, &decide_alone }, 3 };
  Tally tally;
  guint n_unlisted;
  guint64 n_least;

  tally_init (&tally, &deciders);
  run_all (run, &tally);
  n_unlisted = report_tally (&tally, known);
  result (run, tally.n_bad_calls == 0 && tally.n_bad_signals == 0,
          "every call and signal is understood");
  n_least = run->only != NULL || run->other.name != NULL ? 1
            : run->is_long                               ? LONG_STEPS
                                                         : LEAST_STEPS;
  result (run, tally.n_compared >= n_least, "enough steps");
  for (guint i = 1; i < deciders.n; i++)
    judge_decider (run, &tally, i);
  result (run, n_unlisted == 0, "every difference is listed with its reason");
  tally_clear (&tally);
}

/* Broken tables, all in one run; the good one next to them must not be accused. */
static void
find_out_broken (Run *run)
{
  static const char *const names[] = { "lazy", "signals", "frames" };
  DeciderList deciders = { { &decide_libdw, &decide_table }, 2 };
  Tally tally;

  for (guint i = 0; deciders.n < MAX_DECIDERS; i++)
    {
      Decider *broken = decide_broken_new (i);

      if (broken == NULL)
        break;
      deciders.at[deciders.n++] = broken;
    }
  tally_init (&tally, &deciders);
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      run->only = names[i];
      run_all (run, &tally);
    }
  judge_decider (run, &tally, 1);
  for (guint i = 2; i < deciders.n; i++)
    {
      guint n = tally_count_worse (&tally, i);
      double percent = tally_percent_less (&tally, i);
      g_autofree char *text = g_strdup_printf ("found out, %u places wrong, %.1f %% left open: %s",
                                               n, percent, deciders.at[i]->name);

      result (run, n > 0 || percent > MOST_LEFT, text);
      g_free ((gpointer) deciders.at[i]);
    }
  tally_clear (&tally);
}

/* As many steps as LONG_SECONDS allow; the system calls of a start can be skipped. */
static gboolean
parse_command (Run *run, int argc, char **argv)
{
  Program *other = &run->other;
  int i = 0;

  if (argc > 2 && strcmp (argv[0], "--skip") == 0)
    {
      other->n_skipped = (guint) g_ascii_strtoull (argv[1], NULL, 10);
      i = 2;
    }
  for (int k = i; k < argc && k - i < MAX_ARGUMENTS; k++)
    other->argv[k - i] = argv[k];
  other->name = other->argv[0];
  other->steps = 2 * LONG_STEPS / 1000;
  run->directory = "";
  run->is_long = TRUE;
  return other->name != NULL && argc - i <= MAX_ARGUMENTS;
}

static gboolean
parse_arguments (Run *run, int argc, char **argv)
{
  for (int i = 1; i < argc; i++)
    if (strcmp (argv[i], "--self-test") == 0)
      run->is_self_test = TRUE;
    else if (strcmp (argv[i], "--known") == 0 && i + 1 < argc)
      run->known = argv[++i];
    else if (strcmp (argv[i], "--run") == 0)
      return parse_command (run, argc - i - 1, argv + i + 1);
    else if (strcmp (argv[i], "--only") == 0 && i + 1 < argc)
      run->only = argv[++i];
    else
      run->directory = argv[i];
  return run->directory != NULL;
}

int
main (int argc, char **argv)
{
  Run run = { .is_long = g_getenv ("LU_TRUTH_LONG") != NULL };
  g_autoptr (Known) known = NULL;
  g_autoptr (GError) error = NULL;
  const char *obstacle;

  if (!parse_arguments (&run, argc, argv))
    {
      fprintf (stderr, "usage: truth [--known FILE] [--only NAME] [--self-test] PROGRAMS\n"
                       "       truth [--known FILE] --run [--skip N] COMMAND [ARGUMENT]...\n");
      return 2;
    }
  if (run.known != NULL && (known = known_load (run.known, &error)) == NULL)
    {
      printf ("Bail out! %s\n", error->message);
      return 1;
    }
  elf_version (EV_CURRENT);
  obstacle = tracer_obstacle ();
  if (obstacle != NULL)
    {
      printf ("1..0 # SKIP %s\n", obstacle);
      return SKIP;
    }
  if (run.is_self_test)
    find_out_broken (&run);
  else
    compare_programs (&run, known);
  printf ("1..%u\n", run.n_tests);
  return run.n_failed == 0 ? 0 : 1;
}
