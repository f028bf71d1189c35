/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-kernel-support.c - in which kernels BPF unwinds: by version, by defects that are known, and
 * by missing features. The releases are real ones of distributions. */

#include "bpf/kernel-support.h"

#include <string.h>

static const LuKernelFacts usual = {
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
  LuKernelSupportLevel level;
  gboolean is_unsafe;
} kernels[] = {
  { "4.19.0-27-amd64", "#1 SMP Debian 4.19.316-1", NULL, LU_KERNEL_SUPPORT_NONE, FALSE },
  { "5.7.19", "#1 SMP", NULL, LU_KERNEL_SUPPORT_NONE, FALSE },
  { "5.8.0", "#1 SMP", NULL, LU_KERNEL_SUPPORT_USER_MODE, FALSE },
  { "5.10.0-32-cloud-amd64", "#1 SMP Debian 5.10.223-1 (2024-08-10)", NULL,
    LU_KERNEL_SUPPORT_USER_MODE, FALSE },
  { "5.14.21-150500.55.19-default", "#1 SMP PREEMPT_DYNAMIC", NULL, LU_KERNEL_SUPPORT_USER_MODE,
    FALSE },
  { "5.14.0-427.13.1.el9_4.x86_64", "#1 SMP PREEMPT_DYNAMIC", NULL, LU_KERNEL_SUPPORT_USER_MODE,
    TRUE },
  { "5.15.0-88-generic", "#98-Ubuntu SMP", "Ubuntu 5.15.0-88.98-generic 5.15.126",
    LU_KERNEL_SUPPORT_FULL, FALSE },
  { "5.18.19", "#1 SMP", NULL, LU_KERNEL_SUPPORT_FULL, FALSE },
  { "5.19.0-50-generic", "#50-Ubuntu SMP", "Ubuntu 5.19.0-50.50-generic 5.19.17",
    LU_KERNEL_SUPPORT_FULL, TRUE },
  { "6.0.19", "#1 SMP", NULL, LU_KERNEL_SUPPORT_FULL, TRUE },
  { "6.1.0-9-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.27-1 (2023-05-08)", NULL,
    LU_KERNEL_SUPPORT_FULL, TRUE },
  { "6.1.0-10-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.37-1 (2023-07-03)", NULL,
    LU_KERNEL_SUPPORT_FULL, FALSE },
  { "6.1.0-50-cloud-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.176-1", NULL, LU_KERNEL_SUPPORT_FULL,
    FALSE },
  { "6.1.0-1028-oem", "#28-Ubuntu SMP", NULL, LU_KERNEL_SUPPORT_FULL, TRUE },
  { "6.1.25-37.47.amzn2023.x86_64", "#1 SMP", NULL, LU_KERNEL_SUPPORT_FULL, TRUE },
  { "6.1.35", "#1 SMP", NULL, LU_KERNEL_SUPPORT_FULL, TRUE },
  { "6.1.36", "#1 SMP", NULL, LU_KERNEL_SUPPORT_FULL, FALSE },
  { "6.2.16-20-pve", "#1 SMP", NULL, LU_KERNEL_SUPPORT_FULL, TRUE },
  { "6.2.0-39-generic", "#40-Ubuntu SMP", "Ubuntu 6.2.0-39.40-generic 6.2.16",
    LU_KERNEL_SUPPORT_FULL, TRUE },
  { "6.3.9", "#1 SMP", NULL, LU_KERNEL_SUPPORT_FULL, TRUE },
  { "6.3.10", "#1 SMP", NULL, LU_KERNEL_SUPPORT_FULL, FALSE },
  { "6.4.0-150600.23.7-default", "#1 SMP", NULL, LU_KERNEL_SUPPORT_FULL, FALSE },
  { "6.5.0-35-generic", "#35-Ubuntu SMP", "Ubuntu 6.5.0-35.35-generic 6.5.13",
    LU_KERNEL_SUPPORT_FULL, FALSE },
  { "6.12.111+deb12-cloud-amd64", "#1 SMP Debian 6.12.111-1~bpo12+1", NULL, LU_KERNEL_SUPPORT_FULL,
    FALSE },
  { "7.0.3", "#1 SMP", NULL, LU_KERNEL_SUPPORT_FULL, FALSE },
};

static LuKernelFacts
facts_of (guint i)
{
  LuKernelFacts facts = usual;

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
      LuKernelFacts facts = facts_of (i);
      g_auto (LuKernelSupport) support = { 0 };

      lu_kernel_support_judge (&support, &facts);
      g_test_message ("%s: %s", kernels[i].release, support.reason);
      g_assert_cmpint (support.level, ==, kernels[i].level);
      g_assert_cmpint (support.is_unsafe, ==, kernels[i].is_unsafe);
      g_assert_nonnull (support.reason);
      g_assert_true ((support.remedy != NULL) == support.is_unsafe);
    }
}

/* Without the check there is no lock to wait for, whatever the version. */
static void
test_unchecked_copies_are_safe (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (kernels); i++)
    {
      LuKernelFacts facts = facts_of (i);
      g_auto (LuKernelSupport) support = { 0 };

      facts.usercopy = LU_USERCOPY_PLAIN;
      lu_kernel_support_judge (&support, &facts);
      g_assert_false (support.is_unsafe);
      g_assert_cmpint (support.level, ==, kernels[i].level);
    }
}

/* Copies are not assumed to be safe unless this is known. */
static void
test_unknown_copies_are_as_checked (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (kernels); i++)
    {
      LuKernelFacts facts = facts_of (i);
      g_auto (LuKernelSupport) support = { 0 };

      facts.usercopy = LU_USERCOPY_UNKNOWN;
      lu_kernel_support_judge (&support, &facts);
      g_assert_cmpint (support.is_unsafe, ==, kernels[i].is_unsafe);
    }
}

/* A kernel's build options take long to look up, so they are read only if its version does not
 * decide. */
static void
test_copies_are_looked_up_in_need (void)
{
  g_auto (LuKernelFacts) facts = { 0 };
  g_auto (LuKernelSupport) support = { 0 };
  LuUsercopy found;

  lu_kernel_facts_read (&facts);
  found = facts.usercopy;
  facts.usercopy = LU_USERCOPY_UNKNOWN;
  lu_kernel_support_judge (&support, &facts);
  g_assert_true (support.is_unsafe || support.level == LU_KERNEL_SUPPORT_NONE
                 || found == LU_USERCOPY_UNKNOWN);
}

static void
expect_nothing (const LuKernelFacts *facts, const char *word)
{
  g_auto (LuKernelSupport) support = { 0 };

  lu_kernel_support_judge (&support, facts);
  g_assert_cmpint (support.level, ==, LU_KERNEL_SUPPORT_NONE);
  g_assert_false (support.is_unsafe);
  g_test_message ("%s", support.reason);
  g_assert_nonnull (strstr (support.reason, word));
}

static void
test_obstacles (void)
{
  LuKernelFacts facts = usual;

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

/* The program looks pids up in the namespace. */
static void
test_namespace (void)
{
  LuKernelFacts facts = usual;
  g_auto (LuKernelSupport) support = { 0 };

  facts.pid_namespace = 4026532277u;
  lu_kernel_support_judge (&support, &facts);
  g_assert_cmpint (support.level, ==, LU_KERNEL_SUPPORT_FULL);
  g_assert_cmpuint (support.pid_namespace, ==, 4026532277u);
}

/* Lockdown in integrity mode does not forbid the program. */
static void
test_integrity_is_enough (void)
{
  LuKernelFacts facts = usual;
  g_auto (LuKernelSupport) support = { 0 };

  facts.lockdown = "none [integrity] confidentiality\n";
  lu_kernel_support_judge (&support, &facts);
  g_assert_cmpint (support.level, ==, LU_KERNEL_SUPPORT_FULL);
}

static void
test_here (void)
{
  g_auto (LuKernelSupport) support = { 0 };

  lu_kernel_support_probe (&support);
  g_assert_nonnull (support.reason);
  g_test_message ("level %d%s: %s", support.level, support.is_unsafe ? ", unsafe" : "",
                  support.reason);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/kernel-support/versions", test_versions);
  g_test_add_func ("/kernel-support/unchecked-copies-are-safe", test_unchecked_copies_are_safe);
  g_test_add_func ("/kernel-support/unknown-copies-are-as-checked",
                   test_unknown_copies_are_as_checked);
  g_test_add_func ("/kernel-support/copies-are-looked-up-in-need",
                   test_copies_are_looked_up_in_need);
  g_test_add_func ("/kernel-support/obstacles", test_obstacles);
  g_test_add_func ("/kernel-support/namespace", test_namespace);
  g_test_add_func ("/kernel-support/integrity-is-enough", test_integrity_is_enough);
  g_test_add_func ("/kernel-support/here", test_here);
  return g_test_run ();
}
