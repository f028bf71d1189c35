/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* frame-facts.c - see frame-facts.h. */

#include "code/frame-facts.h"

#include <string.h>

/* Frames are smaller; beyond it nothing is known. */
#define MAX_OFFSET (1 << 29)
/* Numbers of so many values by the bits that are kept are codes of interpreters rather than what a
 * switch handles all values of: their tables have fewer entries. */
#define MANY_KEPT 64
/* A page: code for smaller frames does not touch them first. */
#define LEAST_PROBED 4096

/* A value that may be a place on the stack. */
typedef struct
{
  guint8 kind; /* LuFactKind */
  gint64 offset;
} Place;

static const Place nowhere = { LU_FACT_UNKNOWN, 0 };

/* Returns the fact for a register, or -1. */
static int
fact_of (guint8 reg)
{
  switch (reg)
    {
    case LU_CODE_SP:
      return LU_FACT_SP;
    case LU_CODE_FP:
      return LU_FACT_FP;
    case LU_CODE_BX:
      return LU_FACT_BX;
    default:
      return -1;
    }
}

static void
set_fact (LuPath *self, int fact, Place place)
{
  if (place.offset > MAX_OFFSET || place.offset < -MAX_OFFSET)
    place = nowhere;
  self->facts.kinds[fact] = place.kind;
  self->facts.offsets[fact] = (gint32) place.offset;
}

static Place
get_fact (const LuPath *self, int fact)
{
  return (Place){ self->facts.kinds[fact], self->facts.offsets[fact] };
}

static gboolean
is_same_place (Place a, Place b)
{
  return a.kind == b.kind && a.offset == b.offset;
}

static gboolean
is_on_stack (Place place)
{
  return place.kind == LU_FACT_CFA || place.kind == LU_FACT_ALIGNED;
}

/* Known values */

static LuKnown
get_known (const LuPath *self, guint8 reg)
{
  return reg < LU_CODE_N_REGISTERS ? self->known[reg] : (LuKnown){ 0 };
}

static void
drop_kept (LuPath *self)
{
  set_fact (self, LU_FACT_CFA_KEPT, nowhere);
  self->facts.cfa_register = 0;
}

static const LuIndexed no_memory = { LU_CODE_NO_REGISTER, LU_CODE_NO_REGISTER, 0, 0 };

static gboolean
needs (const LuIndexed *memory, guint8 reg)
{
  return memory->base == reg || memory->index == reg;
}

static void
forget (LuPath *self, guint8 reg)
{
  self->known[reg] = (LuKnown){ 0 };
  if (self->compared == reg || needs (&self->compared_at, reg))
    {
      self->compared = LU_CODE_NO_REGISTER;
      self->compared_at = no_memory;
    }
  if (needs (&self->limited_at, reg))
    self->limited_at = no_memory;
  if (self->facts.kinds[LU_FACT_CFA_KEPT] != LU_FACT_UNKNOWN && self->facts.cfa_register == reg)
    drop_kept (self);
}

/* Replaces what is known of a register, which loses its first value. */
static void
set_known (LuPath *self, guint8 reg, LuKnown known)
{
  forget (self, reg);
  self->known[reg] = known;
}

/* Any register: the place that its value is */
static Place
get_place (const LuPath *self, guint8 reg)
{
  int fact = fact_of (reg);
  LuKnown known;

  if (fact >= 0)
    return get_fact (self, fact);
  known = get_known (self, reg);
  return known.kind == LU_KNOWN_CFA ? (Place){ LU_FACT_CFA, known.value } : nowhere;
}

static void
drop_slot (LuPath *self, int slot)
{
  set_fact (self, slot, nowhere);
  if (slot == LU_FACT_CFA_SLOT)
    set_fact (self, LU_FACT_CFA_VALUE, nowhere);
}

/* Forgets the slots below the stack pointer, which was moved up over them. */
static void
drop_popped (LuPath *self)
{
  Place sp = get_fact (self, LU_FACT_SP);

  for (int slot = LU_FACT_FP_SLOT; slot <= LU_FACT_CFA_SLOT; slot++)
    if (self->facts.kinds[slot] == sp.kind && self->facts.offsets[slot] < sp.offset)
      drop_slot (self, slot);
}

static void
set_sp (LuPath *self, Place place)
{
  Place before = get_fact (self, LU_FACT_SP);

  if (!is_on_stack (place))
    place = nowhere;
  set_fact (self, LU_FACT_SP, place);
  if (is_on_stack (place) && (place.kind != before.kind || place.offset > before.offset))
    drop_popped (self);
}

/* Sets the place that a register's value is. */
static void
set_place (LuPath *self, guint8 reg, Place place)
{
  int fact = fact_of (reg);

  if (fact == LU_FACT_SP)
    set_sp (self, place);
  else if (fact >= 0)
    {
      forget (self, reg);
      set_fact (self, fact, is_on_stack (place) ? place : nowhere);
    }
  else if (place.kind == LU_FACT_CFA)
    set_known (self, reg, (LuKnown){ .kind = LU_KNOWN_CFA, .value = place.offset });
  else
    forget (self, reg);
}

static void
lose (LuPath *self, guint8 reg)
{
  set_place (self, reg, nowhere);
}

/* Memory */

static void
store (LuPath *self, Place where, guint8 src)
{
  static const int slots[] = { LU_FACT_FP_SLOT, LU_FACT_BX_SLOT };
  static const int registers[] = { LU_FACT_FP, LU_FACT_BX };
  int fact = fact_of (src);
  Place value = src != LU_CODE_NO_REGISTER ? get_place (self, src) : nowhere;

  if (!is_on_stack (where))
    return;
  for (int slot = LU_FACT_FP_SLOT; slot <= LU_FACT_CFA_SLOT; slot++)
    if (is_same_place (get_fact (self, slot), where))
      drop_slot (self, slot);
  for (guint i = 0; i < G_N_ELEMENTS (slots); i++)
    if (fact == registers[i] && self->facts.kinds[fact] == LU_FACT_ENTRY
        && self->facts.kinds[slots[i]] == LU_FACT_UNKNOWN)
      set_fact (self, slots[i], where);
  if (value.kind == LU_FACT_CFA && where.kind == LU_FACT_ALIGNED
      && (value.offset == 0 || self->facts.kinds[LU_FACT_CFA_SLOT] == LU_FACT_UNKNOWN))
    {
      set_fact (self, LU_FACT_CFA_SLOT, where);
      set_fact (self, LU_FACT_CFA_VALUE, value);
    }
}

static void
load (LuPath *self, guint8 dst, Place where)
{
  const Place entry = { LU_FACT_ENTRY, 0 };

  if (!is_on_stack (where))
    lose (self, dst);
  else if (dst == LU_CODE_FP && is_same_place (get_fact (self, LU_FACT_FP_SLOT), where))
    set_fact (self, LU_FACT_FP, entry);
  else if (dst == LU_CODE_BX && is_same_place (get_fact (self, LU_FACT_BX_SLOT), where))
    set_fact (self, LU_FACT_BX, entry);
  else if (is_same_place (get_fact (self, LU_FACT_CFA_SLOT), where))
    set_place (self, dst, get_fact (self, LU_FACT_CFA_VALUE));
  else
    lose (self, dst);
}

static Place
moved (Place place, gint64 by)
{
  if (!is_on_stack (place))
    return nowhere;
  place.offset += CLAMP (by, -4 * (gint64) MAX_OFFSET, 4 * (gint64) MAX_OFFSET);
  return place;
}

static Place
address_of (const LuPath *self, const LuOp *op)
{
  return op->base != LU_CODE_NO_REGISTER ? moved (get_place (self, op->base), op->value) : nowhere;
}

static void
push (LuPath *self, guint8 src)
{
  Place top = moved (get_fact (self, LU_FACT_SP), -8);

  set_sp (self, top);
  store (self, top, src);
}

static void
pop (LuPath *self, guint8 dst)
{
  Place top = get_fact (self, LU_FACT_SP);

  if (dst != LU_CODE_NO_REGISTER)
    load (self, dst, top);
  if (dst != LU_CODE_SP)
    set_sp (self, moved (top, 8));
}

/* Notes a register that has a place relative to the CFA, which the stack pointer is about to lose.
 */
static void
keep_cfa (LuPath *self)
{
  for (guint8 reg = 0; reg < LU_CODE_N_REGISTERS; reg++)
    if (self->known[reg].kind == LU_KNOWN_CFA)
      {
        set_fact (self, LU_FACT_CFA_KEPT, get_place (self, reg));
        self->facts.cfa_register = reg;
        return;
      }
}

/* After it, places are relative to the new stack pointer. Those of an earlier alignment are lost.
 */
static void
align (LuPath *self, guint8 dst)
{
  gboolean is_stack = dst == LU_CODE_SP && is_on_stack (get_fact (self, LU_FACT_SP));

  if (dst != LU_CODE_SP)
    {
      lose (self, dst);
      return;
    }
  for (int fact = 0; fact < LU_N_FACTS; fact++)
    if (self->facts.kinds[fact] == LU_FACT_ALIGNED)
      drop_slot (self, fact);
  keep_cfa (self);
  set_fact (self, LU_FACT_SP, is_stack ? (Place){ LU_FACT_ALIGNED, 0 } : nowhere);
}

/* Other values */

static void
copy (LuPath *self, const LuOp *op)
{
  Place place = get_place (self, op->src);
  LuKnown known = get_known (self, op->src);

  if (is_on_stack (place))
    set_place (self, op->dst, moved (place, op->value));
  else
    {
      lose (self, op->dst);
      if (op->value == 0 && fact_of (op->dst) != LU_FACT_SP)
        set_known (self, op->dst, known);
    }
}

/* Numbers that fit into 32 bits stay what they are. */
static void
copy_32 (LuPath *self, const LuOp *op)
{
  LuKnown known = get_known (self, op->src);

  lose (self, op->dst);
  if (known.kind == LU_KNOWN_LIMIT || known.kind == LU_KNOWN_OFFSET)
    set_known (self, op->dst, known);
}

/* n: 0 for no limit. */
static void
set_limit (LuPath *self, guint8 dst, guint32 n)
{
  lose (self, dst);
  if (n > 0 && fact_of (dst) != LU_FACT_SP)
    set_known (self, dst, (LuKnown){ .kind = LU_KNOWN_LIMIT, .n = n });
}

/* Returns the memory of an instruction. */
static LuIndexed
memory_of (const LuOp *op)
{
  LuIndexed memory = { op->base, op->index, op->scale, op->value };

  if (op->kind == LU_OP_EXTEND)
    memory.scale = (guint8) op->target;
  if (op->base == LU_CODE_NO_REGISTER)
    return no_memory;
  if (op->index == LU_CODE_NO_REGISTER)
    memory.scale = 0;
  return memory;
}

/* Returns the limit of the memory that an instruction reads, or 0. */
static guint32
memory_limit (const LuPath *self, const LuOp *op)
{
  LuIndexed memory = memory_of (op);

  return memory.base != LU_CODE_NO_REGISTER && memory.base == self->limited_at.base
                 && memory.index == self->limited_at.index && memory.scale == self->limited_at.scale
                 && memory.value == self->limited_at.value
             ? self->limit
             : 0;
}

/* A byte in memory can be an index as it is. One in a register is mostly what is left after a
 * subtraction. */
static void
extend (LuPath *self, const LuOp *op)
{
  LuKnown known = get_known (self, op->src);
  guint32 n = memory_limit (self, op);

  if (op->src == LU_CODE_NO_REGISTER)
    known = (LuKnown){ .kind = n > 0 ? LU_KNOWN_LIMIT : LU_KNOWN_NOTHING, .n = n };
  if (op->src == LU_CODE_NO_REGISTER && n == 0 && op->scale == 1)
    known = (LuKnown){ .kind = LU_KNOWN_LIMIT, .n = 256, .is_weak = TRUE };
  lose (self, op->dst);
  if (known.kind == LU_KNOWN_LIMIT && fact_of (op->dst) != LU_FACT_SP)
    set_known (self, op->dst, known);
}

/* Finds the table of an address. Either register can hold the index. The size of a table may be
 * unknown. */
static gboolean
find_table (const LuPath *self, const LuOp *op, guint size, LuKnown *table)
{
  LuKnown index = get_known (self, op->index), base = get_known (self, op->base), turn = index;
  gboolean has_base = op->base != LU_CODE_NO_REGISTER;

  if (has_base && op->scale == 1 && base.kind == LU_KNOWN_SCALED)
    {
      index = base;
      base = turn;
    }
  if (op->index == LU_CODE_NO_REGISTER || (has_base && base.kind != LU_KNOWN_CONSTANT)
      || !((index.kind == LU_KNOWN_LIMIT && op->scale == size)
           || (index.kind == LU_KNOWN_SCALED && op->scale == 1 && index.value == (gint64) size)
           || (index.kind == LU_KNOWN_NOTHING && op->scale == size)))
    return FALSE;
  table->n = index.is_weak ? 0 : index.n;
  table->value = op->value + (has_base ? base.value : 0);
  return TRUE;
}

void
lu_path_limit (LuPath *self, guint8 reg, guint32 n)
{
  if (fact_of (reg) != LU_FACT_SP)
    set_known (self, reg, (LuKnown){ .kind = LU_KNOWN_LIMIT, .n = n });
}

gboolean
lu_path_byte_table (const LuPath *self, const LuOp *op, guint64 *address, guint32 *n)
{
  LuKnown index = get_known (self, op->index), base = get_known (self, op->base), turn = index;

  if (base.kind == LU_KNOWN_LIMIT)
    {
      index = base;
      base = turn;
    }
  if (op->kind != LU_OP_EXTEND || op->src != LU_CODE_NO_REGISTER || op->scale != 1
      || op->target != 1 || base.kind != LU_KNOWN_CONSTANT || index.kind != LU_KNOWN_LIMIT)
    return FALSE;
  *address = (guint64) (base.value + op->value);
  *n = index.n;
  return TRUE;
}

static void
load_table (LuPath *self, const LuOp *op, guint size)
{
  LuKnown known = { .kind = size == 8 ? LU_KNOWN_POINTER : LU_KNOWN_OFFSET };
  gboolean is_found = find_table (self, op, size, &known);

  lose (self, op->dst);
  if (is_found && fact_of (op->dst) != LU_FACT_SP)
    set_known (self, op->dst, known);
}

static void
scale (LuPath *self, const LuOp *op)
{
  LuKnown known = get_known (self, op->src);

  lose (self, op->dst);
  if (known.kind != LU_KNOWN_LIMIT || fact_of (op->dst) == LU_FACT_SP)
    return;
  known.kind = LU_KNOWN_SCALED;
  known.value = op->scale;
  set_known (self, op->dst, known);
}

static void
sum (LuPath *self, const LuOp *op)
{
  LuKnown to = get_known (self, op->dst), from = get_known (self, op->src);
  LuKnown offset = to.kind == LU_KNOWN_OFFSET ? to : from;
  LuKnown base = to.kind == LU_KNOWN_OFFSET ? from : to;

  lose (self, op->dst);
  if (offset.kind != LU_KNOWN_OFFSET || base.kind != LU_KNOWN_CONSTANT
      || fact_of (op->dst) == LU_FACT_SP)
    return;
  offset.kind = LU_KNOWN_TARGET;
  offset.base = base.value;
  set_known (self, op->dst, offset);
}

static void
compare (LuPath *self, const LuOp *op)
{
  self->compared = op->src;
  self->compared_at = memory_of (op);
  self->compared_with = (guint32) op->target;
}

static void
subtract (LuPath *self, const LuOp *op)
{
  LuKnown known = get_known (self, op->src);
  gboolean is_constant =
      known.kind == LU_KNOWN_CONSTANT && known.value > -MAX_OFFSET && known.value < MAX_OFFSET;

  set_place (self, op->dst,
             is_constant ? moved (get_place (self, op->dst), -known.value) : nowhere);
}

/* A function that sets the frame pointer to 0 without saving it marks the end of the stack, as
 * code does that the kernel starts (System V ABI, processor supplement, 3.4.1). */
static void
zero (LuPath *self, const LuOp *op)
{
  if (op->dst == LU_CODE_FP && self->facts.kinds[LU_FACT_FP] == LU_FACT_ENTRY
      && self->facts.kinds[LU_FACT_FP_SLOT] == LU_FACT_UNKNOWN && self->facts.has_entered)
    self->facts.is_root = TRUE;
  lose (self, op->dst);
  if (fact_of (op->dst) < 0)
    set_known (self, op->dst, (LuKnown){ .kind = LU_KNOWN_LIMIT, .n = 1 });
}

/* Paths */

void
lu_path_enter (LuPath *self)
{
  *self = (LuPath){ .compared = LU_CODE_NO_REGISTER,
                    .compared_at = no_memory,
                    .limited_at = no_memory };
  set_fact (self, LU_FACT_SP, (Place){ LU_FACT_CFA, -8 });
  self->facts.kinds[LU_FACT_FP] = self->facts.kinds[LU_FACT_BX] = LU_FACT_ENTRY;
}

static void
apply_values (LuPath *self, const LuOp *op)
{
  switch (op->kind)
    {
    case LU_OP_CONSTANT:
      lose (self, op->dst);
      if (fact_of (op->dst) != LU_FACT_SP)
        set_known (self, op->dst,
                   (LuKnown){ .kind = LU_KNOWN_CONSTANT, .value = (gint64) op->target });
      break;
    case LU_OP_LIMIT:
      set_limit (self, op->dst, (guint32) op->value + 1);
      if (op->value + 1 >= MANY_KEPT && self->known[op->dst].kind == LU_KNOWN_LIMIT)
        self->known[op->dst].is_weak = TRUE;
      break;
    case LU_OP_EXTEND:
      extend (self, op);
      break;
    case LU_OP_ZERO:
      zero (self, op);
      break;
    case LU_OP_SUM:
      sum (self, op);
      break;
    case LU_OP_DIFFERENCE:
      subtract (self, op);
      break;
    case LU_OP_LOAD_32:
      set_limit (self, op->dst, memory_limit (self, op));
      break;
    case LU_OP_LOAD_TABLE_4:
      load_table (self, op, 4);
      break;
    case LU_OP_LOAD_TABLE_8:
      load_table (self, op, 8);
      break;
    case LU_OP_SCALE:
      scale (self, op);
      break;
    case LU_OP_COMPARE:
      compare (self, op);
      break;
    case LU_OP_SYSTEM_CALL:
      self->facts.has_entered = TRUE;
      break;
    default:
      break;
    }
}

void
lu_path_apply (LuPath *self, const LuOp *op)
{
  guint32 others = op->writes;

  if (op->dst != LU_CODE_NO_REGISTER && op->kind != LU_OP_OTHER)
    others &= ~(1u << op->dst);
  if (op->kind == LU_OP_PUSH || op->kind == LU_OP_POP || op->kind == LU_OP_LEAVE)
    others &= ~(1u << LU_CODE_SP | 1u << LU_CODE_FP);
  switch (op->kind)
    {
    case LU_OP_PUSH:
      push (self, op->src);
      break;
    case LU_OP_POP:
      pop (self, op->dst);
      break;
    case LU_OP_ADD:
      set_place (self, op->dst, moved (get_place (self, op->dst), op->value));
      break;
    case LU_OP_COPY:
      copy (self, op);
      break;
    case LU_OP_COPY_32:
      copy_32 (self, op);
      break;
    case LU_OP_ALIGN:
      align (self, op->dst);
      break;
    case LU_OP_STORE:
      store (self, address_of (self, op), op->src);
      break;
    case LU_OP_LOAD:
      load (self, op->dst, address_of (self, op));
      break;
    case LU_OP_LEAVE:
      set_sp (self, get_fact (self, LU_FACT_FP));
      pop (self, LU_CODE_FP);
      break;
    default:
      apply_values (self, op);
      break;
    }
  for (guint8 reg = 0; others != 0; reg++, others >>= 1)
    if ((others & 1) != 0)
      lose (self, reg);
}

/* rax, rcx, rdx, rsi, rdi, r8 to r11 */
#define LOST_BY_CALLS 0x0fc7u

void
lu_path_call (LuPath *self)
{
  for (guint8 reg = 0; reg < LU_CODE_N_REGISTERS; reg++)
    if ((LOST_BY_CALLS >> reg & 1) != 0)
      forget (self, reg);
  self->compared = LU_CODE_NO_REGISTER;
  self->compared_at = self->limited_at = no_memory;
}

gboolean
lu_path_needs_register (const LuPath *self, guint8 *reg)
{
  const LuKnown *size = &self->known[LU_CODE_AX];
  gboolean has_cfa = self->facts.kinds[LU_FACT_CFA_KEPT] != LU_FACT_UNKNOWN;

  *reg = has_cfa ? self->facts.cfa_register : LU_CODE_AX;
  return has_cfa
         || (size->kind == LU_KNOWN_CONSTANT && size->value >= LEAST_PROBED
             && size->value < MAX_OFFSET);
}

void
lu_path_call_keeping (LuPath *self, guint8 reg)
{
  const LuPath before = *self;

  lu_path_call (self);
  self->known[reg] = before.known[reg];
  if (before.facts.cfa_register == reg)
    {
      set_fact (self, LU_FACT_CFA_KEPT, get_fact (&before, LU_FACT_CFA_KEPT));
      self->facts.cfa_register = reg;
    }
}

/* Returns the limit that a comparison sets, or 0. */
static guint32
limit_of (const LuPath *self, guint8 condition, gboolean is_taken)
{
  gboolean is_above = condition == LU_CONDITION_ABOVE || condition == LU_CONDITION_ABOVE_OR_EQUAL;
  gboolean has_equal = condition == LU_CONDITION_ABOVE || condition == LU_CONDITION_BELOW_OR_EQUAL;

  if (condition == LU_CONDITION_OTHER || is_above == is_taken)
    return 0;
  return self->compared_with + (has_equal ? 1 : 0);
}

void
lu_path_branch (LuPath *self, const LuOp *op, gboolean is_taken)
{
  guint32 n = limit_of (self, op->condition, is_taken);
  guint8 reg = self->compared;

  if (n == 0)
    return;
  if (self->compared_at.base != LU_CODE_NO_REGISTER)
    {
      self->limited_at = self->compared_at;
      self->limit = n;
    }
  else if (reg != LU_CODE_NO_REGISTER && fact_of (reg) != LU_FACT_SP)
    set_known (self, reg, (LuKnown){ .kind = LU_KNOWN_LIMIT, .n = n });
}

static gboolean
is_sp_balanced (const LuPath *self)
{
  return is_same_place (get_fact (self, LU_FACT_SP), (Place){ LU_FACT_CFA, -8 })
         && !self->facts.is_root;
}

gboolean
lu_path_is_balanced (const LuPath *self)
{
  return is_sp_balanced (self) && self->facts.kinds[LU_FACT_FP] == LU_FACT_ENTRY;
}

gboolean
lu_path_lacks_fp (const LuPath *self)
{
  return is_sp_balanced (self) && self->facts.kinds[LU_FACT_FP] != LU_FACT_ENTRY;
}

void
lu_path_lose_fp (LuPath *self)
{
  lose (self, LU_CODE_FP);
}

/* Removes the entries before the address that offsets are added to. There are none: the table
 * begins there, and the first numbers are handled otherwise. */
static void
skip_first (LuJumpTable *table)
{
  guint64 n = (table->base - table->address) / 4;

  if (table->is_wide || table->base < table->address || n >= (table->n > 0 ? table->n : MANY_KEPT))
    return;
  table->address += 4 * n;
  table->n -= table->n > 0 ? (guint32) n : 0;
}

gboolean
lu_path_jump_table (const LuPath *self, const LuOp *op, LuJumpTable *table)
{
  LuKnown known;

  *table = (LuJumpTable){ 0 };
  if (op->src != LU_CODE_NO_REGISTER)
    {
      known = get_known (self, op->src);
      if (known.kind != LU_KNOWN_TARGET && known.kind != LU_KNOWN_POINTER)
        return FALSE;
    }
  else if (!find_table (self, op, 8, &known))
    return FALSE;
  else
    known.kind = LU_KNOWN_POINTER;
  table->address = (guint64) known.value;
  table->base = (guint64) known.base;
  table->n = known.n;
  table->is_wide = known.kind == LU_KNOWN_POINTER;
  skip_first (table);
  return TRUE;
}

/* Facts */

gboolean
lu_frame_facts_meet (LuFrameFacts *self, const LuFrameFacts *other)
{
  const LuFrameFacts before = *self;

  for (int fact = 0; fact < LU_N_FACTS; fact++)
    if (self->kinds[fact] != other->kinds[fact] || self->offsets[fact] != other->offsets[fact])
      {
        self->kinds[fact] = LU_FACT_UNKNOWN;
        self->offsets[fact] = 0;
      }
  if (self->cfa_register != other->cfa_register)
    self->kinds[LU_FACT_CFA_KEPT] = LU_FACT_UNKNOWN;
  if (self->kinds[LU_FACT_CFA_KEPT] == LU_FACT_UNKNOWN)
    self->offsets[LU_FACT_CFA_KEPT] = self->cfa_register = 0;
  if (self->kinds[LU_FACT_CFA_SLOT] == LU_FACT_UNKNOWN
      || self->kinds[LU_FACT_CFA_VALUE] == LU_FACT_UNKNOWN)
    {
      self->kinds[LU_FACT_CFA_SLOT] = self->kinds[LU_FACT_CFA_VALUE] = LU_FACT_UNKNOWN;
      self->offsets[LU_FACT_CFA_SLOT] = self->offsets[LU_FACT_CFA_VALUE] = 0;
    }
  if (self->is_root != other->is_root)
    *self = (LuFrameFacts){ 0 };
  self->has_entered = before.has_entered | other->has_entered;
  return memcmp (self, &before, sizeof before) != 0;
}

/* DWARF's numbers of the registers. */
static const guint8 dwarf_numbers[LU_CODE_N_REGISTERS] = { 0, 2, 1,  3,  7,  6,  4,  5,
                                                           8, 9, 10, 11, 12, 13, 14, 15 };

/* The CFA of a function that has aligned its stack pointer. */
static gboolean
set_kept_cfa (const LuFrameFacts *self, struct lu_rule *rule)
{
  gint32 slot = self->offsets[LU_FACT_CFA_SLOT];
  gint32 value = self->offsets[LU_FACT_CFA_VALUE];
  gint32 from;

  if (self->kinds[LU_FACT_CFA_SLOT] == LU_FACT_ALIGNED
      && self->kinds[LU_FACT_FP] == LU_FACT_ALIGNED)
    {
      from = self->offsets[LU_FACT_FP];
      *rule = (struct lu_rule){ .cfa_kind = LU_CFA_DEREF_FP };
    }
  else if (self->kinds[LU_FACT_CFA_SLOT] == LU_FACT_ALIGNED
           && self->kinds[LU_FACT_SP] == LU_FACT_ALIGNED)
    {
      from = self->offsets[LU_FACT_SP];
      *rule = (struct lu_rule){ .cfa_kind = LU_CFA_DEREF_SP };
    }
  else if (self->kinds[LU_FACT_CFA_KEPT] == LU_FACT_CFA)
    {
      *rule = (struct lu_rule){ .cfa_kind = LU_CFA_REGISTER,
                                .aux = dwarf_numbers[self->cfa_register],
                                .cfa_off = -self->offsets[LU_FACT_CFA_KEPT] };
      return TRUE;
    }
  else
    return FALSE;
  rule->aux = (gint16) (slot - from);
  rule->cfa_off = -value;
  return rule->aux == slot - from;
}

static gboolean
set_cfa (const LuFrameFacts *self, struct lu_rule *rule)
{
  gint32 sp = self->offsets[LU_FACT_SP], fp = self->offsets[LU_FACT_FP];

  if (self->kinds[LU_FACT_FP] == LU_FACT_CFA)
    *rule = (struct lu_rule){ .cfa_kind = LU_CFA_FP, .cfa_off = -fp };
  else if (self->kinds[LU_FACT_SP] == LU_FACT_CFA && sp <= -8)
    *rule = (struct lu_rule){ .cfa_kind = LU_CFA_SP, .cfa_off = -sp };
  else if (self->kinds[LU_FACT_BX] == LU_FACT_CFA)
    *rule = (struct lu_rule){ .cfa_kind = LU_CFA_BX, .cfa_off = -self->offsets[LU_FACT_BX] };
  else if (!set_kept_cfa (self, rule))
    return FALSE;
  return rule->cfa_off % 8 == 0;
}

/* Sets where the caller's value of a register is. FALSE: that is not known. */
static gboolean
set_saved (const LuFrameFacts *self, int fact, int slot, enum lu_save_kind *kind, gint16 *off)
{
  gint64 at = self->offsets[slot];

  *off = 0;
  *kind = LU_SAVE_SAME;
  if (self->kinds[fact] == LU_FACT_ENTRY)
    return TRUE;
  *kind = LU_SAVE_AT_CFA;
  if (self->kinds[slot] == LU_FACT_ALIGNED && self->kinds[LU_FACT_FP] == LU_FACT_ALIGNED)
    {
      *kind = LU_SAVE_AT_FP;
      at -= self->offsets[LU_FACT_FP];
    }
  else if (self->kinds[slot] == LU_FACT_ALIGNED && self->kinds[LU_FACT_SP] == LU_FACT_ALIGNED)
    {
      *kind = LU_SAVE_AT_SP;
      at -= self->offsets[LU_FACT_SP];
    }
  else if (self->kinds[slot] != LU_FACT_CFA)
    return FALSE;
  *off = (gint16) (at / 8);
  return at % 8 == 0 && *off == at / 8;
}

static gboolean
make_rule (const LuFrameFacts *self, gboolean needs_fp, struct lu_rule *rule)
{
  enum lu_save_kind fp, bx;
  gint16 fp_off, bx_off;

  *rule = (struct lu_rule){ .cfa_kind = LU_CFA_SP, .ra_kind = LU_RA_END };
  if (self->is_root)
    return TRUE;
  if (!set_cfa (self, rule))
    return FALSE;
  if (!set_saved (self, LU_FACT_FP, LU_FACT_FP_SLOT, &fp, &fp_off))
    {
      if (needs_fp)
        return FALSE;
      fp = LU_SAVE_UNKNOWN;
      fp_off = 0;
    }
  if (!set_saved (self, LU_FACT_BX, LU_FACT_BX_SLOT, &bx, &bx_off))
    {
      bx = LU_SAVE_UNKNOWN;
      bx_off = 0;
    }
  rule->saves = (guint8) (fp | bx << 4);
  rule->fp_off = fp_off;
  rule->bx_off = bx_off;
  rule->ra_kind = LU_RA_AT_CFA;
  rule->ra_off = -1;
  rule->flags = LU_RULE_DERIVED;
  return TRUE;
}

gboolean
lu_frame_facts_rule (const LuFrameFacts *self, struct lu_rule *rule)
{
  return make_rule (self, TRUE, rule);
}

gboolean
lu_frame_facts_rule_without_fp (const LuFrameFacts *self, struct lu_rule *rule)
{
  return make_rule (self, FALSE, rule);
}
