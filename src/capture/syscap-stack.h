/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* syscap-stack.h - encodes a finished stack as the address list of a SAMPLE frame.
 *
 * Kernel (hypervisor, guest) frames follow their context words; then come PERF_CONTEXT_USER and the
 * user frames, leaf first. User return addresses are stored minus 1, because the viewer looks
 * addresses up unchanged. The root of an incomplete stack is its end state, see LU_SYNTHETIC_BASE.
 */

#pragma once

#include "sink.h"
#include "syscap-format.h"

/* The marker of omitted frames in a stack with more than LU_SYSCAP_MAX_ADDRESSES addresses. */
#define LU_SYSCAP_LEFT_OUT      (LU_SYNTHETIC_BASE + 0x100)
#define LU_SYSCAP_LEFT_OUT_NAME "[\xe2\x80\xa6 frames left out]"

/* Returns whether a sample in this state ends in a synthetic root frame. */
gboolean lu_syscap_status_is_shown (LuStatus status);
/* Returns the name of a synthetic address, owned by the caller; NULL if it stands for nothing. */
char *lu_syscap_synthetic_name (guint64 address);

/* Fills `addresses` and returns how many there are. */
guint lu_syscap_stack_encode (const LuSinkSample *sample,
                              guint64 addresses[LU_SYSCAP_MAX_ADDRESSES]);
