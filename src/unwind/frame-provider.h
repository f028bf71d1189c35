/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* frame-provider.h - finds the caller of a frame that has no unwind information.
 *
 * In the middle of a walk, both engines ask the providers listed in frame-provider.c, in that
 * order, so they give the same stacks. A provider sees registers, the copied stack and what the
 * engine knows about code; it reads nothing from the sampled process. The drain thread must not
 * touch files: where a provider needs one, it returns UNKNOWN, the sample goes to the worker, and
 * the dwfl engine unwinds it from frame 0. docs/HOWTO-add-a-frame-provider.md. */

#pragma once

#include "lu/frame-pointer.h"
#include "unwind/dwfl-address-space.h"

/* The registers that providers know of a frame. */
typedef struct
{
  guint64 pc, sp, fp;
  /* With a link register: `sp` of a caller that was found is its own, and not the place of a record
   * to which its callee's frame pointer leads. */
  gboolean has_sp;
} LuFrameRegs;

typedef enum
{
  LU_PROVIDER_NONE,    /* not this provider's frame, or no caller that can be believed */
  LU_PROVIDER_FOUND,   /* the caller */
  LU_PROVIDER_BEYOND,  /* the caller's frame is outside the copy, unless a later provider steps */
  LU_PROVIDER_UNKNOWN, /* a file has to be read first, which only the worker may do */
  LU_PROVIDER_END,     /* no later provider may step either */
} LuProviderResult;

/* Code where frames were seen to be set up, as hashes (lu_fp_set_up_key()). Belongs to one engine.
 */
typedef struct
{
  guint64 generated[1 << LU_FP_SET_UP_USER_BITS];
  guint64 in_files[1 << LU_FP_SET_UP_USER_BITS];
  guint64 hotspot[1 << LU_FP_HOTSPOT_BITS]; /* of LU_FP_HOTSPOT_CODE */
  guint n_notes;                            /* of generated code */
} LuSetUpCode;

typedef guint32 LuLeaf; /* lu_leaf_of() */

/* A return address into a mapping, and the code that the call before it may have led to. */
typedef struct
{
  const LuDwflMapping *mapping, *code;
  guint64 pc, to;
  gboolean is_exact; /* `to` is where a function begins that the table of `code` knows, and in the
                        same file the call must lead to it, not only near it */
} LuFrameCall;

/* An engine's knowledge about code. `data` is LuFrameContext.data. The last four return UNKNOWN if
 * the answer has to be read from a file and the caller must not do that. */
typedef struct
{
  /* Returns the mapping that holds an address, or NULL. */
  const LuDwflMapping *(*find) (gpointer data, guint64 address);
  /* Returns what the table says about an address in a file; never UNKNOWN. */
  enum lu_fp_rule (*rule_at) (gpointer data, const LuDwflMapping *mapping, guint64 lookup);
  /* Returns the kind of call before a return address into a file. */
  LuCallKind (*call_before) (gpointer data, const LuDwflMapping *mapping, guint64 pc);
  /* FOUND: the call leads to the code, or to any code, because it is an indirect one. */
  LuProviderResult (*leads_to) (gpointer data, const LuFrameCall *call);
  /* FOUND: the call leads to a function that cannot have gone on to the code. */
  LuProviderResult (*leads_away) (gpointer data, const LuFrameCall *call);
  /* Returns what the function that the direct call leads to, in the same file, proves about its
   * frame at the code: FRAMED, BARE, or UNDECIDED. */
  LuLeaf (*frame_at) (gpointer data, const LuFrameCall *call);
  /* Returns what the code of a file shows from `pc` on. */
  LuLeaf (*leaf_at) (gpointer data, const LuDwflMapping *mapping, guint64 pc);
} LuFrameOps;

/* State that the steps of one walk share. */
typedef struct
{
  guint64 serial;  /* of the address space */
  guint64 last_fp; /* of the previous frame-pointer step; 0: none */
  guint n_rules;   /* looked up so far */
} LuProviderState;

/* One question to the providers. */
typedef struct
{
  const LuArch *arch;
  const LuSample *sample;
  guint64 sampled_sp;
  gboolean is_exact;     /* the pc is not a return address: its frame may not be set up */
  gboolean is_generated; /* the frame's code is in no file; set by lu_frame_providers_step() */
  gboolean has_hotspot;  /* lu_address_space_has_hotspot() */
  gboolean has_link;     /* the next is known */
  guint64 link;          /* the link register of a frame whose pc is exact */
  LuProviderState state;
  LuSetUpCode *set_up; /* known, and added to */
  guint64 no_code;     /* regions (lu_view_region_of()) that hold no code; 0: not known */
  const LuFrameOps *ops;
  gpointer data;

  /* Set by a provider that has gone by frame pointer, its address and the two words there alone.
   * The step may then be repeated without asking again. */
  gboolean is_repeatable;
} LuFrameContext;

typedef struct
{
  const char *name;
  /* Looks for the caller of `frame`, whose code is in `mapping`. Fills `caller` if FOUND; no other
   * registers of the caller are known then. The frame pointer of `frame` is known. */
  LuProviderResult (*step) (LuFrameContext *context, const LuDwflMapping *mapping,
                            const LuFrameRegs *frame, LuFrameRegs *caller);
} LuFrameProvider;

extern const LuFrameProvider lu_frame_pointer_provider;
extern const LuFrameProvider lu_python_trampoline_provider;

/* Asks the providers in turn. Returns NONE, FOUND, BEYOND or UNKNOWN. */
LuProviderResult lu_frame_providers_step (LuFrameContext *context, const LuDwflMapping *mapping,
                                          const LuFrameRegs *frame, LuFrameRegs *caller);

/* For providers */

/* Reads the word at a run-time address; FALSE if it is not in the copy. */
static inline gboolean
lu_frame_read_word (const LuFrameContext *self, guint64 address, guint64 *value)
{
  guint size = self->arch->word_size;
  guint64 offset = address - self->sampled_sp; /* large for an address below the copy */
  guint32 narrow;

  if (self->sample->stack_size < size || offset > self->sample->stack_size - size)
    return FALSE;
  if (G_LIKELY (size == sizeof *value))
    {
      memcpy (value, self->sample->stack + offset, sizeof *value);
      return TRUE;
    }
  memcpy (&narrow, self->sample->stack + offset, sizeof narrow);
  *value = narrow;
  return TRUE;
}

/* Looks up the rule of an address in a file, within the budget of the walk. */
static inline enum lu_fp_rule
lu_frame_rule_at (LuFrameContext *self, const LuDwflMapping *mapping, guint64 lookup)
{
  return self->state.n_rules++ < LU_FP_MAX_RULES ? self->ops->rule_at (self->data, mapping, lookup)
                                                 : LU_FP_RULE_OTHER;
}
