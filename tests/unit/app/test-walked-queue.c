/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-walked-queue.c - stacks walked in the kernel, as differences through a queue: what the
 * writer gets is what lu_walked_take() makes of each event by itself. */

#include "walked-queue.h"

#include "process/process-private.h"
#include "walked.h"

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
  guint64 old_serials[2]; /* of spaces that another file has replaced the library in */
  LuModule *modules[3];
  LuQueue *queue;
  LuWalkedSender sender;
  LuWalkedReceiver *receiver;
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
  g_autoptr (LuSpace) empty = lu_space_new ();

  for (guint i = 0; i < G_N_ELEMENTS (self->modules); i++)
    {
      const LuModuleKey key = { .kind = LU_MODULE_FILE,
                                .path = (const char *[]){ "/bin/a", "/lib/b", "/lib/c" }[i] };

      self->modules[i] = lu_module_new (&key);
    }
  for (guint i = 0; i < 2; i++)
    {
      g_autoptr (LuSpace) old = NULL;

      self->processes[i] = lu_process_new (10 + (gint32) i, 0, 1, "program", empty);
      map (self->processes[i], 2, self->modules[0], PROGRAM);
      map (self->processes[i], 3, self->modules[1], LIBRARY);
      old = lu_space_ref (lu_process_space (self->processes[i]));
      self->old_serials[i] = lu_space_serial (old);
      map (self->processes[i], 4, self->modules[2], LIBRARY + CODE_BYTES / 2);
    }
  self->queue = lu_queue_new (QUEUE_BYTES);
  self->receiver = lu_walked_receiver_new ();
}

static void
tear_down (Fixture *self, gconstpointer data)
{
  lu_walked_receiver_free (self->receiver);
  lu_queue_free (self->queue);
  for (guint i = 0; i < 2; i++)
    lu_process_unref (self->processes[i]);
  for (guint i = 0; i < G_N_ELEMENTS (self->modules); i++)
    lu_module_unref (self->modules[i]);
}

/* Mostly in the program or the library, seldom in neither. */
static guint64
random_word (void)
{
  guint64 base = g_test_rand_int_range (0, 400) == 0 ? 0x10000
                 : g_test_rand_bit ()                ? PROGRAM
                                                     : LIBRARY;

  return (base + (guint64) g_test_rand_int_range (1, CODE_BYTES))
         | (g_test_rand_bit () ? LU_BPF_PC_RETURN : 0)
         | (g_test_rand_int_range (0, 9) == 0 ? LU_BPF_PC_GUESSED : 0);
}

/* The next stack: some inner frames more or less than the last one had. words: user frames,
 * outermost last; returns how many there are. */
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

/* As the program in the kernel sets them. */
static guint32
record_flags (const guint64 *words, guint32 n)
{
  guint32 flags = g_test_rand_bit () ? LU_BPF_RECORD_KERNEL : 0;

  for (guint32 i = 0; i < n; i++)
    if ((words[i] & LU_BPF_PC_GUESSED) != 0)
      flags |= LU_BPF_RECORD_GUESSED;
  return flags;
}

static void
check (const LuStackMessage *got, const LuEvent *event, LuProcess *process, LuSpace *space)
{
  static LuStack stack;
  LuFrame kernel[LU_BPF_MAX_KERNEL];
  guint32 n_kernel = lu_walked_kernel_frames (&event->walked, kernel);

  lu_stack_reset (&stack);
  lu_walked_take (&event->walked, process, space, &stack);
  g_assert_cmpint (got->status, ==, stack.status);
  g_assert_cmphex (got->end_pc, ==, stack.end_pc);
  g_assert_cmpuint (got->header.time, ==, event->time);
  g_assert_cmpint (got->header.cpu, ==, event->cpu);
  g_assert_cmpint (got->header.pid, ==, event->pid);
  g_assert_cmpint (got->header.tid, ==, event->tid);
  g_assert_true (got->header.process == process && got->header.space == space && got->in_kernel);
  g_assert_cmpmem (got->frames, got->n_kernel * sizeof (LuFrame), kernel,
                   n_kernel * sizeof (LuFrame));
  g_assert_cmpmem (got->frames + n_kernel, got->n_user * sizeof (LuFrame), stack.frames,
                   stack.n_frames * sizeof (LuFrame));
  for (guint i = 0; i < stack.n_frames; i++)
    g_assert_false (got->has_no_guesses && (stack.frames[i].flags & LU_FRAME_GUESSED) != 0);
}

/* Some go before the first of them comes, others at once. */
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
      LuProcess *process = self->processes[which];
      LuSpace *space = lu_process_space (process);
      LuEvent event = {
        .kind = LU_EVENT_WALKED, .cpu = 1, .pid = 10, .tid = (gint32) i, .time = 100 + i
      };
      LuStatus status;

      n_user = change_stack (user, n_user);
      for (guint k = 0; k < n_kernel; k++)
        words[k] = 0xffffffff81000000 + (guint64) g_test_rand_int_range (1, CODE_BYTES);
      memcpy (words + n_kernel, user, n_user * sizeof *user);
      event.walked = (LuWalkedStack){
        .status = g_test_rand_bit () ? LU_STATUS_COMPLETE : LU_STATUS_DEPTH_LIMIT,
        .serial = g_test_rand_bit () ? lu_space_serial (space) : self->old_serials[which],
        .ip = 0xffffffff81000010,
        .flags = record_flags (user, n_user),
        .n_kernel = n_kernel,
        .n_user = n_user,
        .pcs = (const guint8 *) words
      };
      g_assert_true (lu_walked_send (&self->sender, self->queue, &event, process, space, &status));
      check (lu_walked_receive (self->receiver, lu_queue_peek (self->queue, NULL)), &event, process,
             space);
      lu_queue_release (self->queue);
      n_of[status]++;
    }
  g_assert_cmpuint (n_of[LU_STATUS_COMPLETE], >, N_EVENTS / 10);
  g_assert_cmpuint (n_of[LU_STATUS_STALE_MAPPING], >, N_EVENTS / 100);
  g_assert_cmpuint (n_of[LU_STATUS_NO_MAPPING], >, N_EVENTS / 100);
}

/* What did not go is not what the next one is compared with, and no reference is lost. */
static void
test_no_room (Fixture *self, gconstpointer data)
{
  guint64 words[] = { PROGRAM + 1, PROGRAM + 2, PROGRAM + 3 };
  LuProcess *process = self->processes[0];
  LuSpace *space = lu_process_space (process);
  LuEvent event = { .kind = LU_EVENT_WALKED,
                    .walked = { .status = LU_STATUS_COMPLETE,
                                .serial = lu_space_serial (space),
                                .n_user = G_N_ELEMENTS (words),
                                .pcs = (const guint8 *) words } };
  LuStatus status;
  guint n = 0;

  while (lu_walked_send (&self->sender, self->queue, &event, process, space, &status))
    {
      words[0]++;
      n++;
    }
  for (guint i = 0; i <= n; i++)
    {
      const LuStackMessage *got;

      if (i == n)
        g_assert_true (
            lu_walked_send (&self->sender, self->queue, &event, process, space, &status));
      got = lu_walked_receive (self->receiver, lu_queue_peek (self->queue, NULL));
      g_assert_cmpuint (got->n_user, ==, G_N_ELEMENTS (words));
      g_assert_cmphex (got->frames[0].pc, ==, PROGRAM + 1 + i);
      g_assert_cmphex (got->frames[2].pc, ==, PROGRAM + 3);
      g_assert_true (got->has_no_guesses);
      g_assert_true (got->header.process == process);
      lu_queue_release (self->queue);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add ("/walked-queue/whatever-changes", Fixture, NULL, set_up, test_whatever_changes,
              tear_down);
  g_test_add ("/walked-queue/no-room", Fixture, NULL, set_up, test_no_room, tear_down);
  return g_test_run ();
}
