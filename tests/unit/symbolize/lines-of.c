/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* lines-of.c - prints the source lines that lines.h finds for addresses, in the form of addr2line
 * -a -f -i, so that test_lines.py can compare them.
 *
 * lines-of FILE < ADDRESSES */

#include "symbolize/lines.h"

#include "elf/headers.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>

static guint64
offset_of (const LuElfHeaders *headers, guint64 address)
{
  for (guint i = 0; i < headers->n_program_headers; i++)
    {
      const LuElfProgramHeader *header = &headers->program_headers[i];

      if (header->type == PT_LOAD && address >= header->vaddr
          && address - header->vaddr < header->file_size)
        return address - header->vaddr + header->file_offset;
    }
  return G_MAXUINT64;
}

static void
read_headers (LuElfHeaders *headers, const char *path)
{
  LuElfInput input = { .fd = open (path, O_RDONLY | O_CLOEXEC) };
  struct stat info;

  if (input.fd < 0 || fstat (input.fd, &info) != 0)
    exit (1);
  input.size = (guint64) info.st_size;
  if (!lu_elf_headers_read (headers, &input, NULL))
    exit (1);
  close (input.fd);
}

static void
print (guint64 address, const LuLineQuery *query)
{
  printf ("0x%016" G_GINT64_MODIFIER "x\n", address);
  for (guint i = 0; i < query->n_lines; i++)
    {
      const LuLine *line = &query->lines[i];

      printf ("%s\n%s:%u\n", line->function != NULL ? line->function : "??",
              line->file != NULL ? line->file : "??", line->line);
    }
  if (query->n_lines == 0)
    printf ("??\n??:0\n");
}

int
main (int argc, char **argv)
{
  g_autoptr (LuLines) lines = lu_lines_new (120, 120);
  g_autoptr (GArray) addresses = g_array_new (FALSE, FALSE, sizeof (guint64));
  g_autoptr (GArray) queries = g_array_new (FALSE, FALSE, sizeof (LuLineQuery));
  LuFileId id = { 0 };
  LuNameFile file = { .id = &id };
  LuElfHeaders headers;
  LuLinesResult result;
  struct rusage usage;
  guint64 address;
  gint64 start;

  if (argc != 2)
    return 2;
  id.path = argv[1];
  read_headers (&headers, argv[1]);
  while (scanf ("%" G_GINT64_MODIFIER "x", &address) == 1)
    {
      LuLineQuery query = { .file_offset = offset_of (&headers, address) };

      g_array_append_val (addresses, address);
      g_array_append_val (queries, query);
    }
  start = g_get_monotonic_time ();
  result = lu_lines_find_all (lines, &file, (LuLineQuery *) (gpointer) queries->data, queries->len);
  getrusage (RUSAGE_CHILDREN, &usage);
  fprintf (stderr, "result %d, %u addresses, %.3f s, %ld KiB at most\n", result, queries->len,
           (double) (g_get_monotonic_time () - start) / 1e6, usage.ru_maxrss);
  for (guint i = 0; i < queries->len; i++)
    print (g_array_index (addresses, guint64, i), &g_array_index (queries, LuLineQuery, i));
  lu_elf_headers_clear (&headers);
  return result == LU_LINES_READ ? 0 : 1;
}
