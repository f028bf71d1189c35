/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* language.h - what a language tells about its interpreter; see docs/HOWTO-add-an-interpreter.md.
 */

#pragma once

#include "arch/arch.h"
#include "elf/headers.h"
#include "interp/interp.h"

/* A file that may have an interpreter. Borrowed. */
typedef struct
{
  const LuElfHeaders *headers;
  const LuElfInput *input;
  const LuArch *arch;
} LuInterpInput;

typedef enum
{
  LU_INTERP_ABSENT,
  LU_INTERP_FOUND,
  LU_INTERP_UNKNOWN, /* a version that is not known; its number is in file.version */
} LuInterpOutcome;

typedef struct
{
  const char *name;    /* "Python" */
  const char *section; /* a file with this section may have the interpreter; NULL: none, */
  const char *part;    /* and one with this text in the last part of its path */
  /* Fills in a struct of zeros. Trusts no byte of the file. */
  LuInterpOutcome (*recognize) (const LuInterpInput *input, LuInterp *interp);
} LuLanguage;

/* tasks: of asyncio, beside Python. */
extern const LuLanguage lu_language_python, lu_language_ruby, lu_language_tasks;

/* Reads bytes of a segment at an ELF address. Returns FALSE if they are not all in the file. */
gboolean lu_interp_read (const LuInterpInput *self, guint64 address, gpointer bytes, gsize size);
