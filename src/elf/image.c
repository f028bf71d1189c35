/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* image.c - reads one ELF file into an image; see image.h.
 *
 * The order is: headers, build-id, position of the CFI, decompression, private copy, digest. The
 * guard runs when libdw first needs the image. image-cfi.c manages the private copy afterwards. */

#include "elf/file-digest.h"
#include "elf/go-cfi.h"
#include "elf/image-private.h"
#include "elf/vdso-cfi.h"

#include "base/error.h"

#include <elf.h>
#include <errno.h>
#include <glib/gi18n.h>
#include <sys/stat.h>
#include <unistd.h>

/* Larger files are refused: no linker makes them, and offsets stay far from overflow. */
#define MAX_FILE (G_GUINT64_CONSTANT (16) << 30)

/* CFI */

/* The CFI sections while a file is read. */
typedef struct
{
  const LuElfInput *input;
  LuImage *image;
  LuSyntheticSection sections[LU_N_IMAGE_CFI];
} Sections;

static void
note_section (Sections *self, guint which, LuElfPart part)
{
  lu_elf_part_clip (&part, self->input);
  if (part.size == 0)
    return;
  self->image->file_offsets[which] = part.file_offset;
  self->sections[which].size = part.size;
  self->sections[which].vaddr = part.vaddr;
  self->sections[which].is_room = TRUE;
}

static void
note_eh_frame (const LuImage *self, Sections *sections)
{
  LuElfPart table, eh_frame;

  lu_elf_find_eh_frame (&self->headers, sections->input, &table, &eh_frame);
  note_section (sections, LU_IMAGE_EH_FRAME_HDR, table);
  note_section (sections, LU_IMAGE_EH_FRAME, eh_frame);
}

static void
note_debug_frame (LuImage *self, Sections *sections)
{
  const LuElfSectionHeader *section = lu_elf_headers_find_section (&self->headers, ".debug_frame");
  LuSyntheticSection *debug_frame = &sections->sections[LU_IMAGE_DEBUG_FRAME];
  gboolean is_old = section == NULL;
  guint8 head[LU_COMPRESSED_HEAD];

  if (is_old)
    section = lu_elf_headers_find_section (&self->headers, ".zdebug_frame");
  if (section == NULL)
    return;
  note_section (sections, LU_IMAGE_DEBUG_FRAME,
                (LuElfPart){ .file_offset = section->file_offset, .size = section->size });
  if (!is_old && (section->flags & SHF_COMPRESSED) == 0)
    return;
  self->packed_size = debug_frame->size;
  self->packed_form = is_old                   ? LU_COMPRESSED_OLD
                      : self->headers.is_64bit ? LU_COMPRESSED_64BIT
                                               : LU_COMPRESSED_32BIT;
  debug_frame->size = 0;
  if (lu_elf_input_read (sections->input, section->file_offset, head, sizeof head))
    debug_frame->size = lu_decompressed_size (head, self->packed_form);
  debug_frame->is_room = debug_frame->size > 0;
}

/* Files of some architectures lack CFI for their procedure linkage table. It is added to the end of
 * .debug_frame. */
static void
note_plt (LuImage *self, Sections *sections)
{
  const LuElfSectionHeader *section = lu_elf_headers_find_section (&self->headers, ".plt");
  LuSyntheticSection *debug_frame = &sections->sections[LU_IMAGE_DEBUG_FRAME];

  if (section == NULL || debug_frame->bytes != NULL)
    return;
  lu_plt_cfi_measure (&self->plt, &self->headers, section, sections->input);
  debug_frame->size += self->plt.made_size;
  debug_frame->is_room |= self->plt.made_size > 0;
}

static void
digest_head (LuImage *self, const LuElfInput *input)
{
  guint64 head[] = { input->size, self->headers.machine, self->headers.is_64bit != FALSE,
                     self->text };

  lu_digest (head, sizeof head, self->parts[LU_PART_HEAD]);
  lu_digest (self->build_id, self->build_id_size, self->parts[LU_PART_BUILD_ID]);
  lu_digest_program_headers (&self->headers, self->parts[LU_PART_PROGRAM_HEADERS]);
  for (guint i = LU_PART_CODE; i < LU_N_PARTS; i++)
    lu_digest_bytes (NULL, 0, self->parts[i]);
}

/* Returns whether there is CFI and all of it can be read again. */
static gboolean
can_drop_cfi (const Sections *self)
{
  gsize size = 0;

  for (guint i = 0; i < LU_N_IMAGE_CFI; i++)
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
  for (guint i = 0; i < LU_N_IMAGE_CFI; i++)
    if (sections->sections[i].is_room)
      {
        self->is_part_pending[LU_PART_SECTIONS + i] = TRUE;
      }
  if (!self->may_drop_cfi)
    lu_image_read_rooms (self, sections->input);
  else
    lu_image_begin_lean (self, sections->input, opening);
}

/* Reads the table of a Go program, which makes .debug_frame needless. */
static void
note_go (LuImage *self, Sections *sections)
{
  LuSyntheticSection *debug_frame = &sections->sections[LU_IMAGE_DEBUG_FRAME];
  g_autoptr (LuGoTable) table = lu_go_table_read (&self->headers, sections->input);

  if (table == NULL)
    return;
  self->go_functions = lu_go_functions_new (table, self->headers.machine);
  lu_go_describe (table, self->headers.machine, debug_frame);
  if (debug_frame->bytes != NULL)
    lu_digest_bytes (debug_frame->bytes, debug_frame->size,
                     self->parts[LU_PART_SECTIONS + LU_IMAGE_DEBUG_FRAME]);
}

static void
read_cfi (LuImage *self, const LuElfInput *input, const LuImageOpening *opening)
{
  Sections sections = { .input = input, .image = self };

  digest_head (self, input);
  note_eh_frame (self, &sections);
  note_go (self, &sections);
  if (sections.sections[LU_IMAGE_DEBUG_FRAME].bytes == NULL)
    note_debug_frame (self, &sections);
  lu_vdso_describe (&self->headers, input, &sections.sections[LU_IMAGE_EH_FRAME],
                    &sections.sections[LU_IMAGE_DEBUG_FRAME]);
  note_plt (self, &sections);
  self->may_drop_cfi = opening->may_drop_cfi && can_drop_cfi (&sections);
  self->synthetic = lu_synthetic_new (self->headers.is_64bit, self->headers.machine,
                                      sections.sections, !self->may_drop_cfi);
  if (self->synthetic != NULL)
    fill_rooms (self, &sections, opening);
  g_free (sections.sections[LU_IMAGE_DEBUG_FRAME].bytes);
}

/* Life cycle. */

static void
collect_segments (LuImage *self)
{
  self->segments = g_new0 (LuSegment, self->headers.n_program_headers);
  for (guint i = 0; i < self->headers.n_program_headers; i++)
    {
      const LuElfProgramHeader *header = &self->headers.program_headers[i];

      self->is_program |= header->type == PT_INTERP;
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
  self->build_id_size = lu_elf_headers_read_build_id (&self->headers, input, self->build_id);
  text = lu_elf_headers_find_section (&self->headers, ".text");
  self->text = text != NULL ? text->vaddr : 0;
  read_cfi (self, input, opening);
  if (self->synthetic == NULL)
    {
      g_set_error_literal (error, LU_ERROR, LU_ERROR_FAILED, _ ("not enough memory"));
      return NULL;
    }
  lu_elf_headers_clear (&self->headers); /* Scalar values stay. */
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

LuGoFunctionKind
lu_image_go_function_kind (const LuImage *self, guint64 elf_address)
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

/* Queries. */

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

gboolean
lu_image_is_program (const LuImage *self)
{
  return self->is_program;
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

/* Rates how well a segment explains a mapping at that offset. Mappings begin at whole pages, so the
 * page in which a segment begins belongs to it too, but a segment that contains the very byte is
 * better. */
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
