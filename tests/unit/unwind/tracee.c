/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* tracee.c - a stopped program as a sample; see tracee.h. */

#include "tracee.h"

#include "base/fd.h"
#include "module/module-cache.h"
#include "module/opener.h"
#include "process/proc-maps.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define CODE_SEGMENT_32 0x23 /* __USER32_CS */
#define UNKNOWN_CASE    99   /* target.c's exit status for an unknown case */

typedef struct
{
  Tracee *tracee;
  LuModuleCache *modules;
  LuOpener *opener;
  guint64 stack_end;
} Scan;

static gboolean
read_remote (pid_t pid, guint64 address, gpointer bytes, gsize size)
{
  struct iovec here = { bytes, size };
  struct iovec there = { (void *) (guintptr) address, size };

  return process_vm_readv (pid, &here, 1, &there, 1, 0) == (gssize) size;
}

static gboolean
add_mapping (const LuMmapEvent *map, gpointer data)
{
  Scan *scan = data;
  Tracee *tracee = scan->tracee;
  LuModuleKey key;
  LuMapping mapping = { .start = map->start,
                        .end = map->start + map->length,
                        .file_offset = map->file_offset };
  char buffer[4096];
  gboolean is_new;
  LuAddressSpace *space;

  if (map->start <= tracee->words[7] && tracee->words[7] < map->start + map->length)
    scan->stack_end = map->start + map->length;
  if ((map->prot & PROT_EXEC) == 0)
    return TRUE;
  lu_module_key_init (&key, map->path, buffer, sizeof buffer);
  key.has_inode = key.kind == LU_MODULE_FILE;
  key.is_32bit = tracee->sample.regs.abi == LU_ABI_32;
  key.major = map->major;
  key.minor = map->minor;
  key.inode = map->inode;
  mapping.module = lu_module_cache_find (scan->modules, &key, &is_new);
  lu_opener_open (scan->opener, mapping.module, tracee->pid, map->start, map->start + map->length);
  space = lu_address_space_take_with_mapping (lu_address_space_ref (tracee->space), &mapping);
  lu_address_space_unref (tracee->space);
  tracee->space = space;
  return TRUE;
}

static gboolean
read_address_space (Tracee *self, gsize limit)
{
  g_autofree char *path = g_strdup_printf ("/proc/%d/maps", self->pid);
  gsize size;
  g_autofree char *text = lu_fd_read_file (path, 1 << 20, &size);
  Scan scan = { .tracee = self };
  g_autoptr (LuTables) tables = NULL;

  scan.modules = lu_module_cache_new (1024);
  scan.opener = lu_opener_new (TRUE, 1 << 20);
  if (g_getenv ("LU_TEST_LEAN") != NULL)
    {
      tables = lu_tables_new (NULL, 0); /* it never has a table */
      lu_opener_set_tables (scan.opener, tables);
      lu_opener_allow_cfi_drop (scan.opener);
    }
  self->space = lu_address_space_new ();
  lu_proc_maps_parse (text, size, add_mapping, &scan);
  lu_opener_free (scan.opener);
  lu_module_cache_free (scan.modules);
  if (scan.stack_end == 0)
    return FALSE;
  self->sample.stack_size = (guint32) MIN (limit, scan.stack_end - self->words[7]);
  self->sample.stack_asked = self->sample.stack_size;
  self->stack = g_malloc (self->sample.stack_size);
  self->sample.stack = self->stack;
  return read_remote (self->pid, self->words[7], self->stack, self->sample.stack_size);
}

void
tracee_unwind (LuUnwinder *unwinder, gint32 pid, const LuSample *sample, LuAddressSpace *space,
               LuStack *stack)
{
  guint n;
  const LuMapping *mappings = lu_address_space_mappings (space, &n);

  for (guint i = 0; g_getenv ("LU_TEST_LEAN") != NULL && i < n; i++)
    if (lu_module_image (mappings[i].module) != NULL)
      lu_image_drop_cfi (lu_module_image (mappings[i].module));
  unwinder->ops->unwind (
      unwinder, &(LuUnwindRequest){ .pid = pid, .tid = pid, .sample = sample, .space = space },
      stack);
}

static gboolean
read_registers (Tracee *self)
{
  struct user_regs_struct r;

  if (ptrace (PTRACE_GETREGS, self->pid, NULL, &r) != 0)
    return FALSE;
  const guint64 words[17] = { r.rax, r.rbx, r.rcx, r.rdx, r.rsi, r.rdi, r.rbp, r.rsp, r.rip,
                              r.r8,  r.r9,  r.r10, r.r11, r.r12, r.r13, r.r14, r.r15 };

  memcpy (self->words, words, sizeof words);
  self->sample.ip = r.rip;
  self->sample.regs = (LuRegs){
    .abi = r.cs == CODE_SEGMENT_32 ? LU_ABI_32 : LU_ABI_64,
    .n_words = 17,
    .mask = 0xff01ff,
    .words = self->words,
  };
  /* The kernel leaves values other than zero there in samples of 32-bit tasks. */
  if (self->sample.regs.abi == LU_ABI_32)
    for (guint i = 9; i < 17; i++)
      self->words[i] = 0xdeadbeefcafe0000 + i;
  return TRUE;
}

static gboolean
read_returns (Tracee *self)
{
  gsize word = self->sample.regs.abi == LU_ABI_32 ? 4 : 8;
  guint64 list = self->words[0];
  g_autofree guint8 *bytes = NULL;

  self->n_returns = (guint) self->words[1];
  bytes = g_malloc (self->n_returns * word);
  if (!read_remote (self->pid, list, bytes, self->n_returns * word))
    return FALSE;
  self->returns = g_new0 (guint64, self->n_returns);
  for (guint i = 0; i < self->n_returns; i++)
    memcpy (&self->returns[i], bytes + i * word, word);
  return TRUE;
}

static void
run_program (const char *program, const char *const *args)
{
  const char *argv[8] = { program };

  for (guint i = 0; i < 6 && args[i] != NULL; i++)
    argv[i + 1] = args[i];
  prctl (PR_SET_PDEATHSIG, SIGKILL); /* the program ends with the test */
  ptrace (PTRACE_TRACEME, 0, NULL, NULL);
  execv (program, (char **) argv);
  _exit (127);
}

/* Runs to the first SIGTRAP after exec; other signals are delivered. */
static gboolean
run_to_stop (pid_t pid)
{
  gboolean has_execed = FALSE;

  for (;;)
    {
      int status, signal;

      if (waitpid (pid, &status, 0) != pid)
        return FALSE;
      if (WIFEXITED (status) && WEXITSTATUS (status) == UNKNOWN_CASE)
        g_error ("this build of target.c does not have the case that is asked for");
      if (!WIFSTOPPED (status))
        return FALSE;
      signal = WSTOPSIG (status);
      if (signal == SIGTRAP && has_execed)
        return TRUE;
      if (signal == SIGTRAP)
        {
          has_execed = TRUE;
          signal = 0;
        }
      if (ptrace (PTRACE_CONT, pid, NULL, (void *) (gintptr) signal) != 0)
        return FALSE;
    }
}

static Tracee *
start (const char *program, const char *const *args, gsize limit, const char **why)
{
  g_autoptr (Tracee) self = g_new0 (Tracee, 1);

  self->pid = fork ();
  if (self->pid == 0)
    run_program (program, args);
  if (!run_to_stop (self->pid))
    {
      *why = "the program does not run here, or ptrace is not allowed";
      self->pid = 0;
      return NULL;
    }
  if (!read_registers (self) || !read_address_space (self, limit) || !read_returns (self))
    {
      *why = "the stopped program cannot be read";
      return NULL;
    }
  return g_steal_pointer (&self);
}

Tracee *
tracee_start (const char *directory, const char *build, const char *const *args, gsize limit)
{
  g_autofree char *program = g_strdup_printf ("%s/target-%s", directory, build);
  const char *why = "this build of the program could not be made here";
  Tracee *self = NULL;

  if (access (program, X_OK) == 0)
    self = start (program, args, limit, &why);
  if (self == NULL)
    g_test_skip (why);
  return self;
}

void
tracee_free (Tracee *self)
{
  if (self == NULL)
    return;
  if (self->pid > 0)
    {
      kill (self->pid, SIGKILL);
      waitpid (self->pid, NULL, 0);
    }
  lu_address_space_unref (self->space);
  g_free (self->stack);
  g_free (self->returns);
  g_free (self);
}

const LuUnwinderOps *
tracee_engine (void)
{
  static const LuUnwinderOps *const engines[] = { &lu_unwinder_table, &lu_unwinder_dwfl,
                                                  &lu_unwinder_check };
  const char *name = g_getenv ("LU_TEST_ENGINE");

  for (guint i = 0; i < G_N_ELEMENTS (engines); i++)
    if (name != NULL && strcmp (engines[i]->name, name) == 0)
      return engines[i];
  if (name == NULL)
    return &lu_unwinder_dwfl;
  g_error ("LU_TEST_ENGINE: no engine %s", name);
}
