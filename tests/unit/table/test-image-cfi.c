/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-image-cfi.c - from the bytes of a file to a table: CFI that libdw must not see is compiled
 * anyway, and sections are decompressed from every format.
 *
 * The files are made here, byte by byte: a segment of code, one for .eh_frame_hdr and .eh_frame,
 * and section headers for .text and .debug_frame. */

#include "section.h"

#include "elf/image.h"
#include "table/table.h"

#include <elf.h>
#include <libelf.h>
#include <string.h>

#define CODE        0x4000
#define CODE_SIZE   0x10000
#define TABLE_VADDR (SECTION_VADDR - 0x1000)

/* Offsets in the file. */
#define TABLE_AT   0x400
#define SECTION_AT 0x600

typedef struct
{
  GByteArray *bytes;
  guint16 machine;
  Elf64_Phdr segments[4];
  Elf64_Shdr sections[5];
  guint n_segments, n_sections;
} File;

static const char names[] = "\0.text\0.debug_frame\0.zdebug_frame\0.shstrtab\0.dynsym\0.plt";
enum
{
  NAME_TEXT = 1,
  NAME_DEBUG_FRAME = 7,
  NAME_ZDEBUG_FRAME = 20,
  NAME_NAMES = 34,
  NAME_DYNSYM = 44,
  NAME_PLT = 52,
};

static void
file_init (File *self, guint16 machine)
{
  *self = (File){ .bytes = g_byte_array_new (), .machine = machine, .n_sections = 1 };
  self->segments[self->n_segments++] = (Elf64_Phdr){
    .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = CODE, .p_memsz = CODE_SIZE
  };
  self->sections[self->n_sections++] = (Elf64_Shdr){
    .sh_name = NAME_TEXT, .sh_type = SHT_PROGBITS, .sh_addr = CODE, .sh_size = CODE_SIZE
  };
}

static void
put (File *self, gsize at, gconstpointer bytes, gsize size)
{
  if (self->bytes->len < at + size)
    {
      gsize old = self->bytes->len;

      g_byte_array_set_size (self->bytes, (guint) (at + size));
      memset (self->bytes->data + old, 0, at + size - old);
    }
  memcpy (self->bytes->data + at, bytes, size);
}

/* With a search table for all FDEs, which are in order. */
static void
file_add_eh_frame (File *self, const Section *section, const guint *fdes, guint n)
{
  GByteArray *eh_frame = section->bytes;
  gint32 table[3 + 2 * 8] = { 0x3b031b01, SECTION_VADDR - TABLE_VADDR - 4, (gint32) n };
  gsize table_size = (3 + 2 * n) * sizeof (gint32);

  for (guint i = 0; i < n; i++)
    {
      table[3 + 2 * i] = CODE + (gint32) i * 0x100 - TABLE_VADDR;
      table[4 + 2 * i] = SECTION_VADDR + (gint32) fdes[i] - TABLE_VADDR;
    }
  put (self, TABLE_AT, table, table_size);
  put (self, SECTION_AT, eh_frame->data, eh_frame->len);
  self->segments[self->n_segments++] = (Elf64_Phdr){ .p_type = PT_GNU_EH_FRAME,
                                                     .p_offset = TABLE_AT,
                                                     .p_vaddr = TABLE_VADDR,
                                                     .p_filesz = table_size,
                                                     .p_memsz = table_size };
  self->segments[self->n_segments++] = (Elf64_Phdr){ .p_type = PT_LOAD,
                                                     .p_flags = PF_R,
                                                     .p_offset = SECTION_AT,
                                                     .p_vaddr = SECTION_VADDR,
                                                     .p_filesz = eh_frame->len,
                                                     .p_memsz = eh_frame->len };
}

static void
file_add_debug_frame (File *self, guint name, guint64 flags, const guint8 *bytes, gsize size)
{
  put (self, SECTION_AT, bytes, size);
  self->sections[self->n_sections++] = (Elf64_Shdr){ .sh_name = name,
                                                     .sh_type = SHT_PROGBITS,
                                                     .sh_flags = flags,
                                                     .sh_offset = SECTION_AT,
                                                     .sh_size = size };
}

/* Consumes the file. */
static LuImage *
file_open (File *self)
{
  g_autoptr (GByteArray) bytes = self->bytes;
  gsize names_at = (bytes->len + 7) & ~(gsize) 7, sections_at = names_at + 64;
  g_autoptr (GError) error = NULL;
  Elf64_Ehdr header = {
    .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
    .e_type = ET_DYN,
    .e_machine = self->machine,
    .e_phoff = sizeof header,
    .e_phentsize = sizeof (Elf64_Phdr),
    .e_phnum = (Elf64_Half) self->n_segments,
    .e_shoff = sections_at,
    .e_shentsize = sizeof (Elf64_Shdr),
    .e_shnum = (Elf64_Half) (self->n_sections + 1),
    .e_shstrndx = (Elf64_Half) self->n_sections,
  };
  LuImage *image;

  self->sections[self->n_sections] = (Elf64_Shdr){
    .sh_name = NAME_NAMES, .sh_type = SHT_STRTAB, .sh_offset = names_at, .sh_size = sizeof names
  };
  put (self, names_at, names, sizeof names);
  put (self, sections_at, self->sections, sizeof self->sections);
  put (self, 0, &header, sizeof header);
  put (self, sizeof header, self->segments, sizeof self->segments);
  image = lu_image_new_from_memory (bytes->data, bytes->len, &error);
  g_assert_no_error (error);
  return image;
}

/* CFI that libdw must not see. */

typedef struct
{
  const char *name;
  CieSpec cie;
  Bytes head;    /* head of the FDE; NULL: pc-relative, as in the default CIE */
  Bytes program; /* leaves CFA = sp + 32 at CODE + 0x10 */
  guint16 machine;
} Case;

/* Absolute 8-byte pointers: start CODE, size 0x100, no data. */
#define ABSOLUTE BYTES (0, 0x40, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0)

static void
check_case (const Case *self, gboolean with_table)
{
  g_autoptr (Section) section = section_new (TRUE);
  g_autoptr (LuImage) image = NULL;
  g_autoptr (LuCfi) cfi = NULL;
  g_autoptr (LuTable) table = NULL;
  const CieSpec good = { .return_column = self->cie.return_column };
  guint cie, fdes[2];
  File file;

  file_init (&file, self->machine != 0 ? self->machine : EM_X86_64);
  cie = section_add_cie (section, &self->cie);
  if (self->head.bytes != NULL)
    fdes[0] = section_add_raw_fde (section, cie, self->head, self->program);
  else
    fdes[0] = section_add_fde (section, cie, CODE, 0x100, self->program);
  fdes[1] = section_add_fde (section, section_add_cie (section, &good), CODE + 0x100, 0x100,
                             BYTES (0x0e, 24));
  file_add_eh_frame (&file, section, fdes, with_table ? 2 : 0);
  image = file_open (&file);
  cfi = lu_cfi_new_for_image (image);
  table = lu_table_new (cfi);
  for (guint i = 1; i < LU_N_CFI_ERRORS; i++)
    g_assert_cmpuint (table->stats.cfi_errors[i], ==, 0);
  g_assert_cmpint (lu_table_find (table, CODE + 0x10)->cfa_off, ==, 32);
  g_assert_cmpint (lu_table_find (table, CODE + 0x110)->cfa_off, ==, 24);
  /* libdw has only the other FDE. */
  g_assert_nonnull (lu_image_elf (image, CODE));
  g_assert_cmpuint (lu_image_n_refused_fdes (image), ==, 1);
  g_assert_cmpuint (lu_image_n_unsorted_fdes (image), ==, 1);
}

static void
test_kept_from_libdw (void)
{
  const Bytes by_sp = BYTES (0x0c, 31, 0);
  const Case cases[] = {
    { "set_loc, absolute",
      { .augmentation_data = BYTES (1, 0x00) },
      ABSOLUTE,
      BYTES (0x01, 0x10, 0x40, 0, 0, 0, 0, 0, 0, 0x0e, 32),
      0 },
    { "set_loc, relative to text",
      { .augmentation_data = BYTES (1, 0x23) },
      BYTES (0, 0, 0, 0, 0, 1, 0, 0, 0),
      BYTES (0x01, 0x10, 0, 0, 0, 0x0e, 32),
      0 },
    { "advance_loc8", { 0 }, { 0 }, BYTES (0x1d, 0x10, 0, 0, 0, 0, 0, 0, 0, 0x0e, 32), 0 },
    { "pointers of variable length",
      { .augmentation_data = BYTES (1, 0x01) },
      BYTES (0x80, 0x80, 1, 0x80, 2, 0),
      BYTES (0x50, 0x0e, 32),
      0 },
    { "aligned pointers",
      { .augmentation_data = BYTES (5, 0x50, 9, 9, 9, 9) },
      /* The FDE's head is at 36. */
      BYTES (9, 9, 9, 9, 0, 0x40, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0),
      BYTES (0x50, 0x0e, 32),
      0 },
    { "an operation of expressions that divides",
      { 0 },
      { 0 },
      BYTES (0x16, 12, 4, 0x31, 0x32, 0x1b, 0x96, 0x50, 0x0e, 32),
      0 },
    { "a signed return address, with its place, and tagged memory",
      { .augmentation = "zRG", .return_column = 30, .program = by_sp },
      { 0 },
      BYTES (0x2c, 0x50, 0x0e, 32),
      EM_AARCH64 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    for (guint with_table = 0; with_table < 2; with_table++)
      {
        g_test_message ("%s, %s search table", cases[i].name, with_table ? "with" : "without");
        check_case (&cases[i], with_table != 0);
      }
}

/* CFI that passes the guard unchanged is not copied. */
static void
test_shared (void)
{
  g_autoptr (Section) section = section_new (TRUE);
  g_autoptr (LuImage) image = NULL;
  guint fde;
  gsize size;
  File file;

  file_init (&file, EM_X86_64);
  fde = section_add_fde (section, section_add_cie (section, &(CieSpec){ 0 }), CODE, 0x100,
                         BYTES (0x0e, 24));
  file_add_eh_frame (&file, section, &fde, 1);
  image = file_open (&file);
  size = lu_image_resident_bytes (image);
  g_assert_nonnull (lu_image_elf (image, CODE));
  g_assert_cmpuint (lu_image_resident_bytes (image), ==, size);
  g_assert_cmpuint (lu_image_n_unsorted_fdes (image), ==, 0);
}

/* A search table that is not sorted, leads out of the section or to another section is not used. */
static void
test_tables_that_lie (void)
{
  static const struct
  {
    guint word;
    gint32 value;
  } lies[] = {
    { 1, 0 }, { 2, 99 }, { 3, CODE + 0x900 - TABLE_VADDR }, { 4, -1 }, { 6, 0x7fffffff },
  };

  for (guint i = 0; i < G_N_ELEMENTS (lies); i++)
    {
      g_autoptr (Section) section = section_new (TRUE);
      g_autoptr (LuImage) image = NULL;
      g_autoptr (LuCfi) cfi = NULL;
      guint64 from, to;
      guint cie, fdes[2];
      LuFde fde;
      File file;

      g_test_message ("word %u", lies[i].word);
      file_init (&file, EM_X86_64);
      cie = section_add_cie (section, &(CieSpec){ 0 });
      fdes[0] = section_add_fde (section, cie, CODE, 0x100, BYTES (0x0e, 24));
      fdes[1] = section_add_fde (section, cie, CODE + 0x100, 0x100, BYTES (0x0e, 32));
      file_add_eh_frame (&file, section, fdes, 2);
      memcpy (file.bytes->data + TABLE_AT + 4 * lies[i].word, &lies[i].value, 4);
      image = file_open (&file);
      cfi = lu_cfi_new_for_image (image);
      if (lies[i].word == 1) /* the program's own unwinder would not find .eh_frame either */
        g_assert_false (lu_cfi_find (cfi, CODE + 0x10, &fde, &from, &to));
      else
        for (guint k = 0; k < 2; k++)
          {
            g_assert_true (lu_cfi_find (cfi, CODE + 0x100 * k + 0x10, &fde, &from, &to));
            g_assert_cmpuint (fde.offset, ==, fdes[k]);
          }
    }
}

/* Compressed sections */

static void
check_debug_frame (guint name, guint64 flags, const guint8 *bytes, gsize size, int want)
{
  g_autoptr (LuImage) image = NULL;
  g_autoptr (LuCfi) cfi = NULL;
  g_autoptr (LuTable) table = NULL;
  File file;

  file_init (&file, EM_X86_64);
  file_add_debug_frame (&file, name, flags, bytes, size);
  image = file_open (&file);
  cfi = lu_cfi_new_for_image (image);
  table = lu_table_new (cfi);
  g_assert_cmpint (lu_table_find (table, CODE + 0x10)->cfa_off, ==, want);
}

static Section *
make_debug_frame (void)
{
  Section *section = section_new (FALSE);
  guint cie = section_add_cie (section, &(CieSpec){ 0 });

  section_add_fde (section, cie, CODE, 0x100, BYTES (0x0e, 40));
  return section;
}

/* Begins with the header of SHF_COMPRESSED sections. */
static GByteArray *
with_header (guint32 type, guint64 size, const guint8 *bytes, gsize n)
{
  const Elf64_Chdr header = { .ch_type = type, .ch_size = size, .ch_addralign = 1 };
  GByteArray *result = g_byte_array_new ();

  g_byte_array_append (result, (const guint8 *) &header, sizeof header);
  return g_byte_array_append (result, bytes, (guint) n);
}

static void
test_plain_debug_frame (void)
{
  g_autoptr (Section) section = make_debug_frame ();

  check_debug_frame (NAME_DEBUG_FRAME, 0, section->bytes->data, section->bytes->len, 40);
}

/* A zlib stream of one stored block (RFC 1950, 1951). */
static GByteArray *
deflate_stored (const GByteArray *bytes)
{
  const guint8 head[] = { 0x78,
                          0x01,
                          0x01,
                          (guint8) bytes->len,
                          (guint8) (bytes->len >> 8),
                          (guint8) ~bytes->len,
                          (guint8) (~bytes->len >> 8) };
  GByteArray *result = g_byte_array_new ();
  guint32 a = 1, b = 0;

  for (guint i = 0; i < bytes->len; i++)
    {
      a = (a + bytes->data[i]) % 65521;
      b = (b + a) % 65521;
    }
  const guint8 check[] = { (guint8) (b >> 8), (guint8) b, (guint8) (a >> 8), (guint8) a };

  g_byte_array_append (result, head, sizeof head);
  g_byte_array_append (result, bytes->data, bytes->len);
  return g_byte_array_append (result, check, sizeof check);
}

static void
test_zlib_debug_frame (void)
{
  g_autoptr (Section) section = make_debug_frame ();
  g_autoptr (GByteArray) deflated = deflate_stored (section->bytes);
  g_autoptr (GByteArray) bytes =
      with_header (ELFCOMPRESS_ZLIB, section->bytes->len, deflated->data, deflated->len);
  g_autoptr (GByteArray) old = g_byte_array_new ();
  const guint8 head[] = { 'Z', 'L', 'I', 'B', 0, 0, 0, 0, 0, 0, 0, (guint8) section->bytes->len };

  check_debug_frame (NAME_DEBUG_FRAME, SHF_COMPRESSED, bytes->data, bytes->len, 40);
  g_byte_array_append (old, head, sizeof head);
  g_byte_array_append (old, deflated->data, deflated->len);
  check_debug_frame (NAME_ZDEBUG_FRAME, 0, old->data, old->len, 40);
  bytes->data[sizeof (Elf64_Chdr) + 3]++;
  check_debug_frame (NAME_DEBUG_FRAME, SHF_COMPRESSED, bytes->data, bytes->len, 0);
}

/* A zstd frame of one raw block (RFC 8878): magic, descriptor of a single segment with a size of
 * one byte, size, block header (last, raw, size), bytes. */
static void
test_zstd_debug_frame (void)
{
  g_autoptr (Section) section = make_debug_frame ();
  guint32 n = section->bytes->len, block = n << 3 | 1;
  const guint8 head[] = { 0x28, 0xb5,       0x2f,           0xfd,
                          0x20, (guint8) n, (guint8) block, (guint8) (block >> 8),
                          0 };
  g_autoptr (GByteArray) frame = g_byte_array_new ();
  g_autoptr (GByteArray) bytes = NULL;
  g_autoptr (GByteArray) lie = NULL;

  if (!HAS_ZSTD)
    {
      g_test_skip ("built without libzstd");
      return;
    }
  g_assert_cmpuint (n, <, 256);
  g_byte_array_append (frame, head, sizeof head);
  g_byte_array_append (frame, section->bytes->data, n);
  bytes = with_header (2, n, frame->data, frame->len);
  check_debug_frame (NAME_DEBUG_FRAME, SHF_COMPRESSED, bytes->data, bytes->len, 40);
  lie = with_header (2, n + 1, frame->data, frame->len);
  check_debug_frame (NAME_DEBUG_FRAME, SHF_COMPRESSED, lie->data, lie->len, 0);
  check_debug_frame (NAME_DEBUG_FRAME, SHF_COMPRESSED, bytes->data, bytes->len - 1, 0);
}

/* The vDSO of aarch64: a handler returns to `mov x8, 139; svc 0`; all other functions are leaves,
 * unless an instruction shows otherwise. In memory only, because programs may have these bytes for
 * other reasons. */
static void
test_vdso (void)
{
  static const struct
  {
    const char *name;
    guint32 word;
    gboolean is_leaf;
  } cases[] = {
    { "nop", 0xd503201f, TRUE },
    { "paciasp", 0xd503233f, TRUE },
    { "b", 0x14000001, TRUE },
    { "cmp w0, 15", 0x71003c1f, TRUE },
    { "add x4, sp, x4", 0x8b2463e4, TRUE },
    { "ldr x0, [x1]", 0xf9400020, TRUE },
    { "bl", 0x94000001, FALSE },
    { "blr x3", 0xd63f0060, FALSE },
    { "stp x29, x30, [sp, -16]!", 0xa9bf7bfd, FALSE },
    { "str x30, [sp, -16]!", 0xf81f0ffe, FALSE },
    { "ldr x30, [sp], 16", 0xf84107fe, FALSE },
    { "sub sp, sp, 16", 0xd10043ff, FALSE },
    { "mov sp, x29", 0x910003bf, FALSE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      const guint32 code[] = { cases[i].word, 0xd65f03c0, 0xd503201f, 0xd2801168,
                               0xd4000001,    0xd503201f, 0xd503201f };
      /* In its system call, the pc of the restorer is behind it. Every second time, a function
       * begins there. */
      guint end = i % 2 == 0 ? 24 : 20;
      g_autoptr (LuImage) image = NULL;
      g_autoptr (LuCfi) cfi = NULL;
      g_autoptr (LuTable) table = NULL;
      const Elf64_Sym symbols[] = {
        { 0 },
        { .st_info = ELF64_ST_INFO (STB_GLOBAL, STT_FUNC), .st_value = CODE, .st_size = 8 },
        { .st_info = ELF64_ST_INFO (STB_GLOBAL, STT_FUNC), .st_value = CODE + 16, .st_size = 800 },
        { .st_info = ELF64_ST_INFO (STB_GLOBAL, STT_FUNC), .st_value = 0, .st_size = CODE + 8 },
        { .st_info = ELF64_ST_INFO (STB_GLOBAL, STT_FUNC),
          .st_value = CODE + end,
          .st_size = 24 - end },
      };
      File file;

      g_test_message ("%s", cases[i].name);
      file_init (&file, EM_AARCH64);
      put (&file, TABLE_AT, symbols, sizeof symbols);
      file.sections[file.n_sections++] = (Elf64_Shdr){ .sh_name = NAME_DYNSYM,
                                                       .sh_type = SHT_DYNSYM,
                                                       .sh_offset = TABLE_AT,
                                                       .sh_size = sizeof symbols };
      put (&file, SECTION_AT, code, sizeof code);
      file.sections[1].sh_offset = SECTION_AT;
      file.sections[1].sh_size = sizeof code;
      image = file_open (&file);
      cfi = lu_cfi_new_for_image (image);
      table = lu_table_new (cfi);
      for (guint64 at = 0; at < sizeof code; at++)
        {
          const struct lu_rule *rule = lu_table_find (table, CODE + at);
          guint want = at < 8     ? cases[i].is_leaf ? LU_RULE_SIGNED : 0
                       : at < end ? LU_RULE_SIGNAL | LU_RULE_SIGFRAME
                       : at < 24  ? LU_RULE_SIGNED
                                  : 0;

          g_assert_cmpuint (rule->flags, ==, want);
          g_assert_cmpint (rule->cfa_kind, ==,
                           want == 0                ? LU_CFA_NONE
                           : want == LU_RULE_SIGNED ? LU_CFA_SP
                                                    : LU_CFA_DEREF_SP);
        }
      lu_image_elf (image, CODE);
      g_assert_cmpuint (lu_image_n_refused_fdes (image), ==, 0);
      g_assert_cmpuint (lu_image_n_unsorted_fdes (image), ==,
                        1 + (cases[i].is_leaf ? 1 : 0) + (end < 24 ? 1 : 0));
    }
}

static void
file_add_plt (File *self, const guint32 *code, gsize n)
{
  put (self, TABLE_AT, code, n * sizeof *code);
  self->sections[self->n_sections++] = (Elf64_Shdr){ .sh_name = NAME_PLT,
                                                     .sh_type = SHT_PROGBITS,
                                                     .sh_addr = CODE,
                                                     .sh_offset = TABLE_AT,
                                                     .sh_size = n * sizeof *code };
}

/* The table of aarch64 as linkers write it, without and with BTI; TLS descriptors have code behind
 * it. */
static void
check_plt (const guint32 *code, gsize n, guint saved, guint end)
{
  g_autoptr (LuImage) image = NULL;
  g_autoptr (LuCfi) cfi = NULL;
  g_autoptr (LuTable) table = NULL;
  File file;

  file_init (&file, EM_AARCH64);
  file_add_plt (&file, code, n);
  image = file_open (&file);
  cfi = lu_cfi_new_for_image (image);
  table = lu_table_new (cfi);
  for (guint64 at = 0; at < n * sizeof *code; at++)
    {
      const struct lu_rule *rule = lu_table_find (table, CODE + at);
      gboolean has_saved = at >= saved && at < 32;

      g_assert_cmpint (rule->cfa_kind, ==, at < end ? LU_CFA_SP : LU_CFA_NONE);
      if (at >= end)
        continue;
      g_assert_cmpint (rule->cfa_off, ==, has_saved ? 16 : 0);
      g_assert_cmpint (rule->ra_kind, ==, has_saved ? LU_RA_AT_CFA : LU_RA_LINK);
    }
}

/* stp x16, x30, [sp, #-16]!; adrp x16; ldr x17, [x16]; add x16, x16, 0; br x17; nop … */
static const guint32 plain[] = { 0xa9bf7bf0, 0x90000010, 0xf9400211, 0x91000210, 0xd61f0220,
                                 0xd503201f, 0xd503201f, 0xd503201f, 0x90000010, 0xf9400611,
                                 0x91002210, 0xd61f0220, 0x90000010, 0xf9400a11, 0x91004210,
                                 0xd61f0220, 0xa9bf0fe2, 0x90000002, 0x90000003, 0xf9400042,
                                 0x91000063, 0xd61f0040, 0xd503201f, 0xd503201f };

static void
test_plt (void)
{
  static const guint32 bti[] = { 0xd503245f, 0xa9bf7bf0, 0x90000010, 0xf9400211, 0x91000210,
                                 0xd61f0220, 0xd503201f, 0xd503201f, 0xd503245f, 0x90000010,
                                 0xf9400611, 0x91002210, 0xd61f0220, 0xd503201f };
  guint32 other[G_N_ELEMENTS (plain)];

  check_plt (plain, G_N_ELEMENTS (plain), 4, 64);
  check_plt (bti, G_N_ELEMENTS (bti), 8, 56);
  memcpy (other, plain, sizeof other);
  other[0] = 0xd503201f;
  check_plt (other, G_N_ELEMENTS (other), 0, 0);
  other[0] = plain[0];
  other[8] = 0xd503201f;
  check_plt (other, G_N_ELEMENTS (other), 0, 0);
}

/* Static programs have the entries alone, and nothing in them saves the link register. */
static void
test_plt_of_static (void)
{
  check_plt (plain + 8, G_N_ELEMENTS (plain) - 8, 32, 32);
  check_plt (plain + 8, 8, 32, 32);
  check_plt (plain + 8, 4, 32, 16);
  check_plt (plain + 8, 3, 32, 0); /* the jump is missing */
  check_plt (plain + 1, 4, 32, 16);
  check_plt (plain + 16, 8, 32, 0);
}

/* Opens a file with a table and a .debug_frame, whose CFI is that of code behind the table. */
static LuImage *
open_plt_and_debug_frame (gboolean is_compressed, guint32 last_word)
{
  g_autoptr (Section) section = section_new (FALSE);
  guint cie = section_add_cie (section, &(CieSpec){ 0 });
  g_autoptr (GByteArray) deflated = NULL, packed = NULL;
  guint32 code[G_N_ELEMENTS (plain)];
  File file;

  section_add_fde (section, cie, CODE + 0x100, 0x100, BYTES (0x0e, 40));
  deflated = deflate_stored (section->bytes);
  packed = with_header (ELFCOMPRESS_ZLIB, section->bytes->len, deflated->data, deflated->len);
  memcpy (code, plain, sizeof code);
  code[G_N_ELEMENTS (code) - 1] = last_word;
  file_init (&file, EM_AARCH64);
  file_add_plt (&file, code, G_N_ELEMENTS (code));
  if (is_compressed)
    file_add_debug_frame (&file, NAME_DEBUG_FRAME, SHF_COMPRESSED, packed->data, packed->len);
  else
    file_add_debug_frame (&file, NAME_DEBUG_FRAME, 0, section->bytes->data, section->bytes->len);
  return file_open (&file);
}

/* A file may have .debug_frame besides, for other code: Rust's programs have that of a library in
 * assembly. The table's entries are there, too, and part of what identifies the file. */
static void
test_plt_and_debug_frame (void)
{
  for (gboolean is_compressed = FALSE; is_compressed <= TRUE; is_compressed++)
    {
      g_autoptr (LuImage) image = open_plt_and_debug_frame (is_compressed, 0xd503201f);
      g_autoptr (LuImage) same = open_plt_and_debug_frame (is_compressed, 0xd503201f);
      g_autoptr (LuImage) other = open_plt_and_debug_frame (is_compressed, 0xd61f0040);
      g_autoptr (LuCfi) cfi = lu_cfi_new_for_image (image);
      g_autoptr (LuTable) table = lu_table_new (cfi);

      g_assert_cmpint (lu_table_find (table, CODE + 0x110)->cfa_off, ==, 40);
      for (guint at = 0; at < 64; at++)
        g_assert_cmpint (lu_table_find (table, CODE + at)->cfa_kind, ==, LU_CFA_SP);
      g_assert_cmpint (lu_table_find (table, CODE + 64)->cfa_kind, ==, LU_CFA_NONE);
      g_assert_true (lu_image_is_same (image, same));
      g_assert_false (lu_image_is_same (image, other));
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/image-cfi/kept-from-libdw", test_kept_from_libdw);
  g_test_add_func ("/image-cfi/shared", test_shared);
  g_test_add_func ("/image-cfi/tables-that-lie", test_tables_that_lie);
  g_test_add_func ("/image-cfi/vdso", test_vdso);
  g_test_add_func ("/image-cfi/plt", test_plt);
  g_test_add_func ("/image-cfi/plt-of-static", test_plt_of_static);
  g_test_add_func ("/image-cfi/plt-and-debug-frame", test_plt_and_debug_frame);
  g_test_add_func ("/image-cfi/plain", test_plain_debug_frame);
  g_test_add_func ("/image-cfi/zlib", test_zlib_debug_frame);
  g_test_add_func ("/image-cfi/zstd", test_zstd_debug_frame);
  return g_test_run ();
}
