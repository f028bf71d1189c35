/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* interp-stacks.c - puts the functions of interpreters into finished stacks; see interp-stacks.h.
 */

#include "interp-stacks.h"

#include "base/counters.h"
#include "interp/merge.h"
#include "interp/waiters.h"

#include <string.h>

struct _LuInterpStacks
{
  LuFunctions *functions;
  gboolean keeps_native;
  /* Room for one stack: */
  guint8 kinds[LU_STACK_MAX_FRAMES];
  struct lu_interp_frame chain[LU_INTERP_MAX_FRAMES];
  guint64 addresses[LU_INTERP_MAX_FRAMES];
  LuFrame merged[LU_STACK_MAX_FRAMES + LU_INTERP_MAX_FRAMES + 1];
};

LuInterpStacks *
lu_interp_stacks_new (gboolean keeps_native)
{
  LuInterpStacks *self = g_new0 (LuInterpStacks, 1);

  self->functions = lu_functions_new ();
  self->keeps_native = keeps_native;
  return self;
}

void
lu_interp_stacks_free (LuInterpStacks *self)
{
  if (self == NULL)
    return;
  lu_functions_free (self->functions);
  g_free (self);
}

void
lu_interp_stacks_learn (LuInterpStacks *self, const LuInterpFunctionMessage *message)
{
  LuInterpFunction function = message->function;

  function.name_text = message->text;
  function.path_text = message->text + function.name.size;
  function.lines_bytes = function.path_text + function.path.size;
  lu_functions_learn (self->functions, lu_process_id (message->process),
                      lu_process_pid (message->process), &function);
  lu_process_unref (message->process);
}

void
lu_interp_stacks_end (LuInterpStacks *self, gint32 pid)
{
  lu_functions_end (self->functions, pid);
}

/* The mapping of the last frame, because most frames are in one of two files. */
typedef struct
{
  const LuMapping *mapping; /* NULL: none */
  const LuInterp *interp;   /* of its file; NULL: none */
  guint64 bias;
} Place;

static void
find_place (Place *self, const LuAddressSpace *space, guint64 address)
{
  if (self->mapping != NULL && address >= self->mapping->start && address < self->mapping->end)
    return;
  self->mapping = lu_address_space_find (space, address);
  self->interp = self->mapping != NULL ? lu_module_interpreter (self->mapping->module) : NULL;
  if (self->interp != NULL
      && !lu_image_bias (lu_module_image (self->mapping->module), self->mapping->start,
                         self->mapping->file_offset, &self->bias))
    self->interp = NULL;
}

/* Fills in the kind of each frame. Returns whether the leaf may have noted its function only in
 * part.
 */
static gboolean
find_kinds (LuInterpStacks *self, const LuStackMessage *message, guint n_frames)
{
  const LuFrame *frames = message->frames + message->n_kernel;
  const LuModule *module_before = NULL;
  gboolean is_in_steps = FALSE;
  Place place = { NULL };

  for (guint i = 0; i < n_frames; i++)
    {
      guint64 address = frames[i].pc - ((frames[i].flags & LU_FRAME_RETURN_ADDRESS) != 0);
      gboolean is_call;

      find_place (&place, message->header.space, address);
      address -= place.bias;
      is_call = place.interp != NULL && lu_interp_runs_at (place.interp, address);
      self->kinds[i] = is_call ? LU_NATIVE_CALL : LU_NATIVE_OTHER;
      if (is_call && i == 0 && lu_interp_begins_at (place.interp, address))
        {
          self->kinds[0] = LU_NATIVE_BEGINS;
          is_in_steps = address - place.interp->ranges[0].start < place.interp->two_steps;
        }
      if (is_call && place.interp->has_handlers && i > 0 && self->kinds[i - 1] == LU_NATIVE_OTHER
          && module_before == place.mapping->module)
        self->kinds[i - 1] = LU_NATIVE_HANDLER;
      module_before = place.mapping != NULL ? place.mapping->module : NULL;
    }
  return is_in_steps;
}

/* Functions that wait follow those that run, in the order of the stack. */
static void
find_functions (LuInterpStacks *self, const LuStackMessage *message, LuMerge *merge)
{
  guint n_functions = MIN (message->interp.n_frames, LU_INTERP_MAX_FRAMES);
  const LuFunctionsOf of = { .process = lu_process_id (message->header.process),
                             .pid = lu_process_pid (message->header.process),
                             .language = message->interp.language };

  memcpy (self->chain, lu_stack_message_functions (message), n_functions * sizeof *self->chain);
  merge->n_chain = lu_waiters_begin (self->chain, n_functions);
  merge->n_waiters = n_functions - merge->n_chain;
  merge->waiters = self->addresses + merge->n_chain;
  lu_waiters_turn (self->chain + merge->n_chain, merge->n_waiters);
  for (guint i = 0; i < n_functions; i++)
    self->addresses[i] = lu_functions_find (self->functions, &of, &self->chain[i]);
}

static void
count (LuCounters *counters, LuMergeResult result)
{
  lu_count (counters, LU_COUNTER_WITH_FUNCTIONS);
  lu_count_n (counters, LU_COUNTER_FUNCTIONS_PART, result == LU_MERGED_PART);
  lu_count_n (counters, LU_COUNTER_FUNCTIONS_DIFFER, result == LU_MERGE_DIFFER);
}

void
lu_interp_stacks_merge (LuInterpStacks *self, const LuStackMessage *message, LuSinkSample *sample,
                        LuCounters *counters)
{
  LuMerge merge = { .frames = sample->user,
                    .kinds = self->kinds,
                    .n_frames = MIN (sample->n_user, LU_STACK_MAX_FRAMES),
                    .is_whole = message->status == LU_STATUS_COMPLETE,
                    .chain = self->chain,
                    .addresses = self->addresses,
                    .language = message->interp.language,
                    .chain_flags = message->interp.flags,
                    .keeps_native = self->keeps_native };
  guint32 n_native = sample->n_user;

  if (message->interp.language == LU_INTERP_NONE || sample->process == NULL
      || sample->space == NULL)
    return;
  merge.begins_in_two = find_kinds (self, message, merge.n_frames);
  find_functions (self, message, &merge);
  count (counters, lu_merge (&merge, self->merged, &sample->n_user));
  lu_counters_set (counters, LU_COUNTER_FUNCTIONS_UNNAMED, lu_functions_unnamed (self->functions));
  sample->native = sample->user;
  sample->n_native = n_native;
  sample->user = self->merged;
  sample->functions = self->functions;
}
