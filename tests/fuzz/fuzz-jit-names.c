/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* fuzz-jit-names.c - perf maps and jitdumps of arbitrary bytes: look-ups end, and a name that is
 * found covers the address. */

#include "fuzz.h"
#include "symbolize/jit-names.h"

#include <sys/mman.h>
#include <unistd.h>

static int
file_of (const uint8_t *data, size_t size)
{
  int fd = memfd_create ("jit", MFD_CLOEXEC);

  if (fd < 0 || write (fd, data, size) != (ssize_t) size)
    g_error ("no memory file");
  return fd;
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  g_autoptr (LuJitNames) names = lu_jit_names_new (NULL, NULL);

  lu_jit_names_add_perf_map (names, file_of (data, size));
  lu_jit_names_add_jitdump (names, file_of (data, size));
  for (guint64 address = 0; address < 0x4000; address += 0x3d)
    {
      LuJitName name;

      if (!lu_jit_names_find (names, address, address / 16, &name))
        continue;
      g_assert_cmpuint (name.start, <=, address);
      g_assert_cmpuint (name.end, >, address);
      g_assert_true (g_utf8_validate (name.name, -1, NULL));
      g_free (name.name);
    }
  return 0;
}
