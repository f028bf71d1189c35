/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* status.h - the one list of states in which a sample can end.
 *
 * Used by the engines, the BPF program, the counters, the summary, the JSON output and the docs, so
 * a state that is not in this list does not exist. Values are stable: they are written to captures.
 */

#pragma once

/* X (NAME, value, key, title)
 *   key   word used in JSON and metadata
 *   title text shown to people; a synthetic root frame shows it in brackets */
#define LU_STATUS_LIST(X)                                                                          \
  X (COMPLETE, 0, "complete", "complete")                                                          \
  X (TRUNCATED_COPY, 1, "truncated-copy", "truncated stack copy")                                  \
  X (DEPTH_LIMIT, 2, "depth-limit", "depth limit")                                                 \
  X (OTHER_STACK, 3, "other-stack", "other stack")                                                 \
  X (NO_UNWIND_INFO, 4, "no-unwind-info", "no unwind information")                                 \
  X (JIT, 5, "jit", "JIT or anonymous code")                                                       \
  X (UNSUPPORTED_RULE, 6, "unsupported-rule", "rule not supported")                                \
  X (BAD_RETURN_ADDRESS, 7, "bad-return-address", "bad return address")                            \
  X (NO_MAPPING, 8, "no-mapping", "no mapping")                                                    \
  X (FILE_GONE, 9, "file-gone", "file gone")                                                       \
  X (UNREADABLE_MEMORY, 10, "unreadable-memory", "unreadable memory")                              \
  X (UNSUPPORTED_ABI, 11, "unsupported-abi", "unsupported ABI")                                    \
  X (NO_USER_CONTEXT, 12, "no-user-context", "no user context")                                    \
  X (NO_USER_STACK, 13, "no-user-stack", "no user stack in the sample")                            \
  X (KERNEL_ONLY, 14, "kernel-only", "kernel only")                                                \
  X (STALE_MAPPING, 15, "stale-mapping", "stale mapping")                                          \
  X (OVER_BUDGET, 16, "over-budget", "over budget")                                                \
  X (LOST, 17, "lost", "lost")

/* clang-format off */
typedef enum
{
#define X(NAME, value, key, title) LU_STATUS_##NAME = value,
  LU_STATUS_LIST (X)
#undef X
  LU_N_STATUS
} LuStatus;
/* clang-format on */

/* A synthetic address stands for a state or a marker where a format has only addresses. Sysprof
 * reserves addresses from 0xE000000000000001 upward for names that the capture itself brings
 * (SYSPROF_CAPTURE_JITMAP_MARK). */
#define LU_SYNTHETIC_BASE 0xE000000000000000ull

static inline int
lu_is_synthetic (unsigned long long address)
{
  return address >> 32 == LU_SYNTHETIC_BASE >> 32;
}

/* Functions that interpreters run are synthetic, too: 2^28 addresses, and as many again, at a
 * distance of LU_FUNCTION_SOURCE, whose names tell where each function is in its source
 * (docs/syscap.md). */
#define LU_FUNCTION_BASE   (LU_SYNTHETIC_BASE + 0x10000000)
#define LU_FUNCTION_SOURCE 0x10000000ull

/* Functions without a name, and the place of those that could not be put into the stack: of Python;
 * lu_function_in() has those of other languages (enum lu_interp_language). */
#define LU_FUNCTION_UNREADABLE LU_FUNCTION_BASE
#define LU_FUNCTION_TOO_MANY   (LU_FUNCTION_BASE + 1)
#define LU_FUNCTION_UNMATCHED  (LU_FUNCTION_BASE + 2)
/* Places behind which further tasks of asyncio wait: 2 to 9, or 10 or more, of which none is
 * followed; and the place where too many have been followed. */
#define LU_FUNCTION_WAITERS      (LU_FUNCTION_BASE + 6)
#define LU_FUNCTION_MORE_WAITERS (LU_FUNCTION_BASE + 15)
#define LU_FUNCTION_FIRST        (LU_FUNCTION_BASE + 16)

static inline unsigned long long
lu_function_in (unsigned language, unsigned long long address)
{
  return address + (language > 1 ? 3 : 0);
}

/* Returns whether an address is that of a function without a name, of any language. */
static inline int
lu_is_unreadable_function (unsigned long long address)
{
  return address == LU_FUNCTION_UNREADABLE || address == lu_function_in (2, LU_FUNCTION_UNREADABLE);
}

static inline int
lu_is_function_or_source (unsigned long long address)
{
  return address - LU_FUNCTION_BASE < 2 * LU_FUNCTION_SOURCE;
}

static inline int
lu_is_function (unsigned long long address)
{
  return address >> 28 == LU_FUNCTION_BASE >> 28;
}

/* Returns whether samples in this state are left out of "complete %": they had no user registers or
 * no stack bytes, so no unwinder could have done better. */
static inline int
lu_status_is_excluded (LuStatus status)
{
  return status == LU_STATUS_NO_USER_CONTEXT || status == LU_STATUS_NO_USER_STACK
         || status == LU_STATUS_KERNEL_ONLY || status == LU_STATUS_LOST;
}

static inline const char *
lu_status_key (LuStatus status)
{
  switch (status)
    {
#define X(NAME, value, key, title)                                                                 \
  case LU_STATUS_##NAME:                                                                           \
    return key;
      LU_STATUS_LIST (X)
#undef X
    case LU_N_STATUS:
      break;
    }
  return "?";
}

static inline const char *
lu_status_title (LuStatus status)
{
  switch (status)
    {
#define X(NAME, value, key, title)                                                                 \
  case LU_STATUS_##NAME:                                                                           \
    return title;
      LU_STATUS_LIST (X)
#undef X
    case LU_N_STATUS:
      break;
    }
  return "?";
}
