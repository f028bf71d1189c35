/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* go-stacks.c - finds the outermost functions of Go programs; see go-stacks.h. */

#include "elf/go-stacks.h"

#include "arch/arch.h"
#include "elf/go-switch.h"

#include <string.h>

/* Each name occurs once, or twice with the two calling conventions (runtime.goexit.abi0); a program
 * has a dozen more functions that write the stack pointer. */
#define MAX_FUNCTIONS 256

static const struct
{
  const char *name;
  LuGoFunctionKind kind;
} special[] = {
  { "runtime.goexit", LU_GO_TOP },
  { "runtime.mstart", LU_GO_TOP },
  { "runtime.rt0_go", LU_GO_TOP },
  { "runtime.mcall", LU_GO_LEAVE },
  { "runtime.morestack", LU_GO_LEAVE },
  { "runtime.systemstack", LU_GO_SWITCH },
  { "runtime.asmcgocall", LU_GO_SWITCH },
  { "gogo", LU_GO_SWITCH },
  { "runtime.asyncPreempt", LU_GO_PREEMPT },
  { "runtime.sigreturn", LU_GO_RESTORER },
  { "runtime.sigreturn__sigaction", LU_GO_RESTORER },
};

/* Compares the name without the suffix of its calling convention. */
static LuGoFunctionKind
kind_of (const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (special); i++)
    {
      gsize length = strlen (special[i].name);

      if (strncmp (name, special[i].name, length) == 0
          && (name[length] == 0 || strncmp (name + length, ".abi", 4) == 0))
        return special[i].kind;
    }
  return LU_GO_ORDINARY;
}

static void
add_switch (GArray *self, const LuArch *arch, guint64 start, const LuGoCode *code)
{
  const LuArchText text = { .bytes = code->code, .vaddr = start, .size = code->size };
  LuGoFunction found = { .kind = LU_GO_SWITCH };
  LuArchRange where;

  if (!arch->files.find_go_switch (code->name, &text, &where, &found.rule))
    return;
  found.start = start + where.start;
  found.end = start + where.end;
  g_array_append_val (self, found);
}

/* Adds the places in a function from which walks go on another stack. */
static void
add_switches (GArray *self, const LuGoTable *table, const LuArch *arch,
              const LuGoTableFunction *function)
{
  g_autofree char *name = g_strdup (lu_go_table_name (table, function));
  guint8 bytes[LU_GO_SWITCH_BYTES];
  LuGoCode code = { .name = name, .code = bytes };
  struct lu_rule rule;

  if (!lu_go_may_switch (name) || arch == NULL || !arch->files.has_go_frames)
    return;
  code.size = lu_go_table_code (table, function, bytes, sizeof bytes);
  if (arch->files.find_go_switch != NULL)
    {
      add_switch (self, arch, function->start, &code);
      return;
    }
  for (gsize at = 0; self->len < MAX_FUNCTIONS && lu_go_find_switch (&code, &at, &rule); at++)
    {
      guint64 address = function->start + at;
      LuGoFunction found = { address - 1, address, LU_GO_SWITCH, rule };

      g_array_append_val (self, found);
    }
}

/* Adds the first instruction of runtime.asyncPreempt, at which the handler that calls it returns
 * from its own stack: only the walk in the kernel can read both. Behind it, the goroutine's stack
 * is the one that is sampled. */
static void
add_preempt (GArray *self, const LuArch *arch, guint64 start)
{
  gboolean has_link = arch->has_link_register;
  LuGoFunction found = { start,
                         start + 1,
                         LU_GO_PREEMPT,
                         { .cfa_kind = LU_CFA_SP,
                           .cfa_off = has_link ? 0 : arch->word_size,
                           .saves = LU_SAVE_SAME | LU_SAVE_SAME << 4,
                           .ra_kind = has_link ? LU_RA_LINK : LU_RA_AT_CFA,
                           .ra_off = has_link ? 0 : -1,
                           .flags = LU_RULE_SIGNAL } };

  if (arch->files.complete_go_preempt != NULL)
    arch->files.complete_go_preempt (&found.rule);
  g_array_append_val (self, found);
}

/* Returns what a function means for its stack. Until Go 1.16 no flag tells that it writes the stack
 * pointer. */
static LuGoFunctionKind
find_kind (const LuGoTable *table, const LuGoTableFunction *function)
{
  const char *name = lu_go_table_name (table, function);
  LuGoFunctionKind kind = kind_of (name);
  gboolean is_switch = (function->flags & LU_GO_FLAG_SP_WRITE) != 0
                       || (!lu_go_table_has_flags (table) && lu_go_may_switch (name));

  return kind == LU_GO_ORDINARY && is_switch ? LU_GO_SWITCH : kind;
}

GArray *
lu_go_functions_new (const LuGoTable *table, guint16 machine)
{
  const LuArch *arch = lu_arch_with_tables (machine);
  GArray *self = g_array_new (FALSE, FALSE, sizeof (LuGoFunction));
  guint n = lu_go_table_n_functions (table);
  LuGoTableFunction function;

  for (guint i = 0; i < n && self->len < MAX_FUNCTIONS; i++)
    {
      LuGoFunction found = { .kind = LU_GO_ORDINARY };

      if (lu_go_table_function (table, i, &function))
        found = (LuGoFunction){ .start = function.start,
                                .end = function.end,
                                .kind = find_kind (table, &function) };
      if (found.kind == LU_GO_SWITCH)
        add_switches (self, table, arch, &function);
      if (found.kind == LU_GO_PREEMPT && arch != NULL)
        add_preempt (self, arch, found.start);
      if (found.kind == LU_GO_RESTORER)
        {
          /* The function before may be special, too. */
          found.end = found.start--;
          g_array_prepend_val (self, found);
        }
      else if (found.kind != LU_GO_ORDINARY)
        {
          if (arch != NULL && (found.kind == LU_GO_SWITCH || found.kind == LU_GO_LEAVE))
            found.start += arch->files.code_unit; /* at its first instruction it has yet to move */
          g_array_append_val (self, found);
        }
    }
  return self;
}

LuGoFunctionKind
lu_go_functions_find (const GArray *functions, guint64 elf_address)
{
  for (guint i = 0; functions != NULL && i < functions->len; i++)
    {
      const LuGoFunction *function = &g_array_index (functions, LuGoFunction, i);

      if (elf_address >= function->start && elf_address < function->end)
        return function->kind;
    }
  return LU_GO_ORDINARY;
}

gboolean
lu_go_stack_ends (LuGoFunctionKind kind, gboolean is_caller, LuStatus *status)
{
  gboolean has_no_caller = is_caller && (kind == LU_GO_TOP || kind == LU_GO_LEAVE);

  *status = has_no_caller ? LU_STATUS_COMPLETE : LU_STATUS_OTHER_STACK;
  return has_no_caller || kind == LU_GO_LEAVE || kind == LU_GO_SWITCH;
}
