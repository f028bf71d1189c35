/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* names.c - kernel addresses named by the kernel; see names.h. */

#include "bpf/names.h"

#include "base/fd.h"
#include "names.skel.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

typedef struct names_bpf__bss Variables;

/* The program and its variables, and not libbpf's object: that keeps four descriptors open. */
struct _LuBpfNames
{
  int program_fd;
  Variables *variables;
};

static LuBpfNames *
take (const struct names_bpf *skeleton)
{
  lu_autofd fd =
      fcntl (bpf_program__fd (skeleton->progs.print_name), F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  Variables *variables = mmap (NULL, sizeof *variables, PROT_READ | PROT_WRITE, MAP_SHARED,
                               bpf_map__fd (skeleton->maps.bss), 0);
  LuBpfNames *self;

  if (variables == MAP_FAILED)
    return NULL;
  if (fd < 0)
    {
      munmap (variables, sizeof *variables);
      return NULL;
    }
  self = g_new (LuBpfNames, 1);
  self->program_fd = lu_fd_steal (&fd);
  self->variables = variables;
  return self;
}

LuBpfNames *
lu_bpf_names_new (void)
{
  libbpf_print_fn_t before = libbpf_set_print (NULL);
  struct names_bpf *skeleton = names_bpf__open_and_load ();
  LuBpfNames *self = skeleton != NULL ? take (skeleton) : NULL;

  names_bpf__destroy (skeleton);
  libbpf_set_print (before);
  return self;
}

gboolean
lu_bpf_names_ask (guint64 address, char *text, gsize size, gpointer user_data)
{
  LuBpfNames *self = user_data;
  LIBBPF_OPTS (bpf_test_run_opts, options);
  int result;

  self->variables->address = address;
  result = bpf_prog_test_run_opts (self->program_fd, &options);
  if (result != 0)
    {
      errno = -result;
      return FALSE;
    }
  g_strlcpy (text, self->variables->text, size);
  return TRUE;
}

void
lu_bpf_names_free (gpointer data)
{
  LuBpfNames *self = data;

  if (self == NULL)
    return;
  lu_fd_clear (&self->program_fd);
  munmap (self->variables, sizeof *self->variables);
  g_free (self);
}
