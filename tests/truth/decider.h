/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* decider.h - an engine that claims to know a frame's caller, and is compared with the truth.
 *
 * There is one file per decider; truth.c lists them. A decider opens each module once and is asked
 * for the rule of each place once. Like an unwinder, the execution of a rule sees only registers
 * and memory. */

#pragma once

#include "memory.h"

#include <glib.h>
#include <libelf.h>

/* DWARF register numbers (System V ABI for x86-64, figure 3.36). */
enum
{
  REGISTER_RAX = 0,
  REGISTER_RBX = 3,
  REGISTER_RBP = 6,
  REGISTER_RSP = 7,
  REGISTER_PC = 16,
  N_REGISTERS
};

#define ALL_REGISTERS ((1u << N_REGISTERS) - 1)

typedef enum
{
  FRAME_RUNNING,     /* innermost: its pc is exact */
  FRAME_INTERRUPTED, /* interrupted by a signal: its pc is exact */
  FRAME_CALLING,     /* its pc is a return address: the rule is that of the byte before */
} FrameKind;

typedef struct
{
  guint64 value[N_REGISTERS];
  guint32 known;    /* bit per register */
  guint8 kind;      /* FrameKind */
  guint64 ucontext; /* of an interrupted frame, if the decider knows where it is; otherwise 0 */
} Registers;

typedef enum
{
  ANSWER_CALLER,      /* the caller's registers are filled in */
  ANSWER_OUTERMOST,   /* there is no caller */
  ANSWER_NOTHING,     /* there is no unwind information here */
  ANSWER_UNSUPPORTED, /* there is some, and the decider leaves it to another engine */
  ANSWER_FAILED,      /* the rule cannot be executed */
} Answer;

/* A mapped file, or the vDSO. */
typedef struct
{
  const char *path;
  int fd;              /* -1 for the vDSO */
  const guint8 *bytes; /* of the vDSO */
  gsize size;
  Elf *elf;
} ModuleFile;

typedef struct
{
  const char *name;
  /* NULL if the file has nothing for this decider. It lives as long as the program. */
  gpointer (*open) (const ModuleFile *file);
  /* The rule for an ELF address; NULL if there is none. */
  gpointer (*look_up) (gpointer module, guint64 address);
  Answer (*step) (gpointer rule, const Registers *callee, Memory *memory, Registers *caller);
  /* The caller frees it with g_free(). */
  char *(*describe) (gpointer rule);
} Decider;

#define MAX_DECIDERS 8

extern const Decider decide_libdw;
extern const Decider decide_table; /* of whole files */
extern const Decider decide_alone; /* one place at a time */
/* decide_table with one mistake, for tests that must fail; NULL after the last one. The caller
 * frees it with g_free(). */
Decider *decide_broken_new (guint index);
