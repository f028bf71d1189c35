/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* code.h - decodes code of x86-64 for the frame-pointer step, in user space and in the kernel's
 * walk: leaves (lu/leaf.h), calls before return addresses (lu/calls.h), Python's trampolines.
 *
 * Only the few instructions that small functions consist of are known. Code cannot be decoded
 * backwards with certainty, so every call that could end at an address is tried; prefixes in front
 * of the opcode do not matter then. (Intel SDM, volume 2, chapter 2, tables 2-1 to 2-3, CALL, and
 * the opcode map.) */

#pragma once

#include "lu/calls.h"
#include "lu/leaf.h"
#include "lu/root.h"
#include "arch/x86-64/instruction.h"

/* push %rbp; mov %rsp,%rbp, in both encodings */
#define LU_LEAF_PROLOGUE       0xe5894855
#define LU_LEAF_OTHER_PROLOGUE 0xec8b4855
/* sub $8,%rsp; add $8,%rsp: all of _fini() before its return */
#define LU_LEAF_FINI 0x08c4834808ec8348

/* Returns whether this is mov %rsp,%rbp. */
static inline uint64_t
lu_leaf_is_pushed (uint64_t code)
{
  uint64_t three = code & 0xffffff;

  return lu_leaf_is (three, LU_LEAF_PROLOGUE >> 8)
         | lu_leaf_is (three, LU_LEAF_OTHER_PROLOGUE >> 8);
}

/* Returns whether this is leave or mov %rbp,%rsp. */
static inline uint64_t
lu_leaf_is_epilogue (uint64_t code)
{
  uint64_t three = code & 0xffffff;

  return lu_leaf_is (code & 0xff, 0xc9) | lu_leaf_is (three, 0xec8948)
         | lu_leaf_is (three, 0xe58b48);
}

/* Returns whether a prologue starts here. */
static inline uint64_t
lu_leaf_is_prologue (uint64_t code)
{
  uint64_t four = code & 0xffffffff;

  return lu_leaf_is (four, LU_LEAF_PROLOGUE) | lu_leaf_is (four, LU_LEAF_OTHER_PROLOGUE);
}

/* Returns the size of the instruction that starts with the low byte of `code`, or LU_LEAF_BARE or
 * LU_LEAF_FRAMED; 0 if it is not known. Code that looks below the frame pointer has its frame
 * there. */
static inline uint64_t
lu_leaf_step (uint64_t code)
{
  struct lu_instruction at;
  uint64_t op = code & 0xff, size, is_lea;

  if (lu_leaf_is_prologue (code))
    return LU_LEAF_BARE;
  if (lu_leaf_is_epilogue (code))
    return LU_LEAF_FRAMED;
  if (code == LU_LEAF_FINI)
    return sizeof code;
  /* A branch is not taken; one that leads over a trap is. */
  if (op >> 4 == 7)
    return 2 + lu_leaf_is (code & 0xffff00, 0xcc0100);
  if ((code & 0xf0ff) == 0x800f)
    return 6;
  lu_code_parse (code, &at);
  if (at.map == 0 && at.op == 0xc3)
    return LU_LEAF_BARE;
  is_lea = lu_leaf_is (at.map, 0) & lu_leaf_is (at.op, 0x8d) & (at.rex >> 3 ^ 1);
  size = lu_code_size (&at);
  return lu_leaf_is_below_fp (&at) & (is_lea ^ 1) ? LU_LEAF_FRAMED : size;
}

/* The state of decoding: the position, which after the code is LU_LEAF_BYTES + enum lu_leaf_kind;
 * how many words have been popped; 1 + the number of the one that was popped into rbp, or 0;
 * whether that was the last instruction. */
#define LU_LEAF_AT        0xff
#define LU_LEAF_IS_FP_AT  32
#define LU_LEAF_MAX_DEPTH 128

/* Returns the words that an instruction takes off the stack: pop, add $n,%rsp. Sets its size. */
static inline uint64_t
lu_leaf_popped (uint64_t code, uint64_t *size)
{
  uint64_t has_prefix = lu_leaf_is (code & 0xff, 0x41);
  uint64_t is_pop = lu_leaf_is (code >> 8 * has_prefix & 0xf8, 0x58)
                    & (lu_leaf_is (code & 0xff, 0x5c) ^ 1); /* not pop %rsp */
  uint64_t is_add = lu_leaf_is (code & 0xffffff, 0xc48348) & lu_leaf_is (code >> 24 & 0x87, 0);
  uint64_t is_large =
      lu_leaf_is (code & 0xffffff, 0xc48148) & lu_leaf_is (code >> 24 & 0xfffffc07, 0);

  *size = is_pop * (1 + has_prefix) + is_add * 4 + is_large * 7;
  return is_pop + is_add * (code >> 27 & 15) + is_large * (code >> 27 & 127);
}

/* Returns the state after the instruction that starts with the low byte of `code`. */
static inline uint64_t
lu_leaf_next (uint64_t state, uint64_t code)
{
  uint64_t size, words = lu_leaf_popped (code, &size), depth = state >> LU_LEAF_DEPTH_SHIFT & 0xff;
  uint64_t op = code & 0xff, is_fp = lu_leaf_is (op, 0x5d), was_fp = state >> LU_LEAF_IS_FP_AT & 1;

  state &= ~((uint64_t) 1 << LU_LEAF_IS_FP_AT);
  if (size == 0)
    {
      size = lu_leaf_step (code);
      /* Code that jumps away just behind pop %rbp has no frame any more. */
      if (was_fp
          && (op == 0xe9 || op == 0xeb || (code & 0xf0ff) == 0xe0ff || (code & 0xffff) == 0x25ff))
        size = LU_LEAF_BARE;
      /* An entry of a linkage table jumps through memory, as no function does within its frame. */
      if ((state & LU_LEAF_AT) == 0 && (code & 0xffff) == 0x25ff)
        size = LU_LEAF_BARE;
      if (size != 0 && size < LU_LEAF_BARE)
        return state + size;
      if (depth != 0)
        size = size == LU_LEAF_BARE && !lu_leaf_is_prologue (code) ? LU_LEAF_POPPED : 0;
      return (state & ~(uint64_t) LU_LEAF_AT) | (LU_LEAF_BYTES + size);
    }
  if (depth + words > LU_LEAF_MAX_DEPTH || (is_fp && state >> LU_LEAF_FP_SHIFT & 0xff))
    return LU_LEAF_BYTES;
  return state + size + (words << LU_LEAF_DEPTH_SHIFT)
         + is_fp * (((depth + 1) << LU_LEAF_FP_SHIFT) + ((uint64_t) 1 << LU_LEAF_IS_FP_AT));
}

/* Returns the answer at the end of decoding, without a register. */
static inline uint32_t
lu_leaf_answer (uint64_t state)
{
  uint64_t at = state & LU_LEAF_AT, kind = at - LU_LEAF_BYTES;

  if (at < LU_LEAF_BYTES + LU_LEAF_BARE)
    return LU_LEAF_UNDECIDED;
  return (uint32_t) (kind == LU_LEAF_POPPED ? (state & 0xffff0000) | kind : kind);
}

/* A register is pushed for a return if no more than this many bytes are between the push and the
 * return. */
#define LU_LEAF_NEAR 8

/* The search for a push just before a return, or before a push of the frame pointer, goes byte by
 * byte, because it need not know all instructions: a wrong find asks for a register that holds a
 * return address. Its state: popped registers as bits; the number of the one pushed last; for how
 * many bytes its push is still near; whether it is followed in this way. */
#define LU_LEAF_PUSHED_AT 16
#define LU_LEAF_NEAR_AT   20
#define LU_LEAF_FOUND_AT  24

static inline uint64_t
lu_leaf_search (uint64_t state, uint64_t byte, uint64_t last)
{
  uint64_t number = (byte & 7) | lu_leaf_is (last, 0x41) << 3;
  uint64_t pushed = state >> LU_LEAF_PUSHED_AT & 15, near = state >> LU_LEAF_NEAR_AT & 15;
  uint64_t found = state >> LU_LEAF_FOUND_AT & 1, popped = state & 0xffff, is_push;

  found |= lu_leaf_is (byte, 0xc3) & (lu_leaf_is (near, 0) ^ 1);
  found |= lu_leaf_is (byte, 0x55) & lu_leaf_is (near, LU_LEAF_NEAR + 1);
  is_push = lu_leaf_is (byte & 0xf8, 0x50) & (lu_leaf_is (number >> 1, 2) ^ 1) & ~(popped >> number)
            & (found ^ 1);
  popped |= lu_leaf_is (byte & 0xf8, 0x58) << number;
  pushed += (number - pushed) * is_push;
  near -= lu_leaf_is (near, 0) ^ 1;
  near += (LU_LEAF_NEAR + 1 - near) * is_push;
  return popped | pushed << LU_LEAF_PUSHED_AT | near << LU_LEAF_NEAR_AT | found << LU_LEAF_FOUND_AT;
}

/* Returns 1 + the number of the register, or 0, at the end of a search. */
static inline uint64_t
lu_leaf_found (uint64_t state)
{
  return ((state >> LU_LEAF_PUSHED_AT & 15) + 1) * (state >> LU_LEAF_FOUND_AT & 1);
}

/* Returns the number of the register in DWARF (System V ABI for x86-64, figure 3.36). */
static inline uint32_t
lu_leaf_dwarf_number (uint32_t number)
{
  return number < 8 ? 0x54673120u >> 4 * number & 15 : number;
}

/* Returns what LU_LEAF_BYTES of code show, without a register. `is_end`: the code runs straight to
 * the end of its function, and pushes nothing before. */
static inline uint32_t
lu_leaf_frame_of (const uint8_t *code, uint64_t *is_end)
{
  uint64_t state = 0, last = 0;
  uint32_t answer;

  *is_end = 0;
  if (lu_leaf_is_pushed (code[0] | (uint64_t) code[1] << 8 | (uint64_t) code[2] << 16))
    return LU_LEAF_PUSHED;

  for (uint32_t i = 0; i < LU_LEAF_STEPS; i++)
    {
      uint64_t window = 0, at = state & LU_LEAF_AT;

      if (at > LU_LEAF_BYTES - LU_LEAF_WINDOW)
        break;
      for (uint32_t k = 0; k < LU_LEAF_WINDOW; k++)
        window |= (uint64_t) code[at + k] << 8 * k;
      last = window;
      state = lu_leaf_next (state, window);
    }
  answer = lu_leaf_answer (state);
  *is_end = LU_LEAF_KIND (answer) == LU_LEAF_POPPED
            || (LU_LEAF_KIND (answer) == LU_LEAF_BARE && !lu_leaf_is_prologue (last));
  return answer;
}

/* Returns what a compiled method of HotSpot shows about its frame by the instruction that is next:
 * PUSHED, FRAMED, or UNDECIDED. code: LU_HOTSPOT_BYTES, of which the first is before that
 * instruction. Its prologue is push %rbp; mov %rsp,%rbp; sub $n,%rsp; or, in small methods that
 * call nothing, sub $n,%rsp; mov %rbp,n-8(%rsp); mov %rsp,%rbp; add $n-8,%rbp. An adapter to the
 * interpreter has popped the return address before mov %rsp,%r13. */
#define LU_HOTSPOT_BYTES 8

static inline enum lu_leaf_kind
lu_hotspot_leaf_of (uint64_t code)
{
  uint64_t at = code >> 8, three = at & 0xffffff, is_save, is_add, is_sender;

  if (lu_leaf_is_pushed (at))
    return (code & 0xff) == 0x55 ? LU_LEAF_PUSHED : LU_LEAF_UNDECIDED;
  is_save = lu_leaf_is (at & 0xff3fffff, 0x242c8948);
  is_add = lu_leaf_is (three & 0xfffdff, 0xc58148);
  is_sender = lu_leaf_is (three, 0xec8b4c) | lu_leaf_is (three, 0xe58949);
  return (is_save | is_add | is_sender) != 0 ? LU_LEAF_UNDECIDED : LU_LEAF_FRAMED;
}

#define LU_CALL_SHORTEST  2
#define LU_CALL_NEAR_SIZE 5 /* e8 with 32-bit displacement */

/* Returns the size of the `ff /2` call that starts with the low byte of `at`; 0 if there is none.
 */
LU_CALL_FUNCTION uint64_t
lu_call_indirect_size (uint64_t at)
{
  uint64_t is_call = lu_leaf_is (at & 0xff, 0xff) & lu_leaf_is (at >> 11 & 7, 2);

  return (1 + lu_leaf_operand_size (at >> 8)) * is_call;
}

/* Decodes the 8 bytes before a return address, the last one in the high byte of `code`; bytes
 * that are not there are 0. Never returns UNKNOWN. Bytes that could be either kind of call are an
 * indirect one. Sets `displacement` of a direct call, from the return address to the target: the
 * caller checks that there is code at the target, which is unlikely for a byte that is a call only
 * by chance. */
static inline enum lu_call_kind
lu_call_decode (uint64_t code, int64_t *displacement)
{
  uint64_t is_indirect = 0;

  for (uint64_t size = LU_CALL_SHORTEST; size <= LU_CALL_LONGEST; size++)
    is_indirect |= lu_leaf_is (lu_call_indirect_size (code >> (64 - 8 * size)), size);
  if (is_indirect != 0)
    return LU_CALL_INDIRECT;
  if ((code >> (64 - 8 * LU_CALL_NEAR_SIZE) & 0xff) != 0xe8)
    return LU_CALL_NONE;
  *displacement = (int64_t) code >> 32;
  return LU_CALL_DIRECT;
}

/* Python's trampolines on x86-64 (python -X perf), one for each Python function: [endbr64;] sub $8,
 * %rsp; call *%rcx; add $8, %rsp; ret. They lie next to each other in slots of 16 bytes, so their
 * call returns to offset 10 in a slot, or to offset 6 without endbr64. Before the slots they lay
 * without a gap, 11 bytes apart (Python 3.12.1). Their memory comes in pieces of 64 KiB, which the
 * kernel may put into one mapping (Python/perf_trampoline.c). */
#define LU_TRAMPOLINE_ARENA 0x10000u
#define LU_TRAMPOLINE_FRAME 8u /* bytes below the trampoline's own return address */

/* `start` and `size`: of the mapping. */
static inline int
lu_trampoline_is_return (uint64_t pc, uint64_t start, uint64_t size)
{
  return (pc & 15) == 10 || (pc & 15) == 6
         || (size % LU_TRAMPOLINE_ARENA == 0 && (pc - start) % LU_TRAMPOLINE_ARENA % 11 == 6);
}

/* Returns what LU_LEAF_BYTES of code show: a kind, never UNKNOWN, and perhaps a register. If the
 * code shows the end of its function, what follows belongs to another one. */
static inline uint32_t
lu_leaf_of (const uint8_t *code)
{
  uint64_t state = 0, is_end;
  uint32_t leaf = lu_leaf_frame_of (code, &is_end), number;

  if (is_end)
    return leaf;
  for (uint32_t i = 0; i < LU_LEAF_BYTES; i++)
    state = lu_leaf_search (state, code[i], i > 0 ? code[i - 1] : 0);
  number = (uint32_t) lu_leaf_found (state);
  return leaf | number << LU_LEAF_REGISTER_SHIFT;
}

/* The bytes of a number, the first one in the low bits. */
#define LU_ROOT_8(a, b, c, d, e, f, g, h)                                                          \
  ((uint64_t) (a) | (uint64_t) (b) << 8 | (uint64_t) (c) << 16 | (uint64_t) (d) << 24              \
   | (uint64_t) (e) << 32 | (uint64_t) (f) << 40 | (uint64_t) (g) << 48 | (uint64_t) (h) << 56)
#define LU_ROOT_ALL (~(uint64_t) 0)

/* Returns whether two words of code are as expected where the masks have ones. */
static inline int
lu_root_matches (const uint64_t code[2], uint64_t first, uint64_t first_mask, uint64_t second,
                 uint64_t second_mask)
{
  return (((code[0] ^ first) & first_mask) | ((code[1] ^ second) & second_mask)) == 0;
}

/* Returns whether a stack begins at a return address. code: the bytes from there on. */
static inline int
lu_root_is (const uint64_t code[2])
{
  /* __start_context of glibc (makecontext(), sysdeps/unix/sysv/linux/x86_64/__start_context.S): mov
   * %rbx,%rsp; mov (%rsp),%rdi; test %rdi,%rdi; je; with or without endbr64. */
  return lu_root_matches (code, LU_ROOT_8 (0x48, 0x89, 0xdc, 0x48, 0x8b, 0x3c, 0x24, 0x48),
                          LU_ROOT_ALL, LU_ROOT_8 (0x85, 0xff, 0x74, 0, 0, 0, 0, 0), 0xffffff)
         || lu_root_matches (code, LU_ROOT_8 (0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x89, 0xdc, 0x48),
                             LU_ROOT_ALL, LU_ROOT_8 (0x8b, 0x3c, 0x24, 0x48, 0x85, 0xff, 0x74, 0),
                             LU_ROOT_ALL >> 8)
         /* make_fcontext() of Boost, which PHP has as well (make_x86_64_sysv_elf_gas.S): xor
          * %rdi,%rdi; call _exit; hlt. */
         || lu_root_matches (code, LU_ROOT_8 (0x48, 0x31, 0xff, 0xe8, 0, 0, 0, 0), 0xffffffff,
                             LU_ROOT_8 (0xf4, 0, 0, 0, 0, 0, 0, 0), 0xff)
         /* __clone() of musl (src/thread/x86_64/clone.s): mov %eax,%edi; xor %eax,%eax; mov
          * $60,%al; syscall; hlt. */
         || lu_root_matches (code, LU_ROOT_8 (0x89, 0xc7, 0x31, 0xc0, 0xb0, 0x3c, 0x0f, 0x05),
                             LU_ROOT_ALL, LU_ROOT_8 (0xf4, 0, 0, 0, 0, 0, 0, 0), 0xff);
}
