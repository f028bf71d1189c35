/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* ladder.c - may stacks be walked in this kernel? See ladder.h.
 *
 * One defect decides most of it. From Linux 5.19 on, a checked copy from user memory looks up
 * vmalloc areas (commit 0aef499f3172, "mm/usercopy: Detect vmalloc overruns"), which takes a lock;
 * the state of a walk lies in such an area. An interrupt that samples while the same CPU holds that
 * lock waits for ever, and soon the whole machine does (parca-agent issue 1675, Debian bug
 * 1033398). Commit d319f344561d ("mm: Fix copy_from_user_nofault().", Linux 6.4) leaves the check
 * out; of the stable series 6.1 and 6.3 have it, the others had ended by then. A kernel with
 * CONFIG_HARDENED_USERCOPY off, or switched off on its command line, never had the defect. */

#include "config.h"

#include "bpf/ladder.h"

#include "base/fd.h"

#include <glib/gi18n.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* linux/capability.h */
enum
{
  CAPABILITY_SYS_ADMIN = 21,
  CAPABILITY_PERFMON = 38, /* Linux 5.8, as the next */
  CAPABILITY_BPF = 39,
};

/* linux/proc_ns.h, PROC_PID_INIT_INO */
#define INITIAL_PID_NAMESPACE 4026531836u

#define FILE_MAX (1u << 20)

typedef struct
{
  guint major, minor, patch;
} Version;

static gboolean
is_before (Version a, Version b)
{
  if (a.major != b.major)
    return a.major < b.major;
  if (a.minor != b.minor)
    return a.minor < b.minor;
  return a.patch < b.patch;
}

/* A series with the defect, and the release in it that has the fix. Where a series ended without
 * it, or a distributor keeps a number and changes what is behind it, no release shows it. */
static const struct
{
  Version first; /* of the series, or of the range of them */
  Version after; /* the first that is not of it */
  Version fixed; /* equal to `after`: none */
} defects[] = {
  { { 5, 19, 0 }, { 6, 1, 0 }, { 6, 1, 0 } },
  { { 6, 1, 0 }, { 6, 2, 0 }, { 6, 1, 36 } },
  { { 6, 2, 0 }, { 6, 3, 0 }, { 6, 3, 0 } },
  { { 6, 3, 0 }, { 6, 4, 0 }, { 6, 3, 10 } },
};

/* Numbers that stand for the memory management of later kernels, by what is in the release. */
static const struct
{
  guint major, minor;
  const char *mark;
} misnomers[] = {
  { 5, 14, ".el9" },
};

static gboolean
scan_version (const char *text, Version *version)
{
  *version = (Version){ 0 };
  return sscanf (text, "%u.%u.%u", &version->major, &version->minor, &version->patch) >= 2;
}

/* What the kernel was built from. Debian's and Ubuntu's release names stop at the series. */
static gboolean
find_version (const LuLadderFacts *facts, Version *version)
{
  const char *debian = strstr (facts->version, "Debian ");
  Version source;

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

static gboolean
is_misnomer (const LuLadderFacts *facts, Version version)
{
  for (guint i = 0; i < G_N_ELEMENTS (misnomers); i++)
    if (version.major == misnomers[i].major && version.minor == misnomers[i].minor
        && strstr (facts->release, misnomers[i].mark) != NULL)
      return TRUE;
  return FALSE;
}

static void
be_unsafe (LuLadder *self, const char *remedy)
{
  self->is_unsafe = TRUE;
  self->remedy = g_strdup_printf ("%s %s", remedy,
                                  _ ("--engine bpf --unsafe-kernel walks there all the same; the "
                                     "machine may then hang."));
}

/* Which of `defects` the version has; G_N_ELEMENTS: none. */
static guint
find_defect (Version version)
{
  guint i = 0;

  while (i < G_N_ELEMENTS (defects)
         && (is_before (version, defects[i].first) || !is_before (version, defects[i].fixed)))
    i++;
  return i;
}

/* Why a walk could lock this kernel up; NULL if it could not. */
static void
judge_safety (LuLadder *self, const LuLadderFacts *facts, Version version)
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
      be_unsafe (self, _ ("Use a kernel from 6.4 on."));
      return;
    }
  if (i == G_N_ELEMENTS (defects))
    return;
  self->reason = g_strdup_printf (
      _ ("Linux %u.%u.%u can lock up a CPU when user memory is read in an interrupt (from 5.19 "
         "on, commit 0aef499f3172; fixed by d319f344561d)"),
      version.major, version.minor, version.patch);
  remedy = is_before (defects[i].fixed, defects[i].after)
               ? g_strdup_printf (_ ("Use %u.%u.%u or a later kernel."), defects[i].fixed.major,
                                  defects[i].fixed.minor, defects[i].fixed.patch)
               : g_strdup (_ ("Use 6.1.36, 6.3.10 or a kernel from 6.4 on."));
  be_unsafe (self, remedy);
}

/* What stands in the way whatever the kernel's version; NULL: nothing. */
static const char *
find_obstacle (const LuLadderFacts *facts, const char **remedy)
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

static LuRung
rung_of (Version version)
{
  if (is_before (version, (Version){ 5, 8, 0 }))
    return LU_RUNG_NONE;
  return is_before (version, (Version){ 5, 15, 0 }) ? LU_RUNG_USER_MODE : LU_RUNG_FULL;
}

void
lu_ladder_judge (LuLadder *self, const LuLadderFacts *facts)
{
  const char *remedy;
  const char *obstacle = find_obstacle (facts, &remedy);
  Version version;

  *self = (LuLadder){ .rung = LU_RUNG_NONE };
  if (obstacle != NULL)
    {
      self->reason = g_strdup (obstacle);
      self->remedy = g_strdup (remedy);
      return;
    }
  if (!find_version (facts, &version))
    {
      self->reason = g_strdup_printf (_ ("\"%s\" is no kernel version"), facts->release);
      return;
    }
  self->rung = rung_of (version);
  self->pid_namespace = facts->pid_namespace;
  judge_safety (self, facts, version);
  if (self->reason != NULL)
    return;
  if (self->rung == LU_RUNG_NONE)
    self->reason = g_strdup_printf (_ ("Linux %u.%u; 5.8 is needed"), version.major, version.minor);
  else if (self->rung == LU_RUNG_USER_MODE)
    self->reason =
        g_strdup_printf (_ ("Linux %u.%u; samples of kernel mode are copied before 5.15"),
                         version.major, version.minor);
  else
    self->reason = g_strdup_printf (_ ("Linux %u.%u"), version.major, version.minor);
}

void
lu_ladder_clear (LuLadder *self)
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

/* Whether it matters how the kernel was built. To look that up takes longer than all the rest. */
static gboolean
may_have_defect (const LuLadderFacts *facts)
{
  Version version;

  return find_version (facts, &version)
         && (is_misnomer (facts, version) || find_defect (version) < G_N_ELEMENTS (defects));
}

/* Where distributions keep what a kernel was built with. */
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
  g_autofree char *text = lu_fd_read_file ("/proc/self/status", 8192, NULL);
  const char *line = text != NULL ? strstr (text, "\nCapEff:") : NULL;
  guint64 have = line != NULL ? g_ascii_strtoull (line + strlen ("\nCapEff:"), NULL, 16) : 0;

  return (have >> CAPABILITY_SYS_ADMIN & 1) != 0
         || ((have >> CAPABILITY_PERFMON & 1) != 0 && (have >> CAPABILITY_BPF & 1) != 0);
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
lu_ladder_facts_read (LuLadderFacts *facts)
{
  struct utsname name = { 0 };

  uname (&name);
  *facts = (LuLadderFacts){
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
lu_ladder_facts_clear (LuLadderFacts *facts)
{
  g_clear_pointer (&facts->release, g_free);
  g_clear_pointer (&facts->version, g_free);
  g_clear_pointer (&facts->signature, g_free);
  g_clear_pointer (&facts->lockdown, g_free);
}

void
lu_ladder_look (LuLadder *self)
{
  g_auto (LuLadderFacts) facts = { 0 };

  lu_ladder_facts_read (&facts);
  lu_ladder_judge (self, &facts);
}
