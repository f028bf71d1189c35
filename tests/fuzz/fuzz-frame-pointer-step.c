/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* fuzz-frame-pointer-step.c - frame-pointer steps through invented stacks. Input: a byte with the
 * architecture and whether the pc is exact, pc, sp and fp, eight bytes of code, the stack. Each
 * frame must be in the copy and above the last one; the code is also decoded as a possible call. */

#include "fuzz.h"

#include "unwind/frame-pointer-step.h"

#include <string.h>

/* The end of an address selects its meaning: 64 KiB of each kind of code, repeated. */
enum
{
  CODE_NONE,
  CODE_JIT,
  CODE_FILE,
  CODE_RULES,
};

static LuDwflMapping jit, file;

static guint
code_at (guint64 address)
{
  return address >> 16 & 3;
}

static const LuDwflMapping *
find (gpointer data, guint64 address)
{
  switch (code_at (address))
    {
    case CODE_NONE:
      return NULL;
    case CODE_JIT:
      return &jit;
    default:
      return &file;
    }
}

static LuCallKind
call_before (gpointer data, const LuDwflMapping *mapping, guint64 pc)
{
  g_assert_true (mapping == &file);
  return (LuCallKind) (pc & 3);
}

static enum lu_fp_rule
rule_at (gpointer data, const LuDwflMapping *mapping, guint64 lookup)
{
  g_assert_true (mapping == &file);
  return code_at (lookup) != CODE_RULES ? LU_FP_RULE_NONE
         : (lookup & 4) != 0            ? LU_FP_RULE_BY_FP
                                        : LU_FP_RULE_OTHER;
}

static LuSetUpCode set_up;

static LuLeaf
leaf_at (gpointer data, const LuDwflMapping *mapping, guint64 pc)
{
  static const LuLeaf kinds[] = { LU_LEAF_UNDECIDED, LU_LEAF_BARE, LU_LEAF_FRAMED, LU_LEAF_PUSHED };

  g_assert_true (mapping == &file);
  if ((pc & 64) != 0)
    return LU_LEAF_POPPED | (pc & 15) << LU_LEAF_DEPTH_SHIFT
           | (pc >> 3 & 3 & pc) << LU_LEAF_FP_SHIFT;
  return kinds[pc >> 3 & 3];
}

static LuProviderResult
leads_to (gpointer data, const LuFrameCall *call)
{
  g_assert_true (call->mapping == &file && call->code == &file);
  return (call->to & 32) != 0 ? LU_PROVIDER_FOUND : LU_PROVIDER_NONE;
}

static LuProviderResult
leads_away (gpointer data, const LuFrameCall *call)
{
  g_assert_true (call->mapping == &file && call->code == &file);
  return (call->to & 256) != 0 ? LU_PROVIDER_FOUND : LU_PROVIDER_NONE;
}

static LuLeaf
frame_at (gpointer data, const LuFrameCall *call)
{
  g_assert_true (call->mapping == &file && call->code == &file);
  return (call->to & 64) != 0    ? LU_LEAF_FRAMED
         : (call->to & 128) != 0 ? LU_LEAF_BARE
                                 : LU_LEAF_UNDECIDED;
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

static void
walk (LuFrameContext *fp_step, LuFrameRegs frame)
{
  const LuSample *sample = fp_step->sample;

  for (;;)
    {
      const LuDwflMapping *mapping = find (NULL, frame.pc);
      guint64 last_fp = fp_step->state.last_fp;
      LuFrameRegs caller;

      if (mapping == NULL
          || lu_frame_providers_step (fp_step, mapping, &frame, &caller) != LU_PROVIDER_FOUND)
        return;
      g_assert_cmpuint (caller.sp, >, frame.sp);
      g_assert_cmpuint (caller.sp - fp_step->sampled_sp, <=, sample->stack_size);
      g_assert_nonnull (find (NULL, caller.pc - 1));
      g_assert_true (fp_step->state.last_fp == last_fp
                     || (fp_step->state.last_fp == frame.fp && frame.fp > last_fp));
      fp_step->is_exact = FALSE;
      frame = caller;
    }
}

static void
decode (const LuArch *arch, const guint8 *bytes)
{
  for (gsize n = 0; n <= LU_CALL_LONGEST; n++)
    {
      g_autofree guint8 *copy = g_memdup2 (bytes + 8 - n, n);
      gint64 displacement;

      g_assert_cmpint (arch->decode_call (copy, n, &displacement), !=, LU_CALL_UNKNOWN);
    }
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  static const LuArch *const archs[] = { &lu_arch_x86_64, &lu_arch_aarch64, &lu_arch_i386 };
  const LuArch *arch;
  g_autofree guint8 *stack = NULL;
  LuFrameRegs frame;
  LuSample sample;

  if (size < 1 + sizeof frame + 8)
    return 0;
  if (jit.module == NULL)
    {
      LuModuleKey anonymous = { .kind = LU_MODULE_ANONYMOUS }, key = { .kind = LU_MODULE_FILE };

      jit = (LuDwflMapping){ .module = lu_module_new (&anonymous), .status = LU_STATUS_JIT };
      file = (LuDwflMapping){ .module = lu_module_new (&key) };
    }
  arch = archs[data[0] % G_N_ELEMENTS (archs)];
  memcpy (&frame, data + 1, sizeof frame);
  decode (arch, data + 1 + sizeof frame);
  stack = g_memdup2 (data + 1 + sizeof frame + 8, size - 1 - sizeof frame - 8);
  sample = (LuSample){ .stack = stack, .stack_size = (guint32) (size - 1 - sizeof frame - 8) };
  frame.sp &= ~G_GUINT64_CONSTANT (7) & arch->address_mask;
  /* The engines skip a copy that extends beyond the end of the address space. */
  if (frame.sp + sample.stack_size < frame.sp)
    return 0;
  walk (&(LuFrameContext){ .arch = arch,
                           .sample = &sample,
                           .sampled_sp = frame.sp,
                           .is_exact = (data[0] & 0x80) != 0,
                           .set_up = &set_up,
                           .ops = &ops },
        frame);
  return 0;
}
