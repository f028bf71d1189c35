/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* rule.c - makes a rule from a state; see rule.h. */

#include "table/rule.h"

#include "lu/step.h"

static const struct lu_rule complex_rule = { .cfa_kind = LU_CFA_COMPLEX };

static gboolean
fits_16 (gint64 value)
{
  return value == (gint16) value;
}

static gboolean
fits_32 (gint64 value)
{
  return value == (gint32) value;
}

/* Converts to words of 8 bytes. */
static gboolean
to_words (gint64 bytes, int16_t *words)
{
  if ((bytes & 7) != 0 || !fits_16 (bytes / 8))
    return FALSE;
  *words = (int16_t) (bytes / 8);
  return TRUE;
}

/* CFA. */

static gboolean
cfa_from_register (struct lu_rule *rule, const LuRegisterRule *cfa, const LuArch *arch)
{
  static const guint8 kinds[] = {
    [LU_SLOT_SP] = LU_CFA_SP,          [LU_SLOT_FP] = LU_CFA_FP,
    [LU_SLOT_BX] = LU_CFA_BX,          [LU_SLOT_RA] = LU_CFA_REGISTER,
    [LU_SLOT_OTHER] = LU_CFA_REGISTER, [LU_SLOT_LANDING] = LU_CFA_REGISTER,
  };

  if (cfa->reg > LU_ARCH_MAX_REGISTER || !fits_32 (cfa->offset))
    return FALSE;
  rule->cfa_kind = kinds[arch->slots[cfa->reg]];
  rule->cfa_off = (int32_t) cfa->offset;
  if (rule->cfa_kind == LU_CFA_REGISTER)
    rule->aux = (int16_t) cfa->reg;
  return TRUE;
}

static gboolean
cfa_from_memory (struct lu_rule *rule, const LuRegisterRule *cfa, const LuArch *arch)
{
  if (!fits_16 (cfa->offset) || !fits_32 (cfa->extra))
    return FALSE;
  if (cfa->reg == arch->sp)
    rule->cfa_kind = LU_CFA_DEREF_SP;
  else if (cfa->reg == arch->fp)
    rule->cfa_kind = LU_CFA_DEREF_FP;
  else
    return FALSE;
  rule->aux = (int16_t) cfa->offset;
  rule->cfa_off = (int32_t) cfa->extra;
  return TRUE;
}

static gboolean
make_cfa (struct lu_rule *rule, const LuRegisterRule *cfa, const LuArch *arch)
{
  switch (cfa->kind)
    {
    case LU_REGISTER_RULE_REGISTER_PLUS:
      return cfa_from_register (rule, cfa, arch);
    case LU_REGISTER_RULE_DEREF_PLUS:
      return cfa_from_memory (rule, cfa, arch);
    case LU_REGISTER_RULE_PLT:
      if (!fits_32 (cfa->offset))
        return FALSE;
      rule->cfa_kind = LU_CFA_PLT;
      rule->cfa_off = (int32_t) cfa->offset;
      rule->aux = (int16_t) cfa->extra;
      return TRUE;
    default:
      return FALSE;
    }
}

/* Registers. */

/* *(cfa + n): in large frames the other end of the frame may be closer. */
static enum lu_save_kind
save_by_cfa (const struct lu_rule *rule, gint64 offset, int16_t *off)
{
  if (to_words (offset, off))
    return LU_SAVE_AT_CFA;
  if (__builtin_add_overflow (offset, rule->cfa_off, &offset) || !to_words (offset, off))
    return LU_SAVE_UNKNOWN;
  return rule->cfa_kind == LU_CFA_SP   ? LU_SAVE_AT_SP
         : rule->cfa_kind == LU_CFA_FP ? LU_SAVE_AT_FP
                                       : LU_SAVE_UNKNOWN;
}

/* *(reg + n): relative to the CFA if that is the same register plus an offset. */
static enum lu_save_kind
save_by_register (const struct lu_rule *rule, const LuRegisterRule *saved, const LuArch *arch,
                  int16_t *off)
{
  gint64 offset = saved->offset;
  gboolean is_sp = saved->reg == arch->sp;

  if (!is_sp && saved->reg != arch->fp)
    return LU_SAVE_UNKNOWN;
  if (rule->cfa_kind == (is_sp ? LU_CFA_SP : LU_CFA_FP))
    {
      if (__builtin_sub_overflow (offset, rule->cfa_off, &offset))
        return LU_SAVE_UNKNOWN;
      return save_by_cfa (rule, offset, off);
    }
  if (!to_words (offset, off))
    return LU_SAVE_UNKNOWN;
  return is_sp ? LU_SAVE_AT_SP : LU_SAVE_AT_FP;
}

static enum lu_save_kind
make_save (const struct lu_rule *rule, const LuRegisterRule *saved, const LuArch *arch,
           int16_t *off)
{
  switch (saved->kind)
    {
    case LU_REGISTER_RULE_UNSPECIFIED: /* preserved by the ABI */
    case LU_REGISTER_RULE_SAME:
      return LU_SAVE_SAME;
    case LU_REGISTER_RULE_AT_CFA:
      return save_by_cfa (rule, saved->offset, off);
    case LU_REGISTER_RULE_AT_REGISTER:
      return save_by_register (rule, saved, arch, off);
    default:
      return LU_SAVE_UNKNOWN;
    }
}

static gboolean
make_return_address (struct lu_rule *rule, const LuRegisterRule *saved, const LuArch *arch)
{
  static const guint8 kinds[] = {
    [LU_SAVE_AT_CFA] = LU_RA_AT_CFA,
    [LU_SAVE_AT_SP] = LU_RA_AT_SP,
    [LU_SAVE_AT_FP] = LU_RA_AT_FP,
  };
  enum lu_save_kind save;

  switch (saved->kind)
    {
    case LU_REGISTER_RULE_REGISTER:
      if (rule->cfa_kind == LU_CFA_REGISTER || rule->cfa_kind == LU_CFA_PLT
          || rule->cfa_kind == LU_CFA_DEREF_SP || rule->cfa_kind == LU_CFA_DEREF_FP)
        return FALSE; /* aux is in use */
      rule->ra_kind = LU_RA_REGISTER;
      rule->aux = (int16_t) saved->reg;
      return TRUE;
    case LU_REGISTER_RULE_UNSPECIFIED:
    case LU_REGISTER_RULE_SAME:
      rule->ra_kind = LU_RA_LINK;
      return arch->has_link_register;
    case LU_REGISTER_RULE_AT_CFA:
    case LU_REGISTER_RULE_AT_REGISTER:
      save = make_save (rule, saved, arch, &rule->ra_off);
      rule->ra_kind = kinds[save <= LU_SAVE_AT_FP ? save : 0];
      return save != LU_SAVE_UNKNOWN;
    default:
      return FALSE;
    }
}

/* The caller's stack pointer must be the CFA. For signal frames an expression says so, with the
 * address that the CFA was read from. */
static gboolean
is_sp_cfa (const struct lu_rule *rule, const LuRegisterRule *saved, const LuArch *arch)
{
  switch (saved->kind)
    {
    case LU_REGISTER_RULE_UNSPECIFIED:
      return TRUE;
    case LU_REGISTER_RULE_CFA_PLUS:
      return saved->offset == 0;
    case LU_REGISTER_RULE_AT_REGISTER:
      return saved->reg == arch->sp && rule->cfa_kind == LU_CFA_DEREF_SP && rule->cfa_off == 0
             && rule->aux == saved->offset;
    default:
      return FALSE;
    }
}

/* glibc's _dl_runtime_resolve() leaves out what the procedure linkage table has pushed. */
gboolean
lu_rule_lacks_push (const LuCfaState *state, gboolean is_signal, const LuArch *arch)
{
  const LuRegisterRule *ra = &state->slots[LU_SLOT_RA];

  return arch->has_link_register && !is_signal && ra->kind == LU_REGISTER_RULE_AT_CFA
         && ra->offset >= 0;
}

struct lu_rule
lu_rule_make (const LuCfaState *state, gboolean is_signal, const LuArch *arch)
{
  const LuRegisterRule *slots = state->slots;
  struct lu_rule rule = { 0 };
  guint fp, bx = LU_SAVE_UNKNOWN;

  if (slots[LU_SLOT_RA].kind == LU_REGISTER_RULE_UNDEFINED)
    return (struct lu_rule){ .cfa_kind = LU_CFA_SP, .ra_kind = LU_RA_END };
  if (!make_cfa (&rule, &state->cfa, arch) || !is_sp_cfa (&rule, &slots[LU_SLOT_SP], arch)
      || !make_return_address (&rule, &slots[LU_SLOT_RA], arch)
      || lu_rule_lacks_push (state, is_signal, arch))
    return complex_rule;
  fp = make_save (&rule, &slots[LU_SLOT_FP], arch, &rule.fp_off);
  if (arch->bx <= LU_ARCH_MAX_REGISTER)
    bx = make_save (&rule, &slots[LU_SLOT_BX], arch, &rule.bx_off);
  rule.saves = (uint8_t) (fp | bx << 4);
  if (state->is_signed)
    rule.flags |= LU_RULE_SIGNED;
  if (is_signal)
    rule.flags |= LU_RULE_SIGNAL;
  else if (slots[LU_SLOT_LANDING].kind == LU_REGISTER_RULE_AT_CFA)
    rule.flags |= LU_RULE_LANDING;
  if (is_signal && arch->complete_signal_rule != NULL)
    arch->complete_signal_rule (&rule);
  return rule;
}

/* Text. */

static const char *
name_of (const LuArch *arch, guint number)
{
  return lu_arch_register_name (arch, number);
}

static void
append_cfa (GString *text, const struct lu_rule *rule, const LuArch *arch)
{
  switch (rule->cfa_kind)
    {
    case LU_CFA_SP:
      g_string_append_printf (text, "cfa=%s%+d", name_of (arch, arch->sp), rule->cfa_off);
      break;
    case LU_CFA_FP:
      g_string_append_printf (text, "cfa=%s%+d", name_of (arch, arch->fp), rule->cfa_off);
      break;
    case LU_CFA_BX:
      g_string_append_printf (text, "cfa=%s%+d", name_of (arch, arch->bx), rule->cfa_off);
      break;
    case LU_CFA_PLT:
      g_string_append_printf (text, "cfa=%s%+d+((pc&15)>=%d)*8", name_of (arch, arch->sp),
                              rule->cfa_off, rule->aux);
      break;
    case LU_CFA_DEREF_SP:
    case LU_CFA_DEREF_FP:
      g_string_append_printf (
          text, "cfa=*(%s%+d)%+d",
          name_of (arch, rule->cfa_kind == LU_CFA_DEREF_SP ? arch->sp : arch->fp), rule->aux,
          rule->cfa_off);
      break;
    default:
      g_string_append_printf (text, "cfa=%s%+d (leaf)", name_of (arch, (guint) rule->aux),
                              rule->cfa_off);
    }
}

static void
append_save (GString *text, const char *name, enum lu_save_kind kind, int off, const LuArch *arch)
{
  g_string_append_printf (text, " %s=", name);
  switch (kind)
    {
    case LU_SAVE_SAME:
      g_string_append (text, "same");
      break;
    case LU_SAVE_AT_CFA:
      g_string_append_printf (text, "*(cfa%+d)", off * 8);
      break;
    case LU_SAVE_AT_SP:
      g_string_append_printf (text, "*(%s%+d)", name_of (arch, arch->sp), off * 8);
      break;
    case LU_SAVE_AT_FP:
      g_string_append_printf (text, "*(%s%+d)", name_of (arch, arch->fp), off * 8);
      break;
    default:
      g_string_append (text, "unknown");
    }
}

static void
append_return_address (GString *text, const struct lu_rule *rule, const LuArch *arch)
{
  static const guint8 kinds[] = {
    [LU_RA_AT_CFA] = LU_SAVE_AT_CFA,
    [LU_RA_AT_SP] = LU_SAVE_AT_SP,
    [LU_RA_AT_FP] = LU_SAVE_AT_FP,
  };

  if (rule->ra_kind <= LU_RA_AT_FP)
    append_save (text, "ra", (enum lu_save_kind) kinds[rule->ra_kind], rule->ra_off, arch);
  else if (rule->ra_kind == LU_RA_LINK)
    g_string_append_printf (text, " ra=%s", name_of (arch, arch->ra));
  else
    g_string_append_printf (text, " ra=%s (leaf)", name_of (arch, (guint) rule->aux));
}

char *
lu_rule_to_text (const struct lu_rule *rule, const LuArch *arch)
{
  GString *text;

  if (rule->ra_kind == LU_RA_END)
    return g_strdup ("end of stack");
  if (rule->cfa_kind == LU_CFA_NONE)
    return g_strdup ("nothing known");
  if (rule->cfa_kind == LU_CFA_COMPLEX)
    return g_strdup ("complex");
  text = g_string_new (NULL);
  append_cfa (text, rule, arch);
  append_save (text, name_of (arch, arch->fp), lu_rule_fp_kind (rule), rule->fp_off, arch);
  if (arch->bx <= LU_ARCH_MAX_REGISTER)
    append_save (text, name_of (arch, arch->bx), lu_rule_bx_kind (rule), rule->bx_off, arch);
  append_return_address (text, rule, arch);
  if ((rule->flags & LU_RULE_SIGNED) != 0)
    g_string_append (text, " signed");
  if ((rule->flags & LU_RULE_SIGNAL) != 0)
    g_string_append (text, " signal");
  if ((rule->flags & LU_RULE_LANDING) != 0)
    g_string_append (text, " landing");
  return g_string_free (text, FALSE);
}
