/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* image-private.h - what an image is made of; for image.c, which reads files, and image-cfi.c,
 * which looks after the private copy of the CFI. */

#pragma once

#include "elf/image.h"

#include "base/digest.h"
#include "elf/guarded.h"
#include "elf/headers.h"
#include "elf/synthetic.h"

#include <stdatomic.h>
#include <stdbool.h>

#define LU_IMAGE_MAX_BUILD_ID 64
#define LU_IMAGE_MAX_VIEWS    8

/* What identifies the file: the digest of the digests of its parts. */
enum
{
  LU_PART_HEAD,
  LU_PART_BUILD_ID,
  LU_PART_PROGRAM_HEADERS,
  LU_PART_SECTIONS,
  LU_N_PARTS = LU_PART_SECTIONS + LU_N_SYNTHETIC_SECTIONS
};

struct _LuImage
{
  atomic_int ref_count;
  LuElfHeaders headers; /* sections are dropped after open */
  LuSegment *segments;
  guint n_segments;
  guint8 build_id[LU_IMAGE_MAX_BUILD_ID];
  gsize build_id_size;
  guint64 text;
  GArray *go_functions; /* of LuGoFunction; NULL: not a Go program */

  LuSynthetic *synthetic;
  guint64 file_offsets[LU_N_SYNTHETIC_SECTIONS]; /* of the sections that are as in the file */
  gboolean is_lean;                              /* the CFI may go, and come back */
  atomic_int cfi_users;                          /* that hold it; or: */
#define LU_CFI_ABSENT (-1)
#define LU_CFI_BUSY   (-2)    /* somebody drops it or reads it */
  atomic_bool is_cfi_used;    /* since somebody asked */
  _Atomic (gsize) more_bytes; /* of `guarded` */

  guint8 digest[LU_DIGEST_SIZE]; /* of `parts` */
  guint8 parts[LU_N_PARTS][LU_DIGEST_SIZE];
  gboolean is_digested;
  gboolean
      is_part_pending[LU_N_PARTS]; /* of sections that are in the private copy as in the file */

  LuSynthetic *guarded; /* for libdw: NULL until needed, and the same one if the guard has nothing
                         * against it */
  gboolean is_guarded;
  LuGuardCounts guard_counts;
  guint64 views[LU_IMAGE_MAX_VIEWS];
  guint n_views;
};

/* Of one section, in memory. */
void lu_image_digest_section (const guint8 *bytes, gsize size, guint8 digest[LU_DIGEST_SIZE]);
/* Reads what sections are as in the file to where they stay; one that cannot be read is not there.
 */
void lu_image_read_rooms (LuImage *self, const LuElfInput *input);
/* Digests the sections, and reads them if they are to be kept. */
void lu_image_begin_lean (LuImage *self, const LuElfInput *input, const LuImageOpening *opening);
void lu_image_end_lean (LuImage *self);
