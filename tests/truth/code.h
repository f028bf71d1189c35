/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* code.h - the code of a process: mapped files, and the facts about each place in them.
 *
 * Files and places stay for the whole run and are shared by all processes; mappings belong to one
 * process. A place is one byte of a file's code: an instruction that was executed, or the byte
 * before a return address. */

#pragma once

#include "decide-list.h"
#include "decode.h"

typedef struct
{
  char *path;
  const char *name; /* the last part of path */
  ModuleFile file;
  guint64 low, high; /* ELF addresses of its code */
  gpointer opened[MAX_DECIDERS];
  struct _Place **places; /* by ELF address - low */
  guint n_places;
} Module;

typedef struct _Place
{
  Module *module;
  guint64 address; /* ELF address */
  Instruction instruction;
  gboolean is_decoded;
  guint8 answered; /* bit per decider: rules[] was requested */
  gpointer rules[MAX_DECIDERS];
} Place;

typedef struct _Code Code;

/* For a process that was just started; it knows nothing yet. `deciders` must outlive it. */
Code *code_new (pid_t pid, Memory *memory, const DeciderList *deciders);
void code_free (Code *self);
/* To be called when mappings have changed. */
void code_forget (Code *self);
/* Returns the place mapped at an address; NULL outside of files. */
Place *code_find (Code *self, guint64 address);
/* Returns the rule of a decider, NULL if it has none there. */
gpointer place_rule (Place *self, const DeciderList *deciders, guint decider);
/* Returns the function that contains the place, or "?"; valid for the whole run. */
const char *place_function (const Place *self);
/* Returns what the instruction at a place does; it is read from memory once. */
const Instruction *code_instruction (Code *self, Place *place, guint64 address);

/* Returns all modules seen so far, of Module. */
const GPtrArray *code_modules (void);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Code, code_free)
