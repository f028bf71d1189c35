/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* image-cache.c - see image-cache.h. */

#include "module/image-cache.h"

#include "base/clock.h"

/* Of all images together: all programs of a large system have some 150 MB, a running one 20. More
 * is somebody who maps files that he has made for that. */
#define MAX_IMAGE_BYTES ((gsize) 512 << 20)

/* Of CFI that can be read again. */
#define CFI_BYTES (8u << 20)
/* Of what was needed in the last second: two compilers without tables. */
#define USED_CFI_BYTES (32u << 20)

#define SECOND_NS G_GUINT64_CONSTANT (1000000000)
/* All images are looked at for that. */
#define SETTLE_NS (SECOND_NS / 10)

typedef struct
{
  LuImage *image;    /* owned */
  LuTableSlot *slot; /* reference; NULL: no whole tables */
  guint64 last_use;
  gboolean was_cfi_used; /* lately */
} Kept;

struct _LuImageCache
{
  guint64 settled, noted; /* ns */
  gsize budget, max_bytes;
  guint64 n_uses;
  GHashTable *images; /* image (borrowed from it) -> Kept */
};

static guint
image_hash (gconstpointer image)
{
  return lu_image_hash (image);
}

static gboolean
image_equal (gconstpointer a, gconstpointer b)
{
  return lu_image_is_same (a, b);
}

static void
kept_free (gpointer data)
{
  Kept *kept = data;

  lu_image_unref (kept->image);
  lu_table_slot_unref (kept->slot);
  g_free (kept);
}

LuImage *
lu_image_cache_share (LuImageCache *self, LuImage *image_taken, LuTables *tables)
{
  g_autoptr (LuImage) image = image_taken;
  Kept *kept = g_hash_table_lookup (self->images, image);

  if (kept == NULL)
    {
      kept = g_new0 (Kept, 1);
      kept->image = lu_image_ref (image);
      if (tables != NULL)
        kept->slot = lu_tables_add (tables, image);
      g_hash_table_insert (self->images, kept->image, kept);
    }
  kept->last_use = ++self->n_uses;
  return lu_image_ref (kept->image);
}

LuTableSlot *
lu_image_cache_slot (const LuImageCache *self, const LuImage *image)
{
  const Kept *kept = g_hash_table_lookup (self->images, image);

  return kept != NULL && kept->image == image ? kept->slot : NULL;
}

void
lu_image_cache_drop_unused (LuImageCache *self)
{
  for (;;)
    {
      LuImage *oldest = NULL;
      guint64 oldest_use = G_MAXUINT64;
      gsize unused = 0;
      GHashTableIter iter;
      gpointer value;

      g_hash_table_iter_init (&iter, self->images);
      while (g_hash_table_iter_next (&iter, NULL, &value))
        {
          const Kept *kept = value;

          if (!lu_image_is_unshared (kept->image))
            continue;
          unused += lu_image_resident_bytes (kept->image);
          if (kept->last_use < oldest_use)
            {
              oldest = kept->image;
              oldest_use = kept->last_use;
            }
        }
      if (unused <= self->budget || oldest == NULL)
        return;
      g_hash_table_remove (self->images, oldest);
    }
}

/* Takes the notes of use, which hold for a second at least. */
static void
note_cfi_use (LuImageCache *self, guint64 now)
{
  gboolean is_new_second = now - self->noted >= SECOND_NS;
  GHashTableIter iter;
  gpointer value;

  if (is_new_second)
    self->noted = now;
  g_hash_table_iter_init (&iter, self->images);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      Kept *kept = value;

      kept->was_cfi_used =
          lu_image_was_cfi_used (kept->image) || (kept->was_cfi_used && !is_new_second);
    }
}

/* How much the CFI of an image would be missed. */
static guint
cfi_worth (const Kept *kept)
{
  return 2 * kept->was_cfi_used + (kept->slot == NULL || !lu_table_slot_is_enough (kept->slot));
}

/* The droppable CFI that would be missed least, but not of the file that was opened last. */
static Kept *
find_least_worth (LuImageCache *self)
{
  Kept *found = NULL;
  GHashTableIter iter;
  gpointer value;

  g_hash_table_iter_init (&iter, self->images);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      Kept *kept = value;

      if (kept->last_use == self->n_uses || !lu_image_is_cfi_droppable (kept->image))
        continue;
      if (found == NULL || cfi_worth (kept) < cfi_worth (found)
          || (cfi_worth (kept) == cfi_worth (found) && kept->last_use < found->last_use))
        found = kept;
    }
  return found;
}

/* What is in use may take more, or it would be read over and over. */
static gboolean
is_too_much (const Kept *kept)
{
  return lu_images_cfi_bytes () > (kept->was_cfi_used ? USED_CFI_BYTES : CFI_BYTES);
}

void
lu_image_cache_settle (LuImageCache *self)
{
  guint64 now = lu_monotonic_ns ();
  Kept *kept;

  if (lu_images_cfi_bytes () <= CFI_BYTES
      || (lu_images_cfi_bytes () <= USED_CFI_BYTES && now - self->settled < SETTLE_NS))
    return;
  self->settled = now;
  note_cfi_use (self, now);
  while ((kept = find_least_worth (self)) != NULL && is_too_much (kept)
         && lu_image_drop_cfi (kept->image))
    ;
}

void
lu_image_cache_age (LuImageCache *self)
{
  GHashTableIter iter;
  gpointer value;

  note_cfi_use (self, lu_monotonic_ns ());
  g_hash_table_iter_init (&iter, self->images);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      const Kept *kept = value;

      if (cfi_worth (kept) == 0)
        lu_image_drop_cfi (kept->image);
    }
}

gboolean
lu_image_cache_has_room (LuImageCache *self, const LuImage *image)
{
  gsize bytes = lu_image_resident_bytes (image);
  GHashTableIter iter;
  gpointer value;

  if (g_hash_table_contains (self->images, image))
    return TRUE;
  g_hash_table_iter_init (&iter, self->images);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    bytes += lu_image_resident_bytes (((const Kept *) value)->image);
  return bytes <= self->max_bytes;
}

LuImageCache *
lu_image_cache_new (gsize budget)
{
  LuImageCache *self = g_new0 (LuImageCache, 1);

  self->budget = budget;
  self->max_bytes = MAX_IMAGE_BYTES;
  self->images = g_hash_table_new_full (image_hash, image_equal, NULL, kept_free);
  return self;
}

void
lu_image_cache_set_limit (LuImageCache *self, gsize max_bytes)
{
  self->max_bytes = max_bytes;
}

void
lu_image_cache_free (LuImageCache *self)
{
  g_hash_table_unref (self->images);
  g_free (self);
}
