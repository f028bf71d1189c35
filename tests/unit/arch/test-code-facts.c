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
  return g_test_run ();
}
