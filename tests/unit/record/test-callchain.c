/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-callchain.c - kernel frames out of callchains, honest and hostile ones. */

#include "record/callchain.h"

#include "../../cases.h"

#include <glib.h>

#define HV           ((guint64) -32)
#define KERNEL       ((guint64) -128)
#define USER         ((guint64) -512)
#define DEFERRED     ((guint64) -640)
#define GUEST        ((guint64) -2048)
#define GUEST_KERNEL ((guint64) -2176)
#define GUEST_USER   ((guint64) -2560)
#define UNKNOWN      ((guint64) -4000)
#define K            0xffffffff81000000ull
#define IP           0xffffffff81999999ull

typedef struct
{
  const char *name;
  guint8 cpumode;
  guint32 n_callchain;
  guint64 callchain[12];
  guint32 n_want;
  LuFrame want[8];
} MergeCase;

#define FRAME(address, bits)                                                                       \
  {                                                                                                \
    .pc = (address), .flags = (bits)                                                               \
  }

static const MergeCase cases[] = {
  { "kernel and user",
    1,
    6,
    { KERNEL, K, K + 1, USER, 0x1000, 0x2000 },
    2,
    { FRAME (K, LU_FRAME_KERNEL), FRAME (K + 1, LU_FRAME_KERNEL) } },
  { "kernel without user (exclude_callchain_user)",
    1,
    2,
    { KERNEL, K },
    1,
    { FRAME (K, LU_FRAME_KERNEL) } },
  { "user mode: the frame-pointer chain is dropped", 2, 3, { USER, 0x1000, 0x2000 }, 0, { { 0 } } },
  { "no callchain, kernel mode", 1, 0, { 0 }, 1, { FRAME (IP, LU_FRAME_KERNEL) } },
  { "no callchain, user mode", 2, 0, { 0 }, 0, { { 0 } } },
  { "no marker, kernel mode",
    1,
    2,
    { K, K + 8 },
    2,
    { FRAME (K, LU_FRAME_KERNEL), FRAME (K + 8, LU_FRAME_KERNEL) } },
  { "no marker, user mode", 2, 2, { 0x1000, 0x2000 }, 0, { { 0 } } },
  { "only a marker", 1, 1, { KERNEL }, 1, { FRAME (IP, LU_FRAME_KERNEL) } },
  { "only markers, user mode", 2, 2, { USER, KERNEL }, 0, { { 0 } } },
  { "deferred user chain with its cookie",
    1,
    4,
    { KERNEL, K, DEFERRED, 0x77 },
    1,
    { FRAME (K, LU_FRAME_KERNEL) } },
  { "unknown marker drops what follows it",
    1,
    5,
    { KERNEL, K, UNKNOWN, K + 1, K + 2 },
    1,
    { FRAME (K, LU_FRAME_KERNEL) } },
  { "hypervisor, guest kernel and guest user",
    1,
    9,
    { HV, 0x10, KERNEL, K, GUEST_KERNEL, 0x20, GUEST_USER, 0x30, GUEST },
    4,
    { FRAME (0x10, LU_FRAME_HYPERVISOR), FRAME (K, LU_FRAME_KERNEL),
      FRAME (0x20, LU_FRAME_GUEST_KERNEL), FRAME (0x30, LU_FRAME_GUEST_USER) } },
  { "kernel twice, user between",
    1,
    6,
    { KERNEL, K, USER, 0x1000, KERNEL, K + 4 },
    2,
    { FRAME (K, LU_FRAME_KERNEL), FRAME (K + 4, LU_FRAME_KERNEL) } },
  { "lowest and highest marker values are no addresses",
    1,
    4,
    { KERNEL, (guint64) -4095, (guint64) -1, K },
    1,
    { FRAME (IP, LU_FRAME_KERNEL) } },
  { "highest address that is not a marker",
    1,
    2,
    { KERNEL, (guint64) -4096 },
    1,
    { FRAME ((guint64) -4096, LU_FRAME_KERNEL) } },
  { "guest user mode without callchain", 5, 0, { 0 }, 1, { FRAME (IP, LU_FRAME_GUEST_USER) } },
};

static void
test_case (gconstpointer data)
{
  const MergeCase *c = data;
  g_autofree guint64 *callchain = g_memdup2 (c->callchain, sizeof c->callchain);
  g_autofree LuFrame *frames = g_new0 (LuFrame, LU_CALLCHAIN_MAX_KERNEL_FRAMES);
  LuSample sample = { .ip = IP,
                      .cpumode = c->cpumode,
                      .callchain = c->n_callchain > 0 ? callchain : NULL,
                      .n_callchain = c->n_callchain };

  g_assert_cmpuint (lu_callchain_kernel_frames (&sample, frames), ==, c->n_want);
  for (guint i = 0; i < c->n_want; i++)
    {
      g_assert_cmphex (frames[i].pc, ==, c->want[i].pc);
      g_assert_cmphex (frames[i].flags, ==, c->want[i].flags);
    }
}

static void
test_bounded (void)
{
  const guint n = 5000;
  g_autofree guint64 *callchain = g_new (guint64, n);
  /* one frame more than the contract allows, to detect a write behind the end */
  g_autofree LuFrame *frames = g_new0 (LuFrame, LU_CALLCHAIN_MAX_KERNEL_FRAMES + 1);
  LuSample sample = { .cpumode = 1, .callchain = callchain, .n_callchain = n };

  for (guint i = 0; i < n; i++)
    callchain[i] = K + i;
  frames[LU_CALLCHAIN_MAX_KERNEL_FRAMES].pc = 0x5a5a;
  g_assert_cmpuint (lu_callchain_kernel_frames (&sample, frames), ==,
                    LU_CALLCHAIN_MAX_KERNEL_FRAMES);
  g_assert_cmphex (frames[LU_CALLCHAIN_MAX_KERNEL_FRAMES].pc, ==, 0x5a5a);
}

typedef struct
{
  const char *name;
  guint8 cpumode;
  guint32 n_callchain;
  guint64 callchain[8];
  guint32 n_branches;
  guint64 branches[6];
  guint32 n_want;
  LuFrame want[4];
} ChainCase;

#define RETURN LU_FRAME_RETURN_ADDRESS

static const ChainCase chain_cases[] = {
  { "kernel and user",
    1,
    6,
    { KERNEL, K, K + 1, USER, 0x1000, 0x2000 },
    0,
    { 0 },
    2,
    { FRAME (0x1000, 0), FRAME (0x2000, RETURN) } },
  { "user alone",
    2,
    4,
    { USER, 0x1000, 0x2000, 0x3000 },
    0,
    { 0 },
    3,
    { FRAME (0x1000, 0), FRAME (0x2000, RETURN), FRAME (0x3000, RETURN) } },
  { "kernel alone", 1, 2, { KERNEL, K }, 0, { 0 }, 0, { { 0 } } },
  { "no marker, user mode",
    2,
    2,
    { 0x1000, 0x2000 },
    0,
    { 0 },
    2,
    { FRAME (0x1000, 0), FRAME (0x2000, RETURN) } },
  { "no callchain, user mode", 2, 0, { 0 }, 0, { 0 }, 1, { FRAME (IP, 0) } },
  { "no callchain, kernel mode", 1, 0, { 0 }, 0, { 0 }, 0, { { 0 } } },
  { "not what is deferred, or a guest's",
    2,
    7,
    { USER, 0x1000, DEFERRED, 0x7777, GUEST_USER, 0x8888, 0x9999 },
    0,
    { 0 },
    1,
    { FRAME (0x1000, 0) } },
  { "calls that the CPU remembers win over the frame pointer chain",
    2,
    3,
    { USER, 0x1000, 0x6666 },
    2,
    { 0x2000, 0xf00, 0, 0x3000, 0x1f00, 0 },
    3,
    { FRAME (0x1000, 0), FRAME (0x2000, 0), FRAME (0x3000, 0) } },
  { "they are user mode's, which there has to be",
    1,
    2,
    { KERNEL, K },
    1,
    { 0x2000, 0xf00, 0 },
    0,
    { { 0 } } },
  { "they end at one that says nothing",
    2,
    2,
    { USER, 0x1000 },
    2,
    { 0, 0, 0, 0x3000, 0, 0 },
    1,
    { FRAME (0x1000, 0) } },
};

static void
test_chain (gconstpointer data)
{
  const ChainCase *c = data;
  g_autofree guint64 *callchain = g_memdup2 (c->callchain, sizeof c->callchain);
  g_autofree guint64 *branches = g_memdup2 (c->branches, sizeof c->branches);
  g_autofree LuStack *stack = g_new0 (LuStack, 1);
  LuSample sample = { .ip = IP,
                      .cpumode = c->cpumode,
                      .is_chain = 1,
                      .callchain = c->n_callchain > 0 ? callchain : NULL,
                      .n_callchain = c->n_callchain,
                      .n_branches = c->n_branches,
                      .branches = branches };

  stack->status = LU_STATUS_NO_USER_CONTEXT;
  lu_callchain_user_frames (&sample, stack);
  g_assert_cmpint (stack->status, ==, LU_STATUS_NO_USER_CONTEXT);
  g_assert_cmpuint (stack->n_frames, ==, c->n_want);
  for (guint i = 0; i < c->n_want; i++)
    {
      g_assert_cmphex (stack->frames[i].pc, ==, c->want[i].pc);
      g_assert_cmphex (stack->frames[i].flags, ==, c->want[i].flags);
    }
}

static void
test_long_chain (void)
{
  const guint n = LU_STACK_MAX_FRAMES + 5;
  g_autofree guint64 *callchain = g_new (guint64, n);
  g_autofree LuStack *stack = g_new0 (LuStack, 1);
  LuSample sample = { .cpumode = 2, .is_chain = 1, .callchain = callchain, .n_callchain = n };

  for (guint i = 0; i < n; i++)
    callchain[i] = 0x1000 + i;
  lu_callchain_user_frames (&sample, stack);
  g_assert_cmpuint (stack->n_frames, ==, LU_STACK_MAX_FRAMES);
  g_assert_cmpint (stack->status, ==, LU_STATUS_DEPTH_LIMIT);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  TEST_ADD_CASES ("/callchain", cases, test_case);
  g_test_add_func ("/callchain/bounded", test_bounded);
  TEST_ADD_CASES ("/stack/chain", chain_cases, test_chain);
  g_test_add_func ("/stack/chain/long", test_long_chain);
  return g_test_run ();
}
