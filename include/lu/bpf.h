/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* bpf.h - the interface of the BPF program and user space: maps, tables, configuration, records and
 * counters.
 *
 * User space builds tables and mappings in place, in memory that the program reads; nothing is
 * locked. Three rules keep a reader from using half-written data. A reference is one word, stored
 * last, with release order. Memory that is no longer referenced is reused only when no walk can be
 * in progress, about a second later. A process entry carries a check word, because the kernel's
 * hash may be read while it is written. A reader that finds an inconsistency falls back: the sample
 * arrives in user space with registers and stack. */

#pragma once

#include "lu/compact-rule.h"
#include "lu/counters.h"
#include "lu/interp.h"
#include "lu/row.h"

/* The version of this interface; the program and user space are always from one build. */
#define LU_BPF_VERSION 3

/* Map "memory": an ARRAY_OF_MAPS. Each inner map is an ARRAY of one value of 1 MiB, BPF_F_MMAPABLE,
 * and is added when it is needed. A word address names 4 bytes: the number of the inner map in the
 * high bits, the number of the word in the low bits. Data that is read together (a page index, a
 * run of rows, a process's mappings) lies in one inner map. BPF_F_RDONLY_PROG is not used, because
 * the kernel does not let such a map be mapped for writing. */
#define LU_BPF_ENTRY_BYTES (1u << 20)
#define LU_BPF_ENTRY_WORDS (LU_BPF_ENTRY_BYTES / 4)
#define LU_BPF_ENTRY_SHIFT 18
/* Bytes behind an entry, not used: a search of rows does not leave them, whatever it reads. */
#define LU_BPF_ENTRY_SLACK     (3u << 12)
#define LU_BPF_MAX_ENTRIES     1024
#define LU_BPF_WORD(entry, at) ((uint32_t) (entry) << LU_BPF_ENTRY_SHIFT | (uint32_t) (at))
#define LU_BPF_ENTRY_OF(word)  ((uint32_t) (word) >> LU_BPF_ENTRY_SHIFT)
#define LU_BPF_AT_OF(word)     ((uint32_t) (word) & (LU_BPF_ENTRY_WORDS - 1))

/* A module's table: an index of pages, and for each page a run of rows (row.h). A run begins with
 * the rule at the page's first byte, so it has at least one row and at most LU_BPF_MAX_ROWS, in
 * ascending order; a look-up stays in it. Places in Go programs that the rows do not know: see
 * LU_BPF_RULE_TOP. */
#define LU_BPF_MAX_ROWS (LU_PAGE_BYTES + 1)
/* The length of the longest run (lu_bpf_run_length()). */
#define LU_BPF_MAX_RUN (LU_PAGE_BYTES + 32)
/* An index lies in one inner map: files with up to 512 MiB of code. */
#define LU_BPF_MAX_PAGES (LU_BPF_ENTRY_WORDS / 2)

/* At an even word address. Beside the run it says where each quarter of the page ends in the run,
 * so that a look-up searches a quarter of the rows. */
struct lu_bpf_page
{
  uint32_t rows;     /* bits 0-27: word address of the run; 28-31: a shift; 0: no page */
  uint32_t quarters; /* a byte for each: number of the last row that begins in it or before it,
                        shifted to the right */
};

#define LU_BPF_WORD_BITS     28
#define LU_BPF_QUARTER_SHIFT (LU_PAGE_SHIFT - 2)
/* Rows of a run without a shift. A run with one ends with copies of its last row, until its length
 * is a multiple of what is shifted. */
#define LU_BPF_QUARTER_ROWS 256u

_Static_assert(LU_BPF_MAX_ENTRIES <= 1 << (LU_BPF_WORD_BITS - LU_BPF_ENTRY_SHIFT),
               "bits for a shift");

static inline uint32_t
lu_bpf_page_shift (uint32_t n_rows)
{
  uint32_t shift = 0;

  while (n_rows > LU_BPF_QUARTER_ROWS << shift)
    shift++;
  return shift;
}

/* Returns the length of a run of so many rows, with the copies of the last one: less than 1 % more.
 */
static inline uint32_t
lu_bpf_run_length (uint32_t n_rows)
{
  uint32_t mask = (1u << lu_bpf_page_shift (n_rows)) - 1;

  return (n_rows + mask) & ~mask;
}

/* More than the rows of any quarter. A power of two. */
#define LU_BPF_MAX_SEARCHED 2048

/* Returns the page of a run at a word address. */
static inline struct lu_bpf_page
lu_bpf_page_make (uint32_t address, const uint32_t *rows, uint32_t n_rows)
{
  uint32_t shift = lu_bpf_page_shift (n_rows), row = 0;
  struct lu_bpf_page page = { .rows = address | shift << LU_BPF_WORD_BITS };

  for (uint32_t quarter = 0; quarter < 4; quarter++)
    {
      while (row + 1 < n_rows
             && (rows[row + 1] & (LU_PAGE_BYTES - 1)) >> LU_BPF_QUARTER_SHIFT <= quarter)
        row++;
      page.quarters |= row >> shift << 8 * quarter;
    }
  return page;
}

static inline uint32_t
lu_bpf_page_run (struct lu_bpf_page page)
{
  return page.rows & ((1u << LU_BPF_WORD_BITS) - 1);
}

/* Returns which rows of the run may hold an address of the page: the first one, and how many. */
static inline uint64_t
lu_bpf_page_rows (struct lu_bpf_page page, uint64_t address, uint64_t *n)
{
  uint64_t bits = address >> (LU_BPF_QUARTER_SHIFT - 3) & 24, shift = page.rows >> LU_BPF_WORD_BITS;
  uint64_t first = (uint64_t) page.quarters << 8 >> bits & 0xff;

  *n = (((uint64_t) page.quarters >> bits & 0xff) - first + 1) << shift;
  return first << shift;
}

/* "dictionary" in struct lu_bpf_shared: all modules share its rules, and published rows hold their
 * ids. Rule 0 means no information and rule 1 complex, as in every table. */
#define LU_BPF_MAX_RULES 32768
/* The rule of Go functions without a caller (LU_GO_TOP): the stack ends at such a frame, or the
 * walk falls back if it is the sampled one. It has cfa_kind LU_CFA_COMPLEX and ra_kind LU_RA_END.
 * Go functions that run their callee on another stack (LU_GO_SWITCH) have rule 1, but for return
 * addresses whose rules lead to that stack (src/elf/go-switch.h). */
#define LU_BPF_RULE_TOP 2

struct lu_bpf_dictionary
{
  struct lu_rule rules[LU_BPF_MAX_RULES];
  lu_compact_rule compact[LU_BPF_MAX_RULES]; /* of each, 0 for those without */
};

/* Extra bits of compact rules in the dictionary. DERIVED: the rule is (LU_RULE_DERIVED); the
 * program steps by it as by any other, and marks the caller (LU_BPF_PC_DERIVED). Above it: how many
 * words the return address, and FP if it is saved just below that, are deeper in the frame than
 * just below the CFA. Architectures with a link register save both at the bottom of frames. */
#define LU_BPF_COMPACT_DERIVED      (1ull << LU_COMPACT_EXTRA_SHIFT)
#define LU_BPF_COMPACT_RECORD_SHIFT (LU_COMPACT_EXTRA_SHIFT + 1)
#define LU_BPF_COMPACT_MAX_RECORD   ((1 << 15) - 1)
/* In bytes. */
#define LU_BPF_COMPACT_RECORD(rule)                                                                \
  ((uint64_t) ((rule) >> (LU_BPF_COMPACT_RECORD_SHIFT - 3)) & 8 * LU_BPF_COMPACT_MAX_RECORD)

/* Returns the compact form of a rule whose return address, by the CFA, is deeper in the frame than
 * usual, or 0. */
static inline lu_compact_rule
lu_bpf_compact_record (const struct lu_rule *rule)
{
  int64_t has_fp = lu_rule_fp_kind (rule) == LU_SAVE_AT_CFA, depth = -1 - (int64_t) rule->ra_off;
  int64_t words = depth + 1 + has_fp; /* from the CFA down to the deepest one */
  struct lu_rule usual = *rule;
  lu_compact_rule compact;

  if (depth > LU_BPF_COMPACT_MAX_RECORD || (has_fp && rule->fp_off != rule->ra_off - 1)
      || (rule->cfa_kind == LU_CFA_SP && rule->cfa_off < 8 * words)
      || (rule->cfa_kind == LU_CFA_FP && words > LU_COMPACT_MAX_ROOM))
    return 0;
  usual.ra_off = -1;
  if (has_fp)
    usual.fp_off = -2;
  compact = lu_compact_make (&usual);
  if (compact == 0)
    return 0;
  if (rule->cfa_kind == LU_CFA_FP)
    compact = (compact & ~LU_COMPACT) | (uint64_t) words << LU_COMPACT_ROOM_SHIFT;
  return compact | (uint64_t) depth << LU_BPF_COMPACT_RECORD_SHIFT;
}

/* Returns the compact form of a rule with extra bits, or 0. has_link: for an architecture with a
 * link register. The program takes the authentication code off every return address, so a compact
 * rule need not say that there is one. */
static inline lu_compact_rule
lu_bpf_compact_make (const struct lu_rule *rule, int has_link)
{
  struct lu_rule plain = *rule;
  lu_compact_rule compact;

  plain.flags &= (uint8_t) ~(LU_RULE_DERIVED | LU_RULE_SIGNED);
  compact = has_link && plain.ra_kind == LU_RA_AT_CFA && plain.ra_off < -1
                ? lu_bpf_compact_record (&plain)
                : lu_compact_make (&plain);
  return compact != 0 && (rule->flags & LU_RULE_DERIVED) != 0 ? compact | LU_BPF_COMPACT_DERIVED
                                                              : compact;
}

static inline void
lu_bpf_dictionary_set (struct lu_bpf_dictionary *dictionary, uint32_t id,
                       const struct lu_rule *rule, int has_link)
{
  dictionary->rules[id] = *rule;
  dictionary->compact[id] = lu_bpf_compact_make (rule, has_link);
}

/* "modules": slots, which mappings refer to. `table` is 0 while a module has no table; storing it
 * publishes the table to all processes at once. The other fields are stored before, and do not
 * change until the slot is given to another module. Slot 0 is never used. */
#define LU_BPF_MAX_MODULES 8192

struct lu_bpf_module
{
  uint64_t table; /* bits 0-31: word address of the page index; 32-63: number of pages; 0: none */
  uint64_t base;  /* ELF address of the first page, a multiple of its size */
  /* A number in bits 40-63 that no other module ever has, not 0; the other bits are 0. Together
   * with an ELF address it is the key of remembered rules. */
  uint64_t key;
  /* ELF address that the program is entered at: a return address of 0 is the end there, and in
   * LU_BPF_ENTRY_CODE bytes from it; 0: none (libraries without one, the vDSO). */
  uint64_t entry;
};

#define LU_BPF_KEY_SHIFT  40
#define LU_BPF_ENTRY_CODE 64

_Static_assert(sizeof (struct lu_bpf_module) == 32, "two modules to a cache line");

/* "use": a byte for each slot of "modules". The program sets bits, user space clears them now and
 * then. */
enum lu_bpf_use
{
  LU_BPF_USED = 1 << 0,   /* a walk has looked something up */
  LU_BPF_WANTED = 1 << 1, /* a walk fell back because the table is not there */
};

/* The executable mappings of an address space, in memory: sorted by start, not overlapping, at a
 * word address that is a multiple of 8. Several processes may share a block (fork). */
#define LU_BPF_MAX_MAPPINGS 4096

enum lu_bpf_mapping_kind
{
  LU_BPF_MAPPING_OPAQUE, /* falls back (no file yet, wrong architecture, vsyscall, ...) */
  LU_BPF_MAPPING_TABLE,  /* look up in the module's table */
  LU_BPF_MAPPING_JIT,    /* LU_STATUS_JIT: by frame pointer */
  LU_BPF_MAPPING_NO_CFI, /* LU_STATUS_NO_UNWIND_INFO, a file: by frame pointer */
};

struct lu_bpf_mapping
{
  uint64_t start, end; /* run-time addresses, end exclusive */
  uint64_t bias;       /* run-time minus ELF address; TABLE only */
  uint32_t module;     /* slot; 0: none. Mappings of one file have the same one */
  uint32_t kind;       /* enum lu_bpf_mapping_kind. TABLE: end - bias <= 2^40 */
};

_Static_assert(sizeof (struct lu_bpf_mapping) == 32, "two mappings to a cache line");

/* Map "processes": a HASH (preallocated before 6.1), key uint32_t tgid, in lu_bpf_config's pid
 * namespace. Stored after what it names. */
#define LU_BPF_MAX_PROCESSES 16384

enum lu_bpf_process_flags
{
  /* A module is not open yet: do not step by frame pointer. */
  LU_BPF_PROCESS_PENDING = 1 << 0,
  LU_BPF_PROCESS_HOTSPOT = 1 << 1, /* lu_address_space_has_hotspot() */
};

struct lu_bpf_process
{
  uint64_t serial;     /* lu_address_space_serial() of the space */
  uint32_t mappings;   /* word address */
  uint32_t n_mappings; /* 1 to LU_BPF_MAX_MAPPINGS */
  uint32_t identity;   /* which one of "identities"; 0: none, is not checked */
  uint32_t flags;      /* enum lu_bpf_process_flags */
  uint64_t check;      /* lu_bpf_process_check() of the rest and the tgid */
};

_Static_assert(sizeof (struct lu_bpf_process) == 32, "no holes");

static inline uint64_t
lu_bpf_process_check (const struct lu_bpf_process *process, uint32_t tgid)
{
  uint64_t check = process->serial * 0x9e3779b97f4a7c15ull;

  check ^= (uint64_t) process->mappings << 32 | process->n_mappings;
  check = check * 0x9e3779b97f4a7c15ull + tgid;
  return check ^ ((uint64_t) process->identity << 32 | process->flags);
}

/* "identities": one for each process and exec, so that a walk falls back after an exec or a reuse
 * of the pid that user space has not seen yet. User space fills it in before an entry refers to it,
 * with zeros for unknown fields; the first walk fills in the rest, and later walks compare. A
 * forked child's identity starts with its parent's exec_id and start_time 0; each exec adds one to
 * exec_id. All entries of one process and exec refer to the same identity. It is reused no sooner
 * than memory. The limit is a power of two. */
#define LU_BPF_MAX_IDENTITIES 32768

struct lu_bpf_identity
{
  uint64_t
      start_time;   /* task_struct.start_boottime (start_time before 5.5) of the leader; 0: any */
  uint64_t exec_id; /* 1 + task_struct.self_exec_id; 0: any */
  uint64_t
      seen_ns; /* CLOCK_MONOTONIC, when a walk filled in exec_id, stored before it; 0: none did */
};

/* "announced": the processes whose arguments have been announced (struct lu_bpf_arguments), as a
 * hash table of one word for each process and exec. If two collide, both are announced again. */
#define LU_BPF_N_ANNOUNCED 4096 /* a power of two */

/* Returns the word of a process and exec, whose low bits are its index; never 0. */
static inline uint64_t
lu_bpf_announcer (uint64_t start_time, uint64_t exec_id)
{
  uint64_t hash = (start_time ^ exec_id << 56) * 0x9e3779b97f4a7c15ull;

  return (hash ^ hash >> 32) | 1ull << 63;
}

/* "known": mapped files and their slots, by the kernel's inode, device and offset. The program uses
 * them in a process that is not published yet, whose mappings it reads from the kernel
 * (LU_BPF_VMAS). File and offset select a group of entries. An entry is written with `check` 0 in
 * between, and is all zeros if unused. Entries of a slot are removed before the slot is. */
#define LU_BPF_KNOWN_GROUPS 1024 /* a power of two */
#define LU_BPF_KNOWN_PLACES 4    /* entries of a group */
#define LU_BPF_MAX_KNOWN    (LU_BPF_KNOWN_GROUPS * LU_BPF_KNOWN_PLACES)
#define LU_BPF_DEVICE_SHIFT 20 /* MKDEV(), include/linux/kdev_t.h */

struct lu_bpf_known
{
  uint64_t inode;
  uint64_t offset;     /* in the file, of the mapping; bytes */
  uint64_t to_ea;      /* offset in the file + to_ea: ELF address */
  uint32_t device;     /* lu_bpf_device() */
  uint32_t generation; /* of the inode; 0: any */
  uint32_t slot;       /* mappings of it are of kind TABLE */
  uint32_t check;      /* lu_bpf_known_check() of the rest */
};

_Static_assert(sizeof (struct lu_bpf_known) == 40, "no holes");

#define LU_BPF_MIX 0x9e3779b97f4a7c15ull

static inline uint64_t
lu_bpf_known_hash (uint64_t inode, uint32_t device, uint64_t offset)
{
  return ((inode * LU_BPF_MIX ^ device) * LU_BPF_MIX ^ offset) * LU_BPF_MIX;
}

/* Returns a device number in the kernel's form. */
static inline uint32_t
lu_bpf_device (uint32_t major, uint32_t minor)
{
  return major << LU_BPF_DEVICE_SHIFT | minor;
}

/* Returns the index of the first entry of a group. */
static inline uint32_t
lu_bpf_known_group (uint64_t hash)
{
  return (uint32_t) (hash >> 40) % LU_BPF_KNOWN_GROUPS * LU_BPF_KNOWN_PLACES;
}

/* Returns the check word of an entry; never 0. */
static inline uint32_t
lu_bpf_known_check (const struct lu_bpf_known *known)
{
  uint64_t check = lu_bpf_known_hash (known->inode, known->device, known->offset);

  check = (check ^ known->to_ea) * LU_BPF_MIX;
  check = (check ^ ((uint64_t) known->generation << 32 | known->slot)) * LU_BPF_MIX;
  return (uint32_t) (check >> 32) | 1;
}

/* Returns bits that stand for a file and its position in an address space. `base` is the address of
 * its first byte. */
static inline uint64_t
lu_bpf_vma_mark (uint64_t inode, uint32_t device, uint64_t base)
{
  uint64_t hash = lu_bpf_known_hash (inode, device, base);

  return 1ull << (hash >> 58) | 1ull << (hash >> 52 & 63) | 1ull << (hash >> 46 & 63);
}

/* "interps": interpreters (interp.h), which modules name by their index plus 1. User space stores
 * one before it is named, and computes how much of each structure has to be read. */
#define LU_BPF_STRUCT_BYTES 256
/* Bytes before the text in a text object, at most. */
#define LU_BPF_TEXT_HEADER 72

struct lu_bpf_interp
{
  struct lu_interp_file file;
  uint32_t thread_bytes, frame_bytes, code_bytes; /* below LU_BPF_STRUCT_BYTES */
};

/* In a number of "interps": it is only tasks, of an interpreter in another file. */
#define LU_BPF_INTERP_TASKS 0x80

/* "announced_functions": functions whose announcement is in the ring, as a hash table of one word
 * for each process, code object and check. User space clears it when announcements may be lost. */
#define LU_BPF_N_ANNOUNCED_FUNCTIONS 16384 /* a power of two */

/* Variables of the program, in its map "bss", an ARRAY of one value, BPF_F_MMAPABLE, so the program
 * needs no look-up. They start as zeros. User space writes them; the program writes bits of "use",
 * empty fields of "identities", and "announced". */
struct lu_bpf_shared
{
  struct lu_bpf_dictionary dictionary;
  struct lu_bpf_module modules[LU_BPF_MAX_MODULES];
  struct lu_bpf_known known[LU_BPF_MAX_KNOWN];
  uint8_t use[LU_BPF_MAX_MODULES];        /* enum lu_bpf_use */
  uint64_t announced[LU_BPF_N_ANNOUNCED]; /* only the program writes it */
  struct lu_bpf_interp interps[LU_INTERP_MAX_FILES];
  uint8_t interp_of[LU_BPF_MAX_MODULES]; /* index in "interps" plus 1, with LU_BPF_INTERP_TASKS; 0:
                                            none */
  uint64_t announced_functions[LU_BPF_N_ANNOUNCED_FUNCTIONS];
  /* Grows after each change of "processes", so that a walk may use the entry that it has copied
   * before. */
  uint64_t process_changes;
  /* The map ends after lu_bpf_config's n_identities of these, because the kernel allocates and
   * clears all of it at once. */
  struct lu_bpf_identity identities[LU_BPF_MAX_IDENTITIES];
};

/* The largest value of a map before Linux 6.1. */
_Static_assert(sizeof (struct lu_bpf_shared) < 4u << 20, "fits in a map of one value");

/* Configuration: the program's constants, set before it is loaded. */
enum lu_bpf_config_flags
{
  LU_BPF_TASK_BTF = 1 << 0,    /* the kernel has bpf_get_current_task_btf() (5.11) and BTF */
  LU_BPF_TASK_REGS = 1 << 1,   /* the kernel also has bpf_task_pt_regs() (5.15) */
  LU_BPF_CHECK = 1 << 2,       /* emit, and let the sample arrive as well */
  LU_BPF_FOLLOW = 1 << 3,      /* no samples of processes without an entry, unless they began later
                                  than we did, below one with an entry; needs TASK_BTF */
  LU_BPF_TIME_WALKS = 1 << 4,  /* fill the histogram of the counters */
  LU_BPF_NO_CACHE = 1 << 5,    /* remember no rules; for comparison */
  LU_BPF_VMAS = 1 << 6,        /* where nothing is published, use the kernel's own mappings (6.1) */
  LU_BPF_ARGUMENTS = 1 << 7,   /* tell what sampled processes were started with; needs VMAS */
  LU_BPF_REPLACEABLE = 1 << 8, /* the kernel allows a tail call beside subprograms: "replacement" */
};

struct lu_bpf_config
{
  uint32_t flags;
  uint32_t max_frames; /* user frames of a stack; at most LU_BPF_MAX_FRAMES */
  uint64_t budget_ns;  /* a walk that takes longer falls back; 0: none */
  uint64_t started_ns; /* CLOCK_BOOTTIME, before the first process got its entry */
  /* Inode of user space's pid namespace, which has the numbers that side-band says; 0: the initial
   * one. What is not in it is not followed. */
  uint32_t pid_namespace;
  uint32_t n_identities; /* a power of two, at most LU_BPF_MAX_IDENTITIES */
  uint64_t address_mask; /* the bits of an address; others may be an authentication code */
};

/* The value of LU_STACK_MAX_FRAMES. */
#define LU_BPF_MAX_FRAMES     4096
#define LU_BPF_DEFAULT_FRAMES LU_BPF_MAX_FRAMES
#define LU_BPF_MAX_KERNEL     127 /* PERF_MAX_STACK_DEPTH, as the kernel's default */

/* Map "outputs": a PERF_EVENT_ARRAY, by CPU: events of PERF_COUNT_SW_BPF_OUTPUT. The raw data of a
 * sample of such an event is this record and up to 7 bytes more:
 *
 *   0        4         8     12    16     24       32      36       40    42         44       48
 *   | version | status | pid | tid | time | serial | flags | ns/16 | n_kernel | n_user | zero | ...
 *   ... 48   56   64 ...
 *       | ip | sp | pcs: n_kernel, then n_user
 *
 * pcs are leaf first. Those of the kernel are as bpf_get_stack() gives them, without a marker. */
struct lu_bpf_record
{
  uint32_t version;  /* LU_BPF_VERSION */
  uint32_t status;   /* LuStatus: COMPLETE, DEPTH_LIMIT after max_frames frames, or OTHER_STACK: one
                        frame, since another process may have written to the stack */
  uint32_t pid, tid; /* tgid, and the thread's, in lu_bpf_config's pid namespace */
  uint64_t time;     /* ns, CLOCK_MONOTONIC */
  uint64_t serial;   /* of the address space; with VMAS, the marks of all mappings used */
  uint32_t flags;    /* enum lu_bpf_record_flags */
  uint32_t walk_ns;  /* with LU_BPF_TIME_WALKS; else 0 */
  uint16_t n_kernel; /* at most LU_BPF_MAX_KERNEL */
  uint16_t n_user;   /* at least 1, at most LU_BPF_MAX_FRAMES */
  uint32_t zero;
  uint64_t ip; /* where the sample hit: the kernel's, if it was there */
  uint64_t sp; /* the user stack pointer */
  uint64_t pcs[];
};

_Static_assert(sizeof (struct lu_bpf_record) == 64, "pcs are aligned");

enum lu_bpf_record_flags
{
  LU_BPF_RECORD_KERNEL = 1 << 0,   /* the sample hit the kernel */
  LU_BPF_RECORD_INFERRED = 1 << 1, /* some frame was found by frame pointer */
  LU_BPF_RECORD_VMAS = 1 << 2,     /* walked by the kernel's own mappings */
};

/* User pcs have these bits set; a user address has at most 57. */
#define LU_BPF_PC_RETURN   (1ull << 63) /* LU_FRAME_RETURN_ADDRESS */
#define LU_BPF_PC_INFERRED (1ull << 62) /* LU_FRAME_INFERRED */
#define LU_BPF_PC_DERIVED  (1ull << 61) /* LU_FRAME_DERIVED, but the step is yet to be verified */
#define LU_BPF_PC_MASK     (~(LU_BPF_PC_RETURN | LU_BPF_PC_INFERRED | LU_BPF_PC_DERIVED))

/* The other raw data of such samples, before the first walk or copy of a process after its exec:
 * its arguments, as they are in its memory now.
 *
 *   0        4      8
 *   | version | size | text: arguments, zeros between them
 *
 * A process that has not called exec since its fork is not announced. */
#define LU_BPF_ARGUMENTS_VERSION (1u << 31 | LU_BPF_VERSION)
#define LU_BPF_MAX_ARGUMENTS     4095 /* the rest is cut off; a mask bounds the size */

struct lu_bpf_arguments
{
  uint32_t version; /* LU_BPF_ARGUMENTS_VERSION */
  uint32_t size;    /* bytes of text: 1 to LU_BPF_MAX_ARGUMENTS */
  uint8_t text[];
};

_Static_assert(sizeof (struct lu_bpf_arguments) == 8, "no holes");

/* The outcomes of a run of the program; each has a counter.
 *   X (NAME, key, title) */
#define LU_BPF_REASON_LIST(X)                                                                      \
  X (UNWOUND, "walked", "walked in the kernel")                                                    \
  X (DEPTH, "depth-limit", "depth limit")                                                          \
  X (NOT_FOLLOWED, "not-followed", "process not followed: no sample")                              \
  X (NO_PROCESS, "no-process", "process not known yet")                                            \
  X (STALE_PROCESS, "stale-process", "process has changed")                                        \
  X (NO_REGS, "no-registers", "no user registers in reach")                                        \
  X (ABI, "abi", "not 64-bit code")                                                                \
  X (NO_MAPPING, "no-mapping", "no executable mapping")                                            \
  X (OPAQUE, "opaque-mapping", "mapping that cannot be unwound")                                   \
  X (NO_TABLE, "no-table", "table not there")                                                      \
  X (NO_RULE, "no-unwind-info", "no unwind information")                                           \
  X (COMPLEX, "complex-rule", "rule not supported")                                                \
  X (UNREADABLE, "unreadable-memory", "memory not readable")                                       \
  X (BAD_FRAME, "bad-frame", "frame that leads nowhere")                                           \
  X (NO_FRAME_POINTER, "no-frame-pointer", "no believable frame pointer")                          \
  X (BUDGET, "over-budget", "walk took too long")                                                  \
  X (EMIT, "emit-failed", "no room in the ring")                                                   \
  X (INTERNAL, "internal", "map not there or inconsistent")                                        \
  X (OTHER_STACK, "other-stack", "stack that its owner uses again")

/* clang-format off */
enum lu_bpf_reason
{
#define X(NAME, key, title) LU_BPF_REASON_##NAME,
  LU_BPF_REASON_LIST (X)
#undef X
  LU_BPF_N_REASONS
};
/* clang-format on */

/* A histogram of durations: bucket 0 is below 256 ns, then there are four for each doubling. */
#define LU_BPF_N_BUCKETS 64

/* Map "counters": an ARRAY by CPU, BPF_F_MMAPABLE; only the program writes. All zeros at first. */
struct lu_bpf_counters
{
  uint64_t reasons[LU_BPF_N_REASONS]; /* sum: all runs */
  uint64_t values[LU_N_BPF_COUNTERS]; /* by LuCounter */
  /* The last walk that fell back because of the code: */
  uint64_t failed_pc; /* run-time */
  uint64_t failed_ea; /* ELF, if there is a table */
  uint32_t failed_module, failed_reason;
  uint64_t buckets[LU_BPF_N_BUCKETS]; /* finished walks, with LU_BPF_TIME_WALKS */
};
