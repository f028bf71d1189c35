/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* calls.h - is the instruction in front of a return address a call?
 *
 * Used where a frame is guessed. x86 cannot be decoded backwards with certainty, so every call that
 * could end there is tried; prefixes in front of the opcode do not matter then. (Intel SDM, volume
 * 2, CALL and table 2-1 to 2-3; Arm ARM, C6.2, BL and BLR.) */

#pragma once

#include "module/call-sites.h"

#define LU_CALL_LONGEST 7 /* ff /2 with SIB and 32-bit displacement */

/* `bytes` end at the return address; `n` of them are there, LU_CALL_LONGEST are enough. For
 * LU_CALL_DIRECT `displacement` is that of the target from the return address: the caller checks
 * that there is code, which a chance byte does not lead to. Where the bytes could be both a direct
 * and an indirect call, the result is INDIRECT. Never UNKNOWN. `machine` is EM_*. */
LuCallKind lu_call_decode (guint16 machine, const guint8 *bytes, gsize n, gint64 *displacement);
