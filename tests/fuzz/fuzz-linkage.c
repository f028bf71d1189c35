/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* fuzz-linkage.c - arbitrary files: names of linkage tables end, and what has one name is one
 * function or none. */

#include "fuzz.h"
#include "symbolize/linkage.h"

static void
look_up (LuLinkage *linkage, const char *name)
{
  guint64 address = 0;

  if (name == NULL)
    return;
  if (lu_linkage_find (linkage, name, &address) == LU_LINKAGE_ONE)
    g_assert_cmpuint (address, !=, 0);
  g_assert_cmpuint (strlen (name), <, 64u << 20);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
  g_auto (LuElfFile) file = { .input = { .fd = -1 } };
  g_autoptr (LuLinkage) linkage = NULL;
  guint64 address;

  if (!lu_elf_file_open_memory (&file, data, size, NULL))
    return 0;
  linkage = lu_linkage_new (&file, NULL);
  for (guint64 at = 0; at < 0x3000; at += 8)
    {
      look_up (linkage, lu_linkage_of_entry (linkage, at));
      look_up (linkage, lu_linkage_of_slot (linkage, at));
    }
  g_assert_cmpint (lu_linkage_find (linkage, "no such name", &address), ==, LU_LINKAGE_NONE);
  look_up (linkage, "mine");
  look_up (linkage, "both");
  return 0;
}
