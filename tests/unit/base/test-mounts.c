/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-mounts.c - which file systems may hang, by texts of mountinfo. */

#include "base/mounts.h"

#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define ROOT "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n"
#define FUSE "40 27 0:50 / /srv/remote rw - fuse.sshfs server:/ rw,user_id=0,allow_other\n"
#define OVERLAY(id, device, point, options)                                                        \
  id " 27 0:" device " / " point " rw,relatime shared:9 - overlay overlay rw," options "\n"
#define OWN                                                                                        \
  ROOT FUSE OVERLAY ("41", "51", "/run/a", "lowerdir=/usr:/opt,upperdir=/srv/u,workdir=/srv/w")    \
      OVERLAY ("42", "52", "/run/b", "lowerdir=/usr:/srv/remote/layer,upperdir=/srv/u")            \
          OVERLAY ("43", "53", "/run/c", "lowerdir=/usr,upperdir=/srv/remote")                     \
              OVERLAY ("44", "54", "/run/d", "lowerdir+=/srv/remote/x,lowerdir+=/usr")             \
                  OVERLAY ("45", "55", "/run/e", "lowerdir=/run/b/inner")                          \
                      OVERLAY ("46", "56", "/run/f", "lowerdir=1/fs:2/fs")                         \
                          OVERLAY ("47", "57", "/run/g", "lowerdir=1/fs:remote")                   \
                              OVERLAY ("48", "58", "/run/h",                                       \
                                       "lowerdir=/run/a/inner,upperdir=/srv/remotely")             \
                                  OVERLAY ("49", "59", "/run/i", "lowerdir=/run/i")

static gboolean
may_hang (guint device, guint64 mount, const char *others)
{
  const LuMounted file = { .device = makedev (0, device), .mount = mount };

  return lu_mount_may_hang_in (OWN, others, &file);
}

static void
test_own (void)
{
  g_assert_true (may_hang (50, 40, NULL));
  g_assert_false (may_hang (51, 41, NULL));
  g_assert_true (may_hang (52, 42, NULL));
  g_assert_true (may_hang (53, 43, NULL));
  g_assert_true (may_hang (54, 44, NULL));
}

static void
test_nested (void)
{
  g_assert_true (may_hang (55, 45, NULL));
  g_assert_false (may_hang (58, 48, NULL));
  g_assert_true (may_hang (59, 49, NULL)); /* a line that no kernel prints ends, too */
}

static void
test_relative (void)
{
  g_assert_false (may_hang (56, 46, NULL));
  g_assert_true (may_hang (57, 47, NULL));
}

/* Files of overlays have devices that no mount has. */
static void
test_device_without_mount (void)
{
  g_assert_false (may_hang (99, 41, NULL));
  g_assert_true (may_hang (99, 42, NULL));
  g_assert_false (may_hang (99, 27, NULL));
}

static void
test_other_namespace (void)
{
  const char *container = "80 1 0:51 / / rw - overlay overlay rw,lowerdir=/x\n"
                          "81 80 0:52 / /b rw - overlay overlay rw,lowerdir=/usr\n"
                          "82 80 0:70 / /c rw - overlay overlay rw,lowerdir=/usr\n"
                          "83 80 0:71 / /d rw - tmpfs tmpfs rw\n"
                          "84 80 0:72 / /e rw - fuse fuse rw\n";

  g_assert_false (may_hang (99, 80, container));
  g_assert_true (may_hang (99, 81, container));
  g_assert_true (may_hang (99, 82, container));
  g_assert_false (may_hang (99, 83, container));
  g_assert_true (may_hang (99, 84, container));
}

static void
test_hidden (void)
{
  g_assert_true (may_hang (99, 85, ROOT));
  g_assert_true (may_hang (99, 85, NULL));
  g_assert_false (may_hang (99, 0, NULL)); /* Linux before 5.8 does not tell the mount */
}

static void
test_broken (void)
{
  static const char *const texts[] = { "",      "\n",      "27\n",    "27 1 254:0 / / rw - ",
                                       " - \n", "x - y\n", "1 2 3:4", "1 2 3:4 / - overlay\n" };
  const LuMounted file = { .device = makedev (3, 4), .mount = 1 };

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    lu_mount_may_hang_in (texts[i], texts[i], &file);
  g_assert_true (lu_mount_may_hang_in (texts[0], texts[7], &file));
}

static void
test_here (void)
{
  struct stat info;
  LuMounted file = { 0 };

  g_assert_cmpint (stat ("/proc/self/exe", &info), ==, 0);
  file.device = info.st_dev;
  g_test_message ("the test's own file system %s hang",
                  lu_mount_may_hang (&file) ? "may" : "cannot");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/mounts/own", test_own);
  g_test_add_func ("/mounts/nested", test_nested);
  g_test_add_func ("/mounts/relative", test_relative);
  g_test_add_func ("/mounts/device-without-mount", test_device_without_mount);
  g_test_add_func ("/mounts/other-namespace", test_other_namespace);
  g_test_add_func ("/mounts/hidden", test_hidden);
  g_test_add_func ("/mounts/broken", test_broken);
  g_test_add_func ("/mounts/here", test_here);
  return g_test_run ();
}
