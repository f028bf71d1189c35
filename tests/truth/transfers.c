/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* transfers.c FILE SKIP STEPS COMMAND... - writes down where one thread calls, returns and jumps.
 *
 * The command runs freely for SKIP milliseconds, then it makes single steps. FILE gets a line for
 * each transfer: "c" (call), "r" (return) or "j" (jump), the address it comes from, the one it
 * leads to, the stack pointer before it, and of calls the address after them, in hexadecimal; and
 * then the mappings of the process. tail_calls.py makes a shadow stack of them. */

#include "decode.h"
#include "memory.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define SKIP 77
/* Places whose instructions are remembered. */
#define CACHE_SIZE (1u << 16)

typedef struct
{
  guint64 address;
  Instruction instruction;
} CacheEntry;

static CacheEntry cache[CACHE_SIZE];

static pid_t
start (char **command)
{
  pid_t pid = fork ();

  if (pid != 0)
    return pid;
  prctl (PR_SET_PDEATHSIG, SIGKILL);
  if (freopen ("/dev/null", "w", stdout) != NULL)
    execvp (command[0], command);
  _exit (127);
}

static Instruction
instruction_at (Memory *memory, guint64 address)
{
  CacheEntry *entry = &cache[(address ^ address >> 16) % CACHE_SIZE];
  guint8 bytes[MAX_INSTRUCTION];

  if (entry->address != address)
    {
      memory_forget (memory);
      *entry = (CacheEntry){
        address, instruction_decode (bytes, memory_read (memory, address, bytes, sizeof bytes))
      };
    }
  return entry->instruction;
}

/* Makes one step; FALSE: the thread has ended. Signals are delivered, but not followed. */
static gboolean
step (pid_t pid, int *signal_number)
{
  int status;

  if (ptrace (PTRACE_SINGLESTEP, pid, NULL, (void *) (glong) *signal_number) != 0
      || waitpid (pid, &status, __WALL) != pid || !WIFSTOPPED (status))
    return FALSE;
  *signal_number = WSTOPSIG (status) != SIGTRAP ? WSTOPSIG (status) : 0;
  return TRUE;
}

static void
write_transfers (FILE *file, pid_t pid, gulong n_steps)
{
  static const char letters[] = {
    [INSTRUCTION_CALL] = 'c', [INSTRUCTION_RETURN] = 'r', [INSTRUCTION_JUMP] = 'j'
  };
  g_autoptr (Memory) memory = memory_new (pid);
  struct user_regs_struct regs, now;
  int signal_number = 0;

  ptrace (PTRACE_GETREGS, pid, NULL, &regs);
  for (gulong i = 0; i < n_steps && step (pid, &signal_number); i++)
    {
      Instruction instruction = instruction_at (memory, regs.rip);
      guint8 kind = instruction.kind;

      ptrace (PTRACE_GETREGS, pid, NULL, &now);
      if (kind < sizeof letters && letters[kind] != 0)
        fprintf (file, "%c %llx %llx %llx %llx\n", letters[kind], regs.rip, now.rip, regs.rsp,
                 kind == INSTRUCTION_CALL ? regs.rip + instruction.length : 0);
      regs = now;
    }
}

static void
write_mappings (FILE *file, pid_t pid)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/maps", pid);
  g_autofree char *text = NULL;

  if (g_file_get_contents (path, &text, NULL, NULL))
    fputs (text, file);
}

int
main (int argc, char **argv)
{
  FILE *file = argc > 4 ? fopen (argv[1], "we") : NULL;
  pid_t pid = file != NULL ? start (argv + 4) : -1;
  int status;

  if (pid < 0)
    {
      fprintf (stderr, "usage: transfers FILE SKIP STEPS COMMAND...\n");
      return 2;
    }
  g_usleep (strtoul (argv[2], NULL, 10) * 1000);
  if (ptrace (PTRACE_SEIZE, pid, NULL, NULL) != 0)
    {
      fprintf (stderr, "the program cannot be traced\n");
      kill (pid, SIGKILL);
      return SKIP;
    }
  ptrace (PTRACE_INTERRUPT, pid, NULL, NULL);
  waitpid (pid, &status, __WALL);
  write_transfers (file, pid, strtoul (argv[3], NULL, 10));
  write_mappings (file, pid);
  kill (pid, SIGKILL);
  return fclose (file) == 0 ? 0 : 1;
}
