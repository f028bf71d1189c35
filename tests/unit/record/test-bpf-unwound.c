/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-bpf-unwound.c - which parts of BPF-unwound stacks are accepted, and which ones the address
 * space of their time does not confirm. */

#include "record/bpf-unwound.h"

#include "arch/arch.h"
#include "lu/bpf.h"
#include "process/process-private.h"

typedef struct
{
  LuModule *program, *library, *other;
  LuProcess *process;
  LuAddressSpace *space; /* of the time of the sample, borrowed */
  guint64 first_serial, last_serial;
  LuAddressSpace *published; /* the first version, which the BPF program used */
  LuStack stack;
} Fixture;

static LuModule *
module_new (const char *path)
{
  const LuModuleKey key = { .kind = LU_MODULE_FILE, .path = path };

  return lu_module_new (&key);
}

static void
map (Fixture *self, guint64 time, LuModule *module, guint64 start, guint64 end, guint64 offset)
{
  const LuMapping mapping = {
    .start = start, .end = end, .file_offset = offset, .time = time, .module = module
  };

  g_assert_true (lu_process_add_mapping (self->process, time, &mapping));
  self->space = lu_process_address_space (self->process);
  self->last_serial = lu_address_space_serial (self->space);
}

/* Maps a program and a library; later changes make a newer version. */
static void
set_up (Fixture *self, gconstpointer data)
{
  g_autoptr (LuAddressSpace) empty = lu_address_space_new ();

  self->program = module_new ("/bin/program");
  self->library = module_new ("/lib/library");
  self->other = module_new ("/lib/other");
  self->process = lu_process_new (10, 1, "program", empty);
  map (self, 2, self->program, 0x400000, 0x410000, 0x1000);
  map (self, 3, self->library, 0x700000, 0x710000, 0);
  self->first_serial = self->last_serial;
  self->published = lu_address_space_ref (self->space);
  lu_stack_reset (&self->stack);
}

static void
tear_down (Fixture *self, gconstpointer data)
{
  lu_address_space_unref (self->published);
  lu_process_unref (self->process);
  lu_module_unref (self->program);
  lu_module_unref (self->library);
  lu_module_unref (self->other);
}

/* Library (leaf), library, program, program (inferred). */
static const guint64 usual[] = {
  0x700010,
  0x700100 | LU_BPF_PC_RETURN,
  0x400100 | LU_BPF_PC_RETURN,
  0x400200 | LU_BPF_PC_RETURN | LU_BPF_PC_INFERRED,
};

/* Makes a stack of what can be trusted of a record. */
static void
take_stack (Fixture *self, const LuBpfUnwoundStack *stack)
{
  const LuEvent event = { .kind = LU_EVENT_BPF_UNWOUND, .bpf_unwound = *stack };
  const LuLocatedEvent located = { &event, self->process, self->space };
  LuBpfUnwoundResult result = lu_bpf_unwound_check (&located);

  lu_stack_reset (&self->stack);
  self->stack.status = result.status;
  self->stack.end_pc = result.end_pc;
  self->stack.n_frames = result.n_user;
  lu_bpf_unwound_user_frames (stack->pcs, result.n_user, self->stack.frames);
}

static void
take (Fixture *self, guint64 serial, LuStatus status, const guint64 *pcs, guint32 n)
{
  LuBpfUnwoundStack stack = {
    .status = status, .serial = serial, .n_user = n, .pcs = (const guint8 *) pcs
  };

  for (guint32 i = 0; i < n; i++)
    if ((pcs[i] & LU_BPF_PC_INFERRED) != 0)
      stack.flags |= LU_BPF_RECORD_INFERRED;
  take_stack (self, &stack);
}

static void
test_whole (Fixture *self, gconstpointer data)
{
  const LuFrame *frames = self->stack.frames;

  take (self, self->last_serial, LU_STATUS_COMPLETE, usual, G_N_ELEMENTS (usual));
  g_assert_cmpint (self->stack.status, ==, LU_STATUS_COMPLETE);
  g_assert_cmpuint (self->stack.n_frames, ==, 4);
  g_assert_cmphex (self->stack.end_pc, ==, 0);
  g_assert_cmphex (frames[0].pc, ==, 0x700010);
  g_assert_cmpuint (frames[0].flags, ==, 0);
  g_assert_cmphex (frames[1].pc, ==, 0x700100);
  g_assert_cmpuint (frames[1].flags, ==, LU_FRAME_RETURN_ADDRESS);
  g_assert_cmphex (frames[3].pc, ==, 0x400200);
  g_assert_cmpuint (frames[3].flags, ==, LU_FRAME_RETURN_ADDRESS | LU_FRAME_INFERRED);
}

static void
test_depth_limit (Fixture *self, gconstpointer data)
{
  take (self, self->last_serial, LU_STATUS_DEPTH_LIMIT, usual, G_N_ELEMENTS (usual));
  g_assert_cmpint (self->stack.status, ==, LU_STATUS_DEPTH_LIMIT);
  g_assert_cmpuint (self->stack.n_frames, ==, 4);
  g_assert_cmphex (self->stack.end_pc, ==, 0x400200);
}

/* A call at the very end of a mapping returns to the address behind it. */
static void
test_return_address_at_the_end (Fixture *self, gconstpointer data)
{
  const guint64 pcs[] = { 0x700010, 0x410000 | LU_BPF_PC_RETURN };

  take (self, self->last_serial, LU_STATUS_COMPLETE, pcs, G_N_ELEMENTS (pcs));
  g_assert_cmpint (self->stack.status, ==, LU_STATUS_COMPLETE);
  g_assert_cmpuint (self->stack.n_frames, ==, 2);
}

static void
test_outside (Fixture *self, gconstpointer data)
{
  const guint64 pcs[] = { 0x700010, 0x600000 | LU_BPF_PC_RETURN, 0x400100 | LU_BPF_PC_RETURN };
  const guint64 leaf[] = { 0x410000 };

  take (self, self->last_serial, LU_STATUS_COMPLETE, pcs, G_N_ELEMENTS (pcs));
  g_assert_cmpint (self->stack.status, ==, LU_STATUS_NO_MAPPING);
  g_assert_cmpuint (self->stack.n_frames, ==, 1);
  g_assert_cmphex (self->stack.end_pc, ==, 0x600000);
  take (self, self->last_serial, LU_STATUS_COMPLETE, leaf, 1);
  g_assert_cmpint (self->stack.status, ==, LU_STATUS_NO_MAPPING);
  g_assert_cmpuint (self->stack.n_frames, ==, 0);
}

/* The stack is accepted if only parts of the address space changed that it does not touch. */
static void
test_changed_elsewhere (Fixture *self, gconstpointer data)
{
  guint64 certain[G_N_ELEMENTS (usual)];

  memcpy (certain, usual, sizeof usual);
  certain[3] &= ~LU_BPF_PC_INFERRED;
  map (self, 4, self->other, 0x800000, 0x810000, 0);
  map (self, 5, self->other, 0x70f000, 0x712000, 0);
  g_assert_cmpuint (self->first_serial, !=, self->last_serial);
  take (self, self->first_serial, LU_STATUS_COMPLETE, certain, G_N_ELEMENTS (certain));
  g_assert_cmpint (self->stack.status, ==, LU_STATUS_COMPLETE);
  g_assert_cmpuint (self->stack.n_frames, ==, 4);
}

/* A frame found by frame pointer: a word below it may lead to the new code. */
static void
test_new_code (Fixture *self, gconstpointer data)
{
  map (self, 4, self->other, 0x800000, 0x810000, 0);
  take (self, self->first_serial, LU_STATUS_COMPLETE, usual, G_N_ELEMENTS (usual));
  g_assert_cmpint (self->stack.status, ==, LU_STATUS_STALE_MAPPING);
  g_assert_cmpuint (self->stack.n_frames, ==, 3);
  g_assert_cmphex (self->stack.end_pc, ==, 0x400100);
}

/* The end of a known mapping has moved up, as when generated code grows. */
static void
test_more_code (Fixture *self, gconstpointer data)
{
  map (self, 4, self->library, 0x700000, 0x711000, 0);
  take (self, self->first_serial, LU_STATUS_COMPLETE, usual, G_N_ELEMENTS (usual));
  g_assert_cmpint (self->stack.status, ==, LU_STATUS_STALE_MAPPING);
  g_assert_cmpuint (self->stack.n_frames, ==, 3);
}

/* In another version less of the code is left, and nothing is new. */
static void
test_less_code (Fixture *self, gconstpointer data)
{
  map (self, 4, self->library, 0x700000, 0x708000, 0);
  g_assert_cmpuint (self->first_serial, !=, self->last_serial);
  take (self, self->first_serial, LU_STATUS_COMPLETE, usual, G_N_ELEMENTS (usual));
  g_assert_cmpint (self->stack.status, ==, LU_STATUS_COMPLETE);
  g_assert_cmpuint (self->stack.n_frames, ==, 4);
}

/* The frame itself is certain; the frame found from it is not. */
static void
test_another_file (Fixture *self, gconstpointer data)
{
  map (self, 4, self->other, 0x400000, 0x410000, 0x1000);
  take (self, self->first_serial, LU_STATUS_COMPLETE, usual, G_N_ELEMENTS (usual));
  g_assert_cmpint (self->stack.status, ==, LU_STATUS_STALE_MAPPING);
  g_assert_cmpuint (self->stack.n_frames, ==, 3);
  g_assert_cmphex (self->stack.end_pc, ==, 0x400100);
}

static void
test_another_part_of_the_file (Fixture *self, gconstpointer data)
{
  map (self, 4, self->library, 0x700000, 0x710000, 0x2000);
  take (self, self->first_serial, LU_STATUS_COMPLETE, usual, G_N_ELEMENTS (usual));
  g_assert_cmpint (self->stack.status, ==, LU_STATUS_STALE_MAPPING);
  g_assert_cmpuint (self->stack.n_frames, ==, 1);
}

static void
test_unknown_space (Fixture *self, gconstpointer data)
{
  take (self, G_MAXUINT64, LU_STATUS_COMPLETE, usual, G_N_ELEMENTS (usual));
  g_assert_cmpint (self->stack.status, ==, LU_STATUS_STALE_MAPPING);
  g_assert_cmpuint (self->stack.n_frames, ==, 1);
}

/* The walk used the kernel's own mappings: all of them must be in the address space, and no other
 * ones. */
static guint64
marks_of (Fixture *self)
{
  return lu_bpf_vma_mark (0, 0, 0x700000) | lu_bpf_vma_mark (0, 0, 0x400000 - 0x1000);
}

static void
take_by_vmas (Fixture *self, guint64 marks, LuStatus status)
{
  const LuBpfUnwoundStack stack = { .status = status,
                                    .serial = marks,
                                    .flags = LU_BPF_RECORD_VMAS,
                                    .n_user = G_N_ELEMENTS (usual),
                                    .pcs = (const guint8 *) usual };

  take_stack (self, &stack);
}

static void
test_vmas (Fixture *self, gconstpointer data)
{
  take_by_vmas (self, marks_of (self), LU_STATUS_COMPLETE);
  g_assert_cmpint (self->stack.status, ==, LU_STATUS_COMPLETE);
  g_assert_cmpuint (self->stack.n_frames, ==, 4);
  g_assert_cmpuint (self->stack.frames[3].flags, ==, LU_FRAME_RETURN_ADDRESS | LU_FRAME_INFERRED);
}

static void
test_other_vmas (Fixture *self, gconstpointer data)
{
  take_by_vmas (self, lu_bpf_vma_mark (0, 0, 0x700000), LU_STATUS_COMPLETE);
  g_assert_cmpint (self->stack.status, ==, LU_STATUS_STALE_MAPPING);
  g_assert_cmpuint (self->stack.n_frames, ==, 3);
  take_by_vmas (self, marks_of (self) | lu_bpf_vma_mark (0, 0, 0x900000), LU_STATUS_COMPLETE);
  g_assert_cmpint (self->stack.status, ==, LU_STATUS_STALE_MAPPING);
  map (self, 4, self->library, 0x700000, 0x710000, 0x2000);
  take_by_vmas (self, marks_of (self), LU_STATUS_COMPLETE);
  g_assert_cmpint (self->stack.status, ==, LU_STATUS_STALE_MAPPING);
  g_assert_cmpuint (self->stack.n_frames, ==, 1);
}

/* The walk has seen the mapping of the frame for which it had no room. */
static void
test_vmas_and_depth_limit (Fixture *self, gconstpointer data)
{
  take_by_vmas (self, marks_of (self) | lu_bpf_vma_mark (0, 0, 0x900000), LU_STATUS_DEPTH_LIMIT);
  g_assert_cmpint (self->stack.status, ==, LU_STATUS_DEPTH_LIMIT);
}

/* Only the sampled place counts, whatever mappings the walk had used. */
static void
test_other_stack (Fixture *self, gconstpointer data)
{
  const guint64 nowhere[] = { 0x410000 };

  take_by_vmas (self, 0, LU_STATUS_OTHER_STACK);
  g_assert_cmpint (self->stack.status, ==, LU_STATUS_OTHER_STACK);
  g_assert_cmpuint (self->stack.n_frames, ==, 1);
  g_assert_cmphex (self->stack.end_pc, ==, usual[0]);
  take (self, self->last_serial + 1, LU_STATUS_OTHER_STACK, usual, 1);
  g_assert_cmpint (self->stack.status, ==, LU_STATUS_OTHER_STACK);
  take (self, self->last_serial, LU_STATUS_OTHER_STACK, nowhere, 1);
  g_assert_cmpint (self->stack.status, ==, LU_STATUS_NO_MAPPING);
  g_assert_cmpuint (self->stack.n_frames, ==, 0);
}

static void
test_kernel_frames (Fixture *self, gconstpointer data)
{
  const guint64 words[] = { 0xffffffff81000010, (guint64) -128, 0xffffffff81000020 };
  LuBpfUnwoundStack stack = { .ip = words[0] };
  const guint8 *bytes = (const guint8 *) words;
  LuFrame frames[LU_BPF_MAX_KERNEL];
  guint64 ip = lu_bpf_unwound_kernel_ip (&stack);

  g_assert_cmpuint (lu_bpf_unwound_kernel_frames (bytes, 3, ip, frames), ==, 0);
  stack.flags = LU_BPF_RECORD_KERNEL;
  ip = lu_bpf_unwound_kernel_ip (&stack);
  g_assert_cmpuint (lu_bpf_unwound_kernel_frames (bytes, 3, ip, frames), ==, 2);
  g_assert_cmphex (frames[0].pc, ==, words[0]);
  g_assert_cmphex (frames[1].pc, ==, words[2]);
  g_assert_cmpuint (frames[1].flags, ==, LU_FRAME_KERNEL);
  g_assert_cmpuint (lu_bpf_unwound_kernel_frames (bytes, 0, ip, frames), ==, 1);
  g_assert_cmphex (frames[0].pc, ==, ip);
}

/* Two samples of a thread can be less than 100 us apart. */
static void
test_pair (Fixture *self, gconstpointer data)
{
  const LuArch *arch = lu_arch_of_kernel_name ("x86_64");
  guint64 sp = 0x7fff1000;
  LuEvent sample = { .kind = LU_EVENT_SAMPLE, .tid = 11, .time = 1000 };
  LuEvent event = { .kind = LU_EVENT_BPF_UNWOUND, .tid = 11, .time = 2000 };
  const LuLocatedEvent located = { &event, self->process, self->space };
  g_autoptr (GHashTable) pairs = lu_bpf_pairs_new ();

  event.bpf_unwound = (LuBpfUnwoundStack){ .status = LU_STATUS_COMPLETE,
                                           .serial = self->last_serial,
                                           .sp = sp,
                                           .n_user = 1,
                                           .pcs = (const guint8 *) usual };
  sample.sample.regs = (LuRegs){
    .abi = LU_ABI_64, .mask = 1ull << arch->perf_sp, .words = (const guint64 *) &sp, .n_words = 1
  };
  lu_bpf_pairs_keep (pairs, &located);
  g_assert_nonnull (lu_bpf_pairs_find (pairs, &sample));
  sp -= 8;
  g_assert_null (lu_bpf_pairs_find (pairs, &sample));
  sp += 8;
  sample.tid = 12;
  g_assert_null (lu_bpf_pairs_find (pairs, &sample));
  sample.tid = 11;
  lu_bpf_pairs_forget (pairs, &sample);
  g_assert_null (lu_bpf_pairs_find (pairs, &sample));
}

int
main (int argc, char **argv)
{
  static const struct
  {
    const char *name;
    void (*run) (Fixture *, gconstpointer);
  } tests[] = {
    { "whole", test_whole },
    { "depth-limit", test_depth_limit },
    { "return-address-at-the-end", test_return_address_at_the_end },
    { "outside", test_outside },
    { "changed-elsewhere", test_changed_elsewhere },
    { "new-code", test_new_code },
    { "more-code", test_more_code },
    { "less-code", test_less_code },
    { "another-file", test_another_file },
    { "another-part-of-the-file", test_another_part_of_the_file },
    { "unknown-space", test_unknown_space },
    { "vmas", test_vmas },
    { "other-vmas", test_other_vmas },
    { "vmas-and-depth-limit", test_vmas_and_depth_limit },
    { "other-stack", test_other_stack },
    { "kernel-frames", test_kernel_frames },
    { "pair", test_pair },
  };

  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (tests); i++)
    {
      g_autofree char *path = g_strconcat ("/bpf-unwound/", tests[i].name, NULL);

      g_test_add (path, Fixture, NULL, set_up, tests[i].run, tear_down);
    }
  return g_test_run ();
}
