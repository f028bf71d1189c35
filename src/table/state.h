/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* state.h - the state of call frame instructions at one address: the CFA and the followed
 * registers.
 *
 * opcodes.c changes it, rule.c makes a rule from it. Registers that we do not follow share one slot
 * that nothing reads. */

#pragma once

#include "arch/arch.h"

typedef enum
{
  LU_REGISTER_RULE_UNSPECIFIED, /* no instruction named it */
  LU_REGISTER_RULE_UNDEFINED,
  LU_REGISTER_RULE_SAME,
  LU_REGISTER_RULE_REGISTER,      /* the value of `reg` */
  LU_REGISTER_RULE_AT_CFA,        /* *(cfa + offset) */
  LU_REGISTER_RULE_CFA_PLUS,      /* cfa + offset */
  LU_REGISTER_RULE_AT_REGISTER,   /* *(reg + offset) */
  LU_REGISTER_RULE_REGISTER_PLUS, /* reg + offset */
  LU_REGISTER_RULE_REGISTER_ONLY, /* reg + an unknown offset */
  LU_REGISTER_RULE_DEREF_PLUS,    /* *(reg + offset) + extra */
  LU_REGISTER_RULE_PLT,           /* sp + offset + ((pc & 15) >= extra ? 8 : 0) */
  LU_REGISTER_RULE_OTHER,         /* any other expression */
} LuRegisterRuleKind;

typedef struct
{
  guint32 kind; /* LuRegisterRuleKind */
  guint32 reg;
  gint64 offset;
  gint64 extra;
} LuRegisterRule;

typedef struct
{
  LuRegisterRule cfa;
  LuRegisterRule slots[LU_N_SLOTS];
  gboolean is_signed; /* the return address carries an authentication code */
} LuCfaState;
