/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* host-kernel.h - the kernel as the walker's host: the maps, and the helpers it needs. The loader
 * (src/bpf/program.c) sets the numbers of entries that are 1 here. */

#pragma once

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/* Weak, so that the compiler does not specialize it for one caller. */
#define HOST_SUBPROGRAM __attribute__ ((noinline, weak))
/* A mask that the compiler can neither move nor omit. */
#define HOST_BOUND(x, mask) asm volatile("%0 &= %1" : "+r"(x) : "i"(mask))
/* A mask made from one of the program's constants, in the same way. */
#define HOST_BOUND_BY(x, mask) asm volatile("%0 &= %1" : "+r"(x) : "r"((uint64_t) (mask)))

/* A pointer into a large object: what it points to is then near it, not far from the object. */
#define HOST_NEAR(pointer) asm volatile("" : "+r"(pointer))

/* Makes what a pointer leads to be read after a value: CPUs that reorder reads keep the order where
 * the address depends on the value. */
#if ARCH_REORDERS_READS
#define HOST_AFTER(pointer, value)                                                                 \
  asm volatile("r0 = %1\n\tr0 &= 0\n\t%0 += r0" : "+r"(pointer) : "r"(value) : "r0")
#else
#define HOST_AFTER(pointer, value) ((void) (value))
#endif

/* The verifier follows the code after a comparison separately for each outcome. A value from a map
 * may be anything, so it is followed once. */
#define HOST_FORGET(walk, x)                                                                       \
  do                                                                                               \
    {                                                                                              \
      *(volatile __typeof__ (x) *) &(walk)->forgotten = (x);                                       \
      (x) = *(volatile __typeof__ (x) *) &(walk)->forgotten;                                       \
    }                                                                                              \
  while (0)

/* Clears in x the bits that are set in `bits`. The verifier must not see which: it would follow the
 * code after it for each case separately. */
#define HOST_LEAVE(x, bits) asm volatile("%0 ^= %1" : "+r"(x) : "r"(bits))

const volatile struct lu_bpf_config host_config;

/* The loader makes this map: 1 MiB, and 24 bytes for each identity. */
struct lu_bpf_shared shared_variables;
#define host_shared (&shared_variables)

/* 1 MiB for each entry in use. The flags of the inner maps but not BPF_F_INNER_MAP: then look-ups
 * become a few instructions. */
struct memory_entry
{
  __uint (type, BPF_MAP_TYPE_ARRAY);
  __uint (map_flags, BPF_F_MMAPABLE);
  __uint (max_entries, 1);
  __uint (key_size, sizeof (uint32_t));
  __uint (value_size, sizeof (struct entry));
};

struct
{
  __uint (type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
  __uint (max_entries, LU_BPF_MAX_ENTRIES);
  __type (key, uint32_t);
  __array (values, struct memory_entry);
} memory SEC (".maps");

/* Some 90 bytes for each entry, where the kernel allows that; otherwise memory for all max_entries
 * at once. */
struct
{
  __uint (type, BPF_MAP_TYPE_HASH);
  __uint (max_entries, LU_BPF_MAX_PROCESSES);
  __type (key, uint32_t);
  __type (value, struct lu_bpf_process);
} processes SEC (".maps");

/* One value per CPU, 201 KiB each. The values of a per-CPU map have at most 32 KiB. */
struct
{
  __uint (type, BPF_MAP_TYPE_ARRAY);
  __uint (max_entries, 1);
  __type (key, uint32_t);
  __type (value, struct walk);
} walks SEC (".maps");

/* One value per CPU, below 1 KiB each. */
struct
{
  __uint (type, BPF_MAP_TYPE_ARRAY);
  __uint (map_flags, BPF_F_MMAPABLE);
  __uint (max_entries, 1);
  __type (key, uint32_t);
  __type (value, struct lu_bpf_counters);
} counters SEC (".maps");

#ifdef READS_INTERPRETERS
#define HOST_READS_INTERPRETERS 1

/* One value per CPU. */
struct
{
  __uint (type, BPF_MAP_TYPE_ARRAY);
  __uint (max_entries, 1);
  __type (key, uint32_t);
  __type (value, struct chain);
} chains SEC (".maps");
#else
#define HOST_READS_INTERPRETERS 0
#endif

/* The program that takes the place of this one; empty at first. */
struct
{
  __uint (type, BPF_MAP_TYPE_PROG_ARRAY);
  __uint (max_entries, 1);
  __type (key, uint32_t);
  __type (value, uint32_t);
} replacement SEC (".maps");

struct
{
  __uint (type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
  __uint (max_entries, 1);
  __type (key, uint32_t);
  __type (value, uint32_t);
} outputs SEC (".maps");

/* A subprogram looks its walk up by CPU. */
typedef uint32_t walk_ref;

static inline struct walk *
host_walk (walk_ref ref)
{
  return bpf_map_lookup_elem (&walks, &ref);
}

static inline const struct entry *
host_entry (uint32_t number)
{
  void *inner = bpf_map_lookup_elem (&memory, &number);
  uint32_t zero = 0;

  return inner != NULL ? bpf_map_lookup_elem (inner, &zero) : NULL;
}

static inline int64_t
host_read (void *to, uint32_t size, uint64_t address)
{
  return bpf_probe_read_user (to, size, (const void *) address);
}

static inline int64_t
host_read_window (void *to, uint32_t size, uint64_t address)
{
  return host_read (to, size, address);
}

static inline int64_t
host_read_code (void *to, uint32_t size, uint64_t address)
{
  return host_read (to, size, address);
}

static inline uint64_t
host_clock (void)
{
  return bpf_ktime_get_ns ();
}

/* A direct call has to lead to code of the same file; only user space can check one that leaves
 * this mapping. */
static inline enum lu_call_kind
host_call_before (const struct walk *walk, uint64_t pc)
{
  uint64_t code;
  int64_t displacement = 0;
  enum lu_call_kind kind;

  if (pc - sizeof code - walk->seen.start >= walk->seen.size
      || host_read (&code, sizeof code, pc - sizeof code) != 0)
    return LU_CALL_UNKNOWN;
  kind = lu_call_decode (code, &displacement);
  if (kind == LU_CALL_DIRECT && pc + (uint64_t) displacement - walk->seen.start >= walk->seen.size)
    return LU_CALL_UNKNOWN;
  return kind;
}

/* Returns the word at an address in the kernel; 0 if it cannot be read. */
HOST_SUBPROGRAM uint64_t
read_kernel (uint64_t address)
{
  uint64_t word = 0;

  bpf_probe_read_kernel (&word, sizeof word, (void *) address);
  return word;
}

/* A field of one of the kernel's structures, of 8 bytes, or the lower bytes of such a field. */
#define READ(object, field) read_kernel ((uint64_t) & (object)->field)

typedef struct bpf_perf_event_data *host_context;

#ifdef READS_INTERPRETERS
static inline struct chain *
host_chain (walk_ref ref)
{
  return bpf_map_lookup_elem (&chains, &ref);
}
#endif

static inline int64_t
host_read_memory (void *to, uint32_t size, uint64_t address)
{
  return host_read (to, size, address);
}

static inline int64_t
host_output (host_context context, void *record, uint64_t size)
{
  return bpf_perf_event_output (context, &outputs, BPF_F_CURRENT_CPU, record, size);
}

#include "kernel-structs.h"

static inline uint64_t
host_thread_pointer (void)
{
  struct task_struct *task = (struct task_struct *) bpf_get_current_task ();

  return READ (task, ARCH_THREAD_POINTER);
}

static inline uint64_t
host_process_hash (void)
{
  struct task_struct *task = (struct task_struct *) bpf_get_current_task ();
  struct task_struct *leader = (struct task_struct *) READ (task, group_leader);

  return lu_bpf_announcer (READ (leader, start_boottime), READ (task, self_exec_id));
}

#include "kernel-uprobes.h"
#include "kernel-vmas.h"
