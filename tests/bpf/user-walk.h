/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* user-walk.h - the walker of the BPF program, compiled into this program: the same C, other
 * memory. */

#pragma once

#include "lu/bpf.h"
#include "lu/sample.h"
#include "lu/stack.h"

/* The maps are all zeros at first. */
struct lu_bpf_dictionary *user_dictionary (void);
struct lu_bpf_module *user_modules (void);
uint32_t *user_add_entry (void *data, unsigned entry);
void user_set_config (const struct lu_bpf_config *config);
/* The callback returns the LuCallKind before a return address. */
void user_set_calls (int (*call_before) (void *data, uint64_t pc), void *data);
/* The callback reads code of the process and returns 0, or fails. Without it there is none. */
void user_set_code (int (*read_code) (void *data, void *to, uint32_t size, uint64_t address),
                    void *data);

/* Walks the sample's stack in the process. Sets the frames and COMPLETE or DEPTH_LIMIT, or
 * UNSUPPORTED_RULE where the program would fall back. Returns the enum lu_bpf_reason. */
unsigned user_walk (const struct lu_bpf_process *process, const LuSample *sample, LuStack *stack);
