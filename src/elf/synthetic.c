/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* synthetic.c - builds the private ELF file of an image; see synthetic.h. */

#include "elf/synthetic.h"

#include "base/pages.h"

#include <elf.h>
#include <libelf.h>
#include <string.h>
#include <sys/mman.h>

#define N_VIEWS    8
#define VIEW_SIZE  512
#define VIEWS_SIZE (N_VIEWS * VIEW_SIZE) /* a whole page */
/* Contains a whole page of 2 MiB wherever it starts. */
#define WORTH_HUGE_PAGES (4u << 20)
#define SECTION_ALIGN    16

/* One more for the null section and one for the names. */
#define N_HEADERS (LU_N_IMAGE_CFI + 2)

/* libelf finds sections by these names; the offsets below point into this. */
static const char names[] = "\0.eh_frame_hdr\0.eh_frame\0.debug_frame\0.shstrtab";
static const guint8 name_offsets[] = { 1, 15, 25 };
#define SHSTRTAB_NAME 38

_Static_assert(sizeof (Elf64_Ehdr) + sizeof (Elf64_Phdr) + N_HEADERS * sizeof (Elf64_Shdr)
                       + sizeof names
                   <= VIEW_SIZE,
               "a view must fit its block");

typedef struct
{
  guint64 vaddr;
  Elf *elf; /* owned; NULL: unused */
} View;

struct _LuSynthetic
{
  guint8 *map;
  gsize
      map_size; /* with a page of zeros at the end, because libdw reads one byte beyond a section */
  gsize size;
  gboolean is_64bit;
  guint16 machine;
  struct
  {
    guint64 offset, size, vaddr;
  } sections[LU_N_IMAGE_CFI];
  View views[N_VIEWS];
};

static gsize
round_up (gsize value, gsize to)
{
  return (value + to - 1) / to * to;
}

/* Populates the sections; the views, in the first page, stay. Page faults would take longer than
 * copying, and scattered look-ups are faster in huge pages. */
void
lu_synthetic_populate (LuSynthetic *self)
{
  guint8 *from = self->map + VIEWS_SIZE;
  gsize size = self->map_size - VIEWS_SIZE;

  if (size >= WORTH_HUGE_PAGES)
    madvise (from, size, MADV_HUGEPAGE);
  lu_pages_populate (from, size);
}

LuSynthetic *
lu_synthetic_new (gboolean is_64bit, guint16 machine,
                  const LuSyntheticSection sections[LU_N_IMAGE_CFI], gboolean is_filled_now)
{
  LuSynthetic *self = g_new0 (LuSynthetic, 1);

  self->is_64bit = is_64bit;
  self->machine = machine;
  self->size = VIEWS_SIZE;
  for (guint i = 0; i < LU_N_IMAGE_CFI; i++)
    {
      if (sections[i].bytes == NULL && !sections[i].is_room)
        continue;
      self->sections[i].offset = self->size;
      self->sections[i].size = sections[i].size;
      self->sections[i].vaddr = sections[i].vaddr;
      self->size = round_up (self->size + sections[i].size, SECTION_ALIGN);
    }
  self->map_size = round_up (self->size, 4096) + 4096;
  self->map = mmap (NULL, self->map_size, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | (is_filled_now ? 0 : MAP_NORESERVE), -1, 0);
  if (self->map == MAP_FAILED)
    {
      g_free (self);
      return NULL;
    }
  if (is_filled_now)
    lu_synthetic_populate (self);
  for (guint i = 0; i < LU_N_IMAGE_CFI; i++)
    if (self->sections[i].size > 0 && sections[i].bytes != NULL)
      memcpy (self->map + self->sections[i].offset, sections[i].bytes, sections[i].size);
  return self;
}

guint8 *
lu_synthetic_room (LuSynthetic *self, guint section, gsize *size)
{
  *size = self->sections[section].size;
  return self->map + self->sections[section].offset;
}

void
lu_synthetic_drop (LuSynthetic *self, guint section)
{
  self->sections[section].size = 0;
}

void
lu_synthetic_free (LuSynthetic *self)
{
  if (self == NULL)
    return;
  for (guint i = 0; i < N_VIEWS; i++)
    if (self->views[i].elf != NULL)
      elf_end (self->views[i].elf);
  munmap (self->map, self->map_size);
  g_free (self);
}

void
lu_synthetic_empty (LuSynthetic *self)
{
  madvise (self->map + VIEWS_SIZE, self->map_size - VIEWS_SIZE, MADV_DONTNEED);
}

gsize
lu_synthetic_size (const LuSynthetic *self)
{
  return sizeof *self + self->map_size;
}

gboolean
lu_synthetic_is_64bit (const LuSynthetic *self)
{
  return self->is_64bit;
}

guint16
lu_synthetic_machine (const LuSynthetic *self)
{
  return self->machine;
}

const guint8 *
lu_synthetic_section (const LuSynthetic *self, guint section, gsize *size, guint64 *vaddr)
{
  *size = self->sections[section].size;
  *vaddr = self->sections[section].vaddr;
  return *size > 0 ? self->map + self->sections[section].offset : NULL;
}

typedef struct
{
  guint8 *at;
  gboolean is_64bit;
} Out;

static void
put (Out *out, guint64 value, gsize size)
{
  out->at = mempcpy (out->at, &value, size); /* little-endian, like all hosts */
}

/* Writes a number whose size depends on the class. */
static void
put_word (Out *out, guint64 value)
{
  put (out, value, out->is_64bit ? 8 : 4);
}

static void
put_section (Out *out, const Elf64_Shdr *header)
{
  put (out, header->sh_name, 4);
  put (out, header->sh_type, 4);
  put_word (out, 0); /* sh_flags */
  put_word (out, header->sh_addr);
  put_word (out, header->sh_offset);
  put_word (out, header->sh_size);
  put (out, 0, 8); /* sh_link, sh_info */
  put_word (out, header->sh_addralign);
  put_word (out, 0); /* sh_entsize */
}

/* Writes the headers of a view that begins at `base`. The file is always ET_DYN, so that libdwfl
 * adds one bias to everything. */
static void
write_view (const LuSynthetic *self, gsize base, guint64 vaddr)
{
  const guint8 ident[EI_NIDENT] = {
    ELFMAG0,     ELFMAG1,   ELFMAG2, ELFMAG3, self->is_64bit ? ELFCLASS64 : ELFCLASS32,
    ELFDATA2LSB, EV_CURRENT
  };
  gsize file = self->is_64bit ? sizeof (Elf64_Ehdr) : sizeof (Elf32_Ehdr);
  gsize segment = self->is_64bit ? sizeof (Elf64_Phdr) : sizeof (Elf32_Phdr);
  gsize section = self->is_64bit ? sizeof (Elf64_Shdr) : sizeof (Elf32_Shdr);
  Out out = { .at = mempcpy (self->map + base, ident, sizeof ident), .is_64bit = self->is_64bit };
  const guint16 sizes[] = { (guint16) file,    (guint16) segment, 1,
                            (guint16) section, N_HEADERS,         N_HEADERS - 1 };

  put (&out, ET_DYN, 2);
  put (&out, self->machine, 2);
  put (&out, EV_CURRENT, 4);
  put_word (&out, 0); /* e_entry */
  put_word (&out, file);
  put_word (&out, file + segment);
  put (&out, 0, 4); /* e_flags */
  out.at = mempcpy (out.at, sizes, sizeof sizes);
  put (&out, PT_LOAD, self->is_64bit ? 8 : 4); /* with p_flags in the larger class */
  put_word (&out, 0);                          /* p_offset */
  put_word (&out, vaddr);
  put_word (&out, 0); /* p_paddr */
  put_word (&out, 0); /* p_filesz */
  put_word (&out, 1); /* p_memsz */
  if (!self->is_64bit)
    put (&out, 0, 4); /* p_flags */
  put_word (&out, 1); /* p_align */
  put_section (&out, &(Elf64_Shdr){ .sh_type = SHT_NULL });
  for (guint i = 0; i < LU_N_IMAGE_CFI; i++)
    /* libdw ignores a section without a name. */
    put_section (&out, self->sections[i].size == 0
                           ? &(Elf64_Shdr){ .sh_type = SHT_NULL }
                           : &(Elf64_Shdr){ .sh_name = name_offsets[i],
                                            .sh_type = SHT_PROGBITS,
                                            .sh_addr = self->sections[i].vaddr,
                                            .sh_offset = self->sections[i].offset - base,
                                            .sh_size = self->sections[i].size,
                                            .sh_addralign = SECTION_ALIGN });
  put_section (&out, &(Elf64_Shdr){ .sh_name = SHSTRTAB_NAME,
                                    .sh_type = SHT_STRTAB,
                                    .sh_offset = file + segment + N_HEADERS * section,
                                    .sh_size = sizeof names,
                                    .sh_addralign = 1 });
  memcpy (out.at, names, sizeof names);
}

Elf *
lu_synthetic_elf (LuSynthetic *self, guint64 vaddr)
{
  for (guint i = 0; i < N_VIEWS; i++)
    {
      View *view = &self->views[i];

      if (view->elf == NULL)
        {
          view->vaddr = vaddr;
          write_view (self, i * VIEW_SIZE, vaddr);
          elf_version (EV_CURRENT);
          view->elf = elf_memory ((char *) self->map + i * VIEW_SIZE, self->size - i * VIEW_SIZE);
        }
      if (view->vaddr == vaddr)
        return view->elf;
    }
  return NULL;
}
