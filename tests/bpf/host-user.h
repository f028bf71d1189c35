/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* host-user.h - memory of this program as the BPF walker's host; see bpf/host.h. */

#pragma once

#include <string.h>

#define HOST_TURN            static __attribute__ ((noinline))
#define HOST_SEARCH          HOST_TURN
#define HOST_BOUND(x, mask)  ((x) &= (mask))
#define HOST_NEAR(pointer)   ((void) (pointer))
#define HOST_FORGET(walk, x) ((void) (walk), (void) (x))
#define HOST_LEAVE(x, bits)  ((x) ^= (bits))
#define host_config          (user_host.config)
#define HOST_FLAGS           (user_host.config.flags)
#define HOST_NAMESPACE       (user_host.config.pid_namespace)
#define host_walk(ref)       (&user_host.walk)
#define host_shared          (&user_host.shared)
#define host_clock()         ((uint64_t) 0)
#define N_USER_ENTRIES       64

typedef uint32_t walk_ref;

static struct
{
  struct lu_bpf_config config;
  struct lu_bpf_shared shared;
  struct entry *entries[N_USER_ENTRIES];
  const uint8_t *stack; /* of the sample */
  uint64_t stack_at, stack_size;
  /* What is in front of a return address. */
  int (*call_before) (void *data, uint64_t pc);
  void *data;
  struct walk walk;
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

static inline int64_t
host_read_code (void *to, uint32_t size, uint64_t address)
{
  return -1;
}

static inline enum call_kind
host_call_before (const struct walk *walk, uint64_t pc)
{
  return (enum call_kind) user_host.call_before (user_host.data, pc);
}

static inline int64_t
host_find_vma (walk_ref ref, uint64_t address)
{
  return 0;
}
