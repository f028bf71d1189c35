/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-walker-link.c - walks where calls put the return address in a register and frame pointers
 * point to the lower ends of frames, as on aarch64. After a frame-pointer step the stack pointer is
 * not known, so the caller's frame is found by the record of its frame pointer and return address.
 * A leaf without CFI has its return address where its code shows. */

#include "../table/section.h"

#include "unwind/unwinder.h"
#include "unwind/walker.h"

#include <elf.h>
#include <glib/gstdio.h>
#include <linux/perf_event.h>
#include <string.h>

#define CODE      0x400000u
#define CODE_SIZE 0x10000u
#define LEAF      (CODE + 0x300) /* a frame of 16 bytes */
#define CALLER    (CODE + 0x200) /* a frame of 160 bytes, the record at its lower end */
#define DECOY     (CODE + 0x204)
#define START     (CODE + 0x380) /* the outermost function */
#define ENTRY     (CODE + 0x3a0) /* of the program */
#define BARE      (CODE + 0x100) /* no CFI; the return address is in x30 */
#define POPS      (CODE + 0x180) /* no CFI; x29 and x30 are on the stack */
#define LINK      (CODE + 0x3c0) /* a leaf without a frame */
#define RESTORER  (CODE + 0x3e0) /* where signal handlers return to */
#define JIT       0x10000u
#define SP        G_GUINT64_CONSTANT (0x7fff0000)
#define AT(i)     (SP + 8 * (i))
#define RECORD    6 /* the index of the caller's record; words of a frame without CFI are below */
#define HANDLER   2 /* the index of the kernel's frame, behind that of the handler */
#define SAVED(n)  (HANDLER + 39 + (n)) /* of x0 to x30, sp and pc in it (struct rt_sigframe) */
#define BEHIND    (SAVED (N_REGS) + 1) /* the index of the kernel's record of x29 and pc */
#define STOPPED   (BEHIND + 2)         /* the top of the interrupted stack */
#define N         110
/* A return address with an authentication code. */
#define SIGNED(pc) ((pc) | G_GUINT64_CONSTANT (0x2a) << 48)

enum
{
  PERF_FP = 29,
  PERF_LINK,
  PERF_SP = 31,
  PERF_PC = 32,
  N_REGS
};

static char *path; /* of the file */

/* Code without CFI, and what has called it. */
static const guint32 code[][2] = {
  { BARE, 0x8b020c10 },        /* add x16, x0, x2, lsl #3 */
  { BARE + 4, 0xd65f03c0 },    /* ret */
  { POPS, 0xa94153f3 },        /* ldp x19, x20, [sp, #16] */
  { POPS + 4, 0xa8c27bfd },    /* ldp x29, x30, [sp], #32 */
  { CALLER, 0x94000000 - 64 }, /* bl BARE */
};

/* Writes a file with the section and the code, and returns its image. */
static LuImage *
make_image (const Section *section)
{
  g_autoptr (GByteArray) file = section_make_file (section, EM_AARCH64, ENTRY, CODE, CODE_SIZE);

  for (guint i = 0; i < G_N_ELEMENTS (code); i++)
    memcpy (file->data + (code[i][0] - CODE), &code[i][1], sizeof code[i][1]);
  g_assert_true (g_file_set_contents (path, (const char *) file->data, (gssize) file->len, NULL));
  return lu_image_new_from_memory (file->data, file->len, NULL);
}

/* A file whose functions save x29 and x30 at the lower ends of their frames. */
static LuModule *
make_file (void)
{
  g_autoptr (Section) section = section_new (TRUE);
  LuModuleKey key = { .kind = LU_MODULE_FILE, .path = path };
  LuModule *module = lu_module_new (&key);
  CieSpec spec = { .return_column = 30, .program = BYTES (0x0c, 31, 0) };
  CieSpec signal_spec = { .augmentation = "zRS",
                          .return_column = 30,
                          .program = BYTES (0x0c, 29, 0) };
  guint cie = section_add_cie (section, &spec),
        signal_cie = section_add_cie (section, &signal_spec);

  /* def_cfa_offset, and where x29 and x30 are; undefined x30 */
  section_add_fde (section, cie, LEAF, 16, BYTES (0x0e, 16, 0x9d, 2, 0x9e, 1));
  section_add_fde (section, cie, CALLER, 16, BYTES (0x0e, 0xa0, 0x01, 0x9d, 20, 0x9e, 19));
  section_add_fde (section, cie, START, 16, BYTES (0x07, 30));
  section_add_fde (section, cie, ENTRY, 16, BYTES (0));
  section_add_fde (section, cie, LINK, 16, BYTES (0));
  /* As the kernel's vDSO: CFA = x29, x29 at CFA + 0, x30 at CFA + 8. A handler's return address is
   * looked up one byte earlier. */
  section_add_fde (section, signal_cie, RESTORER - 4, 16, BYTES (0x9d, 0, 0x11, 30, 0x7f));
  section_add_u32 (section, 0);
  lu_module_publish (module, LU_MODULE_READY, make_image (section));
  lu_call_sites_add (lu_module_make_call_sites (module), CALLER + 4 - CODE, LU_CALL_INDIRECT);
  return module;
}

static LuAddressSpace *
add_mapping (LuAddressSpace *space, LuModule *module, guint64 start)
{
  LuMapping mapping = { .start = start, .end = start + CODE_SIZE, .module = module };

  return lu_address_space_take_with_mapping (space, &mapping);
}

typedef struct
{
  const char *name;
  guint64 regs[N_REGS];
  guint64 words[N];
  guint decoys; /* from here on, words that are return addresses of a wrong stack */
  guint64 pcs[5];
  LuStatus status;
  guint n_copied; /* words of the stack; 0: all */
} Case;

static const Case cases[] = {
  /* A leaf called by code without CFI, and that by the function with the large frame. */
  { "record",
    { [PERF_FP] = SP, [PERF_SP] = SP, [PERF_PC] = LEAF },
    { [0] = AT (2), JIT + 8, AT (RECORD), CALLER + 4, [RECORD] = 0, START + 4 },
    RECORD + 2,
    { LEAF, JIT + 8, CALLER + 4, START + 4 } },
  /* The stack pointer is that of the caller, whose frame pointer may be any value. */
  { "leaf without a frame",
    { [PERF_FP] = 7, [PERF_SP] = SP, [PERF_LINK] = SIGNED (CALLER + 4), [PERF_PC] = BARE },
    { [0] = 0, START + 4 },
    2,
    { BARE, CALLER + 4, START + 4 } },
  /* The link register is an old one. */
  { "leaf that is about to return",
    { [PERF_FP] = SP, [PERF_SP] = SP, [PERF_LINK] = JIT + 8, [PERF_PC] = POPS },
    { [0] = AT (RECORD), SIGNED (CALLER + 4), [RECORD] = 0, START + 4 },
    RECORD + 2,
    { POPS, CALLER + 4, START + 4 } },
  /* Nothing has called this code from there. */
  { "link register without a call",
    { [PERF_FP] = SP, [PERF_SP] = SP, [PERF_LINK] = CALLER + 8, [PERF_PC] = BARE },
    { [0] = AT (2), CALLER + 4, AT (RECORD), START + 4 },
    6,
    { BARE },
    LU_STATUS_NO_UNWIND_INFO },
  /* The interrupted registers are in the kernel's frame only; its record has no stack pointer. */
  { "function that a signal has interrupted",
    { [PERF_FP] = AT (BEHIND), [PERF_SP] = SP, [PERF_PC] = LEAF },
    { [0] = AT (BEHIND),
      RESTORER,
      [SAVED (PERF_FP)] = AT (STOPPED),
      [SAVED (PERF_LINK)] = JIT + 8,
      [SAVED (PERF_SP)] = AT (STOPPED),
      [SAVED (PERF_PC)] = CALLER + 8,
      [BEHIND] = AT (STOPPED),
      CALLER + 8,
      [STOPPED] = 0,
      START + 4 },
    STOPPED + 2,
    { LEAF, RESTORER, CALLER + 8, START + 4 } },
  { "leaf that a signal has interrupted",
    { [PERF_FP] = AT (BEHIND), [PERF_SP] = SP, [PERF_PC] = LEAF },
    { [0] = AT (BEHIND),
      RESTORER,
      [SAVED (PERF_FP)] = 7,
      [SAVED (PERF_LINK)] = SIGNED (CALLER + 4),
      [SAVED (PERF_SP)] = AT (STOPPED),
      [SAVED (PERF_PC)] = LINK,
      [BEHIND] = 7,
      LINK,
      [STOPPED] = 0,
      START + 4 },
    STOPPED + 2,
    { LEAF, RESTORER, LINK, CALLER + 4, START + 4 } },
  { "leaf without CFI that a signal has interrupted",
    { [PERF_FP] = AT (BEHIND), [PERF_SP] = SP, [PERF_PC] = LEAF },
    { [0] = AT (BEHIND),
      RESTORER,
      [SAVED (PERF_FP)] = AT (STOPPED),
      [SAVED (PERF_LINK)] = SIGNED (CALLER + 4),
      [SAVED (PERF_SP)] = AT (STOPPED),
      [SAVED (PERF_PC)] = BARE,
      [BEHIND] = AT (STOPPED),
      BARE,
      [STOPPED] = 0,
      START + 4 },
    STOPPED + 2,
    { LEAF, RESTORER, BARE, CALLER + 4, START + 4 } },
  { "signal frame in which the copy ends",
    { [PERF_FP] = AT (BEHIND), [PERF_SP] = SP, [PERF_PC] = LEAF },
    { [0] = AT (BEHIND), RESTORER },
    N,
    { LEAF, RESTORER },
    LU_STATUS_TRUNCATED_COPY,
    SAVED (PERF_LINK) },
  /* The kernel starts a program with registers of 0. */
  { "first instruction of a program", { [PERF_SP] = SP, [PERF_PC] = ENTRY }, { 0 }, N, { ENTRY } },
};

/* By the table engine, three times by the same walker, and by dwfl. */
static void
run_case (gconstpointer data)
{
  const Case *self = data;
  LuModuleKey jit_key = { .kind = LU_MODULE_ANONYMOUS, .path = (char *) "//anon" };
  g_autoptr (LuModule) file = make_file (), jit = lu_module_new (&jit_key);
  g_autoptr (LuCodeReader) reader = lu_code_reader_new ();
  g_autoptr (LuUnwinder) dwfl = lu_unwinder_dwfl.new(NULL);
  g_autoptr (LuWalker) walker = lu_walker_new (FALSE);
  g_autofree LuStack *stack = g_new0 (LuStack, 1);
  g_autofree guint64 *words = g_memdup2 (self->words, sizeof self->words);
  guint32 size = 8 * (self->n_copied > 0 ? self->n_copied : N), flags[G_N_ELEMENTS (self->pcs)];
  const LuSample sample = { .cpumode = PERF_RECORD_MISC_USER,
                            .regs = { .abi = PERF_SAMPLE_REGS_ABI_64,
                                      .machine = EM_AARCH64,
                                      .n_words = N_REGS,
                                      .mask = (G_GUINT64_CONSTANT (1) << N_REGS) - 1,
                                      .words = self->regs },
                            .stack = (const guint8 *) words,
                            .stack_asked = size,
                            .stack_size = size };
  LuAddressSpace *space = add_mapping (add_mapping (lu_address_space_new (), file, CODE), jit, JIT);
  guint n = 0;

  while (n < G_N_ELEMENTS (self->pcs) && self->pcs[n] != 0)
    n++;
  for (guint i = self->decoys; i < N; i++)
    words[i] = DECOY;
  lu_walker_read_code (walker, reader, 0);
  for (guint run = 0; run < 4; run++)
    {
      lu_stack_reset (stack);
      if (run == 3)
        dwfl->ops->unwind (dwfl, &(LuUnwindRequest){ .sample = &sample, .space = space }, stack);
      else
        g_assert_true (lu_walker_walk (walker, 1, &sample, space, stack));
      g_assert_cmpint (stack->status, ==, self->status);
      g_assert_cmpuint (stack->n_frames, ==, n);
      for (guint i = 0; i < n; i++)
        {
          g_assert_cmphex (stack->frames[i].pc, ==, self->pcs[i]);
          flags[i] = run == 0 ? stack->frames[i].flags : flags[i];
          g_assert_cmpuint (stack->frames[i].flags, ==, flags[i]);
        }
    }
  lu_address_space_unref (space);
}

int
main (int argc, char **argv)
{
  int result;

  g_test_init (&argc, &argv, NULL);
  g_close (g_file_open_tmp ("live-unwinder-XXXXXX", &path, NULL), NULL);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *name = g_strdup_printf ("/walker-link/%s", cases[i].name);

      g_test_add_data_func (name, &cases[i], run_case);
    }
  result = g_test_run ();
  g_unlink (path);
  g_free (path);
  return result;
}
