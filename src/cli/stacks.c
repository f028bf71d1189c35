/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* stacks.c - `live-unwinder stacks`: prints the stack of every thread now; see commands.h. */

#include "config.h"

#include "commands.h"

#include "base/error.h"
#include "base/json.h"
#include "base/printable.h"
#include "bpf/source-tasks.h"
#include "code/decoder.h"
#include "elf/own-vdso.h"
#include "option-table.h"
#include "report/color.h"
#include "report/pager.h"
#include "report/replay.h"
#include "report/report-print.h"
#include "sandbox/sandbox.h"
#include "session/target.h"

#include <glib/gstdio.h>
#include <stdio.h>

/* Running threads are sampled at this rate, with the largest copy; it keeps the rings small. */
#define FREQUENCY 199

/* As many threads of one stack are listed, and the first. */
#define MAX_LISTED 20

/* TASK_* (linux/sched.h) */
enum
{
  TASK_INTERRUPTIBLE = 1 << 0,
  TASK_UNINTERRUPTIBLE = 1 << 1,
  TASK_STOPPED = 1 << 2,
  TASK_TRACED = 1 << 3,
};

typedef struct
{
  LuOptions targets;
  char **pids, *debuginfod, *color; /* owned */
  gboolean group, full_names, json, no_pager;
} Options;

/* A thread and its stack. */
typedef struct
{
  const LuTask *task;
  const LuModelProcess *process; /* NULL: not known */
  guint32 node;                  /* of the model; 0: it has no stack */
} Row;

static void
options_clear (Options *self)
{
  lu_options_clear (&self->targets);
  g_strfreev (self->pids);
  g_free (self->debuginfod);
  g_free (self->color);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Options, options_clear)

static gboolean
parse (Options *self, int argc, char **argv, GError **error)
{
  LuOptions *targets = &self->targets;
  const GOptionEntry entries[] = {
    { "pid", 'p', 0, G_OPTION_ARG_STRING_ARRAY, &self->pids,
      N_ ("Print the threads of these processes"), N_ ("PID[,PID…]") },
    { "name", 0, 0, G_OPTION_ARG_STRING_ARRAY, &targets->names,
      N_ ("Print those of the processes of this name, or else whose name contains it"),
      N_ ("TEXT") },
    { "all", 'a', 0, G_OPTION_ARG_NONE, &targets->all, N_ ("Print those of all processes"), NULL },
    { "group", 0, 0, G_OPTION_ARG_NONE, &self->group,
      N_ ("Print a stack that several threads of a process have only once"), NULL },
    { "full-names", 0, 0, G_OPTION_ARG_NONE, &self->full_names,
      N_ ("Show names with return types, parameters and all template arguments"), NULL },
    { "json", 0, 0, G_OPTION_ARG_NONE, &self->json,
      N_ ("Print all threads and their frames as JSON"), NULL },
    { "no-pager", 0, 0, G_OPTION_ARG_NONE, &self->no_pager, LU_PAGER_HELP, NULL },
    { "color", 0, 0, G_OPTION_ARG_STRING, &self->color, LU_COLOR_HELP, LU_COLOR_CHOICE },
    { "debuginfod", 0, 0, G_OPTION_ARG_STRING, &self->debuginfod, LU_FETCHER_HELP,
      LU_FETCHER_CHOICE },
    G_OPTION_ENTRY_NULL,
  };
  g_autoptr (GOptionContext) context =
      g_option_context_new (_ ("- what every thread does or waits for now"));

  g_option_context_add_main_entries (context, entries, GETTEXT_PACKAGE);
  if (!g_option_context_parse (context, &argc, &argv, error)
      || !lu_parse_ids (self->pids, "--pid", &targets->pids, error))
    return FALSE;
  if (argc == 1 && (targets->pids != NULL) + (targets->names != NULL) + (targets->all ? 1 : 0) == 1)
    return TRUE;
  g_set_error_literal (error, LU_ERROR, LU_ERROR_INVALID,
                       _ ("Usage: live-unwinder stacks --pid PID | --name TEXT | --all"));
  return FALSE;
}

/* Reading */

/* From here on files of other users are read. */
static void
give_up_rights (void)
{
  g_autoptr (GError) error = NULL;
  gsize vdso_size;

  lu_kernel_vdso_32 (&vdso_size); /* which starts a process */
  lu_decoder_load ();             /* which makes memory executable */
  lu_sandbox_choose_user ();
  lu_sandbox_leave_root ();
  if (!lu_sandbox_drop_capabilities (LU_NEEDS_FILES | LU_NEEDS_PROCESSES | LU_NEEDS_EVENTS, &error)
      || !lu_sandbox_restrict_recorder (&error))
    fprintf (stderr, "live-unwinder: %s\n", error->message);
}

/* Returns the source, owned. threads: see lu_source_tasks_set(). */
static LuSource *
open_source (const Options *self, LuTarget *target, GArray *threads, GError **error)
{
  const LuCommand no_command = { .go_fd = -1, .status_fd = -1 };
  g_autoptr (LuSource) source = lu_source_tasks_new (error);
  LuSource *perf = source != NULL ? lu_target_open (target, &self->targets, &no_command,
                                                    LU_STACK_SIZE_MAX, error)
                                  : NULL;

  return perf != NULL && lu_source_tasks_set (source, perf, target->pids, threads, error)
             ? g_steal_pointer (&source)
             : NULL;
}

/* Returns a model with one sample of each thread, and names. */
static LuModel *
load (const Options *self, LuTarget *target, GArray *threads, GError **error)
{
  g_autoptr (LuKallsymsFile) kallsyms = lu_kallsyms_file_open ();
  g_autoptr (LuDebuginfod) debuginfod = NULL;
  LuReplayOptions options = { .kallsyms = kallsyms, .is_exact = TRUE };
  LuSource *source;
  LuModel *model;

  if (!lu_color_choose (self->color, error)
      || !lu_fetcher_start_for_reader (self->debuginfod, &debuginfod, error))
    return NULL;
  source = open_source (self, target, threads, error);
  if (source == NULL)
    return NULL;
  if (!self->no_pager)
    lu_pager_start ();
  give_up_rights ();
  options.pids = target->pids;
  model = lu_replay_source (source, self->full_names ? LU_MODEL_FULL_NAMES : 0u, &options, error);
  if (model == NULL)
    return NULL;
  model->debuginfod = debuginfod;
  lu_model_name (model, 0);
  model->debuginfod = NULL;
  lu_fetcher_print_summary (debuginfod);
  return model;
}

/* Printing */

static int
compare_rows (gconstpointer a, gconstpointer b)
{
  const LuTask *x = ((const Row *) a)->task, *y = ((const Row *) b)->task;

  if (x->pid != y->pid)
    return x->pid < y->pid ? -1 : 1;
  return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static gboolean
has_ended (const LuTask *task)
{
  GStatBuf info;
  g_autofree char *path = g_strdup_printf ("/proc/%d/task/%d", task->pid, task->tid);

  return g_lstat (path, &info) != 0;
}

/* Returns the rows (of Row), sorted and owned by the caller. Threads that ended before they were
 * sampled are left out. */
static GArray *
make_rows (const LuModel *model, const GArray *threads)
{
  GArray *rows = g_array_new (FALSE, FALSE, sizeof (Row));
  g_autoptr (GHashTable) counts = g_hash_table_new (NULL, NULL);

  for (guint i = 0; i < lu_model_n_counts (model); i++)
    g_hash_table_insert (
        counts, GINT_TO_POINTER (lu_model_thread (model, lu_model_count (model, i).thread)->tid),
        GUINT_TO_POINTER (i + 1));
  for (guint i = 0; i < threads->len; i++)
    {
      Row row = { .task = &g_array_index (threads, LuTask, i) };
      guint index =
          GPOINTER_TO_UINT (g_hash_table_lookup (counts, GINT_TO_POINTER (row.task->tid)));

      if (index != 0)
        {
          LuModelCount count = lu_model_count (model, index - 1);

          row.node = count.node;
          row.process = lu_model_process_of (model, count.thread);
        }
      if (index != 0 || !has_ended (row.task))
        g_array_append_val (rows, row);
    }
  g_array_sort (rows, compare_rows);
  return rows;
}

/* Returns an untranslated text. */
static const char *
state_text (const LuTask *task)
{
  if (task->was_running)
    return N_ ("running");
  if ((task->state & TASK_TRACED) != 0)
    return N_ ("stopped by a tracer");
  if ((task->state & TASK_STOPPED) != 0)
    return N_ ("stopped by a signal");
  if ((task->state & TASK_UNINTERRUPTIBLE) != 0)
    return N_ ("waiting, not interruptible");
  return (task->state & TASK_INTERRUPTIBLE) != 0 ? N_ ("waiting") : N_ ("ready to run");
}

static void
print_thread (const LuTask *task)
{
  g_autofree char *name = lu_printable (task->comm, 0);

  printf ("%d \"%s\" (%s)", task->tid, name, _ (state_text (task)));
}

/* Returns the bytes from the start of the function; 0: not known. The model has the byte before the
 * address where a call returns to. */
static guint64
offset_of (const LuModelFrame *frame, const LuModelFunction *function, gboolean is_caller)
{
  if (!function->has_name || frame->offset == 0 || frame->kind == LU_CODE_STATE)
    return 0;
  return frame->offset + (frame->kind == LU_CODE_USER && is_caller);
}

static void
print_frame (const LuModel *model, guint32 node, guint *number)
{
  const LuModelFrame *frame = lu_model_frame (model, lu_model_node (model, node).frame);
  const LuModelFunction *function = lu_model_function_of (model, node);
  gboolean is_bracketed = function->module[0] == '[';
  g_autoptr (GString) text = g_string_new (function->name);
  guint64 offset = offset_of (frame, function, *number > 0);
  g_autofree char *readable = NULL;

  if (offset != 0)
    g_string_append_printf (text, "+0x%" G_GINT64_MODIFIER "x", offset);
  if (function->module[0] != 0 && (function->has_name || !is_bracketed))
    g_string_append_printf (text, is_bracketed ? " %s" : " (%s)", function->module);
  readable = lu_printable (text->str, 0);
  if (frame->kind == LU_CODE_STATE)
    printf ("      %s\n", readable);
  else
    {
      lu_color_print (frame->kind == LU_CODE_KERNEL ? LU_COLOR_DIM : LU_COLOR_NONE, "  #%-4u%s",
                      (*number)++, readable);
      putchar ('\n');
    }
}

static void
print_stack (const LuModel *model, guint32 node)
{
  guint number = 0;

  if (node == 0)
    printf ("      %s\n", _ ("[no stack: it ran or changed whenever it was looked at]"));
  for (; node != 0; node = lu_model_node (model, node).parent)
    print_frame (model, node, &number);
  putchar ('\n');
}

static void
print_process (const Row *row)
{
  g_autofree char *text =
      lu_printable (row->process != NULL ? row->process->labels.command_line : row->task->comm, 0);

  printf (_ ("Process %d: %s\n\n"), row->task->pid, text);
}

/* Takes the later rows of the same process and stack out of `rows`: their tasks become NULL.
 * Returns those tasks, owned by the caller. */
static GPtrArray *
take_equal (GArray *rows, guint first)
{
  const Row *row = &g_array_index (rows, Row, first);
  GPtrArray *tasks = g_ptr_array_new ();

  for (guint i = first + 1; i < rows->len && row->node != 0; i++)
    {
      Row *other = &g_array_index (rows, Row, i);

      if (other->task == NULL || other->task->pid != row->task->pid || other->node != row->node)
        continue;
      g_ptr_array_add (tasks, (gpointer) other->task);
      other->task = NULL;
    }
  return tasks;
}

static void
print_row (const Options *self, const LuModel *model, GArray *rows, guint index)
{
  const Row *row = &g_array_index (rows, Row, index);
  g_autoptr (GPtrArray) equal = self->group ? take_equal (rows, index) : g_ptr_array_new ();

  if (equal->len == 0)
    printf ("%s ", _ ("Thread"));
  else
    printf (_ ("%u threads: "), equal->len + 1);
  print_thread (row->task);
  for (guint i = 0; i < MIN (equal->len, MAX_LISTED); i++)
    {
      fputs (", ", stdout);
      print_thread (g_ptr_array_index (equal, i));
    }
  puts (equal->len > MAX_LISTED ? ", …" : "");
  print_stack (model, row->node);
}

static void
print_rows (const Options *self, const LuModel *model, GArray *rows)
{
  gint32 pid = 0;

  for (guint i = 0; i < rows->len; i++)
    {
      const Row *row = &g_array_index (rows, Row, i);

      if (row->task == NULL)
        continue;
      if (row->task->pid != pid)
        print_process (row);
      pid = row->task->pid;
      print_row (self, model, rows, i);
    }
}

/* A frame of an end state, or of frames that are left out, has only that. */
static void
add_frame (LuJson *json, const LuModel *model, guint32 node, gboolean is_caller)
{
  const LuModelFrame *frame = lu_model_frame (model, lu_model_node (model, node).frame);
  const LuModelFunction *function = lu_model_function_of (model, node);
  guint64 offset = offset_of (frame, function, is_caller);

  lu_json_begin_object (json, NULL);
  lu_json_add_string (json, frame->kind == LU_CODE_STATE ? "state" : "name", function->name);
  if (!g_str_equal (function->full_name, function->name))
    lu_json_add_string (json, "full_name", function->full_name);
  if (frame->kind != LU_CODE_STATE)
    lu_json_add_string (json, "module", function->module);
  if (offset != 0)
    lu_json_add_int (json, "offset", (gint64) offset);
  lu_json_end_object (json);
}

static void
add_thread (LuJson *json, const LuModel *model, const Row *row)
{
  lu_json_begin_object (json, NULL);
  lu_json_add_int (json, "pid", row->task->pid);
  lu_json_add_int (json, "tid", row->task->tid);
  lu_json_add_string (json, "name", row->task->comm);
  if (row->process != NULL)
    lu_json_add_string (json, "command", row->process->labels.command_line);
  lu_json_add_string (json, "state", state_text (row->task));
  lu_json_begin_array (json, "stack");
  for (guint32 node = row->node; node != 0; node = lu_model_node (model, node).parent)
    add_frame (json, model, node, node != row->node);
  lu_json_end_array (json);
  lu_json_end_object (json);
}

static void
print_json (const LuModel *model, const GArray *rows)
{
  LuJson *json = lu_json_new ();
  g_autofree char *text = NULL;

  lu_json_begin_array (json, "threads");
  for (guint i = 0; i < rows->len; i++)
    add_thread (json, model, &g_array_index (rows, Row, i));
  lu_json_end_array (json);
  text = lu_json_end (json);
  puts (text);
}

static void
print (const Options *self, const LuModel *model, GArray *rows)
{
  if (self->json)
    {
      print_json (model, rows);
      return;
    }
  print_rows (self, model, rows);
  lu_report_print_hints (model);
}

gboolean
lu_stacks_main (int argc, char **argv, GError **error)
{
  g_auto (Options)
      options = { .targets = { .frequency = FREQUENCY,
                               .kernel_walks = { .wanted = LU_KERNEL_WALKS_IF_SAFE } } };
  g_autoptr (GArray) threads = g_array_new (FALSE, FALSE, sizeof (LuTask));
  g_autoptr (GArray) rows = NULL;
  g_autoptr (LuModel) model = NULL;
  LuTarget target = { 0 };

  if (!parse (&options, argc, argv, error))
    return FALSE;
  model = load (&options, &target, threads, error);
  if (model != NULL)
    {
      rows = make_rows (model, threads);
      print (&options, model, rows);
      if (rows->len == 0)
        g_set_error_literal (error, LU_ERROR, LU_ERROR_NO_PROCESS,
                             _ ("no thread could be read; its process may have ended"));
    }
  lu_target_clear (&target);
  return model != NULL && rows->len > 0;
}
