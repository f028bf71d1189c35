/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-frame-pointer-step.c - one step by frame pointer over stacks made by hand: which frames are
 * accepted, and which are not.
 *
 * Code at JIT is in no file, at COPIED neither, but copied from one, at BUILTIN in a copy that was
 * found in the file, at PLAIN in a file without unwind information there, at RULES in the same file
 * with a rule by the stack pointer, at KEEPS with one by the frame pointer. The bytes before an
 * address at CALL are an indirect call, before one at DIRECT a direct call; those before LATER have
 * not been read yet. */

#include "unwind/code-facts.h"
#include "unwind/frame-pointer-step.h"
#include "unwind/address-space-cache.h"
#include "unwind/leaf-caller.h"

#include "../../cases.h"

#include <elf.h>
#include <glib/gstdio.h>
#include <string.h>

#define JIT     0x10000u
#define PLAIN   0x20000u
#define RULES   0x30000u
#define KEEPS   0x40000u
#define SIZE    0x10000u
#define COPIED  0x50000u
#define BUILTIN 0x60000u
#define CALL    0x100u
#define DIRECT  0x200u
#define LATER   0x300u
/* Offsets in the file whose code shows something, and one that a direct call does not lead to. */
#define LEAF        40u
#define LEAF_LATER  41u
#define LEAF_PUSHED 50u
#define LEAF_FRAMED 51u
#define FAR         60u
/* Others that it does not lead to, unless the function called proves where the return address is.
 */
#define PROVED_FRAMED 61u
#define PROVED_BARE   62u
#define PROVED_LATER  63u
/* The function that a direct call leads to has no such code, or nobody knows yet. */
#define SKIPS       64u
#define SKIPS_LATER 65u
/* About to pop two words and return; the same, the second of them into rbp. */
#define LEAF_POPS    54u
#define LEAF_POPS_FP 55u
/* About to push rbx and return; the same, and a frame will be set up before. */
#define LEAF_REGISTER 52u
#define LEAF_ABOUT    53u
#define RBX           3u
#define PERF_R13      21                              /* asm/perf_regs.h */
#define SP            G_GUINT64_CONSTANT (0x7ffff000) /* start of the copy */
#define N             12

/* A tagged pointer of V8. */
#define V8_OBJECT G_GUINT64_CONSTANT (0x27cbb83bff71)

#define ALL_BUT_CODE (~(G_GUINT64_CONSTANT (1) << lu_view_region_of (JIT)))

/* The address of a word of the stack, to be stored as a word. */
#define AT(i) (SP + 8 * (i))

static LuModule *file_module, *anonymous_module, *copied_module;
static LuDwflMapping jit, file, copied, builtin;

typedef struct
{
  const char *name;
  guint64 words[N];
  guint sp, fp; /* indexes into words; fp 0: use FP_VALUE */
  guint64 fp_value;
  guint64 pc;
  gboolean is_exact, has_hotspot;
  gboolean is_interrupted;    /* by a signal, so its registers are not the sample's */
  guint64 sender, result, bx; /* registers of the sample (LuArch.hotspot_sender, hotspot_return) */
  guint64 last_fp;
  LuProviderResult want;
  guint64 want_pc;
  guint want_sp; /* index into words */
} Case;

static const Case cases[] = {
  { "a frame of generated code",
    { [1] = 7, [2] = AT (9), [3] = RULES + CALL },
    .fp = 2,
    .pc = JIT,
    .want = LU_PROVIDER_FOUND,
    .want_pc = RULES + CALL,
    .want_sp = 4 },
  { "its caller is code without rules, called directly",
    { [2] = AT (9), [3] = PLAIN + DIRECT },
    .fp = 2,
    .pc = PLAIN,
    .want = LU_PROVIDER_FOUND,
    .want_pc = PLAIN + DIRECT,
    .want_sp = 4 },
  { "the function called is another, which may not have jumped to this code",
    { [2] = AT (9), [3] = PLAIN + DIRECT },
    .fp = 2,
    .pc = PLAIN + SKIPS,
    .want = LU_PROVIDER_NONE },
  { "the same for a leaf, full of return addresses",
    { RULES + CALL, RULES + CALL, AT (9), PLAIN + DIRECT },
    .fp = 2,
    .pc = PLAIN + SKIPS,
    .is_exact = TRUE,
    .want = LU_PROVIDER_NONE },
  { "nobody knows yet whether the function called is another",
    { [2] = AT (9), [3] = PLAIN + DIRECT },
    .fp = 2,
    .pc = PLAIN + SKIPS_LATER,
    .want = LU_PROVIDER_UNKNOWN },
  { "the function called is another, but through a register",
    { [2] = AT (9), [3] = PLAIN + CALL },
    .fp = 2,
    .pc = PLAIN + SKIPS,
    .want = LU_PROVIDER_FOUND,
    .want_pc = PLAIN + CALL,
    .want_sp = 4 },
  { "its caller is generated code whose frame pointer goes on",
    { [2] = AT (9), [3] = JIT + 5 },
    .fp = 2,
    .pc = JIT,
    .want = LU_PROVIDER_FOUND,
    .want_pc = JIT + 5,
    .want_sp = 4 },
  { "generated code whose frame pointer does not go on",
    { [2] = 77, [3] = JIT + 5 },
    .fp = 2,
    .pc = JIT,
    .want = LU_PROVIDER_NONE },
  { "generated code whose frame pointer leads to itself",
    { [2] = AT (2), [3] = JIT + 5 },
    .fp = 2,
    .pc = JIT,
    .want = LU_PROVIDER_NONE },
  { "no call in front of the return address",
    { [2] = AT (9), [3] = RULES + 1 },
    .fp = 2,
    .pc = JIT,
    .want = LU_PROVIDER_NONE },
  { "nobody knows yet whether there is a call",
    { [2] = AT (9), [3] = RULES + LATER },
    .fp = 2,
    .pc = JIT,
    .want = LU_PROVIDER_UNKNOWN },
  { "the return address is no code", { [2] = AT (9), [3] = 5 }, .fp = 2, .pc = JIT },
  { "the return address is 0", { [2] = AT (9), [3] = 0 }, .fp = 2, .pc = JIT },
  { "a return address for a frame pointer",
    { [2] = RULES + CALL, [3] = RULES + CALL },
    .fp = 2,
    .pc = JIT },
  { "the frame pointer is not aligned",
    { [2] = AT (9), [3] = RULES + CALL },
    .fp_value = AT (2) + 4,
    .pc = JIT },
  { "the frame pointer is below the stack pointer",
    { [2] = AT (9), [3] = RULES + CALL },
    .sp = 3,
    .fp = 2,
    .pc = JIT },
  { "the frame pointer is that of the last guess",
    { [2] = AT (9), [3] = RULES + CALL },
    .fp = 2,
    .last_fp = AT (2),
    .pc = JIT },
  { "a trampoline of Python, called through a pointer",
    { [1] = RULES + CALL },
    .fp = 5,
    .last_fp = AT (9),
    .pc = JIT + 10,
    .want = LU_PROVIDER_FOUND,
    .want_pc = RULES + CALL,
    .want_sp = 2 },
  { "one without endbr64",
    { [1] = KEEPS + CALL },
    .fp = 5,
    .last_fp = AT (9),
    .pc = JIT + 0x56,
    .want = LU_PROVIDER_FOUND,
    .want_pc = KEEPS + CALL,
    .want_sp = 2 },
  { "one of Python 3.12.1, whose trampolines have no slots",
    { [1] = RULES + CALL },
    .fp = 5,
    .last_fp = AT (9),
    .pc = JIT + 11 * 3 + 6,
    .want = LU_PROVIDER_FOUND,
    .want_pc = RULES + CALL,
    .want_sp = 2 },
  { "the frame pointer goes first",
    { [1] = RULES + CALL, [2] = AT (9), [3] = PLAIN + CALL },
    .fp = 2,
    .pc = JIT + 10,
    .want = LU_PROVIDER_FOUND,
    .want_pc = PLAIN + CALL,
    .want_sp = 4 },
  { "nobody has looked yet what called the trampoline",
    { [1] = RULES + LATER },
    .fp_value = 7,
    .pc = JIT + 10,
    .want = LU_PROVIDER_UNKNOWN },
  { "no trampoline returns to this byte of a slot",
    { [1] = RULES + CALL },
    .fp_value = 7,
    .pc = JIT + 12 },
  { "no trampoline is called directly", { [1] = RULES + DIRECT }, .fp_value = 7, .pc = JIT + 10 },
  { "no trampoline is called by code without rules",
    { [1] = PLAIN + CALL },
    .fp_value = 7,
    .pc = JIT + 10 },
  { "no trampoline is in a file", { [1] = RULES + CALL }, .fp_value = 7, .pc = PLAIN + 10 },
  { "what was sampled in a trampoline is not told",
    { [1] = RULES + CALL },
    .fp_value = 7,
    .pc = JIT + 10,
    .is_exact = TRUE },
  { "the return address is just out of the copy",
    { 0 },
    .fp_value = AT (N - 1),
    .pc = JIT,
    .want = LU_PROVIDER_BEYOND },
  { "the frame pointer is out of the copy",
    { 0 },
    .fp_value = AT (5000),
    .pc = JIT,
    .want = LU_PROVIDER_BEYOND },
  { "the frame pointer is far away", { 0 }, .fp_value = SP + (1u << 20), .pc = JIT },
  { "the frame pointer is at the end of all addresses",
    { 0 },
    .fp_value = ~G_GUINT64_CONSTANT (7),
    .pc = JIT },
  { "the frame pointer is 0", { 0 }, .fp_value = 0, .pc = JIT },

  { "a leaf that has set up its frame, full of return addresses",
    { RULES + CALL, RULES + CALL, AT (9), RULES + CALL },
    .fp = 2,
    .pc = JIT,
    .is_exact = TRUE,
    .want = LU_PROVIDER_FOUND,
    .want_pc = RULES + CALL,
    .want_sp = 4 },
  { "a leaf at its first instruction",
    { PLAIN + CALL, 7, AT (9), RULES + CALL },
    .fp = 2,
    .pc = JIT,
    .is_exact = TRUE,
    .want = LU_PROVIDER_FOUND,
    .want_pc = PLAIN + CALL,
    .want_sp = 1 },
  { "a leaf at its first instruction, called by generated code of V8",
    { JIT + 5, V8_OBJECT, AT (9), RULES + CALL },
    .fp = 2,
    .pc = PLAIN,
    .is_exact = TRUE,
    .want = LU_PROVIDER_FOUND,
    .want_pc = JIT + 5,
    .want_sp = 1 },
  { "the same, called by code of V8 that is no function",
    { JIT + 5, 0x22, AT (9), RULES + CALL },
    .fp = 2,
    .pc = PLAIN,
    .is_exact = TRUE,
    .want = LU_PROVIDER_FOUND,
    .want_pc = JIT + 5,
    .want_sp = 1 },
  { "a word on top that leads to generated code, in a frame that is not V8's: old, or not",
    { JIT + 5, 7, AT (9), RULES + CALL },
    .fp = 2,
    .pc = PLAIN,
    .is_exact = TRUE },
  { "the same in a frame whose call leads to the leaf: old",
    { JIT + 5, 7, AT (9), PLAIN + DIRECT },
    .fp = 2,
    .pc = PLAIN,
    .is_exact = TRUE,
    .want = LU_PROVIDER_FOUND,
    .want_pc = PLAIN + DIRECT,
    .want_sp = 4 },
  { "the same where the frame's call leads elsewhere",
    { JIT + 5, 7, AT (9), PLAIN + DIRECT },
    .fp = 2,
    .pc = PLAIN + FAR,
    .is_exact = TRUE },
  { "a leaf at its first instruction, called by code with rules that keeps frame pointers",
    { KEEPS + CALL, 7, AT (9), RULES + CALL },
    .fp = 2,
    .pc = JIT,
    .is_exact = TRUE,
    .want = LU_PROVIDER_FOUND,
    .want_pc = KEEPS + CALL,
    .want_sp = 1 },
  { "a leaf with two words that could be its return address",
    { JIT + 5, JIT + 5, AT (9), RULES + CALL },
    .fp = 2,
    .pc = JIT,
    .is_exact = TRUE },
  { "a leaf whose topmost word nobody knows yet",
    { PLAIN + LATER, 7, AT (9), RULES + CALL },
    .fp = 2,
    .pc = JIT,
    .is_exact = TRUE,
    .want = LU_PROVIDER_UNKNOWN },
  { "a leaf that has pushed the frame pointer",
    { AT (3), RULES + CALL, 7, AT (9), PLAIN + CALL },
    .fp = 3,
    .pc = JIT,
    .is_exact = TRUE,
    .want = LU_PROVIDER_FOUND,
    .want_pc = RULES + CALL,
    .want_sp = 2 },
  { "a leaf that has pushed it above no return address",
    { AT (3), RULES + 1, 7, AT (9), PLAIN + CALL },
    .fp = 3,
    .pc = JIT,
    .is_exact = TRUE,
    .want = LU_PROVIDER_FOUND,
    .want_pc = PLAIN + CALL,
    .want_sp = 5 },

  { "the frame pointer of code that called this one",
    { 7, KEEPS + CALL, AT (9), RULES + DIRECT },
    .fp = 2,
    .pc = JIT },
  { "the same for a leaf",
    { 7, KEEPS + CALL, AT (9), RULES + DIRECT },
    .fp = 2,
    .pc = JIT,
    .is_exact = TRUE },
  { "of code that can only have called something else",
    { 7, KEEPS + DIRECT, AT (9), RULES + DIRECT },
    .fp = 2,
    .pc = JIT,
    .want = LU_PROVIDER_FOUND,
    .want_pc = RULES + DIRECT,
    .want_sp = 4 },
  { "a return address into generated code, which may have called this code without a frame pointer",
    { 7, JIT + 5, AT (9), RULES + CALL },
    .fp = 2,
    .pc = JIT },
  { "the same for code in a file", { 7, JIT + 5, AT (9), PLAIN + CALL }, .fp = 2, .pc = PLAIN },
  { "the same where a direct call leads to that code, so that the word is old",
    { JIT + 5, 7, AT (9), PLAIN + DIRECT },
    .fp = 2,
    .pc = PLAIN,
    .want = LU_PROVIDER_FOUND,
    .want_pc = PLAIN + DIRECT,
    .want_sp = 4 },
  { "the same in a frame that may be V8's",
    { JIT + 5, V8_OBJECT, AT (9), PLAIN + DIRECT },
    .fp = 2,
    .pc = PLAIN },
  { "the same where the direct call leads elsewhere",
    { JIT + 5, 7, AT (9), PLAIN + DIRECT },
    .fp = 2,
    .pc = PLAIN + FAR },
  { "the same for a leaf of generated code",
    { 7, JIT + 5, AT (9), JIT + 9 },
    .fp = 2,
    .pc = JIT,
    .is_exact = TRUE },
  { "a leaf in a file whose code shows that the frame pointer has been pushed",
    { AT (3), RULES + CALL, 7, AT (9), PLAIN + CALL },
    .fp = 3,
    .pc = PLAIN + LEAF_PUSHED,
    .is_exact = TRUE,
    .want = LU_PROVIDER_FOUND,
    .want_pc = RULES + CALL,
    .want_sp = 2 },
  { "the same below another word",
    { 7, RULES + CALL, 7, AT (9), PLAIN + CALL },
    .fp = 3,
    .pc = PLAIN + LEAF_PUSHED,
    .is_exact = TRUE },
  { "old words of a frame that the code shows to be set up",
    { AT (3), PLAIN + CALL, JIT + 5, AT (9), RULES + CALL },
    .fp = 3,
    .pc = PLAIN + LEAF_FRAMED,
    .is_exact = TRUE,
    .want = LU_PROVIDER_FOUND,
    .want_pc = RULES + CALL,
    .want_sp = 5 },
  { "an old word on top that looks as if the frame pointer had been pushed",
    { AT (3), RULES + CALL, 7, AT (9), RULES + CALL },
    .fp = 3,
    .pc = PLAIN,
    .is_exact = TRUE },
  { "a leaf in a file, called directly",
    { PLAIN + DIRECT, 7, AT (9), RULES + CALL },
    .fp = 2,
    .pc = PLAIN,
    .is_exact = TRUE,
    .want = LU_PROVIDER_FOUND,
    .want_pc = PLAIN + DIRECT,
    .want_sp = 1 },
  { "an old word on top: its direct call leads elsewhere",
    { PLAIN + DIRECT, 7, AT (9), RULES + CALL },
    .fp = 2,
    .pc = PLAIN + FAR,
    .is_exact = TRUE },
  { "a leaf in a file called by code with a rule, whose frame pointer is that of its caller",
    { 7, RULES + CALL, AT (9), RULES + CALL },
    .fp = 2,
    .pc = PLAIN,
    .is_exact = TRUE },
  { "code in a file that was called directly, perhaps from another file",
    { 7, KEEPS + DIRECT, AT (9), RULES + CALL },
    .fp = 2,
    .pc = PLAIN },
  { "old return addresses in a leaf that code without rules has called",
    { 7, RULES + CALL, AT (9), PLAIN + CALL },
    .fp = 2,
    .pc = PLAIN,
    .is_exact = TRUE,
    .want = LU_PROVIDER_FOUND,
    .want_pc = PLAIN + CALL,
    .want_sp = 4 },
  { "a leaf that has pushed the frame pointer as it does any register, in its caller's frame",
    { AT (3), PLAIN + DIRECT, 7, AT (9), PLAIN + DIRECT },
    .fp = 3,
    .pc = PLAIN + FAR,
    .is_exact = TRUE },
  { "the same where the function called proves that its frame is set up",
    { AT (3), PLAIN + DIRECT, 7, AT (9), PLAIN + DIRECT },
    .fp = 3,
    .pc = PLAIN + PROVED_FRAMED,
    .is_exact = TRUE,
    .want = LU_PROVIDER_FOUND,
    .want_pc = PLAIN + DIRECT,
    .want_sp = 5 },
  { "the same where that is not known yet",
    { AT (3), PLAIN + DIRECT, 7, AT (9), PLAIN + DIRECT },
    .fp = 3,
    .pc = PLAIN + PROVED_LATER,
    .is_exact = TRUE,
    .want = LU_PROVIDER_UNKNOWN },
  { "two words that may be the return address of a leaf whose function proves that it is on top",
    { PLAIN + DIRECT, PLAIN + DIRECT, 7, AT (9), PLAIN + CALL },
    .fp = 3,
    .pc = PLAIN + PROVED_BARE,
    .is_exact = TRUE,
    .want = LU_PROVIDER_FOUND,
    .want_pc = PLAIN + DIRECT,
    .want_sp = 1 },
  { "the same where the frame pointer leads behind a call of something else than the caller",
    { PLAIN + DIRECT, PLAIN + DIRECT, 7, AT (9), KEEPS + DIRECT },
    .fp = 3,
    .pc = PLAIN + PROVED_BARE,
    .is_exact = TRUE },
  { "the same where the word on top is behind an indirect call",
    { PLAIN + CALL, PLAIN + DIRECT, 7, AT (9), PLAIN + CALL },
    .fp = 3,
    .pc = PLAIN + PROVED_BARE,
    .is_exact = TRUE },
  { "an old word that leads to generated code, in a frame that is proved to be set up",
    { 7, JIT + 5, AT (9), PLAIN + DIRECT },
    .fp = 2,
    .pc = PLAIN + PROVED_FRAMED,
    .want = LU_PROVIDER_FOUND,
    .want_pc = PLAIN + DIRECT,
    .want_sp = 4 },
  { "the same where the frame's own call leads to the leaf",
    { AT (3), PLAIN + DIRECT, 7, AT (9), PLAIN + DIRECT },
    .fp = 3,
    .pc = PLAIN,
    .is_exact = TRUE,
    .want = LU_PROVIDER_FOUND,
    .want_pc = PLAIN + DIRECT,
    .want_sp = 5 },
  { "the same where nobody knows yet whether a call is in front of the frame's return address",
    { AT (3), PLAIN + DIRECT, 7, AT (9), PLAIN + LATER },
    .fp = 3,
    .pc = PLAIN,
    .is_exact = TRUE,
    .want = LU_PROVIDER_UNKNOWN },
  { "a Python trampoline below the frame pointer of something else",
    { 7, RULES + CALL, JIT + 10, RULES + CALL, AT (9), RULES + CALL },
    .fp = 4,
    .pc = JIT + 10,
    .want = LU_PROVIDER_FOUND,
    .want_pc = RULES + CALL,
    .want_sp = 2 },
  { "HotSpot: the frame of a compiled method that has pushed the frame pointer",
    { 7, AT (3), JIT + 5, AT (9), RULES + CALL },
    .fp = 3,
    .pc = JIT,
    .has_hotspot = TRUE },
  { "HotSpot: a compiled method that has pushed the frame pointer has called this one",
    { 7, AT (4), JIT + 5, 7, AT (9), RULES + CALL },
    .fp = 4,
    .pc = JIT,
    .has_hotspot = TRUE },
  { "HotSpot: an address of code, above something else",
    { 7, 7, JIT + 5, AT (9), RULES + CALL },
    .fp = 3,
    .pc = JIT,
    .has_hotspot = TRUE,
    .want = LU_PROVIDER_FOUND,
    .want_pc = RULES + CALL,
    .want_sp = 5 },
  { "HotSpot: a method at its first instruction, called by one whose frame has an old word",
    { 7, JIT + 5, 7, JIT + 9, AT (9), RULES + CALL },
    .sp = 1,
    .fp = 4,
    .pc = JIT,
    .is_exact = TRUE,
    .has_hotspot = TRUE,
    .want = LU_PROVIDER_FOUND,
    .want_pc = JIT + 5,
    .want_sp = 2 },
  { "HotSpot: an old word on top of a frame whose stack pointer is that of a frame set up",
    { JIT + 5, 7, AT (9), RULES + CALL },
    .fp = 2,
    .pc = JIT,
    .is_exact = TRUE,
    .has_hotspot = TRUE,
    .want = LU_PROVIDER_FOUND,
    .want_pc = RULES + CALL,
    .want_sp = 4 },
  { "HotSpot: old words on top, or a method that has just pushed the frame pointer",
    { AT (4), JIT + 5, 7, 7, AT (9), RULES + CALL },
    .fp = 4,
    .pc = JIT,
    .is_exact = TRUE,
    .has_hotspot = TRUE,
    .want = LU_PROVIDER_NONE },
  { "HotSpot: an adapter that has moved the stack pointer below its return address",
    { 7, 7, 7, JIT + 5, AT (6), 7, AT (9), RULES + CALL },
    .fp = 6,
    .pc = JIT,
    .sender = AT (4),
    .is_exact = TRUE,
    .has_hotspot = TRUE,
    .want = LU_PROVIDER_NONE },
  { "HotSpot: an interpreted method at its first instruction",
    { JIT + 5, 7, 7, JIT + 9, AT (9), RULES + CALL },
    .fp = 4,
    .pc = JIT,
    .sender = AT (1),
    .is_exact = TRUE,
    .has_hotspot = TRUE },
  { "HotSpot: an interpreted method that has pushed the return address of its own call",
    { 7, JIT + 5, 7, 0, AT (7), AT (9), RULES + CALL },
    .sp = 1,
    .fp = 5,
    .pc = JIT,
    .is_exact = TRUE,
    .has_hotspot = TRUE },
  { "HotSpot: code that a signal has interrupted, where registers would have to tell",
    { 7, 7, 7, 7, AT (9), RULES + CALL },
    .sp = 2,
    .fp = 4,
    .pc = JIT,
    .is_exact = TRUE,
    .has_hotspot = TRUE,
    .is_interrupted = TRUE,
    .want = LU_PROVIDER_NONE },
  { "HotSpot: an adapter that has the return address in a register",
    { 7, 7, AT (9), RULES + CALL },
    .fp = 2,
    .pc = JIT,
    .result = JIT + 5,
    .is_exact = TRUE,
    .has_hotspot = TRUE,
    .want = LU_PROVIDER_NONE },
  { "HotSpot: an interpreted method that is set up and has its return address in a register, too",
    { 7, 7, 0, AT (6), AT (9), JIT + 5 },
    .fp = 4,
    .pc = JIT,
    .result = JIT + 5,
    .is_exact = TRUE,
    .has_hotspot = TRUE,
    .want = LU_PROVIDER_FOUND,
    .want_pc = JIT + 5,
    .want_sp = 6 },
  { "HotSpot: the register has another return address than the interpreted method",
    { 7, 7, 0, AT (6), AT (9), JIT + 5 },
    .fp = 4,
    .pc = JIT,
    .result = JIT + 9,
    .is_exact = TRUE,
    .has_hotspot = TRUE },
  { "HotSpot: an adapter of a compiled method that an interpreted one has called, twice",
    { 7, JIT + 9, 0, AT (6), AT (9), JIT + 5 },
    .fp = 4,
    .pc = JIT,
    .result = JIT + 5,
    .is_exact = TRUE,
    .has_hotspot = TRUE },
  { "HotSpot: the frame pointer is no interpreted method's",
    { 7, 7, 0, 7, AT (9), JIT + 5 },
    .fp = 4,
    .pc = JIT,
    .result = JIT + 5,
    .is_exact = TRUE,
    .has_hotspot = TRUE },
  { "HotSpot: an interpreted method that is about to pop its return address",
    { JIT + 5, 7, 7, 7, AT (9), RULES + CALL },
    .fp = 4,
    .pc = JIT,
    .bx = AT (2),
    .is_exact = TRUE,
    .has_hotspot = TRUE },
  { "HotSpot: an interpreted method that has popped it",
    { 7, 7, AT (9), RULES + CALL },
    .fp = 2,
    .pc = JIT,
    .sender = JIT + 5,
    .bx = AT (0),
    .is_exact = TRUE,
    .has_hotspot = TRUE },
  { "HotSpot: one that has popped it and was called from a frame without words",
    { 7, 7, AT (9), RULES + CALL },
    .fp = 2,
    .pc = JIT,
    .sender = JIT + 5,
    .bx = AT (2),
    .is_exact = TRUE,
    .has_hotspot = TRUE },
  { "HotSpot: a compiled method whose registers hold an old return address",
    { 7, 7, AT (9), RULES + CALL },
    .fp = 2,
    .pc = JIT,
    .sender = JIT + 5,
    .bx = 1,
    .is_exact = TRUE,
    .has_hotspot = TRUE,
    .want = LU_PROVIDER_FOUND,
    .want_pc = RULES + CALL,
    .want_sp = 4 },
  { "V8: an old return address in the frame of a function",
    { 7, AT (8), JIT + 5, 3, V8_OBJECT + 8, V8_OBJECT, AT (9), RULES + CALL },
    .fp = 6,
    .pc = JIT,
    .is_exact = TRUE,
    .want = LU_PROVIDER_FOUND,
    .want_pc = RULES + CALL,
    .want_sp = 8 },
  { "the same on top",
    { JIT + 5, AT (8), JIT + 5, 3, V8_OBJECT + 8, V8_OBJECT, AT (9), RULES + CALL },
    .fp = 6,
    .pc = JIT,
    .is_exact = TRUE },
  { "V8: a word on top that leads to copied code: old, or a function that has no frame yet",
    { COPIED + 5, 7, 7, 3, V8_OBJECT + 8, V8_OBJECT, AT (9), RULES + CALL },
    .fp = 6,
    .pc = JIT,
    .is_exact = TRUE,
    .want = LU_PROVIDER_NONE },
  { "a leaf of copied code, which may have its return address in a register",
    { 7, 7, AT (9), RULES + CALL },
    .fp = 2,
    .pc = COPIED,
    .is_exact = TRUE,
    .bx = JIT + 5,
    .want = LU_PROVIDER_NONE },
  { "the same in a word that seems to be of its frame",
    { 7, JIT + 5, AT (9), RULES + CALL },
    .fp = 2,
    .pc = COPIED,
    .is_exact = TRUE,
    .want = LU_PROVIDER_NONE },
  { "the same nowhere, so that the frame is its own",
    { 7, 7, AT (9), RULES + CALL },
    .fp = 2,
    .pc = COPIED,
    .is_exact = TRUE,
    .bx = 7,
    .want = LU_PROVIDER_FOUND,
    .want_pc = RULES + CALL,
    .want_sp = 4 },
  { "a caller of copied code",
    { 7, 7, AT (9), COPIED + 5 },
    .fp = 2,
    .pc = COPIED,
    .want = LU_PROVIDER_FOUND,
    .want_pc = COPIED + 5,
    .want_sp = 4 },
  { "V8: a word on top behind an indirect call in a file: old, or a function that has no frame yet",
    { KEEPS + CALL, 7, 7, 3, V8_OBJECT + 8, V8_OBJECT, AT (9), RULES + CALL },
    .fp = 6,
    .pc = JIT,
    .is_exact = TRUE },
  { "the same in a frame of something else",
    { KEEPS + CALL, 7, 7, 3, V8_OBJECT + 7, V8_OBJECT, AT (9), RULES + CALL },
    .fp = 6,
    .pc = JIT,
    .is_exact = TRUE,
    .want = LU_PROVIDER_FOUND,
    .want_pc = KEEPS + CALL,
    .want_sp = 1 },
  { "aligned addresses are no objects of V8",
    { 7, AT (8), JIT + 5, 3, V8_OBJECT + 7, V8_OBJECT, AT (9), RULES + CALL },
    .fp = 6,
    .pc = JIT },
  { "small numbers are no objects of V8",
    { 7, AT (8), JIT + 5, 3, 9, V8_OBJECT, AT (9), RULES + CALL },
    .fp = 6,
    .pc = JIT },
  { "functions of V8 have no million arguments",
    { 7, AT (8), JIT + 5, 1000000, V8_OBJECT + 8, V8_OBJECT, AT (9), RULES + CALL },
    .fp = 6,
    .pc = JIT },
  { "V8: an old return address in a frame that is no function's but was called by one",
    { 7, JIT + 5, 7, 10, AT (10), JIT + 5, 7, 3, V8_OBJECT + 8, V8_OBJECT, AT (11), 7 },
    .fp = 4,
    .pc = JIT,
    .want = LU_PROVIDER_FOUND,
    .want_pc = JIT + 5,
    .want_sp = 6 },
  { "the same, as the leaf",
    { 7, JIT + 5, 7, 10, AT (10), JIT + 5, 7, 3, V8_OBJECT + 8, V8_OBJECT, AT (11), 7 },
    .fp = 4,
    .pc = JIT,
    .is_exact = TRUE },
  { "the same without the mark of such a frame",
    { 7, JIT + 5, 7, 11, AT (10), JIT + 5, 7, 3, V8_OBJECT + 8, V8_OBJECT, AT (11), 7 },
    .fp = 4,
    .pc = JIT },
  { "the same, called by no function",
    { 7, JIT + 5, 7, 10, AT (10), JIT + 5, 7, 3, V8_OBJECT + 7, V8_OBJECT, AT (11), 7 },
    .fp = 4,
    .pc = JIT },
  { "the same in a file, as V8's builtins that call C code",
    { JIT + 5, 7, 10, AT (9), JIT + 5, 7, 3, V8_OBJECT + 8, V8_OBJECT, AT (11), 7 },
    .fp = 3,
    .pc = PLAIN,
    .want = LU_PROVIDER_FOUND,
    .want_pc = JIT + 5,
    .want_sp = 5 },
  { "the same in a copy of builtins, where no other code can be in between",
    { JIT + 5, 7, 7, 7, 10, AT (10), JIT + 5, 3, V8_OBJECT + 8, V8_OBJECT, AT (11), 7 },
    .fp = 5,
    .pc = BUILTIN,
    .want = LU_PROVIDER_FOUND,
    .want_pc = JIT + 5,
    .want_sp = 7 },
  { "the same, and so large that code without a frame may be in between",
    { 7, JIT + 5, 7, 7, 10, AT (10), JIT + 5, 3, V8_OBJECT + 8, V8_OBJECT, AT (11), 7 },
    .fp = 5,
    .pc = PLAIN },
  { "a word on top behind a direct call in a file: old, or the code called jumps to generated code",
    { KEEPS + DIRECT, 7, AT (9), PLAIN + CALL },
    .fp = 2,
    .pc = JIT,
    .is_exact = TRUE },
  { "such a word below the frame pointer just pushed",
    { AT (2), KEEPS + DIRECT, AT (9), PLAIN + CALL },
    .fp = 2,
    .pc = JIT,
    .is_exact = TRUE },
  { "another such word cannot be the return address either",
    { PLAIN + CALL, KEEPS + DIRECT, AT (9), PLAIN + CALL },
    .fp = 2,
    .pc = JIT,
    .is_exact = TRUE,
    .want = LU_PROVIDER_FOUND,
    .want_pc = PLAIN + CALL,
    .want_sp = 1 },
  { "an old return address, below code that keeps frame pointers itself",
    { 7, KEEPS + CALL, AT (9), PLAIN + CALL },
    .fp = 2,
    .pc = JIT,
    .want = LU_PROVIDER_FOUND,
    .want_pc = PLAIN + CALL,
    .want_sp = 4 },
};

static guint n_looked_for;

static const LuDwflMapping *
find (gpointer data, guint64 address)
{
  n_looked_for++;
  return address - JIT < SIZE         ? &jit
         : address - PLAIN < 3 * SIZE ? &file
         : address - COPIED < SIZE    ? &copied
         : address - BUILTIN < SIZE   ? &builtin
                                      : NULL;
}

static LuCallKind
call_before (gpointer data, const LuDwflMapping *mapping, guint64 pc)
{
  g_assert_true (mapping == &file);
  switch (pc % SIZE)
    {
    case CALL:
      return LU_CALL_INDIRECT;
    case DIRECT:
      return LU_CALL_DIRECT;
    case LATER:
      return LU_CALL_UNKNOWN;
    default:
      return LU_CALL_NONE;
    }
}

static LuLeaf
leaf_at (gpointer data, const LuDwflMapping *mapping, guint64 pc)
{
  g_assert_true (mapping == &file);
  return pc % SIZE == LEAF            ? LU_LEAF_BARE
         : pc % SIZE == LEAF_PUSHED   ? LU_LEAF_PUSHED
         : pc % SIZE == LEAF_FRAMED   ? LU_LEAF_FRAMED
         : pc % SIZE == LEAF_LATER    ? LU_LEAF_UNKNOWN
         : pc % SIZE == LEAF_REGISTER ? (RBX + 1) << LU_LEAF_REGISTER_SHIFT
         : pc % SIZE == LEAF_ABOUT    ? LU_LEAF_BARE | (RBX + 1) << LU_LEAF_REGISTER_SHIFT
         : pc % SIZE == LEAF_POPS     ? LU_LEAF_POPPED | 2 << LU_LEAF_DEPTH_SHIFT
         : pc % SIZE == LEAF_POPS_FP
             ? LU_LEAF_POPPED | 2 << LU_LEAF_DEPTH_SHIFT | 2 << LU_LEAF_FP_SHIFT
             : LU_LEAF_UNDECIDED;
}

/* The direct call leads to any code but that from FAR on, and that of KEEPS not to that of PLAIN.
 */
static LuProviderResult
leads_to (gpointer data, const LuFrameCall *call)
{
  g_assert_true (call->mapping == &file && call->code == &file);
  if (call->pc == KEEPS + DIRECT && call->to == PLAIN + DIRECT)
    return LU_PROVIDER_NONE;
  return call->pc % SIZE == DIRECT && call->to % SIZE >= FAR && call->to % SIZE <= PROVED_LATER
             ? LU_PROVIDER_NONE
             : LU_PROVIDER_FOUND;
}

/* A direct call leads to no function with the code at SKIPS. */
static LuProviderResult
leads_away (gpointer data, const LuFrameCall *call)
{
  g_assert_true (call->mapping == &file && call->code == &file);
  if (call->pc % SIZE != DIRECT)
    return LU_PROVIDER_NONE;
  return call->to % SIZE == SKIPS         ? LU_PROVIDER_FOUND
         : call->to % SIZE == SKIPS_LATER ? LU_PROVIDER_UNKNOWN
                                          : LU_PROVIDER_NONE;
}

/* A direct call proves nothing but at PROVED_*. */
static LuLeaf
frame_at (gpointer data, const LuFrameCall *call)
{
  g_assert_true (call->mapping == &file && call->code == &file && call->pc % SIZE == DIRECT);
  return call->to % SIZE == PROVED_FRAMED  ? LU_LEAF_FRAMED
         : call->to % SIZE == PROVED_BARE  ? LU_LEAF_BARE
         : call->to % SIZE == PROVED_LATER ? LU_LEAF_UNKNOWN
                                           : LU_LEAF_UNDECIDED;
}

static guint n_asked;

static enum lu_fp_rule
rule_at (gpointer data, const LuDwflMapping *mapping, guint64 lookup)
{
  n_asked++;
  g_assert_true (mapping == &file);
  return lookup < RULES ? LU_FP_RULE_NONE : lookup < KEEPS ? LU_FP_RULE_OTHER : LU_FP_RULE_BY_FP;
}

static const LuFrameOps ops = {
  .find = find,
  .rule_at = rule_at,
  .call_before = call_before,
  .leads_to = leads_to,
  .leads_away = leads_away,
  .frame_at = frame_at,
  .leaf_at = leaf_at,
};
static LuSetUpCode set_up;

static LuFrameContext
new_fp_step (const LuSample *sample, gboolean is_exact, guint64 last_fp)
{
  return (LuFrameContext){ .arch = &lu_arch_x86_64,
                           .sample = sample,
                           .sampled_sp = SP,
                           .is_exact = is_exact,
                           .state = { .last_fp = last_fp },
                           .set_up = &set_up,
                           .ops = &ops };
}

/* Returns the number of mapping look-ups. */
static guint
check_case (const Case *c, guint64 no_code)
{
  const guint64 registers[] = { c->result, c->bx, c->sender };
  LuSample sample = {
    .stack = (const guint8 *) c->words,
    .stack_size = sizeof c->words,
    .stack_asked = sizeof c->words,
    .regs = { .abi = LU_ABI_64, .n_words = 3, .mask = 3 | 1 << PERF_R13, .words = registers },
  };
  LuFrameContext fp_step = new_fp_step (&sample, c->is_exact, c->last_fp);
  LuFrameRegs frame = { .pc = c->pc, .sp = AT (c->sp), .fp = c->fp ? AT (c->fp) : c->fp_value };
  const LuDwflMapping *mapping = c->pc < PLAIN     ? &jit
                                 : c->pc < COPIED  ? &file
                                 : c->pc < BUILTIN ? &copied
                                                   : &builtin;
  LuFrameRegs caller;

  fp_step.no_code = no_code;
  if (c->has_hotspot && !c->is_interrupted)
    {
      fp_step.sampled_sp = frame.sp;
      sample.stack += 8 * c->sp;
      sample.stack_size -= 8 * c->sp;
    }
  fp_step.has_hotspot = c->has_hotspot;
  n_looked_for = 0;
  memset (&set_up, 0, sizeof set_up);
  g_assert_cmpint (lu_frame_providers_step (&fp_step, mapping, &frame, &caller), ==, c->want);
  if (c->want != LU_PROVIDER_FOUND)
    return n_looked_for;
  g_assert_cmphex (caller.pc, ==, c->want_pc);
  g_assert_cmphex (caller.sp, ==, AT (c->want_sp));
  g_assert_true (c->want_sp > c->fp
                     ? fp_step.state.last_fp == frame.fp && caller.fp == c->words[c->fp]
                     : fp_step.state.last_fp == c->last_fp && caller.fp == frame.fp);
  return n_looked_for;
}

static void
test_case (gconstpointer data)
{
  g_assert_cmpuint (check_case (data, ALL_BUT_CODE), <=, check_case (data, 0));
}

/* Words between stack and frame pointer that are not addresses of code cost no look-up. */
static void
test_regions (void)
{
  static const Case c = { .words = { 7, AT (1), AT (4), 0, AT (9), RULES + CALL },
                          .fp = 4,
                          .pc = JIT,
                          .want = LU_PROVIDER_FOUND,
                          .want_pc = RULES + CALL,
                          .want_sp = 6 };

  g_assert_cmpuint (check_case (&c, ALL_BUT_CODE) + 2, ==, check_case (&c, 0));
}

static LuProviderResult
fp_step_words (guint64 serial, guint64 pc, guint64 top, guint64 second)
{
  guint64 words[N] = { [0] = top, [1] = second, [2] = AT (9), [3] = RULES + CALL };
  LuSample sample = { .stack = (const guint8 *) words, .stack_size = sizeof words };
  LuFrameContext fp_step = new_fp_step (&sample, TRUE, 0);
  LuFrameRegs frame = { .pc = pc, .sp = AT (0), .fp = AT (2) }, caller;
  LuProviderResult result;

  fp_step.state.serial = serial;
  result = lu_frame_providers_step (&fp_step, pc < PLAIN ? &jit : &file, &frame, &caller);
  if (result == LU_PROVIDER_FOUND)
    g_assert_cmphex (caller.pc, ==, pc == PLAIN + LEAF ? top : RULES + CALL);
  return result;
}

static LuProviderResult
fp_step_leaf (guint64 serial, guint64 pc, guint64 top)
{
  return fp_step_words (serial, pc, top, top);
}

/* If two words could be the return address, the step depends on whether the frame was set up at the
 * same place before. */
static void
test_set_up_before (void)
{
  g_assert_cmpint (fp_step_leaf (1, JIT + 50, JIT + 9), ==, LU_PROVIDER_NONE);
  g_assert_cmpint (fp_step_leaf (1, JIT + 50, 5), ==, LU_PROVIDER_FOUND);
  g_assert_cmpint (fp_step_leaf (1, JIT + 50, JIT + 9), ==, LU_PROVIDER_FOUND);
  g_assert_cmpint (fp_step_words (1, JIT + 50, JIT + 9, 5), ==, LU_PROVIDER_FOUND);
  g_assert_cmpint (fp_step_leaf (1, JIT + 51, JIT + 9), ==, LU_PROVIDER_NONE);
  g_assert_cmpint (fp_step_leaf (2, JIT + 50, JIT + 9), ==, LU_PROVIDER_NONE);
  for (guint i = 0; i < 10000; i++)
    g_assert_cmpint (fp_step_leaf (3, JIT + 100 + i, 5), ==, LU_PROVIDER_FOUND);
  g_assert_cmpint (fp_step_leaf (1, JIT + 50, JIT + 9), ==, LU_PROVIDER_NONE);
}

/* Makes a step from code in a file that has made a call. A word of its frame leads to generated
 * code or to none. */
static LuProviderResult
fp_step_caller (guint64 serial, guint64 word)
{
  guint64 words[N] = { [0] = word, [2] = AT (9), [3] = RULES + CALL };
  LuSample sample = { .stack = (const guint8 *) words, .stack_size = sizeof words };
  LuFrameContext fp_step = new_fp_step (&sample, FALSE, 0);
  LuFrameRegs frame = { .pc = PLAIN + 100, .sp = AT (0), .fp = AT (2) }, caller;

  fp_step.state.serial = serial;
  return lu_frame_providers_step (&fp_step, &file, &frame, &caller);
}

/* Generated code does not make what is known about code in files be forgotten. */
static void
test_set_up_in_file (void)
{
  memset (&set_up, 0, sizeof set_up);
  g_assert_cmpint (fp_step_caller (1, JIT + 9), ==, LU_PROVIDER_NONE);
  g_assert_cmpint (fp_step_caller (1, 5), ==, LU_PROVIDER_FOUND);
  g_assert_cmpint (fp_step_caller (1, JIT + 9), ==, LU_PROVIDER_FOUND);
  for (guint i = 0; i < 10000; i++)
    g_assert_cmpint (fp_step_leaf (3, JIT + 100 + i, 5), ==, LU_PROVIDER_FOUND);
  g_assert_cmpint (fp_step_caller (1, JIT + 9), ==, LU_PROVIDER_FOUND);
  g_assert_cmpint (fp_step_caller (2, JIT + 9), ==, LU_PROVIDER_NONE);
}

/* Makes a step from a compiled method that a stub has called, or from code that it has called; in
 * the latter frame is what could be a return address. `slot` is below the first frame's pointer. */
static LuProviderResult
hotspot_step (gboolean is_outer, guint64 slot, gboolean has_hotspot)
{
  guint64 words[N] = { [1] = slot,    [2] = AT (7), [3] = JIT + 5, [5] = AT (7),
                       [6] = JIT + 7, [7] = AT (9), [8] = JIT + 9 };
  LuSample sample = { .stack = (const guint8 *) words, .stack_size = sizeof words };
  LuFrameContext fp_step = new_fp_step (&sample, FALSE, is_outer ? AT (2) : SP - 16);
  LuFrameRegs frame = is_outer ? (LuFrameRegs){ .pc = JIT + 5, .sp = AT (4), .fp = AT (7) }
                               : (LuFrameRegs){ .pc = JIT + 3, .sp = AT (0), .fp = AT (2) };
  LuFrameRegs caller;

  fp_step.has_hotspot = has_hotspot;
  return lu_frame_providers_step (&fp_step, &jit, &frame, &caller);
}

/* One compiled method that keeps its frame pointer shows that all do. */
static void
test_hotspot (void)
{
  memset (&set_up, 0, sizeof set_up);
  g_assert_cmpint (hotspot_step (TRUE, 0, TRUE), ==, LU_PROVIDER_NONE);
  g_assert_cmpint (hotspot_step (FALSE, AT (4), TRUE), ==, LU_PROVIDER_FOUND); /* interpreted */
  g_assert_cmpint (hotspot_step (TRUE, 0, TRUE), ==, LU_PROVIDER_NONE);
  memset (&set_up, 0, sizeof set_up);
  g_assert_cmpint (hotspot_step (FALSE, 7, FALSE), ==, LU_PROVIDER_FOUND);
  g_assert_cmpint (hotspot_step (TRUE, 0, TRUE), ==, LU_PROVIDER_NONE);
  memset (&set_up, 0, sizeof set_up);
  g_assert_cmpint (hotspot_step (FALSE, 7, TRUE), ==, LU_PROVIDER_FOUND);
  g_assert_cmpint (hotspot_step (TRUE, 0, TRUE), ==, LU_PROVIDER_FOUND);
  g_assert_cmpint (hotspot_step (TRUE, 0, FALSE), ==, LU_PROVIDER_NONE);
}

/* It may also depend on what the code does until it returns. */
static void
test_leaf (void)
{
  memset (&set_up, 0, sizeof set_up);
  g_assert_cmpint (fp_step_leaf (1, PLAIN + LEAF, JIT + 9), ==, LU_PROVIDER_FOUND);
  g_assert_cmpint (fp_step_leaf (1, PLAIN + LEAF + 2, JIT + 9), ==, LU_PROVIDER_NONE);
  g_assert_cmpint (fp_step_leaf (1, PLAIN + LEAF_LATER, JIT + 9), ==, LU_PROVIDER_UNKNOWN);
  g_assert_cmpint (fp_step_leaf (1, JIT + LEAF, JIT + 9), ==, LU_PROVIDER_NONE);
}

/* A leaf that code with another rule may have called does not prove that it has set up a frame. */
static void
test_leaf_of_others (void)
{
  const guint64 first[N] = { RULES + CALL, 7, AT (9), PLAIN + CALL };
  const guint64 second[N] = { KEEPS + CALL, 7, AT (9), RULES + CALL };
  LuSample sample = { .stack = (const guint8 *) first, .stack_size = sizeof first };
  LuFrameContext fp_step = new_fp_step (&sample, TRUE, 0);
  const LuFrameRegs frame = { .pc = PLAIN + 7, .sp = AT (0), .fp = AT (2) };
  LuFrameRegs caller;

  memset (&set_up, 0, sizeof set_up);
  g_assert_cmpint (lu_frame_providers_step (&fp_step, &file, &frame, &caller), ==,
                   LU_PROVIDER_FOUND);
  g_assert_cmphex (caller.pc, ==, PLAIN + CALL);
  sample.stack = (const guint8 *) second;
  fp_step = new_fp_step (&sample, TRUE, 0);
  g_assert_cmpint (lu_frame_providers_step (&fp_step, &file, &frame, &caller), ==,
                   LU_PROVIDER_FOUND);
  g_assert_cmphex (caller.pc, ==, KEEPS + CALL);
}

/* Nor does one that code without a rule may have called, as one that moves its return address: it
 * has made room above it, where old words are. */
static void
test_leaf_of_unknown (void)
{
  const guint64 first[N] = { 7, PLAIN + CALL, AT (9), PLAIN + CALL };
  const guint64 second[N] = { PLAIN + CALL, 7, AT (9), PLAIN + CALL };
  const guint64 third[N] = { 7, 7, AT (9), PLAIN + CALL };
  LuSample sample = { .stack = (const guint8 *) first, .stack_size = sizeof first };
  LuFrameContext fp_step = new_fp_step (&sample, TRUE, 0);
  const LuFrameRegs frame = { .pc = PLAIN + 7, .sp = AT (0), .fp = AT (2) };
  LuFrameRegs caller;

  memset (&set_up, 0, sizeof set_up);
  lu_frame_providers_step (&fp_step, &file, &frame, &caller);
  sample.stack = (const guint8 *) second;
  fp_step = new_fp_step (&sample, TRUE, 0);
  g_assert_cmpint (lu_frame_providers_step (&fp_step, &file, &frame, &caller), ==,
                   LU_PROVIDER_FOUND);
  g_assert_cmphex (caller.sp, ==, AT (1));
  sample.stack = (const guint8 *) third;
  fp_step = new_fp_step (&sample, TRUE, 0);
  g_assert_cmpint (lu_frame_providers_step (&fp_step, &file, &frame, &caller), ==,
                   LU_PROVIDER_FOUND);
  g_assert_cmphex (caller.sp, ==, AT (4));
  g_assert_true (fp_step.is_repeatable);
}

/* Code that only pops has its return address behind these words, whatever they are and wherever the
 * frame pointer leads. */
static void
test_pops (void)
{
  const guint64 words[N] = { 7, AT (8), PLAIN + CALL, 8, AT (9), RULES + CALL };
  const guint64 other[N] = { 7, AT (8), 9, 8, AT (9), RULES + CALL };
  LuSample sample = { .stack = (const guint8 *) words, .stack_size = sizeof words };
  LuFrameContext fp_step = new_fp_step (&sample, TRUE, 0);
  LuFrameRegs frame = { .pc = PLAIN + LEAF_POPS, .sp = AT (0), .fp = AT (4) }, caller;

  memset (&set_up, 0, sizeof set_up);
  g_assert_cmpint (lu_frame_providers_step (&fp_step, &file, &frame, &caller), ==,
                   LU_PROVIDER_FOUND);
  g_assert_cmphex (caller.pc, ==, PLAIN + CALL);
  g_assert_cmphex (caller.sp, ==, AT (3));
  g_assert_cmphex (caller.fp, ==, AT (4));
  frame.pc = PLAIN + LEAF_POPS_FP;
  g_assert_cmpint (lu_frame_providers_step (&fp_step, &file, &frame, &caller), ==,
                   LU_PROVIDER_FOUND);
  g_assert_cmphex (caller.pc, ==, PLAIN + CALL);
  g_assert_cmphex (caller.fp, ==, AT (8));
  /* The frame is the leaf's own. */
  frame.fp = AT (1);
  g_assert_cmpint (lu_frame_providers_step (&fp_step, &file, &frame, &caller), ==,
                   LU_PROVIDER_FOUND);
  g_assert_cmphex (caller.pc, ==, PLAIN + CALL);
  g_assert_cmphex (caller.sp, ==, AT (3));
  g_assert_cmphex (caller.fp, ==, AT (8));
  /* There is none. */
  sample.stack = (const guint8 *) other;
  frame.pc = PLAIN + LEAF_POPS;
  frame.fp = AT (4);
  g_assert_cmpint (lu_frame_providers_step (&fp_step, &file, &frame, &caller), ==,
                   LU_PROVIDER_NONE);
}

/* Steps from a leaf in a file whose register holds a value. */
static LuProviderResult
step_with_register (guint64 pc, guint64 value, guint64 want_pc)
{
  const guint64 words[N] = { 7, 8, AT (9), RULES + CALL }, registers[] = { value };
  LuSample sample = { .stack = (const guint8 *) words,
                      .stack_size = sizeof words,
                      .regs = { .abi = LU_ABI_64,
                                .n_words = 1,
                                .mask = 1 << 1, /* rbx */
                                .words = registers } };
  LuFrameContext fp_step = new_fp_step (&sample, TRUE, 0);
  LuFrameRegs frame = { .pc = pc, .sp = AT (0), .fp = AT (2) }, caller;
  LuProviderResult result = lu_frame_providers_step (&fp_step, &file, &frame, &caller);

  if (result == LU_PROVIDER_FOUND)
    g_assert_cmphex (caller.pc, ==, want_pc);
  return result;
}

/* The return address is in the register that the code pushes before it returns. */
static void
test_register (void)
{
  memset (&set_up, 0, sizeof set_up);
  g_assert_cmpint (step_with_register (PLAIN + LEAF_REGISTER, JIT + 7, JIT + 7), ==,
                   LU_PROVIDER_FOUND);
  g_assert_cmpint (step_with_register (PLAIN + LEAF_REGISTER, PLAIN + LATER, 0), ==,
                   LU_PROVIDER_UNKNOWN);
  g_assert_cmpint (step_with_register (PLAIN + LEAF_ABOUT, JIT + 7, 0), ==, LU_PROVIDER_NONE);
  g_assert_cmpint (step_with_register (PLAIN + LEAF_REGISTER, 77, RULES + CALL), ==,
                   LU_PROVIDER_FOUND);
}

/* Whatever the stack contains, a frame that is found lies in the copy and above the previous one.
 */
static void
test_random (void)
{
  static const guint64 words[] = {
    0,   ~G_GUINT64_CONSTANT (0), JIT + 5, PLAIN + CALL, RULES + CALL, KEEPS + CALL, RULES + DIRECT,
    4097
  };
  guint n_found = 0;

  for (guint i = 0; i < 200000; i++)
    {
      guint n_bytes = (guint) g_test_rand_int_range (0, 8 * N + 1);
      g_autofree guint8 *bytes =
          g_malloc (n_bytes + 1); /* an allocation of its own, so that a sanitizer sees the end */
      LuSample sample = { .stack = bytes, .stack_size = n_bytes, .stack_asked = 8 * N };
      LuFrameContext fp_step = new_fp_step (&sample, i % 2, 0);
      LuFrameRegs frame = { .pc = i % 3 ? JIT : PLAIN, .sp = AT (i % 4) }, caller;

      for (guint at = 0; at + 8 <= n_bytes; at += 8)
        {
          guint64 word = i % 5 ? AT (g_test_rand_int_range (-1, N + 1)) : words[at / 8 % 8];

          if (g_test_rand_int_range (0, 2) != 0)
            word = words[g_test_rand_int_range (0, G_N_ELEMENTS (words))];
          memcpy (bytes + at, &word, sizeof word);
        }
      frame.fp = AT (g_test_rand_int_range (-1, N + 1)) + (i % 7 == 0);
      if (lu_frame_providers_step (&fp_step, i % 3 ? &jit : &file, &frame, &caller)
          != LU_PROVIDER_FOUND)
        continue;
      n_found++;
      g_assert_true (caller.sp > frame.sp && caller.sp <= SP + n_bytes);
      g_assert_nonnull (find (NULL, caller.pc - 1));
    }
  g_assert_cmpuint (n_found, >, 1000);
}

static LuFpStepFacts facts;

/* Makes one step from the facts and one without them, whose answers become facts. Returns whether
 * the facts were enough; if so, both steps must agree. */
static gboolean
compare_by_facts (const LuSample *sample, LuFrameContext *fp_step, const LuFrameRegs *frame)
{
  struct lu_copy copy = { sample->stack, SP, sample->stack_size };
  struct lu_compact_regs regs = { .pc = frame->pc, .offset = frame->sp - SP, .fp = frame->fp };
  lu_compact_rule plain = lu_fp_step_facts_step (&facts, &fp_step->state, &copy, &regs);
  guint n_before = fp_step->state.n_rules;
  LuFrameRegs caller;
  LuProviderResult result =
      lu_frame_providers_step (fp_step, frame->pc < PLAIN ? &jit : &file, frame, &caller);
  guint n_rules = fp_step->state.n_rules - n_before;

  if (plain != 0)
    {
      g_assert_cmpint (result, ==, LU_PROVIDER_FOUND);
      g_assert_true (fp_step->is_repeatable);
      g_assert_cmphex (regs.pc, ==, caller.pc);
      g_assert_cmphex (SP + regs.offset, ==, caller.sp);
      g_assert_cmphex (regs.fp, ==, caller.fp);
      g_assert_cmpuint (n_rules, ==, 0);
      g_assert_cmphex (fp_step->state.last_fp, ==, frame->fp);
    }
  else if (result == LU_PROVIDER_FOUND && fp_step->is_repeatable
           && caller.fp - SP < sample->stack_size)
    {
      lu_fp_step_facts_note (&facts, fp_step->state.serial, frame->pc, LU_FP_STEP_FROM);
      lu_fp_step_facts_note (&facts, fp_step->state.serial, caller.pc,
                             LU_FP_STEP_TO | (caller.pc < PLAIN ? LU_FP_STEP_TO_JIT : 0));
    }
  return plain != 0;
}

static void
test_facts (void)
{
  static const guint64 codes[] = { JIT, JIT + 5, PLAIN + CALL, PLAIN + DIRECT, RULES + CALL };
  guint n_by_facts = 0;

  for (guint i = 0; i < 200000; i++)
    {
      guint64 words[N];
      LuSample sample = { .stack = (const guint8 *) words,
                          .stack_size = (guint) g_test_rand_int_range (0, sizeof words + 1) };
      LuFrameContext fp_step =
          new_fp_step (&sample, FALSE, i % 3 ? 0 : AT (g_test_rand_int_range (-1, N + 1)));
      LuFrameRegs frame = { .pc = codes[g_test_rand_int_range (0, 4)],
                            .sp = AT (g_test_rand_int_range (0, 4)),
                            .fp = AT (g_test_rand_int_range (-1, N + 1)) + (i % 17 == 0) };

      fp_step.state.serial = 1 + i % 2;
      fp_step.state.n_rules = LU_FP_MAX_RULES - (guint) g_test_rand_int_range (0, 3);
      for (guint at = 0; at < N; at++)
        words[at] = g_test_rand_int_range (0, 2) ? codes[g_test_rand_int_range (0, 5)]
                                                 : AT (g_test_rand_int_range (-1, N + 1));
      n_by_facts += compare_by_facts (&sample, &fp_step, &frame);
    }
  g_assert_cmpuint (n_by_facts, >, 1000);
}

/* The stack ends at the very top of the address space. */
static void
test_wrap_around (void)
{
  guint64 words[4] = { 0, RULES + CALL, 0, RULES + CALL };
  LuSample sample = { .stack = (const guint8 *) words, .stack_size = sizeof words };
  LuFrameContext fp_step = new_fp_step (&sample, FALSE, 0);
  LuFrameRegs frame = { .pc = JIT }, caller;

  fp_step.sampled_sp = frame.sp = (guint64) -32;
  for (guint i = 0; i < 4; i++)
    {
      frame.fp = frame.sp + 8 * i;
      g_assert_cmpint (lu_frame_providers_step (&fp_step, &jit, &frame, &caller), ==,
                       i == 3       ? LU_PROVIDER_BEYOND
                       : i % 2 == 0 ? LU_PROVIDER_FOUND
                                    : LU_PROVIDER_NONE);
      fp_step.state.last_fp = 0;
    }
}

/* The frame is full of addresses whose rules have to be compiled. */
static void
test_rules_are_limited (void)
{
  g_autofree guint64 *words = g_new (guint64, 4096);
  LuSample sample = { .stack = (const guint8 *) words, .stack_size = 8 * 4096 };
  LuFrameContext fp_step = new_fp_step (&sample, FALSE, 0);
  guint n_most = 0;

  n_asked = 0;
  for (guint i = 0; i < 4096; i++)
    words[i] = RULES + DIRECT;
  for (guint at = 0; at + 202 < 4096; at += 202)
    {
      LuFrameRegs frame = { .pc = JIT, .sp = AT (at), .fp = AT (at + 200) }, caller;
      guint before = n_asked;

      words[at + 200] = AT (at + 402);
      memset (&set_up, 0, sizeof set_up);
      g_assert_cmpint (lu_frame_providers_step (&fp_step, &jit, &frame, &caller), ==,
                       LU_PROVIDER_FOUND);
      n_most = MAX (n_most, n_asked - before);
    }
  g_assert_cmpuint (n_most, ==, 201);
  g_assert_cmpuint (n_asked, <=, 1024);
}

/* Steps from a leaf in a file with a frame of n_words, `top` in its last one, and a stack pointer
 * that is `rest` bytes off. */
static LuProviderResult
step_from_large (guint64 pc, guint n_words, guint rest, guint64 top)
{
  guint64 words[512] = { 0 };
  LuSample sample = { .stack = (const guint8 *) words, .stack_size = sizeof words };
  LuFrameContext fp_step = new_fp_step (&sample, TRUE, 0);
  LuFrameRegs frame = { .pc = pc, .sp = AT (1) - rest, .fp = AT (1 + n_words) }, caller;

  words[n_words] = top;
  words[1 + n_words] = AT (500);
  words[2 + n_words] = RULES + CALL;
  return lu_frame_providers_step (&fp_step, &file, &frame, &caller);
}

/* A leaf that has set up no frame has its return address somewhere in what looks like one. */
static void
test_leaf_proves_frame (void)
{
  memset (&set_up, 0, sizeof set_up);
  g_assert_cmpint (step_from_large (PLAIN, 300, 0, RULES + CALL), ==, LU_PROVIDER_NONE);
  g_assert_cmpint (step_from_large (PLAIN, 300, 0, 7), ==, LU_PROVIDER_NONE);
  g_assert_cmpint (step_from_large (PLAIN, 10, 0, RULES + CALL), ==, LU_PROVIDER_NONE);
  g_assert_cmpint (step_from_large (PLAIN, 1, 4, RULES + CALL), ==, LU_PROVIDER_NONE);
  g_assert_cmpint (step_from_large (PLAIN + LEAF_FRAMED, 300, 0, 7), ==, LU_PROVIDER_FOUND);
  g_assert_cmpint (step_from_large (PLAIN, 10, 0, 7), ==, LU_PROVIDER_FOUND);
  g_assert_cmpint (step_from_large (PLAIN, 300, 0, 7), ==, LU_PROVIDER_FOUND);
}

static LuModule *
new_module (LuModuleKind kind)
{
  LuModuleKey key = { .kind = kind, .path = "x" };

  return lu_module_new (&key);
}

/* The deleted or foreign files of a process that has ended cannot be read any more, but the answer
 * is not kept: another process may have them. */
static void
test_file_that_is_gone (void)
{
  g_autoptr (LuCodeReader) reader = lu_code_reader_new ();
  LuModuleKey key = { .kind = LU_MODULE_FILE, .path = (char *) "/nowhere/gone" };
  LuModule *module = lu_module_new (&key);
  LuDwflMapping mapping = { .start = PLAIN, .end = PLAIN + SIZE, .module = module };
  const LuArch *arch = &lu_arch_x86_64;

  g_assert_cmpint (lu_code_call (reader, 0, arch, &mapping, PLAIN + CALL), ==, LU_CALL_NONE);
  g_assert_cmpint (lu_code_call (NULL, 0, arch, &mapping, PLAIN + CALL), ==, LU_CALL_UNKNOWN);
  g_assert_cmpint (lu_code_leaf (reader, 0, arch, &mapping, PLAIN), ==, LU_LEAF_UNDECIDED);
  g_assert_cmpint (lu_code_leaf (NULL, 0, arch, &mapping, PLAIN), ==, LU_LEAF_UNKNOWN);
  lu_module_unref (module);
}

#define TEXT       0x10000u
#define AT_CALL(i) (TEXT + 64 * (i) + 5)

/* Makes an ELF file that is all code, for a dynamic linker or not. */
static LuImage *
new_image (gboolean is_program)
{
  struct
  {
    Elf64_Ehdr header;
    Elf64_Phdr segments[2];
  } elf = { .header = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
                        .e_type = ET_DYN,
                        .e_machine = EM_X86_64,
                        .e_version = EV_CURRENT,
                        .e_phoff = sizeof (Elf64_Ehdr),
                        .e_ehsize = sizeof (Elf64_Ehdr),
                        .e_phentsize = sizeof (Elf64_Phdr),
                        .e_phnum = 2 },
            .segments = {
                { .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = 16384, .p_memsz = 16384 },
                { .p_type = is_program ? PT_INTERP : PT_NULL } } };
  LuImage *image = lu_image_new_from_memory (&elf, sizeof elf, NULL);

  g_assert_nonnull (image);
  g_assert_cmpint (lu_image_is_program (image), ==, is_program);
  return image;
}

/* A file with direct calls and a call through a register, and what they lead to. */
static LuModule *
write_calls (char **path, gboolean is_program)
{
  static guint8 code[16384];
  const gint32 targets[] = { 8192, 9000, 9016, 9032, 9048, 9064, 0, 0, 11008, 11072 };
  LuModuleKey key = { .kind = LU_MODULE_FILE };
  LuModule *module;

  for (guint i = 0; i < G_N_ELEMENTS (targets); i++)
    {
      gint32 displacement = targets[i] - (gint32) (64 * i + 5);

      if (targets[i] == 0)
        continue;
      code[64 * i] = 0xe8;
      memcpy (code + 64 * i + 1, &displacement, sizeof displacement);
    }
  memcpy (code + 64 * 6 + 3, "\xff\xd0", 2);
  memcpy (code + 9000, "\xff\x25\1\2\3\4", 6);
  memcpy (code + 9016, "\xf3\x0f\x1e\xfa\xff\x25\1\2\3\4", 10);
  memcpy (code + 9032, "\xf3\x0f\x1e\xfa\xf2\xff\x25\1\2\3\4", 11);
  memcpy (code + 9064, "\xf3\x0f\x1e\xfa\x41\xbb\1\2\3\4\xff\x25", 12);
  memcpy (code + 9048, "\xff\x24\x25\1\2\3", 6);
  memcpy (code + 10240, "\x48\x89\xe5\x90\xc3", 5); /* mov %rsp,%rbp; nop; ret */
  memcpy (code + 10256, "\x31\xc0\xc3", 3);         /* xor %eax,%eax; ret */
  memcpy (code + 10272, "\x48\x83\xc4\x08\xc3", 5); /* add $8,%rsp; ret */
  memcpy (code + 10496, "\x48\x83\xc4\x08\xc3", 5);
  /* add $0x90,%rsp; pop %rbp and four others; ret */
  memcpy (code + 10624, "\x48\x81\xc4\x90\0\0\0\x5d\x5b\x5e\x5f\x58\xc3", 13);
  memcpy (code + 10752, "\x5d\x5b\x5b\x5b\x5b\x5b\x5b\x5b\x5b\xc3", 10);
  /* push %rbp; mov %rsp,%rbp; leave; ret, and the same with a jump through a register */
  memcpy (code + 11008, "\x55\x48\x89\xe5\xc9\xc3", 6);
  memcpy (code + 11072, "\x55\x48\x89\xe5\xff\xe0\xc9\xc3", 8);
  g_close (g_file_open_tmp ("live-unwinder-XXXXXX", path, NULL), NULL);
  g_assert_true (g_file_set_contents (*path, (const char *) code, sizeof code, NULL));
  key.path = *path;
  module = lu_module_new (&key);
  lu_module_publish (module, LU_MODULE_READY, new_image (is_program));
  return module;
}

/* A direct call leads to what is near its target in its own file, or through a procedure linkage
 * table to what files export, which a program does not call so itself. */
static void
test_leads_to (gconstpointer is_program)
{
  static const struct
  {
    guint call, to;
    LuProviderResult within, across;
  } expected[] = {
    { 0, 8200, LU_PROVIDER_FOUND, LU_PROVIDER_NONE },
    { 0, 14000, LU_PROVIDER_NONE, LU_PROVIDER_NONE },
    { 1, 14000, LU_PROVIDER_FOUND, LU_PROVIDER_FOUND },
    { 2, 14000, LU_PROVIDER_FOUND, LU_PROVIDER_FOUND },
    { 3, 14000, LU_PROVIDER_FOUND, LU_PROVIDER_FOUND },
    { 4, 14000, LU_PROVIDER_NONE, LU_PROVIDER_NONE },
    { 5, 14000, LU_PROVIDER_FOUND, LU_PROVIDER_FOUND },
    { 6, 14000, LU_PROVIDER_FOUND, LU_PROVIDER_FOUND },
    { 7, 14000, LU_PROVIDER_NONE, LU_PROVIDER_NONE },
  };
  g_autoptr (LuCodeReader) reader = lu_code_reader_new ();
  g_autofree char *path = NULL;
  LuModule *module = write_calls (&path, is_program != NULL);
  const LuDwflMapping mapping = {
    .start = TEXT, .end = TEXT + 16384, .bias = TEXT, .module = module
  };

  for (guint i = 0; i < G_N_ELEMENTS (expected); i++)
    {
      const guint64 pc = AT_CALL (expected[i].call);
      const LuFrameCall within = { &mapping, &mapping, pc, TEXT + expected[i].to };
      const LuFrameCall across = { &mapping, &file, pc, PLAIN + expected[i].to };
      gboolean is_plt = expected[i].call >= 1 && expected[i].call <= 5;

      g_assert_cmpint (lu_code_leads_to (reader, 0, &lu_arch_x86_64, &within), ==,
                       is_plt && is_program != NULL ? LU_PROVIDER_NONE : expected[i].within);
      g_assert_cmpint (lu_code_leads_to (reader, 0, &lu_arch_x86_64, &across), ==,
                       expected[i].across);
      g_assert_cmpint (lu_code_leads_to (NULL, 0, &lu_arch_x86_64, &across), ==,
                       expected[i].across);
    }
  g_unlink (path);
  lu_module_unref (module);
}

/* A call leads away from code if it leads to a function that has not this code, and that jumps to
 * no other. The answer is kept. */
static void
test_leads_away (void)
{
  static const struct
  {
    guint call, to;
    LuProviderResult want;
  } expected[] = {
    { 8, 11008, LU_PROVIDER_NONE },  { 8, 11013, LU_PROVIDER_NONE },
    { 8, 11020, LU_PROVIDER_FOUND }, { 8, 10240, LU_PROVIDER_FOUND },
    { 9, 14000, LU_PROVIDER_NONE },  { 9, 10240, LU_PROVIDER_NONE },
    { 6, 14000, LU_PROVIDER_NONE },  { 7, 14000, LU_PROVIDER_NONE },
  };
  g_autoptr (LuCodeReader) reader = lu_code_reader_new ();
  g_autofree char *path = NULL;
  LuModule *module = write_calls (&path, TRUE);
  const LuDwflMapping mapping = {
    .start = TEXT, .end = TEXT + 16384, .bias = TEXT, .module = module
  };
  const LuFrameCall across = { &mapping, &file, AT_CALL (8), PLAIN + 14000 };

  for (guint i = 0; i < G_N_ELEMENTS (expected); i++)
    {
      const LuFrameCall call = { &mapping, &mapping, AT_CALL (expected[i].call),
                                 TEXT + expected[i].to };

      g_test_message ("call %u", i);
      g_assert_cmpint (lu_code_leads_away (reader, 0, &lu_arch_x86_64, &call), ==,
                       expected[i].want);
      g_assert_cmpint (lu_code_leads_away (NULL, 0, &lu_arch_x86_64, &call), ==, expected[i].want);
    }
  g_assert_cmpint (lu_code_leads_away (reader, 0, &lu_arch_x86_64, &across), ==, LU_PROVIDER_NONE);
  g_unlink (path);
  lu_module_unref (module);
}

/* Nothing is kept if the file could not be read, or while nobody may read it. */
static void
test_leads_away_again (void)
{
  g_autoptr (LuCodeReader) first = lu_code_reader_new ();
  g_autoptr (LuCodeReader) second = lu_code_reader_new ();
  g_autofree char *path = NULL, *away = NULL;
  LuModule *module = write_calls (&path, TRUE);
  const LuDwflMapping mapping = {
    .start = TEXT, .end = TEXT + 16384, .bias = TEXT, .module = module
  };
  const LuFrameCall call = { &mapping, &mapping, AT_CALL (8), TEXT + 14000 };
  const LuArch *arch = &lu_arch_x86_64;

  away = g_strconcat (path, ".away", NULL);
  g_assert_cmpint (lu_code_leads_away (NULL, 0, arch, &call), ==, LU_PROVIDER_UNKNOWN);
  g_assert_cmpint (lu_code_call (first, 0, arch, &mapping, call.pc), ==, LU_CALL_DIRECT);
  g_assert_cmpint (lu_code_leads_away (NULL, 0, arch, &call), ==, LU_PROVIDER_UNKNOWN);
  g_assert_cmpint (g_rename (path, away), ==, 0);
  g_assert_cmpint (lu_code_leads_away (second, 0, arch, &call), ==, LU_PROVIDER_NONE);
  g_assert_cmpint (lu_code_leads_away (NULL, 0, arch, &call), ==, LU_PROVIDER_UNKNOWN);
  g_assert_cmpint (g_rename (away, path), ==, 0);
  g_assert_cmpint (lu_code_leads_away (first, 0, arch, &call), ==, LU_PROVIDER_FOUND);
  g_unlink (path);
  lu_module_unref (module);
}

/* Where a call leads is asked again if the file could not be read. */
static void
test_leads_to_again (void)
{
  g_autoptr (LuCodeReader) first = lu_code_reader_new ();
  g_autoptr (LuCodeReader) second = lu_code_reader_new ();
  g_autoptr (LuCodeReader) third = lu_code_reader_new ();
  g_autofree char *path = NULL, *away = NULL;
  LuModule *module = write_calls (&path, FALSE);
  const LuDwflMapping mapping = {
    .start = TEXT, .end = TEXT + 16384, .bias = TEXT, .module = module
  };
  const LuFrameCall call = { &mapping, &mapping, AT_CALL (0), TEXT + 8200 };
  const LuArch *arch = &lu_arch_x86_64;

  away = g_strconcat (path, ".away", NULL);
  g_assert_cmpint (lu_code_call (first, 0, arch, &mapping, call.pc), ==, LU_CALL_DIRECT);
  g_assert_cmpint (g_rename (path, away), ==, 0);
  g_assert_cmpint (lu_code_leads_to (second, 0, arch, &call), ==, LU_PROVIDER_NONE);
  g_assert_cmpint (lu_code_leads_to (NULL, 0, arch, &call), ==, LU_PROVIDER_UNKNOWN);
  g_assert_cmpint (g_rename (away, path), ==, 0);
  g_assert_cmpint (lu_code_leads_to (third, 0, arch, &call), ==, LU_PROVIDER_FOUND);
  g_unlink (path);
  lu_module_unref (module);
}

/* Answers about leaves are replaced by others, and then asked for again, never changed. */
static void
test_leaf_replaced (void)
{
  g_autoptr (LuCodeReader) reader = lu_code_reader_new ();
  g_autofree char *path = NULL;
  LuModule *module = write_calls (&path, FALSE);
  const LuDwflMapping mapping = {
    .start = TEXT, .end = TEXT + 16384, .bias = TEXT, .module = module
  };
  LuCallSites *sites = lu_module_make_call_sites (module);
  guint n_unknown = 0;

  g_assert_cmpint (lu_code_leaf (reader, 0, &lu_arch_x86_64, &mapping, TEXT + 10240), ==,
                   LU_LEAF_PUSHED);
  for (guint64 i = 0; i < 400000; i++)
    {
      LuLeaf leaf = lu_code_leaf (NULL, 0, &lu_arch_x86_64, &mapping, TEXT + 10240);

      g_assert_true (leaf == LU_LEAF_PUSHED || leaf == LU_LEAF_UNKNOWN);
      n_unknown += leaf == LU_LEAF_UNKNOWN;
      lu_call_sites_add (sites, 1000000 + i * 16, LU_CALL_DIRECT);
    }
  g_assert_cmpuint (n_unknown, >, 0);
  g_unlink (path);
  lu_module_unref (module);
}

/* The answer about a leaf that pops words is kept with its numbers. */
static void
test_leaf_that_pops (void)
{
  static const struct
  {
    guint64 offset;
    LuLeaf want;
  } leaves[] = {
    { 10496, LU_LEAF_POPPED | 1 << LU_LEAF_DEPTH_SHIFT },
    { 10624, LU_LEAF_POPPED | 23 << LU_LEAF_DEPTH_SHIFT | 19 << LU_LEAF_FP_SHIFT },
    { 10752, LU_LEAF_UNDECIDED }, /* too many words between the two */
  };
  g_autoptr (LuCodeReader) reader = lu_code_reader_new ();
  g_autofree char *path = NULL;
  LuModule *module = write_calls (&path, FALSE);
  const LuDwflMapping mapping = {
    .start = TEXT, .end = TEXT + 16384, .bias = TEXT, .module = module
  };

  for (guint i = 0; i < G_N_ELEMENTS (leaves); i++)
    {
      guint64 pc = TEXT + leaves[i].offset;

      g_assert_cmphex (lu_code_leaf (NULL, 0, &lu_arch_x86_64, &mapping, pc), ==, LU_LEAF_UNKNOWN);
      g_assert_cmphex (lu_code_leaf (reader, 0, &lu_arch_x86_64, &mapping, pc), ==, leaves[i].want);
      g_assert_cmphex (lu_code_leaf (NULL, 0, &lu_arch_x86_64, &mapping, pc), ==, leaves[i].want);
    }
  g_unlink (path);
  lu_module_unref (module);
}

/* The engine that judges the words on top of a leaf in the made-up file. */
typedef struct
{
  LuCodeReader *reader;
  const LuDwflMapping *mapping;
  enum lu_fp_rule rule;
} TopWords;

static const LuDwflMapping *
find_text (gpointer data, guint64 address)
{
  const TopWords *self = data;

  return address - TEXT < 16384 ? self->mapping : NULL;
}

static enum lu_fp_rule
rule_of_text (gpointer data, const LuDwflMapping *mapping, guint64 lookup)
{
  return ((const TopWords *) data)->rule;
}

static LuCallKind
call_in_text (gpointer data, const LuDwflMapping *mapping, guint64 pc)
{
  return lu_code_call (((const TopWords *) data)->reader, 0, &lu_arch_x86_64, mapping, pc);
}

static LuProviderResult
text_leads_to (gpointer data, const LuFrameCall *call)
{
  return lu_code_leads_to (((const TopWords *) data)->reader, 0, &lu_arch_x86_64, call);
}

static LuLeaf
leaf_in_text (gpointer data, const LuDwflMapping *mapping, guint64 pc)
{
  return lu_code_leaf (((const TopWords *) data)->reader, 0, &lu_arch_x86_64, mapping, pc);
}

/* A word on top of the stack behind an indirect call may be an old one: it counts only if the code
 * of the leaf shows that its return address is there, or if the leaf has no frame. One that leads
 * into code without unwind information ends the search. */
static void
test_top_words (void)
{
  static const struct
  {
    guint call, to;
    guint64 offset;
    enum lu_fp_rule rule;
    LuProviderResult result;
  } expected[] = {
    { 0, 8192, 0, LU_FP_RULE_OTHER, LU_PROVIDER_FOUND },
    { 0, 8192, 16, LU_FP_RULE_OTHER, LU_PROVIDER_FOUND },
    { 0, 14000, 0, LU_FP_RULE_OTHER, LU_PROVIDER_NONE },
    { 6, 10256, 0, LU_FP_RULE_OTHER, LU_PROVIDER_FOUND },
    { 6, 10256, 8, LU_FP_RULE_OTHER, LU_PROVIDER_NONE },
    { 6, 10240, 8, LU_FP_RULE_OTHER, LU_PROVIDER_FOUND },
    { 6, 10240, 0, LU_FP_RULE_OTHER, LU_PROVIDER_NONE },
    { 6, 10272, 0, LU_FP_RULE_OTHER, LU_PROVIDER_NONE },
    { 6, 10272, 16, LU_FP_RULE_OTHER, LU_PROVIDER_NONE },
    { 0, 8192, 0, LU_FP_RULE_NONE, LU_PROVIDER_END },
    { 0, 8192, 0, LU_FP_RULE_BY_FP, LU_PROVIDER_END },
    { 0, 8192, 0, LU_FP_RULE_REALIGNED, LU_PROVIDER_FOUND },
    { 0, 14000, 0, LU_FP_RULE_NONE, LU_PROVIDER_NONE },
    { 6, 10272, 0, LU_FP_RULE_NONE, LU_PROVIDER_END },
    { 7, 8192, 0, LU_FP_RULE_NONE, LU_PROVIDER_NONE },
  };
  static const LuFrameOps text_ops = { .find = find_text,
                                       .rule_at = rule_of_text,
                                       .call_before = call_in_text,
                                       .leads_to = text_leads_to,
                                       .leaf_at = leaf_in_text };
  g_autoptr (LuCodeReader) reader = lu_code_reader_new ();
  g_autofree char *path = NULL;
  LuModule *module = write_calls (&path, FALSE);
  const LuDwflMapping mapping = {
    .start = TEXT, .end = TEXT + 16384, .bias = TEXT, .status = LU_STATUS_COMPLETE, .module = module
  };

  for (guint i = 0; i < G_N_ELEMENTS (expected); i++)
    {
      TopWords words = { reader, &mapping, expected[i].rule };
      LuLeafWord word = { .code = &mapping,
                          .pc = TEXT + expected[i].to,
                          .offset = expected[i].offset,
                          .value = AT_CALL (expected[i].call),
                          .by_fp = AT_CALL (1),
                          .size = 8 };

      g_assert_cmpint (lu_leaf_caller_check (&text_ops, &words, &word), ==, expected[i].result);
      word.by_fp = TEXT + 14000; /* no call is before it */
      if (expected[i].call == 6 && expected[i].rule == LU_FP_RULE_OTHER)
        g_assert_cmpint (lu_leaf_caller_check (&text_ops, &words, &word), ==, LU_PROVIDER_FOUND);
    }
  g_unlink (path);
  lu_module_unref (module);
}

/* All code has rules, and calls that may lead anywhere. */
static enum lu_fp_rule
rule_by_sp (gpointer data, const LuDwflMapping *mapping, guint64 lookup)
{
  return LU_FP_RULE_OTHER;
}

static LuProviderResult
leads_anywhere (gpointer data, const LuFrameCall *call)
{
  return LU_PROVIDER_FOUND;
}

static LuLeaf
leaf_undecided (gpointer data, const LuDwflMapping *mapping, guint64 pc)
{
  return LU_LEAF_UNDECIDED;
}

/* A direct call in another file, as of libfontconfig to strdup(), an old word in a frame of
 * Chromium's malloc(): only the code of the leaf can show that this is its return address. */
static void
test_top_words_of_other_files (void)
{
  static const LuFrameOps other_ops = { .find = find,
                                        .rule_at = rule_by_sp,
                                        .call_before = call_before,
                                        .leads_to = leads_anywhere,
                                        .leaf_at = leaf_undecided };
  LuDwflMapping library = file;
  LuLeafWord word = { .code = &library, .pc = PLAIN, .value = PLAIN + DIRECT, .size = 8 };

  file.status = LU_STATUS_COMPLETE;
  g_assert_cmpint (lu_leaf_caller_check (&other_ops, NULL, &word), ==, LU_PROVIDER_FOUND);
  library.module = anonymous_module;
  g_assert_cmpint (lu_leaf_caller_check (&other_ops, NULL, &word), ==, LU_PROVIDER_FOUND);
  word.by_fp = PLAIN + CALL;
  g_assert_cmpint (lu_leaf_caller_check (&other_ops, NULL, &word), ==, LU_PROVIDER_NONE);
  library.module = file_module;
  g_assert_cmpint (lu_leaf_caller_check (&other_ops, NULL, &word), ==, LU_PROVIDER_FOUND);
  file.status = 0;
}

int
main (int argc, char **argv)
{
  int result;

  g_test_init (&argc, &argv, NULL);
  file_module = new_module (LU_MODULE_FILE);
  anonymous_module = new_module (LU_MODULE_ANONYMOUS);
  jit = (LuDwflMapping){
    .start = JIT, .end = JIT + SIZE, .module = anonymous_module, .status = LU_STATUS_JIT
  };
  copied_module = new_module (LU_MODULE_COPIED);
  copied = (LuDwflMapping){
    .start = COPIED, .end = COPIED + SIZE, .module = copied_module, .status = LU_STATUS_JIT
  };
  file = (LuDwflMapping){ .start = PLAIN, .end = PLAIN + 3 * SIZE, .module = file_module };
  builtin = (LuDwflMapping){
    .start = BUILTIN, .end = BUILTIN + SIZE, .module = file_module, .is_copy = TRUE
  };
  TEST_ADD_CASES ("/guess", cases, test_case);
  g_test_add_func ("/guess/words of all kinds at random", test_random);
  g_test_add_func ("/guess/regions without code", test_regions);
  g_test_add_func ("/guess/steps by facts", test_facts);
  g_test_add_func ("/guess/set up before", test_set_up_before);
  g_test_add_func ("/guess/set up before, in a file", test_set_up_in_file);
  g_test_add_func ("/guess/a leaf that code without a rule has called", test_leaf_of_unknown);
  g_test_add_func ("/guess/HotSpot with frame pointers", test_hotspot);
  g_test_add_func ("/guess/code that runs to a return", test_leaf);
  g_test_add_func ("/guess/a leaf that others may have called", test_leaf_of_others);
  g_test_add_func ("/guess/a leaf that pops and returns", test_pops);
  g_test_add_func ("/guess/a return address in a register", test_register);
  g_test_add_func ("/guess/a leaf proves that its frame is set up", test_leaf_proves_frame);
  g_test_add_func ("/guess/at the end of all addresses", test_wrap_around);
  g_test_add_func ("/guess/rules are asked for so often and not more", test_rules_are_limited);
  g_test_add_func ("/guess/a file that is gone", test_file_that_is_gone);
  g_test_add_func ("/guess/where calls lead to, when files come back", test_leads_to_again);
  g_test_add_func ("/guess/a leaf whose answer was replaced", test_leaf_replaced);
  g_test_add_func ("/guess/a leaf that pops is remembered", test_leaf_that_pops);
  g_test_add_func ("/guess/words on top of the stack", test_top_words);
  g_test_add_func ("/guess/words on top of leaves, called from other files",
                   test_top_words_of_other_files);
  g_test_add_func ("/guess/calls that lead away", test_leads_away);
  g_test_add_func ("/guess/calls that lead away, when files come back", test_leads_away_again);
  g_test_add_data_func ("/guess/where calls of libraries lead to", NULL, test_leads_to);
  g_test_add_data_func ("/guess/where calls of programs lead to", "", test_leads_to);
  result = g_test_run ();
  lu_module_unref (file_module);
  lu_module_unref (anonymous_module);
  lu_module_unref (copied_module);
  return result;
}
