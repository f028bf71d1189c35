/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* elf-plt.c - reads procedure linkage tables; see elf-plt.h. */

#include "symbolize/elf-plt.h"

#include <elf.h>
#include <string.h>

/* Browsers have some 10,000 entries, and millions of relocations that are not for functions. */
#define MAX_PLT_BYTES   (4u << 20)
#define MAX_RELA_BYTES  (256u << 20)
#define MAX_SLOTS       (1u << 20)
#define RELAS_PER_CHUNK 4096

typedef struct
{
  guint64 address; /* ELF address of the word */
  guint32 symbol;
} Slot;

static int
compare_slots (gconstpointer a, gconstpointer b)
{
  const Slot *x = a, *y = b;

  return x->address < y->address ? -1 : x->address > y->address;
}

static void
add_slots (GArray *slots, const LuElfInput *input, const LuElfSectionHeader *section,
           LuBudget *budget)
{
  g_autofree Elf64_Rela *relas = NULL;
  guint64 left = section != NULL ? MIN (section->size, MAX_RELA_BYTES) / sizeof relas[0] : 0;
  guint64 at = section != NULL ? section->file_offset : 0;

  relas = g_new (Elf64_Rela, RELAS_PER_CHUNK);
  while (left > 0 && slots->len < MAX_SLOTS)
    {
      gsize n = MIN (left, RELAS_PER_CHUNK);

      if (!lu_budget_read (budget, n * sizeof relas[0])
          || !lu_elf_input_read (input, at, relas, n * sizeof relas[0]))
        return;
      for (gsize i = 0; i < n; i++)
        {
          guint32 type = ELF64_R_TYPE (relas[i].r_info);
          Slot slot = { relas[i].r_offset, (guint32) ELF64_R_SYM (relas[i].r_info) };

          if ((type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT) && slot.symbol != 0)
            g_array_append_val (slots, slot);
        }
      at += n * sizeof relas[0];
      left -= n;
    }
}

/* Returns the address of the word that the entry jumps through; 0 if it does not begin with
 * "jmp *d(%rip)", which endbr64 and a bnd prefix may precede. */
static guint64
jump_slot (const guint8 *entry, gsize size, guint64 address)
{
  static const guint8 endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
  gsize at = 0;
  gint32 displacement;

  if (size >= sizeof endbr64 && memcmp (entry, endbr64, sizeof endbr64) == 0)
    at = sizeof endbr64;
  if (at < size && entry[at] == 0xf2)
    at++;
  if (at + 6 > size || entry[at] != 0xff || entry[at + 1] != 0x25)
    return 0;
  memcpy (&displacement, entry + at + 2, sizeof displacement);
  return address + at + 6 + (guint64) (gint64) displacement;
}

static void
read_section (const LuElfInput *input, const LuElfSectionHeader *section, GArray *slots,
              LuElfPltFunc func, gpointer user_data)
{
  g_autofree guint8 *bytes = NULL;
  gsize size, step = 16;

  if (section == NULL || section->size > MAX_PLT_BYTES)
    return;
  size = (gsize) section->size;
  bytes = g_malloc (size + 1);
  if (!lu_elf_input_read (input, section->file_offset, bytes, size))
    return;
  /* .plt.got without endbr64 has entries of 8 bytes: the jump and a two-byte nop. */
  if (size >= 8 && bytes[0] == 0xff && bytes[6] == 0x66 && bytes[7] == 0x90)
    step = 8;
  for (gsize at = 0; at < size; at += step)
    {
      Slot key = { .address = jump_slot (bytes + at, size - at, section->vaddr + at) };
      guint found;

      if (key.address != 0 && g_array_binary_search (slots, &key, compare_slots, &found))
        func (section->vaddr + at, step, g_array_index (slots, Slot, found).symbol, user_data);
    }
}

void
lu_elf_plt_each (const LuElfFile *file, LuBudget *budget, LuElfPltFunc func, gpointer user_data)
{
  static const char *const sections[] = { ".plt", ".plt.sec", ".plt.got" };
  const LuElfHeaders *headers = &file->headers;
  g_autoptr (GArray) slots = NULL;

  if (headers->machine != EM_X86_64 || !headers->is_64bit)
    return;
  slots = g_array_new (FALSE, FALSE, sizeof (Slot));
  add_slots (slots, &file->input, lu_elf_headers_find_section (headers, ".rela.plt"), budget);
  add_slots (slots, &file->input, lu_elf_headers_find_section (headers, ".rela.dyn"), budget);
  g_array_sort (slots, compare_slots);
  for (guint i = 0; i < G_N_ELEMENTS (sections); i++)
    read_section (&file->input, lu_elf_headers_find_section (headers, sections[i]), slots, func,
                  user_data);
}
