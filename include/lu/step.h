/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* step.h - one step up the stack: registers and a rule in, the caller's registers out.
 *
 * Rules are executed only here; the table engine, the BPF program and fuzzers compile it. A
 * register that a rule does not mention is "not known" in the caller, and a later rule that needs
 * it ends the walk with a status. */

#pragma once

#include "lu/row.h"
#include "lu/status.h"

enum lu_known
{
  LU_KNOWN_FP = 1 << 0,
  LU_KNOWN_BX = 1 << 1,
  LU_KNOWN_LINK = 1 << 3, /* bit 2: KNOWN_FP_SAVED in bpf/walk.h */
  /* SP is that of a frame below, because a frame-pointer step does not find it where frame pointers
   * point into frames and not to their ends. */
  LU_LOST_SP = 1 << 4,
};

/* The kind of frame that the registers belong to. */
enum lu_frame_kind
{
  LU_FRAME_KIND_SAMPLED,     /* frame 0: all registers are in the sample, pc is exact */
  LU_FRAME_KIND_INTERRUPTED, /* by a signal: pc is exact; all registers are known if ucontext is */
  LU_FRAME_KIND_CALLER,      /* pc is a return address: its rule is that of pc - 1 */
};

struct lu_regs
{
  uint64_t pc, sp, fp, bx;
  uint64_t link;         /* the link register, on machines that have one */
  uint64_t ucontext;     /* address of an interrupted frame's saved registers; 0: none */
  uint64_t address_mask; /* the bits of an address; cuts the code off a signed return address */
  uint8_t known;         /* enum lu_known */
  uint8_t frame_kind;    /* enum lu_frame_kind */
  /* The word above `ucontext` that has each register, by DWARF number; 0: none has. NULL: as if all
   * were 0. LU_STEP_N_SAVED of them, borrowed (LuArch.saved_words). */
  const uint8_t *saved_words;
};

#define LU_STEP_N_SAVED 33

/* Reads the 8 bytes at a run-time address of the sampled stack; 0 if they cannot be read. */
typedef int (*lu_read_fn) (void *data, uint64_t address, uint64_t *value);
/* A register of the sample by its DWARF number; 0 if the sample does not have it. */
typedef int (*lu_sampled_fn) (void *data, uint32_t number, uint64_t *value);

/* The registers are the caller's now; any other result is an LuStatus. */
#define LU_STEP_CALLER (-1)

/* Keeps the compiler from checking one copy of a value and using another. The BPF verifier must see
 * that both are the same. */
static inline uint64_t
lu_step_settle (uint64_t value)
{
  __asm__("" : "+r"(value));
  return value;
}

/* Makes the BPF program read memory again. Otherwise the verifier follows the code after this point
 * separately for each value that a variable was compared with. */
#ifdef __bpf__
#define LU_STEP_PAUSE() __asm__ volatile("" : : : "memory")
#else
#define LU_STEP_PAUSE() ((void) 0)
#endif

/* The BPF program is for one architecture, which defines these before (walk-arch.h), and the
 * verifier's time grows with its size. LU_STEP_LINK: 1 to compile what only architectures with a
 * link register have: the register, signed return addresses, their signal frames.
 * LU_STEP_SAVED_WORD(): an entry of saved_words. */
#ifndef LU_STEP_LINK
#define LU_STEP_LINK 1
#endif
#ifndef LU_STEP_SAVED_WORD
#define LU_STEP_SAVED_WORD(regs, number)                                                           \
  ((regs)->saved_words != 0 && (number) < LU_STEP_N_SAVED ? (regs)->saved_words[number] : 0u)
#endif

static inline __attribute__ ((always_inline)) int
lu_step_any_register (const struct lu_regs *regs, uint32_t number, lu_read_fn read,
                      lu_sampled_fn sampled, void *data, uint64_t *value)
{
  uint64_t word;

  if (regs->frame_kind == LU_FRAME_KIND_SAMPLED)
    return sampled (data, number, value);
  if (regs->frame_kind != LU_FRAME_KIND_INTERRUPTED || regs->ucontext == 0)
    return 0;
  word = LU_STEP_SAVED_WORD (regs, number);
  return word != 0 && read (data, regs->ucontext + 8 * word, value);
}

/* Like lu_step_cfa(), for the rare kinds. */
static inline __attribute__ ((always_inline)) int
lu_step_rare_cfa (const struct lu_regs *regs, const struct lu_rule *rule, lu_read_fn read,
                  lu_sampled_fn sampled, void *data, uint64_t *cfa)
{
  uint64_t base = regs->sp;
  uint64_t add = (uint64_t) (int64_t) rule->cfa_off;
  uint64_t aux = (uint64_t) (int64_t) rule->aux;

  switch (rule->cfa_kind)
    {
    case LU_CFA_DEREF_FP:
      if ((regs->known & LU_KNOWN_FP) == 0)
        return LU_STATUS_UNSUPPORTED_RULE;
      base = regs->fp;
      break;
    case LU_CFA_BX:
      if ((regs->known & LU_KNOWN_BX) == 0)
        return LU_STATUS_UNSUPPORTED_RULE;
      base = regs->bx;
      break;
    case LU_CFA_PLT:
      add += (regs->pc & 15) >= aux ? 8 : 0;
      break;
    case LU_CFA_DEREF_SP:
      break;
    case LU_CFA_REGISTER:
      if (!lu_step_any_register (regs, (uint32_t) aux, read, sampled, data, &base))
        return LU_STATUS_UNSUPPORTED_RULE;
      break;
    case LU_CFA_NONE:
      return LU_STATUS_NO_UNWIND_INFO;
    default:
      return LU_STATUS_UNSUPPORTED_RULE;
    }
  if ((rule->cfa_kind == LU_CFA_DEREF_SP || rule->cfa_kind == LU_CFA_DEREF_FP)
      && !read (data, base + aux, &base))
    return LU_STATUS_UNREADABLE_MEMORY;
  *cfa = base + add;
  return LU_STEP_CALLER;
}

/* Like lu_step_cfa(), after a frame-pointer step. FP is the frame's own, as in all code that keeps
 * frame pointers; code that saves the caller's FP with the return address beside it has set its own
 * to that place. */
static inline __attribute__ ((always_inline)) int
lu_step_cfa_by_record (const struct lu_regs *regs, const struct lu_rule *rule, uint64_t *cfa)
{
  int64_t record = lu_rule_fp_kind (rule) == LU_SAVE_AT_CFA ? rule->fp_off : 0;

  if ((regs->known & LU_KNOWN_FP) == 0 || record == 0 || rule->flags & LU_RULE_SIGNAL
      || rule->ra_kind != LU_RA_AT_CFA || rule->ra_off != record + 1)
    return LU_STATUS_UNSUPPORTED_RULE;
  if (rule->cfa_kind == LU_CFA_SP)
    *cfa = regs->fp - 8 * (uint64_t) record;
  else if (rule->cfa_kind == LU_CFA_FP)
    *cfa = regs->fp + (uint64_t) (int64_t) rule->cfa_off;
  else
    return LU_STATUS_UNSUPPORTED_RULE;
  return LU_STEP_CALLER;
}

/* Sets `cfa` and returns LU_STEP_CALLER, or the reason why there is no CFA. */
static inline __attribute__ ((always_inline)) int
lu_step_cfa (const struct lu_regs *regs, const struct lu_rule *rule, lu_read_fn read,
             lu_sampled_fn sampled, void *data, uint64_t *cfa)
{
  if (LU_STEP_LINK && __builtin_expect ((regs->known & LU_LOST_SP) != 0, 0))
    return lu_step_cfa_by_record (regs, rule, cfa);
  if (__builtin_expect (rule->cfa_kind == LU_CFA_SP, 1))
    *cfa = regs->sp + (uint64_t) (int64_t) rule->cfa_off;
  else if (rule->cfa_kind != LU_CFA_FP)
    return lu_step_rare_cfa (regs, rule, read, sampled, data, cfa);
  else if ((regs->known & LU_KNOWN_FP) == 0)
    return LU_STATUS_UNSUPPORTED_RULE;
  else
    *cfa = regs->fp + (uint64_t) (int64_t) rule->cfa_off;
  return LU_STEP_CALLER;
}

/* Sets `value` to the caller's FP or BX and returns whether it is known. In an epilogue, CFI still
 * names slots that have been popped, and the registers have their values again. Popped slots are
 * those below the stack pointer, and all slots that are addressed by a frame pointer that points
 * out of the frame, because it is the caller's by now (gcc's realigned frames). */
static inline __attribute__ ((always_inline)) int
lu_step_saved (const struct lu_regs *regs, enum lu_save_kind kind, int16_t off, uint64_t cfa,
               int is_known, lu_read_fn read, void *data, uint64_t *value)
{
  uint64_t slot = 8 * (uint64_t) (int64_t) off;
  int is_running = regs->frame_kind != LU_FRAME_KIND_CALLER;

  switch (kind)
    {
    case LU_SAVE_SAME:
      return is_known;
    case LU_SAVE_AT_CFA:
      slot += cfa;
      break;
    case LU_SAVE_AT_SP:
      slot += regs->sp;
      break;
    case LU_SAVE_AT_FP:
      if ((regs->known & LU_KNOWN_FP) == 0)
        return 0;
      if (is_running && (regs->fp < regs->sp || regs->fp >= cfa))
        return is_known;
      slot += regs->fp;
      break;
    default:
      return 0;
    }
  if (slot < regs->sp && regs->sp - slot <= 128 && is_running)
    return is_known;
  return read (data, slot, value);
}

/* Like lu_step_return_address(), for the rare kinds. */
static inline __attribute__ ((always_inline)) int
lu_step_rare_return_address (const struct lu_regs *regs, const struct lu_rule *rule,
                             lu_read_fn read, lu_sampled_fn sampled, void *data, uint64_t *pc)
{
  uint64_t slot = 8 * (uint64_t) (int64_t) rule->ra_off;

  switch (rule->ra_kind)
    {
    case LU_RA_AT_SP:
      slot += regs->sp;
      break;
    case LU_RA_AT_FP:
      if ((regs->known & LU_KNOWN_FP) == 0)
        return LU_STATUS_UNSUPPORTED_RULE;
      slot += regs->fp;
      break;
    case LU_RA_LINK:
      *pc = regs->link;
      return LU_STEP_LINK && (regs->known & LU_KNOWN_LINK) != 0 ? LU_STEP_CALLER
                                                                : LU_STATUS_UNSUPPORTED_RULE;
    case LU_RA_REGISTER:
      return lu_step_any_register (regs, (uint32_t) rule->aux, read, sampled, data, pc)
                 ? LU_STEP_CALLER
                 : LU_STATUS_UNSUPPORTED_RULE;
    default:
      return LU_STATUS_UNSUPPORTED_RULE;
    }
  return read (data, slot, pc) ? LU_STEP_CALLER : LU_STATUS_UNREADABLE_MEMORY;
}

/* Sets `pc` and returns LU_STEP_CALLER, or the reason why there is no return address. */
static inline __attribute__ ((always_inline)) int
lu_step_return_address (const struct lu_regs *regs, const struct lu_rule *rule, uint64_t cfa,
                        lu_read_fn read, lu_sampled_fn sampled, void *data, uint64_t *pc)
{
  if (__builtin_expect (rule->ra_kind != LU_RA_AT_CFA, 0))
    return lu_step_rare_return_address (regs, rule, read, sampled, data, pc);
  return read (data, cfa + 8 * (uint64_t) (int64_t) rule->ra_off, pc) ? LU_STEP_CALLER
                                                                      : LU_STATUS_UNREADABLE_MEMORY;
}

/* Calls lu_step_saved() for FP, or for BX if is_bx is 1. There is no branch: the BPF verifier would
 * follow both ways where is_bx is not a constant. */
static inline __attribute__ ((always_inline)) int
lu_step_saved_one (const struct lu_regs *regs, const struct lu_rule *rule, uint64_t is_bx,
                   uint64_t cfa, lu_read_fn read, void *data, uint64_t *value)
{
  uint64_t offs = (uint16_t) rule->fp_off | (uint64_t) (uint16_t) rule->bx_off << 16;

  return lu_step_saved (regs, lu_rule_save_kind (rule, is_bx), (int16_t) (offs >> 16 * is_bx), cfa,
                        regs->known >> is_bx & 1, read, data, value);
}

/* A function like lu_step_saved_one(). */
typedef int (*lu_saved_fn) (const struct lu_regs *regs, const struct lu_rule *rule, uint64_t is_bx,
                            uint64_t cfa, lu_read_fn read, void *data, uint64_t *value);

/* Like lu_step(), with another function for saved registers. */
static inline __attribute__ ((always_inline)) int
lu_step_with (struct lu_regs *regs, const struct lu_rule *rule, lu_read_fn read,
              lu_sampled_fn sampled, lu_saved_fn saved, void *data)
{
  uint64_t cfa, pc, fp = regs->fp, bx = regs->bx;
  uint8_t known = 0;
  int is_sigframe = LU_STEP_LINK && (rule->flags & LU_RULE_SIGFRAME) != 0, result;

  if (rule->ra_kind == LU_RA_END)
    return LU_STATUS_COMPLETE;
  result = lu_step_cfa (regs, rule, read, sampled, data, &cfa);
  if (result != LU_STEP_CALLER)
    return result;
  LU_STEP_PAUSE ();
  if ((rule->flags & (LU_RULE_SIGNAL | LU_RULE_SWITCH)) == 0
      && (regs->frame_kind != LU_FRAME_KIND_CALLER ? cfa < regs->sp : cfa <= regs->sp))
    return LU_STATUS_BAD_RETURN_ADDRESS;
  LU_STEP_PAUSE ();
  result = lu_step_return_address (regs, rule, cfa, read, sampled, data, &pc);
  if (result != LU_STEP_CALLER)
    return result;
  LU_STEP_PAUSE ();
  if (saved (regs, rule, 0, cfa, read, data, &fp))
    known |= LU_KNOWN_FP;
  LU_STEP_PAUSE ();
  if (saved (regs, rule, 1, cfa, read, data, &bx))
    known |= LU_KNOWN_BX;
  LU_STEP_PAUSE ();
  if (__builtin_expect (is_sigframe, 0)
      && read (data, regs->sp + 8 * (uint64_t) (int64_t) rule->bx_off, &regs->link))
    known |= LU_KNOWN_LINK;
  regs->ucontext = is_sigframe || (rule->flags & LU_RULE_UCONTEXT) != 0 ? regs->sp : 0;
  regs->frame_kind =
      (rule->flags & LU_RULE_SIGNAL) != 0 ? LU_FRAME_KIND_INTERRUPTED : LU_FRAME_KIND_CALLER;
  regs->pc = LU_STEP_LINK && (rule->flags & LU_RULE_SIGNED) != 0 ? pc & regs->address_mask : pc;
  regs->sp = cfa;
  regs->fp = fp;
  regs->bx = bx;
  regs->known = known;
  return LU_STEP_CALLER;
}

/* Moves `regs` to the caller and returns LU_STEP_CALLER. Otherwise `regs` is unchanged and the
 * result is COMPLETE (the rule says this is the outermost frame), NO_UNWIND_INFO, UNSUPPORTED_RULE
 * (complex, or it needs a register that is not known), UNREADABLE_MEMORY (the reader knows the
 * address) or BAD_RETURN_ADDRESS (the caller's frame would not be above this one). A return address
 * of 0 is not checked here. */
static inline __attribute__ ((always_inline)) int
lu_step (struct lu_regs *regs, const struct lu_rule *rule, lu_read_fn read, lu_sampled_fn sampled,
         void *data)
{
  return lu_step_with (regs, rule, read, sampled, lu_step_saved_one, data);
}
