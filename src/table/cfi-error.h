/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* cfi-error.h - why an entry of call frame information could not be compiled. Each error costs one
 * FDE (or the FDEs of one CIE) and is counted by reason. */

#pragma once

/* X (NAME, title) */
#define LU_CFI_ERROR_LIST(X)                                                                       \
  X (NONE, "none")                                                                                 \
  X (ENTRY, "entry outside of its section")                                                        \
  X (CIE, "no such CIE")                                                                           \
  X (VERSION, "unknown CIE version")                                                               \
  X (AUGMENTATION, "unknown augmentation")                                                         \
  X (ENCODING, "unknown pointer encoding")                                                         \
  X (RETURN_COLUMN, "unknown column of the return address")                                        \
  X (RANGE, "range outside of the code")                                                           \
  X (OPCODE, "unknown instruction")                                                                \
  X (OPERAND, "wrong operand")                                                                     \
  X (STATE, "restore without remember, or too deep")                                               \
  X (TRUNCATED, "instruction cut off")                                                             \
  X (BUDGET, "too much work for the size of the file")

typedef enum
{
#define X(NAME, title) LU_CFI_ERROR_##NAME,
  LU_CFI_ERROR_LIST (X)
#undef X
      LU_N_CFI_ERRORS
} LuCfiError;

static inline const char *
lu_cfi_error_title (LuCfiError cfi_error)
{
  static const char *const titles[] = {
#define X(NAME, title) title,
    LU_CFI_ERROR_LIST (X)
#undef X
  };

  return cfi_error < LU_N_CFI_ERRORS ? titles[cfi_error] : "?";
}
