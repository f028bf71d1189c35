/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* trial.c - see trial.h. */

#include "trial.h"

#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

/* The dwfl engine is slow. */
#define DWFL_INTERVAL 7
#define MAX_PRINTED   4
#define FRAMES_AROUND 2
#define CODE_SHOWN    32
#define WORDS_SHOWN   24
/* A call that leads at most so far behind itself calls a part of the same function. */
#define LOCAL_BYTES 16

/* An engine says that a caller is not the one that the shadow knows. */
typedef struct
{
  guint64 slot, pc; /* of the shadow's caller */
  Engine engine;
  guint64 n;  /* stacks */
  char *text; /* the first one; owned, may be NULL */
} Accusation;

struct _Trial
{
  Thread *thread;
  Whole *whole;
  TrialCount *count;
  GArray *accusations;
  guint64 pushed_slot; /* the last word pushed in generated code; 0: none */
  gboolean is_popped;  /* the return address of the running function is in a register */
};

static void
clear_accusation (gpointer data)
{
  g_free (((Accusation *) data)->text);
}

Trial *
trial_new (Thread *thread, Whole *whole, TrialCount *count)
{
  Trial *self = g_new0 (Trial, 1);

  self->thread = thread;
  self->whole = whole;
  self->count = count;
  self->accusations = g_array_new (FALSE, FALSE, sizeof (Accusation));
  g_array_set_clear_func (self->accusations, clear_accusation);
  return self;
}

void
trial_free (Trial *self)
{
  if (self == NULL)
    return;
  for (guint i = 0; i < self->accusations->len; i++)
    {
      const Accusation *open = &g_array_index (self->accusations, Accusation, i);

      self->count->engines[open->engine].n_open += open->n;
      if (open->text != NULL)
        printf ("# OPEN, %lu times: %s", open->n, open->text);
    }
  g_array_unref (self->accusations);
  g_free (self);
}

gboolean
trial_is_open (const Trial *self)
{
  return self->accusations->len > 0;
}

/* Accusations */

static void
decide (Trial *self, guint i, gboolean is_wrong)
{
  Accusation *accusation = &g_array_index (self->accusations, Accusation, i);
  EngineCount *count = &self->count->engines[accusation->engine];

  if (is_wrong && count->n_wrong / MAX_PRINTED == 0 && accusation->text != NULL)
    printf ("# WRONG, %lu times: %s", accusation->n, accusation->text);
  else if (g_getenv ("LU_TRUTH_UNPROVED") != NULL && accusation->text != NULL)
    printf ("# %s, %lu times: %s", is_wrong ? "WRONG" : "unproved", accusation->n,
            accusation->text);
  if (is_wrong)
    count->n_wrong += accusation->n;
  else
    count->n_unproved += accusation->n;
  g_array_remove_index (self->accusations, i);
}

static void
decide_all (Trial *self, const Caller *caller, gboolean is_wrong)
{
  for (guint i = self->accusations->len; i-- > 0;)
    {
      const Accusation *one = &g_array_index (self->accusations, Accusation, i);

      if (one->slot == caller->slot && one->pc == caller->pc)
        decide (self, i, is_wrong);
    }
}

static gboolean
is_in_shadow (const Trial *self, const Accusation *accusation)
{
  const Caller *caller;

  for (guint depth = 0; (caller = shadow_caller (&self->thread->shadow, depth)) != NULL; depth++)
    if (caller->slot == accusation->slot && caller->pc == accusation->pc)
      return TRUE;
  return FALSE;
}

/* Callers that are gone without a return. */
static void
drop_gone (Trial *self)
{
  for (guint i = self->accusations->len; i-- > 0;)
    if (!is_in_shadow (self, &g_array_index (self->accusations, Accusation, i)))
      decide (self, i, FALSE);
}

/* The code that was to run next, and what could be return addresses on top of the stack. */
static void
append_memory (Trial *self, GString *text)
{
  const struct user_regs_struct *regs = &self->thread->regs;
  Memory *memory = self->thread->context->memory;
  guint8 code[CODE_SHOWN];
  gsize n = memory_read (memory, regs->rip, code, sizeof code);

  g_string_append (text, "\n#   code");
  for (gsize i = 0; i < n; i++)
    g_string_append_printf (text, " %02x", code[i]);
  g_string_append (text, "; stack");
  for (guint i = 0; i < WORDS_SHOWN; i++)
    {
      guint64 at = (regs->rsp & ~G_GUINT64_CONSTANT (7)) + 8 * i, word;
      g_autofree char *said =
          memory_read_word (memory, at, &word) ? whole_describe (self->whole, word) : NULL;

      if (said != NULL && said[0] != '0')
        g_string_append_printf (text, " +%u: %s%s", 8 * i, at == regs->rbp + 8 ? "(by rbp) " : "",
                                said);
    }
}

static char *
describe (Trial *self, Engine engine, const LuStack *stack, guint at)
{
  const struct user_regs_struct *regs = &self->thread->regs;
  GString *text = g_string_new (NULL);
  guint first = at > FRAMES_AROUND ? at - FRAMES_AROUND : 0;

  g_string_append_printf (text, "%s: frame %u, rip %#llx rsp %#llx rbp %#llx", engine_name (engine),
                          at, regs->rip, regs->rsp, regs->rbp);
  for (guint i = 0; i < at + FRAMES_AROUND + 1; i++)
    {
      const Caller *caller = i > 0 ? shadow_caller (&self->thread->shadow, i - 1) : NULL;
      g_autofree char *said =
          i < stack->n_frames ? whole_describe (self->whole, stack->frames[i].pc) : g_strdup ("-");
      g_autofree char *truth =
          i == 0 || caller == NULL ? g_strdup ("-") : whole_describe (self->whole, caller->pc);

      if (i >= first || i == 0)
        g_string_append_printf (
            text, "\n#   %2u says %s%s, truth %s (slot %#lx)", i, said,
            i < stack->n_frames && (stack->frames[i].flags & LU_FRAME_INFERRED) != 0 ? " (inferred)"
                                                                                     : "",
            truth, caller != NULL ? caller->slot : 0);
    }
  append_memory (self, text);
  g_string_append_c (text, '\n');
  return g_string_free (text, FALSE);
}

/* Whether a call leads to just behind itself, as HotSpot's interpreter calls a part of its own. */
static gboolean
is_local_call (const Trial *self, guint64 pc)
{
  guint8 call[5];
  gint32 displacement;

  if (!whole_is_generated (self->whole, pc)
      || memory_read (self->thread->context->memory, pc - sizeof call, call, sizeof call)
             != sizeof call
      || call[0] != 0xe8)
    return FALSE;
  memcpy (&displacement, call + 1, sizeof displacement);
  return displacement >= 0 && displacement < LOCAL_BYTES;
}

static void
accuse (Trial *self, Engine engine, const LuStack *stack, guint at, guint depth)
{
  const Caller *caller = shadow_caller (&self->thread->shadow, depth);
  Accusation accusation = { caller->slot, caller->pc, engine, 1, NULL };

  for (guint i = 0; i < self->accusations->len; i++)
    {
      Accusation *known = &g_array_index (self->accusations, Accusation, i);

      if (known->slot != caller->slot || known->pc != caller->pc || known->engine != engine)
        continue;
      known->n++;
      return;
    }
  accusation.text = describe (self, engine, stack, at);
  g_array_append_val (self->accusations, accusation);
}

/* Comparing */

static void
judge (Trial *self, Engine engine)
{
  const Shadow *shadow = &self->thread->shadow;
  const LuStack *stack = whole_unwind (self->whole, engine);
  EngineCount *count = &self->count->engines[engine];
  const Caller *caller;

  if (stack->status != LU_STATUS_COMPLETE)
    {
      count->n_incomplete++;
      return;
    }
  count->n_judged++;
  for (guint at = 1, depth = 0; (caller = shadow_caller (shadow, depth)) != NULL; depth++)
    {
      gboolean is_same = at < stack->n_frames && stack->frames[at].pc == caller->pc;

      if (!is_same && is_local_call (self, caller->pc))
        {
          count->n_local++;
          continue;
        }
      count->n_frames++;
      if (!is_same)
        {
          accuse (self, engine, stack, at, depth);
          return;
        }
      at++;
    }
}

static void
judge_all (Trial *self)
{
  self->count->n_steps++;
  if (shadow_caller (&self->thread->shadow, 0) == NULL
      || !whole_sample (self->whole, self->thread->tid, &self->thread->regs))
    {
      self->count->n_unknown++;
      return;
    }
  for (Engine engine = 0; engine < N_ENGINES; engine++)
    if (engine != ENGINE_DWFL || self->count->n_steps % DWFL_INTERVAL == 0)
      judge (self, engine);
}

/* Following */

static void
restart (Trial *self)
{
  self->count->n_restarts++;
  thread_restart (self->thread, FALSE);
  self->pushed_slot = 0;
}

/* A return address can be moved before the return, also down, and popped to be jumped to. */
static void
transferred (Trial *self, const Caller *caller, guint kind)
{
  const struct user_regs_struct *now = &self->thread->regs;
  GArray *callers = self->thread->shadow.callers;
  gboolean is_return = kind == INSTRUCTION_RETURN;

  if (caller->pc == 0)
    return;
  if (caller->pc == now->rip && (is_return || now->rsp > caller->slot))
    {
      decide_all (self, caller, TRUE);
      if (callers->len > 0 && shadow_caller (&self->thread->shadow, 0)->slot == caller->slot)
        g_array_set_size (callers, callers->len - 1);
    }
  else if (is_return)
    {
      self->count->n_strange++;
      decide_all (self, caller, FALSE);
    }
}

/* The stack pointer was loaded from elsewhere, but not with another place of this stack. */
static gboolean
has_switched (const Trial *self, guint64 lowest)
{
  const Shadow *shadow = &self->thread->shadow;
  guint64 now = self->thread->regs.rsp;

  return shadow->callers->len > 0
         && (now < lowest || now > g_array_index (shadow->callers, Caller, 0).slot);
}

/* The innermost caller's return address is on top of the stack now. */
static void
move_caller (Trial *self, Caller *caller)
{
  guint64 now = self->thread->regs.rsp;

  for (guint i = 0; i < self->accusations->len; i++)
    {
      Accusation *one = &g_array_index (self->accusations, Accusation, i);

      if (one->pc == caller->pc && one->slot == caller->slot)
        one->slot = now;
    }
  caller->slot = now;
  caller->sp = now + 8;
}

/* A return address can be popped and pushed somewhere else. */
static void
see_move (Trial *self, const struct user_regs_struct *before)
{
  const struct user_regs_struct *now = &self->thread->regs;
  GArray *callers = self->thread->shadow.callers;
  Caller *caller = callers->len > 0 ? &g_array_index (callers, Caller, callers->len - 1) : NULL;
  guint64 pc;

  if (caller == NULL || caller->is_interrupted)
    return;
  if (now->rsp == caller->slot + 8)
    self->is_popped = TRUE;
  if (!self->is_popped || now->rsp != before->rsp - 8
      || !memory_read_word (self->thread->context->memory, now->rsp, &pc) || pc != caller->pc)
    return;
  move_caller (self, caller);
  self->is_popped = FALSE;
}

/* Interpreters push the address to return to and jump. HotSpot's adapters push it again below. */
static void
see_push (Trial *self, const struct user_regs_struct *before, guint kind)
{
  const struct user_regs_struct *now = &self->thread->regs;
  GArray *callers = self->thread->shadow.callers;
  Caller *caller = callers->len > 0 ? &g_array_index (callers, Caller, callers->len - 1) : NULL;
  Memory *memory = self->thread->context->memory;
  guint8 opcode = 0;
  guint64 pc;

  if (kind == INSTRUCTION_CALL || kind == INSTRUCTION_RETURN)
    self->is_popped = FALSE;
  if (kind == INSTRUCTION_OTHER && now->rsp == before->rsp - 8)
    self->pushed_slot = whole_is_generated (self->whole, before->rip) ? now->rsp : 0;
  if (kind != INSTRUCTION_JUMP || self->pushed_slot != now->rsp)
    return;
  memory_read (memory, before->rip, &opcode, 1);
  if (opcode == 0x41)
    memory_read (memory, before->rip + 1, &opcode, 1);
  if (opcode != 0xff || !memory_read_word (memory, now->rsp, &pc)
      || !whole_is_generated (self->whole, pc) || (caller != NULL && caller->slot == now->rsp))
    return;
  if (caller != NULL && caller->pc == pc && caller->fp == now->rbp)
    move_caller (self, caller);
  else
    {
      shadow_call (&self->thread->shadow, now->rsp, pc, now->rbp, now->rbx);
      self->count->n_pushed++;
    }
  self->pushed_slot = 0;
}

void
trial_step (Trial *self, int signal_number, gboolean is_judged)
{
  Thread *thread = self->thread;
  const Tally *tally = thread->context->tally;
  const struct user_regs_struct before = thread->regs;
  guint64 n_signals = tally->n_signals, n_bad = tally->n_bad_signals + tally->n_bad_calls;
  const Caller *innermost = shadow_caller (&thread->shadow, 0);
  const Caller caller = innermost != NULL ? *innermost : (Caller){ 0 };
  guint kind = thread->instruction.kind;

  thread_stopped (thread, signal_number);
  if (signal_number != 0)
    return;
  if (tally->n_bad_signals + tally->n_bad_calls != n_bad)
    restart (self);
  else if (tally->n_signals == n_signals)
    {
      if (kind == INSTRUCTION_RETURN || kind == INSTRUCTION_JUMP)
        transferred (self, &caller, kind);
      else
        see_move (self, &before);
      if (kind == INSTRUCTION_SYSCALL && before.rax == SYS_rt_sigreturn)
        decide_all (self, &caller, TRUE);
      else if (kind == INSTRUCTION_MOVE_STACK && has_switched (self, before.rsp))
        restart (self);
      else
        see_push (self, &before, kind);
    }
  drop_gone (self);
  if (is_judged)
    judge_all (self);
}
