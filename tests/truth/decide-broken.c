/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* decide-broken.c - the table with one mistake each, of the kind that unwinders really make. A
 * truth that does not find them is worthless (see `truth --self-test`). */

#include "decider.h"

#include "lu/row.h"

/* Uses the rule of the byte before for the innermost frame as well, which is right for return
 * addresses only. */
static gpointer
look_up_early (gpointer module, guint64 address)
{
  return decide_table.look_up (module, address - 1);
}

static struct lu_rule *
copy_rule (gpointer module, guint64 address)
{
  return g_memdup2 (decide_table.look_up (module, address), sizeof (struct lu_rule));
}

/* The slot of the frame pointer is one word off. */
static gpointer
look_up_slot (gpointer module, guint64 address)
{
  struct lu_rule *rule = copy_rule (module, address);

  if (lu_rule_fp_kind (rule) == LU_SAVE_AT_CFA)
    rule->fp_off++;
  return rule;
}

/* The frame pointer is assumed to be in its register everywhere. */
static gpointer
look_up_same (gpointer module, guint64 address)
{
  struct lu_rule *rule = copy_rule (module, address);

  rule->saves = LU_SAVE_SAME | LU_SAVE_SAME << 4;
  return rule;
}

/* A signal frame is treated like a call. */
static gpointer
look_up_signal (gpointer module, guint64 address)
{
  struct lu_rule *rule = copy_rule (module, address);

  if ((rule->flags & LU_RULE_SIGNAL) != 0)
    *rule = (struct lu_rule){ .cfa_kind = LU_CFA_SP, .cfa_off = 8, .ra_off = -1 };
  return rule;
}

/* A PLT entry is treated like the start of a function. */
static gpointer
look_up_plt (gpointer module, guint64 address)
{
  struct lu_rule *rule = copy_rule (module, address);

  if (rule->cfa_kind == LU_CFA_PLT)
    rule->cfa_kind = LU_CFA_SP;
  return rule;
}

/* Functions that save the frame pointer are left to the other engine. */
static gpointer
look_up_left (gpointer module, guint64 address)
{
  struct lu_rule *rule = copy_rule (module, address);

  if (lu_rule_fp_kind (rule) != LU_SAVE_SAME)
    rule->cfa_kind = LU_CFA_COMPLEX;
  return rule;
}

static const struct
{
  const char *name;
  gpointer (*look_up) (gpointer module, guint64 address);
} mistakes[] = {
  { "table, one byte early", look_up_early },
  { "table, frame pointer's slot off", look_up_slot },
  { "table, nothing saved", look_up_same },
  { "table, no signal frames", look_up_signal },
  { "table, no PLT rule", look_up_plt },
  { "table, much left to the other engine", look_up_left },
};

Decider *
decide_broken_new (guint index)
{
  Decider *self;

  if (index >= G_N_ELEMENTS (mistakes))
    return NULL;
  self = g_memdup2 (&decide_table, sizeof decide_table);
  self->name = mistakes[index].name;
  self->look_up = mistakes[index].look_up;
  return self;
}
