/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* replay.c - main() of a fuzz target without a fuzzer: runs it over files and the files of
 * directories.
 *
 * This makes the committed corpora a test in every build, and lets any compiler and debugger try a
 * file that a fuzzer found. */

#include "fuzz.h"

#include <glib.h>
#include <stdio.h>

static guint
replay_file (const char *path)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *bytes = NULL;
  gsize size;

  if (!g_file_get_contents (path, &bytes, &size, &error))
    {
      fprintf (stderr, "%s\n", error->message);
      exit (1);
    }
  LLVMFuzzerTestOneInput ((const uint8_t *) bytes, size);
  return 1;
}

static guint
replay_directory (const char *path)
{
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  const char *name;
  guint n = 0;

  if (dir == NULL)
    return replay_file (path);
  while ((name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *file = g_build_filename (path, name, NULL);

      n += replay_file (file);
    }
  return n;
}

int
main (int argc, char **argv)
{
  guint n = 0;

  for (int i = 1; i < argc; i++)
    n += replay_directory (argv[i]);
  printf ("%u inputs\n", n);
  return n > 0 ? 0 : 1;
}
