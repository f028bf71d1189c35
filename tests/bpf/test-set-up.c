/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-set-up.c - remembers code whose frames were seen to be set up, with the C of the BPF
 * program: for the version of the mappings that the walk uses, whatever the last record was about,
 * and only if they were. Code whose table is not there may be a caller. */

#include "walk-arch.h" /* before lu/step.h */

#include <glib.h>

#include <stdio.h>

#include "../../bpf/walk-subprogram.h"

#define PC      0x401a41
#define LIBRARY 0x7f0000001000
#define STACK   0x7ffc00000000
/* In no file. */
#define GENERATED 0x7f0000100000
/* In the library. */
#define LEAF   0x4000
#define RETURN 0x8000

static guint n_tests, n_failed;

static void
report (gboolean is_ok, const char *name)
{
  n_failed += !is_ok;
  printf ("%s %u - %s\n", is_ok ? "ok" : "not ok", ++n_tests, name);
}

/* Makes all mappings one library, at LIBRARY, and the stack's top word an address in it. Returns
 * the stack. */
static uint64_t *
map_library (struct walk *walk, uint32_t kind)
{
  static struct entry entry;
  static uint64_t stack[16] = { LIBRARY + 0x100 };
  const struct lu_bpf_mapping mapping = {
    .start = LIBRARY, .end = LIBRARY + 0x10000, .module = 1, .kind = kind
  };

  memcpy (&entry.words[8], &mapping, sizeof mapping);
  user_host.entries[0] = &entry;
  user_host.stack = (const uint8_t *) stack;
  user_host.stack_at = STACK;
  user_host.stack_size = sizeof stack;
  walk->process.mappings = 8;
  walk->process.n_mappings = 1;
  walk->seen.size = walk->place.size = walk->before.size = walk->window.n_words = 0;
  walk->frame_kind = LU_FRAME_KIND_CALLER;
  walk->sp = STACK;
  walk->fp = STACK + 64;
  walk->n_rules = 0;
  return stack;
}

/* Returns what is said about the library as the possible caller of code that was called by code
 * with a rule. */
static int64_t
ask (struct walk *walk, uint32_t kind)
{
  map_library (walk, kind);
  walk->has_rule = 1;
  return find_word (0, walk, walk->sp, WANTED_OWNER);
}

/* All return addresses are behind direct calls. */
static int
call_before (void *data, uint64_t pc)
{
  return LU_CALL_DIRECT;
}

/* The call in front of RETURN leads to `data`. */
static int
read_displacement (void *data, void *to, uint32_t size, uint64_t address)
{
  int32_t displacement = (int32_t) (*(const uint64_t *) data - (LIBRARY + RETURN));

  if (size != sizeof displacement || address + size != LIBRARY + RETURN)
    return -1;
  memcpy (to, &displacement, sizeof displacement);
  return 0;
}

/* Returns what is said about a leaf in the library whose code does not show where its return
 * address is, if the frame pointer leads behind a direct call to that address. */
static int64_t
ask_leaf (struct walk *walk, uint64_t target)
{
  uint64_t *words = map_library (walk, LU_BPF_MAPPING_NO_CFI);

  user_host.call_before = call_before;
  user_host.read_code = read_displacement;
  user_host.code_data = &target;
  walk->frame_kind = LU_FRAME_KIND_SAMPLED;
  walk->regs[REG_SP] = walk->sp;
  walk->last_fp = 0;
  walk->pc = LIBRARY + LEAF;
  see_mapping (0, walk->pc);
  walk->place = walk->seen;
  words[0] = walk->fp;
  words[1] = LIBRARY + 0x300;
  words[9] = LIBRARY + RETURN;
  return go_by_words (0, walk, words[0], 0);
}

/* Returns whether a step from a leaf in the library by its frame pointer proves that the frame is
 * set up, if `word` is among those of the frame. */
static int
proves (struct walk *walk, uint64_t word)
{
  uint64_t *words = map_library (walk, LU_BPF_MAPPING_NO_CFI);

  user_host.call_before = call_before;
  walk->frame_kind = LU_FRAME_KIND_SAMPLED;
  walk->pc = LIBRARY + LEAF;
  see_mapping (0, walk->pc);
  walk->place = walk->seen;
  walk->caller.pc = LIBRARY + RETURN;
  words[0] = 7;
  words[1] = word;
  memset (walk->remembered.set_up, 0, sizeof walk->remembered.set_up);
  report (check_owner_of_frame (0, walk) == VERDICT_NONE, "a frame that may be the leaf's");
  return is_known_set_up (walk, walk->pc);
}

/* Returns what is said about the frame of code in the library which holds an address of generated
 * code, if a direct call before its return address leads to `target`. below: the word below the
 * frame pointer. */
static int64_t
ask_caller (struct walk *walk, uint64_t target, uint64_t below)
{
  uint64_t *words = map_library (walk, LU_BPF_MAPPING_NO_CFI);
  struct lu_bpf_mapping *mappings = (struct lu_bpf_mapping *) &user_host.entries[0]->words[8];

  mappings[1] = (struct lu_bpf_mapping){ .start = GENERATED,
                                         .end = GENERATED + 0x1000,
                                         .kind = LU_BPF_MAPPING_JIT };
  walk->process.n_mappings = 2;
  user_host.code_data = &target;
  walk->pc = LIBRARY + LEAF;
  see_mapping (0, walk->pc);
  walk->place = walk->seen;
  words[0] = 0;
  words[1] = GENERATED + 0x300;
  words[7] = below;
  words[9] = LIBRARY + RETURN;
  return find_other_owner (0, walk, LIBRARY + RETURN);
}

int
main (void)
{
  struct walk *walk = &user_host.walk;

  walk->record.serial = 1;
  walk->process.serial = 2;
  report (!is_known_set_up (walk, PC), "nothing is known at first");
  note_set_up (walk, PC);
  report (is_known_set_up (walk, PC), "the same mappings");
  walk->record.serial = 3;
  report (is_known_set_up (walk, PC), "another process was recorded in between");
  walk->record.serial = 1;
  walk->process.serial = 4;
  report (!is_known_set_up (walk, PC), "newer mappings");
  walk->pc = PC;
  walk->fp = 0;
  report (go_by_pops (0, walk, LU_LEAF_POPPED | 1 << LU_LEAF_DEPTH_SHIFT) != VERDICT_NONE
              && !is_known_set_up (walk, PC),
          "a leaf that does not save the frame pointer, which is zero");
  report (ask (walk, LU_BPF_MAPPING_NO_CFI) == VERDICT_NONE, "a file without tables");
  report (ask (walk, LU_BPF_MAPPING_TABLE) == VERDICT_UNKNOWN, "a file whose table is not there");
  report (ask (walk, LU_BPF_MAPPING_OPAQUE) == VERDICT_UNKNOWN, "a mapping that cannot be unwound");
  map_library (walk, LU_BPF_MAPPING_TABLE);
  report (check_return (0, LIBRARY + 0x100, STACK, STACK, WANTED_BY_FP) == VERDICT_UNKNOWN,
          "a return address into a file whose table is not there");
  report (ask_leaf (walk, LIBRARY + LEAF) == VERDICT_NONE, "a call that leads to the leaf");
  report (ask_leaf (walk, LIBRARY + LEAF + 2 * LU_FP_MAX_LEAP) == VERDICT_UNKNOWN,
          "a call that leads elsewhere");
  report (proves (walk, 7), "no word is a return address");
  report (!proves (walk, LIBRARY + 0x300), "one may be, into code without a rule");
  report (ask_caller (walk, LIBRARY + LEAF, 0) == VERDICT_NONE,
          "an old word that leads to generated code, in a frame that was called directly");
  report (ask_caller (walk, LIBRARY + LEAF + 2 * LU_FP_MAX_LEAP, 0) == VERDICT_FOUND,
          "the same where the call leads elsewhere");
  report (ask_caller (walk, LIBRARY + LEAF, 0x7f0000200001) == VERDICT_FOUND,
          "the same in a frame that may be V8's");
  printf ("1..%u\n", n_tests);
  return n_failed == 0 ? 0 : 1;
}
