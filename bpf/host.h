/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* host.h - what the walker runs on: the kernel, or a program of tests (host-user.h, which the test
 * brings). Both offer:
 *
 *   HOST_SUBPROGRAM                 declares a subprogram
 *   HOST_BOUND (x, mask)      x &= mask, where the verifier needs to see it
 *   HOST_NEAR (pointer)       keeps the compiler from addressing other objects by this one
 *   HOST_AFTER (pointer, value)   what the pointer leads to is read after the value
 *   HOST_FORGET (walk, x)     makes the verifier forget what it knows of a number
 *   host_config               struct lu_bpf_config
 *   walk_ref                  tells a subprogram which walk is its own
 *   host_walk (ref)           struct walk of that, or NULL
 *   host_shared               struct lu_bpf_shared
 *   host_entry (number)       struct entry of the memory, or NULL
 *   host_read (to, size, address)   from the sampled stack; 0: read; else there are zeros
 *   host_read_window (to, size, address)   the same; an end that is not there may be zeros
 *   host_read_code (to, size, address)   the same of code only
 *   host_call_before (walk, pc)     enum lu_call_kind, of a return address into walk->seen
 *   host_find_vma (ref, address)   sets walk->found by the kernel's own mappings; 0: it cannot
 *   host_sampled_at (ref, pc)   the pc of a sample in kernel mode, or where it should be; corrects
 *                             walk->sp, too
 *   host_leave_probe (ref)    sets walk->caller if the next frame is where a uprobe led; else 0
 *   host_clock ()             CLOCK_MONOTONIC in ns
 *   HOST_READS_INTERPRETERS   1 or 0; the next ones are for 1
 *   host_chain (ref)         struct chain of that walk, or NULL
 *   host_read_memory (to, size, address)   from anywhere in the sampled process; 0: read
 *   host_thread_pointer ()    the thread pointer of the sampled thread
 *   host_process_hash ()      tells the processes and their execs apart
 *   host_context              what host_output() needs
 *   host_output (context, record, size)   puts a record into the ring; 0: it is there */

#pragma once

#include "chain.h"
#include "walk-arch.h"

struct entry
{
  uint32_t words[LU_BPF_ENTRY_WORDS];
  uint8_t slack[LU_BPF_ENTRY_SLACK];
};

#ifdef __bpf__
#include "host-kernel.h"
#else
#include "host-user.h"
#endif
