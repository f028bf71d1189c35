/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* image-cache.h - images of files that were opened, one for all equal files, kept for the next
 * module that needs one, and how much memory they and their CFI may take; used by opener.c. */

#pragma once

#include "module/tables.h"

typedef struct _LuImageCache LuImageCache;

/* budget: bytes of private memory for images that no module uses any more. */
LuImageCache *lu_image_cache_new (gsize budget);
void lu_image_cache_free (LuImageCache *self);
/* Bytes that all images together may take (512 MiB if this is not called). */
void lu_image_cache_set_limit (LuImageCache *self, gsize max_bytes);

/* Whether the image of an equal file is there, or may be added. */
gboolean lu_image_cache_has_room (LuImageCache *self, const LuImage *image);
/* The image of an equal file if there is one, else this one, which then takes part in whole tables
 * unless `tables` is NULL. A new reference. */
LuImage *lu_image_cache_share (LuImageCache *self, LuImage *image_taken, LuTables *tables);
/* Of an image that is kept; borrowed. NULL: there is none. */
LuTableSlot *lu_image_cache_slot (const LuImageCache *self, const LuImage *image);

/* Drops images that no module uses, the longest unused first, until the rest is within the budget.
 */
void lu_image_cache_drop_unused (LuImageCache *self);
/* Drops CFI of which there is too much: more than 8 MiB, or 32 of what was needed in the last
 * second. */
void lu_image_cache_settle (LuImageCache *self);
/* Now and then: drops CFI that has a table and was not needed since the last time. */
void lu_image_cache_age (LuImageCache *self);
