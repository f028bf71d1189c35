/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* host.h - what the walker runs on: the kernel, or a program of tests (host-user.h, which the test
 * brings). Both offer:
 *
 *   HOST_TURN                 what declares a turn
 *   HOST_SEARCH               what declares a part of a search
 *   HOST_BOUND (x, mask)      x &= mask, where the verifier needs to see it
 *   HOST_NEAR (pointer)       for the compiler: other places are not to be named from elsewhere
 *   HOST_FORGET (walk, x)     makes the verifier forget what it knows of a number
 *   HOST_LOOP (n, function, data)   calls it n times, or until it returns 1; may be missing
 *   host_config               struct lu_bpf_config
 *   walk_ref                  how turns are told which walk is theirs
 *   host_walk (ref)           struct walk of that, or NULL
 *   host_shared               struct lu_bpf_shared
 *   host_entry (number)       struct entry of the memory, or NULL
 *   host_read (to, size, address)   from the sampled stack; 0: read; else there are zeros
 *   host_read_code (to, size, address)   the same of code only
 *   host_call_before (walk, pc)     enum call_kind, of a return address into walk->seen
 *   host_find_vma (ref, address)   sets walk->found by the kernel's own mappings; 0: it cannot
 *   host_clock ()             CLOCK_MONOTONIC in ns */

#pragma once

#include "calls.h"
#include "walk.h"

struct entry
{
  uint32_t words[LU_BPF_ENTRY_WORDS];
};

#ifdef __bpf__
#include "host-kernel.h"
#else
#include "host-user.h"
#endif
