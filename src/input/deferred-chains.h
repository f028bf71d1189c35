/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* deferred-chains.h - the user callchains that the kernel walked after their samples (Linux 6.19,
 * `perf record --call-graph fp,defer`).
 *
 * The callchain of such a sample ends with PERF_CONTEXT_USER_DEFERRED and a cookie; a later record
 * of the same thread has the cookie and the chain, which may complete several samples. Some never
 * come. Used by the replay source. At most LU_DEFERRED_MAX_BYTES are kept; what comes later is
 * dropped. Belongs to one thread. */

#pragma once

#include "lu/event.h"

#include <glib.h>

#define LU_DEFERRED_MAX_BYTES (64u << 20)

typedef struct _LuDeferredChains LuDeferredChains;

LuDeferredChains *lu_deferred_chains_new (void);
void lu_deferred_chains_free (LuDeferredChains *self);

/* Keeps a copy of the chain of a LU_EVENT_DEFERRED_CHAIN. */
void lu_deferred_chains_add (LuDeferredChains *self, const LuEvent *event);
/* Puts the chain that a sample refers to into its callchain, if it is there. The new callchain is
 * valid until the next call. */
void lu_deferred_chains_complete (LuDeferredChains *self, LuEvent *event);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuDeferredChains, lu_deferred_chains_free)
