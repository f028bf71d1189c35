/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-set-up.c - remembers code whose frames were seen to be set up, with the C of the BPF
 * program: for the version of the mappings that the walk uses, whatever the last record was about,
 * and only if they were. */

#include "walk-arch.h" /* before lu/step.h */

#include <glib.h>

#include <stdio.h>

#include "../../bpf/walk-subprogram.h"

#define PC 0x401a41

static guint n_tests, n_failed;

static void
report (gboolean is_ok, const char *name)
{
  n_failed += !is_ok;
  printf ("%s %u - %s\n", is_ok ? "ok" : "not ok", ++n_tests, name);
}

int
main (void)
{
  struct walk *walk = &user_host.walk;

  walk->record.serial = 1;
  walk->process.serial = 2;
  report (!is_known_set_up (walk, PC), "nothing is known at first");
  note_set_up (walk, PC);
  report (is_known_set_up (walk, PC), "the same mappings");
  walk->record.serial = 3;
  report (is_known_set_up (walk, PC), "another process was recorded in between");
  walk->record.serial = 1;
  walk->process.serial = 4;
  report (!is_known_set_up (walk, PC), "newer mappings");
  walk->pc = PC;
  walk->fp = 0;
  report (go_by_pops (0, walk, LU_LEAF_POPPED | 1 << LU_LEAF_DEPTH_SHIFT) != VERDICT_NONE
              && !is_known_set_up (walk, PC),
          "a leaf that does not save the frame pointer, which is zero");
  printf ("1..%u\n", n_tests);
  return n_failed == 0 ? 0 : 1;
}
