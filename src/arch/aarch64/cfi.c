/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* cfi.c - call frame information for the vDSO and the procedure linkage table, which have none.
 *
 * Since Linux 5.8 the kernel does not even describe the code that signal handlers return to
 * (87676cfca141, "arm64: vdso: Disable dwarf unwinding through the sigreturn trampoline").
 * Unwinders and debuggers recognize its two instructions.
 *
 * Two kinds of code are described. The code that signal handlers return to has a rule of its own. A
 * function is a leaf if none of its instructions calls, accesses memory through the stack pointer,
 * or changes the stack pointer: the return address then never leaves the link register, where it
 * may be signed. Linkers write a table that leaves the link register as it is, but for the
 * beginning that saves it (ELF for the Arm 64-bit Architecture, "Sample PLT sequences"), which
 * static programs lack.
 * Instructions: Arm Architecture Reference Manual, C4.1. */

#include "arch/aarch64/cfi.h"

#include <string.h>

#define INSTRUCTION 4
#define SP          31
#define BTI_C       0xd503245f
#define PLT_START   32 /* of the first entry that jumps to a function */
#define MAX_OFFSET  (G_MAXUINT32 / 2)

/* mov x8, #__NR_rt_sigreturn (139); svc #0 */
static const guint32 restorer[] = { 0xd2801168, 0xd4000001 };

static guint32
instruction_at (const LuArchText *text, guint64 at)
{
  guint32 word;

  memcpy (&word, text->bytes + at, sizeof word);
  return word;
}

/* Returns whether an instruction calls or makes a frame. */
static gboolean
is_of_no_leaf (guint32 word)
{
  gboolean is_call =
      (word & 0xfc000000) == 0x94000000     /* BL */
      || (word & 0xfffff000) == 0xd63f0000; /* BLR, also with pointer authentication */
  gboolean is_memory = (word & 0x0a000000) == 0x08000000; /* loads and stores */
  gboolean is_add = (word & 0x3f000000) == 0x11000000;    /* ADD, SUB, immediate */
  guint base = word >> 5 & 31, result = word & 31;

  return is_call || (is_memory && base == SP) || (is_add && result == SP);
}

static gboolean
is_leaf (const LuArchText *text, guint64 at, guint64 end)
{
  for (; at < end; at += INSTRUCTION)
    if (is_of_no_leaf (instruction_at (text, at)))
      return FALSE;
  return TRUE;
}

/* Returns the offset of the instruction before the restorer, because a handler's return address is
 * looked up one byte earlier. Returns 0 if there is no restorer. */
static guint64
find_restorer (const LuArchText *text)
{
  for (guint64 at = INSTRUCTION; at + sizeof restorer <= text->size; at += INSTRUCTION)
    if (instruction_at (text, at) == restorer[0]
        && instruction_at (text, at + INSTRUCTION) == restorer[1])
      return at;
  return 0;
}

/* Returns the end of what the restorer's rule holds for. While the kernel executes its system call,
 * the pc is behind the restorer. That is filler, unless a function begins there. */
static guint64
find_end_of_restorer (guint64 at, const LuArchRange *functions, guint n)
{
  guint64 end = at + sizeof restorer;

  for (guint i = 0; i < n; i++)
    if (end >= functions[i].start && end < functions[i].end)
      return end;
  return end + INSTRUCTION;
}

/* Entries (DWARF 5, 6.4.1). */

/* Version 1, "zS", code 1, data -8, x30. CFA = x29, x29 at CFA + 0, x30 at CFA + 8: the record that
 * the kernel pushes before all other registers. */
static const guint8 restorer_cie[] = {
  24, 0, 0,    0,  0xff, 0xff, 0xff, 0xff, 1,  'z',  'S', 0, 1, 0x78,
  30, 0, 0x0c, 29, 0,    0x9d, 0,    0x11, 30, 0x7f, 0,   0, 0, 0,
};

/* Like restorer_cie, without 'S'; CFA = sp, x30 signed. */
static const guint8 leaf_cie[] = {
  20, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 1, 'z', 0, 1, 0x78, 30, 0, 0x0c, 31, 0, 0x2d, 0, 0, 0, 0, 0,
};

/* Version 1, "z", code 1, data -8, x30; CFA = sp, x30 as it is. */
static const guint8 plt_cie[] = {
  20, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 1, 'z', 0, 1, 0x78, 30, 0, 0x0c, 31, 0, 0, 0, 0, 0, 0, 0,
};

static void
add_u32 (GByteArray *out, guint32 value)
{
  g_byte_array_append (out, (const guint8 *) &value, sizeof value);
}

static void
add_u64 (GByteArray *out, guint64 value)
{
  g_byte_array_append (out, (const guint8 *) &value, sizeof value);
}

/* `start`, `end`: offsets in the text. */
static void
add_fde (GByteArray *out, guint32 cie, const LuArchText *text, guint64 start, guint64 end)
{
  add_u32 (out, 24);
  add_u32 (out, cie);
  add_u64 (out, text->vaddr + start);
  add_u64 (out, end - start);
  add_u32 (out, 0); /* no data, no instructions */
}

static guint32
add_cie (GByteArray *out, const guint8 *cie, guint size)
{
  guint32 at = out->len;

  g_byte_array_append (out, cie, size);
  return at;
}

static void
add_leaves (GByteArray *out, const LuArchText *text, const LuArchRange *functions, guint n)
{
  guint32 cie = add_cie (out, leaf_cie, sizeof leaf_cie);

  for (guint i = 0; i < n; i++)
    if (functions[i].start % INSTRUCTION == 0 && functions[i].end % INSTRUCTION == 0
        && is_leaf (text, functions[i].start, functions[i].end))
      add_fde (out, cie, text, functions[i].start, functions[i].end);
}

GByteArray *
lu_aarch64_describe_vdso (const LuArchText *text, const LuArchRange *functions, guint n_functions)
{
  guint64 at = text->vaddr % INSTRUCTION == 0 ? find_restorer (text) : 0;
  GByteArray *out;
  guint32 cie;

  if (at == 0)
    return NULL;
  out = g_byte_array_new ();
  cie = add_cie (out, restorer_cie, sizeof restorer_cie);
  add_fde (out, cie, text, at - INSTRUCTION, find_end_of_restorer (at, functions, n_functions));
  add_leaves (out, text, functions, n_functions);
  return out;
}

/* The procedure linkage table */

/* [bti c;] adrp x16, page; ldr x17, [x16, #offset]; add x16, x16, #offset; [autia1716;] br x17.
 * Entries have 16 or 24 bytes; what is left over is looked at like any other code. */
gsize
lu_aarch64_read_plt_entry (const guint8 *code, gsize size, guint64 address, guint64 *slot)
{
  guint32 words[6] = { 0 };
  guint at, end;
  gint64 page;

  *slot = 0;
  memcpy (words, code, MIN (size, sizeof words));
  at = words[0] == BTI_C ? 1 : 0;
  if ((words[at] & 0x9f00001f) != 0x90000010 || (words[at + 1] & 0xffc003ff) != 0xf9400211)
    return 4;
  for (end = at + 2; end < G_N_ELEMENTS (words) && words[end] != 0xd61f0220; end++)
    ;
  if (end == G_N_ELEMENTS (words))
    return 4;
  page = (gint64) ((guint64) (words[at] >> 5 & 0x7ffff) << 45) >> 43 | (words[at] >> 29 & 3);
  *slot = ((address + 4 * at) & ~G_GUINT64_CONSTANT (0xfff)) + ((guint64) page << 12)
          + 8 * (words[at + 1] >> 10 & 0xfff);
  return at == 0 && end == 3 ? 16 : 24;
}

/* Returns the offset behind the instruction that saves the link register, stp x16, x30, [sp,
 * #-16]!, which bti c may precede, or 0. */
static guint64
find_saved (const LuArchText *plt)
{
  guint64 at = instruction_at (plt, 0) == BTI_C ? INSTRUCTION : 0;

  return instruction_at (plt, at) == 0xa9bf7bf0 ? at + INSTRUCTION : 0;
}

/* Returns the end of the entries from `at` on; other code may follow (for TLS descriptors). */
static guint64
find_end (const LuArchText *plt, guint64 at)
{
  guint64 slot;

  while (at < plt->size)
    {
      gsize size =
          lu_aarch64_read_plt_entry (plt->bytes + at, plt->size - at, plt->vaddr + at, &slot);

      if (slot == 0)
        break;
      at += MIN (size, plt->size - at);
    }
  return at;
}

/* Describes the beginning, which saves the link register in the instruction before `saved`. */
static void
add_beginning (GByteArray *out, guint32 cie, const LuArchText *plt, guint64 saved)
{
  add_fde (out, cie, plt, 0, saved);
  add_u32 (out, 28);
  add_u32 (out, cie);
  add_u64 (out, plt->vaddr + saved);
  add_u64 (out, PLT_START - saved);
  /* no data; DW_CFA_def_cfa_offset 16; DW_CFA_offset x30, CFA - 8 */
  g_byte_array_append (out, (const guint8[]){ 0, 0x0e, 16, 0x80 | 30, 1, 0, 0, 0 }, 8);
}

GByteArray *
lu_aarch64_describe_plt (const LuArchText *plt, gsize offset)
{
  guint64 saved = plt->size > PLT_START ? find_saved (plt) : 0;
  /* In a static program nothing is bound lazily, so there is no beginning: the entries are those of
   * functions whose address a resolver chose (R_AARCH64_IRELATIVE). */
  guint64 start = saved > 0 ? PLT_START : 0;
  guint64 end = find_end (plt, start);
  GByteArray *out;
  guint32 cie;

  if (end <= start || plt->vaddr % INSTRUCTION != 0 || offset > MAX_OFFSET)
    return NULL;
  out = g_byte_array_new ();
  cie = (guint32) offset + add_cie (out, plt_cie, sizeof plt_cie);
  if (saved > 0)
    add_beginning (out, cie, plt, saved);
  add_fde (out, cie, plt, start, end);
  return out;
}
