/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* guess.h - the caller of code that has no unwind information: by frame pointer, if all that can be
 * checked agrees.
 *
 * Used by both engines, which give the same stacks: generated code, hand-written code, start files.
 * A guess is believed only if the frame pointer lies in the copied stack, is aligned, not below the
 * stack pointer and above that of the last guess, and leads to a return address in executable
 * memory that stands behind a call wherever that can be read. What the code itself did to the stack
 * is not known: two traps that the frame pointer alone leads into are looked for on the stack, see
 * guess.c. Nothing is read from the sampled process. */

#pragma once

#include "module/code-reader.h"
#include "unwind/arch.h"
#include "unwind/dwfl-space.h"
#include "unwind/plain.h"

/* The return address of a leaf of a file may be so many words up: an alignment is above it, or what
 * the first entry of a procedure linkage table has pushed for the dynamic linker. */
#define LU_GUESS_LEAF_WORDS 3

/* What both frames, the one without unwind information and its caller, are described by. */
typedef struct
{
  guint64 pc, sp, fp;
} LuGuessFrame;

typedef enum
{
  LU_GUESS_NONE,    /* nothing that could be believed */
  LU_GUESS_FOUND,   /* the caller */
  LU_GUESS_BEYOND,  /* the frame pointer leads out of the copy, and not too far */
  LU_GUESS_UNKNOWN, /* whether a call stands at some place has to be read first */
} LuGuessResult;

/* What unwind information says of a place in a file. */
typedef enum
{
  LU_GUESS_RULE_NONE,
  LU_GUESS_RULE_BY_FP, /* the CFA is just above the saved frame pointer: code that keeps it */
  LU_GUESS_RULE_OTHER,
} LuGuessRule;

/* Where frames were seen to be set up: the word on top of the stack was no return address there, as
 * it would have to be before that. Of a place in one version of a space, and for some thousand
 * samples, since code may be generated anew at the same place. Belongs to one engine. */
#define LU_GUESS_PLACE_BITS 8

typedef struct
{
  guint64 places[1 << LU_GUESS_PLACE_BITS];
  guint n_noted;
} LuGuessPlaces;

typedef struct _LuGuess LuGuess;

/* Rules that one walk may ask for here; real ones ask for a few. A stack can be full of addresses
 * whose rules nobody has compiled yet. */
#define LU_GUESS_MAX_RULES 1024

struct _LuGuess
{
  const LuArch *arch;
  const LuSample *sample;
  guint64 sampled_sp;
  gboolean is_exact;     /* the pc is not a return address: the frame may not be set up */
  guint64 last_fp;       /* that the last guess of this walk went by; 0: none */
  guint n_rules;         /* that the guesses of this walk have asked for */
  LuGuessPlaces *set_up; /* what is known, and learnt */
  guint64 serial;        /* of the space */
  guint64 no_code;       /* regions (lu_view_region_of()) without code; 0: not known */
  /* Set when words between stack and frame pointer have decided, too. */
  gboolean has_searched;

  /* Of the engine; `data` is handed to all. The mapping of an address, or NULL: */
  const LuDwflMapping *(*find) (gpointer data, guint64 address);
  /* What stands in front of a return address into a file; UNKNOWN if that is not for here: */
  LuCallKind (*call_before) (gpointer data, const LuDwflMapping *mapping, guint64 pc);
  LuGuessRule (*rule_at) (gpointer data, const LuDwflMapping *mapping, guint64 lookup);
  /* FOUND: the code of a file runs from there to a return (lu/leaf.h); UNKNOWN if that is not for
   * here. */
  LuGuessResult (*leaf_at) (gpointer data, const LuDwflMapping *mapping, guint64 pc);
  gpointer data;
};

/* Whether a frame in this mapping can be guessed from, when there is no rule for its place. */
static inline gboolean
lu_guess_is_possible (const LuDwflMapping *mapping)
{
  return mapping->status == LU_STATUS_JIT || mapping->status == LU_STATUS_COMPLETE
         || (mapping->status == LU_STATUS_NO_UNWIND_INFO
             && lu_module_key (mapping->module)->kind != LU_MODULE_VSYSCALL);
}

/* What guesses have found out about places, each in one version of a space, where no other word had
 * to be looked at; nothing else of the place counts. Belongs to one walker. */
#define LU_GUESS_FACT_BITS  10
#define LU_GUESS_FACT_SHIFT 4

enum
{
  LU_GUESS_FROM = 1 << 0,     /* code that returns there has none, and may be guessed from */
  LU_GUESS_TO = 1 << 1,       /* it is a return address to be believed */
  LU_GUESS_TO_JIT = 1 << 2,   /* if the frame pointer there is one */
  LU_GUESS_TO_ASKED = 1 << 3, /* a rule was asked for */
};

typedef struct
{
  struct
  {
    guint64 pc, facts; /* facts: the space's serial number above the bits */
  } places[1 << LU_GUESS_FACT_BITS];
} LuGuessFacts;

/* Both after a caller was found that only the frame pointer and the words there have decided on. */
void lu_guess_facts_note (LuGuessFacts *self, guint64 serial, guint64 pc, guint bits);
/* The same step, if the facts say that it can be made: moves `regs` to the caller and returns
 * LU_PLAIN_GUESS, with LU_PLAIN_GUESS_ASKED. Else 0: lu_guess_caller() has to be asked. `last_fp`
 * and `n_rules` are those of LuGuess. x86-64, no module of the space being opened. */
lu_plain lu_guess_facts_step (const LuGuessFacts *self, guint64 serial, guint64 last_fp,
                              guint n_rules, const struct lu_copy *copy,
                              struct lu_plain_regs *regs);

/* Looks for the caller of `frame`, whose code is in `mapping`. Fills `caller` if FOUND; its other
 * registers are not known. */
LuGuessResult lu_guess_caller (LuGuess *self, const LuDwflMapping *mapping,
                               const LuGuessFrame *frame, LuGuessFrame *caller);

/* Whether a walk that ended so may have been led there by a wrong guess: then the stack ends where
 * that guess was made. */
static inline gboolean
lu_guess_is_refuted_by (LuStatus status)
{
  return status == LU_STATUS_BAD_RETURN_ADDRESS || status == LU_STATUS_NO_MAPPING
         || status == LU_STATUS_OTHER_STACK || status == LU_STATUS_UNREADABLE_MEMORY;
}

/* Whether the code of the mapping runs from there to a return, if that is known; any thread. */
LuGuessResult lu_guess_known_leaf (const LuDwflMapping *mapping, guint64 pc);
/* Reads it, if it is not known, and remembers what it has read; worker thread only. UNKNOWN: over
 * the budget. */
LuGuessResult lu_guess_read_leaf (LuCodeReader *reader, gint32 pid, const LuDwflMapping *mapping,
                                  guint64 pc);

/* What is known of the call in front of a return address into the mapping; any thread. */
LuCallKind lu_guess_known_call (const LuDwflMapping *mapping, guint64 pc);
/* Reads it, if it is not known, and remembers what it has read; worker thread only. UNKNOWN: over
 * the budget. */
LuCallKind lu_guess_read_call (LuCodeReader *reader, gint32 pid, const LuArch *arch,
                               const LuDwflMapping *mapping, guint64 pc);
