/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* fresh.c SECONDS - generates the same code at ever new addresses, some thousand times a second,
 * and is sampled in a function without unwind information and without a frame that this code calls.
 * The frame pointer is that of the generated code: a walk that does not know its mapping yet would
 * leave its frame out. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define AREA_BYTES (1ul << 30)
#define PAGE_BYTES 4096ul

typedef void Run (void (*call) (void));

void spin_bare (void);
__asm__(".text\n\t"
        ".type spin, @function\n"
        "spin:\n"
        "spin_bare:\n\t"
        "mov $200000, %eax\n"
        "1:\tsub $1, %eax\n\t"
        "jne 1b\n\t"
        "ret\n\t"
        ".size spin, . - spin");

/* push %rbp; mov %rsp,%rbp; push $0 four times; call *%rdi; leave; ret */
static const unsigned char code[] = { 0x55, 0x48, 0x89, 0xe5, 0x6a, 0,    0x6a, 0,
                                      0x6a, 0,    0x6a, 0,    0xff, 0xd7, 0xc9, 0xc3 };

int
main (int argc, char **argv)
{
  time_t end = time (NULL) + (argc > 1 ? atoi (argv[1]) : 1);
  char *area = mmap (NULL, AREA_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  if (area == MAP_FAILED)
    return 1;
  for (size_t at = 0; at < AREA_BYTES && time (NULL) < end; at += PAGE_BYTES)
    {
      if (mprotect (area + at, PAGE_BYTES, PROT_READ | PROT_WRITE) != 0)
        return 1;
      memcpy (area + at, code, sizeof code);
      if (mprotect (area + at, PAGE_BYTES, PROT_READ | PROT_EXEC) != 0)
        return 1;
      ((Run *) (area + at)) (spin_bare);
    }
  return 0;
}
