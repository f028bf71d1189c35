/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* swap.c SECONDS LIBRARY LIBRARY - maps the code of two libraries at one address in turn, some
 * thousand times a second, and is sampled below their function. Their frames differ in size: with
 * the previous mapping's rules the caller would be wrong or not found. */

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define TURNS 20000

typedef int Step (int (*call) (int));

typedef struct
{
  const char *path;
  int fd;
  uintptr_t function;           /* ELF address */
  ElfW (Phdr) segment;          /* the one that contains it */
  size_t offset, start, length; /* of the mapping, in whole pages */
} Library;

static int
spin (int n)
{
  for (int i = 0; i < TURNS; i++)
    __asm__ volatile("");
  return n;
}

static int
look (struct dl_phdr_info *info, size_t size, void *data)
{
  Library *library = data;

  if (strstr (info->dlpi_name, library->path) == NULL)
    return 0;
  library->function -= info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; i++)
    if (info->dlpi_phdr[i].p_type == PT_LOAD
        && library->function - info->dlpi_phdr[i].p_vaddr < info->dlpi_phdr[i].p_filesz)
      library->segment = info->dlpi_phdr[i];
  return 1;
}

static void
load (Library *library, const char *path)
{
  size_t page = (size_t) sysconf (_SC_PAGESIZE);
  void *handle = dlopen (path, RTLD_NOW);

  if (handle == NULL)
    {
      fprintf (stderr, "%s\n", dlerror ());
      exit (1);
    }
  library->path = path;
  library->fd = open (path, O_RDONLY);
  library->function = (uintptr_t) dlsym (handle, "step");
  dl_iterate_phdr (look, library);
  library->start = library->segment.p_vaddr & ~(page - 1);
  library->offset = library->segment.p_offset & ~(page - 1);
  library->length = library->segment.p_vaddr + library->segment.p_filesz - library->start;
}

int
main (int argc, char **argv)
{
  Library libraries[2] = { 0 };
  time_t end;
  char *place;
  int sum = 0;

  if (argc != 4)
    return 2;
  for (int i = 0; i < 2; i++)
    load (&libraries[i], argv[2 + i]);
  place = mmap (NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  end = time (NULL) + atoi (argv[1]);
  for (unsigned n = 0; time (NULL) < end; n++)
    {
      const Library *library = &libraries[n % 2];

      if (mmap (place, library->length, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, library->fd,
                (off_t) library->offset)
          != place)
        return 1;
      sum += ((Step *) (place + (library->function - library->start))) (spin);
    }
  printf ("%d\n", sum != 0);
  return 0;
}
