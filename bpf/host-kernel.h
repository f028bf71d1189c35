/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* host-kernel.h - the kernel as the walker's host: the maps, and the helpers it needs. The loader
 * (src/bpf/program.c) sets the numbers of entries that are 1 here. */

#pragma once

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/* Weak: the compiler must not take what one caller passes for what all do. */
#define HOST_TURN __attribute__ ((noinline, weak))
/* An instruction that the compiler can neither move nor leave out. */
#define HOST_BOUND(x, mask) asm volatile("%0 &= %1" : "+r"(x) : "i"(mask))
/* The same with one of the program's constants. */
#define HOST_BOUND_BY(x, mask) asm volatile("%0 &= %1" : "+r"(x) : "r"((uint64_t) (mask)))

/* A pointer into a large object: what it points to is then near it, not far from the object. */
#define HOST_NEAR(pointer) asm volatile("" : "+r"(pointer))

/* The verifier follows what comes after separately for each value that it has seen compared. What
 * comes from a map may be anything. */
#define HOST_FORGET(walk, x)                                                                       \
  do                                                                                               \
    {                                                                                              \
      *(volatile __typeof__ (x) *) &(walk)->forgotten = (x);                                       \
      (x) = *(volatile __typeof__ (x) *) &(walk)->forgotten;                                       \
    }                                                                                              \
  while (0)

/* x -= bits that are set in it. The verifier must not see which: it would follow what comes then
 * for each case by itself. */
#define HOST_LEAVE(x, bits) asm volatile("%0 ^= %1" : "+r"(x) : "r"(bits))

const volatile struct lu_bpf_config host_config;

/* The program is compiled twice: for all kernels and options, and for what is usual, without a word
 * of the rest. What the verifier finds not to be needed it removes piece by piece, and each time
 * moves all that comes after. */
#ifdef HOST_USUAL
#define HOST_FLAGS     LU_BPF_USUAL
#define HOST_NAMESPACE 0
#else
#define HOST_FLAGS     host_config.flags
#define HOST_NAMESPACE host_config.pid_namespace
#endif

/* In a map of its own, which the loader makes: 1 MiB, and 24 bytes for each identity. */
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

/* Some 90 bytes for each entry, where the kernel allows that; else for each of max_entries, at
 * once. */
struct
{
  __uint (type, BPF_MAP_TYPE_HASH);
  __uint (max_entries, LU_BPF_MAX_PROCESSES);
  __type (key, uint32_t);
  __type (value, struct lu_bpf_process);
} processes SEC (".maps");

/* By CPU, 197 KiB each. A per-CPU map's values are at most 32 KiB. */
struct
{
  __uint (type, BPF_MAP_TYPE_ARRAY);
  __uint (max_entries, 1);
  __type (key, uint32_t);
  __type (value, struct walk);
} walks SEC (".maps");

/* By CPU, below 1 KiB each. */
struct
{
  __uint (type, BPF_MAP_TYPE_ARRAY);
  __uint (map_flags, BPF_F_MMAPABLE);
  __uint (max_entries, 1);
  __type (key, uint32_t);
  __type (value, struct lu_bpf_counters);
} counters SEC (".maps");

struct
{
  __uint (type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
  __uint (max_entries, 1);
  __type (key, uint32_t);
  __type (value, uint32_t);
} outputs SEC (".maps");

/* How turns are told which walk is theirs. Pointers, from Linux 5.12 on, need no look-up in each of
 * them, which the verifier follows and the kernel then puts inline. */
#ifdef HOST_USUAL
typedef struct walk *walk_ref;
#define HOST_REF(walk, cpu) (walk)
#define HOST_SEARCH         HOST_TURN
/* From Linux 5.17 on; verified once. */
#define HOST_LOOP(n, function, data) bpf_loop (n, function, data, 0)

static inline struct walk *
host_walk (walk_ref ref)
{
  return ref;
}
#else
typedef uint32_t walk_ref;
#define HOST_REF(walk, cpu) (cpu)
/* Loops in each other leave no room for one more: the verifier allows eight calls. */
#define HOST_SEARCH         static inline

static inline struct walk *
host_walk (walk_ref ref)
{
  return bpf_map_lookup_elem (&walks, &ref);
}
#endif

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
host_read_code (void *to, uint32_t size, uint64_t address)
{
  return host_read (to, size, address);
}

static inline uint64_t
host_clock (void)
{
  return bpf_ktime_get_ns ();
}

/* A direct call has to lead to code of the same file; what is outside of this mapping is for others
 * to say. */
static inline enum call_kind
host_call_before (const struct walk *walk, uint64_t pc)
{
  uint64_t code;
  int64_t displacement = 0;
  enum call_kind kind;

  if (pc - sizeof code - walk->seen.start >= walk->seen.size
      || host_read (&code, sizeof code, pc - sizeof code) != 0)
    return CALL_UNKNOWN;
  kind = decode_call (code, &displacement);
  if (kind == CALL_DIRECT && pc + (uint64_t) displacement - walk->seen.start >= walk->seen.size)
    return CALL_UNKNOWN;
  return kind;
}

/* The word at an address in the kernel; 0 if it cannot be read. */
HOST_TURN uint64_t
read_kernel (uint64_t address)
{
  uint64_t word = 0;

  bpf_probe_read_kernel (&word, sizeof word, (void *) address);
  return word;
}

/* A field of one of the kernel's structures, of 8 bytes or the lower ones of them. */
#define READ(object, field) read_kernel ((uint64_t) & (object)->field)

#include "kernel-vmas.h"
