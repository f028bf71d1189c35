/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* walk.h - one walk under way in the kernel, as its parts share it, and what its CPU remembers.
 *
 * Compiled twice: into the BPF program, and into a program of tests that gives it memory and stacks
 * (host.h). A walk is a sequence of subprograms. Each is a global function, which the verifier
 * checks once, by itself, with any state; so the state is in a map and not in arguments, and a long
 * walk costs no more to verify than a short one. A subprogram that cannot give exactly the table
 * engine's result (src/unwind) returns a reason, and the sample falls back. */

#pragma once

#include "walk-arch.h" /* before lu/step.h */

#include "lu/bpf.h"
#include "lu/compact-rule.h"
#include "lu/frame-pointer.h"
#include "lu/leaf.h"
#include "lu/root.h"
#include "lu/status.h"
#include "lu/step.h"

/* The result of a subprogram: ON, ENDED (the last frame is the outermost one), the next subprogram,
 * or NEXT_GIVE_UP + enum lu_bpf_reason. */
enum next
{
  NEXT_ON,
  NEXT_ENDED,
  NEXT_DEPTH,
  NEXT_OTHER_STACK, /* the stack belongs to another process again */
  NEXT_MAPPING,     /* walk-look.h */
  NEXT_RULE,        /* walk-look.h */
  NEXT_RARE,        /* walk-rare.h */
  NEXT_FP_STEP,     /* walk-frame-pointer.h */
  NEXT_GIVE_UP,
};

#define GIVE_UP(REASON) (NEXT_GIVE_UP + LU_BPF_REASON_##REASON)

/* A mapping that the walk has visited. */
struct visited_mapping
{
  uint64_t start, size;
  uint64_t to_key; /* run-time address + to_key: the key of remembered rules */
  uint64_t bias;
  uint32_t module, kind;
  uint64_t rules_size; /* size if the file has a table, otherwise 0 */
};

struct caller
{
  uint64_t pc, sp, fp;
};

/* In walk.known: fp is the address where FP is saved. */
#define KNOWN_FP_SAVED (1u << 2)

_Static_assert(KNOWN_FP_SAVED == LU_COMPACT_FP_DEEP, "a compact step sets it");

/* A power of two, so that a mask bounds an index. */
#define N_PCS 8192

/* Returns -1 if the value is negative, otherwise 0, without a branch: the verifier would follow
 * both ways at each step of a search. */
static inline uint64_t
is_negative (uint64_t value)
{
  int64_t mask;

  asm volatile("" : "+r"(value));
  mask = (int64_t) value >> 63;
  asm volatile("" : "+r"(mask));
  return (uint64_t) mask;
}

/* Returns 1 if the value is negative, otherwise 0, to be multiplied with a constant: verifiers
 * since 6.16 follow both values of a mask that is combined with one. */
static inline uint64_t
negative_bit (uint64_t value)
{
  asm volatile("" : "+r"(value));
  value >>= 63;
  asm volatile("" : "+r"(value));
  return value;
}

#define PAGE_BYTES 4096
/* Bytes of the stack that are read at once, at most. */
#define WINDOW_BYTES PAGE_BYTES
#define LINE_BYTES   64
/* FP and the return address; the most that is taken out of the window at once. */
#define PAIR_BYTES 16

/* The stack from `at` on, as it was when the walk came there. Words and pairs may begin at this
 * many offsets; 0: nothing was read. */
struct window
{
  uint64_t at, n_words, n_pairs;
  uint8_t bytes[WINDOW_BYTES + PAIR_BYTES]; /* a mask bounds an offset */
  uint64_t word;                            /* read by read_stack() */
};

/* The number of rules that a CPU remembers, as bits. */
#define REMEMBERED_BITS 13

struct remembered
{
  uint64_t key; /* 0: empty */
  lu_compact_rule rule;
};

struct remembered_rules
{
  struct remembered rules[1 << REMEMBERED_BITS];
  uint64_t set_up[1 << LU_FP_SET_UP_BITS]; /* code whose frames were seen to be set up */
  uint64_t hotspot[1 << LU_FP_HOTSPOT_BITS];
  uint64_t n_set_up;
};

/* Powers of two. */
#define N_TOUCHED_RULES  32
#define N_TOUCHED_PLACES 8

/* The places that the last walks have used (walk-touch.h). */
struct touched
{
  uint16_t rules[N_TOUCHED_RULES];     /* remembered ones, by the frame's number */
  uint16_t modules[N_TOUCHED_PLACES];  /* slots */
  uint32_t mappings[N_TOUCHED_PLACES]; /* words after the process' first mapping */
  uint32_t n_places;                   /* that were looked up, of which there are the last ones */
  uint32_t identity, announcer;        /* indexes */
};

/* The entry of which walk.process is a copy, without changes. */
struct copied_entry
{
  uint64_t changes; /* lu_bpf_shared.process_changes before it was copied */
  uint32_t tgid;    /* 0: none */
};

struct walk
{
  struct touched touched;
  uint64_t regs[N_REGS]; /* of the sample, in user mode */

  /* The next frame, which is not among the pcs yet. FP and BX are read when a rule needs them:
   * until then FP is at address fp if KNOWN_FP_SAVED is set, and BX at address bx_at if that is not
   * 0. */
  uint64_t pc, sp, fp, bx, bx_at;
  uint64_t mark;     /* LU_BPF_PC_RETURN, LU_BPF_PC_INFERRED, LU_BPF_PC_DERIVED */
  uint64_t ucontext; /* as in struct lu_regs */
  uint64_t link;     /* the link register, if it is known */
  uint32_t known;    /* enum lu_known, and KNOWN_FP_SAVED */
  uint32_t frame_kind;

  struct visited_mapping place, before;
  struct visited_mapping seen, found; /* by a frame-pointer step, and by find_place() */
  struct caller caller;               /* found by a frame-pointer step */
  struct lu_rule rule;                /* for NEXT_RARE */
  struct lu_regs step;                /* for NEXT_RARE */
  uint64_t saved;                     /* a register saved by the frame */
  struct remembered last;             /* the rule of the last frame, which often calls itself */

  struct lu_bpf_process process; /* a copy of the entry in use */
  struct copied_entry copied;
  uint32_t has_entry; /* the entry of an ancestor counts */
  uint32_t by_vmas;   /* mappings are looked up in the kernel's own list */
  int64_t why;        /* by_vmas: the result that made it necessary */
  uint64_t vma_marks;
  uint64_t forgotten;      /* for HOST_FORGET() */
  uint64_t word_at, below; /* the next word to check; the last one, for another owner */
  uint32_t has_rule, is_called_here, is_proved; /* of find_other_owner() */
  uint32_t n_kernel;
  uint32_t at, limit; /* of the next pc, and the limit */
  uint32_t n_missed, n_inferred;
  uint32_t n_rules;           /* looked up by frame-pointer steps */
  uint32_t interp;            /* of the code that was passed: as lu_bpf_shared.interp_of */
  uint32_t interp_tasks;      /* the same of tasks in a file of their own */
  uint64_t interp_bias;       /* of the interpreter's mapping */
  uint32_t n_unannounced;     /* arguments that found no room */
  uint64_t start_ns, last_fp; /* last_fp: of the previous frame-pointer step */
  uint64_t failed_ea;
  uint64_t node[32]; /* of the kernel's tree of mappings */
  uint8_t code[64];  /* that may lead to a return: LU_LEAF_BYTES; a mask bounds an index */

  union
  {
    struct lu_bpf_record record;
    struct
    {
      uint64_t record_head[sizeof (struct lu_bpf_record) / 8];
      uint64_t pcs[N_PCS];
    };
    struct /* before the walk */
    {
      uint64_t arguments_head[sizeof (struct lu_bpf_arguments) / 8];
      uint8_t arguments[LU_BPF_MAX_ARGUMENTS + 1];
    };
  };

  struct window window;
  struct remembered_rules remembered; /* kept from walk to walk */
};

static inline uint64_t
remembered_at (uint64_t key)
{
  return key * 0x9e3779b97f4a7c15ull >> (64 - REMEMBERED_BITS);
}
