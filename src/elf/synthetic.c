/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* synthetic.c - builds the private ELF file of an image; see synthetic.h. */

#include "elf/synthetic.h"

#include "base/pages.h"
#include "elf/zstd.h"

#include <elf.h>
#include <libelf.h>
#include <string.h>
#include <sys/mman.h>

#define N_VIEWS    8
#define VIEW_SIZE  512
#define VIEWS_SIZE (N_VIEWS * VIEW_SIZE) /* a whole page */
/* Wherever it is, a whole one of 2 MiB is in it. */
#define WORTH_HUGE_PAGES (4u << 20)
#define SECTION_ALIGN    16
#define MAX_DECOMPRESSED (64u << 20)
/* ELFCOMPRESS_ZSTD of the generic ABI; headers know it from glibc 2.37 on. */
#define COMPRESSED_ZSTD 2

/* One section more than ours for the null section, one for the names. */
#define N_HEADERS (LU_N_SYNTHETIC_SECTIONS + 2)

/* ".eh_frame" and the others are found by name; offsets below are into this. */
static const char names[] = "\0.eh_frame_hdr\0.eh_frame\0.debug_frame\0.zdebug_frame\0.shstrtab";
static const guint8 name_offsets[] = { 1, 15, 25 };
#define ZDEBUG_NAME   38
#define SHSTRTAB_NAME 52

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
  gsize map_size; /* with a page of zeros at the end: libdw looks one byte beyond a section */
  gsize size;
  gboolean is_64bit;
  guint16 machine;
  struct
  {
    guint64 offset, size, vaddr;
    guint64 flags;
    guint name;
  } sections[LU_N_SYNTHETIC_SECTIONS];
  View views[N_VIEWS];
};

static gsize
round_up (gsize value, gsize to)
{
  return (value + to - 1) / to * to;
}

/* Views stay: they are the first page. Page by page would take longer than the copying, and
 * look-ups, which are anywhere, find what is in huge pages faster. */
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
                  const LuSyntheticSection sections[LU_N_SYNTHETIC_SECTIONS],
                  gboolean is_filled_now)
{
  LuSynthetic *self = g_new0 (LuSynthetic, 1);

  self->is_64bit = is_64bit;
  self->machine = machine;
  self->size = VIEWS_SIZE;
  for (guint i = 0; i < LU_N_SYNTHETIC_SECTIONS; i++)
    {
      if (sections[i].bytes == NULL && !sections[i].is_room)
        continue;
      self->sections[i].offset = self->size;
      self->sections[i].size = sections[i].size;
      self->sections[i].vaddr = sections[i].vaddr;
      self->sections[i].flags = sections[i].is_compressed ? SHF_COMPRESSED : 0;
      self->sections[i].name = sections[i].is_gnu_compressed ? ZDEBUG_NAME : name_offsets[i];
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
  for (guint i = 0; i < LU_N_SYNTHETIC_SECTIONS; i++)
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

/* Fills `header` of section `index` (1..) as seen from a view that begins at `base`. */
static void
describe_section (const LuSynthetic *self, guint index, gsize base, Elf64_Shdr *header)
{
  gsize names_at =
      self->is_64bit ? sizeof (Elf64_Ehdr) + sizeof (Elf64_Phdr) + N_HEADERS * sizeof (Elf64_Shdr)
                     : sizeof (Elf32_Ehdr) + sizeof (Elf32_Phdr) + N_HEADERS * sizeof (Elf32_Shdr);
  guint i = index - 1;

  *header = (Elf64_Shdr){ .sh_type = SHT_PROGBITS, .sh_addralign = SECTION_ALIGN };
  if (index == N_HEADERS - 1)
    {
      header->sh_name = SHSTRTAB_NAME;
      header->sh_type = SHT_STRTAB;
      header->sh_offset = names_at;
      header->sh_size = sizeof names;
      header->sh_addralign = 1;
      return;
    }
  header->sh_name = self->sections[i].name;
  header->sh_addr = self->sections[i].vaddr;
  header->sh_size = self->sections[i].size;
  header->sh_offset = self->sections[i].offset - base;
  header->sh_flags = self->sections[i].flags;
  if (header->sh_size == 0)
    /* A nameless section of no interest to libdw. */
    *header = (Elf64_Shdr){ .sh_type = SHT_NULL };
}

static const guint8 ident[EI_NIDENT] = { ELFMAG0, ELFMAG1,     ELFMAG2,   ELFMAG3,
                                         0,       ELFDATA2LSB, EV_CURRENT };

/* Always ET_DYN: libdwfl adds the same bias to everything then. */
static void
write_view_64 (const LuSynthetic *self, guint8 *at, gsize base, guint64 vaddr)
{
  Elf64_Ehdr file = {
    .e_type = ET_DYN,
    .e_machine = self->machine,
    .e_version = EV_CURRENT,
    .e_phoff = sizeof file,
    .e_shoff = sizeof file + sizeof (Elf64_Phdr),
    .e_ehsize = sizeof file,
    .e_phentsize = sizeof (Elf64_Phdr),
    .e_phnum = 1,
    .e_shentsize = sizeof (Elf64_Shdr),
    .e_shnum = N_HEADERS,
    .e_shstrndx = N_HEADERS - 1,
  };
  Elf64_Phdr segment = { .p_type = PT_LOAD, .p_vaddr = vaddr, .p_memsz = 1, .p_align = 1 };
  Elf64_Shdr sections[N_HEADERS] = { 0 };

  memcpy (file.e_ident, ident, sizeof ident);
  file.e_ident[EI_CLASS] = ELFCLASS64;
  for (guint i = 1; i < N_HEADERS; i++)
    describe_section (self, i, base, &sections[i]);
  at = mempcpy (at, &file, sizeof file);
  at = mempcpy (at, &segment, sizeof segment);
  at = mempcpy (at, sections, sizeof sections);
  memcpy (at, names, sizeof names);
}

static void
write_view_32 (const LuSynthetic *self, guint8 *at, gsize base, guint64 vaddr)
{
  Elf32_Ehdr file = {
    .e_type = ET_DYN,
    .e_machine = self->machine,
    .e_version = EV_CURRENT,
    .e_phoff = sizeof file,
    .e_shoff = sizeof file + sizeof (Elf32_Phdr),
    .e_ehsize = sizeof file,
    .e_phentsize = sizeof (Elf32_Phdr),
    .e_phnum = 1,
    .e_shentsize = sizeof (Elf32_Shdr),
    .e_shnum = N_HEADERS,
    .e_shstrndx = N_HEADERS - 1,
  };
  Elf32_Phdr segment = {
    .p_type = PT_LOAD, .p_vaddr = (guint32) vaddr, .p_memsz = 1, .p_align = 1
  };
  Elf32_Shdr sections[N_HEADERS] = { 0 };

  memcpy (file.e_ident, ident, sizeof ident);
  file.e_ident[EI_CLASS] = ELFCLASS32;
  for (guint i = 1; i < N_HEADERS; i++)
    {
      Elf64_Shdr wide;

      describe_section (self, i, base, &wide);
      sections[i] = (Elf32_Shdr){
        .sh_name = wide.sh_name,
        .sh_type = wide.sh_type,
        .sh_flags = (guint32) wide.sh_flags,
        .sh_addr = (guint32) wide.sh_addr,
        .sh_offset = (guint32) wide.sh_offset,
        .sh_size = (guint32) wide.sh_size,
        .sh_addralign = (guint32) wide.sh_addralign,
      };
    }
  at = mempcpy (at, &file, sizeof file);
  at = mempcpy (at, &segment, sizeof segment);
  at = mempcpy (at, sections, sizeof sections);
  memcpy (at, names, sizeof names);
}

static Elf *
make_view (LuSynthetic *self, guint index, guint64 vaddr)
{
  gsize base = index * VIEW_SIZE;

  if (self->is_64bit)
    write_view_64 (self, self->map + base, base, vaddr);
  else
    write_view_32 (self, self->map + base, base, vaddr);
  elf_version (EV_CURRENT);
  return elf_memory ((char *) self->map + base, self->size - base);
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
          view->elf = make_view (self, i, vaddr);
        }
      if (view->vaddr == vaddr)
        return view->elf;
    }
  return NULL;
}

/* Decompression */

/* What the section says it will grow to: the ch_size of an Elf32_Chdr or Elf64_Chdr, or the
 * big-endian length after "ZLIB" of the older form. 0 if it is too short to say. */
static guint64
decompressed_size (const LuSyntheticSection *section, gboolean is_64bit)
{
  guint64 size = 0;
  guint32 size_32 = 0;

  if (section->size < sizeof (Elf64_Chdr))
    return 0;
  if (section->is_gnu_compressed)
    {
      memcpy (&size, section->bytes + 4, sizeof size);
      return GUINT64_FROM_BE (size);
    }
  if (!is_64bit)
    {
      memcpy (&size_32, section->bytes + offsetof (Elf32_Chdr, ch_size), sizeof size_32);
      return size_32;
    }
  memcpy (&size, section->bytes + offsetof (Elf64_Chdr, ch_size), sizeof size);
  return size;
}

static Elf_Data *
decompress (Elf *elf, const LuSyntheticSection *section)
{
  Elf_Scn *scn = elf != NULL ? elf_getscn (elf, 1 + LU_SYNTHETIC_DEBUG_FRAME) : NULL;

  if (scn == NULL)
    return NULL;
  if (section->is_gnu_compressed ? elf_compress_gnu (scn, 0, 0) != 1
                                 : elf_compress (scn, 0, 0) != 1)
    return NULL;
  return elf_rawdata (scn, NULL);
}

/* What libelf makes of the section; bytes of the caller's. */
static LuSyntheticSection
inflate (const LuSyntheticSection *section, gboolean is_64bit, guint16 machine)
{
  LuSyntheticSection sections[LU_N_SYNTHETIC_SECTIONS] = { 0 };
  LuSyntheticSection plain = { 0 };
  LuSynthetic *holder;
  Elf_Data *data;

  sections[LU_SYNTHETIC_DEBUG_FRAME] = *section;
  holder = lu_synthetic_new (is_64bit, machine, sections, TRUE);
  if (holder == NULL)
    return plain;
  data = decompress (lu_synthetic_elf (holder, 0), section);
  if (data != NULL && data->d_buf != NULL && data->d_size <= MAX_DECOMPRESSED)
    {
      plain.bytes = g_memdup2 (data->d_buf, data->d_size);
      plain.size = plain.bytes != NULL ? data->d_size : 0;
    }
  lu_synthetic_free (holder);
  return plain;
}

static LuSyntheticSection
inflate_zstd (const LuSyntheticSection *section, gboolean is_64bit, gsize size)
{
  gsize head = is_64bit ? sizeof (Elf64_Chdr) : sizeof (Elf32_Chdr);
  LuSyntheticSection plain = { .bytes = g_malloc (size), .size = size };

  if (!lu_zstd_decompress (section->bytes + head, section->size - head, plain.bytes, size))
    {
      g_free (plain.bytes);
      plain = (LuSyntheticSection){ 0 };
    }
  return plain;
}

void
lu_synthetic_decompress (LuSyntheticSection *section, gboolean is_64bit, guint16 machine)
{
  guint64 size = section->bytes != NULL ? decompressed_size (section, is_64bit) : 0;
  LuSyntheticSection plain = { 0 };
  guint32 type = 0; /* ch_type, first in both classes */

  if (size > 0 && size <= MAX_DECOMPRESSED)
    {
      memcpy (&type, section->bytes, sizeof type);
      plain = section->is_compressed && type == COMPRESSED_ZSTD
                  ? inflate_zstd (section, is_64bit, size)
                  : inflate (section, is_64bit, machine);
    }
  g_free (section->bytes);
  *section = plain;
}
