/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* samples.h - a file of recorded samples with everything that is needed to unwind them.
 *
 * Written by make.c, read by replay.c (and walk.py, which shares no code with it). A gzip file of
 * lines; a line that announces bytes is followed by them and a newline:
 *
 * live-unwinder samples 1
 *
 * command TEXT: how it was recorded
 *
 * module KIND BYTES PATH: KIND is file, vdso, vsyscall or anonymous; an ELF file (reduce.h), 0
 * bytes if there is none
 *
 * call MODULE FILE-OFFSET KIND: the code before a return address, enum LuCallKind
 *
 * space N, then N lines START END FILE-OFFSET MODULE: executable mappings, by address
 *
 * sample SPACE CPUMODE ASKED MASK BYTES WORD...: registers, and the stack from the stack pointer up
 *
 * Numbers are hexadecimal; modules and spaces are counted from 0. */

#pragma once

#include "lu/sample.h"
#include "lu/stack.h"
#include "process/address-space.h"
#include "arch/arch.h"

typedef struct
{
  LuModuleKind kind;
  char *path;       /* owned */
  GBytes *image;    /* owned; NULL: none */
  LuModule *module; /* owned */
} RecordedModule;

typedef struct
{
  LuSample sample; /* its words and stack are owned */
  guint space;
} RecordedSample;

typedef struct
{
  char *command;     /* owned */
  GArray *modules;   /* of RecordedModule */
  GPtrArray *spaces; /* of LuAddressSpace, owned */
  GArray *samples;   /* of RecordedSample */
} Recorded;

Recorded *recorded_new (void);
void recorded_free (Recorded *self);

Recorded *recorded_read (const char *path, GError **error);
gboolean recorded_write (const Recorded *self, const char *path, GError **error);

/* Prints the frames of a stack on one line: MODULE:ADDRESS of each, leaf first, ELF addresses as
 * the walk found them; '!' after an exact pc, '~' after an inferred one, '?' as the module of an
 * address in no mapping. Owned. */
char *recorded_stack_to_text (const Recorded *self, guint space, const LuStack *stack);

/* The text of a .stacks file: the command, the modules by number, and the stack of each sample as
 * the dwfl engine finds it, or the table engine where libdw cannot follow a rule. Owned. */
GString *recorded_expectations (const Recorded *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Recorded, recorded_free)
