/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* reduce.c - writes the small ELF files of recorded samples; see reduce.h.
 *
 * | ELF header | program headers | build-id | .eh_frame | its search table | .debug_frame |
 *
 * | names | section headers |
 *
 * The entries move together, so pointers relative to their place are rewritten. A small first
 * PT_LOAD tells where .eh_frame is in this file; the segments behind it are those of the large
 * file, although this file does not contain them: they tell where mappings belong. */

#include "reduce.h"

#include "table/cfi.h"

#include <elf.h>
#include <string.h>

#define MAX_LOADS 64

struct _Reduction
{
  const LuImage *image; /* borrowed */
  LuCfi *cfi;           /* NULL: no tables for its architecture */
  GHashTable *fdes;     /* set: offset << 1 | section */
};

/* One section as it grows. */
typedef struct
{
  GByteArray *bytes;
  GHashTable *cies; /* old offset -> new offset + 1 */
  GArray *starts;   /* of Start: FDEs, for the search table */
  guint64 vaddr;
  gboolean is_eh_frame, failed;
} Section;

typedef struct
{
  guint64 start;
  guint32 offset;
} Start;

Reduction *
reduction_new (const LuImage *image)
{
  Reduction *self = g_new0 (Reduction, 1);

  self->image = image;
  self->cfi = lu_cfi_new_for_image (image);
  self->fdes = g_hash_table_new (NULL, NULL);
  return self;
}

void
reduction_free (Reduction *self)
{
  lu_cfi_free (self->cfi);
  g_hash_table_unref (self->fdes);
  g_free (self);
}

void
reduction_touch (Reduction *self, guint64 address)
{
  guint64 from, to;
  LuFde fde;

  if (self->cfi != NULL && lu_cfi_find (self->cfi, address, &fde, &from, &to))
    g_hash_table_add (self->fdes, GSIZE_TO_POINTER ((gsize) fde.offset << 1 | fde.section));
}

/* Entries */

/* Bytes of the entry at `offset`, length included; *head: bytes of the length. */
static guint64
entry_size (const LuCfiBytes *section, guint64 offset, guint64 *head)
{
  guint32 length;
  guint64 wide;

  memcpy (&length, section->bytes + offset, sizeof length);
  *head = 4;
  if (length != G_MAXUINT32)
    return 4 + (guint64) length;
  memcpy (&wide, section->bytes + offset + 4, sizeof wide);
  *head = 12;
  return 12 + wide;
}

static guint64
copy_cie (Section *self, const LuCfiBytes *from, guint64 offset)
{
  gpointer key = GSIZE_TO_POINTER (offset);
  guint64 known = GPOINTER_TO_SIZE (g_hash_table_lookup (self->cies, key));
  guint64 head, at = self->bytes->len;

  if (known != 0)
    return known - 1;
  g_byte_array_append (self->bytes, from->bytes + offset, (guint) entry_size (from, offset, &head));
  g_hash_table_insert (self->cies, key, GSIZE_TO_POINTER (at + 1));
  return at;
}

/* Writes where the code starts, in the encoding of the CIE (LSB Core, 10.5). */
static void
write_start (Section *self, guint64 at, guint8 encoding, guint64 start)
{
  guint8 format = encoding & 0x0f, application = encoding & 0xf0;
  gboolean is_narrow = format == 0x03 || format == 0x0b;
  guint64 value = application == 0x10 ? start - (self->vaddr + at) : start;

  if (application != 0x10)
    {
      self->failed |= application != 0; /* absolute ones stay as they are */
      return;
    }
  if (!is_narrow && format != 0x00 && format != 0x04 && format != 0x0c)
    self->failed = TRUE;
  else
    memcpy (self->bytes->data + at, &value, is_narrow ? 4 : 8);
  if (is_narrow && (gint64) value != (gint32) value)
    self->failed = TRUE;
}

static void
copy_fde (Section *self, const LuCfiBytes *from, guint64 offset, const LuFde *fde,
          guint8 pointer_encoding)
{
  guint64 head, size = entry_size (from, offset, &head), id = 0, cie, at;
  guint id_size = head == 12 ? 8 : 4;
  Start start = { .start = fde->start };

  memcpy (&id, from->bytes + offset + head, id_size);
  cie = copy_cie (self, from, self->is_eh_frame ? offset + head - id : id);
  at = self->bytes->len;
  g_byte_array_append (self->bytes, from->bytes + offset, (guint) size);
  id = self->is_eh_frame ? at + head - cie : cie;
  memcpy (self->bytes->data + at + head, &id, id_size);
  write_start (self, at + head + id_size, pointer_encoding, fde->start);
  start.offset = (guint32) at;
  g_array_append_val (self->starts, start);
}

static void
section_init (Section *self, const Reduction *reduction, LuCfiSectionId which, guint64 vaddr)
{
  guint n = 0;
  const LuFde *fdes = NULL;

  *self = (Section){
    .bytes = g_byte_array_new (),
    .cies = g_hash_table_new (NULL, NULL),
    .starts = g_array_new (FALSE, FALSE, sizeof (Start)),
    .vaddr = vaddr,
    .is_eh_frame = which == LU_CFI_EH_FRAME,
  };
  if (reduction->cfi != NULL)
    fdes = lu_cfi_fdes (reduction->cfi, which, &n);
  for (guint i = 0; i < n; i++)
    if (g_hash_table_contains (reduction->fdes,
                               GSIZE_TO_POINTER ((gsize) fdes[i].offset << 1 | which)))
      copy_fde (self, lu_cfi_section (reduction->cfi, &fdes[i]), fdes[i].offset, &fdes[i],
                lu_cfi_cie (reduction->cfi, &fdes[i])->pointer_encoding);
  if (self->is_eh_frame && n > 0)
    g_byte_array_append (self->bytes, (const guint8 *) "\0\0\0\0", 4); /* the terminator */
}

static void
section_clear (Section *self)
{
  g_byte_array_unref (self->bytes);
  g_hash_table_unref (self->cies);
  g_array_unref (self->starts);
}

/* .eh_frame_hdr behind the entries, which are sorted; LSB Core, 10.6.2. */
static void
add_search_table (GByteArray *file, const Section *eh_frame)
{
  guint64 vaddr = eh_frame->vaddr + eh_frame->bytes->len;
  static const guint8 form[] = { 1, 0x1b, 0x03, 0x3b };
  gint32 words[2] = { (gint32) (eh_frame->vaddr - (vaddr + 4)), (gint32) eh_frame->starts->len };

  g_byte_array_append (file, form, sizeof form);
  g_byte_array_append (file, (const guint8 *) words, sizeof words);
  for (guint i = 0; i < eh_frame->starts->len; i++)
    {
      const Start *start = &g_array_index (eh_frame->starts, Start, i);

      words[0] = (gint32) (start->start - vaddr);
      words[1] = (gint32) (eh_frame->vaddr + start->offset - vaddr);
      g_byte_array_append (file, (const guint8 *) words, sizeof words);
    }
}

/* The file */

typedef struct
{
  GByteArray *bytes;
  Elf64_Phdr headers[MAX_LOADS + 3];
  guint n_headers;
  Elf64_Shdr sections[5];
  guint n_sections;
} File;

static const char names[] = "\0.eh_frame\0.debug_frame\0.shstrtab";
enum
{
  NAME_EH_FRAME = 1,
  NAME_DEBUG_FRAME = 11,
  NAME_SHSTRTAB = 24,
};

static guint
align (GByteArray *bytes, guint to)
{
  static const guint8 zeros[16];

  g_byte_array_append (bytes, zeros, -bytes->len & (to - 1));
  return bytes->len;
}

static void
add_header (File *file, Elf64_Phdr header)
{
  file->headers[file->n_headers++] = header;
}

static void
add_section (File *file, guint32 name, guint32 type, guint64 vaddr, guint offset)
{
  file->sections[file->n_sections++] = (Elf64_Shdr){
    .sh_name = name,
    .sh_type = type,
    .sh_addr = vaddr,
    .sh_offset = offset,
    .sh_size = file->bytes->len - offset,
    .sh_addralign = 1,
  };
}

static void
add_build_id (File *file, const LuImage *image)
{
  gsize size;
  const guint8 *build_id = lu_image_build_id (image, &size);
  Elf64_Nhdr note = { .n_namesz = 4, .n_descsz = (guint32) size, .n_type = NT_GNU_BUILD_ID };
  guint at = align (file->bytes, 4);

  if (build_id == NULL)
    return;
  g_byte_array_append (file->bytes, (const guint8 *) &note, sizeof note);
  g_byte_array_append (file->bytes, (const guint8 *) ELF_NOTE_GNU, 4);
  g_byte_array_append (file->bytes, build_id, (guint) size);
  add_header (file, (Elf64_Phdr){
                        .p_type = PT_NOTE,
                        .p_flags = PF_R,
                        .p_offset = at,
                        .p_filesz = file->bytes->len - at,
                        .p_memsz = file->bytes->len - at,
                    });
}

static void
add_eh_frame (File *file, const Section *section, gboolean has_table)
{
  guint at = align (file->bytes, 8), table_at;
  Elf64_Phdr load = { .p_type = PT_LOAD, .p_flags = PF_R, .p_offset = at };

  if (section->starts->len == 0)
    return;
  g_byte_array_append (file->bytes, section->bytes->data, section->bytes->len);
  add_section (file, NAME_EH_FRAME, SHT_PROGBITS, section->vaddr, at);
  table_at = file->bytes->len;
  if (has_table)
    add_search_table (file->bytes, section);
  load.p_vaddr = section->vaddr;
  load.p_filesz = load.p_memsz = file->bytes->len - at;
  add_header (file, load);
  if (has_table)
    add_header (file, (Elf64_Phdr){
                          .p_type = PT_GNU_EH_FRAME,
                          .p_flags = PF_R,
                          .p_offset = table_at,
                          .p_vaddr = section->vaddr + (table_at - at),
                          .p_filesz = file->bytes->len - table_at,
                          .p_memsz = file->bytes->len - table_at,
                      });
}

static void
add_segments (File *file, const LuImage *image)
{
  guint n;
  const LuSegment *segments = lu_image_segments (image, &n);

  for (guint i = 0; i < MIN (n, MAX_LOADS); i++)
    add_header (file, (Elf64_Phdr){
                          .p_type = PT_LOAD,
                          .p_flags = PF_R | (segments[i].executable ? PF_X : 0),
                          .p_offset = segments[i].file_offset,
                          .p_vaddr = segments[i].vaddr,
                          .p_filesz = segments[i].file_size,
                          .p_memsz = segments[i].memory_size,
                          .p_align = segments[i].align,
                      });
}

static void
finish_file (File *file, const LuImage *image)
{
  Elf64_Ehdr header = {
    .e_type = lu_image_is_position_independent (image) ? ET_DYN : ET_EXEC,
    .e_machine = lu_image_machine (image),
    .e_version = EV_CURRENT,
    .e_entry = lu_image_entry (image),
    .e_phoff = sizeof header,
    .e_ehsize = sizeof header,
    .e_phentsize = sizeof (Elf64_Phdr),
    .e_phnum = (guint16) file->n_headers,
    .e_shentsize = sizeof (Elf64_Shdr),
  };
  static const guint8 ident[] = { ELFMAG0,    ELFMAG1,     ELFMAG2,   ELFMAG3,
                                  ELFCLASS64, ELFDATA2LSB, EV_CURRENT };
  guint at = file->bytes->len;

  g_byte_array_append (file->bytes, (const guint8 *) names, sizeof names);
  add_section (file, NAME_SHSTRTAB, SHT_STRTAB, 0, at);
  header.e_shoff = align (file->bytes, 8);
  g_byte_array_append (file->bytes, (const guint8 *) file->sections,
                       file->n_sections * (guint) sizeof *file->sections);
  header.e_shnum = (guint16) file->n_sections;
  header.e_shstrndx = (guint16) (file->n_sections - 1);
  memcpy (header.e_ident, ident, sizeof ident);
  memcpy (file->bytes->data, &header, sizeof header);
  memcpy (file->bytes->data + sizeof header, file->headers,
          file->n_headers * sizeof *file->headers);
}

GByteArray *
reduction_finish (Reduction *self)
{
  gsize size;
  guint64 vaddr = 0, table_vaddr;
  gboolean has_table =
      lu_image_cfi (self->image, LU_IMAGE_EH_FRAME_HDR, &size, &table_vaddr) != NULL;
  Section eh_frame, debug_frame;
  File file = { .bytes = g_byte_array_new (), .n_sections = 1 };

  lu_image_cfi (self->image, LU_IMAGE_EH_FRAME, &size, &vaddr);
  section_init (&eh_frame, self, LU_CFI_EH_FRAME, vaddr);
  section_init (&debug_frame, self, LU_CFI_DEBUG_FRAME, 0);
  g_byte_array_set_size (file.bytes, sizeof (Elf64_Ehdr) + sizeof file.headers);
  memset (file.bytes->data, 0, file.bytes->len);
  add_eh_frame (&file, &eh_frame, has_table);
  add_build_id (&file, self->image);
  add_segments (&file, self->image);
  if (debug_frame.starts->len > 0)
    {
      guint at = align (file.bytes, 8);

      g_byte_array_append (file.bytes, debug_frame.bytes->data, debug_frame.bytes->len);
      add_section (&file, NAME_DEBUG_FRAME, SHT_PROGBITS, 0, at);
    }
  finish_file (&file, self->image);
  if (eh_frame.failed || debug_frame.failed)
    g_clear_pointer (&file.bytes, g_byte_array_unref);
  section_clear (&eh_frame);
  section_clear (&debug_frame);
  return file.bytes;
}
