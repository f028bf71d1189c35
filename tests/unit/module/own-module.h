/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* own-module.h - the module of the test program itself. */

#pragma once

#include "module/module.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static inline LuModule *
open_program (void)
{
  g_autofree char *path = g_file_read_link ("/proc/self/exe", NULL);
  LuModuleKey key = { .kind = LU_MODULE_FILE, .path = path, .has_inode = TRUE };
  int fd = open (path, O_RDONLY | O_CLOEXEC);
  LuModule *module;
  struct stat info;

  g_assert_cmpint (fstat (fd, &info), ==, 0);
  key.major = major (info.st_dev);
  key.minor = minor (info.st_dev);
  key.inode = info.st_ino;
  module = lu_module_new (&key);
  lu_module_publish (module, LU_MODULE_READY, lu_image_open (fd, NULL));
  g_assert_nonnull (lu_module_image (module));
  close (fd);
  return module;
}
