/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* walk.h - one walk under way in the kernel, as its parts share it, and what its CPU remembers.
 *
 * Compiled twice: into the BPF program, and into a program of tests that gives it memory and stacks
 * (host.h). A walk is made in turns. Each is a global function for the verifier, which checks it
 * once, by itself, with any state whatever; so the state is in a map and not in arguments, and a
 * long walk costs no more to verify than a short one. A turn that cannot say exactly what the table
 * engine would say (src/unwind) gives a reason, and the sample falls back. */

#pragma once

#include "lu/bpf.h"
#include "lu/leaf.h"
#include "lu/status.h"
#include "lu/step.h"

/* What a turn leads to: ON, ENDED (the last frame is the outermost one), another turn, or
 * TURN_GIVE_UP + enum lu_bpf_reason. */
enum turn
{
  TURN_ON,
  TURN_ENDED,
  TURN_DEPTH,
  TURN_MAPPING, /* walk-look.h */
  TURN_RULE,    /* walk-look.h */
  TURN_RARE,    /* walk-rare.h */
  TURN_GUESS,   /* walk-guess.h */
  TURN_GIVE_UP,
};

#define GIVE_UP(REASON) (TURN_GIVE_UP + LU_BPF_REASON_##REASON)

/* A mapping that the walk has been in. */
struct place
{
  uint64_t start, size;
  uint64_t to_key; /* run-time address + to_key: the key of remembered rules */
  uint64_t bias;
  uint32_t module, kind;
  uint64_t plain_size; /* size, if there are rules to look up; else 0 */
};

/* Registers as struct pt_regs of x86-64 has them (asm/ptrace.h). */
enum
{
  REG_FP = 4,
  REG_BX = 5,
  REG_PC = 16,
  REG_CS = 17,
  REG_SP = 19,
  N_REGS = 21
};

/* Of walk.known: fp is not FP, but where it is. */
#define KNOWN_FP_SAVED (1u << 2)

/* A power of two, so that a mask bounds an index. */
#define N_PCS 8192

/* -1 if the value is negative, else 0; nothing that the compiler could make a branch of. Searches
 * step without one: the verifier would follow either way at each step. */
static inline uint64_t
is_negative (uint64_t value)
{
  int64_t mask;

  asm volatile("" : "+r"(value));
  mask = (int64_t) value >> 63;
  asm volatile("" : "+r"(mask));
  return (uint64_t) mask;
}

/* 1 if the value is negative, else 0; with constants this is to be multiplied: verifiers since 6.16
 * follow both values of a mask that meets one. */
static inline uint64_t
negative_bit (uint64_t value)
{
  asm volatile("" : "+r"(value));
  value >>= 63;
  asm volatile("" : "+r"(value));
  return value;
}

/* Rules by key, of one CPU. */
#define REMEMBERED_BITS 13

struct remembered
{
  uint64_t key; /* 0: empty */
  uint64_t plain;
};

/* And places without a rule where frames were seen to be set up, as in guess.c. */
#define SET_UP_BITS 8

struct remembered_rules
{
  struct remembered rules[1 << REMEMBERED_BITS];
  uint64_t set_up[1 << SET_UP_BITS];
  uint64_t n_set_up;
};

struct walk
{
  uint64_t regs[N_REGS]; /* of the sample, in user mode */

  /* The frame that comes next; it is not among the pcs yet. FP and BX are read when a rule asks for
   * them: until then FP is at fp, if KNOWN_FP_SAVED says so, and BX at bx_at, if that is not 0. */
  uint64_t pc, sp, fp, bx, bx_at;
  uint64_t mark;     /* LU_BPF_PC_RETURN, LU_BPF_PC_GUESSED */
  uint64_t ucontext; /* as in struct lu_regs */
  uint32_t known;    /* enum lu_known, and KNOWN_FP_SAVED */
  uint32_t frame_kind;

  struct place place, before;
  struct place seen;  /* by a guess */
  struct place found; /* by find_place() */
  struct
  {
    uint64_t pc, sp, fp;
  } caller;            /* that a guess has found */
  struct lu_rule rule; /* for TURN_RARE */
  struct lu_regs step; /* of that turn */
  uint64_t saved;      /* a register that the frame has saved */

  struct lu_bpf_process process; /* the entry that counts */
  uint32_t has_entry;            /* an ancestor, which is there */
  uint32_t by_vmas;              /* mappings are looked up in the kernel's own list */
  int64_t why;                   /* they are: what is published was not enough */
  uint64_t vma_marks;
  uint64_t forgotten; /* for HOST_FORGET() */
  int64_t result;     /* of the last turn, of the word that a guess has looked at last */
  uint64_t word_at;   /* that a guess looks at next */
  uint32_t n_kernel;
  uint32_t at, limit; /* of the next pc, and one behind the last one that may be */
  uint32_t n_turns;
  uint32_t n_missed, n_guessed;
  uint32_t n_rules;  /* that guesses have asked for */
  uint32_t n_untold; /* arguments that found no room */
  uint64_t start_ns;
  uint64_t last_fp; /* by which the last guess went */
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

  struct remembered_rules remembered; /* stays from walk to walk */
};

static inline uint64_t
remembered_at (uint64_t key)
{
  return key * 0x9e3779b97f4a7c15ull >> (64 - REMEMBERED_BITS);
}

/* Plain rules in 8 bytes: the CFA is SP or FP plus something, the return address just below it, FP
 * and BX are kept or saved in the frame; as in src/unwind/plain.h.
 *
 *  63     32 31     24 23     16 15   8 7     0
 *  | cfa_off | fp depth | bx depth | room | flags |
 * Depths: of the slot below the CFA, in words. Room: the words that must be between SP and CFA. The
 * first flags are those that the caller's walk.known gets, the next three those that it loses. */
enum
{
  PLAIN_FP_SLOT = LU_KNOWN_FP,
  PLAIN_BX_SLOT = LU_KNOWN_BX,
  PLAIN_FP_LATE = KNOWN_FP_SAVED, /* with FP_SLOT, and else */
  PLAIN_BX_LOST = LU_KNOWN_BX << 3,
  PLAIN_FP_PAIR = KNOWN_FP_SAVED << 3, /* with FP_SLOT: just below the return address */
  PLAIN_BY_FP = 1 << 6,                /* cfa = fp + cfa_off, else sp + cfa_off */
  PLAIN_END = 1 << 7,                  /* alone, but for more room than there can be */
};

#define PLAIN_CFA(plain)      ((uint64_t) ((int64_t) (plain) >> 32))
#define PLAIN_FP_DEPTH(plain) ((plain) >> 21 & 0x7f8)
#define PLAIN_BX_DEPTH(plain) ((plain) >> 13 & 0x7f8)
#define PLAIN_ROOM(plain)     ((plain) >> 5 & 0x7f8)
#define PLAIN_ROOM_OF(words)  ((uint64_t) (words) << 8)

/* The depth of a register saved at cfa + 8 * off; 0 if that is not in the frame, below the return
 * address, or too deep. */
static inline uint64_t
plain_depth (const struct lu_rule *rule, int64_t off)
{
  return off <= -2 && off >= -255
                 && (rule->cfa_kind == LU_CFA_FP || rule->cfa_off + 8 * (int64_t) off >= 0)
             ? (uint64_t) -off
             : 0;
}

/* 0: not plain. */
static inline uint64_t
plain_make (const struct lu_rule *rule)
{
  enum lu_save_kind fp = lu_rule_fp_kind (rule), bx = lu_rule_bx_kind (rule);
  uint64_t plain = (uint64_t) (int64_t) rule->cfa_off << 32, depth, room = 1;

  if (rule->ra_kind == LU_RA_END)
    return rule->cfa_kind == LU_CFA_COMPLEX ? 0 : PLAIN_END | PLAIN_ROOM_OF (255);
  if (rule->flags != 0 || rule->ra_kind != LU_RA_AT_CFA || rule->ra_off != -1)
    return 0;
  if (rule->cfa_kind == LU_CFA_FP)
    plain |= PLAIN_BY_FP;
  else if (rule->cfa_kind != LU_CFA_SP)
    return 0;
  if (fp == LU_SAVE_AT_CFA)
    {
      depth = plain_depth (rule, rule->fp_off);
      if (depth == 0)
        return 0;
      plain |= depth << 24 | PLAIN_FP_SLOT | (depth == 2 ? PLAIN_FP_PAIR : PLAIN_FP_LATE);
      room = depth;
    }
  else if (fp != LU_SAVE_SAME)
    return 0;
  if (bx == LU_SAVE_AT_CFA)
    {
      depth = plain_depth (rule, rule->bx_off);
      if (depth == 0)
        return 0;
      plain |= depth << 16 | PLAIN_BX_SLOT;
      room = depth > room ? depth : room;
    }
  else if (bx == LU_SAVE_UNKNOWN)
    plain |= PLAIN_BX_LOST;
  else if (bx != LU_SAVE_SAME)
    return 0;
  return plain | PLAIN_ROOM_OF (room);
}
