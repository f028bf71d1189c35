/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-tasks.c - reads tasks of asyncio that wait out of made-up memory with the C of the BPF
 * program: who awaits whom, coroutines in coroutines, and memory of a hostile process. */

#include "walk-arch.h" /* before lu/step.h */

#include "made-up-memory.h"

/* ELF addresses of types; they are never read. */
#define COROUTINE (RUNTIME + 0x2000)
#define SEND      (RUNTIME + 0x2800)
/* In a generator, after its head. */
#define FRAME_AT 72
#define STATE_AT 71
/* In a frame. */
#define STACK_AT 64
#define YIELDS   0xfe
#define AWAITS   0xff
#define RUNS     0

static const struct lu_python_tasks where = { .thread_task = 200,
                                              .awaited_by = 96,
                                              .is_task = 108,
                                              .is_set = 109,
                                              .coroutine = 128,
                                              .bytes = 136 };

static guint64 thread;

static void
begin (gboolean is_apart)
{
  struct lu_interp_file file = {
    .language = LU_INTERP_PYTHON, .version = 0x030e00, .runtime = RUNTIME, .python = with_owner
  };
  struct lu_interp_file tasks = { .language = LU_INTERP_TASKS, .tasks = where };
  LuBpfBacking backing = { .shared = &user_host.shared };
  LuBpfInterps interps = { .backing = &backing, .used = 1, .last = 1 };
  guint number;

  file.python.object_type = 8;
  file.python.generator_frame = FRAME_AT;
  file.python.generator_state = STATE_AT;
  file.python.frame_stack = STACK_AT;
  file.python.set_used = 24;
  file.python.set_mask = 32;
  file.python.set_table = 40;
  file.python.first_suspended = YIELDS;
  file.python.n_suspended = 2;
  file.python.awaited_at = 1;
  file.python.generator_types[0] = COROUTINE;
  file.python.send_type = SEND;
  if (!is_apart)
    file.tasks = where;
  layout = file.python;
  begin_file (&file);
  number = lu_bpf_interps_add (&interps, &tasks);
  g_assert_cmphex (number, ==, 2 | LU_BPF_INTERP_TASKS);
  user_host.walk.interp_tasks = is_apart ? number & ~LU_BPF_INTERP_TASKS : 0;
}

static guint64
type_at (guint64 type)
{
  return type - RUNTIME + runtime;
}

/* A coroutine of `name` that awaits an object; 0: something that is no coroutine. */
static guint64
add_coroutine (const char *name, guint8 state, guint64 awaited)
{
  guint64 address = take (STRUCT_BYTES), stack = take (64), code = add_code (name, 1);

  if (awaited == 0)
    awaited = take (64);
  put_word (address, layout.object_type, type_at (COROUTINE));
  put (address, STATE_AT, &state, sizeof state);
  put_word (address + FRAME_AT, layout.frame_code, code);
  put_word (address + FRAME_AT, STACK_AT, stack + 16);
  put_word (address + FRAME_AT, layout.frame_instr, code + layout.code_bytes + 20);
  put_word (stack, 8, awaited | 1); /* with a tag */
  return address;
}

static guint64
add_task (guint64 coroutine, guint64 awaited_by)
{
  guint64 address = take (STRUCT_BYTES);

  put_word (address, where.awaited_by, awaited_by);
  put (address, where.is_task, &(guint8){ coroutine != 0 }, 1);
  put_word (address, where.coroutine, coroutine);
  return address;
}

/* Makes a set of `n` of the task's waiters, of which it has only the first one in a table of 8. */
static void
await_by_set (guint64 task, guint64 n, guint64 mask, guint64 first)
{
  guint64 set = take (128), table = take (128);

  put_word (set, layout.set_used, n);
  put_word (set, layout.set_mask, mask);
  put_word (set, layout.set_table, table);
  put_word (table, 16, runtime); /* one that was taken out */
  put_word (table, 24, G_MAXUINT64);
  put_word (table, 80, first);
  put_word (table, 88, first);
  put_word (task, where.awaited_by, set);
  put (task, where.is_set, &(guint8){ 1 }, 1);
}

/* Runs a coroutine that is the task's outermost one, or another one. */
static void
run_task (guint64 task, guint64 coroutine)
{
  guint64 shim = add_frame (0, 0, 3);

  put_word (coroutine + FRAME_AT, layout.frame_previous, shim);
  thread = add_thread (THREAD, coroutine + FRAME_AT, 0);
  put_word (thread, where.thread_task, task);
  set_interpreter (add_interpreter (thread, 0));
}

/* The names of the frames are told by their codes: "running|[task coroutine…]", "?" if unreadable,
 * a number for a note. */
static void
check (const char *expected)
{
  g_autoptr (GString) text = g_string_new (NULL);

  g_assert_cmpuint (read_chain (), ==, LU_COUNTER_BPF_CHAINS);
  for (guint i = 0; i < chain.chain.n_frames; i++)
    {
      guint64 code = chain.chain.frames[i].code, name = 0;
      const char *mark = (code & LU_INTERP_AWAITS) == 0 ? "" : "+";

      if ((code & LU_INTERP_TASK) != 0)
        mark = (code & LU_INTERP_AWAITS) == 0 ? "=" : "/";
      g_string_append (text, mark);
      if ((code & LU_INTERP_NOTE) != 0)
        g_string_append_printf (text, "%u", chain.chain.frames[i].check);
      else if ((code & LU_INTERP_UNREADABLE) != 0)
        g_string_append_c (text, '?');
      else
        {
          memcpy (&name, arena + ((code & LU_INTERP_CODE_MASK) - ARENA_AT) + layout.code_name, 8);
          g_string_append_c (text, (char) arena[name - ARENA_AT + layout.text_ascii]);
          g_assert_cmpuint (chain.chain.frames[i].instr, ==, 20);
        }
    }
  g_assert_cmpstr (text->str, ==, expected);
  g_assert_cmpuint (chain.chain.flags & (LU_INTERP_CHAIN_CUT | LU_INTERP_CHAIN_BROKEN), ==, 0);
}

static void
test_one (gconstpointer is_apart)
{
  guint64 a, b, running;

  begin (is_apart != NULL);
  a = add_task (add_coroutine ("a", AWAITS, 0), 0);
  b = add_task (add_coroutine ("b", AWAITS, add_coroutine ("c", AWAITS, 0)), a);
  running = add_coroutine ("r", RUNS, 0);
  run_task (add_task (running, b), running);
  check ("=r/b+c/a");
}

static void
test_not_this_task (void)
{
  guint64 other, running;

  begin (FALSE);
  running = add_coroutine ("r", RUNS, 0);
  other = add_coroutine ("o", RUNS, 0);
  run_task (add_task (other, add_task (add_coroutine ("a", AWAITS, 0), 0)), running);
  check ("r");
  put_word (thread, where.thread_task, 0);
  check ("r");
  put_word (thread, where.thread_task, 0x1234);
  check ("r");
}

static void
test_sets (void)
{
  guint64 task, waiter, running;

  begin (FALSE);
  running = add_coroutine ("r", RUNS, 0);
  waiter = add_task (add_coroutine ("a", AWAITS, 0), 0);
  task = add_task (running, 0);
  run_task (task, running);
  await_by_set (task, 1, 7, waiter);
  check ("=r/a");
  await_by_set (task, 3, 7, waiter);
  check ("=r+3");
  await_by_set (task, 0, 7, waiter);
  check ("=r");
  await_by_set (task, 1, 31, waiter);
  check ("=r/?");
  await_by_set (task, 1, 7, 0);
  check ("=r/?");
  await_by_set (task, G_MAXUINT64, 7, waiter);
  check ("=r+4294967295");
}

/* A future between two tasks, an asynchronous generator, and coroutines that cannot wait. */
static void
test_objects (void)
{
  guint64 future, sender, coroutine, task, running;

  begin (FALSE);
  running = add_coroutine ("r", RUNS, 0);
  sender = take (64);
  put_word (sender, layout.object_type, type_at (SEND));
  put_word (sender, SEND_GENERATOR, add_coroutine ("g", YIELDS, 0));
  coroutine = add_coroutine ("a", AWAITS, sender);
  future = add_task (0, add_task (coroutine, 0));
  task = add_task (running, future);
  run_task (task, running);
  check ("=r/a+g");
  put (coroutine, STATE_AT, &(guint8){ RUNS }, 1);
  check ("=r");
  put_word (coroutine, layout.object_type, type_at (COROUTINE + 8)); /* not Python's */
  check ("=r/?");
  put_word (task, where.awaited_by, add_task (0x1234, 0));
  check ("=r/?");
  put_word (task, where.awaited_by, 0x1234);
  check ("=r/?");
}

static void
test_unreadable_stack (void)
{
  guint64 coroutine, running;

  begin (FALSE);
  running = add_coroutine ("r", RUNS, 0);
  coroutine = add_coroutine ("a", AWAITS, 0);
  run_task (add_task (running, add_task (coroutine, 0)), running);
  put_word (coroutine + FRAME_AT, STACK_AT, 0x1234);
  check ("=r/a+?");
  put_word (coroutine + FRAME_AT, layout.frame_code, 0x5678);
  read_chain ();
  g_assert_cmpuint (chain.chain.n_frames, ==, 3);
  g_assert_cmphex (chain.chain.frames[1].code & LU_INTERP_UNREADABLE, !=, 0);
}

static void
test_cycle (void)
{
  guint64 coroutine, first, second, running;

  begin (FALSE);
  running = add_coroutine ("r", RUNS, 0);
  first = add_task (add_coroutine ("a", AWAITS, 0), 0);
  second = add_task (add_coroutine ("b", AWAITS, 0), first);
  put_word (first, where.awaited_by, second);
  run_task (add_task (running, first), running);
  read_chain ();
  g_assert_cmpuint (chain.chain.n_frames, <=, LU_INTERP_MAX_AWAITS + 2);
  g_assert_cmphex (chain.chain.frames[chain.chain.n_frames - 1].code, ==,
                   LU_INTERP_AWAITS | LU_INTERP_NOTE);
  coroutine = add_coroutine ("c", AWAITS, 0);
  put_word (coroutine + FRAME_AT, STACK_AT, coroutine + 8);
  put_word (coroutine, 0, coroutine); /* awaits itself */
  run_task (add_task (running, add_task (coroutine, 0)), running);
  read_chain ();
  g_assert_cmpuint (chain.chain.n_frames, ==, LU_INTERP_MAX_AWAITS + 1);
  put_word (first, where.awaited_by, first);
  put (first, where.is_task, &(guint8){ 0 }, 1); /* a future of its own */
  run_task (add_task (running, first), running);
  check ("=r+0");
}

/* Memory of random words that are mostly pointers into it. */
static void
test_wild (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);
  guint64 running;

  for (guint i = 0; i < 400; i++)
    {
      begin (FALSE);
      for (guint at = 0x4000; at < 0x8000; at += 8)
        put_word (ARENA_AT, at,
                  g_rand_int_range (rand, 0, 4) == 0
                      ? type_at (g_rand_boolean (rand) ? COROUTINE : SEND)
                      : ARENA_AT + 0x4000 + (guint64) g_rand_int_range (rand, 0, 0x4000));
      running = add_coroutine ("r", RUNS, 0);
      run_task (add_task (running, ARENA_AT + 0x4000 + 8 * (i % 32)), running);
      gap = i % 3 == 0 ? ARENA_AT + 0x5000 : 0;
      g_assert_cmpuint (read_chain (), ==, LU_COUNTER_BPF_CHAINS);
      g_assert_cmphex (chain.chain.frames[0].code & LU_INTERP_TASK, !=, 0);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/tasks/one-file", NULL, test_one);
  g_test_add_data_func ("/tasks/file-of-their-own", "", test_one);
  g_test_add_func ("/tasks/not-this-task", test_not_this_task);
  g_test_add_func ("/tasks/sets", test_sets);
  g_test_add_func ("/tasks/objects", test_objects);
  g_test_add_func ("/tasks/unreadable-stack", test_unreadable_stack);
  g_test_add_func ("/tasks/cycle", test_cycle);
  g_test_add_func ("/tasks/wild", test_wild);
  return g_test_run ();
}
