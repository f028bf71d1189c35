/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-hotspot.c - steps from leaves of HotSpot's generated code with the C of the BPF program: the
 * stack pointer, two registers and the code tell where the return address is. */

#include "walk-arch.h" /* before lu/step.h */

#include <glib.h>

#include <stdio.h>

#include "../../bpf/walk-subprogram.h"

#define CODE  0x7f0000001000 /* of generated code, which is all there is */
#define PC    (CODE + 0x800)
#define STACK 0x7ffc00000000 /* a multiple of 16 */

/* The address of a word of the stack, to be stored as a word. */
#define AT(i) (STACK + 8 * (i))

/* Bytes of code around the place, which is behind the first one. */
#define BODY        "\x90\x48\x89\x34\x24\x90\x90"
#define JUST_PUSHED "\x55\x48\x8b\xec\x48\x83\xec\x20"
/* mov %rbp,0x18(%rsp); mov %rsp,%rbp; add $0x18,%rbp */
#define SAVES_LATE "\x20\x48\x89\x6c\x24\x18\x48\x8b"
#define MOVES_LATE "\x18\x48\x8b\xec\x48\x83\xc5\x18"
#define ADDS_LATE  "\xec\x48\x83\xc5\x18\x90\x90\x90"
/* pop %rax; mov %rsp,%r13 */
#define ADAPTER "\x58\x4c\x8b\xec\x48\x83\xec\x20"

typedef struct
{
  const char *name, *code; /* code NULL: it cannot be read */
  uint64_t words[16];
  unsigned sp, fp; /* indexes into words */
  uint64_t sender, result;
  int64_t want;
  uint64_t pc, caller_sp; /* of the caller that is found */
  int is_interrupted;     /* by a signal, so its registers are not the sample's */
  uint64_t bx;
} Case;

static const Case cases[] = {
  { "a frame that is set up",
    BODY,
    { 7, 7, 7, 7, AT (9), CODE + 5 },
    0,
    4,
    0,
    0,
    VERDICT_NONE,
    0,
    0 },
  { "old words like those of a frame pointer just pushed",
    BODY,
    { AT (4), CODE + 9, 7, 7, AT (9), CODE + 5 },
    0,
    4,
    0,
    0,
    VERDICT_NONE,
    0,
    0 },
  { "a frame pointer just pushed",
    JUST_PUSHED,
    { AT (4), CODE + 9, 7, 7, AT (9), CODE + 5 },
    0,
    4,
    0,
    0,
    VERDICT_FOUND,
    CODE + 9,
    AT (2) },
  { "the same with another word on top",
    JUST_PUSHED,
    { 7, CODE + 9, 7, 7, AT (9), CODE + 5 },
    0,
    4,
    0,
    0,
    VERDICT_UNKNOWN,
    0,
    0 },
  { "the same words and no code",
    NULL,
    { AT (4), CODE + 9, 7, 7, AT (9), CODE + 5 },
    0,
    4,
    0,
    0,
    VERDICT_UNKNOWN,
    0,
    0 },
  { "an old return address on top",
    BODY,
    { CODE + 9, 7, 7, 7, AT (9), CODE + 5 },
    0,
    4,
    0,
    0,
    VERDICT_NONE,
    0,
    0 },
  { "the first instruction, and old words above",
    BODY,
    { 7, CODE + 9, 7, CODE + 7, AT (9), CODE + 5 },
    1,
    4,
    0,
    0,
    VERDICT_FOUND,
    CODE + 9,
    AT (2) },
  { "a frame pointer that will be saved",
    SAVES_LATE,
    { 7, 7, 7, CODE + 9, AT (9), CODE + 5 },
    0,
    4,
    0,
    0,
    VERDICT_UNKNOWN,
    0,
    0 },
  { "one that has been saved",
    MOVES_LATE,
    { 7, 7, AT (4), CODE + 9, AT (9), CODE + 5 },
    0,
    4,
    0,
    0,
    VERDICT_UNKNOWN,
    0,
    0 },
  { "one that is still the stack pointer",
    ADDS_LATE,
    { 7, 7, AT (4), CODE + 9, AT (9), CODE + 5 },
    0,
    0,
    0,
    0,
    VERDICT_UNKNOWN,
    0,
    0 },
  { "an adapter that has popped the return address",
    ADAPTER,
    { 7, 7, 7, 7, AT (9), CODE + 5 },
    0,
    4,
    0,
    0,
    VERDICT_UNKNOWN,
    0,
    0 },
  { "the same, as its register shows",
    BODY,
    { 7, 7, 7, 7, AT (9), CODE + 5 },
    0,
    4,
    0,
    CODE + 9,
    VERDICT_UNKNOWN,
    0,
    0 },
  { "an adapter that has moved the stack pointer",
    BODY,
    { 7, 7, CODE + 9, 7, AT (9), CODE + 5 },
    0,
    4,
    AT (3),
    0,
    VERDICT_UNKNOWN,
    0,
    0 },
  { "an interpreted method at its first instruction",
    BODY,
    { CODE + 9, 7, 7, 7, AT (9), CODE + 5 },
    0,
    4,
    AT (1),
    0,
    VERDICT_UNKNOWN,
    0,
    0 },
  { "an interpreted method that has pushed the return address of its own call",
    BODY,
    { 7, CODE + 9, 7, 0, AT (7), AT (9), CODE + 5 },
    1,
    5,
    0,
    0,
    VERDICT_UNKNOWN,
    0,
    0 },
  { "an interpreted method that has popped its return address",
    BODY,
    { 7, 7, 7, 7, AT (9), CODE + 5 },
    0,
    4,
    CODE + 9,
    0,
    VERDICT_UNKNOWN,
    0,
    0,
    0,
    AT (0) },
  { "one that was called from a frame without words",
    BODY,
    { 7, 7, 7, 7, AT (9), CODE + 5 },
    0,
    4,
    CODE + 9,
    0,
    VERDICT_UNKNOWN,
    0,
    0,
    0,
    AT (4) },
  { "a compiled method whose registers hold an old return address",
    BODY,
    { 7, 7, 7, 7, AT (9), CODE + 5 },
    0,
    4,
    CODE + 9,
    0,
    VERDICT_NONE,
    0,
    0 },
  { "a frame that is set up, but its registers would have to tell",
    BODY,
    { 7, 7, 7, 7, AT (9), CODE + 5 },
    0,
    4,
    0,
    0,
    VERDICT_UNKNOWN,
    0,
    0,
    1 },
};

static const char *code;

static int
read_code (void *data, void *to, uint32_t size, uint64_t address)
{
  if (code == NULL || address != PC - 1 || size != LU_HOTSPOT_BYTES)
    return -1;
  memcpy (to, code, size);
  return 0;
}

static void
set_up (struct walk *walk, const Case *c)
{
  static struct entry entry;
  const struct lu_bpf_mapping mapping = { .start = CODE,
                                          .end = CODE + 0x1000,
                                          .kind = LU_BPF_MAPPING_JIT };

  memset (walk, 0, sizeof *walk);
  memcpy (&entry.words[8], &mapping, sizeof mapping);
  user_host.entries[0] = &entry;
  user_host.stack = (const uint8_t *) (c->words + c->sp);
  user_host.stack_at = AT (c->sp);
  user_host.stack_size = sizeof c->words - 8 * c->sp;
  user_host.read_code = read_code;
  code = c->code;
  walk->process.mappings = 8;
  walk->process.n_mappings = 1;
  walk->process.flags = LU_BPF_PROCESS_HOTSPOT;
  walk->place = (struct visited_mapping){ .start = CODE, .size = 0x1000, .kind = mapping.kind };
  walk->pc = PC;
  walk->sp = AT (c->sp);
  walk->regs[REG_SP] = walk->sp - (c->is_interrupted ? 256 : 0);
  walk->fp = AT (c->fp);
  walk->regs[REG_HOTSPOT_SENDER] = c->sender;
  walk->regs[REG_HOTSPOT_RETURN] = c->result;
  walk->regs[REG_BX] = c->bx;
}

static int
check (const Case *c)
{
  struct walk *walk = &user_host.walk;

  set_up (walk, c);
  return go_from_leaf (0, walk) == c->want
         && (c->want != VERDICT_FOUND
             || (walk->caller.pc == c->pc && walk->caller.sp == c->caller_sp));
}

int
main (void)
{
  int n_failed = 0;

  for (unsigned i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      int is_ok = check (&cases[i]);

      n_failed += !is_ok;
      printf ("%s %u - %s\n", is_ok ? "ok" : "not ok", i + 1, cases[i].name);
    }
  printf ("1..%u\n", (unsigned) G_N_ELEMENTS (cases));
  return n_failed == 0 ? 0 : 1;
}
