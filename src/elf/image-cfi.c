/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* image-cfi.c - the private copy of an image's CFI: who reads it, its digest, and how it goes and
 * comes back; see image.h.
 *
 * One word says whether the bytes are there and how many hold them. Who drops or reads them makes
 * it BUSY first, which works only if nobody holds them, so no one ever waits for a reader, and a
 * reader finds either all bytes or none. The addresses stay reserved: what points there is good
 * again when the bytes are, and they are only taken back if their digests are the old ones. */

#include "elf/image-private.h"

#include <string.h>
#include <unistd.h>

/* Sections are digested by such pieces, and then the digests of them: a file that is only looked at
 * needs no more memory than one. */
#define PIECE (64u << 10)

/* Of all lean images. */
static _Atomic (gsize) bytes_present;

/* Digests */

static void
digest_digests (GByteArray *digests, guint8 digest[LU_DIGEST_SIZE])
{
  lu_digest (digests->data, digests->len, digest);
}

void
lu_image_digest_section (const guint8 *bytes, gsize size, guint8 digest[LU_DIGEST_SIZE])
{
  g_autoptr (GByteArray) digests = g_byte_array_new ();
  guint8 piece[LU_DIGEST_SIZE];

  for (gsize at = 0; at < size; at += PIECE)
    {
      lu_digest (bytes + at, MIN (size - at, PIECE), piece);
      g_byte_array_append (digests, piece, sizeof piece);
    }
  digest_digests (digests, digest);
}

/* FALSE: the file has become shorter. */
static gboolean
digest_in_file (const LuElfInput *input, guint64 offset, gsize size, guint8 digest[LU_DIGEST_SIZE])
{
  g_autoptr (GByteArray) digests = g_byte_array_new ();
  g_autofree guint8 *bytes = g_malloc (PIECE);
  guint8 piece[LU_DIGEST_SIZE];

  for (gsize at = 0; at < size; at += PIECE)
    {
      gsize n = MIN (size - at, PIECE);

      if (!lu_elf_input_read (input, offset + at, bytes, n))
        return FALSE;
      lu_digest (bytes, n, piece);
      g_byte_array_append (digests, piece, sizeof piece);
    }
  digest_digests (digests, digest);
  return TRUE;
}

static void
digest_room (LuImage *self, guint section, guint8 digest[LU_DIGEST_SIZE])
{
  gsize size;
  const guint8 *bytes = lu_synthetic_room (self->synthetic, section, &size);

  lu_image_digest_section (bytes, size, digest);
}

static void
complete_digest (LuImage *self)
{
  for (guint i = 0; i < LU_N_SYNTHETIC_SECTIONS; i++)
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
lu_image_section_digests (const LuImage *self, LuImageSections *digests)
{
  memcpy (digests->bytes, self->parts[LU_PART_SECTIONS], sizeof digests->bytes);
  return self->is_lean;
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

/* Coming and going */

static void
drop_section (LuImage *self, guint section)
{
  lu_synthetic_drop (self->synthetic, section);
  self->is_part_pending[LU_PART_SECTIONS + section] = FALSE;
}

void
lu_image_read_rooms (LuImage *self, const LuElfInput *input)
{
  for (guint i = 0; i < LU_N_SYNTHETIC_SECTIONS; i++)
    {
      gsize size;
      guint8 *room = lu_synthetic_room (self->synthetic, i, &size);

      if (self->is_part_pending[LU_PART_SECTIONS + i]
          && !lu_elf_input_read (input, self->file_offsets[i], room, size))
        drop_section (self, i);
    }
}

static void
digest_rooms (LuImage *self, const LuElfInput *input)
{
  for (guint i = 0; i < LU_N_SYNTHETIC_SECTIONS; i++)
    {
      gsize size;

      lu_synthetic_room (self->synthetic, i, &size);
      if (self->is_part_pending[LU_PART_SECTIONS + i]
          && !digest_in_file (input, self->file_offsets[i], size,
                              self->parts[LU_PART_SECTIONS + i]))
        drop_section (self, i);
    }
}

static void
take_digests (LuImage *self, const LuImageSections *known)
{
  memcpy (self->parts[LU_PART_SECTIONS], known->bytes, sizeof known->bytes);
  lu_digest (self->parts, sizeof self->parts, self->digest);
  self->is_digested = TRUE;
}

static void
come (LuImage *self)
{
  atomic_fetch_add_explicit (&bytes_present, lu_synthetic_size (self->synthetic),
                             memory_order_relaxed);
  atomic_store (&self->is_cfi_used, true);
  atomic_store (&self->cfi_users, 0);
}

void
lu_image_begin_lean (LuImage *self, const LuElfInput *input, const LuImageOpening *opening)
{
  atomic_init (&self->cfi_users, LU_CFI_ABSENT);
  if (opening->known != NULL)
    take_digests (self, opening->known);
  else if (lu_synthetic_size (self->synthetic) <= opening->keep_up_to)
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
  if (self->is_lean && atomic_load (&self->cfi_users) != LU_CFI_ABSENT)
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

  if (!self->is_lean || !atomic_compare_exchange_strong (&self->cfi_users, &nobody, LU_CFI_BUSY))
    return FALSE;
  lu_synthetic_empty (self->synthetic);
  atomic_fetch_sub_explicit (&bytes_present, lu_synthetic_size (self->synthetic),
                             memory_order_relaxed);
  atomic_store (&self->cfi_users, LU_CFI_ABSENT);
  return TRUE;
}

/* FALSE: some byte is not what it was. */
static gboolean
read_again (LuImage *self, const LuElfInput *input)
{
  guint8 digest[LU_DIGEST_SIZE];

  lu_synthetic_populate (self->synthetic);
  for (guint i = 0; i < LU_N_SYNTHETIC_SECTIONS; i++)
    {
      gsize size;
      guint8 *room = lu_synthetic_room (self->synthetic, i, &size);

      if (size == 0)
        continue;
      if (!lu_elf_input_read (input, self->file_offsets[i], room, size))
        return FALSE;
      lu_image_digest_section (room, size, digest);
      if (memcmp (digest, self->parts[LU_PART_SECTIONS + i], sizeof digest) != 0)
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
      /* Somebody who drops it is done in a moment. */
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
lu_image_was_cfi_used (LuImage *self)
{
  return atomic_exchange_explicit (&self->is_cfi_used, false, memory_order_relaxed);
}

gboolean
lu_image_is_cfi_droppable (const LuImage *self)
{
  return self->is_lean && atomic_load_explicit (&self->cfi_users, memory_order_relaxed) == 0;
}

gsize
lu_images_cfi_bytes (void)
{
  return atomic_load_explicit (&bytes_present, memory_order_relaxed);
}

/* Queries */

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
  static const guint sections[] = {
    [LU_IMAGE_EH_FRAME_HDR] = LU_SYNTHETIC_EH_FRAME_HDR,
    [LU_IMAGE_EH_FRAME] = LU_SYNTHETIC_EH_FRAME,
    [LU_IMAGE_DEBUG_FRAME] = LU_SYNTHETIC_DEBUG_FRAME,
  };

  return lu_synthetic_section (self->synthetic, sections[which], size, vaddr);
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

/* For libdw */

static void
guard (LuImage *self)
{
  if (self->is_guarded || !lu_image_hold_cfi (self))
    return;
  self->is_guarded = TRUE;
  self->guarded = lu_guarded_new (self->synthetic, &self->guard_counts);
  if (self->guarded != NULL && self->guarded != self->synthetic)
    atomic_store_explicit (&self->more_bytes, lu_synthetic_size (self->guarded),
                           memory_order_relaxed);
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
