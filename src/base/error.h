/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* error.h - the error domain for set-up errors. The message says what a user can do about it. */

#pragma once

#include <glib.h>

#define LU_ERROR g_quark_from_static_string ("lu-error-quark")

typedef enum
{
  LU_ERROR_FAILED,      /* anything without a code of its own */
  LU_ERROR_PERMISSION,  /* the kernel refused: paranoid level, capabilities, mlock limit */
  LU_ERROR_NO_PROCESS,  /* the task to sample does not exist, or has ended */
  LU_ERROR_UNSUPPORTED, /* the kernel or the build cannot do it */
  LU_ERROR_INVALID,     /* a value out of range, a malformed file */
  LU_ERROR_EXISTS,      /* the output exists */
  LU_ERROR_CHANGED,     /* a comparison found more than is allowed */
  LU_ERROR_NO_READER,   /* the reader of the output is gone, or stopped reading at the end */
  LU_ERROR_REFUSED,     /* the kernel's verifier did not allow our program */
} LuError;
