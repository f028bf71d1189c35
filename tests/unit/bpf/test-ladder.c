/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-ladder.c - which kernels are walked in: by version, by what is known of their defect, and by
 * what is missing. The releases are those that distributions show. */

#include "bpf/ladder.h"

#include <string.h>

static const LuLadderFacts usual = {
  .release = "6.12.0-amd64",
  .version = "#1 SMP PREEMPT_DYNAMIC",
  .lockdown = "[none] integrity confidentiality\n",
  .usercopy = LU_USERCOPY_HARDENED,
  .has_pid_namespace = TRUE,
  .has_btf = TRUE,
  .may_load = TRUE,
  .has_library = TRUE,
  .is_supported = TRUE,
};

static const struct
{
  const char *release, *version, *signature;
  LuRung rung;
  gboolean is_unsafe;
} kernels[] = {
  { "4.19.0-27-amd64", "#1 SMP Debian 4.19.316-1", NULL, LU_RUNG_NONE, FALSE },
  { "5.7.19", "#1 SMP", NULL, LU_RUNG_NONE, FALSE },
  { "5.8.0", "#1 SMP", NULL, LU_RUNG_USER_MODE, FALSE },
  { "5.10.0-32-cloud-amd64", "#1 SMP Debian 5.10.223-1 (2024-08-10)", NULL, LU_RUNG_USER_MODE,
    FALSE },
  { "5.14.21-150500.55.19-default", "#1 SMP PREEMPT_DYNAMIC", NULL, LU_RUNG_USER_MODE, FALSE },
  { "5.14.0-427.13.1.el9_4.x86_64", "#1 SMP PREEMPT_DYNAMIC", NULL, LU_RUNG_USER_MODE, TRUE },
  { "5.15.0-88-generic", "#98-Ubuntu SMP", "Ubuntu 5.15.0-88.98-generic 5.15.126", LU_RUNG_FULL,
    FALSE },
  { "5.18.19", "#1 SMP", NULL, LU_RUNG_FULL, FALSE },
  { "5.19.0-50-generic", "#50-Ubuntu SMP", "Ubuntu 5.19.0-50.50-generic 5.19.17", LU_RUNG_FULL,
    TRUE },
  { "6.0.19", "#1 SMP", NULL, LU_RUNG_FULL, TRUE },
  { "6.1.0-9-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.27-1 (2023-05-08)", NULL, LU_RUNG_FULL,
    TRUE },
  { "6.1.0-10-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.37-1 (2023-07-03)", NULL, LU_RUNG_FULL,
    FALSE },
  { "6.1.0-50-cloud-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.176-1", NULL, LU_RUNG_FULL, FALSE },
  { "6.1.0-1028-oem", "#28-Ubuntu SMP", NULL, LU_RUNG_FULL, TRUE },
  { "6.1.25-37.47.amzn2023.x86_64", "#1 SMP", NULL, LU_RUNG_FULL, TRUE },
  { "6.1.35", "#1 SMP", NULL, LU_RUNG_FULL, TRUE },
  { "6.1.36", "#1 SMP", NULL, LU_RUNG_FULL, FALSE },
  { "6.2.16-20-pve", "#1 SMP", NULL, LU_RUNG_FULL, TRUE },
  { "6.2.0-39-generic", "#40-Ubuntu SMP", "Ubuntu 6.2.0-39.40-generic 6.2.16", LU_RUNG_FULL, TRUE },
  { "6.3.9", "#1 SMP", NULL, LU_RUNG_FULL, TRUE },
  { "6.3.10", "#1 SMP", NULL, LU_RUNG_FULL, FALSE },
  { "6.4.0-150600.23.7-default", "#1 SMP", NULL, LU_RUNG_FULL, FALSE },
  { "6.5.0-35-generic", "#35-Ubuntu SMP", "Ubuntu 6.5.0-35.35-generic 6.5.13", LU_RUNG_FULL,
    FALSE },
  { "6.12.111+deb12-cloud-amd64", "#1 SMP Debian 6.12.111-1~bpo12+1", NULL, LU_RUNG_FULL, FALSE },
  { "7.0.3", "#1 SMP", NULL, LU_RUNG_FULL, FALSE },
};

static LuLadderFacts
facts_of (guint i)
{
  LuLadderFacts facts = usual;

  facts.release = (char *) kernels[i].release;
  facts.version = (char *) kernels[i].version;
  facts.signature = (char *) kernels[i].signature;
  return facts;
}

static void
test_versions (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (kernels); i++)
    {
      LuLadderFacts facts = facts_of (i);
      g_auto (LuLadder) ladder = { 0 };

      lu_ladder_judge (&ladder, &facts);
      g_test_message ("%s: %s", kernels[i].release, ladder.reason);
      g_assert_cmpint (ladder.rung, ==, kernels[i].rung);
      g_assert_cmpint (ladder.is_unsafe, ==, kernels[i].is_unsafe);
      g_assert_nonnull (ladder.reason);
      g_assert_true ((ladder.remedy != NULL) == ladder.is_unsafe);
    }
}

/* Without the check there is no lock to wait for, whatever the version. */
static void
test_unchecked_copies_are_safe (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (kernels); i++)
    {
      LuLadderFacts facts = facts_of (i);
      g_auto (LuLadder) ladder = { 0 };

      facts.usercopy = LU_USERCOPY_PLAIN;
      lu_ladder_judge (&ladder, &facts);
      g_assert_false (ladder.is_unsafe);
      g_assert_cmpint (ladder.rung, ==, kernels[i].rung);
    }
}

/* What cannot be shown is not assumed. */
static void
test_unknown_copies_are_as_checked (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (kernels); i++)
    {
      LuLadderFacts facts = facts_of (i);
      g_auto (LuLadder) ladder = { 0 };

      facts.usercopy = LU_USERCOPY_UNKNOWN;
      lu_ladder_judge (&ladder, &facts);
      g_assert_cmpint (ladder.is_unsafe, ==, kernels[i].is_unsafe);
    }
}

/* How a kernel was built takes long to look up, and is only asked of those whose version does not
 * say enough. */
static void
test_copies_are_looked_up_in_need (void)
{
  g_auto (LuLadderFacts) facts = { 0 };
  g_auto (LuLadder) ladder = { 0 };
  LuUsercopy found;

  lu_ladder_facts_read (&facts);
  found = facts.usercopy;
  facts.usercopy = LU_USERCOPY_UNKNOWN;
  lu_ladder_judge (&ladder, &facts);
  g_assert_true (ladder.is_unsafe || ladder.rung == LU_RUNG_NONE || found == LU_USERCOPY_UNKNOWN);
}

static void
expect_nothing (const LuLadderFacts *facts, const char *word)
{
  g_auto (LuLadder) ladder = { 0 };

  lu_ladder_judge (&ladder, facts);
  g_assert_cmpint (ladder.rung, ==, LU_RUNG_NONE);
  g_assert_false (ladder.is_unsafe);
  g_test_message ("%s", ladder.reason);
  g_assert_nonnull (strstr (ladder.reason, word));
}

static void
test_obstacles (void)
{
  LuLadderFacts facts = usual;

  facts.has_btf = FALSE;
  expect_nothing (&facts, "CONFIG_DEBUG_INFO_BTF");
  facts.lockdown = "none integrity [confidentiality]\n";
  expect_nothing (&facts, "lockdown");
  facts.has_pid_namespace = FALSE;
  expect_nothing (&facts, "namespace");
  facts.may_load = FALSE;
  expect_nothing (&facts, "permission");
  facts.has_library = FALSE;
  expect_nothing (&facts, "libbpf");
  facts.is_supported = FALSE;
  expect_nothing (&facts, "architecture");
  facts = usual;
  facts.lockdown = NULL;
  facts.release = "local";
  expect_nothing (&facts, "local");
}

/* The program looks numbers up in it. */
static void
test_namespace (void)
{
  LuLadderFacts facts = usual;
  g_auto (LuLadder) ladder = { 0 };

  facts.pid_namespace = 4026532277u;
  lu_ladder_judge (&ladder, &facts);
  g_assert_cmpint (ladder.rung, ==, LU_RUNG_FULL);
  g_assert_cmpuint (ladder.pid_namespace, ==, 4026532277u);
}

/* The lesser lockdown does not forbid it. */
static void
test_integrity_is_enough (void)
{
  LuLadderFacts facts = usual;
  g_auto (LuLadder) ladder = { 0 };

  facts.lockdown = "none [integrity] confidentiality\n";
  lu_ladder_judge (&ladder, &facts);
  g_assert_cmpint (ladder.rung, ==, LU_RUNG_FULL);
}

static void
test_here (void)
{
  g_auto (LuLadder) ladder = { 0 };

  lu_ladder_look (&ladder);
  g_assert_nonnull (ladder.reason);
  g_test_message ("rung %d%s: %s", ladder.rung, ladder.is_unsafe ? ", unsafe" : "", ladder.reason);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ladder/versions", test_versions);
  g_test_add_func ("/ladder/unchecked-copies-are-safe", test_unchecked_copies_are_safe);
  g_test_add_func ("/ladder/unknown-copies-are-as-checked", test_unknown_copies_are_as_checked);
  g_test_add_func ("/ladder/copies-are-looked-up-in-need", test_copies_are_looked_up_in_need);
  g_test_add_func ("/ladder/obstacles", test_obstacles);
  g_test_add_func ("/ladder/namespace", test_namespace);
  g_test_add_func ("/ladder/integrity-is-enough", test_integrity_is_enough);
  g_test_add_func ("/ladder/here", test_here);
  return g_test_run ();
}
