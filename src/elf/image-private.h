/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* image-private.h - the data of an image, shared by image.c, which reads files, and image-cfi.c,
 * which manages the private copy of the CFI. */

#pragma once

#include "base/digest.h"
#include "elf/decompress.h"
#include "elf/guarded.h"
#include "elf/plt-cfi.h"

#include <stdatomic.h>
#include <stdbool.h>

#define LU_IMAGE_MAX_VIEWS 8

/* The identity of the file is the digest of the digests of these parts. */
enum
{
  LU_PART_HEAD,
  LU_PART_BUILD_ID,
  LU_PART_PROGRAM_HEADERS,
  LU_PART_CODE, /* lu_image_digest_code() */
  LU_PART_SECTIONS,
  LU_N_PARTS = LU_PART_SECTIONS + LU_N_IMAGE_CFI
};

struct _LuImage
{
  atomic_int ref_count;
  LuElfHeaders headers; /* section headers are dropped after open */
  LuSegment *segments;
  guint n_segments;
  gboolean is_program;
  guint8 build_id[LU_MAX_BUILD_ID];
  gsize build_id_size;
  guint64 text;
  GArray *go_functions; /* array of LuGoFunction; NULL: not a Go program */

  LuSynthetic *synthetic;
  guint64 file_offsets[LU_N_IMAGE_CFI]; /* of sections that are read from the file */
  gsize packed_size;                    /* of .debug_frame in the file; 0: it is there as it is */
  LuCompressedForm packed_form;
  LuPltCfi plt;          /* what the end of .debug_frame is made of */
  gboolean may_drop_cfi; /* the CFI may be dropped and read again */
  atomic_int cfi_users;  /* number of holders, or a negative state: */
#define LU_CFI_ABSENT (-1)
#define LU_CFI_BUSY   (-2)    /* a thread drops it or reads it */
  atomic_bool is_cfi_used;    /* since the last query */
  _Atomic (gsize) more_bytes; /* bytes of `guarded` */

  guint8 digest[LU_DIGEST_SIZE]; /* digest of `parts` */
  guint8 parts[LU_N_PARTS][LU_DIGEST_SIZE];
  gboolean is_digested;
  gboolean lacks_eh_frame; /* it could not be read */
  gboolean
      is_part_pending[LU_N_PARTS]; /* sections whose copy equals the file and has no digest yet */

  LuSynthetic *guarded; /* for libdw: NULL until needed; the same as the raw one if the guard
                           changed nothing */
  gboolean is_guarded;
  LuGuardCounts guard_counts;
  guint64 views[LU_IMAGE_MAX_VIEWS];
  guint n_views;
};

/* Reads the sections from the file. A section that cannot be read is left out. */
void lu_image_read_rooms (LuImage *self, const LuElfInput *input);
/* Digests the sections, and reads them if they are to be kept. */
void lu_image_begin_lean (LuImage *self, const LuElfInput *input, const LuImageOpening *opening);
void lu_image_end_lean (LuImage *self);
