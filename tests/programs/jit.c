/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* jit.c - `jit call|spin`: generated code in anonymous memory, without CFI and without a frame
 * pointer. It pushes 30 words, each the address of decoy(), so that a walk that guesses shows that
 * name. Then it calls hot(), or burns the time itself. */
#include "known.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

KNOWN void
hot (void)
{
  spin (500);
}

KNOWN void
decoy (void)
{
  AFTER_CALL ();
  hot ();
  AFTER_CALL ();
}

static uint8_t *
put (uint8_t *at, const void *bytes, size_t n)
{
  memcpy (at, bytes, n);
  return at + n;
}

static uint8_t *
put_load_rax (uint8_t *at, const void *value)
{
  at = put (at, "\x48\xb8", 2); /* movabs $value, %rax */
  return put (at, &value, 8);
}

/* Assembles the function; if `callee` is NULL, it counts down for about half a second instead of
 * calling. */
static void
assemble (uint8_t *at, void (*callee) (void))
{
  uint32_t count = 1000000000;

  at = put_load_rax (at, (const char *) (uintptr_t) decoy + 5);
  for (unsigned i = 0; i < 30; i++)
    at = put (at, "\x50", 1);           /* push %rax */
  at = put (at, "\x48\x83\xec\x08", 4); /* sub $8, %rsp */
  if (callee)
    {
      at = put_load_rax (at, (const void *) (uintptr_t) callee);
      at = put (at, "\xff\xd0", 2); /* call *%rax */
    }
  else
    {
      at = put (at, "\xb9", 1); /* mov $count, %ecx */
      at = put (at, &count, 4);
      at = put (at, "\xff\xc9\x75\xfc", 4); /* dec %ecx; jnz back */
    }
  put (at, "\x48\x81\xc4\xf8\x00\x00\x00\xc3", 8); /* add $248, %rsp; ret */
}

KNOWN void
run_generated (void *code)
{
  ((void (*) (void)) (uintptr_t) code) ();
  AFTER_CALL ();
}

int
main (int argc, char **argv)
{
  int protection = PROT_READ | PROT_WRITE | PROT_EXEC;
  void *code = mmap (NULL, 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  if (argc != 2 || code == MAP_FAILED)
    return 2;
  assemble (code, strcmp (argv[1], "call") == 0 ? hot : NULL);
  run_generated (code);
  return 0;
}
