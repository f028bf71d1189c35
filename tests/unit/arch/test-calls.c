/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-calls.c - call instructions decoded from their end. */

#include "arch/arch.h"
#include "arch/x86-64/code.h"

#include "../../cases.h"

#include <elf.h>
#include <string.h>

typedef struct
{
  const char *name;
  guint16 machine;
  guint8 bytes[8];
  gsize n;
  enum lu_call_kind want;
  gint64 displacement;
} Case;

static const Case cases[] = {
  { "near call", EM_X86_64, { 0xe8, 0xfb, 0, 0, 0 }, 5, LU_CALL_DIRECT, 0xfb },
  { "near call backwards", EM_X86_64, { 0xe8, 0, 0xf0, 0xff, 0xff }, 5, LU_CALL_DIRECT, -4096 },
  { "near call in 32-bit code", EM_386, { 0xe8, 0, 1, 0, 0 }, 5, LU_CALL_DIRECT, 256 },
  { "with prefixes in front", EM_X86_64, { 0x66, 0x48, 0xe8, 1, 0, 0, 0 }, 7, LU_CALL_DIRECT, 1 },
  { "through a register", EM_X86_64, { 0xff, 0xd0 }, 2, LU_CALL_INDIRECT, 0 },
  { "through r11", EM_X86_64, { 0x41, 0xff, 0xd3 }, 3, LU_CALL_INDIRECT, 0 },
  { "through (rax)", EM_X86_64, { 0xff, 0x10 }, 2, LU_CALL_INDIRECT, 0 },
  { "through (rsp)", EM_X86_64, { 0xff, 0x14, 0x24 }, 3, LU_CALL_INDIRECT, 0 },
  { "through disp8(rbx)", EM_X86_64, { 0xff, 0x53, 0x18 }, 3, LU_CALL_INDIRECT, 0 },
  { "through disp8(r12)", EM_X86_64, { 0x41, 0xff, 0x54, 0x24, 8 }, 5, LU_CALL_INDIRECT, 0 },
  { "through disp32(rip)", EM_X86_64, { 0xff, 0x15, 0, 1, 0, 0 }, 6, LU_CALL_INDIRECT, 0 },
  { "through disp32(rax)", EM_X86_64, { 0xff, 0x90, 0, 1, 0, 0 }, 6, LU_CALL_INDIRECT, 0 },
  { "through disp32(,rax,8)", EM_X86_64, { 0xff, 0x14, 0xc5, 0, 0, 0, 0 }, 7, LU_CALL_INDIRECT, 0 },
  { "through disp32(rsp)", EM_X86_64, { 0xff, 0x94, 0x24, 0, 1, 0, 0 }, 7, LU_CALL_INDIRECT, 0 },
  { "through (rax,rbx,4)", EM_X86_64, { 0xff, 0x14, 0x98 }, 3, LU_CALL_INDIRECT, 0 },
  { "both a near and an indirect call",
    EM_X86_64,
    { 0xe8, 0, 0, 0xff, 0xd0 },
    5,
    LU_CALL_INDIRECT,
    0 },

  { "nothing", EM_X86_64, { 0 }, 0, LU_CALL_NONE, 0 },
  { "one byte", EM_X86_64, { 0xff }, 1, LU_CALL_NONE, 0 },
  { "nops", EM_X86_64, { 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90 }, 7, LU_CALL_NONE, 0 },
  { "near jump", EM_X86_64, { 0xe9, 0xfb, 0, 0, 0 }, 5, LU_CALL_NONE, 0 },
  { "indirect jump", EM_X86_64, { 0xff, 0xe0 }, 2, LU_CALL_NONE, 0 },
  { "far call", EM_X86_64, { 0xff, 0x18 }, 2, LU_CALL_NONE, 0 },
  { "push", EM_X86_64, { 0xff, 0x30 }, 2, LU_CALL_NONE, 0 },
  { "near call one byte short", EM_X86_64, { 0xe8, 0xfb, 0, 0 }, 4, LU_CALL_NONE, 0 },
  { "near call cut off in front", EM_X86_64, { 0xfb, 0, 0, 0 }, 4, LU_CALL_NONE, 0 },
  { "a byte behind a near call", EM_X86_64, { 0xe8, 1, 0, 0, 0, 0x90 }, 6, LU_CALL_NONE, 0 },
  { "a byte behind a call", EM_X86_64, { 0xff, 0xd0, 0x90 }, 3, LU_CALL_NONE, 0 },
  { "disp8 form without it", EM_X86_64, { 0x90, 0x90, 0xff, 0x53 }, 4, LU_CALL_NONE, 0 },
  { "disp32 form one short", EM_X86_64, { 0xff, 0x15, 0, 0x10, 0 }, 5, LU_CALL_NONE, 0 },
  { "SIB form without it", EM_X86_64, { 0x90, 0xff, 0x14 }, 3, LU_CALL_NONE, 0 },
  { "return", EM_X86_64, { 0x90, 0xc3 }, 2, LU_CALL_NONE, 0 },

  { "bl forwards", EM_AARCH64, { 0x04, 0, 0, 0x94 }, 4, LU_CALL_DIRECT, 12 },
  { "bl backwards", EM_AARCH64, { 0xff, 0xff, 0xff, 0x97 }, 4, LU_CALL_DIRECT, -8 },
  { "bl as far as it goes", EM_AARCH64, { 0, 0, 0, 0x96 }, 4, LU_CALL_DIRECT, -(1 << 27) - 4 },
  { "blr x16", EM_AARCH64, { 0, 0x02, 0x3f, 0xd6 }, 4, LU_CALL_INDIRECT, 0 },
  { "blraaz x8", EM_AARCH64, { 0x1f, 0x09, 0x3f, 0xd6 }, 4, LU_CALL_INDIRECT, 0 },
  { "blrabz x8", EM_AARCH64, { 0x1f, 0x0d, 0x3f, 0xd6 }, 4, LU_CALL_INDIRECT, 0 },
  { "blraa x8, x9", EM_AARCH64, { 0x09, 0x09, 0x3f, 0xd7 }, 4, LU_CALL_INDIRECT, 0 },
  { "b", EM_AARCH64, { 0x04, 0, 0, 0x14 }, 4, LU_CALL_NONE, 0 },
  { "br x16", EM_AARCH64, { 0, 0x02, 0x1f, 0xd6 }, 4, LU_CALL_NONE, 0 },
  { "ret", EM_AARCH64, { 0xc0, 0x03, 0x5f, 0xd6 }, 4, LU_CALL_NONE, 0 },
  { "an instruction cut off", EM_AARCH64, { 0, 0, 0x94 }, 3, LU_CALL_NONE, 0 },
};

static void
test_case (gconstpointer data)
{
  const Case *c = data;
  gint64 displacement = -1;

  g_assert_cmpint (lu_arch_of_machine (c->machine)->decode_call (c->bytes, c->n, &displacement), ==,
                   c->want);
  g_assert_cmpint (displacement, ==, c->displacement);
}

/* Every number of bytes, so that a sanitizer sees a read in front of them or behind. */
static void
test_all_bytes (void)
{
  for (guint pair = 0; pair < 65536; pair++)
    for (gsize n = 0; n <= LU_CALL_LONGEST; n++)
      {
        g_autofree guint8 *bytes = g_malloc (n + 1);
        gint64 displacement;
        enum lu_call_kind kind;

        memset (bytes, (int) (pair & 0xff), n);
        for (gsize i = 1; i < n; i += 2)
          bytes[i] = (guint8) (pair >> 8);
        kind = lu_arch_x86_64.decode_call (bytes, n, &displacement);
        g_assert_true (kind != LU_CALL_UNKNOWN && (n > 1 || kind == LU_CALL_NONE));
        bytes[n] = 0;
      }
}

/* The size of the `ff /2` call that starts at `at`, byte by byte; 0 if there is none. */
static gsize
indirect_size (const guint8 *at, gsize n)
{
  gsize size = 2;
  guint mod, rm;

  if (n < 2 || at[0] != 0xff || (at[1] >> 3 & 7) != 2)
    return 0;
  mod = at[1] >> 6;
  rm = at[1] & 7;
  if (mod == 3)
    return 2;
  if (rm == 4)
    {
      if (n < 3)
        return 0;
      size++;
      if (mod == 0 && (at[2] & 7) == 5) /* no base but a displacement */
        size += 4;
    }
  else if (mod == 0 && rm == 5) /* relative to the pc */
    size += 4;
  return size + (mod == 1 ? 1 : mod == 2 ? 4 : 0);
}

static enum lu_call_kind
decode_bytes (const guint8 *bytes, gsize n, gint64 *displacement)
{
  gint32 narrow;

  for (gsize size = 2; size <= LU_CALL_LONGEST && size <= n; size++)
    if (indirect_size (bytes + n - size, size) == size)
      return LU_CALL_INDIRECT;
  if (n < LU_CALL_NEAR_SIZE || bytes[n - LU_CALL_NEAR_SIZE] != 0xe8)
    return LU_CALL_NONE;
  memcpy (&narrow, bytes + n - 4, sizeof narrow);
  *displacement = narrow;
  return LU_CALL_DIRECT;
}

/* Random bytes, most of them taken from calls. */
static void
test_against_bytes (void)
{
  static const guint8 likely[] = {
    0xff, 0xe8, 0x10, 0x14, 0x15, 0x50, 0x54, 0x90, 0x94, 0xd0, 0x25
  };
  g_autoptr (GRand) rand = g_rand_new_with_seed (5);
  guint n_calls = 0;

  for (guint i = 0; i < 1000000; i++)
    {
      gint64 found = 0, want = 0;
      gsize n = i % 16 == 0 ? i / 16 % 8 : 8;
      guint8 bytes[8];
      enum lu_call_kind kind;

      for (guint k = 0; k < sizeof bytes; k++)
        bytes[k] = g_rand_boolean (rand) ? likely[g_rand_int (rand) % sizeof likely]
                                         : (guint8) g_rand_int (rand);
      kind = decode_bytes (bytes, n, &want);
      g_assert_cmpint (lu_arch_x86_64.decode_call (bytes, n, &found), ==, kind);
      g_assert_cmpint (found, ==, want);
      n_calls += kind != LU_CALL_NONE;
    }
  g_assert_cmpuint (n_calls, >, 1000);
}

static void
test_unknown (void)
{
  g_assert_null (lu_arch_of_machine (EM_PPC64));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  TEST_ADD_CASES ("/calls", cases, test_case);
  g_test_add_func ("/calls/all pairs of bytes", test_all_bytes);
  g_test_add_func ("/calls/as byte by byte", test_against_bytes);
  g_test_add_func ("/calls/an architecture that is not known", test_unknown);
  return g_test_run ();
}
