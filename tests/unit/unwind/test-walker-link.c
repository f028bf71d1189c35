/* SPDX-License-Identifier: LGPL-2.1-or-later
 * SPDX-FileCopyrightText: 2026 The live-unwinder authors */

/* test-walker-link.c - walks where frame pointers point to the lower ends of frames, as on aarch64:
 * after a frame-pointer step the stack pointer is not known, so the caller's frame is found by the
 * record of its frame pointer and return address. */

#include "../table/section.h"

#include "unwind/walker.h"

#include <elf.h>
#include <linux/perf_event.h>
#include <string.h>

#define CODE       0x400000u
#define CODE_SIZE  0x10000u
#define LEAF       (CODE + 0x100) /* a frame of 16 bytes */
#define CALLER     (CODE + 0x200) /* a frame of 160 bytes, the record at its lower end */
#define DECOY      (CODE + 0x204)
#define START      (CODE + 0x300) /* the outermost function */
#define JIT        0x10000u
#define SECTION_AT 0x400
#define SP         G_GUINT64_CONSTANT (0x7fff0000)
#define AT(i)      (SP + 8 * (i))
#define RECORD     6 /* the index of the caller's record; words of a frame without CFI are below */
#define N          40

enum
{
  PERF_FP = 29,
  PERF_SP = 31,
  PERF_PC = 32,
  N_REGS
};

static const char names[] = "\0.eh_frame\0.shstrtab";

/* A file of one segment with the section. */
static LuImage *
make_image (const Section *section)
{
  gsize names_at = SECTION_AT + section->bytes->len;
  gsize headers_at = (names_at + sizeof names + 7) & ~(gsize) 7;
  Elf64_Phdr segment = { .p_type = PT_LOAD,
                         .p_flags = PF_R | PF_X,
                         .p_vaddr = CODE,
                         .p_filesz = CODE_SIZE,
                         .p_memsz = CODE_SIZE };
  Elf64_Shdr sections[] = {
    { 0 },
    { .sh_name = 1,
      .sh_type = SHT_PROGBITS,
      .sh_addr = SECTION_VADDR,
      .sh_offset = SECTION_AT,
      .sh_size = section->bytes->len },
    { .sh_name = 11, .sh_type = SHT_STRTAB, .sh_offset = names_at, .sh_size = sizeof names },
  };
  Elf64_Ehdr header = { .e_ident = ELFMAG,
                        .e_type = ET_DYN,
                        .e_machine = EM_AARCH64,
                        .e_phoff = sizeof header,
                        .e_shoff = headers_at,
                        .e_phentsize = sizeof segment,
                        .e_phnum = 1,
                        .e_shentsize = sizeof *sections,
                        .e_shnum = G_N_ELEMENTS (sections),
                        .e_shstrndx = 2 };
  g_autofree guint8 *bytes = g_malloc0 (headers_at + sizeof sections);

  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  memcpy (bytes, &header, sizeof header);
  memcpy (bytes + sizeof header, &segment, sizeof segment);
  memcpy (bytes + SECTION_AT, section->bytes->data, section->bytes->len);
  memcpy (bytes + names_at, names, sizeof names);
  memcpy (bytes + headers_at, sections, sizeof sections);
  return lu_image_new_from_memory (bytes, headers_at + sizeof sections, NULL);
}

/* A file whose functions save x29 and x30 at the lower ends of their frames. */
static LuModule *
make_file (void)
{
  g_autoptr (Section) section = section_new (TRUE);
  LuModuleKey key = { .kind = LU_MODULE_FILE, .path = (char *) "/nowhere/file" };
  LuModule *module = lu_module_new (&key);
  CieSpec spec = { .return_column = 30, .program = BYTES (0x0c, 31, 0) };
  guint cie = section_add_cie (section, &spec);

  /* def_cfa_offset, and where x29 and x30 are; undefined x30 */
  section_add_fde (section, cie, LEAF, 16, BYTES (0x0e, 16, 0x9d, 2, 0x9e, 1));
  section_add_fde (section, cie, CALLER, 16, BYTES (0x0e, 0xa0, 0x01, 0x9d, 20, 0x9e, 19));
  section_add_fde (section, cie, START, 16, BYTES (0x07, 30));
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

/* The leaf is called by code without CFI, and that by the function with the large frame. */
static void
test_record (void)
{
  LuModuleKey jit_key = { .kind = LU_MODULE_ANONYMOUS, .path = (char *) "//anon" };
  g_autoptr (LuModule) file = make_file (), jit = lu_module_new (&jit_key);
  LuAddressSpace *space = lu_address_space_new ();
  g_autoptr (LuWalker) walker = lu_walker_new (FALSE);
  g_autofree LuStack *stack = g_new0 (LuStack, 1);
  const guint64 pcs[] = { LEAF, JIT + 8, CALLER + 4, START + 4 };
  guint64 regs[N_REGS] = { [PERF_FP] = SP, [PERF_SP] = SP, [PERF_PC] = LEAF };
  guint64 words[N] = { [0] = AT (2), JIT + 8, AT (RECORD), CALLER + 4, [RECORD] = 0, START + 4 };
  const LuSample sample = { .cpumode = PERF_RECORD_MISC_USER,
                            .regs = { .abi = PERF_SAMPLE_REGS_ABI_64,
                                      .machine = EM_AARCH64,
                                      .n_words = N_REGS,
                                      .mask = (G_GUINT64_CONSTANT (1) << N_REGS) - 1,
                                      .words = regs },
                            .stack = (const guint8 *) words,
                            .stack_asked = sizeof words,
                            .stack_size = sizeof words };

  /* Return addresses where the record would be if the step had found the end of the frame. */
  for (guint i = RECORD + 2; i < N; i++)
    words[i] = DECOY;
  space = add_mapping (add_mapping (space, file, CODE), jit, JIT);
  for (guint run = 0; run < 3; run++)
    {
      lu_stack_reset (stack);
      g_assert_true (lu_walker_walk (walker, 1, &sample, space, stack));
      g_assert_cmpint (stack->status, ==, LU_STATUS_COMPLETE);
      g_assert_cmpuint (stack->n_frames, ==, G_N_ELEMENTS (pcs));
      for (guint i = 0; i < stack->n_frames; i++)
        g_assert_cmphex (stack->frames[i].pc, ==, pcs[i]);
    }
  lu_address_space_unref (space);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/walker-link/record", test_record);
  return g_test_run ();
}
