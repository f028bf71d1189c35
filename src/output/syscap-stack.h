/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* syscap-stack.h - one finished stack as the address list of a SAMPLE frame.
 *
 * Kernel (hypervisor, guest) frames after their context words, then PERF_CONTEXT_USER and the user
 * frames, leaf first. User return addresses are stored minus 1, because the viewer looks addresses
 * up as they are. A stack that did not end complete has its state as its root, see
 * LU_SYNTHETIC_BASE. */

#pragma once

#include "output/sink.h"
#include "output/syscap-format.h"

/* Stands where frames were left out of a stack with more than LU_SYSCAP_MAX_ADDRESSES addresses. */
#define LU_SYSCAP_LEFT_OUT      (LU_SYNTHETIC_BASE + 0x100)
#define LU_SYSCAP_LEFT_OUT_NAME "[\xe2\x80\xa6 frames left out]"

/* Whether a sample in this state ends in a synthetic root frame. */
gboolean lu_syscap_status_is_shown (LuStatus status);

/* Fills `addresses` and returns how many there are. */
guint lu_syscap_stack_encode (const LuSinkSample *sample,
                              guint64 addresses[LU_SYSCAP_MAX_ADDRESSES]);
