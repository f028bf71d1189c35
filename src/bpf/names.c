/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* names.c - kernel addresses named by the kernel; see names.h. */

#include "bpf/names.h"

#include "names.skel.h"

#include <bpf/bpf.h>
#include <errno.h>

struct _LuBpfNames
{
  struct names_bpf *skeleton;
};

LuBpfNames *
lu_bpf_names_new (void)
{
  libbpf_print_fn_t before = libbpf_set_print (NULL);
  struct names_bpf *skeleton = names_bpf__open_and_load ();
  LuBpfNames *self;

  libbpf_set_print (before);
  if (skeleton == NULL)
    return NULL;
  self = g_new (LuBpfNames, 1);
  self->skeleton = skeleton;
  return self;
}

gboolean
lu_bpf_names_ask (guint64 address, char *text, gsize size, gpointer user_data)
{
  LuBpfNames *self = user_data;
  LIBBPF_OPTS (bpf_test_run_opts, options);
  int result;

  self->skeleton->bss->address = address;
  result = bpf_prog_test_run_opts (bpf_program__fd (self->skeleton->progs.print_name), &options);
  if (result != 0)
    {
      errno = -result;
      return FALSE;
    }
  g_strlcpy (text, self->skeleton->bss->text, size);
  return TRUE;
}

void
lu_bpf_names_free (gpointer data)
{
  LuBpfNames *self = data;

  if (self == NULL)
    return;
  names_bpf__destroy (self->skeleton);
  g_free (self);
}
