/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* jit-frames.c - `jit-frames CASE anonymous|memfd|DIRECTORY`: generated code that keeps frame
 * pointers, or only seems to, in memory of that kind (DIRECTORY: a file there, mapped).
 *
 * Each generated function pushes 30 words that are all the return address of a call in decoy(), so
 * that a walk that searches the stack, or is off by a word, shows that name. The table of cases has
 * the expected stack of each case. */
#include "known.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define N_WORDS  30
#define PAGE     4096
#define FUNCTION 256
#define N_ROUNDS 1000000000u

typedef void (*Function) (void);

extern const char after_decoy[];
void decoy (Function function);
void with_frame_pointer (Function function);

__asm__(".pushsection .text\n"
        ".type decoy, @function\n"
        "decoy:\n"
        "  .cfi_startproc\n"
        "  push %rbx\n"
        "  .cfi_adjust_cfa_offset 8\n"
        "  call *%rdi\n"
        "after_decoy:\n"
        "  pop %rbx\n"
        "  .cfi_adjust_cfa_offset -8\n"
        "  ret\n"
        "  .cfi_endproc\n"
        ".size decoy, . - decoy\n"
        ".type with_frame_pointer, @function\n"
        "with_frame_pointer:\n"
        "  .cfi_startproc\n"
        "  push %rbp\n"
        "  .cfi_adjust_cfa_offset 8\n"
        "  .cfi_offset %rbp, -16\n"
        "  mov %rsp, %rbp\n"
        "  .cfi_def_cfa_register %rbp\n"
        "  call *%rdi\n"
        "  pop %rbp\n"
        "  .cfi_def_cfa %rsp, 8\n"
        "  ret\n"
        "  .cfi_endproc\n"
        ".size with_frame_pointer, . - with_frame_pointer\n"
        ".popsection\n");

static uint8_t *code;       /* the page of the functions, as mapped for execution */
static uint8_t image[PAGE]; /* the same page, as mapped for writing */
static uint64_t elsewhere[128];

KNOWN void
hot (void)
{
  spin (500);
}

/* Assembling; `at` is an offset in the image. */

static unsigned at;

static void
put (const void *bytes, unsigned n)
{
  memcpy (image + at, bytes, n);
  at += n;
}

static void
put_load (char second, uint64_t value) /* movabs $value, %rax or %rcx */
{
  put ("\x48", 1);
  put (&second, 1);
  put (&value, 8);
}

#define LOAD_RAX(value) put_load ('\xb8', (uint64_t) (uintptr_t) (value))
#define LOAD_RCX(value) put_load ('\xb9', (uint64_t) (uintptr_t) (value))

static Function
begin (unsigned number)
{
  at = number * FUNCTION;
  return (Function) (uintptr_t) (code + at);
}

static void
put_words (void)
{
  LOAD_RAX (after_decoy);
  for (unsigned i = 0; i < N_WORDS; i++)
    put ("\x50", 1); /* push %rax */
}

/* Makes a function that calls another one, or burns the time. */
static void
put_body (Function callee)
{
  uint32_t rounds = N_ROUNDS;

  if (callee)
    {
      LOAD_RAX (callee);
      put ("\xff\xd0", 2); /* call *%rax */
      return;
    }
  put ("\xb9", 1); /* mov $rounds, %ecx */
  put (&rounds, 4);
  put ("\xff\xc9\x75\xfc", 4); /* dec %ecx; jnz back */
}

KNOWN Function
keeps_frame_pointer (unsigned number, Function callee)
{
  Function self = begin (number);

  put ("\x55\x48\x89\xe5", 4); /* push %rbp; mov %rsp, %rbp */
  put_words ();
  put_body (callee);
  put ("\xc9\xc3", 2); /* leave; ret */
  return self;
}

KNOWN Function
keeps_none (unsigned number, Function callee)
{
  Function self = begin (number);

  put_words ();
  put ("\x50", 1); /* push %rax: aligned */
  put_body (callee);
  put ("\x48\x81\xc4\xf8\x00\x00\x00\xc3", 8); /* add $248, %rsp; ret */
  return self;
}

/* Makes a leaf that does not use the stack, with a loop too long to be seen at a glance. */
KNOWN Function
loops_far (unsigned number)
{
  Function self = begin (number);
  uint32_t rounds = N_ROUNDS;

  put ("\xb9", 1); /* mov $rounds, %ecx */
  put (&rounds, 4);
  for (unsigned i = 0; i < 12; i++)
    put ("\x0f\x1f\x84\x00\x00\x00\x00\x00", 8); /* back: nop */
  put ("\xff\xc9\x75\x9c\xc3", 5);               /* dec %ecx; jnz back; ret */
  return self;
}

/* Makes a function that calls another one again and again, so that each of its few instructions is
 * sampled. */
KNOWN Function
repeats (unsigned number, const void *callee)
{
  Function self = begin (number);
  uint32_t rounds = N_ROUNDS / 5;

  put ("\x55\x48\x89\xe5\x53", 5); /* push %rbp; mov %rsp, %rbp; push %rbx */
  put ("\x48\x83\xec\x08", 4);     /* sub $8, %rsp */
  put_words ();
  put ("\xbb", 1); /* mov $rounds, %ebx */
  put (&rounds, 4);
  LOAD_RAX (callee);
  put ("\xff\xd0\xff\xcb\x75\xfa", 6);     /* back: call *%rax; dec %ebx; jnz back */
  put ("\x48\x81\xc4\xf8\x00\x00\x00", 7); /* add $248, %rsp */
  put ("\x5b\xc9\xc3", 3);                 /* pop %rbx; leave; ret */
  return self;
}

KNOWN Function
tiny (unsigned number)
{
  Function self = begin (number);

  put ("\x55\x48\x89\xe5\x90\x5d\xc3", 7); /* push %rbp; mov %rsp, %rbp; nop; pop %rbp; ret */
  return self;
}

/* Calls hot() with a false frame pointer: it leads to the words `next` (0: its own place) and
 * `return_address`, and is moved by `skew`. */
KNOWN Function
lies (unsigned number, uint64_t next, const void *return_address, int32_t skew)
{
  Function self = begin (number);

  skew += 8 * N_WORDS;

  put ("\x55", 1); /* push %rbp */
  LOAD_RAX (return_address);
  put ("\x50", 1); /* push %rax */
  LOAD_RCX (next);
  if (next == 0)
    put ("\x48\x8d\x4c\x24\xf8", 5); /* lea -8(%rsp), %rcx */
  put ("\x51", 1);                   /* push %rcx */
  put_words ();
  put ("\x48\x8d\xac\x24", 4); /* lea skew(%rsp), %rbp */
  put (&skew, sizeof skew);
  LOAD_RAX (hot);
  put ("\xff\xd0", 2);                     /* call *%rax */
  put ("\x48\x81\xc4\x00\x01\x00\x00", 7); /* add $256, %rsp */
  put ("\x5d\xc3", 2);                     /* pop %rbp; ret */
  return self;
}

/* Makes the same function with the two words in the program's data. */
KNOWN Function
points_elsewhere (unsigned number)
{
  Function self = begin (number);

  elsewhere[0] = (uint64_t) (uintptr_t) (elsewhere + 64);
  elsewhere[1] = (uint64_t) (uintptr_t) after_decoy;
  put ("\x55", 1); /* push %rbp */
  put_words ();
  LOAD_RCX (elsewhere);
  put ("\x48\x89\xcd", 3); /* mov %rcx, %rbp */
  LOAD_RAX (hot);
  put ("\xff\xd0", 2);                     /* call *%rax */
  put ("\x48\x81\xc4\xf0\x00\x00\x00", 7); /* add $240, %rsp */
  put ("\x5d\xc3", 2);                     /* pop %rbp; ret */
  return self;
}

/* Memory */

typedef struct
{
  uint8_t *page;
  int fd; /* -1: no file */
} Memory;

/* Maps a page for code of this kind; DIRECTORY gets the file `generated`. */
KNOWN int
map (Memory *memory, const char *kind)
{
  char path[4096];
  int is_anonymous = strcmp (kind, "anonymous") == 0;

  snprintf (path, sizeof path, "%s/generated", kind);
  memory->fd = is_anonymous                  ? -1
               : strcmp (kind, "memfd") == 0 ? memfd_create ("code", 0)
                                             : open (path, O_RDWR | O_CREAT, 0600);
  if (!is_anonymous && (memory->fd < 0 || ftruncate (memory->fd, PAGE) != 0))
    return 0;
  memory->page = mmap (NULL, PAGE, PROT_READ | PROT_EXEC | (is_anonymous ? PROT_WRITE : 0),
                       is_anonymous ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, memory->fd, 0);
  code = memory->page;
  return memory->page != MAP_FAILED;
}

/* Copies the image to the page. */
KNOWN int
publish (const Memory *memory)
{
  if (memory->fd >= 0)
    return pwrite (memory->fd, image, PAGE, 0) == PAGE;
  memcpy (memory->page, image, PAGE);
  return 1;
}

/* Ordinary code between the generated functions */

static Function second_part;

KNOWN void
callback (void)
{
  second_part ();
  AFTER_CALL ();
}

KNOWN void
run_generated (Function function)
{
  function ();
  AFTER_CALL ();
}

KNOWN void
run_with_frame_pointer (Function function)
{
  with_frame_pointer (function);
  AFTER_CALL ();
}

static Function kept;

KNOWN void
run_kept (void)
{
  kept ();
  AFTER_CALL ();
}

KNOWN Function
assemble (const char *name)
{
  Function first;

  if (strcmp (name, "frames") == 0)
    {
      second_part = keeps_frame_pointer (1, keeps_frame_pointer (0, hot));
      first = keeps_frame_pointer (2, callback);
      return keeps_frame_pointer (4, keeps_frame_pointer (3, first));
    }
  if (strcmp (name, "far") == 0)
    return loops_far (0);
  if (strcmp (name, "leaf") == 0)
    return keeps_frame_pointer (1, keeps_frame_pointer (0, NULL));
  if (strcmp (name, "none") == 0)
    return keeps_none (0, hot);
  if (strcmp (name, "none-leaf") == 0)
    return keeps_none (0, NULL);
  if (strcmp (name, "mixed") == 0)
    return keeps_none (1, keeps_frame_pointer (0, hot));
  if (strcmp (name, "loop") == 0)
    return lies (0, 0, code + PAGE / 2, 0);
  if (strcmp (name, "no-call") == 0)
    return lies (0, 0, (const char *) (uintptr_t) decoy + 1, 0);
  if (strcmp (name, "no-code") == 0)
    return lies (0, 0, elsewhere, 0);
  if (strcmp (name, "unaligned") == 0)
    return lies (0, 0, after_decoy, 4);
  if (strcmp (name, "below") == 0)
    return lies (0, 0, after_decoy, -8 * N_WORDS - 64);
  if (strcmp (name, "inside") == 0)
    return lies (0, 0, after_decoy, -8 * N_WORDS / 2);
  if (strcmp (name, "elsewhere") == 0)
    return points_elsewhere (0);
  return NULL;
}

/* Puts one function into memory without a file and the other one into a file, so that a stack
 * contains both. */
KNOWN int
run_steps (const char *callee, const char *caller)
{
  Memory first, second;
  Function function;

  if (!map (&first, callee))
    return 2;
  function = tiny (0);
  if (!publish (&first) || !map (&second, caller))
    return 2;
  function = repeats (0, (const void *) (uintptr_t) function);
  if (!publish (&second))
    return 2;
  run_generated (function);
  return 0;
}

int
main (int argc, char **argv)
{
  Memory memory;
  Function function;

  if (argc != 3)
    return 2;
  if (strcmp (argv[1], "steps") == 0)
    return run_steps (argv[2], "anonymous");
  if (strcmp (argv[1], "steps-back") == 0)
    return run_steps ("anonymous", argv[2]);
  function = map (&memory, argv[2]) ? assemble (argv[1]) : NULL;
  if (function == NULL || !publish (&memory))
    return 2;
  kept = function;
  if (strcmp (argv[1], "far") == 0)
    run_with_frame_pointer (run_kept);
  else if (strncmp (argv[1], "none", 4) == 0)
    run_with_frame_pointer (function);
  else
    run_generated (function);
  return 0;
}
