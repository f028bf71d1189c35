/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* thread.c - the effect of the last instruction on the stack of calls. */

#include "thread.h"

#include <sys/ptrace.h>
#include <sys/syscall.h>

/* In a struct ucontext of the kernel (asm/sigcontext.h, asm-generic/ucontext.h). */
#define UCONTEXT_RSP 160
#define UCONTEXT_RIP 168
/* Bytes of `syscall`, which is executed again after some signals. */
#define SYSCALL_SIZE 2

Thread *
thread_new (pid_t tid, const Comparison *context)
{
  Thread *self = g_new0 (Thread, 1);

  self->tid = tid;
  self->context = context;
  shadow_init (&self->shadow, TRUE);
  stacks_init (&self->stacks);
  return self;
}

/* Ends the shadow stack; its counts are added to the tally. */
static void
drop_shadow (Thread *self)
{
  self->context->tally->n_returns += self->shadow.n_returns;
  self->context->tally->n_diverted += self->shadow.n_diverted;
  shadow_clear (&self->shadow);
  stacks_clear (&self->stacks);
}

void
thread_free (Thread *self)
{
  drop_shadow (self);
  g_free (self);
}

static void
look_at_instruction (Thread *self)
{
  Place *place = code_find (self->context->code, self->regs.rip);
  guint8 bytes[MAX_INSTRUCTION];

  if (place != NULL)
    self->instruction = *code_instruction (self->context->code, place, self->regs.rip);
  else
    self->instruction = instruction_decode (
        bytes, memory_read (self->context->memory, self->regs.rip, bytes, sizeof bytes));
}

void
thread_restart (Thread *self, gboolean is_whole)
{
  drop_shadow (self);
  shadow_init (&self->shadow, is_whole);
  stacks_init (&self->stacks);
  self->is_switching = FALSE;
  self->signal_number = 0;
  ptrace (PTRACE_GETREGS, self->tid, NULL, &self->regs);
  look_at_instruction (self);
}

/* The kernel has saved the registers of the next instruction. */
static gboolean
is_in_handler (const Thread *self, const struct user_regs_struct *now, guint64 *pc)
{
  guint64 sp;

  return memory_read_word (self->context->memory, now->rsp + 8 + UCONTEXT_RIP, pc)
         && memory_read_word (self->context->memory, now->rsp + 8 + UCONTEXT_RSP, &sp)
         && sp == self->regs.rsp && (*pc == self->regs.rip || *pc == self->regs.rip - SYSCALL_SIZE);
}

static gboolean
entered_handler (Thread *self, const struct user_regs_struct *now)
{
  Caller interrupted = { .sp = self->regs.rsp, .fp = self->regs.rbp, .bx = self->regs.rbx };
  guint64 restorer;

  if (self->signal_number == 0 || !is_in_handler (self, now, &interrupted.pc)
      || !memory_read_word (self->context->memory, now->rsp, &restorer))
    return FALSE;
  shadow_signal (&self->shadow, now->rsp, restorer, &interrupted);
  self->context->tally->n_signals++;
  return TRUE;
}

static void
called (Thread *self, const struct user_regs_struct *now)
{
  Tally *tally = self->context->tally;
  guint64 pc = self->regs.rip + self->instruction.length, word = 0;

  tally->n_calls++;
  if (now->rsp != self->regs.rsp - 8 || !memory_read_word (self->context->memory, now->rsp, &word)
      || word != pc)
    tally->n_bad_calls++;
  else
    shadow_call (&self->shadow, now->rsp, pc, self->regs.rbp, self->regs.rbx);
}

static void
made_system_call (Thread *self, const struct user_regs_struct *now)
{
  switch (self->regs.rax)
    {
    case SYS_rt_sigreturn:
      if (!shadow_signal_return (&self->shadow, self->regs.rsp, now->rip, now->rsp))
        self->context->tally->n_bad_signals++;
      break;
    case SYS_mmap:
    case SYS_munmap:
    case SYS_mprotect:
    case SYS_mremap:
      code_forget (self->context->code);
      break;
    default:
      break;
    }
}

static void
apply_instruction (Thread *self, const struct user_regs_struct *now)
{
  switch (self->instruction.kind)
    {
    case INSTRUCTION_CALL:
      called (self, now);
      break;
    case INSTRUCTION_RETURN:
      shadow_return (&self->shadow, self->regs.rsp, now->rsp, now->rip);
      break;
    case INSTRUCTION_JUMP:
      shadow_jump (&self->shadow, now->rsp);
      break;
    case INSTRUCTION_SYSCALL:
      made_system_call (self, now);
      break;
    default:
      break;
    }
}

/* The first function of a new stack returns to the address that makecontext() has put there. */
static void
entered_stack (Thread *self, const struct user_regs_struct *now)
{
  guint64 pc;

  self->is_switching = FALSE;
  if (shadow_caller (&self->shadow, 0) == NULL
      && memory_read_word (self->context->memory, now->rsp, &pc))
    shadow_call (&self->shadow, now->rsp, pc, now->rbp, now->rbx);
}

static void
follow_stack (Thread *self, const struct user_regs_struct *now, gboolean is_signal)
{
  gboolean is_transfer =
      self->instruction.kind == INSTRUCTION_RETURN || self->instruction.kind == INSTRUCTION_JUMP;

  if (stacks_follow (&self->stacks, &self->shadow, self->tid, now->rsp, is_signal))
    self->is_switching = TRUE;
  else if (self->is_switching && is_transfer && !is_signal)
    entered_stack (self, now);
}

gboolean
thread_is_leaving (const Thread *self)
{
  return self->is_switching || shadow_is_leaving (&self->shadow, self->regs.rsp);
}

void
thread_stopped (Thread *self, int signal_number)
{
  struct user_regs_struct now;
  gboolean is_signal;

  ptrace (PTRACE_GETREGS, self->tid, NULL, &now);
  is_signal = entered_handler (self, &now);
  /* Nothing has run before a signal, except for a system call that was interrupted or had ended. */
  if (!is_signal
      && (signal_number == 0
          || (self->instruction.kind == INSTRUCTION_SYSCALL && now.rip != self->regs.rip)))
    {
      apply_instruction (self, &now);
      is_signal = self->instruction.kind == INSTRUCTION_SYSCALL; /* rt_sigreturn */
    }
  follow_stack (self, &now, is_signal);
  self->regs = now;
  self->signal_number = signal_number;
  look_at_instruction (self);
}
