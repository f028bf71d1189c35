/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* namer.h - finds the functions of addresses, for captures and for reports.
 *
 * Captures (capture/syscap-hits.c) and models (profile/model-names.c) both get their names here,
 * so a capture and a report of it agree. Addresses in files are collected first and named file by
 * file: each file is opened once, and the symbols of only one file are in memory. A file is used
 * only if it is the one that was mapped. The order of preference is: .symtab of the file, its debug
 * file on this machine, .dynsym (elf-symbols.h), then files that debuginfod servers have. Code
 * without a symbol is named by its place: by the start of its function (elf-fdes.h), or else by its
 * own address. Generated code has the perf map and the jitdump of its process (jit-names.h). Kernel
 * functions come from kallsyms.h directly.
 *
 * One thread. All names stay valid until lu_namer_free(). */

#pragma once

#include "symbolize/debuginfod.h"

typedef struct _LuNamer LuNamer;

typedef struct
{
  guint64 file_offset; /* in: of a byte of the function; generated code: its address */
  /* out: file offsets or addresses of the function, end exclusive; a cold part of a function has
   * its own */
  guint64 start, end;
  /* out: demangled, or a place (place-names.h). NULL: generated code without a name, or more text
   * than all places together may have. Owned by the namer. */
  const char *name;
  gboolean has_symbol; /* out: the name is no place */
  /* out: equal for the addresses of one function of one file, in all processes; functions of one
   * name have different numbers. Counted from 1; 0: generated code. */
  guint32 function;
  guint32 file, number; /* in: of lu_namer_add() */
  gboolean is_generated;
  /* Private: */
  guint64 time;
  guint64 place;     /* ELF address, or else file offset, that stands for a missing symbol */
  guint64 beginning; /* with a symbol: file offset of the function, whose part this may be */
} LuNameQuery;

typedef enum
{
  LU_NAMES_READ,
  LU_NAMES_NO_FILE, /* the file is gone, or another one is in its place */
  LU_NAMES_NO_ELF,  /* the file cannot be read as ELF */
  /* More than a file, or all of them, may cost (budget.h): */
  LU_NAMES_TOO_LARGE,
  LU_NAMES_TOO_SLOW,
  LU_NAMES_SKIPPED, /* progress() ended it */
} LuNamesResult;

/* An address in generated code. */
typedef struct
{
  gint32 pid;
  guint64 address;
  guint64 time; /* of a sample there (CLOCK_MONOTONIC, ns) */
} LuGeneratedQuery;

/* Called before each file is opened and many times a second, because naming may take seconds. FALSE
 * ends it at once. */
typedef gboolean (*LuNamerProgress) (guint done, guint total, gpointer user_data);

/* Sets n_samples of each LuUnnamedFile in `files`: the samples with an unnamed address in that
 * file. Its number is that of lu_namer_add_file(). Returns the number of all samples. */
typedef guint64 (*LuNamerCount) (GArray *files, gpointer user_data);

typedef struct
{
  LuNamerProgress progress; /* NULL: none */
  gpointer progress_data;
  LuDebuginfod *debuginfod; /* borrowed; NULL: fetch nothing */
  LuNamerCount count;       /* needed with debuginfod */
  gpointer count_data;
} LuNamerOptions;

/* jitdumps: pid -> path of its jitdump (borrowed). */
LuNamer *lu_namer_new (GHashTable *jitdumps);
void lu_namer_free (LuNamer *self);

/* Adds a file, whose identity is borrowed. Returns its number, counted from 0. "[vdso]" is named by
 * the vDSO of this process if that has the same build-id. */
guint32 lu_namer_add_file (LuNamer *self, const LuNameFile *file);
/* Asks for the function at an offset of a file. The caller chooses `number`. */
void lu_namer_add (LuNamer *self, guint32 file, guint64 file_offset, guint32 number);
/* Asks for a function of generated code, when all files are added. */
void lu_namer_add_generated (LuNamer *self, const LuGeneratedQuery *query, guint32 number);

/* Names everything that was added. FALSE if progress() ended it; the names found so far stay. */
gboolean lu_namer_run (LuNamer *self, const LuNamerOptions *options);
/* Does so without reading anything: everything in files is named by its own address. */
void lu_namer_run_without_files (LuNamer *self);

/* Returns the answers, sorted by file and offset. While lu_namer_run() goes on, code that has no
 * symbol yet has no name either. Borrowed until the next lu_namer_add(). */
const LuNameQuery *lu_namer_answers (LuNamer *self, guint *n_answers);
/* Returns how reading a file went; LU_NAMES_NO_FILE before lu_namer_run(). */
LuNamesResult lu_namer_result (const LuNamer *self, guint32 file);

/* Returns for how many files this process has given up looking for names, because they cost too
 * much. Any thread. */
guint lu_namer_n_given_up (void);
/* Returns the one copy of a text that the namer keeps. */
const char *lu_namer_intern (LuNamer *self, const char *text);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LuNamer, lu_namer_free)
