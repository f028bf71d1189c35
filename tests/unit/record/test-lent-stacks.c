/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-lent-stacks.c - src/record/lent-stacks.c: which samples may have another process's words. */

#include "record/lent-stacks.h"

#include "arch/arch.h"
#include "process/process-private.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <linux/perf_event.h>

#define PID 5

static const char symbols[] = "ffffffff81001000 T do_exit\n"
                              "ffffffff81002000 T later\n"
                              "ffffffff81003000 T acct_collect\n"
                              "ffffffff81004000 T perf_event_exit_task\n"
                              "ffffffff81005000 T security_bprm_creds_from_file\n"
                              "ffffffff81006000 t __pfx_begin_new_exec\n"
                              "ffffffff81006010 T begin_new_exec\n"
                              "ffffffff81007000 T last\n";

static const struct
{
  LuLentResult result;
  guint8 cpumode;
  guint64 chain[6];
} samples[] = {
  { LU_LENT_YES, 1, { PERF_CONTEXT_KERNEL, 0xffffffff81007100, 0xffffffff81006010, 1, 2, 3 } },
  { LU_LENT_YES, 1, { PERF_CONTEXT_KERNEL, 0xffffffff81006fff, 1, 2, 3, 4 } },
  { LU_LENT_YES, 1, { PERF_CONTEXT_KERNEL, 1, 2, 3, 4, 0xffffffff81001abc } },
  /* other functions, and other programs' time */
  { LU_LENT_NO, 1, { PERF_CONTEXT_KERNEL, 0xffffffff8100600f, 0xffffffff81007000, 1, 2, 3 } },
  { LU_LENT_NO, 1, { PERF_CONTEXT_KERNEL, 1, 2, PERF_CONTEXT_USER, 0xffffffff81006100, 0 } },
  { LU_LENT_NO, 1, { PERF_CONTEXT_GUEST_KERNEL, 0xffffffff81006100, 1, 2, 3, 4 } },
  { LU_LENT_NO, 2, { PERF_CONTEXT_KERNEL, 0xffffffff81006100, 1, 2, 3, 4 } },
  /* before the stack is given back */
  { LU_LENT_NO, 1, { PERF_CONTEXT_KERNEL, 0xffffffff81004100, 0xffffffff81001abc, 1, 2, 3 } },
  { LU_LENT_NO, 1, { PERF_CONTEXT_KERNEL, 2, 0xffffffff81005100, 0xffffffff81006100, 1, 2 } },
};

typedef struct
{
  LuAddressSpace *space;
  LuProcess *process;
  char *path;
} Fixture;

static void
set_up (Fixture *self, gconstpointer start_time)
{
  int fd = g_file_open_tmp ("kallsyms-XXXXXX", &self->path, NULL);

  g_assert_cmpint (fd, >=, 0);
  g_close (fd, NULL);
  g_assert_true (g_file_set_contents (self->path, symbols, -1, NULL));
  self->space = lu_address_space_new ();
  self->process = lu_process_new (PID, GPOINTER_TO_SIZE (start_time), "x", self->space);
}

static void
tear_down (Fixture *self, gconstpointer start_time)
{
  lu_process_unref (self->process);
  lu_address_space_unref (self->space);
  g_unlink (self->path);
  g_free (self->path);
}

static LuSample
sample_at (guint i)
{
  return (LuSample){ .cpumode = samples[i].cpumode,
                     .callchain = samples[i].chain,
                     .n_callchain = G_N_ELEMENTS (samples[i].chain) };
}

static void
test_samples (Fixture *self, gconstpointer start_time)
{
  g_autoptr (LuLentStacks) lent = lu_lent_stacks_new (g_open (self->path, O_RDONLY | O_CLOEXEC));

  for (guint i = 0; i < G_N_ELEMENTS (samples); i++)
    {
      LuSample sample = sample_at (i);

      g_assert_cmpint (lu_lent_stacks_ask (lent, self->process, PID, &sample), ==,
                       samples[i].cpumode == 1 ? LU_LENT_UNKNOWN : LU_LENT_NO);
    }
  lu_lent_stacks_find (lent);
  lu_lent_stacks_find (lent);
  for (guint i = 0; i < G_N_ELEMENTS (samples); i++)
    {
      LuSample sample = sample_at (i);

      g_assert_cmpint (lu_lent_stacks_ask (lent, self->process, PID, &sample), ==,
                       samples[i].result);
      g_assert_cmpint (lu_lent_stacks_ask (lent, self->process, PID + 1, &sample), ==, LU_LENT_NO);
    }
}

/* Nothing is read for processes that have run before, and they are asked about all the same. */
static void
test_old_processes (Fixture *self, gconstpointer start_time)
{
  g_autoptr (LuLentStacks) lent = lu_lent_stacks_new (g_open (self->path, O_RDONLY | O_CLOEXEC));
  LuSample sample = sample_at (0);

  g_assert_cmpint (lu_lent_stacks_ask (lent, self->process, PID, &sample), ==, LU_LENT_NO);
  lu_lent_stacks_find (lent);
  g_assert_cmpint (lu_lent_stacks_ask (lent, self->process, PID, &sample), ==, LU_LENT_YES);
}

static void
test_executed (Fixture *self, gconstpointer start_time)
{
  g_autoptr (LuLentStacks) lent = lu_lent_stacks_new (g_open (self->path, O_RDONLY | O_CLOEXEC));
  LuSample sample = sample_at (0);

  lu_process_set_executed (self->process);
  g_assert_cmpint (lu_lent_stacks_ask (lent, self->process, PID, &sample), ==, LU_LENT_NO);
  lu_lent_stacks_find (lent);
  g_assert_cmpint (lu_lent_stacks_ask (lent, self->process, PID, &sample), ==, LU_LENT_NO);
}

static void
test_hidden_addresses (Fixture *self, gconstpointer start_time)
{
  g_autoptr (LuLentStacks) lent = lu_lent_stacks_new (-1);
  LuSample sample = sample_at (0);

  g_assert_cmpint (lu_lent_stacks_ask (lent, self->process, PID, &sample), ==, LU_LENT_NO);
}

static void
test_end (void)
{
  const LuArch *arch = lu_arch_of_abi (LU_ABI_64);
  const guint64 words[] = { 0x7000, 0x401000 };
  LuSample sample = { .regs = { .abi = LU_ABI_64,
                                .n_words = 2,
                                .mask = 1ull << arch->perf_sp | 1ull << arch->perf_pc,
                                .words = words } };
  g_autofree LuStack *stack = g_new (LuStack, 1);
  gboolean is_sp_first = arch->perf_sp < arch->perf_pc;

  lu_stack_reset (stack);
  lu_lent_stack_end (&sample, stack);
  g_assert_cmpint (stack->status, ==, LU_STATUS_OTHER_STACK);
  g_assert_cmpuint (stack->n_frames, ==, 1);
  g_assert_cmphex (stack->frames[0].pc, ==, words[is_sp_first ? 1 : 0]);
  g_assert_cmphex (stack->end_pc, ==, stack->frames[0].pc);
  g_assert_cmphex (stack->sampled_sp, ==, words[is_sp_first ? 0 : 1]);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add ("/lent-stacks/samples", Fixture, GSIZE_TO_POINTER (1), set_up, test_samples,
              tear_down);
  g_test_add ("/lent-stacks/old-processes", Fixture, GSIZE_TO_POINTER (0), set_up,
              test_old_processes, tear_down);
  g_test_add ("/lent-stacks/executed", Fixture, GSIZE_TO_POINTER (1), set_up, test_executed,
              tear_down);
  g_test_add ("/lent-stacks/hidden-addresses", Fixture, GSIZE_TO_POINTER (1), set_up,
              test_hidden_addresses, tear_down);
  g_test_add_func ("/lent-stacks/end", test_end);
  return g_test_run ();
}
