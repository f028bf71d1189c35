/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* host-user.h - this program's memory as the host of the BPF walker; see bpf/host.h. */

#pragma once

#include <string.h>

#define HOST_SUBPROGRAM            static __attribute__ ((noinline))
#define HOST_BOUND(x, mask)        ((x) &= (mask))
#define HOST_NEAR(pointer)         ((void) (pointer))
#define HOST_AFTER(pointer, value) ((void) (pointer), (void) (value))
#define HOST_FORGET(walk, x)       ((void) (walk), (void) (x))
#define HOST_LEAVE(x, bits)        ((x) ^= (bits))
#define host_config                (user_host.config)
#define host_walk(ref)             (&user_host.walk)
#define host_shared                (&user_host.shared)
#define host_clock()               ((uint64_t) 0)
#define N_USER_ENTRIES             64
#define HOST_READS_INTERPRETERS    1

typedef uint32_t walk_ref;

static struct
{
  struct lu_bpf_config config;
  struct lu_bpf_shared shared;
  struct entry *entries[N_USER_ENTRIES];
  const uint8_t *stack; /* of the sample */
  uint64_t stack_at, stack_size;
  /* Returns the LuCallKind before a return address. */
  int (*call_before) (void *data, uint64_t pc);
  void *data;
  /* Reads code of the process; 0: it is there. NULL: none ever is. */
  int (*read_code) (void *data, void *to, uint32_t size, uint64_t address);
  void *code_data;
  struct walk walk;
  struct chain chain;
  /* Reads memory of the process; 0: it is there. NULL: none ever is. */
  int (*read_memory) (void *to, uint32_t size, uint64_t address);
  void (*output) (const void *record, uint64_t size);
  uint64_t thread_pointer;
} user_host;

static inline const struct entry *
host_entry (uint32_t number)
{
  return number < N_USER_ENTRIES ? user_host.entries[number] : NULL;
}

static inline int64_t
host_read (void *to, uint32_t size, uint64_t address)
{
  uint64_t offset = address - user_host.stack_at;

  if (size > user_host.stack_size || offset > user_host.stack_size - size)
    {
      memset (to, 0, size);
      return -1;
    }
  memcpy (to, user_host.stack + offset, size);
  return 0;
}

/* A recorded stack begins and ends anywhere in a page. */
static inline int64_t
host_read_window (void *to, uint32_t size, uint64_t address)
{
  uint64_t first = MAX (address, user_host.stack_at);
  uint64_t end = MIN (address + size, user_host.stack_at + user_host.stack_size);

  memset (to, 0, size);
  if (address + size < address || end <= first)
    return -1;
  memcpy ((uint8_t *) to + (first - address), user_host.stack + (first - user_host.stack_at),
          end - first);
  return 0;
}

static inline int64_t
host_read_code (void *to, uint32_t size, uint64_t address)
{
  return user_host.read_code != NULL ? user_host.read_code (user_host.code_data, to, size, address)
                                     : -1;
}

static inline enum lu_call_kind
host_call_before (const struct walk *walk, uint64_t pc)
{
  return (enum lu_call_kind) user_host.call_before (user_host.data, pc);
}

static inline int64_t
host_find_vma (walk_ref ref, uint64_t address)
{
  return 0;
}

static inline uint64_t
host_sampled_at (walk_ref ref, uint64_t pc)
{
  return pc;
}

static inline int64_t
host_leave_probe (walk_ref ref)
{
  return 0;
}

typedef void *host_context;

static inline struct chain *
host_chain (walk_ref ref)
{
  return &user_host.chain;
}

static inline int64_t
host_read_memory (void *to, uint32_t size, uint64_t address)
{
  return user_host.read_memory != NULL ? user_host.read_memory (to, size, address) : -1;
}

static inline uint64_t
host_thread_pointer (void)
{
  return user_host.thread_pointer;
}

static inline uint64_t
host_process_hash (void)
{
  return 1;
}

static inline int64_t
host_output (host_context context, const void *record, uint64_t size)
{
  user_host.output (record, size);
  return 0;
}
