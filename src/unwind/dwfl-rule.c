/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* dwfl-rule.c - writes libdw's rules; see dwfl-rule.h.
 *
 * An expression is written as a formula by keeping the text of each value on a stack; operations
 * that formulas of rules do not have are written as their number. */

#include "unwind/dwfl-rule.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <inttypes.h>
#include <libelf.h>
#include <stdlib.h>

static void
push (GPtrArray *values, char *text)
{
  g_ptr_array_add (values, text);
}

static char *
pop (GPtrArray *values)
{
  return values->len > 0 ? g_ptr_array_steal_index (values, values->len - 1) : g_strdup ("?");
}

static const char *
sign_of (const Dwarf_Op *op)
{
  switch (op->atom)
    {
    case DW_OP_plus:
      return "+";
    case DW_OP_minus:
      return "-";
    case DW_OP_and:
      return "&";
    case DW_OP_shl:
      return "<<";
    case DW_OP_ge:
      return ">=";
    default:
      return NULL;
    }
}

static void
write_operation (GPtrArray *values, const Dwarf_Op *op, const LuArch *names)
{
  g_autofree char *right = NULL, *left = NULL;

  if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31)
    push (values,
          g_strdup_printf ("%s%+" PRId64, lu_arch_register_name (names, op->atom - DW_OP_breg0),
                           (gint64) op->number));
  else if (op->atom == DW_OP_bregx)
    push (values, g_strdup_printf ("%s%+" PRId64, lu_arch_register_name (names, (guint) op->number),
                                   (gint64) op->number2));
  else if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31)
    push (values, g_strdup (lu_arch_register_name (names, op->atom - DW_OP_reg0)));
  else if (op->atom == DW_OP_regx)
    push (values, g_strdup (lu_arch_register_name (names, (guint) op->number)));
  else if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31)
    push (values, g_strdup_printf ("%d", op->atom - DW_OP_lit0));
  else if (op->atom == DW_OP_call_frame_cfa)
    push (values, g_strdup ("cfa"));
  else if (op->atom == DW_OP_plus_uconst)
    {
      left = pop (values);
      push (values, g_strdup_printf ("%s%+" PRId64, left, (gint64) op->number));
    }
  else if (op->atom == DW_OP_deref)
    {
      left = pop (values);
      push (values, g_strdup_printf ("*(%s)", left));
    }
  else if (sign_of (op) != NULL)
    {
      right = pop (values);
      left = pop (values);
      push (values, g_strdup_printf ("(%s%s%s)", left, sign_of (op), right));
    }
  else
    push (values, g_strdup_printf ("[operation %#x]", op->atom));
}

static char *
write_expression (const Dwarf_Op *ops, size_t n_ops, const LuArch *names)
{
  g_autoptr (GPtrArray) values = g_ptr_array_new_with_free_func (g_free);
  GString *text = g_string_new (NULL);

  for (size_t i = 0; i < n_ops; i++)
    write_operation (values, &ops[i], names);
  /* Unknown operations leave more than one value. */
  for (guint i = 0; i < values->len; i++)
    g_string_append_printf (text, "%s%s", i > 0 ? " " : "", (char *) values->pdata[i]);
  return g_string_free (text, FALSE);
}

/* Returns the location of a caller's register as text; dwarf_frame_register() in libdw.h explains
 * the operations. */
static char *
write_register (Dwarf_Frame *frame, guint number, const LuArch *names)
{
  Dwarf_Op memory[3], *ops = memory;
  g_autofree char *text = NULL;
  size_t n_ops = 0;

  if (dwarf_frame_register (frame, (int) number, memory, &ops, &n_ops) != 0)
    return g_strdup ("(failed)");
  if (n_ops == 0)
    return g_strdup (ops == NULL ? "same" : "undefined");
  if (ops[n_ops - 1].atom == DW_OP_stack_value)
    return write_expression (ops, n_ops - 1, names);
  text = write_expression (ops, n_ops, names);
  if (n_ops == 1
      && (ops[0].atom == DW_OP_regx || (ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31)))
    return g_steal_pointer (&text);
  return g_strdup_printf ("*(%s)", text);
}

static char *
write_frame (Dwarf_Frame *frame, const LuArch *names)
{
  const guint registers[] = { names->fp, names->bx, names->ra };
  GString *text = g_string_new ("cfa=");
  bool is_signal = false;
  Dwarf_Op *ops;
  size_t n_ops;

  if (dwarf_frame_cfa (frame, &ops, &n_ops) == 0 && n_ops > 0)
    {
      g_autofree char *cfa = write_expression (ops, n_ops, names);

      g_string_append (text, cfa);
    }
  else
    g_string_append (text, "(failed)");
  for (guint i = 0; i < G_N_ELEMENTS (registers); i++)
    if (registers[i] <= LU_ARCH_MAX_REGISTER)
      {
        g_autofree char *place = write_register (frame, registers[i], names);

        g_string_append_printf (
            text, " %s=%s",
            registers[i] == names->ra ? "ra" : lu_arch_register_name (names, registers[i]), place);
      }
  dwarf_frame_info (frame, NULL, NULL, &is_signal);
  if (is_signal)
    g_string_append (text, " signal");
  return g_string_free (text, FALSE);
}

/* Looks in .eh_frame, then in .debug_frame, like libdwfl. */
static char *
ask (Elf *elf, guint64 elf_address, const LuArch *names)
{
  Dwarf_CFI *eh_frame = dwarf_getcfi_elf (elf);
  Dwarf *dwarf = dwarf_begin_elf (elf, DWARF_C_READ, NULL);
  Dwarf_CFI *debug_frame = dwarf != NULL ? dwarf_getcfi (dwarf) : NULL;
  Dwarf_Frame *frame = NULL;
  char *text;

  if ((eh_frame != NULL && dwarf_cfi_addrframe (eh_frame, elf_address, &frame) == 0)
      || (debug_frame != NULL && dwarf_cfi_addrframe (debug_frame, elf_address, &frame) == 0))
    text = write_frame (frame, names);
  else
    text = g_strdup ("nothing known");
  free (frame);
  if (eh_frame != NULL)
    dwarf_cfi_end (eh_frame);
  dwarf_end (dwarf); /* its CFI too */
  return text;
}

char *
lu_dwfl_rule_to_text (const LuDwflMapping *mapping, guint64 address, const LuArch *arch)
{
  const LuArch *names = lu_arch_with_tables (arch->machine);
  LuImage *image = lu_module_image (mapping->module);
  Elf *view = image != NULL ? lu_image_elf (image, mapping->start - mapping->bias) : NULL;
  Elf *elf;
  char *text;

  if (view == NULL || names == NULL)
    return g_strdup ("not asked");
  elf = elf_begin (-1, ELF_C_READ, view);
  text = ask (elf, address - mapping->bias, names);
  elf_end (elf);
  return text;
}
