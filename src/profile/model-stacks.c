/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* model-stacks.c - the tree of stacks of a model; see model-private.h. */

#include "model-private.h"

#include "capture/syscap-frames.h"
#include "capture/syscap-stack.h"

/* Each takes 13 to 25 bytes. */
#define MAX_NODES (512u << 10)
/* Additional nodes for the places where stacks leave the tree. */
#define MAX_REST_NODES (32u << 10)
/* Triples of event, thread and stack; each takes 29 to 45 bytes. */
#define MAX_COUNTED (512u << 10)
/* Each takes 80 to 130 bytes. */
#define MAX_FRAMES    (128u << 10)
#define NO_MODULE     G_MAXUINT32
#define KERNEL_FRAME  (G_GUINT64_CONSTANT (1) << 62)
#define STATE_FRAME   (G_GUINT64_CONSTANT (2) << 62)
#define PROCESS_FRAME (G_GUINT64_CONSTANT (3) << 62)

/* Frames */

/* Returns the frame LU_MODEL_REST, which is made when it is first needed. */
static guint32
get_rest_frame (LuModel *self)
{
  LuModelFrame frame = { .kind = LU_CODE_STATE, .module = NO_MODULE, .address = LU_MODEL_REST };

  if (self->rest_frame != G_MAXUINT32)
    return self->rest_frame;
  lu_model_learn_state (self, LU_MODEL_REST, LU_MODEL_REST_NAME);
  self->rest_frame = lu_id_table_add (self->frame_ids, STATE_FRAME, LU_MODEL_REST);
  if (self->rest_frame == self->frames->len)
    g_array_append_val (self->frames, frame);
  return self->rest_frame;
}

static guint32
add_frame (LuModel *self, guint64 key_a, guint64 key_b, const LuModelFrame *frame)
{
  guint32 id;

  if (self->frames->len >= MAX_FRAMES)
    {
      id = lu_id_table_find (self->frame_ids, key_a, key_b);
      return id != G_MAXUINT32 ? id : get_rest_frame (self);
    }
  id = lu_id_table_add (self->frame_ids, key_a, key_b);
  if (id == self->frames->len)
    g_array_append_val (self->frames, *frame);
  return id;
}

static guint32
user_frame (LuModel *self, const LuModelPid *pid, const LuSyscapRecord *record, guint64 address)
{
  const LuSyscapMapping *mapping =
      pid->maps != NULL ? lu_syscap_maps_find (pid->maps, address) : NULL;
  LuModelFrame frame = { .kind = LU_CODE_NOWHERE,
                         .module = NO_MODULE,
                         .address = address,
                         .pid = record->pid,
                         .time = record->time };
  const LuModelModule *module;

  if (mapping == NULL)
    return add_frame (self, PROCESS_FRAME | (guint32) record->pid, address, &frame);
  frame.module = mapping->module_id - 1;
  frame.file_offset = address - mapping->start + mapping->file_offset;
  module = g_ptr_array_index (self->modules, frame.module);
  frame.kind = module->is_generated ? LU_CODE_GENERATED : LU_CODE_USER;
  if (module->is_generated)
    return add_frame (self, PROCESS_FRAME | (guint32) record->pid, address, &frame);
  return add_frame (self, frame.module, frame.file_offset, &frame);
}

static guint32
find_frame (LuModel *self, const LuModelPid *pid, const LuSyscapRecord *record, guint64 address,
            guint64 context)
{
  LuModelFrame frame = {
    .module = NO_MODULE, .address = address, .pid = record->pid, .time = record->time
  };

  if (context == PERF_CONTEXT_USER && !lu_is_synthetic (address))
    return user_frame (self, pid, record, address);
  frame.kind = lu_is_function (address)    ? LU_CODE_FUNCTION
               : lu_is_synthetic (address) ? LU_CODE_STATE
                                           : LU_CODE_KERNEL;
  return add_frame (self, frame.kind == LU_CODE_KERNEL ? KERNEL_FRAME : STATE_FRAME, address,
                    &frame);
}

/* The tree */

/* Returns the node of LU_MODEL_REST below `node` if there is room for it, or else of the one at the
 * root.
 */
static guint32
rest_below (LuModel *self, guint32 node)
{
  guint64 rest = get_rest_frame (self);
  guint32 id = lu_id_table_find (self->nodes, (guint64) node << 32 | rest, 0);

  if (id == G_MAXUINT32 && lu_id_table_size (self->nodes) >= MAX_NODES + MAX_REST_NODES)
    node = 0;
  return lu_id_table_add (self->nodes, (guint64) node << 32 | rest, 0) + 1;
}

/* Returns the node of a stack. *is_whole becomes FALSE if the tree has no room for all of it. */
static guint32
add_stack (LuModel *self, const guint32 *frames, guint n_frames, gboolean *is_whole)
{
  guint32 node = 0;

  *is_whole = TRUE;
  for (guint i = n_frames; i > 0; i--)
    {
      guint64 key = (guint64) node << 32 | frames[i - 1];
      guint32 next;

      if (lu_id_table_size (self->nodes) < MAX_NODES)
        next = lu_id_table_add (self->nodes, key, 0);
      else
        {
          next = lu_id_table_find (self->nodes, key, 0);
          if (next == G_MAXUINT32)
            {
              *is_whole = FALSE;
              return rest_below (self, node);
            }
        }
      node = next + 1;
    }
  return node;
}

static void
count_states (LuModel *self, const LuSyscapRecord *record, gboolean has_user)
{
  guint n = record->sample.n_addresses;
  guint64 root = n > 0 ? record->sample.addresses[n - 1] : 0;
  gboolean ended = lu_is_synthetic (root) && root != LU_SYSCAP_LEFT_OUT && !lu_is_function (root);
  gboolean excluded = ended && root - LU_SYNTHETIC_BASE < LU_N_STATUS
                      && lu_status_is_excluded ((LuStatus) (root - LU_SYNTHETIC_BASE));

  if (self->n_samples++ == 0)
    self->begin = self->last = record->time;
  self->begin = MIN (self->begin, record->time);
  self->last = MAX (self->last, record->time);
  if (has_user && !excluded && !self->has_chains_only)
    {
      self->n_user++;
      self->n_complete += !ended;
    }
}

/* Returns the counter of a stack. If there is no room for it, where->node becomes a root for the
 * rest and *is_whole FALSE. */
static LuModelSum *
add_count (LuModel *self, LuModelCount *where, gboolean *is_whole)
{
  guint32 id;

  if (lu_id_table_size (self->counted) >= MAX_COUNTED
      && lu_id_table_find (self->counted, lu_model_count_key (where), 0) == G_MAXUINT32)
    {
      *is_whole = FALSE;
      where->node = rest_below (self, 0);
    }
  id = lu_id_table_add (self->counted, lu_model_count_key (where), 0);
  if (id == self->counts->len)
    g_array_append_val (self->counts, (LuModelSum){ 0 });
  return &g_array_index (self->counts, LuModelSum, id);
}

static void
count (LuModel *self, const LuSyscapRecord *record, guint32 thread, guint32 node, gboolean is_whole)
{
  guint32 event = record->sample.event < lu_model_n_events (self) ? record->sample.event : 0;
  LuModelCount where = { .event = event, .thread = thread, .node = node };
  LuModelSum *sum = add_count (self, &where, &is_whole);

  sum->n++;
  sum->weight += record->sample.weight;
  self->n_left_out += !is_whole;
  if ((self->flags & LU_MODEL_TIMES)
      || ((self->flags & LU_MODEL_SOME_TIMES) && self->samples->len < LU_MODEL_MAX_TIMES))
    {
      LuModelSample sample = { .time = record->time,
                               .weight = record->sample.weight,
                               .thread = thread,
                               .node = where.node,
                               .cpu = (gint16) record->cpu,
                               .event = (guint16) event };

      g_array_append_val (self->samples, sample);
    }
}

void
lu_model_take_sample (LuModel *self, const LuSyscapRecord *record)
{
  LuModelPid *pid = lu_model_get_pid (self, record->pid);
  guint64 context = PERF_CONTEXT_USER;
  gboolean is_leaf = TRUE, has_user = FALSE, is_whole;
  guint32 frames[LU_SYSCAP_MAX_FRAME / sizeof (guint64)]; /* more than a sample can have */
  guint32 node;
  guint n = 0;

  for (guint i = 0; i < MIN (record->sample.n_addresses, G_N_ELEMENTS (frames)); i++)
    {
      guint64 address = record->sample.addresses[i];

      if (address >= PERF_CONTEXT_MAX)
        {
          context = address;
          has_user |= context == PERF_CONTEXT_USER;
          continue;
        }
      if (context == PERF_CONTEXT_USER && !self->is_minus_1 && !is_leaf && address > 0
          && !lu_is_synthetic (address))
        address--;
      frames[n++] = find_frame (self, pid, record, address, context);
      is_leaf = FALSE;
    }
  count_states (self, record, has_user);
  node = add_stack (self, frames, n, &is_whole);
  count (self, record, lu_model_get_thread (self, record, pid), node, is_whole);
}

void
lu_model_add_hits (LuModel *self, const LuSyscapRecord *sample, LuSyscapHits *hits)
{
  lu_syscap_hits_add (hits, &(LuSyscapHitStack){ .pid = sample->pid,
                                                 .time = (guint64) sample->time,
                                                 .maps = lu_model_get_pid (self, sample->pid)->maps,
                                                 .addresses = sample->sample.addresses,
                                                 .n_addresses = sample->sample.n_addresses });
}
