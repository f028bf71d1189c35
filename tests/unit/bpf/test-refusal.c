/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-refusal.c - src/bpf/refusal.c: a verifier that refuses our program is told from missing
 * rights and missing memory, and its reason is found in its log. */

#include "bpf/refusal.h"

#include "base/error.h"

#include <errno.h>
#include <string.h>

#define TOO_DEEP "the call stack of 8 frames is too deep !"

typedef struct
{
  const char *name;
  int error_number;
  int code;                /* LuError */
  const char *words;       /* the reason that is kept */
  const char *warnings[4]; /* of libbpf */
} Case;

static const Case cases[] = {
  { "too-deep",
    E2BIG,
    LU_ERROR_REFUSED,
    TOO_DEEP,
    { "libbpf: prog 'take_walk': BPF program load failed: Argument list too long\n",
      "libbpf: prog 'take_walk': -- BEGIN PROG LOAD LOG --\n"
      "Validating look_up_rule() func#3...\n12: (85) call pc+96\n" TOO_DEEP "\n"
      "verification time 9136 usec\nstack depth 64+0\n"
      "processed 15571 insns (limit 1000000) max_states_per_insn 4 total_states 942\n"
      "-- END PROG LOAD LOG --\n",
      "libbpf: prog 'take_walk': failed to load: -7\n",
      "libbpf: failed to load object 'walker_bpf'\n" } },
  { "bad-access",
    EACCES,
    LU_ERROR_REFUSED,
    "R1 invalid mem access 'scalar'",
    { "libbpf: prog 'p': -- BEGIN PROG LOAD LOG --\nR1 invalid mem access 'scalar'\n"
      "processed 3 insns\n-- END PROG LOAD LOG --\n" } },
  { "log-without-reason",
    EINVAL,
    LU_ERROR_REFUSED,
    "",
    { "libbpf: prog 'p': -- BEGIN PROG LOAD LOG --\nprocessed 0 insns\n-- END PROG LOAD LOG "
      "--\n" } },
  { "log-without-end",
    EINVAL,
    LU_ERROR_REFUSED,
    "last",
    { "-- BEGIN PROG LOAD LOG --\nfirst\nlast" } },
  { "no-rights",
    EPERM,
    LU_ERROR_PERMISSION,
    "libbpf: failed to load object 'walker_bpf'",
    { "libbpf: prog 'take_walk': BPF program load failed: Operation not permitted\n",
      "libbpf: failed to load object 'walker_bpf'\n" } },
  { "no-memory",
    ENOMEM,
    LU_ERROR_UNSUPPORTED,
    "libbpf: map 'walks': failed to create: Cannot allocate memory(-12)",
    { "libbpf: map 'walks': failed to create: Cannot allocate memory(-12)\n" } },
  { "nothing-said", ENOSYS, LU_ERROR_UNSUPPORTED, "", { NULL } },
};

static void
test_case (gconstpointer data)
{
  const Case *self = data;
  LuBpfRefusal refusal = { 0 };
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (self->warnings) && self->warnings[i] != NULL; i++)
    lu_bpf_refusal_note (&refusal, self->warnings[i]);
  g_assert_cmpstr (refusal.words, ==, self->words);
  error = lu_bpf_refusal_to_error (&refusal, self->error_number);
  g_assert_error (error, LU_ERROR, self->code);
  g_assert_nonnull (strstr (error->message, self->words));
  g_assert_true ((strstr (error->message, "the kernel's verifier refused") != NULL)
                 == (self->code == LU_ERROR_REFUSED));
}

/* A long line is cut, within what there is room for. */
static void
test_long_line (void)
{
  LuBpfRefusal refusal = { 0 };
  g_autofree char *line = g_strnfill (1000, 'x');
  g_autofree char *log = g_strdup_printf ("-- BEGIN PROG LOAD LOG --\n%s\n", line);

  lu_bpf_refusal_note (&refusal, log);
  g_assert_cmpuint (strlen (refusal.words), ==, sizeof refusal.words - 1);
  refusal = (LuBpfRefusal){ 0 };
  lu_bpf_refusal_note (&refusal, line);
  g_assert_cmpuint (strlen (refusal.words), ==, sizeof refusal.words - 1);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *path = g_strdup_printf ("/refusal/%s", cases[i].name);

      g_test_add_data_func (path, &cases[i], test_case);
    }
  g_test_add_func ("/refusal/long-line", test_long_line);
  return g_test_run ();
}
