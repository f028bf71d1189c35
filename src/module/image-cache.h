/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* image-cache.h - one image for all equal files, kept for the next module that needs it, within
 * limits for images and for their CFI; used by opener.c. */

#pragma once

#include "module/tables.h"

typedef struct _LuImageCache LuImageCache;

/* budget: bytes of private memory for images that no module uses any more. */
LuImageCache *lu_image_cache_new (gsize budget);
void lu_image_cache_free (LuImageCache *self);
/* Sets the limit for all images together in bytes (lu_images_limit() by default). */
void lu_image_cache_set_limit (LuImageCache *self, gsize max_bytes);

/* Returns whether the image of an equal file exists, or this one may be added. */
gboolean lu_image_cache_has_room (LuImageCache *self, const LuImage *image);
/* Returns a new reference to the image of an equal file, or to this one, which then gets a slot in
 * `tables` (unless NULL). */
LuImage *lu_image_cache_share (LuImageCache *self, LuImage *image_taken, LuTables *tables);
/* Returns the slot of an image in the cache, borrowed, or NULL. */
LuTableSlot *lu_image_cache_slot (const LuImageCache *self, const LuImage *image);

/* Drops images that no module uses, the longest unused first, until the rest fits the budget. */
void lu_image_cache_drop_unused (LuImageCache *self);
/* Drops CFI beyond 8 MiB that was not needed in the last second, and all beyond 32 MiB. */
void lu_image_cache_settle (LuImageCache *self);
