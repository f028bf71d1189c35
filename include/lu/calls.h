/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* calls.h - the kinds of call before a return address.
 *
 * The frame-pointer step of the engines and of the BPF program (bpf/walk-frame-pointer.h) believes
 * a return address only if a call ends there. Decoders belong to their architecture (src/arch). */

#pragma once

enum lu_call_kind
{
  LU_CALL_UNKNOWN,  /* the code has not been read */
  LU_CALL_NONE,     /* no call ends there, or the code is not readable */
  LU_CALL_DIRECT,   /* a call to a fixed address */
  LU_CALL_INDIRECT, /* a call through a register or memory */
};

#define LU_CALL_LONGEST 7 /* bytes; the longest call of any architecture */

/* Declares a function that the BPF verifier checks by itself. */
#ifndef LU_CALL_FUNCTION
#define LU_CALL_FUNCTION static inline
#endif
