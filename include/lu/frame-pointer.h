/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* frame-pointer.h - limits and predicates of the frame-pointer step, which finds the caller of code
 * without unwind information.
 *
 * src/unwind/frame-pointer-step.c explains the step and makes it in user space,
 * bpf/walk-frame-pointer.h in the kernel. Both must accept the same frames. */

#pragma once

#include "lu/row.h"

/* The largest distance of a frame pointer from the sampled stack pointer, in bytes. No frames are
 * that large, and the kernel copies less than 64 KiB. */
#define LU_FP_MAX_DISTANCE (1u << 20)
/* The number of words of a frame that are searched for return addresses. Frames of generated code
 * have about ten words, rarely a hundred. */
#define LU_FP_MAX_WORDS 256
/* The number of rules that one walk may look up for this step. Real walks need a few; a hostile
 * stack can be full of addresses whose rules have not been compiled. */
#define LU_FP_MAX_RULES 1024
/* Smaller values are no addresses; compilers put numbers into the frame pointer register too. */
#define LU_FP_MIN_ADDRESS 4096
/* The return address of a leaf in a file is one of this many words on top of the stack: above it
 * can be an alignment, or what the first entry of a procedure linkage table has pushed for the
 * dynamic linker. */
#define LU_FP_LEAF_WORDS 3

/* Code whose frames were seen to be set up is kept as hashes in 2^BITS slots. It is forgotten after
 * this many notes, because new code may be generated at the same address. User space has more
 * slots, and keeps code in files apart, which nothing replaces in one version of an address space:
 * that is not forgotten. */
#define LU_FP_SET_UP_BITS      11
#define LU_FP_NOTES_PER_EPOCH  4096
#define LU_FP_SET_UP_USER_BITS 13
/* Processes whose generated code keeps frame pointers have slots of their own, 2^BITS of them, so
 * that code does not displace them. */
#define LU_FP_HOTSPOT_BITS 6

/* Returns whether `fp` can be the frame pointer of a frame with the stack pointer `sp`. `last_fp`
 * is that of the previous frame-pointer step of the walk, or 0. */
static inline int
lu_fp_is_possible (uint64_t fp, uint64_t sp, uint64_t last_fp, uint64_t sampled_sp)
{
  return fp >= sp && fp > last_fp && fp - sampled_sp < LU_FP_MAX_DISTANCE;
}

/* In place of a code address: all generated code of HotSpot. */
#define LU_FP_HOTSPOT_CODE 1

/* HotSpot (the Java virtual machine). Compiled methods push the frame pointer of their caller below
 * their return address (MacroAssembler::verified_entry()) and keep one of their own only with
 * -XX:+PreserveFramePointer. Without that option the frame pointer is always that of an interpreted
 * method or of the stub through which the machine has called Java; nothing else that keeps frame
 * pointers calls compiled methods. */

/* Returns whether a word of the stack can be the return address of a compiled method's frame that
 * keeps `fp` as it was. `below` is the word below. */
static inline int
lu_fp_hotspot_is_return (uint64_t below, uint64_t fp)
{
  return below == fp;
}

/* Returns whether the frame at `fp` can be an interpreted method's. `slot` is the word below its
 * frame pointer: the caller's stack pointer there (frame::interpreter_frame_sender_sp_offset). */
static inline int
lu_fp_hotspot_is_interpreted (uint64_t slot, uint64_t fp)
{
  return slot - fp < LU_FP_MAX_DISTANCE;
}

/* Frames of compiled methods are multiples of 16 bytes, and stack pointers, too, but for the return
 * address just pushed (StackAlignmentInBytes). Code between interpreted and compiled methods, which
 * moves arguments and the return address, has the caller's stack pointer in a register: `sender`
 * (SharedRuntime::gen_i2c_adapter(), gen_c2i_adapter()). */

/* Returns whether a compiled method with that stack pointer has its return address on top. */
static inline int
lu_fp_hotspot_is_entered (uint64_t sp)
{
  return (sp & 15) == 8;
}

/* Returns whether the frame at `fp` may be an interpreted method's, which pushes a return address
 * of its own before it calls. slots: the two words below the frame pointer, the lower one first,
 * which is 0 or the stack pointer of its last call (frame::interpreter_frame_last_sp_offset). */
static inline int
lu_fp_hotspot_may_call (const uint64_t *slots, uint64_t sp, uint64_t fp)
{
  return lu_fp_hotspot_is_interpreted (slots[1], fp) && (slots[0] == 0 || slots[0] - sp < fp - sp);
}

/* Returns whether a leaf may be such code, so that `fp` is its caller's, whose frame may have no
 * words. Interpreted methods that return have `sender` in the register that CFI calls bx
 * (InterpreterMacroAssembler::remove_activation()). */
static inline int
lu_fp_hotspot_is_between (uint64_t sp, uint64_t fp, uint64_t sender)
{
  return sender - sp <= fp - sp;
}

/* V8 (JavaScript). The frame of a function has three words below the frame pointer, from the
 * lowest: the number of arguments, the function, the context (StandardFrameConstants). The last two
 * are pointers with a tag (kHeapObjectTag). All code of V8 that puts words on the stack keeps a
 * frame pointer, so in such a frame a return address is on top, or below the frame pointer just
 * pushed. Other runtimes align their pointers. */
#define LU_FP_V8_WORDS 3

static inline int
lu_fp_v8_is_object (uint64_t word)
{
  return (word & 3) == 1 && word >> 32 != 0 && word >> 47 == 0;
}

static inline int
lu_fp_v8_is_function (const uint64_t *words)
{
  return words[0] - 1 < 0xffff && lu_fp_v8_is_object (words[1]) && lu_fp_v8_is_object (words[2]);
}

/* Returns whether the frame may be that of V8's code which is no function. word: the one below the
 * frame pointer, a small even number that tells what code it is (StackFrame::TypeToMarker()). */
static inline int
lu_fp_v8_is_marker (uint64_t word)
{
  return (word & 1) == 0 && word - 1 < 0xff;
}

/* Returns whether the frame may be that of any generated code of V8. word: the one below the frame
 * pointer, such a number or a function's context. */
static inline int
lu_fp_v8_may_be (uint64_t word)
{
  return lu_fp_v8_is_object (word) || lu_fp_v8_is_marker (word);
}

/* The distance between the target of a direct call and a leaf that it leads to, at most: small
 * functions, and those that jump to each other, lie close together. */
#define LU_FP_MAX_LEAP 4096

static inline int
lu_fp_is_near (uint64_t target, uint64_t pc)
{
  return target - pc + LU_FP_MAX_LEAP < 2 * LU_FP_MAX_LEAP;
}

/* Returns the hash of a code address in one version (`serial`) of an address space. Its high bits
 * are the slot. */
static inline uint64_t
lu_fp_set_up_key (uint64_t pc, uint64_t serial, uint64_t n_notes)
{
  return (pc ^ serial << 47) * 0x9e3779b97f4a7c15ull ^ n_notes / LU_FP_NOTES_PER_EPOCH;
}

/* The unwinding table's answer about the code at an address. */
enum lu_fp_rule
{
  LU_FP_RULE_NONE,
  LU_FP_RULE_BY_FP, /* the CFA is just above the saved frame pointer: the code keeps it */
  LU_FP_RULE_OTHER,
  LU_FP_RULE_REALIGNED, /* the CFA is kept below the frame pointer: the code keeps that, too, and
                           above it copies of its caller's and of its return address */
  LU_FP_RULE_UNKNOWN, /* only in the kernel: there is no table, or too many rules were looked up */
};

static inline enum lu_fp_rule
lu_fp_rule_of (const struct lu_rule *rule)
{
  if (rule->cfa_kind == LU_CFA_NONE)
    return LU_FP_RULE_NONE;
  if (rule->cfa_kind == LU_CFA_DEREF_FP)
    return LU_FP_RULE_REALIGNED;
  return rule->cfa_kind == LU_CFA_FP && rule->cfa_off == 16 ? LU_FP_RULE_BY_FP : LU_FP_RULE_OTHER;
}

/* Returns whether the code has a frame pointer of its own. */
static inline int
lu_fp_is_kept (enum lu_fp_rule rule)
{
  return rule == LU_FP_RULE_BY_FP || rule == LU_FP_RULE_REALIGNED;
}

/* Returns whether the table is needed to find the frame of the code with that rule (lu_fp_rule):
 * the frame pointer does not do. */
static inline int
lu_fp_needs_table (int64_t rule)
{
  return rule == LU_FP_RULE_OTHER || rule == LU_FP_RULE_REALIGNED;
}
