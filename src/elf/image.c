/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* image.c - reads one ELF file into an image; see image.h.
 *
 * Order of work: headers, build-id, where the CFI is, decompression, the private copy, digest of
 * what the file says. The guard comes when libdw does. What becomes of the private copy afterwards
 * is image-cfi.c. */

#include "elf/aarch64-vdso.h"
#include "elf/cfi-guard.h"
#include "elf/image-private.h"

#include "base/error.h"

#include <elf.h>
#include <errno.h>
#include <glib/gi18n.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Files larger than this are refused: no linker makes them, and offsets stay far from overflow. */
#define MAX_FILE (G_GUINT64_CONSTANT (16) << 30)
/* Browsers and compilers, the largest there are, have some 30 MB. */
#define MAX_EH_FRAME (G_GUINT64_CONSTANT (64) << 20)
#define MAX_NOTES    65536
/* Of .eh_frame_hdr, up to where its table begins (LSB Core, 10.6.2). */
#define EH_FRAME_HDR_HEAD 12

/* Build-id */

/* Notes are 4-aligned; the 8-aligned ones (.note.gnu.property) hold no build-id. */
static gboolean
find_build_id (LuImage *self, const guint8 *bytes, gsize size)
{
  gsize at = 0;

  while (size - at >= sizeof (Elf64_Nhdr))
    {
      Elf64_Nhdr note; /* the same in both classes */
      gsize name, desc;

      memcpy (&note, bytes + at, sizeof note);
      name = at + sizeof note;
      if (note.n_namesz > size - name)
        return FALSE;
      desc = name + (((gsize) note.n_namesz + 3) & ~(gsize) 3);
      if (desc > size || note.n_descsz > size - desc)
        return FALSE;
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof ELF_NOTE_GNU
          && memcmp (bytes + name, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) == 0 && note.n_descsz > 0
          && note.n_descsz <= LU_IMAGE_MAX_BUILD_ID)
        {
          self->build_id_size = note.n_descsz;
          memcpy (self->build_id, bytes + desc, note.n_descsz);
          return TRUE;
        }
      at = desc + (((gsize) note.n_descsz + 3) & ~(gsize) 3);
      if (at > size)
        return FALSE;
    }
  return FALSE;
}

static gboolean
read_notes (LuImage *self, const LuElfInput *input, guint64 offset, guint64 size)
{
  g_autofree guint8 *bytes = NULL;

  if (size == 0 || size > MAX_NOTES)
    return FALSE;
  bytes = g_malloc (size);
  return lu_elf_input_read (input, offset, bytes, size) && find_build_id (self, bytes, size);
}

static void
read_build_id (LuImage *self, const LuElfInput *input)
{
  const LuElfSectionHeader *section;

  for (guint i = 0; i < self->headers.n_program_headers; i++)
    {
      const LuElfProgramHeader *header = &self->headers.program_headers[i];

      if (header->type == PT_NOTE
          && read_notes (self, input, header->file_offset, header->file_size))
        return;
    }
  section = lu_elf_headers_find_section (&self->headers, ".note.gnu.build-id");
  if (section != NULL)
    read_notes (self, input, section->file_offset, section->size);
}

/* CFI */

/* From an ELF address to the end of the bytes that its segment has in the file. */
static gboolean
find_in_segment (const LuImage *self, guint64 vaddr, guint64 *file_offset, guint64 *size)
{
  for (guint i = 0; i < self->n_segments; i++)
    {
      const LuSegment *segment = &self->segments[i];
      guint64 delta = vaddr - segment->vaddr;

      if (vaddr < segment->vaddr || delta >= segment->file_size)
        continue;
      *file_offset = segment->file_offset + delta;
      *size = segment->file_size - delta;
      return TRUE;
    }
  return FALSE;
}

/* The sections of one file on their way into an image. Most are read where they stay; what has to
 * be looked at or changed before, into memory of their own. */
typedef struct
{
  const LuElfInput *input;
  LuSyntheticSection sections[LU_N_SYNTHETIC_SECTIONS];
  guint64 file_offsets[LU_N_SYNTHETIC_SECTIONS];
} Sections;

static void
place_section (Sections *self, guint which, guint64 vaddr, guint64 offset, guint64 size)
{
  const LuElfInput *input = self->input;

  if (offset >= input->size || size == 0)
    return;
  size = MIN (size, input->size - offset);
  if (size > MAX_EH_FRAME)
    return;
  self->file_offsets[which] = offset;
  self->sections[which].size = size;
  self->sections[which].vaddr = vaddr;
  self->sections[which].is_room = TRUE;
}

static void
clear_section (LuSyntheticSection *section)
{
  g_clear_pointer (&section->bytes, g_free);
  section->size = 0;
  section->is_room = FALSE;
}

/* Reads a section now. */
static void
fetch_section (LuImage *image, Sections *self, guint which)
{
  LuSyntheticSection *section = &self->sections[which];

  if (!section->is_room)
    return;
  section->is_room = FALSE;
  section->bytes = g_try_malloc (section->size);
  if (section->bytes == NULL
      || !lu_elf_input_read (self->input, self->file_offsets[which], section->bytes, section->size))
    clear_section (section);
  lu_image_digest_section (section->bytes, section->size, image->parts[LU_PART_SECTIONS + which]);
}

/* The header (PT_GNU_EH_FRAME) is what the program's own unwinder uses, so it decides where
 * .eh_frame is, and the segments say where that is in the file; a section at the same place only
 * tells where it ends. Rewritten files (BOLT) have several. */
static void
place_eh_frame (const LuImage *self, Sections *sections)
{
  const LuElfProgramHeader *header =
      lu_elf_headers_find_program_header (&self->headers, PT_GNU_EH_FRAME);
  const LuElfSectionHeader *section = lu_elf_headers_find_section (&self->headers, ".eh_frame");
  const LuSyntheticSection *table = &sections->sections[LU_SYNTHETIC_EH_FRAME_HDR];
  guint8 head[EH_FRAME_HDR_HEAD];
  guint64 vaddr, offset, size;

  if (header != NULL)
    place_section (sections, LU_SYNTHETIC_EH_FRAME_HDR, header->vaddr, header->file_offset,
                   header->file_size);
  if (table->size >= sizeof head
      && lu_elf_input_read (sections->input, header->file_offset, head, sizeof head)
      && lu_cfi_table_eh_frame (head, sizeof head, table->vaddr, &vaddr)
      && find_in_segment (self, vaddr, &offset, &size))
    {
      if (section != NULL && section->vaddr == vaddr && section->file_offset == offset)
        size = MIN (size, section->size);
      place_section (sections, LU_SYNTHETIC_EH_FRAME, vaddr, offset, size);
    }
  else if (section != NULL)
    place_section (sections, LU_SYNTHETIC_EH_FRAME, section->vaddr, section->file_offset,
                   section->size);
}

static void
place_debug_frame (LuImage *self, Sections *sections)
{
  const LuElfSectionHeader *section = lu_elf_headers_find_section (&self->headers, ".debug_frame");
  LuSyntheticSection *debug_frame = &sections->sections[LU_SYNTHETIC_DEBUG_FRAME];

  if (section == NULL)
    section = lu_elf_headers_find_section (&self->headers, ".zdebug_frame");
  if (section == NULL)
    return;
  place_section (sections, LU_SYNTHETIC_DEBUG_FRAME, 0, section->file_offset, section->size);
  debug_frame->is_compressed = (section->flags & SHF_COMPRESSED) != 0;
  debug_frame->is_gnu_compressed =
      strcmp (self->headers.section_names + section->name, ".zdebug_frame") == 0;
  if (!debug_frame->is_compressed && !debug_frame->is_gnu_compressed)
    return;
  fetch_section (self, sections, LU_SYNTHETIC_DEBUG_FRAME);
  lu_synthetic_decompress (debug_frame, self->headers.is_64bit, self->headers.machine);
}

static void
digest_head (LuImage *self, const LuElfInput *input)
{
  guint64 head[] = { input->size, self->headers.machine, self->headers.is_64bit != FALSE,
                     self->text };

  lu_digest (head, sizeof head, self->parts[LU_PART_HEAD]);
  lu_digest (self->build_id, self->build_id_size, self->parts[LU_PART_BUILD_ID]);
  lu_digest (self->headers.program_headers,
             self->headers.n_program_headers * sizeof *self->headers.program_headers,
             self->parts[LU_PART_PROGRAM_HEADERS]);
  for (guint i = LU_PART_SECTIONS; i < LU_N_PARTS; i++)
    lu_image_digest_section (NULL, 0, self->parts[i]);
}

/* Whether there is any, and all of it can be read again. */
static gboolean
can_be_lean (const Sections *self)
{
  gsize size = 0;

  for (guint i = 0; i < LU_N_SYNTHETIC_SECTIONS; i++)
    {
      if (self->sections[i].bytes != NULL)
        return FALSE;
      size += self->sections[i].size;
    }
  return size > 0;
}

static void
fill_rooms (LuImage *self, const Sections *sections, const LuImageOpening *opening)
{
  for (guint i = 0; i < LU_N_SYNTHETIC_SECTIONS; i++)
    if (sections->sections[i].is_room)
      {
        self->is_part_pending[LU_PART_SECTIONS + i] = TRUE;
        self->file_offsets[i] = sections->file_offsets[i];
      }
  if (!self->is_lean)
    lu_image_read_rooms (self, sections->input);
  else
    lu_image_begin_lean (self, sections->input, opening);
}

static void
read_cfi (LuImage *self, const LuElfInput *input, const LuImageOpening *opening)
{
  Sections sections = { .input = input };

  digest_head (self, input);
  place_eh_frame (self, &sections);
  place_debug_frame (self, &sections);
  for (guint i = 0; input->bytes != NULL && i < LU_N_SYNTHETIC_SECTIONS; i++)
    fetch_section (self, &sections, i);
  lu_aarch64_vdso_describe (&self->headers, input, &sections.sections[LU_SYNTHETIC_EH_FRAME],
                            &sections.sections[LU_SYNTHETIC_DEBUG_FRAME]);
  self->is_lean = opening->is_lean && can_be_lean (&sections);
  self->synthetic = lu_synthetic_new (self->headers.is_64bit, self->headers.machine,
                                      sections.sections, !self->is_lean);
  if (self->synthetic != NULL)
    fill_rooms (self, &sections, opening);
  for (guint i = 0; i < LU_N_SYNTHETIC_SECTIONS; i++)
    clear_section (&sections.sections[i]);
}

/* Life cycle */

static void
collect_segments (LuImage *self)
{
  self->segments = g_new0 (LuSegment, self->headers.n_program_headers);
  for (guint i = 0; i < self->headers.n_program_headers; i++)
    {
      const LuElfProgramHeader *header = &self->headers.program_headers[i];

      if (header->type == PT_LOAD)
        self->segments[self->n_segments++] = (LuSegment){
          .vaddr = header->vaddr,
          .memory_size = header->memory_size,
          .file_offset = header->file_offset,
          .file_size = header->file_size,
          .align = header->align,
          .executable = (header->flags & PF_X) != 0,
        };
    }
}

static LuImage *
open_input (const LuElfInput *input, const LuImageOpening *opening, GError **error)
{
  g_autoptr (LuImage) self = g_new0 (LuImage, 1);
  const LuElfSectionHeader *text;

  atomic_init (&self->ref_count, 1);
  if (input->size > MAX_FILE)
    {
      g_set_error_literal (error, LU_ERROR, LU_ERROR_INVALID, _ ("the file is larger than 16 GiB"));
      return NULL;
    }
  if (!lu_elf_headers_read (&self->headers, input, error))
    return NULL;
  collect_segments (self);
  read_build_id (self, input);
  text = lu_elf_headers_find_section (&self->headers, ".text");
  self->text = text != NULL ? text->vaddr : 0;
  read_cfi (self, input, opening);
  if (self->synthetic == NULL)
    {
      g_set_error_literal (error, LU_ERROR, LU_ERROR_FAILED, _ ("not enough memory"));
      return NULL;
    }
  self->go_functions = lu_go_functions_read (&self->headers, input);
  lu_elf_headers_clear (&self->headers); /* the plain values stay */
  return g_steal_pointer (&self);
}

LuImage *
lu_image_open_as (int fd, const LuImageOpening *opening, GError **error)
{
  LuElfInput input = { .fd = fd };
  struct stat info;

  if (fstat (fd, &info) != 0)
    {
      g_set_error (error, LU_ERROR, LU_ERROR_FAILED, "fstat: %s", g_strerror (errno));
      return NULL;
    }
  if (!S_ISREG (info.st_mode))
    {
      g_set_error_literal (error, LU_ERROR, LU_ERROR_INVALID, _ ("not a regular file"));
      return NULL;
    }
  input.size = (guint64) info.st_size;
  return open_input (&input, opening, error);
}

LuImage *
lu_image_open (int fd, GError **error)
{
  const LuImageOpening whole = { 0 };

  return lu_image_open_as (fd, &whole, error);
}

LuImage *
lu_image_new_from_memory (gconstpointer bytes, gsize size, GError **error)
{
  const LuElfInput input = { .fd = -1, .bytes = bytes, .size = size };
  const LuImageOpening whole = { 0 };

  return open_input (&input, &whole, error);
}

LuImage *
lu_image_ref (LuImage *self)
{
  atomic_fetch_add_explicit (&self->ref_count, 1, memory_order_relaxed);
  return self;
}

void
lu_image_unref (LuImage *self)
{
  if (self == NULL || atomic_fetch_sub_explicit (&self->ref_count, 1, memory_order_acq_rel) != 1)
    return;
  lu_elf_headers_clear (&self->headers);
  lu_image_end_lean (self);
  if (self->guarded != self->synthetic)
    lu_synthetic_free (self->guarded);
  lu_synthetic_free (self->synthetic);
  g_clear_pointer (&self->go_functions, g_array_unref);
  g_free (self->segments);
  g_free (self);
}

LuGoPlace
lu_image_go_place (const LuImage *self, guint64 elf_address)
{
  return lu_go_functions_find (self->go_functions, elf_address);
}

const GArray *
lu_image_go_functions (const LuImage *self)
{
  return self->go_functions;
}

gboolean
lu_image_is_unshared (const LuImage *self)
{
  return atomic_load_explicit (&self->ref_count, memory_order_acquire) == 1;
}

/* Queries */

guint16
lu_image_machine (const LuImage *self)
{
  return self->headers.machine;
}

gboolean
lu_image_is_64bit (const LuImage *self)
{
  return self->headers.is_64bit;
}

gboolean
lu_image_is_position_independent (const LuImage *self)
{
  return self->headers.type == ET_DYN;
}

guint64
lu_image_entry (const LuImage *self)
{
  return self->headers.entry;
}

const LuSegment *
lu_image_segments (const LuImage *self, guint *n_segments)
{
  *n_segments = self->n_segments;
  return self->segments;
}

const guint8 *
lu_image_build_id (const LuImage *self, gsize *size)
{
  *size = self->build_id_size;
  return self->build_id_size > 0 ? self->build_id : NULL;
}

guint64
lu_image_text (const LuImage *self)
{
  return self->text;
}

/* How well a segment explains a mapping at that offset: mappings begin at whole pages, so the page
 * that a segment starts in is its own too, but another one that has the very byte goes first. */
static guint
rate_segment (const LuSegment *segment, guint64 file_offset)
{
  guint64 first_page = segment->file_offset & ~G_GUINT64_CONSTANT (4095);
  guint64 end = segment->file_offset + segment->file_size;

  if (file_offset < first_page || file_offset >= end)
    return 0;
  return 1 + (file_offset >= segment->file_offset) + 2 * (segment->executable != FALSE);
}

gboolean
lu_image_bias (const LuImage *self, guint64 start, guint64 file_offset, guint64 *bias)
{
  guint best = 0;

  for (guint i = 0; i < self->n_segments; i++)
    {
      const LuSegment *segment = &self->segments[i];
      guint rating = rate_segment (segment, file_offset);

      if (rating <= best)
        continue;
      best = rating;
      *bias = start - file_offset - (segment->vaddr - segment->file_offset);
    }
  return best > 0;
}
