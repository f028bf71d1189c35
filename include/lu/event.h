/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* event.h - one decoded record of any source: a sample, a stack that BPF unwound, or side-band.
 *
 * Strings and pointers are borrowed from the record (see sample.h). The decoder has checked that
 * strings are NUL-terminated inside the record. */

#pragma once

#include "lu/interp.h"
#include "lu/sample.h"
#include "lu/status.h"

typedef enum
{
  LU_EVENT_NONE, /* a valid record that is not used */
  LU_EVENT_SAMPLE,
  LU_EVENT_BPF_UNWOUND,  /* a sample whose stack BPF unwound (bpf.h): addresses, no copy
                          */
  LU_EVENT_ARGUMENTS,    /* the arguments of a process (bpf.h), before its first sample */
  LU_EVENT_INTERP_CHAIN, /* the functions of an interpreter's thread (interp.h), before its stack */
  LU_EVENT_INTERP_FUNCTION, /* a function that is met for the first time, before its chain */
  LU_EVENT_MMAP,
  LU_EVENT_COMM,
  LU_EVENT_FORK,
  LU_EVENT_EXIT,
  LU_EVENT_LOST,         /* records lost by the ring, side-band or samples */
  LU_EVENT_LOST_SAMPLES, /* samples dropped before they reached the ring */
  LU_EVENT_THROTTLE,
  LU_EVENT_UNTHROTTLE,
  LU_EVENT_NAMESPACES,
  LU_EVENT_DEFERRED_CHAIN, /* only from files */
} LuEventKind;

#define LU_BUILD_ID_MAX 20

typedef struct
{
  uint64_t start;  /* run-time address */
  uint64_t length; /* bytes, may be 0; start + length does not wrap */
  uint64_t file_offset;
  uint32_t major, minor;
  uint64_t inode, inode_generation;
  uint32_t prot;         /* PROT_*; PROT_EXEC is assumed for MMAP records that are not data */
  uint32_t flags;        /* MAP_* */
  uint8_t build_id_size; /* 0: none in the record */
  uint8_t build_id[LU_BUILD_ID_MAX];
  uint8_t has_inode; /* device and inode are known */
  uint8_t is_kernel; /* a mapping of the kernel, a module, a hypervisor or a guest */
  const char *path;  /* in the task's mount namespace, as the kernel names it; "//anon", "[vdso]" */
} LuMmapEvent;

/* A stack from the BPF program. The decoder has checked only the sizes. */
typedef struct
{
  LuStatus status; /* COMPLETE or DEPTH_LIMIT */
  uint64_t serial; /* of the address space that BPF unwound it in, or marks of its mappings */
  uint64_t ip;     /* where the sample hit */
  uint64_t sp;     /* the user stack pointer */
  uint32_t flags;  /* enum lu_bpf_record_flags */
  uint32_t walk_ns;
  uint32_t n_kernel, n_user;
  uint64_t time;      /* ns, when the walk began */
  const uint8_t *pcs; /* n_kernel, then n_user words as in struct lu_bpf_record; not aligned;
                         borrowed */
} LuBpfUnwoundStack;

/* The functions of an interpreter's thread, from the BPF program. The decoder has checked only the
 * sizes. */
typedef struct
{
  uint32_t language;     /* enum lu_interp_language; not NONE */
  uint32_t flags;        /* enum lu_interp_chain_flags */
  uint32_t n_frames;     /* at most LU_INTERP_MAX_FRAMES */
  uint64_t time;         /* ns, when the walk began that it belongs to */
  const uint8_t *frames; /* struct lu_interp_frame, leaf first; not aligned; borrowed */
} LuInterpChain;

/* A function's announcement. The decoder has checked only the sizes. */
typedef struct
{
  uint32_t language; /* enum lu_interp_language; not NONE */
  uint32_t check, first_line;
  uint64_t code;
  struct lu_interp_text name, path; /* sizes in bytes */
  struct lu_interp_table lines;
  const uint8_t *name_text, *path_text, *lines_bytes; /* borrowed */
} LuInterpFunction;

typedef struct lu_event
{
  LuEventKind kind;
  int32_t cpu; /* -1 unknown */
  int32_t pid,
      tid;       /* the task that the record is about, the child for FORK; -1: dying or unknown */
  uint64_t time; /* ns, CLOCK_MONOTONIC for our own events; 0 unknown */
  const struct lu_event *next; /* a sample that is known to come soon after this one, so that what
                                  it needs can be fetched meanwhile; NULL: none. Borrowed */
  union
  {
    LuSample sample;
    LuBpfUnwoundStack bpf_unwound;
    struct
    {
      const char *text; /* arguments with zeros between them; not terminated, borrowed */
      uint32_t size;    /* at least 1 */
    } arguments;
    LuInterpChain interp_chain;
    LuInterpFunction interp_function;
    LuMmapEvent mmap;
    struct
    {
      const char *name;
      uint8_t is_exec;
    } comm;
    struct
    {
      int32_t parent_pid, parent_tid;
    } task; /* FORK, EXIT */
    struct
    {
      uint64_t count;
      uint64_t event_id;
    } lost;
    struct
    {
      uint64_t cookie;      /* as in the callchains of the task's samples that it completes */
      const uint8_t *words; /* a callchain; not aligned, borrowed */
      uint32_t n_words;
    } deferred_chain;
    struct
    {
      uint64_t mount_inode; /* 0 if the record does not name the mount namespace */
    } namespaces;
  };
} LuEvent;
