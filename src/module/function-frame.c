/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* function-frame.c - see function-frame.h. */

#include "module/function-frame.h"

#include "arch/arch.h"
#include "base/clock.h"
#include "code/flow.h"
#include "module/code-paths.h"
#include "lu/frame-pointer.h"

/* Functions that are looked at for one answer. */
#define MAX_LOOKS 6

/* Limits for a function whose paths are all followed: bytes of code, instructions, and paths that
 * wait. */
#define REACH_WINDOW 4096
#define MAX_OPS      256
#define MAX_PATHS    32

/* One question. */
typedef struct
{
  LuCodeReader *reader;
  const LuMappedModule *mapped;
  guint64 address;
  guint64 starts[MAX_LOOKS]; /* functions, looked at or not */
  guint n_starts;
  gboolean is_over_budget;
} Look;

/* Returns the segment of the file that has an ELF address, or NULL. */
static const LuSegment *
segment_of (const Look *self, guint64 address)
{
  LuImage *image = lu_module_image (self->mapped->module);
  const LuSegment *segments;
  guint n;

  if (image == NULL)
    return NULL;
  segments = lu_image_segments (image, &n);
  for (guint i = 0; i < n; i++)
    if (address - segments[i].vaddr < segments[i].file_size)
      return &segments[i];
  return NULL;
}

static gboolean
read_bytes (gpointer data, guint64 address, gpointer bytes, gsize size)
{
  Look *self = data;
  const LuSegment *segment = segment_of (self, address);
  LuCodeResult result;

  if (segment == NULL || size > segment->file_size - (address - segment->vaddr))
    return FALSE;
  result = lu_code_reader_read (self->reader, self->mapped,
                                segment->file_offset + (address - segment->vaddr), bytes, size);
  self->is_over_budget |= result == LU_CODE_OVER_BUDGET;
  return result == LU_CODE_READ;
}

/* Pointers and linkage tables are not looked up: such paths end, or go on as behind any call. */
static gboolean
read_pointer (gpointer data, guint64 address, guint64 *pointer)
{
  return FALSE;
}

static gboolean
is_noreturn (gpointer data, guint64 address)
{
  return FALSE;
}

static guint64
linkage_at (gpointer data, guint64 address)
{
  return 0;
}

/* Adds a function; those near the address come first, because they may have it. n_done: the one
 * that is looked at. */
static void
add_start (Look *self, guint n_done, guint64 start)
{
  for (guint i = 0; i < self->n_starts; i++)
    if (self->starts[i] == start)
      return;
  if (self->n_starts < MAX_LOOKS)
    self->n_starts++;
  else if (self->address - start >= LU_FUNCTION_WINDOW || n_done + 1 == MAX_LOOKS)
    return;
  self->starts[self->n_starts - 1] = start;
  for (guint i = self->n_starts - 1;
       i > n_done + 1 && self->address - self->starts[i] < self->address - self->starts[i - 1]; i--)
    {
      guint64 other = self->starts[i - 1];

      self->starts[i - 1] = self->starts[i];
      self->starts[i] = other;
    }
}

static void
add_jumps (Look *self, guint n_done, LuFlow *flow)
{
  LuExtraRows *rows = lu_extra_rows_new ();

  lu_flow_write (flow, LU_FLOW_ALL, rows);
  for (guint i = 0; i < rows->jumps->len; i++)
    {
      guint64 to = g_array_index (rows->jumps, LuFunctionJump, i).to;

      if (to != LU_JUMP_ANYWHERE)
        add_start (self, n_done, to);
    }
  lu_extra_rows_free (rows);
}

static enum lu_leaf_kind
kind_of (const struct lu_rule *rule)
{
  if (lu_fp_rule_of (rule) == LU_FP_RULE_BY_FP)
    return LU_LEAF_FRAMED;
  return rule->cfa_kind == LU_CFA_SP && rule->cfa_off == 8 && lu_rule_fp_kind (rule) == LU_SAVE_SAME
             ? LU_LEAF_BARE
             : LU_LEAF_UNDECIDED;
}

/* Follows one function. */
static enum lu_leaf_kind
follow (Look *self, guint n_done, const LuCodeBytes *window)
{
  const LuCodeBytes home = { window->start, 1, window->bytes };
  g_autoptr (GArray) ranges = g_array_new (FALSE, FALSE, sizeof (LuCodeBytes));
  g_autoptr (LuCodeHints) hints = NULL;
  g_autoptr (LuFlow) flow = NULL;
  struct lu_rule rule;
  LuFlowFile file = { .read = read_bytes,
                      .read_pointer = read_pointer,
                      .is_noreturn = is_noreturn,
                      .linkage_at = linkage_at,
                      .data = self };

  g_array_append_val (ranges, *window);
  file.hints = hints = lu_code_hints_new (ranges, ranges);
  flow = lu_flow_new (window, &file);
  lu_flow_set_home (flow, &home);
  if (!lu_flow_add_start (flow, window->start, LU_START_CERTAIN, FALSE) || !lu_flow_run (flow))
    return LU_LEAF_UNDECIDED;
  add_jumps (self, n_done, flow);
  return lu_flow_rule_at (flow, self->address, &rule) ? kind_of (&rule) : LU_LEAF_UNDECIDED;
}

/* Looks at the function that is next. */
static enum lu_leaf_kind
look (Look *self, guint n_done)
{
  guint64 start = self->starts[n_done];
  const LuSegment *segment = segment_of (self, start);
  g_autofree guint8 *bytes = NULL;
  LuCodeBytes window = { .start = start };

  if (segment == NULL || !segment->executable)
    return LU_LEAF_UNDECIDED;
  window.size = MIN (LU_FUNCTION_WINDOW, segment->file_size - (start - segment->vaddr));
  window.bytes = bytes = g_malloc (window.size);
  return read_bytes (self, start, bytes, window.size) ? follow (self, n_done, &window)
                                                      : LU_LEAF_UNDECIDED;
}

enum lu_leaf_kind
lu_function_frame_at (LuCodeReader *reader, const LuMappedModule *mapped, guint64 start,
                      guint64 address)
{
  Look self = {
    .reader = reader, .mapped = mapped, .address = address, .starts = { start }, .n_starts = 1
  };
  guint64 begin = lu_thread_cpu_ns ();
  enum lu_leaf_kind kind = LU_LEAF_UNDECIDED;

  if (!lu_decoder_load ())
    return LU_LEAF_UNDECIDED;
  if (!lu_code_reader_may_work (reader, mapped->pid))
    return LU_LEAF_UNKNOWN;
  for (guint i = 0; i < self.n_starts && kind == LU_LEAF_UNDECIDED; i++)
    kind = look (&self, i);
  lu_code_reader_charge (reader, mapped->pid, lu_thread_cpu_ns () - begin);
  return kind == LU_LEAF_UNDECIDED && self.is_over_budget ? LU_LEAF_UNKNOWN : kind;
}

static gboolean
note_frame (const LuOp *op, gpointer user_data)
{
  gboolean *has_frame = user_data;

  *has_frame |= op->kind == LU_OP_COPY && op->dst == LU_CODE_FP && op->src == LU_CODE_SP;
  return TRUE;
}

/* Returns whether the function sets up a frame, and all its paths end with a return. Without a
 * frame it may have pushed the address to which it returns, as code against speculation does. */
static gboolean
follow_all (LuCodePaths *paths)
{
  gboolean has_frame = FALSE;

  paths->func = note_frame;
  paths->user_data = &has_frame;
  return lu_code_paths_follow (paths, 0) && has_frame;
}

/* Like LuArchFiles.may_hold_frame_end(); of a module with an image. */
static gboolean
may_hold_frame_end (const Look *self, const guint8 *bytes, gsize n)
{
  const LuArch *arch =
      lu_arch_with_tables (lu_image_machine (lu_module_image (self->mapped->module)));

  return arch != NULL && arch->files.may_hold_frame_end != NULL
         && arch->files.may_hold_frame_end (bytes, n);
}

/* Reads the function, and looks for its end before the address first. FALSE: it is not to be
 * followed. */
static gboolean
begin_paths (Look *self, LuCodePaths *paths, guint8 *bytes, LuReach *reach)
{
  guint64 distance = self->address - paths->start;
  const LuSegment *segment = segment_of (self, paths->start);
  guint n;

  *reach = LU_REACH_ANYWHERE;
  if (segment == NULL || !segment->executable || !lu_decoder_load ())
    return FALSE;
  paths->size = (guint) MIN (REACH_WINDOW, segment->file_size - (paths->start - segment->vaddr));
  n = (guint) MIN (distance, paths->size);
  if (!read_bytes (self, paths->start, bytes, n))
    return FALSE;
  if (distance < paths->size)
    *reach = LU_REACH_HERE;
  return may_hold_frame_end (self, bytes, n)
         && read_bytes (self, paths->start + n, bytes + n, paths->size - n);
}

LuCodeResult
lu_function_reach (LuCodeReader *reader, const LuMappedModule *mapped, guint64 start,
                   guint64 address, LuReach *reach)
{
  Look self = { .reader = reader, .mapped = mapped, .address = address };
  guint8 bytes[REACH_WINDOW];
  LuCodePaths paths = {
    .start = start, .bytes = bytes, .max_ops = MAX_OPS, .max_paths = MAX_PATHS
  };

  if (!begin_paths (&self, &paths, bytes, reach))
    return self.is_over_budget ? LU_CODE_OVER_BUDGET : LU_CODE_READ;
  *reach = !follow_all (&paths)                          ? LU_REACH_ANYWHERE
           : lu_code_paths_has (&paths, address - start) ? LU_REACH_HERE
                                                         : LU_REACH_ELSEWHERE;
  return LU_CODE_READ;
}
