/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* elf-plt.c - reads procedure linkage tables; see elf-plt.h. */

#include "symbolize/elf-plt.h"

#include "arch/arch.h"

#include <elf.h>

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

typedef struct
{
  const LuArch *arch;
  const LuElfInput *input;
  GArray *slots; /* of Slot */
} Reading;

static int
compare_slots (gconstpointer a, gconstpointer b)
{
  const Slot *x = a, *y = b;

  return x->address < y->address ? -1 : x->address > y->address;
}

static void
add_slots (const Reading *self, const LuElfSectionHeader *section, LuBudget *budget)
{
  g_autofree Elf64_Rela *relas = NULL;
  guint64 left = section != NULL ? MIN (section->size, MAX_RELA_BYTES) / sizeof relas[0] : 0;
  guint64 at = section != NULL ? section->file_offset : 0;

  relas = g_new (Elf64_Rela, RELAS_PER_CHUNK);
  while (left > 0 && self->slots->len < MAX_SLOTS)
    {
      gsize n = MIN (left, RELAS_PER_CHUNK);

      if (!lu_budget_read (budget, n * sizeof relas[0])
          || !lu_elf_input_read (self->input, at, relas, n * sizeof relas[0]))
        return;
      for (gsize i = 0; i < n; i++)
        {
          guint32 type = ELF64_R_TYPE (relas[i].r_info);
          Slot slot = { relas[i].r_offset, (guint32) ELF64_R_SYM (relas[i].r_info) };

          if ((type == self->arch->files.rela_slot || type == self->arch->files.rela_data)
              && slot.symbol != 0)
            g_array_append_val (self->slots, slot);
        }
      at += n * sizeof relas[0];
      left -= n;
    }
}

static void
read_section (const Reading *self, const LuElfSectionHeader *section, LuElfPltFunc func,
              gpointer user_data)
{
  g_autofree guint8 *bytes = NULL;
  gsize size, step;

  if (section == NULL || section->size > MAX_PLT_BYTES)
    return;
  size = (gsize) section->size;
  bytes = g_malloc (size + 1);
  if (!lu_elf_input_read (self->input, section->file_offset, bytes, size))
    return;
  for (gsize at = 0; at < size; at += step)
    {
      guint64 address = section->vaddr + at;
      Slot key = { 0 };
      guint found;

      step = self->arch->files.read_plt_entry (bytes + at, size - at, address, &key.address);
      if (key.address != 0 && g_array_binary_search (self->slots, &key, compare_slots, &found))
        func (address, step, g_array_index (self->slots, Slot, found).symbol, user_data);
    }
}

static void
read_slots (Reading *self, const LuElfFile *file, LuBudget *budget)
{
  add_slots (self, lu_elf_headers_find_section (&file->headers, ".rela.plt"), budget);
  add_slots (self, lu_elf_headers_find_section (&file->headers, ".rela.dyn"), budget);
  g_array_sort (self->slots, compare_slots);
}

void
lu_elf_linkage_each (const LuElfFile *file, LuBudget *budget, LuElfPltFunc func, gpointer entries,
                     gpointer slots)
{
  static const char *const sections[] = { ".plt", ".plt.sec", ".plt.got" };
  Reading reading = { .arch = lu_arch_with_tables (file->headers.machine), .input = &file->input };

  if (reading.arch == NULL || reading.arch->files.read_plt_entry == NULL || !file->headers.is_64bit)
    return;
  reading.slots = g_array_new (FALSE, FALSE, sizeof (Slot));
  read_slots (&reading, file, budget);
  for (guint i = 0; i < G_N_ELEMENTS (sections); i++)
    read_section (&reading, lu_elf_headers_find_section (&file->headers, sections[i]), func,
                  entries);
  for (guint i = 0; slots != NULL && i < reading.slots->len; i++)
    {
      const Slot *slot = &g_array_index (reading.slots, Slot, i);

      func (slot->address, sizeof slot->address, slot->symbol, slots);
    }
  g_array_unref (reading.slots);
}
