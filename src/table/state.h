/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* state.h - what call frame instructions say at one place: the CFA and the registers we follow.
 *
 * The machine of opcodes.c changes it, rule.c makes a rule of it. Registers that we do not follow
 * share one slot that nobody reads. */

#pragma once

#include <glib.h>

/* The highest DWARF number in use: x86-64 ends at 125, aarch64 at 127. */
#define LU_CFA_MAX_REGISTER 128

typedef enum
{
  LU_PLACE_UNSPECIFIED, /* no instruction named it */
  LU_PLACE_UNDEFINED,
  LU_PLACE_SAME,
  LU_PLACE_REGISTER,      /* the value of `reg` */
  LU_PLACE_AT_CFA,        /* *(cfa + offset) */
  LU_PLACE_CFA_PLUS,      /* cfa + offset */
  LU_PLACE_AT_REGISTER,   /* *(reg + offset) */
  LU_PLACE_REGISTER_PLUS, /* reg + offset */
  LU_PLACE_REGISTER_ONLY, /* reg + something that was not said */
  LU_PLACE_DEREF_PLUS,    /* *(reg + offset) + extra */
  LU_PLACE_PLT,           /* sp + offset + ((pc & 15) >= extra ? 8 : 0) */
  LU_PLACE_OTHER,         /* an expression that is none of these */
} LuPlaceKind;

typedef struct
{
  guint32 kind; /* LuPlaceKind */
  guint32 reg;
  gint64 offset;
  gint64 extra;
} LuPlace;

enum
{
  LU_SLOT_OTHER, /* 0, so that it is what a register without a slot has */
  LU_SLOT_SP,
  LU_SLOT_FP,
  LU_SLOT_BX,
  LU_SLOT_RA,
  LU_N_SLOTS
};

typedef struct
{
  LuPlace cfa;
  LuPlace slots[LU_N_SLOTS];
  gboolean is_signed; /* aarch64: the return address carries an authentication code */
} LuCfaState;

/* An architecture as the compiler sees it: DWARF numbers. */
typedef struct
{
  const char *name;
  guint16 machine; /* EM_* */
  guint16 sp, fp, bx, ra;
  gboolean has_link_register; /* a return address nobody mentions is still in `ra` */
  const char *const *register_names;
  guint n_register_names;
  guint8 slots[LU_CFA_MAX_REGISTER + 1]; /* LU_SLOT_* by DWARF number */
} LuTableArch;

/* By EM_*; NULL if there are no tables for it. 64-bit files only. */
const LuTableArch *lu_table_arch_find (guint16 machine);
/* Never NULL. */
const char *lu_table_arch_register_name (const LuTableArch *self, guint number);
