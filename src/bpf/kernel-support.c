/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* kernel-support.c - whether this kernel can unwind stacks; see kernel-support.h.
 *
 * One defect decides most cases. From Linux 5.19 on, a checked copy from user memory looks up
 * vmalloc areas (commit 0aef499f3172, "mm/usercopy: Detect vmalloc overruns"), which takes a lock;
 * the state of a walk lies in such an area. An interrupt that samples while the same CPU holds that
 * lock waits for ever, and soon the whole machine does (parca-agent issue 1675, Debian bug
 * 1033398). Commit d319f344561d ("mm: Fix copy_from_user_nofault().", Linux 6.4) leaves the check
 * out; of the stable series, 6.1 and 6.3 have the fix; support of the other series had ended by
 * then. A kernel with CONFIG_HARDENED_USERCOPY off, or switched off on its command line, never had
 * the defect. */

#include "config.h"

#include "kernel-support.h"

#include "base/capability.h"
#include "base/fd.h"

#include <glib/gi18n.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

/* linux/proc_ns.h, PROC_PID_INIT_INO */
#define INITIAL_PID_NAMESPACE 4026531836u

#define FILE_MAX (1u << 20)

/* A version as one number; patch is at most 4,095. */
#define VERSION(major, minor, patch) ((guint) (major) << 20 | (guint) (minor) << 12 | (patch))
#define MAJOR(version)               ((version) >> 20)
#define MINOR(version)               ((version) >> 12 & 0xff)
#define PATCH(version)               ((version) &0xfff)

/* The series with the defect, and the release that fixed each. A series may have ended without the
 * fix, and a distributor may have changed a kernel without changing its number. */
static const struct
{
  guint first; /* of the series, or of a range of series */
  guint after; /* the first release after the series */
  guint fixed; /* equal to `after`: none */
} defects[] = {
  { VERSION (5, 19, 0), VERSION (6, 1, 0), VERSION (6, 1, 0) },
  { VERSION (6, 1, 0), VERSION (6, 2, 0), VERSION (6, 1, 36) },
  { VERSION (6, 2, 0), VERSION (6, 3, 0), VERSION (6, 3, 0) },
  { VERSION (6, 3, 0), VERSION (6, 4, 0), VERSION (6, 3, 10) },
};

static gboolean
scan_version (const char *text, guint *version)
{
  guint major = 0, minor = 0, patch = 0;

  if (sscanf (text, "%u.%u.%u", &major, &minor, &patch) < 2)
    return FALSE;
  *version = VERSION (MIN (major, 0xfff), MIN (minor, 0xff), MIN (patch, 0xfff));
  return TRUE;
}

/* Finds the version that the kernel was built from. Debian's and Ubuntu's release names contain
 * only the series. */
static gboolean
find_version (const LuKernelFacts *facts, guint *version)
{
  const char *debian = strstr (facts->version, "Debian ");
  guint source;

  if (!scan_version (facts->release, version))
    return FALSE;
  if (debian != NULL && scan_version (debian + strlen ("Debian "), &source))
    *version = source;
  /* "Ubuntu 6.2.0-26.26~22.04.1-generic 6.2.13" */
  if (facts->signature != NULL && strrchr (facts->signature, ' ') != NULL
      && scan_version (strrchr (facts->signature, ' ') + 1, &source))
    *version = source;
  return TRUE;
}

/* Returns whether a kernel has the memory management of later ones, as Red Hat's 5.14 has. */
static gboolean
is_misnomer (const LuKernelFacts *facts, guint version)
{
  return MAJOR (version) == 5 && MINOR (version) == 14 && strstr (facts->release, ".el9") != NULL;
}

static void
be_unsafe (LuKernelSupport *self, const char *remedy)
{
  self->is_unsafe = TRUE;
  self->remedy = g_strdup_printf (
      "%s %s", remedy,
      _ ("--engine bpf --unsafe-kernel unwinds there anyway; the machine may then hang."));
}

/* Returns the index in `defects` that applies to the version; G_N_ELEMENTS (defects): none. */
static guint
find_defect (guint version)
{
  guint i = 0;

  while (i < G_N_ELEMENTS (defects) && (version < defects[i].first || version >= defects[i].fixed))
    i++;
  return i;
}

/* Sets the reason and the remedy if unwinding could lock this kernel up. */
static void
judge_safety (LuKernelSupport *self, const LuKernelFacts *facts, guint version)
{
  g_autofree char *remedy = NULL;
  guint i = find_defect (version);

  if (facts->usercopy == LU_USERCOPY_PLAIN)
    return;
  if (is_misnomer (facts, version))
    {
      self->reason = g_strdup_printf (
          _ ("Linux %s has parts of later kernels, so it does not show whether a walk can lock up "
             "a CPU (fixed in 6.4 by commit d319f344561d)"),
          facts->release);
      be_unsafe (self, _ ("Use Linux 6.4 or later."));
      return;
    }
  if (i == G_N_ELEMENTS (defects))
    return;
  self->reason = g_strdup_printf (
      _ ("Linux %u.%u.%u can lock up a CPU when user memory is read in an interrupt (from 5.19 "
         "on, commit 0aef499f3172; fixed by d319f344561d)"),
      MAJOR (version), MINOR (version), PATCH (version));
  remedy = defects[i].fixed < defects[i].after
               ? g_strdup_printf (_ ("Use Linux %u.%u.%u or later."), MAJOR (defects[i].fixed),
                                  MINOR (defects[i].fixed), PATCH (defects[i].fixed))
               : g_strdup (_ ("Use Linux 6.1.36, 6.3.10, 6.4 or later."));
  be_unsafe (self, remedy);
}

/* Returns an obstacle that does not depend on the kernel's version, or NULL. */
static const char *
find_obstacle (const LuKernelFacts *facts, const char **remedy)
{
  *remedy = NULL;
  if (!facts->is_supported)
    return _ ("there is no walker for this architecture");
  if (!facts->has_library)
    return _ ("live-unwinder was built without libbpf");
  if (!facts->may_load)
    {
      *remedy = _ ("Needs root, or CAP_BPF and CAP_PERFMON (setcap cap_bpf,cap_perfmon,…).");
      return _ ("no permission to load BPF programs");
    }
  if (!facts->has_pid_namespace)
    return _ ("/proc does not say which pid namespace this is (/proc/self/ns/pid)");
  if (facts->lockdown != NULL && strstr (facts->lockdown, "[confidentiality]") != NULL)
    return _ ("kernel lockdown is at \"confidentiality\"");
  if (!facts->has_btf)
    return _ ("the kernel has no description of its types (CONFIG_DEBUG_INFO_BTF)");
  return NULL;
}

void
lu_kernel_support_judge (LuKernelSupport *self, const LuKernelFacts *facts)
{
  static const char *const reasons[] = {
    [LU_KERNEL_SUPPORT_NONE] = N_ ("Linux %u.%u; 5.8 is needed"),
    [LU_KERNEL_SUPPORT_USER_MODE] =
        N_ ("Linux %u.%u; kernels before 5.15 copy samples in kernel mode"),
    [LU_KERNEL_SUPPORT_FULL] = N_ ("Linux %u.%u"),
  };
  const char *remedy;
  const char *obstacle = find_obstacle (facts, &remedy);
  guint version;

  *self = (LuKernelSupport){ .level = LU_KERNEL_SUPPORT_NONE };
  if (obstacle != NULL)
    {
      self->reason = g_strdup (obstacle);
      self->remedy = g_strdup (remedy);
      return;
    }
  if (!find_version (facts, &version))
    {
      self->reason = g_strdup_printf (_ ("\"%s\" is not a kernel version"), facts->release);
      return;
    }
  self->pid_namespace = facts->pid_namespace;
  if (version >= VERSION (5, 8, 0))
    self->level =
        version < VERSION (5, 15, 0) ? LU_KERNEL_SUPPORT_USER_MODE : LU_KERNEL_SUPPORT_FULL;
  judge_safety (self, facts, version);
  if (self->reason == NULL)
    self->reason = g_strdup_printf (_ (reasons[self->level]), MAJOR (version), MINOR (version));
}

void
lu_kernel_support_clear (LuKernelSupport *self)
{
  g_clear_pointer (&self->reason, g_free);
  g_clear_pointer (&self->remedy, g_free);
}

/* Gathering */

static gboolean
is_set_on_command_line (const char *word)
{
  g_autofree char *text = lu_fd_read_file ("/proc/cmdline", 8192, NULL);
  g_auto (GStrv) words = text != NULL ? g_strsplit_set (text, " \n", -1) : NULL;

  return words != NULL && g_strv_contains ((const char *const *) words, word);
}

/* Returns whether it matters how the kernel was built; finding that out takes longer than
 * everything else here.
 */
static gboolean
may_have_defect (const LuKernelFacts *facts)
{
  guint version;

  return find_version (facts, &version)
         && (is_misnomer (facts, version) || find_defect (version) < G_N_ELEMENTS (defects));
}

/* Reads the kernel's configuration from where distributions keep it. */
static LuUsercopy
find_usercopy (const char *release)
{
  g_autofree char *boot = g_strdup_printf ("/boot/config-%s", release);
  g_autofree char *modules = g_strdup_printf ("/lib/modules/%s/config", release);
  const char *const paths[] = { boot, modules };

  if (is_set_on_command_line ("hardened_usercopy=off"))
    return LU_USERCOPY_PLAIN;
  for (guint i = 0; i < G_N_ELEMENTS (paths); i++)
    {
      g_autofree char *text = lu_fd_read_file (paths[i], FILE_MAX, NULL);

      if (text != NULL && strstr (text, "\nCONFIG_HARDENED_USERCOPY=y") != NULL)
        return LU_USERCOPY_HARDENED;
      if (text != NULL && strstr (text, "\n# CONFIG_HARDENED_USERCOPY is not set") != NULL)
        return LU_USERCOPY_PLAIN;
    }
  return LU_USERCOPY_UNKNOWN;
}

static gboolean
may_load_programs (void)
{
  guint64 have = lu_status_mask ("CapEff");

  return lu_mask_has (have, LU_CAP_SYS_ADMIN)
         || (lu_mask_has (have, LU_CAP_PERFMON) && lu_mask_has (have, LU_CAP_BPF));
}

static gboolean
find_pid_namespace (guint32 *inode)
{
  char target[64] = "";

  if (readlink ("/proc/self/ns/pid", target, sizeof target - 1) <= 0
      || sscanf (target, "pid:[%" G_GUINT32_FORMAT "]", inode) != 1)
    return FALSE;
  if (*inode == INITIAL_PID_NAMESPACE)
    *inode = 0;
  return TRUE;
}

void
lu_kernel_facts_read (LuKernelFacts *facts)
{
  struct utsname name = { 0 };

  uname (&name);
  *facts = (LuKernelFacts){
    .release = g_strdup (name.release),
    .version = g_strdup (name.version),
    .signature = lu_fd_read_file ("/proc/version_signature", 4096, NULL),
    .lockdown = lu_fd_read_file ("/sys/kernel/security/lockdown", 256, NULL),
    .has_btf = g_file_test ("/sys/kernel/btf/vmlinux", G_FILE_TEST_EXISTS),
    .may_load = may_load_programs (),
    .has_library = LU_HAS_BPF,
    .is_supported = LU_HAS_BPF_WALKER,
  };
  if (may_have_defect (facts))
    facts->usercopy = find_usercopy (name.release);
  facts->has_pid_namespace = find_pid_namespace (&facts->pid_namespace);
  if (facts->signature != NULL)
    g_strchomp (facts->signature);
}

void
lu_kernel_facts_clear (LuKernelFacts *facts)
{
  g_clear_pointer (&facts->release, g_free);
  g_clear_pointer (&facts->version, g_free);
  g_clear_pointer (&facts->signature, g_free);
  g_clear_pointer (&facts->lockdown, g_free);
}

void
lu_kernel_support_probe (LuKernelSupport *self)
{
  g_auto (LuKernelFacts) facts = { 0 };

  lu_kernel_facts_read (&facts);
  lu_kernel_support_judge (self, &facts);
}
