/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-code-facts.c - what architectures know of the code in files: entries of procedure linkage
 * tables as linkers write them, and jumps. */

#include "arch/arch.h"

#include <elf.h>
#include <string.h>

#define ADDRESS 0x22f0

typedef struct
{
  const char *name;
  guint16 machine;
  guint32 words[6];
  gsize size;     /* bytes */
  guint64 slot;   /* 0: no entry */
  gsize distance; /* to the next one */
} Entry;

#define ADRP 0xd0000170u /* adrp x16, 0x30000 */
#define LDR  0xf9400611u /* ldr x17, [x16, #8] */
#define ADD  0x91002210u
#define BR   0xd61f0220u
#define BTI  0xd503245fu
#define PAC  0xd503219fu /* autia1716 */
#define NOP  0xd503201fu

static const Entry entries[] = {
  { "plain", EM_AARCH64, { ADRP, LDR, ADD, BR, ADRP, LDR }, 24, 0x30008, 16 },
  { "plain and the last one", EM_AARCH64, { ADRP, LDR, ADD, BR }, 16, 0x30008, 16 },
  { "a target of branches", EM_AARCH64, { BTI, ADRP, LDR, ADD, BR, NOP }, 24, 0x30008, 24 },
  { "signed", EM_AARCH64, { ADRP, LDR, ADD, PAC, BR, NOP }, 24, 0x30008, 24 },
  { "both", EM_AARCH64, { BTI, ADRP, LDR, ADD, PAC, BR }, 24, 0x30008, 24 },
  { "backwards", EM_AARCH64, { 0xf0fffff0, LDR, ADD, BR }, 16, 0x1008, 16 },
  { "the first entry's push", EM_AARCH64, { 0xa9bf7bf0, ADRP, LDR, ADD, BR, NOP }, 24, 0, 4 },
  { "another register", EM_AARCH64, { ADRP + 1, LDR, ADD, BR }, 16, 0, 4 },
  { "no jump", EM_AARCH64, { ADRP, LDR, ADD, NOP, NOP, NOP }, 24, 0, 4 },
  { "cut off", EM_AARCH64, { ADRP, LDR, ADD, BR }, 12, 0, 4 },
  { "plain", EM_X86_64, { 0x0d1225ff, 0x00680000 }, 8, ADDRESS + 6 + 0x0d12, 16 },
  { "with endbr64", EM_X86_64, { 0xfa1e0ff3, 0x0d1225ff, 0 }, 12, ADDRESS + 10 + 0x0d12, 16 },
  { "with endbr64 and bnd",
    EM_X86_64,
    { 0xfa1e0ff3, 0x1225fff2, 0x0000000d },
    12,
    ADDRESS + 11 + 0x0d12,
    16 },
  { "short", EM_X86_64, { 0x0d1225ff, 0x90660000 }, 8, ADDRESS + 6 + 0x0d12, 8 },
  { "a push", EM_X86_64, { 0x0d1235ff, 0x25ff0000 }, 8, 0, 16 },
  { "cut off", EM_X86_64, { 0x0d1225ff, 0 }, 5, 0, 16 },
};

static void
test_entry (gconstpointer data)
{
  const Entry *entry = data;
  const LuArch *arch = lu_arch_with_tables (entry->machine);
  /* Reads beyond the end are found by sanitizers. */
  g_autofree guint8 *code = g_memdup2 (entry->words, entry->size);
  guint64 slot = 1;

  g_assert_cmpuint (arch->files.read_plt_entry (code, entry->size, ADDRESS, &slot), ==,
                    entry->distance);
  g_assert_cmphex (slot, ==, entry->slot);
}

typedef struct
{
  const char *name;
  guint16 machine;
  guint8 code[LU_ARCH_JUMP_BYTES];
  gint64 displacement; /* 0: no jump */
} Jump;

static const Jump jumps[] = {
  { "far jne", EM_X86_64, { 0x0f, 0x85, 0x00, 0x10, 0x00, 0x00 }, 0x1006 },
  { "far jg backwards", EM_X86_64, { 0x0f, 0x8f, 0x00, 0xf0, 0xff, 0xff }, -0xffa },
  { "near jne", EM_X86_64, { 0x75, 0x10 }, 0 },
  { "jmp", EM_X86_64, { 0xe9, 0, 0x10, 0, 0 }, 0 },
  { "b.ne", EM_AARCH64, { 0x01, 0x80, 0x00, 0x54 }, 0x1000 },
  { "b.eq backwards", EM_AARCH64, { 0xe0, 0xff, 0xff, 0x54 }, -4 },
  { "cbz", EM_AARCH64, { 0x40, 0x00, 0x00, 0x34 }, 8 },
  { "cbnz of 64 bits", EM_AARCH64, { 0x43, 0x00, 0x00, 0xb5 }, 8 },
  { "b", EM_AARCH64, { 0x00, 0x04, 0x00, 0x14 }, 0x1000 },
  { "b backwards", EM_AARCH64, { 0xff, 0xff, 0xff, 0x17 }, -4 },
  { "bl", EM_AARCH64, { 0x00, 0x04, 0x00, 0x94 }, 0 },
  { "ret", EM_AARCH64, { 0xc0, 0x03, 0x5f, 0xd6 }, 0 },
};

static void
test_jump (gconstpointer data)
{
  const Jump *jump = data;
  gint64 displacement = 0;
  gboolean is_jump =
      lu_arch_with_tables (jump->machine)->files.looks_like_jump (jump->code, &displacement);

  g_assert_cmpint (is_jump, ==, jump->displacement != 0);
  if (is_jump)
    g_assert_cmpint (displacement, ==, jump->displacement);
}

#define FRAME     0xf81f0ffeu /* str x30, [sp, #-16]! */
#define SAVE_FP   0xf81f83fdu
#define SET_FP    0xd10023fdu
#define MOV_SP_X1 0x9100003fu
#define MOV_SP_X0 0x9100001fu
#define BLR_X3    0xd63f0060u
#define BL        0x94000ecbu
#define RESTORE   0xa97ffbfdu /* ldp x29, x30, [sp, #-8] */
#define LOAD_M    0xf9401b83u /* ldr x3, [x28, #48] */
#define LOAD_G    0xf940607cu /* ldr x28, [x3, #192] */
#define LOAD_SP   0xf9401f80u /* ldr x0, [x28, #56] */

typedef struct
{
  const char *name;
  const char *function;
  guint32 words[11];
  LuArchRange where; /* empty: the code is not known */
  struct lu_rule rule;
} GoSwitch;

static const GoSwitch go_switches[] = {
  { "sched",
    "runtime.systemstack",
    { FRAME, SAVE_FP, SET_FP, BLR_X3, BL, BLR_X3, LOAD_M, LOAD_G, BL, LOAD_SP, MOV_SP_X0 },
    { 23, 24 },
    { .cfa_kind = LU_CFA_GO_SCHED,
      .cfa_off = 16,
      .fp_off = -3,
      .bx_off = 24,
      .ra_off = 6 | 7 << 8,
      .saves = LU_SAVE_AT_CFA | LU_SAVE_UNKNOWN << 4 } },
  { "sched without a frame",
    "runtime.systemstack",
    { NOP, SAVE_FP, SET_FP, BLR_X3, BL, BLR_X3, LOAD_M, LOAD_G, BL, LOAD_SP, MOV_SP_X0 },
    { 0, 0 },
    { 0 } },
  { "sched that is cut off",
    "runtime.systemstack",
    { FRAME, SAVE_FP, SET_FP, NOP, NOP, NOP, BLR_X3, LOAD_M, LOAD_G, BL, LOAD_SP },
    { 0, 0 },
    { 0 } },
  { "by frame pointer",
    "runtime.nanotime1",
    { FRAME, SAVE_FP, SET_FP, NOP, MOV_SP_X1, NOP, BLR_X3, NOP, RESTORE, NOP, NOP },
    { 12, 32 },
    { .cfa_kind = LU_CFA_FP,
      .cfa_off = 24,
      .saves = LU_SAVE_AT_CFA | LU_SAVE_UNKNOWN << 4,
      .fp_off = -3,
      .ra_off = -2,
      .flags = LU_RULE_SWITCH } },
  { "on the same stack",
    "runtime.walltime",
    { FRAME, SAVE_FP, SET_FP, NOP, NOP, NOP, BLR_X3, NOP, RESTORE, NOP, NOP },
    { 0, 0 },
    { 0 } },
};

static void
test_go_switch (gconstpointer data)
{
  const GoSwitch *expected = data;
  g_autofree guint8 *code = g_memdup2 (expected->words, sizeof expected->words);
  const LuArchText text = { .bytes = code, .vaddr = ADDRESS, .size = sizeof expected->words };
  LuArchRange where;
  struct lu_rule rule;
  gboolean is_found =
      lu_arch_aarch64.files.find_go_switch (expected->function, &text, &where, &rule);

  g_assert_cmpint (is_found, ==, expected->where.end != 0);
  if (!is_found)
    return;
  g_assert_cmpuint (where.start, ==, expected->where.start);
  g_assert_cmpuint (where.end, ==, expected->where.end);
  g_assert_cmpmem (&rule, sizeof rule, &expected->rule, sizeof rule);
}

/* A handler of Go has pushed 16 bytes, in which the link register is. */
static void
test_go_preempt (void)
{
  struct lu_rule start = { .cfa_kind = LU_CFA_SP, .ra_kind = LU_RA_LINK };
  struct lu_rule deep = { .cfa_kind = LU_CFA_SP, .cfa_off = 496, .ra_off = -62 };
  struct lu_rule end = { .cfa_kind = LU_CFA_SP, .cfa_off = -16, .ra_kind = LU_RA_LINK };

  lu_arch_aarch64.files.complete_go_preempt (&start);
  g_assert_cmpint (start.cfa_off, ==, 16);
  g_assert_cmpint (start.ra_kind, ==, LU_RA_LINK);
  g_assert_cmpint (start.bx_off, ==, 0);
  g_assert_cmphex (start.flags, ==, LU_RULE_SIGFRAME);
  lu_arch_aarch64.files.complete_go_preempt (&deep);
  g_assert_cmpint (deep.cfa_off, ==, 512);
  g_assert_cmpint (deep.ra_off, ==, -64);
  g_assert_cmpint (deep.bx_off, ==, 62);
  lu_arch_aarch64.files.complete_go_preempt (&end);
  g_assert_cmpint (end.cfa_kind, ==, LU_CFA_COMPLEX);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (entries); i++)
    {
      g_autofree char *path = g_strdup_printf (
          "/code-facts/plt/%s/%s", lu_arch_with_tables (entries[i].machine)->name, entries[i].name);

      g_test_add_data_func (path, &entries[i], test_entry);
    }
  for (guint i = 0; i < G_N_ELEMENTS (jumps); i++)
    {
      g_autofree char *path = g_strdup_printf (
          "/code-facts/jump/%s/%s", lu_arch_with_tables (jumps[i].machine)->name, jumps[i].name);

      g_test_add_data_func (path, &jumps[i], test_jump);
    }
  for (guint i = 0; i < G_N_ELEMENTS (go_switches); i++)
    {
      g_autofree char *path = g_strdup_printf ("/code-facts/go/%s", go_switches[i].name);

      g_test_add_data_func (path, &go_switches[i], test_go_switch);
    }
  g_test_add_func ("/code-facts/go-preempt", test_go_preempt);
  return g_test_run ();
}
