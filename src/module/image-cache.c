/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* image-cache.c - see image-cache.h. */

#include "module/image-cache.h"

#include "base/clock.h"

/* Limit for droppable CFI. */
#define CFI_BYTES (8u << 20)
/* Limit for droppable CFI that was needed in the last second: two compilers without tables. */
#define USED_CFI_BYTES MIN (32u << 20, lu_images_limit () / 2)
#define SECOND_NS      G_GUINT64_CONSTANT (1000000000)

typedef struct
{
  LuImage *image;    /* owned */
  LuTableSlot *slot; /* reference; NULL: no whole tables */
  guint64 last_use;
} Kept;

struct _LuImageCache
{
  guint64 settled; /* ns */
  gsize budget, max_bytes;
  guint64 n_uses;
  GHashTable *images; /* image (borrowed from the value) -> Kept */
};

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

void
lu_image_cache_settle (LuImageCache *self)
{
  guint64 now = lu_monotonic_ns ();
  gboolean is_too_much = lu_images_cfi_bytes () > USED_CFI_BYTES;
  GHashTableIter iter;
  gpointer value;

  if (lu_images_cfi_bytes () <= CFI_BYTES || (!is_too_much && now - self->settled < SECOND_NS))
    return;
  self->settled = now;
  g_hash_table_iter_init (&iter, self->images);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      LuImage *image = ((const Kept *) value)->image;

      if (!lu_image_was_cfi_used (image) || is_too_much)
        lu_image_drop_cfi (image);
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
  self->max_bytes = lu_images_limit ();
  self->images = g_hash_table_new_full ((GHashFunc) lu_image_hash, (GEqualFunc) lu_image_is_same,
                                        NULL, kept_free);
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
