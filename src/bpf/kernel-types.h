/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* kernel-types.h - where a few fields are in the kernel's structures, cut out of the description of
 * all its types (BTF, /sys/kernel/btf/vmlinux).
 *
 * Used by program.c: libbpf would read all of it, some 130,000 types, to find ten fields. What is
 * cut out is BTF again, with just these structures and members. Where that cannot be made (a
 * member of a kind that is not known here), libbpf can still read the whole. The bytes are the
 * kernel's own, but are taken to be anything. */

#pragma once

#include <glib.h>

#define LU_KERNEL_STRUCT_MEMBERS 8

/* A structure and members of it, up to the first NULL. Members are numbers, pointers, structures
 * that are wanted themselves, or arrays of these. */
typedef struct
{
  const char *name;
  const char *members[LU_KERNEL_STRUCT_MEMBERS];
} LuKernelStruct;

/* Cuts these out of BTF of the host's byte order. Of structures of one name the first one with all
 * the members counts. NULL: something is missing or damaged. */
GByteArray *lu_kernel_types_cut (gconstpointer bytes, gsize size, const LuKernelStruct *wanted,
                                 guint n_wanted);

/* The same of the running kernel, in a file without a name. Owned; -1: it cannot be had. */
int lu_kernel_types_open (const LuKernelStruct *wanted, guint n_wanted);
