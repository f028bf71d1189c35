/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* inflating-frames.c - an attack: files of 77 KB whose compressed .debug_frame has 64 MiB.
 *
 * inflating-frames DIRECTORY FILES SECONDS
 *
 * Writes the files, maps each executable, says so on standard output, and runs code of each in
 * turn, so that samples need their CFI. The CFI is sound: an entry for a loop in the file,
 * repeated. */

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#define PLAIN_SIZE (64u << 20)
#define TEXT_AT    4096
#define FRAMES_AT  8192
#define TURN_LOOPS 1000000 /* about a millisecond */

/* dec %rdi; jnz; ret */
static const unsigned char loop[] = { 0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3 };

typedef struct
{
  unsigned length, id;
  unsigned char rest[20];
} Cie;

typedef struct
{
  unsigned length, cie;
  unsigned long start, size;
} Fde;

/* Version 1, code 1, data -8, column 16; CFA = rsp + 8, rip at CFA - 8. */
static const Cie cie = { sizeof (Cie) - 4, 0xffffffff, { 1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1 } };

/* Returns the bytes of the whole file. */
static unsigned char *
make_file (uLongf *size)
{
  static const char names[] = "\0.debug_frame\0.shstrtab";
  unsigned char *plain = calloc (1, PLAIN_SIZE);
  unsigned char *file = calloc (1, FRAMES_AT + (1u << 20));
  Fde fde = { sizeof fde - 4, 0, TEXT_AT, sizeof loop };
  Elf64_Ehdr head = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, 1 },
                      .e_type = ET_DYN,
                      .e_machine = EM_X86_64,
                      .e_version = 1,
                      .e_phoff = sizeof head,
                      .e_shoff = sizeof head + sizeof (Elf64_Phdr),
                      .e_ehsize = sizeof head,
                      .e_phentsize = sizeof (Elf64_Phdr),
                      .e_phnum = 1,
                      .e_shentsize = sizeof (Elf64_Shdr),
                      .e_shnum = 3,
                      .e_shstrndx = 2 };
  Elf64_Phdr segment = { .p_type = PT_LOAD,
                         .p_flags = PF_R | PF_X,
                         .p_filesz = FRAMES_AT,
                         .p_memsz = FRAMES_AT,
                         .p_align = 4096 };
  Elf64_Chdr compressed = { .ch_type = ELFCOMPRESS_ZLIB, .ch_size = PLAIN_SIZE, .ch_addralign = 8 };
  Elf64_Shdr sections[3] = { [1] = { .sh_name = 1,
                                     .sh_type = SHT_PROGBITS,
                                     .sh_flags = SHF_COMPRESSED,
                                     .sh_offset = FRAMES_AT },
                             [2] = { .sh_name = 14,
                                     .sh_type = SHT_STRTAB,
                                     .sh_offset = TEXT_AT / 2,
                                     .sh_size = sizeof names } };

  *size = 1u << 20;
  memcpy (plain, &cie, sizeof cie);
  for (size_t at = sizeof cie; at + sizeof fde <= PLAIN_SIZE; at += sizeof fde)
    memcpy (plain + at, &fde, sizeof fde);
  if (compress2 (file + FRAMES_AT + sizeof compressed, size, plain, PLAIN_SIZE, 9) != Z_OK)
    abort ();
  free (plain);
  sections[1].sh_size = *size += sizeof compressed;
  memcpy (file, &head, sizeof head);
  memcpy (file + head.e_phoff, &segment, sizeof segment);
  memcpy (file + head.e_shoff, sections, sizeof sections);
  memcpy (file + TEXT_AT / 2, names, sizeof names);
  memcpy (file + TEXT_AT, loop, sizeof loop);
  memcpy (file + FRAMES_AT, &compressed, sizeof compressed);
  *size += FRAMES_AT;
  return file;
}

/* Writes and maps a file that differs from the others behind its code. */
static unsigned char *
map_file (const char *directory, int i, unsigned char *bytes, size_t size)
{
  char path[4096];
  void *map;
  int fd;

  snprintf (path, sizeof path, "%s/inflating-%d", directory, i);
  memcpy (bytes + TEXT_AT / 2 + 64, &i, sizeof i);
  /* The size is part of a file's identity. */
  fd = open (path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0 || write (fd, bytes, size) != (ssize_t) size || ftruncate (fd, (off_t) size + i) != 0)
    abort ();
  map = mmap (NULL, FRAMES_AT, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
  close (fd);
  return map != MAP_FAILED ? map : NULL;
}

int
main (int argc, char **argv)
{
  int n = argc == 4 ? atoi (argv[2]) : 0;
  time_t end = time (NULL) + (argc == 4 ? atoi (argv[3]) : 0);
  unsigned char **maps = calloc ((size_t) n + 1, sizeof *maps);
  uLongf size;
  unsigned char *bytes = make_file (&size);

  if (n == 0)
    return 2;
  for (int i = 0; i < n; i++)
    if ((maps[i] = map_file (argv[1], i, bytes, size)) == NULL)
      return 1;
  printf ("mapped %d files of %lu bytes\n", n, size);
  fflush (stdout);
  for (int i = 0; time (NULL) < end; i = (i + 1) % n)
    ((void (*) (long)) (maps[i] + TEXT_AT)) (TURN_LOOPS);
  return 0;
}
