/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* interps.h - publishes where the interpreters of files have their structures, for the BPF program
 * (lu/interp.h). Publisher thread. */

#pragma once

#include "bpf/backing.h"

typedef struct
{
  LuBpfBacking *backing; /* borrowed */
  guint64 used;          /* a bit for each of LU_INTERP_MAX_FILES */
  guint last;            /* number; the next ones are taken first, so that numbers rest */
} LuBpfInterps;

/* Publishes an interpreter. Returns its number for struct lu_bpf_shared.interp_of; 0: there is no
 * room, or the program cannot read such a structure. */
guint lu_bpf_interps_add (LuBpfInterps *self, const struct lu_interp_file *interp);
/* Takes the number back; 0: none. */
void lu_bpf_interps_remove (LuBpfInterps *self, guint number);
