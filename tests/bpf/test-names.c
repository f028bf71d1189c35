/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-names.c - the kernel names its functions as /proc/kallsyms does, when it is asked for them
 * one by one. TAP; skips where programs cannot be loaded, or addresses are hidden. */

#include "bpf/names.h"
#include "symbolize/kallsyms-file.h"

#include <stdio.h>

#define N_ASKED 2000

/* Programs come and go while we ask. */
static gboolean
comes_and_goes (const LuKernelSymbol *symbol)
{
  return g_strcmp0 (symbol->module, "[bpf]") == 0 || g_strcmp0 (symbol->module, "[ftrace]") == 0;
}

static guint
count_other_names (LuKallsymsFile *asked, const LuKallsyms *all)
{
  guint step = MAX (lu_kallsyms_size (all) / N_ASKED, 1), n_other = 0;

  for (guint i = 0; i < lu_kallsyms_size (all); i += step)
    {
      LuKernelSymbol want, got = { 0 };

      lu_kallsyms_get (all, i, &want);
      if (comes_and_goes (&want))
        continue;
      if (lu_kallsyms_file_find (asked, want.address, &got) && got.address == want.address
          && g_str_equal (got.name, want.name) && g_strcmp0 (got.module, want.module) == 0
          && got.end <= want.end)
        continue;
      n_other++;
      printf ("# %s %s: %s %s\n", want.name, want.module != NULL ? want.module : "",
              got.name != NULL ? got.name : "none", got.module != NULL ? got.module : "");
    }
  return n_other;
}

int
main (void)
{
  LuBpfNames *names = lu_bpf_names_new ();
  g_autoptr (LuKallsymsFile) asked = lu_kallsyms_file_new (-1, NULL);
  g_autoptr (LuKallsyms) all = NULL;
  int fd = names != NULL ? lu_kallsyms_open ("/proc/kallsyms", NULL) : -1;

  if (fd < 0)
    {
      printf ("1..0 # SKIP no program can be loaded, or no addresses can be read\n");
      lu_bpf_names_free (names);
      return 0;
    }
  all = lu_kallsyms_load (fd, NULL);
  lu_kallsyms_file_set_ask (asked, lu_bpf_names_ask, names, lu_bpf_names_free);
  printf ("1..1\n%s 1 - the same names\n",
          all != NULL && count_other_names (asked, all) == 0 ? "ok" : "not ok");
  return 0;
}
