/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* image-cfi.c - the private copy of an image's CFI: its users, its digest, dropping it and reading
 * it again; see image.h.
 *
 * One word says whether the bytes are in memory and how many users hold them. A thread that drops
 * or reads them sets it to BUSY first, which succeeds only while no thread holds them. So no thread
 * waits for a reader, and a reader finds either all bytes or none. The addresses stay reserved, and
 * the bytes are only read again if their digests have not changed, so pointers into them are valid
 * again afterwards. */

#include "elf/image-private.h"

/* For all images with droppable CFI together. */
static _Atomic (gsize) bytes_present;
/* Limit for CFI that the guard had to change, of all images together. No file of a compiler needs
 * any; hostile files beyond it have none that libdw may see. */
#define MAX_GUARDED_BYTES (12u << 20)
static _Atomic (gsize) bytes_guarded;
static gint is_cancelled; /* atomic */
/* All programs of a large system have some 150 MB, the running ones 20. */
static gsize limit = (gsize) 512 << 20;

void
lu_images_set_limit (gsize bytes)
{
  limit = bytes;
}

gsize
lu_images_limit (void)
{
  return limit;
}

void
lu_images_cancel_reading (void)
{
  g_atomic_int_set (&is_cancelled, TRUE);
}

/* Digests. */

static gboolean
may_read (gsize size, gpointer user_data)
{
  return !g_atomic_int_get (&is_cancelled);
}

static void
digest_room (LuImage *self, guint section, guint8 digest[LU_DIGEST_SIZE])
{
  gsize size;
  const guint8 *bytes = lu_synthetic_room (self->synthetic, section, &size);

  lu_digest_bytes (bytes, size, digest);
}

static void
complete_digest (LuImage *self)
{
  for (guint i = 0; i < LU_N_IMAGE_CFI; i++)
    if (self->is_part_pending[LU_PART_SECTIONS + i])
      digest_room (self, i, self->parts[LU_PART_SECTIONS + i]);
  lu_digest (self->parts, sizeof self->parts, self->digest);
  self->is_digested = TRUE;
}

const guint8 *
lu_image_digest (const LuImage *self, gsize *size)
{
  if (!self->is_digested)
    complete_digest ((LuImage *) self);
  *size = sizeof self->digest;
  return self->digest;
}

gboolean
lu_image_file_digest (const LuImage *self, guint8 digest[LU_FILE_DIGEST_SIZE])
{
  gsize size;

  if (self->lacks_eh_frame)
    return FALSE;
  lu_image_digest (self, &size);
  lu_file_digest_join (&self->headers, self->parts[LU_PART_PROGRAM_HEADERS],
                       self->parts[LU_PART_SECTIONS + LU_IMAGE_EH_FRAME], digest);
  return TRUE;
}

guint
lu_image_hash (const LuImage *self)
{
  guint hashes[2];

  memcpy (&hashes[0], self->parts[LU_PART_BUILD_ID], sizeof hashes[0]);
  memcpy (&hashes[1], self->parts[LU_PART_HEAD], sizeof hashes[1]);
  return hashes[0] ^ hashes[1];
}

gboolean
lu_image_is_same (const LuImage *self, const LuImage *other)
{
  gsize size;

  if (self == other)
    return TRUE;
  if (memcmp (self->parts, other->parts, LU_PART_SECTIONS * sizeof *self->parts) != 0)
    return FALSE;
  return memcmp (lu_image_digest (self, &size), lu_image_digest (other, &size), LU_DIGEST_SIZE)
         == 0;
}

/* Dropping and reading again. */

static void
drop_section (LuImage *self, guint section)
{
  lu_synthetic_drop (self->synthetic, section);
  self->is_part_pending[LU_PART_SECTIONS + section] = FALSE;
  self->lacks_eh_frame |= section == LU_IMAGE_EH_FRAME;
}

static gboolean
is_packed (const LuImage *self, guint section)
{
  return section == LU_IMAGE_DEBUG_FRAME && self->packed_size > 0;
}

/* Returns the bytes at the end of a section that are made of the procedure linkage table. */
static gsize
made_size (const LuImage *self, guint section)
{
  return section == LU_IMAGE_DEBUG_FRAME ? self->plt.made_size : 0;
}

/* Returns the bytes before them, which are of the file. */
static gsize
own_size (const LuImage *self, guint section)
{
  gsize size;

  lu_synthetic_room (self->synthetic, section, &size);
  return size - MIN (size, made_size (self, section));
}

/* Makes `digest` one of two parts. is_second: it is that of the first one; otherwise there is none.
 */
static void
join_digests (guint8 digest[LU_DIGEST_SIZE], const guint8 part[LU_DIGEST_SIZE], gboolean is_second)
{
  guint8 both[2 * LU_DIGEST_SIZE];

  memcpy (both, digest, LU_DIGEST_SIZE);
  memcpy (both + LU_DIGEST_SIZE, part, LU_DIGEST_SIZE);
  if (is_second)
    lu_digest_bytes (both, sizeof both, digest);
  else
    memcpy (digest, part, LU_DIGEST_SIZE);
}

/* From good to bad. */
typedef enum
{
  SECTION_READ,
  SECTION_DAMAGED, /* it cannot be decompressed */
  SECTION_ABSENT,  /* the file is too short, or reading was cancelled */
} SectionResult;

/* Reads a section of the file, decompressed; digest: of its bytes in the file, NULL if not wanted.
 */
static SectionResult
read_from_file (LuImage *self, const LuElfInput *input, guint section, guint8 *digest)
{
  gsize room_size, size = own_size (self, section);
  guint8 *room = lu_synthetic_room (self->synthetic, section, &room_size), *bytes = room;
  g_autofree guint8 *packed = NULL;
  LuCursor cursor;

  if (is_packed (self, section))
    {
      size = self->packed_size;
      bytes = packed = g_try_malloc (size);
    }
  if (bytes == NULL || g_atomic_int_get (&is_cancelled)
      || !lu_elf_input_read (input, self->file_offsets[section], bytes, size))
    return SECTION_ABSENT;
  if (digest != NULL)
    lu_digest_bytes (bytes, size, digest);
  if (packed == NULL)
    return SECTION_READ;
  lu_cursor_init (&cursor, packed, size);
  if (lu_decompress (cursor, self->packed_form, room, own_size (self, section), &is_cancelled))
    return SECTION_READ;
  return g_atomic_int_get (&is_cancelled) ? SECTION_ABSENT : SECTION_DAMAGED;
}

/* Reads the procedure linkage table and describes it; adds its digest to that of the section before
 * it. */
static SectionResult
read_plt (LuImage *self, const LuElfInput *input, guint section, guint8 *digest)
{
  gsize offset = own_size (self, section), size;
  guint8 *room = lu_synthetic_room (self->synthetic, section, &size);
  g_autofree guint8 *bytes = g_try_malloc (self->plt.size);
  guint8 own[LU_DIGEST_SIZE];

  if (bytes == NULL || g_atomic_int_get (&is_cancelled)
      || !lu_elf_input_read (input, self->plt.file_offset, bytes, self->plt.size))
    return SECTION_ABSENT;
  lu_digest_bytes (bytes, self->plt.size, own);
  if (digest != NULL)
    join_digests (digest, own, offset > 0);
  return lu_plt_cfi_write (&self->plt, &self->headers, bytes, room + offset, offset)
             ? SECTION_READ
             : SECTION_DAMAGED;
}

/* Reads a section as it is in memory; digest: of what it is made of, NULL if not wanted. */
static SectionResult
read_section (LuImage *self, const LuElfInput *input, guint section, guint8 *digest)
{
  SectionResult result = SECTION_READ;

  if (own_size (self, section) > 0)
    result = read_from_file (self, input, section, digest);
  if (result != SECTION_ABSENT && made_size (self, section) > 0)
    result = MAX (result, read_plt (self, input, section, digest));
  return result;
}

void
lu_image_read_rooms (LuImage *self, const LuElfInput *input)
{
  for (guint i = 0; i < LU_N_IMAGE_CFI; i++)
    {
      guint part = LU_PART_SECTIONS + i;
      gboolean differs = is_packed (self, i) || made_size (self, i) > 0;
      guint8 *digest = differs ? self->parts[part] : NULL;

      if (!self->is_part_pending[part])
        continue;
      if (read_section (self, input, i, digest) != SECTION_READ)
        drop_section (self, i);
      self->is_part_pending[part] &= digest == NULL;
    }
}

/* Digests what a section is made of, as read_section() does. */
static gboolean
digest_room_of (LuImage *self, const LuElfInput *input, guint section)
{
  guint8 *digest = self->parts[LU_PART_SECTIONS + section], own[LU_DIGEST_SIZE];
  gsize size = own_size (self, section);
  const LuElfPart part = { .file_offset = self->file_offsets[section],
                           .size = is_packed (self, section) ? self->packed_size : size };
  const LuElfPart plt = { .file_offset = self->plt.file_offset, .size = self->plt.size };

  if (size > 0 && !lu_digest_part (input, &part, may_read, NULL, digest))
    return FALSE;
  if (made_size (self, section) == 0)
    return TRUE;
  if (!lu_digest_part (input, &plt, may_read, NULL, own))
    return FALSE;
  join_digests (digest, own, size > 0);
  return TRUE;
}

static void
digest_rooms (LuImage *self, const LuElfInput *input)
{
  for (guint i = 0; i < LU_N_IMAGE_CFI; i++)
    if (self->is_part_pending[LU_PART_SECTIONS + i] && !digest_room_of (self, input, i))
      drop_section (self, i);
}

static void
come (LuImage *self)
{
  atomic_fetch_add_explicit (&bytes_present, lu_synthetic_size (self->synthetic),
                             memory_order_relaxed);
  atomic_store (&self->is_cfi_used, true);
  atomic_store (&self->cfi_users, 0);
}

/* Adds the digests of what the file loads, or of its code only. */
static gboolean
digest_segments (const LuImage *self, int fd, gboolean is_code_only, GByteArray *digests)
{
  const LuElfInput input = { .fd = fd, .size = G_MAXINT64 }; /* reading ends at the end anyway */
  guint8 digest[LU_DIGEST_SIZE];

  for (guint i = 0; i < self->n_segments; i++)
    {
      const LuSegment *segment = &self->segments[i];
      const LuElfPart part = { .file_offset = segment->file_offset, .size = segment->file_size };

      if (is_code_only && !segment->executable)
        continue;
      if (!lu_digest_part (&input, &part, may_read, NULL, digest))
        return FALSE;
      g_byte_array_append (digests, digest, sizeof digest);
    }
  return TRUE;
}

gboolean
lu_image_digest_code (LuImage *self, int fd)
{
  g_autoptr (GByteArray) digests = g_byte_array_new ();

  if (!digest_segments (self, fd, TRUE, digests))
    return FALSE;
  lu_digest (digests->data, digests->len, self->parts[LU_PART_CODE]);
  if (self->is_digested)
    lu_digest (self->parts, sizeof self->parts, self->digest);
  return TRUE;
}

gboolean
lu_image_digest_loaded (const LuImage *self, int fd, guint8 digest[LU_DIGEST_SIZE])
{
  g_autoptr (GByteArray) digests = g_byte_array_new ();
  gsize size;
  const guint8 *own = lu_image_digest (self, &size);

  g_byte_array_append (digests, own, (guint) size);
  if (!digest_segments (self, fd, FALSE, digests))
    return FALSE;
  lu_digest (digests->data, digests->len, digest);
  return TRUE;
}

void
lu_image_begin_lean (LuImage *self, const LuElfInput *input, const LuImageOpening *opening)
{
  atomic_init (&self->cfi_users, LU_CFI_ABSENT);
  if (opening->ignores_cfi)
    return;
  if (lu_synthetic_size (self->synthetic) <= opening->keep_up_to && !lu_image_is_compressed (self))
    {
      lu_synthetic_populate (self->synthetic);
      lu_image_read_rooms (self, input);
      complete_digest (self);
      come (self);
    }
  else
    {
      digest_rooms (self, input);
      lu_digest (self->parts, sizeof self->parts, self->digest);
      self->is_digested = TRUE;
    }
}

void
lu_image_end_lean (LuImage *self)
{
  atomic_fetch_sub_explicit (&bytes_guarded, self->more_bytes, memory_order_relaxed);
  if (self->may_drop_cfi && atomic_load (&self->cfi_users) != LU_CFI_ABSENT)
    atomic_fetch_sub_explicit (&bytes_present, lu_synthetic_size (self->synthetic),
                               memory_order_relaxed);
}

gboolean
lu_image_hold_cfi (LuImage *self)
{
  int users = atomic_load_explicit (&self->cfi_users, memory_order_relaxed);

  while (users >= 0)
    if (atomic_compare_exchange_weak (&self->cfi_users, &users, users + 1))
      {
        atomic_store_explicit (&self->is_cfi_used, true, memory_order_relaxed);
        return TRUE;
      }
  return FALSE;
}

void
lu_image_release_cfi (LuImage *self)
{
  atomic_fetch_sub (&self->cfi_users, 1);
}

gboolean
lu_image_drop_cfi (LuImage *self)
{
  int nobody = 0;

  if (!self->may_drop_cfi
      || !atomic_compare_exchange_strong (&self->cfi_users, &nobody, LU_CFI_BUSY))
    return FALSE;
  lu_synthetic_empty (self->synthetic);
  atomic_fetch_sub_explicit (&bytes_present, lu_synthetic_size (self->synthetic),
                             memory_order_relaxed);
  atomic_store (&self->cfi_users, LU_CFI_ABSENT);
  return TRUE;
}

/* Returns FALSE if any byte has changed. */
static gboolean
read_again (LuImage *self, const LuElfInput *input)
{
  guint8 digest[LU_DIGEST_SIZE];

  lu_synthetic_populate (self->synthetic);
  for (guint i = 0; i < LU_N_IMAGE_CFI; i++)
    {
      gsize size;

      lu_synthetic_room (self->synthetic, i, &size);
      /* A damaged section stays as far as it could be decompressed. */
      if (size > 0
          && (read_section (self, input, i, digest) == SECTION_ABSENT
              || memcmp (digest, self->parts[LU_PART_SECTIONS + i], sizeof digest) != 0))
        return FALSE;
    }
  return TRUE;
}

gboolean
lu_image_refill_cfi (LuImage *self, int fd)
{
  LuElfInput input = { .fd = fd, .size = G_MAXINT64 };
  int state = LU_CFI_ABSENT;

  while (!atomic_compare_exchange_weak (&self->cfi_users, &state, LU_CFI_BUSY))
    {
      if (state >= 0)
        return TRUE;
      /* A thread that drops the CFI needs only a moment. */
      if (state == LU_CFI_BUSY)
        g_thread_yield ();
      state = LU_CFI_ABSENT;
    }
  if (read_again (self, &input))
    {
      come (self);
      return TRUE;
    }
  lu_synthetic_empty (self->synthetic);
  atomic_store (&self->cfi_users, LU_CFI_ABSENT);
  return FALSE;
}

gboolean
lu_image_is_compressed (const LuImage *self)
{
  return self->packed_size > 0;
}

gboolean
lu_image_was_cfi_used (LuImage *self)
{
  return atomic_exchange_explicit (&self->is_cfi_used, false, memory_order_relaxed);
}

gsize
lu_images_cfi_bytes (void)
{
  return atomic_load_explicit (&bytes_present, memory_order_relaxed);
}

/* Queries. */

gsize
lu_image_resident_bytes (const LuImage *self)
{
  gsize bytes = sizeof *self + self->n_segments * sizeof *self->segments;

  if (atomic_load_explicit (&self->cfi_users, memory_order_relaxed) != LU_CFI_ABSENT)
    bytes += lu_synthetic_size (self->synthetic);
  return bytes + atomic_load_explicit (&self->more_bytes, memory_order_relaxed);
}

const guint8 *
lu_image_cfi (const LuImage *self, LuImageCfi which, gsize *size, guint64 *vaddr)
{
  return lu_synthetic_section (self->synthetic, which, size, vaddr);
}

gsize
lu_image_cfi_size (const LuImage *self)
{
  gsize size, debug_size;
  guint64 vaddr;

  lu_image_cfi (self, LU_IMAGE_EH_FRAME, &size, &vaddr);
  lu_image_cfi (self, LU_IMAGE_DEBUG_FRAME, &debug_size, &vaddr);
  return size + debug_size;
}

/* For libdw. */

static void
guard (LuImage *self)
{
  if (self->is_guarded
      || atomic_load_explicit (&bytes_guarded, memory_order_relaxed) >= MAX_GUARDED_BYTES
      || !lu_image_hold_cfi (self))
    return;
  self->is_guarded = TRUE;
  self->guarded = lu_guarded_new (self->synthetic, &self->guard_counts);
  if (self->guarded != NULL && self->guarded != self->synthetic)
    {
      atomic_store_explicit (&self->more_bytes, lu_synthetic_size (self->guarded),
                             memory_order_relaxed);
      atomic_fetch_add_explicit (&bytes_guarded, self->more_bytes, memory_order_relaxed);
    }
  lu_image_release_cfi (self);
}

guint
lu_image_n_unsorted_fdes (LuImage *self)
{
  return self->guard_counts.n_unsorted;
}

guint
lu_image_n_refused_fdes (LuImage *self)
{
  return self->guard_counts.n_refused;
}

gboolean
lu_image_has_view (LuImage *self, guint64 vaddr)
{
  for (guint i = 0; i < self->n_views; i++)
    if (self->views[i] == vaddr)
      return TRUE;
  if (self->n_views == LU_IMAGE_MAX_VIEWS)
    return FALSE;
  self->views[self->n_views++] = vaddr;
  return TRUE;
}

Elf *
lu_image_elf (LuImage *self, guint64 vaddr)
{
  guard (self);
  return self->guarded != NULL && lu_image_has_view (self, vaddr)
             ? lu_synthetic_elf (self->guarded, vaddr)
             : NULL;
}
