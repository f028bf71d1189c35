/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-dispatch-bpf-unwound.c - BPF-unwound stacks on their way to the writer: it gets the frames
 * and the state of each event. */

#include "record/dispatch.h"

#include "process/process-private.h"
#include "record/bpf-unwound.h"

#define QUEUE_BYTES (64u << 10)
#define PROGRAM     0x400000
#define LIBRARY     0x700000
#define CODE_BYTES  0x10000
#define N_EVENTS    20000
#define MAX_USER    40
#define MAX_KERNEL  5

typedef struct
{
  LuProcess *processes[2];
  guint64 old_serials[2]; /* address spaces in which another file has replaced the library */
  LuModule *modules[3];
  LuQueue *to_worker, *queue;
  LuDispatch *dispatch;
} Fixture;

static void
map (LuProcess *process, guint64 time, LuModule *module, guint64 start)
{
  const LuMapping mapping = {
    .start = start, .end = start + CODE_BYTES, .time = time, .module = module
  };

  g_assert_true (lu_process_add_mapping (process, time, &mapping));
}

static void
set_up (Fixture *self, gconstpointer data)
{
  g_autoptr (LuAddressSpace) empty = lu_address_space_new ();

  for (guint i = 0; i < G_N_ELEMENTS (self->modules); i++)
    {
      const LuModuleKey key = { .kind = LU_MODULE_FILE,
                                .path = (const char *[]){ "/bin/a", "/lib/b", "/lib/c" }[i] };

      self->modules[i] = lu_module_new (&key);
    }
  for (guint i = 0; i < 2; i++)
    {
      g_autoptr (LuAddressSpace) old = NULL;

      self->processes[i] = lu_process_new (10 + (gint32) i, 1, "program", empty);
      map (self->processes[i], 2, self->modules[0], PROGRAM);
      map (self->processes[i], 3, self->modules[1], LIBRARY);
      old = lu_address_space_ref (lu_process_address_space (self->processes[i]));
      self->old_serials[i] = lu_address_space_serial (old);
      map (self->processes[i], 4, self->modules[2], LIBRARY + CODE_BYTES / 2);
    }
  self->queue = lu_queue_new (QUEUE_BYTES);
  self->to_worker = lu_queue_new (QUEUE_BYTES);
  self->dispatch = lu_dispatch_new (self->to_worker, self->queue, NULL, FALSE, TRUE);
}

static void
tear_down (Fixture *self, gconstpointer data)
{
  lu_dispatch_free (self->dispatch);
  lu_queue_free (self->to_worker);
  lu_queue_free (self->queue);
  for (guint i = 0; i < 2; i++)
    lu_process_unref (self->processes[i]);
  for (guint i = 0; i < G_N_ELEMENTS (self->modules); i++)
    lu_module_unref (self->modules[i]);
}

/* Returns an address that is mostly in the program or the library, seldom in neither. */
static guint64
random_word (void)
{
  guint64 base = g_test_rand_int_range (0, 400) == 0 ? 0x10000
                 : g_test_rand_bit ()                ? PROGRAM
                                                     : LIBRARY;

  return (base + (guint64) g_test_rand_int_range (1, CODE_BYTES))
         | (g_test_rand_bit () ? LU_BPF_PC_RETURN : 0)
         | (g_test_rand_int_range (0, 9) == 0 ? LU_BPF_PC_INFERRED : 0);
}

/* Makes the next stack, with a few inner frames more or less than the last one. words: user frames,
 * outermost last. Returns how many there are. */
static guint32
change_stack (guint64 words[MAX_USER], guint32 n)
{
  guint32 n_kept = (guint32) g_test_rand_int_range (0, (gint32) n + 1);
  guint32 n_next = (guint32) g_test_rand_int_range (MAX ((gint32) n_kept, 1), MAX_USER + 1);

  memmove (words + n_next - n_kept, words + n - n_kept, n_kept * sizeof *words);
  for (guint32 i = 0; i < n_next - n_kept; i++)
    words[i] = random_word ();
  return n_next;
}

/* The flags are set as the BPF program sets them. */
static guint32
record_flags (const guint64 *words, guint32 n)
{
  guint32 flags = g_test_rand_bit () ? LU_BPF_RECORD_KERNEL : 0;

  for (guint32 i = 0; i < n; i++)
    if ((words[i] & LU_BPF_PC_INFERRED) != 0)
      flags |= LU_BPF_RECORD_INFERRED;
  return flags;
}

/* Takes the next message and drops its references. Returns its state. */
static LuStatus
check (Fixture *self, const LuLocatedEvent *located)
{
  const LuStackMessage *got = lu_queue_peek (self->queue, NULL);
  const LuEvent *event = located->event;
  const LuBpfUnwoundStack *stack = &event->bpf_unwound;
  LuBpfUnwoundResult result = lu_bpf_unwound_check (located);
  LuFrame kernel[LU_BPF_MAX_KERNEL], user[MAX_USER];
  guint32 n_kernel = lu_bpf_unwound_kernel_frames (stack->pcs, stack->n_kernel,
                                                   lu_bpf_unwound_kernel_ip (stack), kernel);

  lu_bpf_unwound_user_frames (stack->pcs + stack->n_kernel * sizeof (guint64), result.n_user, user);
  g_assert_cmpint (got->kind, ==, LU_MESSAGE_STACK);
  g_assert_cmpint (got->status, ==, result.status);
  g_assert_cmphex (got->end_pc, ==, result.end_pc);
  g_assert_cmpuint (got->header.time, ==, event->time);
  g_assert_cmpint (got->header.cpu, ==, event->cpu);
  g_assert_cmpint (got->header.pid, ==, event->pid);
  g_assert_cmpint (got->header.tid, ==, event->tid);
  g_assert_true (got->header.process == located->process && got->header.space == located->space
                 && got->is_bpf_unwound);
  g_assert_cmpmem (got->frames, got->n_kernel * sizeof (LuFrame), kernel,
                   n_kernel * sizeof (LuFrame));
  g_assert_cmpmem (got->frames + n_kernel, got->n_user * sizeof (LuFrame), user,
                   result.n_user * sizeof (LuFrame));
  for (guint i = 0; i < result.n_user; i++)
    g_assert_false (got->has_no_fp_steps && (user[i].flags & LU_FRAME_INFERRED) != 0);
  lu_process_unref (got->header.process);
  lu_address_space_unref (got->header.space);
  lu_queue_release (self->queue);
  return result.status;
}

static void
test_whatever_changes (Fixture *self, gconstpointer data)
{
  guint64 words[MAX_KERNEL + MAX_USER], user[MAX_USER];
  guint32 n_user = 0;
  guint n_of[LU_N_STATUS] = { 0 };

  for (guint i = 0; i < N_EVENTS; i++)
    {
      guint which = g_test_rand_int_range (0, 8) == 0;
      guint32 n_kernel =
          g_test_rand_bit () ? 0 : (guint32) g_test_rand_int_range (0, MAX_KERNEL + 1);
      LuAddressSpace *space = lu_process_address_space (self->processes[which]);
      LuEvent event = {
        .kind = LU_EVENT_BPF_UNWOUND, .cpu = 1, .pid = 10, .tid = (gint32) i, .time = 100 + i
      };
      const LuLocatedEvent located = { &event, self->processes[which], space };

      n_user = change_stack (user, n_user);
      for (guint k = 0; k < n_kernel; k++)
        words[k] = 0xffffffff81000000 + (guint64) g_test_rand_int_range (1, CODE_BYTES);
      memcpy (words + n_kernel, user, n_user * sizeof *user);
      event.bpf_unwound = (LuBpfUnwoundStack){
        .status = g_test_rand_bit () ? LU_STATUS_COMPLETE : LU_STATUS_DEPTH_LIMIT,
        .serial = g_test_rand_bit () ? lu_address_space_serial (space) : self->old_serials[which],
        .ip = 0xffffffff81000010,
        .flags = record_flags (user, n_user),
        .n_kernel = n_kernel,
        .n_user = n_user,
        .pcs = (const guint8 *) words
      };
      g_assert_cmpint (lu_dispatch_bpf_unwound (self->dispatch, &located), ==, LU_DISPATCH_DONE);
      n_of[check (self, &located)]++;
    }
  g_assert_cmpuint (n_of[LU_STATUS_COMPLETE], >, N_EVENTS / 10);
  g_assert_cmpuint (n_of[LU_STATUS_STALE_MAPPING], >, N_EVENTS / 100);
  g_assert_cmpuint (n_of[LU_STATUS_NO_MAPPING], >, N_EVENTS / 100);
}

/* A stack that found no room can be sent later, and no reference is lost. */
static void
test_no_room (Fixture *self, gconstpointer data)
{
  guint64 words[] = { PROGRAM + 1, PROGRAM + 2, PROGRAM + 3 };
  LuProcess *process = self->processes[0];
  LuAddressSpace *space = lu_process_address_space (process);
  LuEvent event = { .kind = LU_EVENT_BPF_UNWOUND,
                    .bpf_unwound = { .status = LU_STATUS_COMPLETE,
                                     .serial = lu_address_space_serial (space),
                                     .n_user = G_N_ELEMENTS (words),
                                     .pcs = (const guint8 *) words } };
  const LuLocatedEvent located = { &event, process, space };
  guint n = 0;

  for (; lu_dispatch_bpf_unwound (self->dispatch, &located) == LU_DISPATCH_DONE; n++)
    words[0]++;
  g_assert_cmpuint (n, >, 10);
  for (guint i = 0; i <= n; i++)
    {
      words[0] = PROGRAM + 1 + i;
      if (i == n)
        g_assert_cmpint (lu_dispatch_bpf_unwound (self->dispatch, &located), ==, LU_DISPATCH_DONE);
      check (self, &located);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add ("/dispatch-bpf-unwound/whatever-changes", Fixture, NULL, set_up,
              test_whatever_changes, tear_down);
  g_test_add ("/dispatch-bpf-unwound/no-room", Fixture, NULL, set_up, test_no_room, tear_down);
  return g_test_run ();
}
